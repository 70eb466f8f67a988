#!/bin/sh
# Each rule about the tree can fail: a small tree gets one violation at a time.   test_planted.sh SOURCE
# Words that a rule looks for are put together here, so that this file passes the rules itself.
set -u
rules=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failed=0

# A tree that passes every rule.
fresh() {
	rm -rf "$tree/src"
	mkdir -p "$tree/src/tests" "$tree/src/schedules" "$tree/src/models" "$tree/src/engine/base" \
		"$tree/src/engine/ir" \
		"$tree/src/engine/nn/kernels/onednn" \
		"$tree/src/engine/exec" "$tree/src/engine/planner" "$tree/src/engine/cli" \
		"$tree/src/perf/theory" "$tree/src/perf/flamegraph"
	cp "$1/tests/layers.txt" "$tree/src/tests/"
	mkdir -p "$tree/src/tests/layers"
	echo 'engine/base/a.c : open : it is the one that may' >"$tree/src/tests/layers/files.txt"
	cd "$tree/src" || exit 1
	printf '#include <stdio.h>\n' >engine/base/a.h
	printf 'int f(void) { return open("a", 0); } /* not fopen(a) */\n' >engine/base/a.c
	printf '#include "base/a.h"\n/* as Pipe%s does */\n' Dream >engine/ir/a.c
	printf '#include "base/a.h"\n#include <dnnl.h>\n' >engine/nn/kernels/onednn/onednn_context.h
	printf '#include "planner/graph.h"\n' >engine/exec/a.c
	printf '#include "ir/sched.h"\n' >schedules/a.c
	printf '#include "planner/graph.h"\n#include "models/model.h"\n' >models/a.c
	printf '#include "exec/a.h"\n' >engine/cli/a.c
}

# expect RULE TEXT: the rule's test fails and says TEXT.
expect() {
	if said=$(sh "$rules/test_$1.sh" "$tree/src" "$tree" 2>&1); then
		echo "test_$1.sh did not see: $2"
		failed=1
	elif ! printf '%s\n' "$said" | grep -qF "$2"; then
		echo "test_$1.sh should say \"$2\" but said: $said"
		failed=1
	fi
}

# plant RULE FILE LINE TEXT: a fresh tree in which FILE has one more line.
plant() {
	fresh "$source"
	mkdir -p "$(dirname "$2")"
	printf '%s\n' "$3" >>"$2"
	expect "$1" "$4"
}

source=$(cd "$1" && pwd) || exit 1
fresh "$source"
for rule in docs files includes names size tags used width words; do
	if ! sh "$rules/test_$rule.sh" "$tree/src"; then
		echo "test_$rule.sh finds fault with a tree that has none"
		failed=1
	fi
done

plant used engine/base/b.h 'void mr_b_idle(void);' 'mr_b_idle: nothing but tests uses it'
plant names engine/base/a.h '/* see base/gone.c */' 'engine/base/a.h:2: there is no base/gone.c'
plant names engine/base/a.h '/* as mr_gone does */' 'engine/base/a.h:2: there is no mr_gone'
plant names engine/base/a.h '/* as long_gone does */' 'engine/base/a.h:2: there is no long_gone'
plant names perf/a.sh '# see base/gone.c' 'perf/a.sh:1: there is no base/gone.c'
plant includes engine/base/a.h '#include "ir/plan.h"' 'engine/base may not include "ir/plan.h" of engine/ir'
plant includes engine/ir/a.c '#include "host/ring.h"' 'engine/ir may not include "host/ring.h" of engine/host'
plant includes engine/nn/b.c '  #  include "ir/plan.h"' 'engine/nn may not include'
plant includes schedules/a.c '#include "planner/graph.h"' 'schedules may not include'
plant includes models/a.c '#include "planner/build.h"' 'models may not include "planner/build.h"'
plant includes engine/exec/a.c '#include "schedules/registry.h"' 'engine/exec may not include'
plant includes engine/exec/a.c '#include "a.h"' 'names no layer'
plant includes engine/cli/a.c '#include "lower/lower.h"' '"lower/lower.h" belongs to engine/lower/'
plant includes engine/exec/a.c '#include "lower/check.h"' '"lower/check.h" belongs to engine/lower/'
plant includes engine/ir/a.c '#include <pthread.h>' 'engine/ir may not include <pthread.h>'
plant includes engine/planner/a.c '#include <time.h>' 'engine/planner may not include <time.h>'
plant includes engine/nn/layers/a.c '#include <dnnl.h>' '<dnnl.h> belongs to'
plant includes engine/nn/kernels/fused/a.inc '#include <dnnl.h>' '<dnnl.h> belongs to'
plant includes engine/base/b.c '#include <jansson.h>' '<jansson.h> belongs to'
plant includes engine/cli/cmd.c '#include <libconfig.h>' '<libconfig.h> belongs to'
plant includes engine/nn/kernels/b.c '#include <zlib.h>' '<zlib.h> belongs to'
plant includes engine/ir/a.c '#include SOME_MACRO' 'expected a name in quotes'
plant includes engine/new/a.c '#include <stdio.h>' 'not in the table of layers'

