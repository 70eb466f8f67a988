#!/bin/sh
# The package for Python: the same losses as the program's, weights as arrays, mistakes as exceptions.
#   test_python.sh SOURCE BUILD
. "$(dirname "$0")/python_lib.sh"
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
optimizer = { name = "adamw"; lr = 0.02; };
system = { name = "pipedream"; };
train = { steps = 60; batch = 8; };
machine = { workers = 2; threads = 1; peak_gflops = 1.0; };
backend = "reference";
END
"$build/millrace" train job.cfg >out 2>&1 || { cat out; exit 1; }
"$build/millrace" train job.cfg --set run.dir=files --set run.tensorboard=true --set trace.steps=10-20 \
	--set checkpoint.every=20 --set checkpoint.keep=2 --set train.eval_every=15 >out 2>&1 || { cat out; exit 1; }

cat >job.py <<'END'
import json
import pathlib

import numpy

import millrace

groups = {
    "model": {"hidden": [8, 8], "name": "mlp"},
    "data": {"name": "csv", "path": "rows.csv", "target": "kind", "targets": "classes"},
    "optimizer": {"name": "adamw", "lr": 0.02},
    "system": {"name": "pipedream"},
    "train": {"steps": 60, "batch": 8},
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

# The program's own configuration, and what its checkpoint holds.
with millrace.Training(millrace.Job.load("job.cfg", {"run": {"dir": "loaded"}, "train": {"seed": 1}})) as t:
    assert [s.loss for s in t.fit().history] == [s.loss for s in steps]
held = millrace.inspect("loaded")
assert held["step"] == 60 and held["facts"]["system"] == "pipedream", held
model = next(f["tensors"] for f in held["files"] if f["name"] == "model.safetensors")
assert {x["name"]: tuple(x["shape"]) for x in model} == {name: w.shape for name, w in after.items()}, model
for path, status in (("job.cfg", "checkpoint"), ("nowhere", "checkpoint")):
    try:
        raise AssertionError(millrace.inspect(path))
    except millrace.Error as e:
        assert e.status == status, e
pathlib.Path("wrong.cfg").write_text(open("job.cfg").read().replace("batch", "batsh").replace("mlp", "mlb"))
try:
    raise AssertionError(millrace.Job.load("wrong.cfg"))
except millrace.Error as e:
    assert "wrong.cfg:5: train.batsh" in str(e) and "wrong.cfg:1: model.name" in str(e), str(e)

# The same files as the program's: weights to the bit, rows but for times, keys of run.json.
folder = {**groups, "run": {"dir": "own", "tensorboard": True}, "trace": {"steps": "10-20"},
          "checkpoint": {"every": 20, "keep": 2}, "train": {**groups["train"], "eval_every": 15}}
def keys(value):
    return {k: keys(v) for k, v in value.items()} if isinstance(value, dict) else type(value).__name__
def files(path):
    return sorted(str(p.relative_to(path)) for p in pathlib.Path(path).rglob("*") if "tfevents" not in p.name)
def timeless(path):
    times = ("seconds", "rate", "gflops", "bubble", "waits", "tok_s", "samples_s")
    rows = [json.loads(line) for line in open(path + "/metrics.jsonl")]
    return [{k: v for k, v in r.items() if not any(t in k for t in times) and "wait" not in k} for r in rows]
with millrace.Training(millrace.Job(folder)) as t:
    t.run(33)
    assert t.fit() is t and len(t.history) == 27 and t.step == 60
    rows = numpy.loadtxt("rows.csv", delimiter=",", skiprows=1)
    w = t.weights()
    x = rows[:5, :2]
    h = x
    layers = sorted({name.rsplit(".", 1)[0] for name in w})
    for i, layer in enumerate(layers):
        h = h @ w[layer + ".weight"] + w[layer + ".bias"]
        h = numpy.maximum(h, 0) if i + 1 < len(layers) else h
    assert t.predict(x).shape == (5, 2) and numpy.abs(t.predict(x) - h).max() < 1e-4, (t.predict(x), h)
    assert 0.5 < t.score() <= 1 and t.score(x, h.argmax(1)) == 1
    for wrong in (x[:, :1], 3, [[1, 2, 3]]):
        try:
            t.predict(wrong)
            raise AssertionError("a wrong shape was taken")
        except ValueError as e:
            assert "expected an array of samples" in str(e), str(e)
    # figures by their names, also in callbacks, and what a training would be
    now = t.figures()
    assert now["loss"] == t.history[-1].loss and now["val_loss"] == t.evaluate().loss and now["samples"] == 480, now
    assert "val_auc" in now and "tokens" not in now, now
assert files("own") == files("files"), (files("own"), files("files"))
with millrace.Training(millrace.Job(groups), simulate=True) as t:
    virtual = t.fit().history
    assert [s.loss for s in virtual] == [s.loss for s in steps], "the simulated losses are others"
    times = [s.seconds for s in virtual]
    assert times == sorted(times) and times[0] > 0
    pathlib.Path("plan.txt").write_text(t.plan())
planned = millrace.plan(millrace.Job(groups))
assert len(planned["stages"]) == 2 and keys(millrace.plan(millrace.Job(groups), "plan.txt")) == keys(planned), planned
try:
    raise AssertionError(millrace.plan(millrace.Job({**groups, "machine": {"workers": 2, "memory_limit": 1000000}})))
except millrace.Error as e:
    assert e.status == "resource", e.status
seen = []
with millrace.Training(millrace.Job(groups), plan="plan.txt") as t:
    t.run(3, lambda s: seen.append(t.figures()["loss"] == s.loss))
    assert seen == [True] * 3, seen
with millrace.Training(millrace.Job({**groups, "run": {"dir": "counted"}}), counters=True) as t:
    t.fit()
assert json.load(open("counted/counters.json"))["rows"][0]["times"] > 0
race = {**groups, "system": {"name": "ampnet", "order": "racing"}, "train": {"steps": 30, "batch": 8}}
with millrace.Training(millrace.Job(race), record="order.txt") as t:
    raced = t.fit().weights()
with millrace.Training(millrace.Job({**race, "system": {"name": "ampnet"}}), replay="order.txt") as t:
    again = t.fit().weights()
assert all(numpy.array_equal(raced[name], again[name]) for name in raced), "the record gives other weights"
with millrace.Training(millrace.Job(groups), plan="plan.txt") as t:
    assert [s.loss for s in t.fit().history] == [s.loss for s in virtual]
last = "/checkpoints/step-00000060/model.safetensors"
assert open("own" + last, "rb").read() == open("files" + last, "rb").read()
assert timeless("own") == timeless("files") and len(timeless("own")) == 64
assert keys(json.load(open("own/run.json"))) == keys(json.load(open("files/run.json")))
with millrace.Training.load(millrace.Job({**folder, "train": {**folder["train"], "steps": 70}})) as t:
    assert t.step == 60
    t.fit()
    t.save()
assert pathlib.Path("own/checkpoints/step-00000070").exists()

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
refused({"train": {"steps": 1, "batch": "many"}}, "config", "train.batch: expected an integer")
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
              "path": pathlib.Path("rows.csv")}, "train": {"steps": numpy.int64(2), "batch": 8},
              "optimizer": {"name": "adamw", "lr": numpy.float32(0.02)}})
