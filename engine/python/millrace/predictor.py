"""A trained model from its checkpoint alone: millrace.load(path).predict(x)."""

import contextlib
import csv
import ctypes
import json
import os
import tempfile
import warnings

from ._library import Error, PredictorInputStruct, PredictorOptsStruct, Rows, check, lib
from .job import pairs, read_json
from .signals import Signals

_PIECE = 4096  # rows between which Ctrl-C is looked for


def _path(x):
    return os.fspath(x) if isinstance(x, (str, os.PathLike)) else None


def _encoded(x):
    return None if x is None else os.fsencode(x)


def _numbers(x):
    """Rows as an array, or as they are where they are no numbers."""
    import numpy

    try:
        return numpy.asarray(x)
    except ValueError:  # of several lengths
        return x


class Predictor:
    """A trained model: of a run's folder the best checkpoint, or the one that `checkpoint` names ("last", "best",
    "step-00000100"). Nothing else of the training is needed.

    `predict` and the other functions take the path of a file or folder as the training had them ("-": standard input),
    a pandas frame, an array or a list of rows, a generator of rows; of a language model a path, a text, or a list of
    texts or of arrays of tokens. Columns of frames and of rows that are dicts are found by their names, in any order,
    and those that the model does not know are ignored.

    `settings` is a dict of groups of a configuration in place of what the training's says, `batch` the number of
    samples at once (0: as many as memory allows). `calibrated`: probabilities with the temperature that calibrate(), or
    the command eval --calibrate, has kept beside the weights.
    """

    def __init__(self, path, checkpoint=None, settings=None, batch=0, calibrated=False):
        sets = pairs(settings or {})
        options = PredictorOptsStruct(_encoded(checkpoint), (ctypes.c_char_p * len(sets))(*sets), len(sets), batch,
                                      calibrated)
        self._predictor = ctypes.c_void_p()
        self._process = os.getpid()
        check(lib.mr_predictor_open(os.fsencode(path), ctypes.byref(options), ctypes.byref(self._predictor)))
        self.about = read_json(lib.mr_predictor_about, self._predictor)
        self.checkpoint = self.about["checkpoint"]
        self.step = self.about["step"]
        self.task = self.about["task"]
        self.columns = [c["name"] for c in self.about.get("columns", [])]
        self.target = self.about.get("target")
        self._has_texts = any(c["kind"] == "category" for c in self.about.get("columns", []))
        self.notices = []

    @property
    def classes_(self):
        """The classes, as predict() gives them: whole numbers where all are, else texts."""
        import numpy

        names = self.about.get("classes")
        if names is None:
            raise AttributeError(f"classes_: this model predicts {self.task}, not classes")
        try:
            numbers = [float(name) for name in names]
        except ValueError:
            return numpy.array(names)
        return numpy.array([int(x) for x in numbers] if all(x == int(x) for x in numbers) else numbers)

    # --- its life ---

    def close(self):
        """End its threads and give back its memory; the end of the object does the same."""
        if getattr(self, "_predictor", None):
            lib.mr_predictor_close(self._predictor)
            self._predictor = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        self.close()

    def __reduce_ex__(self, _):
        raise TypeError("a millrace.Predictor cannot be copied or pickled: load its checkpoint again")

    def _open(self):
        if not self._predictor:
            raise ValueError("this model is closed")
        return self._predictor

    def _told(self, status, path=None):
        """Keep what the library has to say, and give its warnings as Python's; raise its failure."""
        lines = lib.mr_predictor_notices(self._open()).decode(errors="replace").splitlines()
        self.notices = lines
        if status:
            try:
                check(status)
            except Error as e:
                text = "\n".join([str(e)] + [x for x in lines if not x.startswith("warning")])
                raise Error(text.replace(path, "the rows") if path else text, e.status) from None
        for line in lines:
            if line.startswith("warning: "):
                warnings.warn(line.removeprefix("warning: "), stacklevel=4)

    # --- data ---

    def _by_file(self, path, **more):
        """Predict a file; its values and targets as arrays, where they are not written to a file."""
        import numpy

        values, targets = [], []
        width = self.about.get("values", 0)
        with Signals() as signals:

            def take(_, n, value, target):
                try:
                    values.append(numpy.ctypeslib.as_array(value, (n, width)).copy())
                    targets.append(numpy.ctypeslib.as_array(target, (n,)).copy())
                    return signals.poll()
                except BaseException as e:
                    signals.raised.append(e)
                    return False

            rows = Rows(take) if width else Rows()
            texts = {name: _encoded(more.get(name)) for name in ("output", "format", "scores", "curves", "input")}
            given = PredictorInputStruct(path=os.fsencode(path), rows=rows, by_token=bool(more.get("by_token")),
                                         calibrate=bool(more.get("calibrate")), **texts)
            status = lib.mr_predictor_file(self._open(), ctypes.byref(given))
        self._told(status, path if more.get("made") else None)
        return (numpy.concatenate(values) if values else numpy.empty((0, width)),
                numpy.concatenate(targets) if targets else numpy.empty(0))

    def _by_array(self, x):
        import numpy

        width = self.about["width"]
        if x.size != len(x) * width:
            expected = f"{width} numbers each" + (f" ({', '.join(self.columns)})" if 0 < len(self.columns) < 20 else "")
            raise ValueError(f"expected rows of {expected}, got an array of {x.shape}")
        rows = numpy.ascontiguousarray(x.reshape(len(x), width), dtype=numpy.float64)
        out = numpy.empty((len(rows), self.about["values"]))
        with Signals() as signals:
            for at in range(0, len(rows), _PIECE):
                part = rows[at : at + _PIECE]
                status = lib.mr_predictor_numbers(self._open(), part.ctypes.data, len(part),
                                                  out[at : at + _PIECE].ctypes.data)
                if status or not signals.poll():
                    break
            else:
                status = 0
        self._told(status)
        return out

    @contextlib.contextmanager
    def _table(self, x):
        """Rows that are no numbers, as a file of CSV with the names of columns."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rows.csv")
            with open(path, "w", newline="") as file:
                self._write(x, file)
            yield path

    def _write(self, x, file):
        if hasattr(x, "to_csv"):
            x.to_csv(file, index=False)
            return
        x = list(x)
        if x and isinstance(x[0], dict):
            names = list(dict.fromkeys(name for row in x for name in row))
            rows = ([row.get(name) for name in names] for row in x)
        else:
            names, rows = self.columns, x
        out = csv.writer(file)
        out.writerow(names)
        for row in rows:
            row = ["" if v is None or v != v else v for v in row]
            if len(row) != len(names):
                raise ValueError(f"expected rows of {len(names)} columns ({', '.join(names)}), got one of {len(row)}")
            out.writerow(row)

    @contextlib.contextmanager
    def _file_of(self, x):
        """The path of `x`, which is a path, or of a file made of it, and which it is."""
        import numpy

        if self.task == "tokens" and _path(x) is None:
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "texts.jsonl")
                with open(path, "w") as file:
                    for row in x:
                        key = "text" if isinstance(row, str) else "tokens"
                        row = row if isinstance(row, str) else numpy.asarray(row).tolist()
                        file.write(json.dumps({key: row}, ensure_ascii=False) + "\n")
                yield {"path": path, "made": True}
        elif _path(x) is None:
            if not self.columns:
                raise TypeError(f"a model of data {self.about['data']!r} takes a path, or an array of numbers, and not "
                                f"{type(x).__name__} here")
            with self._table(x) as path:
                yield {"path": path, "made": True}
        else:
            yield {"path": _path(x)}

    def _values(self, x):
        """Values and targets (NaN: none) of samples; of a language model a dict a text."""
        import numpy

        if self.task == "tokens":
            return self._texts(x), None
        if _path(x) is None and not hasattr(x, "to_csv"):
            x = x if hasattr(x, "__len__") else list(x)
            if not len(x):
                return numpy.empty((0, self.about["values"])), numpy.empty(0)
            array = x if isinstance(x, numpy.ndarray) or self._has_texts or isinstance(x[0], dict) else _numbers(x)
            if isinstance(array, numpy.ndarray) and array.dtype.kind in "biuf":
                return self._by_array(array), numpy.full(len(array), numpy.nan)
        with self._file_of(x) as file:
            return self._by_file(**file)

    def _texts(self, x, **more):
        with self._file_of(x) as file, tempfile.TemporaryDirectory() as folder:
            output = os.path.join(folder, "out.jsonl")
            self._by_file(**file, output=output, format="jsonl", **more)
            with open(output) as lines:
                return [json.loads(line) for line in lines]

    # --- predictions ---

    def predict(self, x):
        """The most probable class of each sample, or the number in the target's own unit; of a language model a dict a
        text: its number of tokens, log probability, perplexity and the likely next tokens."""
        values, _ = self._values(x)
        if self.task == "tokens":
            return values
        return self.classes_[values.argmax(axis=1)] if self.task == "classes" else values[:, 0]

    @property
    def predict_proba(self):
        """predict_proba(x): the probability of each of `classes_`, a column each. Numbers have none."""
        if self.task != "classes":
            raise AttributeError(f"predict_proba: this model predicts {self.task}, not classes")
        return lambda x: self._values(x)[0]

    def predict_tokens(self, x):
        """Of a language model: a dict a token, with its log probability and the token that was predicted there."""
        if self.task != "tokens":
            raise AttributeError(f"predict_tokens: this model predicts {self.task}, not tokens")
        return self._texts(x, by_token=True)

    def predict_file(self, x, output, format=None, scores=None, input=None, by_token=False, curves=None):
        """Write the predictions to the file `output`, as CSV, JSON lines or an array of NumPy, by its ending or
        `format`; `scores` is a file for the confusion matrix and its like, `curves` one for the points of the ROC and
        precision-recall curves. Returns what was said about them."""
        with self._file_of(x) as file:
            self._by_file(**file, output=output, format=format, scores=scores, input=input, by_token=by_token,
                          curves=curves)
        return self.notices

    def scores(self, x):
        """Of classes, of a path or frame with targets: a dict of the confusion matrix, precision, recall, F1 and areas
        of each class, means over classes, loss, and how well probabilities are calibrated."""
        with self._file_of(x) as file, tempfile.TemporaryDirectory() as folder:
            scores = os.path.join(folder, "scores.json")
            self._by_file(**file, scores=scores)
            with open(scores) as text:
                return json.load(text)

    def curves(self, x):
        """Likewise: the points of the ROC and precision-recall curves, a dict each with "class", "threshold",
        "true_positive_rate", "false_positive_rate" and "precision"."""
        with self._file_of(x) as file, tempfile.TemporaryDirectory() as folder:
            curves = os.path.join(folder, "curves.csv")
            self._by_file(**file, curves=curves)
            with open(curves, newline="") as rows:
                return [{k: v if k == "class" else float(v or "nan") for k, v in row.items()}
                        for row in csv.DictReader(rows)]

    def calibrate(self, x):
        """Of classes: fit a temperature to the samples of a path or frame with targets, which the training should not
        have seen, keep it beside the weights, and use it from now on. Returns what it made of the loss and of the
        calibration error."""
        with self._file_of(x) as file:
            self._by_file(**file, calibrate=True)
        return next(line for line in self.notices if line.startswith("temperature"))

    def score(self, x, y=None):
        """Accuracy of classes, R2 of numbers: against `y`, or against the targets that the file or frame has. Of a
        language model the mean log probability of a token."""
        import numpy

        values, targets = self._values(x)
        if self.task == "tokens":
            n = sum(t["tokens"] - 1 for t in values if t["tokens"])
            return sum(t["log_probability"] or 0 for t in values) / n if n else float("nan")
        if y is None:
            if not len(targets) or numpy.isnan(targets).any():
                raise ValueError("score: the samples have no targets: give y")
            got = values.argmax(axis=1) if self.task == "classes" else values[:, 0]
        else:
            targets = numpy.asarray(y).reshape(-1)
            got = self.classes_[values.argmax(axis=1)] if self.task == "classes" else values[:, 0]
        if len(targets) != len(got):
            raise ValueError(f"score: {len(got)} samples, and {len(targets)} targets")
        if self.task == "classes":
            return float((got == targets).mean())
        return float(1 - ((targets - got) ** 2).sum() / ((targets - targets.mean()) ** 2).sum())


def load(path, checkpoint=None, settings=None, batch=0, calibrated=False):
    """The trained model in a run's folder or a checkpoint: Predictor(...)."""
    return Predictor(path, checkpoint, settings, batch, calibrated)
