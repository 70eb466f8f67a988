"""A network for rows of numbers, in three lines: Model().fit(X, y).predict(X)."""

import os
import tempfile
import warnings

from .arrays import pairs_of
from .job import Job
from .training import Training

_TASKS = ("auto", "classes", "numbers")


def _not_fitted(text):
    """Scikit-learn's exception where it is, which its tools look for."""
    try:
        from sklearn.exceptions import NotFittedError
    except ImportError:
        return ValueError(text)
    return NotFittedError(text)


def _conversion():
    """The kind of scikit-learn's warning, where it is."""
    try:
        from sklearn.exceptions import DataConversionWarning
    except ImportError:
        return UserWarning
    return DataConversionWarning


class Model:
    """A perceptron for a table: classes or numbers as targets, in the interface of scikit-learn.

    `hidden` are the widths of its layers. `task`: "classes", "numbers", or "auto": numbers where `y` has fractions.
    Columns are scaled by their mean and deviation, and so are targets that are numbers. Columns of text, truth values
    and categories of a pandas frame become one input for each value; a value that fit() has not seen is none of them.
    `settings` is a dict of groups of a configuration that win over all others, such as {"system": {"name": "1f1b"}}.

    The training stays open for predict(): close() ends it, or the end of the object. A copy or a pickle of a fitted
    model has its weights, and predicts the same.
    """

    def __init__(self, hidden=(64, 64), task="auto", steps=600, batch=32, lr=0.003, seed=1, settings=None):
        self.hidden = hidden
        self.task = task
        self.steps = steps
        self.batch = batch
        self.lr = lr
        self.seed = seed
        self.settings = settings

    _parameters = ("hidden", "task", "steps", "batch", "lr", "seed", "settings")

    def get_params(self, deep=True):
        """The parameters of the model, as scikit-learn asks for them."""
        return {name: getattr(self, name) for name in self._parameters}

    def set_params(self, **parameters):
        """Change parameters; they count from the next fit() on."""
        for name, value in parameters.items():
            if name not in self._parameters:
                raise ValueError(f"a model has no parameter {name!r} (known: {', '.join(self._parameters)})")
            setattr(self, name, value)
        return self

    def __repr__(self):
        return f"Model({', '.join(f'{k}={v!r}' for k, v in self.get_params().items())})"

    def __getstate__(self):
        """What a copy or a pickle holds: of a model that was fitted its weights, not its threads."""
        state = dict(self.__dict__)
        training = state.pop("_training", None)
        if training:
            state["_saved"] = {"weights": training.weights(), "history": training.history}
        return state

    def _of_weights(self):
        """A training with the weights that a copy holds, of rows that nobody sees."""
        classes = len(self.classes_) if self._has_classes else 0
        asked = self._job(1)
        groups = {key: asked[key] for key in ("model", "optimizer", "backend", "precision") if key in asked}
        groups.update(system={"name": "sequential"}, machine={"workers": 1, "threads": 1},
                      train={"steps": 1, "batch": 1})
        with tempfile.TemporaryDirectory() as folder:
            width = len(self._scale)
            rows = [[float(i == j % width) for i in range(width)] for j in range(max(classes, 2))]
            groups["data"] = self._write(folder, rows, range(len(rows)))
            training = Training(Job(groups), init=self._saved["weights"])
        training.history = self._saved["history"]
        return training

    def __sklearn_tags__(self):
        from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags

        kind = {"classes": "classifier", "numbers": "regressor"}.get(self.task)
        return Tags(estimator_type=kind, target_tags=TargetTags(required=True), input_tags=InputTags(),
                    classifier_tags=ClassifierTags() if kind == "classifier" else None,
                    regressor_tags=RegressorTags() if kind == "regressor" else None)

    # --- rows ---

    def _columns(self, x, fits):
        """A frame as numbers: a column each, or one for each value of what is no number."""
        import numpy

        parts = []
        for name in x.columns:
            column = x[name]
            if column.dtype.kind in "iuf":
                parts.append(numpy.asarray(column, dtype=float)[:, None])
                continue
            texts = numpy.asarray(column.astype(str))
            if fits:
                self._values[name] = sorted(set(texts))
            if name not in self._values:
                raise ValueError(f"column {name!r} had numbers in fit(), and has {column.dtype} now")
            parts.append((texts[:, None] == numpy.array(self._values[name])[None, :]).astype(float))
        return numpy.hstack(parts) if parts else numpy.empty((len(x), 0))

    def _rows(self, x, fits=False):
        """Inputs as an array of finite numbers, which are checked."""
        import numpy

        if hasattr(x, "todense"):
            raise TypeError("sparse data are not read: pass a dense array, such as X.toarray()")
        if hasattr(x, "columns"):
            names = list(x.columns)
            if not fits and names != self.feature_names_in_:
                raise ValueError(f"The feature names should match those that were passed during fit: expected "
                                 f"{self.feature_names_in_}, got {names}")
            if fits:
                self.feature_names_in_ = names
            x = self._columns(x, fits)
        x = numpy.asarray(x)
        if x.dtype.kind == "c":
            raise ValueError("Complex data not supported")
        if x.ndim != 2:
            raise ValueError(f"Expected 2D array, got {x.ndim}D array instead: rows of numbers. Reshape your data")
        x = x.astype(float)
        if not x.shape[0]:
            raise ValueError(f"Found array with 0 sample(s) (shape={x.shape}) while a minimum of 1 is required.")
        if not x.shape[1]:
            raise ValueError(f"Found array with 0 feature(s) (shape={x.shape}) while a minimum of 1 is required.")
        if not numpy.isfinite(x).all():
            raise ValueError("Input X contains NaN or infinity: fill or drop such values first")
        if not fits and x.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {x.shape[1]} features, but {type(self).__name__} is expecting "
                             f"{self.n_features_in_} features as input")
        return x

    def _targets(self, y, n):
        """Targets as numbers from 0, or scaled; sets what turns predictions back."""
        import numpy

        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        y = numpy.asarray(y)
        if y.ndim == 2 and y.shape[1] == 1:
            warnings.warn("A column-vector y was passed when a 1d array was expected", _conversion(), stacklevel=3)
            y = y[:, 0]
        if y.ndim != 1 or len(y) != n:
            raise ValueError(f"y: expected one target for each of {n} rows, got an array of {y.shape}")
        if y.dtype.kind == "f" and not numpy.isfinite(y).all():
            raise ValueError("Input y contains NaN or infinity: drop such rows first")
        fractions = y.dtype.kind == "f" and (y != numpy.floor(y)).any()
        if self.task == "classes" and fractions:
            raise ValueError("Unknown label type: continuous: classes are whole numbers or texts")
        self._has_classes = self.task == "classes" or (self.task == "auto" and not fractions)
        if self._has_classes:
            self.classes_, numbers = numpy.unique(y, return_inverse=True)
            if len(self.classes_) < 2:
                raise ValueError("y has 1 class, and a classifier needs two: there is one class only")
            return numbers
        y = y.astype(float)
        self._target_mean, self._target_deviation = y.mean(), y.std() or 1.0
        return (y - self._target_mean) / self._target_deviation

    # --- training ---

    def _job(self, n):
        groups = {
            "model": {"name": "mlp", "hidden": list(self.hidden)},
            "optimizer": {"name": "adamw", "lr": self.lr},
            "lr_schedule": {"name": "cosine"},
            "system": {"name": "sequential"},
            "machine": {"workers": 1, "threads": 1},
            "train": {"steps": self.steps, "batch": min(self.batch, n), "seed": self.seed},
        }
        for group, keys in (self.settings or {}).items():
            groups[group] = {**groups.get(group, {}), **keys} if isinstance(keys, dict) else keys
        return groups

    def fit(self, x, y=None, progress=None):
        """Train on rows `x` with targets `y`, or on the (row, target) pairs of a generator. Returns the model."""
        if self.task not in _TASKS:
            raise ValueError(f"task: expected one of {', '.join(_TASKS)}, got {self.task!r}")
        self.close()
        self._values = {}
        x, y = pairs_of(x, y)
        rows = self._rows(x, fits=True)
        self.n_features_in_ = rows.shape[1]
        targets = self._targets(y, len(rows))
        self._mean, deviation = rows.mean(axis=0), rows.std(axis=0)
        self._scale = deviation + (deviation == 0)
        rows = (rows - self._mean) / self._scale
        with tempfile.TemporaryDirectory() as folder:
            groups = self._job(len(rows))
            groups["data"] = self._write(folder, rows.tolist(), targets.tolist())
            training = Training(Job(groups))
            try:
                training.fit(progress)
            except BaseException:
                training.close()
                raise
        self._training = training
        return self

    def _write(self, folder, rows, targets):
        """The group `data` of rows and targets as a file."""
        path = os.path.join(folder, "rows.svm")
        with open(path, "w") as file:
            for row, target in zip(rows, targets):
                file.write(f"{target!r} " + " ".join(f"{i + 1}:{v:.9g}" for i, v in enumerate(row)) + "\n")
        return {"name": "libsvm", "path": path, "features": len(rows[0]),
                "labels": "classes" if self._has_classes else "numbers"}

    def close(self):
        """End the threads of the training; the model is as before fit()."""
        training = self.__dict__.pop("_training", None)
        self.__dict__.pop("_saved", None)
        if training:
            training.close()

    @property
    def history(self):
        """The steps of the training."""
        return self._fitted().history

    def _fitted(self):
        if not hasattr(self, "_training") and hasattr(self, "_saved"):
            self._training = self._of_weights()
        if not hasattr(self, "_training"):
            raise _not_fitted("This Model instance is not fitted yet. Call 'fit' with appropriate arguments first")
        return self._training

    def _outputs(self, x):
        training = self._fitted()
        return training.predict((self._rows(x) - self._mean) / self._scale)

    def predict(self, x):
        """The most probable class of each row, or the number in the unit of the targets."""
        out = self._outputs(x)
        if self._has_classes:
            return self.classes_[out.argmax(axis=1)]
        return out.reshape(len(out)) * self._target_deviation + self._target_mean

    @property
    def predict_proba(self):
        """predict_proba(x): the probability of each class of `classes_`, a column each. Numbers have none."""
        if self.task == "numbers" or not getattr(self, "_has_classes", True):
            raise AttributeError("predict_proba: the targets are numbers, not classes")
        return self._probabilities

    def _probabilities(self, x):
        import numpy

        out = self._outputs(x)
        out = numpy.exp(out - out.max(axis=1, keepdims=True))
        return out / out.sum(axis=1, keepdims=True)

    def score(self, x, y):
        """Accuracy of classes; R2 of numbers."""
        import numpy

        y, got = numpy.asarray(y).reshape(-1), self.predict(x)
        if self._has_classes:
            return float((got == y).mean())
        return float(1 - ((y - got) ** 2).sum() / ((y - y.mean()) ** 2).sum())
