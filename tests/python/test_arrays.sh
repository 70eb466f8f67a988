#!/bin/sh
# Arrays, frames and generators as the data of a job, arrays as initial weights, a loss of one's own, and Ctrl-C, which
# saves.   test_arrays.sh SOURCE BUILD
. "$(dirname "$0")/python_lib.sh"
export PYTHONPATH="$source/engine/python" PYTHONDONTWRITEBYTECODE=1 MILLRACE_LIBRARY="$build/libmillrace.so"

cat >arrays.py <<'END'
import os
import signal
import sys
import threading
import time
import warnings

import numpy as np

import millrace

warnings.simplefilter("ignore")
rng = np.random.default_rng(7)
x = rng.normal(size=(300, 4)) * [1, 100, 0.01, 1]
y = 5000 + 20 * x[:, 0] - x[:, 1]
names = np.where(x[:, 0] > 0, "up", "down")


def refuses(error, part, function, *arguments, **named):
    try:
        function(*arguments, **named)
    except error as e:
        assert part in str(e), str(e)
        return
    raise AssertionError(f"{part} was not refused")


def job(data, system="1f1b", steps=100, **groups):
    micro = {"microbatches": 4} if system in ("1f1b", "gpipe", "chimera") else {}
    return millrace.Job({"model": {"name": "mlp", "hidden": [16]}, "data": data, "system": {"name": system},
                         "optimizer": {"name": "adamw", "lr": 0.01}, "train": {"steps": steps, "batch": 32, **micro},
                         "machine": {"workers": 1 if system == "sequential" else 2, "threads": 1, "peak_gflops": 1},
                         **groups})


def trained(j, **more):
    with millrace.Training(j, **more) as t:
        t.fit()
        return t.weights(), [s.loss for s in t.history], t.evaluate()


# --- data ---
of_arrays, losses, _ = trained(job((x, y)))
of_pairs, _, _ = trained(job((row, target) for row, target in zip(x, y)))
of_dict, _, _ = trained(job({"rows": x, "targets": y, "task": "numbers"}))
for other in of_pairs, of_dict:
    assert all((other[k] == of_arrays[k]).all() for k in of_arrays)
assert losses[-1] < 0.5 * losses[0], losses
_, _, of_classes = trained(job({"rows": x, "targets": names, "validation": 0.3}, run={"dir": "classes"}))
assert of_classes.accuracy > 0.85, of_classes
with millrace.load("classes") as model:
    assert list(model.classes_) == ["down", "up"] and model.score(x, names) > 0.85
refuses(ValueError, "without targets", job, {"rows": x})
refuses(ValueError, "a target for each", job, (x, y[:5]))
refuses(ValueError, "gave no rows", job, iter(()))
refuses(TypeError, "rows are numbers", job, (names[:, None], y))

# --- tokens and pictures ---
tiny = {"name": "gpt", "width": 16, "heads": 2, "layers": 1, "context": 8}
text = np.tile(np.arange(70000, 70010), 200) % 11
_, losses, _ = trained(job({"tokens": text}, model=tiny))
assert losses[-1] < losses[0] < 3, losses
pixels = rng.integers(0, 100, (60, 8, 8, 3), dtype=np.uint8)
pixels[1::2] += 100
kinds = np.array(["dark", "light"])[np.arange(60) % 2]
for given in pixels, pixels[..., 0]:
    folder = f"pictures{given.ndim}"
    trained(job({"pictures": given, "targets": kinds}, run={"dir": folder}))
    with millrace.load(folder) as model:
        assert model.score(given, kinds) == 1
refuses(ValueError, "expected pictures", job, {"pictures": pixels / 255, "targets": kinds})
refuses(ValueError, "whole numbers from 0", job, {"tokens": x})

# --- initial weights ---
with millrace.Training(job((x, y), steps=1), init=of_arrays) as t:
    again = t.weights()
    assert all((again[k] == of_arrays[k]).all() for k in of_arrays)
    out = t.predict((x[:5] - x.mean(axis=0)) / x.std(axis=0))
    assert out.reshape(5).shape == (5,) and np.isfinite(out).all()
refuses(millrace.Error, "no tensor fc.0.weight", millrace.Training, job((x, y)), init={"other": np.zeros(3)})


# --- a loss of one's own: the model's own one gives the same weights, on every kind of system ---
def squares(outputs, targets):
    off = outputs.reshape(len(outputs)) - targets
    return (off * off).sum() / (2 * len(off)), off / len(off)


def entropy(outputs, targets):
    p = np.exp(outputs - outputs.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    right = np.eye(outputs.shape[1])[targets.astype(int)]
    return -np.log((p * right).sum(axis=1)).mean(), (p - right) / len(p)


for system in "1f1b", "gpipe", "pipedream", "chimera", "sequential":
    a, of_model, end = trained(job((x, y), system, 40))
    b, of_own, own_end = trained(job((x, y), system, 40), loss=squares)
    assert all(np.allclose(a[k], b[k], rtol=1e-5, atol=1e-6) for k in a), system
    assert np.allclose(of_model, of_own, rtol=1e-5) and abs(end.loss - own_end.loss) < 1e-4 * end.loss
a, of_model, _ = trained(job((x, names)))
b, of_own, _ = trained(job((x, names)), loss=entropy)
assert np.allclose(of_model, of_own, rtol=1e-3) and all(np.allclose(a[k], b[k], atol=1e-3) for k in a)
doubled, _, _ = trained(job((x, y), steps=1), loss=lambda o, t: tuple(3 * np.asarray(v) for v in squares(o, t)))
assert any((doubled[k] != v).any() for k, v in trained(job((x, y), steps=1))[0].items())


def breaks(outputs, targets):
    raise ZeroDivisionError("mine")


for wrong, kind in (breaks, ZeroDivisionError), (lambda o, t: (0, o[:1]), ValueError), (lambda o, t: 0, TypeError):
    t = millrace.Training(job((x, y)), loss=wrong)
    refuses(kind, "", t.fit)
    t.close()


# --- Ctrl-C: the run ends with the step under way, and is saved ---
def interrupts(step):
    if step.step == 5:
        threading.Timer(0, os.kill, (os.getpid(), signal.SIGINT)).start()
        time.sleep(600)


t = millrace.Training(job((x, y), steps=100000, run={"dir": "stopped"}))
start = time.monotonic()
refuses(KeyboardInterrupt, "", t.run, progress=interrupts)
assert time.monotonic() - start < 120 and 5 <= t.step <= 8, t.step
saved = sorted(os.listdir("stopped/checkpoints"))
assert f"step-{t.step:08d}" in saved, (t.step, saved)
assert len(t.run(until=t.step + 3)) == 3
t.close()

try:
    import pandas
except ImportError:
    sys.exit()
frame = pandas.DataFrame({"size": x[:, 0], "kind": np.where(x[:, 1] > 0, "a", "b")})
trained(job((frame, x[:, 0] + 3 * (x[:, 1] > 0)), run={"dir": "frame"}))
with millrace.load("frame") as model:
    assert model.columns == ["size", "kind"] and model.score(frame, x[:, 0] + 3 * (x[:, 1] > 0)) > 0.9
END
"$python" arrays.py || exit 1
