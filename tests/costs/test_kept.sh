# What profile keeps for predictions of other models, and what plan makes of it.   test_kept.sh SOURCE BUILD
. "$(dirname "$0")/../cli/cli_lib.sh"
export XDG_CACHE_HOME="$dir/cache"
kept=$dir/cache/millrace/kept-layers.csv

cat >mlp.cfg <<'END'
model = { name = "mlp"; hidden = [16, 16, 16]; };
data = { name = "synthetic"; features = 16; classes = 4; samples = 64; };
optimizer = { name = "adamw"; lr = 0.01; };
system = { name = "sequential"; };
train = { steps = 2; batch = 8; };
machine = { workers = 1; threads = 1; };
END
# profile...: until a measurement is not disturbed.
profile() {
	for try in $(seq 60); do
		"$millrace" profile mlp.cfg --method alone --seconds 0 "$@" >out 2>&1 </dev/null
		! grep -q "kept for predictions by plan: $kept" out || return 0
	done
	complain "profile $* kept nothing in $try tries:"
}

profile
rows=$(wc -l <"$kept")
expect 0 "and for 8 of 8 layers by what was measured of them" plan mlp.cfg --set "model.hidden=[16,16,16,16,16,16]"

# Cuts, orders and bits do not depend on it.
plan_of() {
	XDG_CACHE_HOME=$1 "$millrace" schedule --config mlp.cfg --set system.name=zb_auto --set machine.workers=2 \
		--set train.microbatches=4
}
plan_of "$XDG_CACHE_HOME" >with 2>&1
plan_of /dev/null >without 2>&1
cmp with without || complain "a plan depends on what was kept:"

# Another library is no use; a profile replaces its file.
sed 's/; kernels=[^;]*;/; kernels=oneDNN 9.9;/' "$kept" >other && cp other "$kept"
expect 0 "layers were not measured" plan mlp.cfg
has "warning: $kept was measured with kernels oneDNN 9.9, and this is"
profile --set "model.hidden=[16,16,16,16]" --recalibrate
[ "$(wc -l <"$kept")" -eq "$rows" ] || complain "--recalibrate kept other layers:"

# Layers that a configuration freezes are measured with all passes: the file serves one that trains them, too.
profile --set "train.frozen=fc.0,fc.1" --set train.clip=1 -o frozen.csv
[ "$(awk -F, '/^fc[.]/ && $7 > 0 && $9 > 0' frozen.csv | wc -l)" -eq 4 ] || complain "no I or U: $(cat frozen.csv)"
exit $failed
