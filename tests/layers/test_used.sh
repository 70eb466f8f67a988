#!/bin/sh
# What only tests use does not stand in the program's library: every function that a header of engine, models or
# schedules declares is called by them or by perf. Not held to it:
# what engine/include declares for other programs.
#	test_used.sh SOURCE
set -eu
cd "$1"
words=$(mktemp)
trap 'rm -f "$words"' EXIT
# Tests alone use these, for what they are: faults of test builds, a run started anew in place, what tests look into.
allowed=" mr_fault_set_delay mr_fault_set_fail mr_fault_set_kill mr_numa_set_fakes mr_engine_restart mr_status_name \
mr_group_report mr_windows_count mr_link_kind_at mr_config_values mr_schedule_claims mr_plan_json_read mr_aged_discard "
find engine models schedules perf -type f \( -name '*.c' -o -name '*.h' -o -name '*.inc' -o -name '*.def' \) |
	xargs cat | grep -oE '\bmr_[a-z0-9_]+' | sort | uniq -c >"$words"
find engine models schedules -name '*.h' ! -path 'engine/include/*' |
	xargs grep -hoE '^[a-z][a-z0-9_ *]*\bmr_[a-z0-9_]+\(.*' | grep -vE '^(static|typedef|return)\b' |
	sed -E 's/^[^(]*\b(mr_[a-z0-9_]+)\(.*/\1/' | sort -u |
	awk -v allowed="$allowed" -v words="$words" '
	BEGIN { while ((getline line <words) > 0) { split(line, f, " "); n[f[2]] = f[1] } }
	n[$1] <= 2 && !index(allowed, " " $1 " ") { print $1 ": nothing but tests uses it"; bad = 1 }
	END { exit bad }'
