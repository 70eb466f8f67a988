#!/usr/bin/env python3
"""Tables: a training from init's own configuration beside scikit-learn.

    perf/tables.py MILLRACE [NAME...] [--keep FOLDER]

Twelve tables, of scikit-learn and made up with every oddity that files have, are split into a part for training and one
for the test, three times. Of each part `init`, `train` and `predict` make our score; scikit-learn's linear model,
gradient boosting and perceptron get what a careful user gives them: numbers with missing values as their mean, scaled,
and texts as one-hot columns. A score is the accuracy, or R2, of the test part, the mean of the splits, in percent.

Needs scikit-learn and pandas: a yardstick, which millrace itself never uses. Ends with 1 if a score is more than one
percent below that of scikit-learn's perceptron.
"""
import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

warnings.filterwarnings("ignore")
SPLITS = 3
LIMIT = 1.0  # percent that a score may be below that of scikit-learn's perceptron


class Table:
    """A frame of numbers and texts, its target, and how the file writes it."""

    def __init__(self, frame, target, classes, write=None, options=None):
        self.frame = frame.reset_index(drop=True)
        self.target = target
        self.classes = classes
        self.write = write or {}  # column: function from a value to the file's text
        self.options = options or {"sep": ","}

    def save(self, rows, path):
        out = self.frame.iloc[rows].copy()
        for column, text in self.write.items():
            out[column] = [text(v) for v in out[column]]
        out.to_csv(path, index=False, **self.options)


def of_sklearn(bunch, classes):
    frame = pd.DataFrame(bunch.data, columns=[str(n) for n in bunch.feature_names])
    target = bunch.target
    if classes and hasattr(bunch, "target_names"):
        target = [str(bunch.target_names[i]) for i in bunch.target]
    frame["target"] = target
    return Table(frame, "target", classes)


def adult():
    """Income: half of what decides is in texts, some with missing values, one with many values."""
    r = np.random.default_rng(1)
    n = 12000
    work = ["Private", "Self-emp", "Federal-gov", "Local-gov", "State-gov", "Without-pay", "?"]
    school = ["HS-grad", "Some-college", "Bachelors", "Masters", "Doctorate", "11th", "Assoc-voc", "7th-8th"]
    status = ["Married", "Never-married", "Divorced", "Widowed", "Separated"]
    job = ["Tech", "Craft", "Exec", "Adm", "Sales", "Service", "Machine", "Farming", "Protective", "?"]
    country = ["country %d" % i for i in range(42)]
    weight = {k: r.normal(0, 1, len(v)) for k, v in
              {"work": work, "school": school, "status": status, "job": job, "country": country}.items()}
    pick = {"work": r.choice(7, n, p=[.6, .1, .05, .1, .05, .02, .08]), "school": r.integers(0, 8, n),
            "status": r.integers(0, 5, n), "job": r.integers(0, 10, n),
            "country": np.minimum(41, r.geometric(0.15, n) - 1)}
    age, hours = r.normal(38, 13, n).clip(17, 90).round(), r.normal(40, 12, n).clip(1, 99).round()
    gain = np.where(r.random(n) < 0.9, 0, r.lognormal(8, 1, n)).round()
    odds = 0.06 * (age - 38) + 0.05 * (hours - 40) + 0.9 * (gain > 3000) - 1
    for k in pick:
        odds = odds + 0.8 * weight[k][pick[k]]
    odds = odds + 0.5 * (pick["status"] == 0) * (age > 40)
    income = np.where(r.random(n) < 1 / (1 + np.exp(-1.5 * odds)), ">50K", "<=50K")
    names = {"work": work, "school": school, "status": status, "job": job, "country": country}
    frame = pd.DataFrame({"age": age, "workclass": [work[i] for i in pick["work"]], "fnlwgt": r.integers(1e4, 1e6, n)})
    for k in ["school", "status", "job", "country"]:
        frame[k] = [names[k][i] for i in pick[k]]
    frame["capital-gain"] = gain
    frame["hours-per-week"] = hours
    frame["income"] = income
    return Table(frame, "income", True)