# names LINE TEXT: a file of engine/exec that names a feature.
names() {
	fresh "$source"
	mkdir -p engine/weights
	cp "$source/engine/exec/features.def" engine/exec/
	cp "$source/engine/weights/features.def" engine/weights/
	printf '%s\n' "$1" >>engine/exec/a.c
	expect features "engine/exec/a.c:2: names a feature, whose code stands in engine/exec/features: $2"
}
names 'int f(mr_run *run) { return run->carried != 0; }' '->carried'
names '/* mr_carried */ mr_row_versions *v;' ' mr_row_versions'
names '#include "weights/predict.h"' '"weights/predict.h'
names 'extern int mr_feature_tied;' ' mr_feature_tied'

plant words engine/base/a.h "/* TO""DO: later */" 'mark of unfinished work'
plant words models/a.c "/* X""XX */" 'mark of unfinished work'
plant words notes.md "see /wo""rk/main" 'path of one machine'
plant words engine/exec/a.c 'if (!strcmp(name, "pipe''dream"))' 'no executor knows a system by name'
plant words engine/exec/a.c 'int a; /* one */ int n_1''f1b;' 'no executor knows a system by name'

plant files engine/base/a.c 'FILE *g = fopen ("a", "w");' 'engine/base/a.c:2: fopen() is for base/file.c'
plant files models/a.c 'int g(void) { return x->open(a) + m_open(a) + rename(a, b); }' 'models/a.c:3: rename() is for'
plant files tests/layers/files.txt 'engine/base/a.c : creat : none' 'engine/base/a.c calls no creat()'
plant files tests/layers/files.txt 'engine/base/a.c : open' 'expected FILE : CALL... : REASON'

fresh "$source"
awk 'BEGIN { print "#include <stdio.h>"; for (i = 0; i < 700; i++) print "" }' >engine/ir/b.c
expect size 'engine/ir/b.c: more than 700 lines'

# lines COUNT: a function with a body of COUNT lines.
lines() {
	awk -v n="$1" 'BEGIN { print "int f(void)\n{"; for (i = 0; i < n; i++) print "\t;"; print "}" }'
}
fresh "$source"
lines 80 >engine/ir/b.c
lines 81 >>engine/ir/b.c
expect size 'engine/ir/b.c:85: a function of 81 lines'
fresh "$source"
mkdir engine/cli/more
for i in 1 2 3 4 5 6 7 8; do
	yes 'int a;' | head -n 700 >engine/cli/more/b$i.c
done
expect size 'engine/cli: 5601 lines of code; at most 5500'
plant size engine/ir/b.c 'static int f(int a) {' 'engine/ir/b.c:1: the "{" of a function stands in a line of its own'

plant width engine/ir/b.c "$(printf '\t%0113d' 0)" 'engine/ir/b.c:1: 121 columns'
plant width notes.md "$(printf '%0121d' 0)" 'notes.md:1: 121 columns'

plant lines engine/exec/b.h '	_Atomic uint32_t n_planted;' 'engine/exec/b.h:1: n_planted is shared by threads'

plant tags engine/ir/b.c 'typedef struct mr_a { int x; } mr_a; struct mr_a { int y; };' \
	'engine/ir/b.c:1: mr_a has a body in'
plant tags tests/b.c 'enum mr_b { ONE }; union mr_b { int x; } b;' 'tests/b.c:1: mr_b has a body in'
fresh "$source"
printf 'struct mr_c;\nstruct mr_c *next;\nstruct mr_c\n{\n\tint x;\n};\n' >engine/ir/b.c
if ! sh "$rules/test_tags.sh" "$tree/src"; then
	echo "test_tags.sh takes a use of a struct for a body"
	failed=1
fi
printf 'typedef struct mr_c {\n\tint x;\n} mr_c;\n' >engine/exec/b.c
expect tags 'engine/ir/b.c:3: mr_c has a body in engine/exec/b.c:1'

plant docs CONTRIBUTING.md 'see [this](engine/none.md)' 'a link leads to engine/none.md, which is not there'
plant docs CONTRIBUTING.md 'see `ir/none.c`' 'ir/none.c is not there'
plant docs engine/README.md 'see `none.c`' 'no file is called none.c'
plant docs engine/README.md '`mr_none` does it' 'the code has no mr_none'
plant docs CONTRIBUTING.md 'run `ir.none`' 'there is no suite ir.none'

# Two archives of two objects: a foreign name, then a name with two owners.
cc=${CC:-cc}
symbols() {
	fresh "$source"
	printf '%s\n' "$1" >"$tree/one.c"
	printf '%s\n' "$2" >"$tree/two.c"
	rm -f "$tree"/*.a
	for o in one two; do
		"$cc" -c "$tree/$o.c" -o "$tree/$o.o" && ar rc "$tree/lib$o.a" "$tree/$o.o" || exit 1
	done
	printf '%s\n' "$tree/libone.a" "$tree/libtwo.a" >"$tree/archives.txt"
}
symbols 'int mr_one(void) { return 1; }' 'int mr_two(void) { return 2; }'
if ! sh "$rules/test_symbols.sh" "$tree/src" "$tree"; then
	echo "test_symbols.sh finds fault with two good archives"
	failed=1
fi
symbols 'int mr_one(void) { return 1; }' 'int two(void) { return 2; }'
expect symbols 'global name two does not begin with mr_'
symbols 'int mr_one(void) { return 1; }' 'int mr_one(void) { return 2; }'
expect symbols 'mr_one: defined in'

exit $failed