t = millrace.Training(millrace.Job({**groups, "train": {"steps": 100000, "batch": 8}}))
some = t.run(progress=lambda s: s.step < 5)
assert t.lag == 1 and len(some) == 5 + t.lag and t.step == len(some)
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
# Signals, wrong orders and wrong places: an exception, and the training can still be used.
cat >misuse.py <<'END'
import copy
import os
import pickle
import signal
import threading
import time
import warnings

import numpy

import millrace

def groups(system, **more):
    return {
        "model": {"hidden": [8, 8], "name": "mlp"},
        "data": {"name": "csv", "path": "rows.csv", "target": "kind", "targets": "classes"},
        "optimizer": {"name": "adamw", "lr": 0.001}, "system": {"name": system},
        "train": {"steps": 100000000, "batch": 8},
        "machine": {"workers": 2, "threads": 1, "peak_gflops": 1.0}, "backend": "reference", **more,
    }

def raises(kind, part, function, *arguments, **named):
    try:
        function(*arguments, **named)
    except kind as e:
        assert part in str(e), (part, str(e))
        return
    raise AssertionError(f"{function} raised no {kind.__name__} with {part!r}")

def later(t, seconds, function, begun=None):
    """Calls the function when t has run for so long, or that long after it has begun."""
    def wait():
        while not (begun.is_set() if begun else t.step != before):
            time.sleep(0.001)
        time.sleep(seconds)
        function()
    before = t.step
    thread = threading.Thread(target=wait)
    thread.start()
    return thread