def prices():
    """Houses: money with commas, shares with percent signs, yes and no, dates, missing cells, identifiers."""
    r = np.random.default_rng(2)
    n = 3000
    town = ["Town %d" % i for i in range(25)]
    level = r.normal(0, 0.3, 25)
    at = r.integers(0, 25, n)
    area, year = r.lognormal(4.6, 0.4, n).round(1), r.integers(1900, 2024, n)
    share, garage = r.integers(0, 101, n), r.random(n) < 0.4
    day = r.integers(0, 3650, n)
    price = np.exp(level[at]) * area * (900 + 6 * (year - 1900)) * (1 + 0.15 * garage) * (1 + 0.03 * day / 365)
    price = (price * r.lognormal(0, 0.05, n)).round()
    frame = pd.DataFrame({"id": np.arange(1, n + 1), "area": area, "town": [town[i] for i in at], "built": year,
                          "renovated": share, "garage": garage, "sold": day, "currency": "EUR", "price": price})
    frame.loc[r.random(n) < 0.05, "area"] = np.nan
    frame.loc[r.random(n) < 0.05, "town"] = None
    return Table(frame, "price", False, {
        "renovated": lambda v: "%d %%" % v, "garage": lambda v: "yes" if v else "no",
        "sold": lambda v: (pd.Timestamp("2014-01-01") + pd.Timedelta(days=int(v))).strftime("%Y-%m-%d"),
        "price": lambda v: "${:,.0f}".format(v), "area": lambda v: "NA" if v != v else "%.1f" % v})


def european():
    """Semicolons, decimal commas, points between thousands, day.month.year, ja and nein as texts."""
    r = np.random.default_rng(3)
    n = 2000
    kind = ["rot", "gr\u00fcn", "blau", "gelb; hell"]
    a, b, c = r.normal(0, 2, n), r.gamma(2, 2000, n), r.integers(0, 4, n)
    day, ja = r.integers(0, 365, n), r.random(n) < 0.5
    y = 10 * np.sin(a) + b / 1000 + 3 * (c == 2) - 4 * (c == 1) * ja + np.cos(day / 58) + r.normal(0, 0.3, n)
    frame = pd.DataFrame({"a": a.round(3), "b": b.round(2), "kind": [kind[i] for i in c], "day": day,
                          "ja": ["ja" if v else "nein" for v in ja], "y": y.round(4)})
    comma = lambda digits: lambda v: "" if v != v else \
        ("{:,.%df}" % digits).format(v).replace(",", "_").replace(".", ",").replace("_", ".")
    return Table(frame, "y", False, {
        "a": comma(3), "b": comma(2), "y": comma(4),
        "day": lambda v: (pd.Timestamp("2023-01-01") + pd.Timedelta(days=int(v))).strftime("%d.%m.%Y")}, {"sep": ";"})


def towns():
    """A column of 300 texts decides: a table of embeddings."""
    r = np.random.default_rng(4)
    n = 8000
    effect = r.normal(0, 1.5, 300)
    at, x = r.integers(0, 300, n), r.normal(0, 1, (n, 3))
    score = effect[at] + x[:, 0] - 0.5 * x[:, 1] * (at % 2) + r.logistic(0, 0.5, n)
    frame = pd.DataFrame({"town": ["T%03d" % i for i in at], "x1": x[:, 0].round(4), "x2": x[:, 1].round(4),
                          "x3": x[:, 2].round(4), "bought": np.where(score > 0, "TRUE", "FALSE")})
    return Table(frame, "bought", True)


def gaps():
    """A fifth of all cells is missing, in six spellings, and that they are missing says something."""
    r = np.random.default_rng(5)
    n = 4000
    x = r.normal(0, 1, (n, 6))
    miss = r.random((n, 6)) < 0.2
    y = x[:, 0] + x[:, 1] * x[:, 2] + 1.5 * miss[:, 3] - miss[:, 4] + r.normal(0, 0.5, n)
    frame = pd.DataFrame(np.where(miss, np.nan, x.round(4)), columns=["m%d" % i for i in range(6)])
    frame["grade"] = np.where(y > 1, "high", np.where(y < -0.5, "low", "middle"))
    spell = ["", "NA", "NaN", "null", "?", "n/a"]
    pick = random.Random(5)
    write = {"m%d" % i: lambda v: pick.choice(spell) if v != v else "%.4f" % v for i in range(6)}
    return Table(frame, "grade", True, write)


def remarks():
    """Quoted texts with commas, quotes and newlines between the numbers; a text that differs in each row."""
    r = np.random.default_rng(6)
    n = 1500
    x, k = r.normal(0, 1, (n, 4)), r.integers(0, 5, n)
    words = ['plain', 'with, comma', 'with "quotes"', 'two\nlines', "tab\there"]
    y = (x[:, 0] * x[:, 1] + 0.8 * x[:, 2] + np.array([0, 1, -1, 2, -2])[k] + r.normal(0, 0.3, n) > 0)
    frame = pd.DataFrame({"name": ["person number %d" % i for i in range(n)], "remark": [words[i] for i in k]})
    for i in range(4):
        frame["v%d" % i] = x[:, i].round(4)
    frame["class"] = np.where(y, "good", "bad")
    return Table(frame, "class", True)


