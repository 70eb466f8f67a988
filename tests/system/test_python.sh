#!/bin/sh
# The package for Python: the same losses as the program's, weights as arrays, mistakes as exceptions.
#   test_python.sh SOURCE BUILD
set -u
source=$(cd "$1" && pwd)
build=$(cd "$2" && pwd)
if ! grep -q '^MILLRACE_SANITIZE:STRING=$' "$build/CMakeCache.txt" || [ ! -f "$build/libmillrace.so" ]; then
	echo "python: skipped: this build has no library for others"
	exit 77
fi
python=
for p in "${MILLRACE_PYTHON:-}" python3 /usr/bin/python3; do
	if [ -n "$p" ] && "$p" -c 'import numpy' 2>/dev/null; then
		python=$p
		break
	fi
done
if [ -z "$python" ]; then
	. "$source/tests/missing.sh"
	missing_package python "Python with NumPy" python3-numpy
fi
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
export PYTHONPATH="$source/engine/python" PYTHONDONTWRITEBYTECODE=1 MILLRACE_LIBRARY="$build/libmillrace.so"

awk 'BEGIN {
	srand(1)
	print "a,b,kind"
	for (i = 0; i < 80; i++) {
		a = rand()
		b = rand()
		print a "," b "," (a > b)
	}
}' >rows.csv
cat >job.cfg <<'END'
model = { name = "mlp"; hidden = [8, 8]; };
data = { name = "csv"; path = "rows.csv"; target = "kind"; targets = "classes"; };
optimizer = { name = "adamw"; };
system = { name = "pipedream"; };
train = { steps = 60; batch = 8; lr = 0.02; };
machine = { workers = 2; threads = 1; peak_gflops = 1.0; };
backend = "reference";
END
"$build/millrace" train job.cfg >out 2>&1 || { cat out; exit 1; }

cat >job.py <<'END'
import json
import pathlib

import numpy

import millrace

groups = {
    "model": {"hidden": [8, 8], "name": "mlp"},
    "data": {"name": "csv", "path": "rows.csv", "target": "kind", "targets": "classes"},
    "optimizer": {"name": "adamw"},
    "system": {"name": "pipedream"},
    "train": {"steps": 60, "batch": 8, "lr": 0.02},
    "machine": {"workers": 2, "threads": 1, "peak_gflops": 1.0},
    "backend": "reference",
}
rows = [json.loads(line) for line in open("runs/job/metrics.jsonl")]
told = {r["step"]: r["loss"] for r in rows if "loss" in r}
with millrace.Training(millrace.Job(groups)) as t:
    first = t.run(20)
    assert t.step == 20 and [s.step for s in first] == list(range(1, 21)), first
    view = t.weights(view=True)
    assert view["fc.0.weight"].shape == (2, 8) and view["fc.0.weight"].dtype == numpy.float32, view["fc.0.weight"]
    assert not view["fc.0.weight"].flags.writeable and view["fc.0.weight"].base is not None
    before = t.weights()
    del view
    steps = first + t.run()
    assert t.step == 60
    assert len(told) == 60 and all(s.loss == told[s.step] for s in steps), "other losses than the program's"
    after = t.weights()
    assert sorted(after) == sorted(before) and all(numpy.isfinite(w).all() for w in after.values())
    assert not numpy.array_equal(before["fc.0.weight"], after["fc.0.weight"])
    e = t.evaluate()
    told = [r for r in rows if "val_loss" in r][-1]
    assert e.loss == told["val_loss"] and 0.5 < e.accuracy <= 1, e

# What a caller does wrong, and a caller that stops.
def refused(change, status, *parts):
    try:
        job = {**groups, **change}
        millrace.Training(millrace.Job(job)).close()
    except millrace.Error as e:
        assert e.status == status and all(p in str(e) for p in parts), (e.status, str(e))
        return
    raise AssertionError(f"{change} was taken")

refused({"system": {"name": "pipedrem"}}, "config", 'did you mean "pipedream"?')
refused({"train": {"steps": 1, "batch": "many", "lr": 1}}, "config", "train.batch: expected an integer")
refused({"data": {"name": "csv", "path": "nope.csv"}}, "data", "nope.csv: No such file")
for wrong, part in [([1], "dict of groups"), ({**groups, "model": "mlp"}, "model is a group"),
                    ({**groups, "trian": {}}, "no group is called 'trian'"),
                    ({**groups, "train": {"steps": None}}, "not None")]:
    try:
        millrace.Job(wrong)
        raise AssertionError(f"{wrong} was taken")
    except TypeError as e:
        assert part in str(e), str(e)
try:
    millrace.Training(groups)
    raise AssertionError("a training without a job")
except TypeError as e:
    assert "millrace.Job" in str(e), str(e)
millrace.Job({**groups, "model": {"name": "mlp", "hidden": numpy.array([8, 8])}, "data": {**groups["data"],
              "path": pathlib.Path("rows.csv")}, "train": {"steps": numpy.int64(2), "batch": 8,
              "lr": numpy.float32(0.02)}})
t = millrace.Training(millrace.Job({**groups, "train": {"steps": 100000, "batch": 8, "lr": 0.02}}))
some = t.run(progress=lambda s: s.step < 5)
assert 5 <= len(some) < 100000 and t.step == len(some)
try:
    t.run(progress=lambda s: 1 // 0)
    raise AssertionError("an exception was lost")
except ZeroDivisionError:
    pass
t.close()
try:
    t.evaluate()
    raise AssertionError("a closed training evaluates")
except ValueError as e:
    assert "closed" in str(e)
half = millrace.Training(millrace.Job({**groups, "precision": "bf16", "backend": "reference"}))
half.run(2)
bits = half.weights(view=True)["fc.0.weight"]
assert bits.dtype == numpy.uint16, bits.dtype
copied = half.weights()["fc.0.weight"]
assert copied.dtype == numpy.float32 and numpy.abs(copied).max() < 10
half.close()
print("the package works with", millrace.version())
END
"$python" job.py >out 2>&1 || { cat out; exit 1; }
grep -q "the package works with" out || { cat out; exit 1; }
# What the page shows.
awk '/^```python$/ { inside = 1; next } /^```/ { inside = 0 } inside' "$source/engine/python/README.md" >page.py
[ -s page.py ] && "$python" page.py >out 2>&1 && grep -q "Evaluation" out || {
	echo "engine/python/README.md:"
	cat out
	exit 1
}
MILLRACE_LIBRARY=/nonexistent.so "$python" -c 'import millrace' >out 2>&1 && [ -z "$(ldconfig -p | grep millrace)" ] &&
	{ echo "a library that is not there was loaded"; exit 1; }
exit 0
