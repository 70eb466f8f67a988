#!/bin/sh
# millrace.load: a run's folder or a checkpoint alone predicts files, arrays, rows of texts, generators and frames as
# the command does; what is wrong is named.   test_predictor.sh SOURCE BUILD
. "$(dirname "$0")/python_lib.sh"
export PYTHONPATH="$source/engine/python" PYTHONDONTWRITEBYTECODE=1 MILLRACE_LIBRARY="$build/libmillrace.so"

cat >load.py <<'END'
import csv
import gc
import pathlib
import pickle
import shutil
import subprocess
import sys
import warnings

import numpy as np

import millrace

warnings.simplefilter("error")
rng = np.random.default_rng(5)
command = sys.argv[1]


def refuses(error, part, function, *arguments, **named):
    try:
        function(*arguments, **named)
    except error as e:
        assert part in str(e), str(e)
        return
    raise AssertionError(f"{part} was not refused")


def write(path, names, rows):
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(names)
        out.writerows(rows)


def train(folder, data, loss="", **groups):
    job = {"model": {"name": "mlp", "hidden": [16]}, "data": data, "optimizer": {"name": "adamw", "lr": 0.01},
           "system": {"name": "1f1b"}, "train": {"steps": 200, "batch": 32, "microbatches": 4},
           "machine": {"workers": 2, "threads": 1, "peak_gflops": 1}, "run": {"dir": folder}, **groups}
    with millrace.Training(millrace.Job(job)) as training:
        training.fit()


# --- classes of a table with texts ---
rows = [[round(40 + 10 * rng.normal(), 3), str(rng.choice(["red", "blue"])), round(rng.normal(), 3)]
        for _ in range(300)]
who = ["old" if a + 5 * (c == "red") > 42 else "young" for a, c, _ in rows]
names = ["age", "colour", "income"]
write("rows.csv", names + ["who"], [r + [w] for r, w in zip(rows, who)])
train("run", {"name": "csv", "path": "rows.csv", "targets": "classes", "categories": "colour", "category": "known",
              "one_hot": 5})
shutil.move("run/checkpoints/step-00000200", "alone")
shutil.rmtree("run")
model = millrace.load("alone")
assert (model.step, model.task, model.columns, model.target) == (200, "classes", names, "who")
assert list(model.classes_) == ["old", "young"]
subprocess.run([command, "predict", "alone", "rows.csv", "-o", "p.npy"], check=True, stderr=subprocess.DEVNULL)
expected = np.load("p.npy")
p = model.predict_proba("rows.csv")
assert np.array_equal(p, expected), "another prediction than the command's"
assert model.score("rows.csv") > 0.9 and model.notices[-1].startswith("accuracy 9"), model.notices
assert np.array_equal(model.predict_proba(rows), p) and np.array_equal(model.predict_proba(r for r in rows), p)
turned = [{"income": i, "other": 1, "age": a, "colour": c} for a, c, i in rows]
assert np.array_equal(model.predict_proba(turned), p)
assert (model.predict(rows) == np.array(["old", "young"])[p.argmax(axis=1)]).all()
assert abs(model.score(rows, who) - (model.predict(rows) == np.array(who)).mean()) < 1e-12
assert model.predict([]).shape == (0,)
model.predict_file(rows, "again.npy")
assert np.array_equal(np.load("again.npy"), p)
model.predict_file("rows.csv", "out.csv", scores="scores.json")
assert pathlib.Path("out.csv").read_text().split("\n")[0] + "\n" == "prediction,probability old,probability young\n"
assert '"confusion"' in pathlib.Path("scores.json").read_text()
assert model.scores("rows.csv")["confusion"] == millrace.load("alone").scores("rows.csv")["confusion"]
points = [q for q in model.curves("rows.csv") if q["class"] == "old"]
area = sum((b["false_positive_rate"] - a["false_positive_rate"]) *
           (b["true_positive_rate"] + a["true_positive_rate"]) / 2 for a, b in zip(points, points[1:]))