def california_like():
    """Friedman's first function on a scale of hundreds of thousands, as house prices have it."""
    x, y = datasets.make_friedman1(n_samples=4000, n_features=8, noise=0.5, random_state=7)
    frame = pd.DataFrame(x.round(5), columns=["f%d" % i for i in range(8)])
    frame["f0"] *= 1e5
    frame["value"] = (50000 + 20000 * y).round()
    return Table(frame, "value", False)


TABLES = {
    "iris": lambda: of_sklearn(datasets.load_iris(), True),
    "wine": lambda: of_sklearn(datasets.load_wine(), True),
    "breast_cancer": lambda: of_sklearn(datasets.load_breast_cancer(), True),
    "digits": lambda: of_sklearn(datasets.load_digits(), True),
    "diabetes": lambda: of_sklearn(datasets.load_diabetes(), False),
    "adult": adult,
    "prices": prices,
    "european": european,
    "towns": towns,
    "gaps": gaps,
    "remarks": remarks,
    "friedman": california_like,
}


def inputs(frame):
    numbers = [c for c in frame if frame[c].dtype.kind in "fiub"]
    texts = [c for c in frame if c not in numbers and frame[c].nunique() <= len(frame) / 2]
    return ColumnTransformer([
        ("numbers", make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), numbers),
        ("texts", make_pipeline(SimpleImputer(strategy="constant", fill_value="missing"),
                                OneHotEncoder(handle_unknown="ignore", sparse_output=False)), texts)])


def scaled(model):
    return TransformedTargetRegressor(model, transformer=StandardScaler())


def rivals(classes):
    if classes:
        return [LogisticRegression(max_iter=2000), HistGradientBoostingClassifier(random_state=0),
                MLPClassifier(max_iter=1000, random_state=0)]
    return [Ridge(), scaled(HistGradientBoostingRegressor(random_state=0)),
            scaled(MLPRegressor(max_iter=1000, random_state=0))]


def theirs(table, train, test):
    x, y = table.frame.drop(columns=[table.target]), table.frame[table.target]
    scores = []
    for model in rivals(table.classes):
        pipe = make_pipeline(inputs(x), model)
        pipe.fit(x.iloc[train], y.iloc[train])
        scores.append(100 * pipe.score(x.iloc[test], y.iloc[test]))
    return scores


def run(*command, cwd):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        sys.exit("%s ended with %d:\n%s%s" % (" ".join(command), done.returncode, done.stdout, done.stderr))
    return done.stdout + done.stderr


def ours(millrace, table, train, test, folder):
    os.makedirs(folder, exist_ok=True)
    table.save(train, os.path.join(folder, "train.csv"))
    table.save(test, os.path.join(folder, "test.csv"))
    said = run(millrace, "init", "train.csv", "--target", table.target, cwd=folder)
    run(millrace, "train", "train.cfg", "--set", "machine.peak_gflops=1", cwd=folder)
    said += run(millrace, "predict", "runs/train", "test.csv", "-o", "predictions.csv", cwd=folder)
    found = re.search(r"accuracy ([0-9.]+)%" if table.classes else r"R2 (-?[0-9.]+)", said)
    return float(found.group(1)) * (1 if table.classes else 100)


def main():
    parser = argparse.ArgumentParser(description="init's own configurations beside scikit-learn")
    parser.add_argument("millrace")
    parser.add_argument("names", nargs="*", default=list(TABLES))
    parser.add_argument("--keep", help="folder for the tables, configurations and runs")
    args = parser.parse_args()
    millrace = os.path.abspath(args.millrace)
    root = args.keep or tempfile.mkdtemp(prefix="tables")
    behind = []
    print("| table | rows | score | millrace | linear | boosting | perceptron |\n|---|---|---|---|---|---|---|")
    for name in args.names:
        table = TABLES[name]()
        rows = []
        for split in range(SPLITS):
            train, test = train_test_split(np.arange(len(table.frame)), test_size=0.2, random_state=split,
                                           stratify=table.frame[table.target] if table.classes else None)
            mine = ours(millrace, table, train, test, os.path.join(root, name, str(split)))
            rows.append([mine] + theirs(table, train, test))
        mean = np.mean(rows, axis=0)
        print("| %s | %d | %s | %s |" % (name, len(table.frame), "accuracy" if table.classes else "R2",
                                        " | ".join("%.2f" % v for v in mean)), flush=True)
        if mean[0] < mean[3] - LIMIT:
            behind.append(name)
    if behind:
        sys.exit("more than %g percent behind the perceptron: %s" % (LIMIT, ", ".join(behind)))


if __name__ == "__main__":
    main()
