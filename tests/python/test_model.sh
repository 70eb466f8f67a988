#!/bin/sh
# Model of the package for Python: classes and numbers in three lines, generators, frames, mistakes as scikit-learn has
# them, and the notebook. With scikit-learn also its own checks.   test_model.sh SOURCE BUILD
. "$(dirname "$0")/python_lib.sh"
export PYTHONPATH="$source/engine/python" PYTHONDONTWRITEBYTECODE=1 MILLRACE_LIBRARY="$build/libmillrace.so"

cat >model.py <<'END'
import pickle
import sys

import numpy as np

import millrace

rng = np.random.default_rng(3)
x = rng.normal(size=(300, 4)) * [1, 100, 0.01, 1] + [0, 5000, 0, 0]
names = np.array(["no", "yes"])[((x[:, 0] > 0) ^ (x[:, 1] > 5000)).astype(int)]
model = millrace.Model(hidden=[16]).fit(x[:200], names[:200])
assert list(model.classes_) == ["no", "yes"] and model.score(x[200:], names[200:]) > 0.85
p = model.predict_proba(x[200:])
assert p.shape == (100, 2) and np.allclose(p.sum(axis=1), 1)
assert (model.classes_[p.argmax(axis=1)] == model.predict(x[200:])).all()
assert len(model.history) == 600 and model.history[-1].loss < model.history[0].loss
again = millrace.Model(hidden=[16]).fit(x[:200], names[:200])
assert (again.predict_proba(x) == model.predict_proba(x)).all(), "the same seed gives another model"
made = millrace.Model(hidden=[16]).fit((row, name) for row, name in zip(x[:200], names[:200]))
assert (made.predict_proba(x) == model.predict_proba(x)).all(), "a generator gives another model"

# Numbers in their own unit.
y = 20000 + 300 * x[:, 0] + 5 * x[:, 1] + rng.normal(size=300)
numbers = millrace.Model(hidden=[16], lr=0.01).fit(x[:200], y[:200])
assert numbers.score(x[200:], y[200:]) > 0.95, numbers.score(x[200:], y[200:])
assert not hasattr(numbers, "predict_proba") and abs(numbers.predict(x).mean() - y.mean()) < 100

# Other systems, and a callback that says stop.
piped = millrace.Model(settings={"system": {"name": "1f1b"}, "machine": {"workers": 2}, "train": {"microbatches": 4}})
piped.fit(x[:200], names[:200], progress=lambda step: step.step < 7)
assert len(piped.history) == 7, len(piped.history)


# What is wrong is said.
def refuses(error, part, function, *arguments):
    try:
        function(*arguments)
    except error as e:
        assert part in str(e), str(e)
        return
    raise AssertionError(f"{part} was not refused")


bad = x.copy()
bad[3, 1] = np.nan
refuses(ValueError, "not fitted yet", millrace.Model().predict, x)
refuses(ValueError, "NaN", millrace.Model().fit, bad, names)
refuses(ValueError, "Expected 2D array", millrace.Model().fit, x[0], names)
refuses(ValueError, "one target for each of 300 rows", millrace.Model().fit, x, names[:5])
refuses(ValueError, "X has 3 features", model.predict, x[:, :3])
refuses(ValueError, "1 class", millrace.Model().fit, x, ["a"] * 300)
refuses(ValueError, "expected one of auto", millrace.Model(task="both").fit, x, names)
refuses(millrace.Error, "hidden", millrace.Model(hidden=[0]).fit, x, names)
assert pickle.loads(pickle.dumps(millrace.Model(steps=3))).steps == 3
for fitted in model, numbers, piped:
    copy = pickle.loads(pickle.dumps(fitted))
    assert (copy.predict(x) == fitted.predict(x)).all() and len(copy.history) == len(fitted.history)
    assert (pickle.loads(pickle.dumps(copy)).predict(x) == fitted.predict(x)).all()
    copy.close()
    refuses(ValueError, "not fitted yet", copy.predict, x)
model.close()
refuses(ValueError, "not fitted yet", model.predict, x)

try:
    import pandas
except ImportError:
    pandas = None
if pandas:
    frame = pandas.DataFrame({"size": np.arange(100.0), "kind": ["a", "b"] * 50})
    of_frame = millrace.Model(steps=200).fit(frame, ["no", "yes"] * 50)
    assert of_frame.score(frame, ["no", "yes"] * 50) == 1
    of_frame.predict(pandas.DataFrame({"size": [1.0], "kind": ["never seen"]}))
    refuses(ValueError, "feature names should match", of_frame.predict, frame[["kind", "size"]])

try:
    from sklearn.utils.estimator_checks import check_estimator
except ImportError:
    sys.exit()
for task in ("classes", "numbers"):
    results = check_estimator(millrace.Model(task=task, steps=200, hidden=(16,)), on_fail=None)
    failed = {r["check_name"] for r in results if r["status"] == "failed"}
    assert not failed, failed
    skipped = {r["check_name"] for r in results if r["status"] == "skipped"}
    print(task, len(results), "checks, skipped:", skipped)
END
"$python" -W ignore model.py || exit 1

# The notebook, run again, has outputs in the same cells as the one that is kept.
cat >notebook.py <<'END'
import json
import sys

sys.path.insert(0, sys.argv[2])
from run_notebook import main

names = main(sys.argv[1], "again.ipynb")
assert names["accuracy"] > 0.9 and names["r2"] > 0.9, (names["accuracy"], names["r2"])
assert len(names["first"]) == 20 and len(names["rest"]) == 80
assert names["part"] > 0.9 and set(names["named"]) <= {"inner", "outer"}, names["part"]
assert names["losses"][1] < names["losses"][0] + 0.1, names["losses"]
kept, again = (json.load(open(name))["cells"] for name in (sys.argv[1], "again.ipynb"))
for a, b in zip(kept, again, strict=True):
    assert a["source"] == b["source"] and len(a.get("outputs", [])) == len(b.get("outputs", [])), a["source"]
END
"$python" notebook.py "$source/engine/python/quickstart.ipynb" "$source/engine/python" || exit 1