assert abs(area - model.scores("rows.csv")["roc_auc"]) < 1e-9
refuses(millrace.Error, "its probabilities are not calibrated", millrace.load, "alone", calibrated=True)
said = model.calibrate("rows.csv")
t = float(said.split()[1].rstrip(":"))
cool = model.predict_proba(rows)
want = p ** (1 / t)
assert np.allclose(cool, want / want.sum(axis=1, keepdims=True), atol=1e-5) and not np.array_equal(cool, p)
with millrace.load("alone", calibrated=True) as kept:
    assert np.array_equal(kept.predict_proba(rows), cool)
refuses(millrace.Error, "has no targets to compare with", model.calibrate, rows)
model = millrace.load("alone")
refuses(UserWarning, '1 unknown value of colour, such as "pink": taken as unknown', model.predict, [[40, "pink", 0]])
refuses(millrace.Error, 'no column "age" (did "agee"', model.predict, [{"agee": 1, "colour": "red", "income": 0}])
refuses(millrace.Error, "column colour has numbers", model.predict, [[40, 7.5, 0]] * 9)
refuses(millrace.Error, "column age has texts", model.predict, [["old", "red", 0]] * 9)
refuses(ValueError, "rows of 3 columns", model.predict, [[40, "red"]])
refuses(ValueError, "no targets", model.score, rows)
refuses(UserWarning, "unknown values of colour", model.predict, np.array([[40, 7.5, 0]]  * 2))
refuses(TypeError, "cannot be copied", pickle.dumps, model)
refuses(millrace.Error, "there is no checkpoint", millrace.load, "nowhere")
model.close()
refuses(ValueError, "closed", model.predict, rows)

# --- numbers in their own unit, from arrays ---
x = rng.normal(size=(300, 3))
y = 20000 + 300 * x[:, 0]
write("numbers.csv", ["a", "b", "c", "y"], np.c_[x, y].tolist())
train("numbers", {"name": "csv", "path": "numbers.csv", "target_scale": "standard"})
with millrace.load("numbers", batch=7) as model:
    assert model.score(x, y) > 0.9, model.score(x, y)
    assert np.allclose(model.predict(x), model.predict("numbers.csv"), rtol=1e-6)
    assert not hasattr(model, "predict_proba") and not hasattr(model, "classes_")
    bad = x.copy()
    bad[1, 2] = np.nan
    refuses(millrace.Error, "row 2: c is missing (NaN)", model.predict, bad)
    refuses(ValueError, "rows of 3 numbers each (a, b, c)", model.predict, x[:, :2])

# --- LIBSVM ---
with open("rows.svm", "w") as file:
    for a in x:
        file.write(f"{int(a[0] > 0)} " + " ".join(f"{i + 1}:{v!r}" for i, v in enumerate(a.tolist())) + "\n")
train("svm", {"name": "libsvm", "path": "rows.svm", "labels": "classes"})
with millrace.load("svm") as model:
    assert list(model.classes_) == [0, 1] and model.score(x, x[:, 0] > 0) == model.score("rows.svm") > 0.9

# --- texts ---
pathlib.Path("book.txt").write_text("the mill turns the stone. " * 60)
train("text", {"name": "text", "path": "book.txt"}, model={"name": "gpt", "width": 16, "heads": 2, "layers": 1,
                                                           "context": 16}, system={"name": "sequential"},
      machine={"workers": 1, "threads": 1, "peak_gflops": 1}, train={"steps": 60, "batch": 8})
with millrace.load("text") as model:
    one, two = model.predict(["the mill", "the stone turns"])
    assert one["text"] == "the mill" and one["tokens"] == 8 and len(one["next"]) == 5 and one["perplexity"] > 1
    tokens = model.predict_tokens(["the mill"])
    assert [t["token"] for t in tokens] == list("the mill")
    assert abs(sum(t["log_probability"] for t in tokens[1:]) - one["log_probability"]) < 1e-4
    assert model.score("book.txt") > model.score(["zzz".replace("z", "m")])

try:
    import pandas
except ImportError:
    sys.exit()
frame = pandas.DataFrame(rows, columns=names)
with millrace.load("alone") as model:
    assert np.array_equal(model.predict_proba(frame[["income", "colour", "age"]]), expected)
    assert model.score(frame.assign(who=who)) > 0.9
    refuses(millrace.Error, 'the rows:1: there is no column "age"', model.predict, frame[["income", "colour"]])
END
"$python" load.py "$build/millrace" || exit 1
