#!/bin/sh
# Random tables: a trained model predicts the same for the same rows, whichever way they come: the command, a file,
# another order of columns, rows of a list, dicts, a generator, an array, batches of any size; and pictures likewise.
#   test_random_rows.sh SOURCE BUILD
#
# MR_ROWS_SEED (a number; else 1) and MR_ROWS_COUNT (else 4) say which tables. A table that fails is named by its seed.
. "$(dirname "$0")/python_lib.sh"
export PYTHONPATH="$source/engine/python" PYTHONDONTWRITEBYTECODE=1 MILLRACE_LIBRARY="$build/libmillrace.so"
seed=${MR_ROWS_SEED:-1}
count=${MR_ROWS_COUNT:-4}
echo "random_rows: $count tables from seed $seed (MR_ROWS_SEED, MR_ROWS_COUNT)"

cat >rows.py <<'END'
import csv
import os
import random
import subprocess
import sys
import warnings

import numpy as np

import millrace

warnings.simplefilter("ignore")
command, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])


def write(path, names, rows):
    with open(path, "w", newline="") as file:
        out = csv.writer(file, delimiter=",")
        out.writerow(names)
        out.writerows(rows)


def cell(r, kind, gaps):
    if gaps and r.random() < 0.1:
        return ""
    return r.choice(["red", "blue", "dark, green", 'a "b"']) if kind == "text" else round(r.gauss(0, 100), 3)


def table(number):
    r = random.Random(number)
    kinds = [r.choice(["number", "text"]) for _ in range(r.randint(2, 6))]
    kinds[0] = "number"
    names = [f"column {i}" for i in range(len(kinds))]
    gaps = r.random() < 0.5
    rows = [[cell(r, kind, gaps) for kind in kinds] for _ in range(120)]
    classes = r.random() < 0.5
    first = [row[0] or 0 for row in rows]
    targets = [r.choice(["low", "high"]) if abs(v) < 10 else "low" if v < 0 else "high" for v in first] if classes \
        else [1000 + 3 * v for v in first]
    write("rows.csv", names + ["goal"], [row + [t] for row, t in zip(rows, targets)])
    texts = [name for name, kind in zip(names, kinds) if kind == "text"]
    data = {"name": "csv", "path": "rows.csv", "targets": "classes" if classes else "numbers",
            "scale": r.choice(["standard", "none"]), "empty": r.choice(["mean", "zero"]) if gaps else "refuse"}
    if texts:
        data.update(categories=",".join(texts), category="known", one_hot=64)
    if not classes:
        data["target_scale"] = "standard"
    precision = r.choice(["f32", "f64", "bf16"])
    job = {"model": {"name": "mlp", "hidden": [r.randint(2, 20)]}, "data": data,
           "optimizer": {"name": "adamw", "lr": 0.01}, "system": {"name": "sequential"},
           "precision": precision, "backend": "reference" if precision == "f64" else "auto",
           "train": {"steps": 30, "batch": 10, "seed": number},
           "machine": {"workers": 1, "threads": 1, "peak_gflops": 1}, "run": {"dir": f"run{number}"}}
    with millrace.Training(millrace.Job(job)) as training:
        training.fit()
    subprocess.run([command, "predict", f"run{number}", "rows.csv", "-o", "expected.npy"], check=True,
                   stderr=subprocess.DEVNULL)
    order = r.sample(range(len(names)), len(names))
    write("turned.csv", ["more"] + [names[i] for i in order], [["x"] + [row[i] for i in order] for row in rows])
    empty = [[None if v == "" else v for v in row] for row in rows]
    ways = [rows, empty, "turned.csv", (row for row in rows), [dict(zip(names, row)) for row in rows]]
    if not texts:
        ways.append(np.array([[np.nan if v == "" else v for v in row] for row in rows]))
    expected = np.load("expected.npy")
    for batch in 0, r.randint(1, 50):
        with millrace.load(f"run{number}", batch=batch) as model:
            for way in ways if not batch else ways[:2] + ways[4:]:
                got = model.predict_proba(way) if classes else model.predict(way)[:, None]
                assert np.allclose(got, expected, rtol=1e-5, atol=1e-5), (number, batch, abs(got - expected).max())


def pictures():
    rng = np.random.default_rng(seed)
    pixels = rng.integers(0, 256, (24, 6, 6, 3), dtype=np.uint8)
    for i, picture in enumerate(pixels):
        folder = "dark" if i % 2 else "light"
        os.makedirs(f"pictures/{folder}", exist_ok=True)
        picture //= 3 if i % 2 else 1
        with open(f"pictures/{folder}/{i:02d}.ppm", "wb") as file:
            file.write(b"P6 6 6 255\n" + picture.tobytes())
    data = {"name": "images", "path": "pictures", "size": 6, "crop": "exact"}
    job = {"model": {"name": "mlp", "hidden": [8]}, "data": data,
           "optimizer": {"name": "adamw", "lr": 0.01}, "system": {"name": "sequential"},
           "train": {"steps": 60, "batch": 4}, "machine": {"workers": 1, "threads": 1, "peak_gflops": 1},
           "run": {"dir": "seen"}}
    with millrace.Training(millrace.Job(job)) as training:
        training.fit()
    with millrace.load("seen") as model:
        order = list(range(1, 24, 2)) + list(range(0, 24, 2))  # dark, then light
        of_files = model.predict_proba("pictures")
        assert np.allclose(model.predict_proba(pixels[order]), of_files, atol=1e-5)
        assert list(model.classes_) == ["dark", "light"] and model.score("pictures") > 0.8
        assert model.predict("pictures/dark/01.ppm").shape == (1,)


for number in range(seed, seed + count):
    try:
        table(number)
    except BaseException:
        print(f"random_rows: the table of seed {number} fails", file=sys.stderr)
        raise
pictures()
END
"$python" rows.py "$build/millrace" "$seed" "$count" || exit 1