def interrupt(number=signal.SIGINT):
    os.kill(os.getpid(), number)

class Own(Exception):
    pass

def own_handler(*_):
    raise Own("own")

for system in ["sequential", "1f1b", "pipedream"]:
    with millrace.Training(millrace.Job(groups(system))) as t:
        # Ctrl-C, with and without a callback: it arrives, each time and soon, and the training goes on.
        for i in range(12):
            before = t.step
            timer = later(t, 0.05 + 0.002 * i, interrupt)
            began = time.monotonic()
            raises(KeyboardInterrupt, "", t.run, progress=None if i % 2 else lambda s: True)
            assert time.monotonic() - began < 60, "Ctrl-C took long"
            timer.join()
            assert t.step > before
            assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        begun = threading.Event()
        timer = later(t, 0.2, interrupt, begun)
        raises(KeyboardInterrupt, "", t.run, progress=lambda s: begun.set() or time.sleep(600))  # in the user's code
        timer.join()
        # Handlers of the user: what they raise arrives, and those that raise nothing run at once.
        signal.signal(signal.SIGALRM, own_handler)
        timer = later(t, 0.05, lambda: interrupt(signal.SIGALRM))
        raises(Own, "own", t.run)
        timer.join()
        seen = []
        signal.signal(signal.SIGALRM, lambda *_: seen.append(t.step))
        timer = later(t, 0.05, lambda: interrupt(signal.SIGALRM))
        t.run(progress=lambda s: not seen)
        timer.join()
        assert seen and t.step - seen[0] < 10000, (seen, t.step)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        at = t.step
        weights = t.weights()
        assert t.step == at and all(numpy.isfinite(w).all() for w in weights.values())
        t.evaluate()
        # A stop is obeyed at its step, each time.
        assert t.lag == (1 if system == "pipedream" else 0)
        for i in range(20):
            n = t.step
            told = t.run(progress=lambda s: time.sleep(0.0005 * (i % 3)) or s.step < n + 5)
            assert t.step == n + 5 + t.lag and len(told) == 5 + t.lag, (n, t.step, i)
        # Wrong places.
        for call in (t.run, t.close, t.evaluate, t.weights):
            n = t.step
            raises(millrace.Error, "has not returned", t.run, n + 20, lambda s: call() is None)
            assert t.step >= n
        n = t.step
        tries = []
        def nested(s):
            try:
                t.run(n + 200)
            except millrace.Error:
                tries.append(s.step)
        assert len(t.run(n + 20, nested)) == 20 and t.step == n + 20 and len(tries) == 20
        beside = []
        def close_beside():
            for call in (t.close, t.run, t.evaluate, t.weights):
                try:
                    call()
                except millrace.Error as e:
                    beside.append(str(e))
            t.stop()
        timer = later(t, 0.1, close_beside)
        t.run()
        timer.join()
        assert len(beside) == 4 and all("of this training" in b for b in beside), beside
        for wrong in (copy.copy, copy.deepcopy, pickle.dumps):
            raises(TypeError, "cannot be copied", wrong, t)
            raises(TypeError, "cannot be copied", wrong, millrace.Job(groups(system)))
        child = os.fork()
        if not child:
            code = 0
            for call in (t.run, t.evaluate, t.weights, t.close):
                try:
                    call()
                    code = 1
                except millrace.Error as e:
                    code = code or (0 if "forked" in str(e) else 2)
            del t
            os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        t.run(t.step + 3)
        view = t.weights(view=True)
        kept = {name: w.copy() for name, w in view.items()}
    # A view outlives its training, and an array cut from a view as well.
    raises(ValueError, "closed", t.run)
    assert all(numpy.array_equal(view[name], kept[name]) for name in kept)
    part = view["fc.0.weight"][1:]
    del view, t
    assert numpy.array_equal(part, kept["fc.0.weight"][1:])
    del part

# Keys that ask for files need a folder; what the program warns of is a warning.
raises(millrace.Error, "run.tensorboard, checkpoint.every: there is no folder", millrace.Training,
       millrace.Job(groups("1f1b", checkpoint={"every": 5}, run={"tensorboard": True})))
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    millrace.Training(millrace.Job(groups("pipedream"))).close()
    assert len(told) == 1 and "no mitigation often trains worse" in str(told[0].message), told
print("misuse is refused")
END
"$python" misuse.py >out 2>&1 && grep -q "misuse is refused" out || { cat out; exit 1; }
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
