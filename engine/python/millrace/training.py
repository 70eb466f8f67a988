"""Jobs and trainings."""

import ctypes
import numbers
import os
import re
from collections import namedtuple

from ._library import Progress, TensorStruct, check, lib

Step = namedtuple("Step", "step loss lr")
Evaluation = namedtuple("Evaluation", "loss accuracy")

_GROUPS = {"model": "name", "data": "name", "optimizer": "name", "mitigation": "name", "system": "name",
           "train": "steps", "run": "dir", "machine": "workers", "checkpoint": "every", "trace": "steps",
           "sample": "tokens"}
_STORED = {0: "float32", 1: "float64", 2: "uint16"}  # mr_job_dtype; bf16 as its bits
_BF16 = 2


def _text(value):
    """A value as a configuration has it; NumPy's numbers and arrays, and paths, as Python's."""
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, numbers.Real):
        return repr(int(value) if isinstance(value, numbers.Integral) else float(value))
    if isinstance(value, str) and re.fullmatch(r"\w[\w.-]*", value):
        return value
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_text(v) for v in value) + "]"
    raise TypeError(f"a job takes texts, numbers, booleans and lists of them, not {value!r}")


def _settings(groups):
    """Keys and values of a dict of groups, the names of plug-ins first."""
    for group, value in groups.items():
        if group in _GROUPS and not isinstance(value, dict):
            raise TypeError(f'{group} is a group: expected a dict such as {{"{_GROUPS[group]}": ...}}, got {value!r}')
        if isinstance(value, dict) and group not in _GROUPS:
            raise TypeError(f"no group is called {group!r} (known: {', '.join(_GROUPS)})")
        if not isinstance(value, dict):
            yield group, value
            continue
        for key in sorted(value, key=lambda k: k != "name"):
            yield f"{group}.{key}", value[key]


class Job:
    """What to train: a dict such as {"model": {"name": "mlp"}, ..., "backend": "auto"}. Raises Error."""

    def __init__(self, groups):
        if not isinstance(groups, dict):
            raise TypeError(f"a job is a dict of groups, not {groups!r}")
        self._job = ctypes.c_void_p()
        check(lib.mr_job_create(ctypes.byref(self._job)))
        self._steps = groups.get("train", {}).get("steps")
        for key, value in _settings(groups):
            check(lib.mr_job_set(self._job, key.encode(), _text(value).encode()))
        check(lib.mr_job_check(self._job))

    def __del__(self):
        if getattr(self, "_job", None):
            lib.mr_job_destroy(self._job)
            self._job = None


class Training:
    """A training of a job. Close it, or use it in a `with`: its workers hold cores until then."""

    def __init__(self, job):
        if not isinstance(job, Job):
            raise TypeError(f"a training takes a millrace.Job, not {job!r}")
        self._training = ctypes.c_void_p()
        self._job = job  # the library borrows it
        check(lib.mr_training_open(job._job, ctypes.byref(self._training)))

    def close(self):
        if self._training:
            lib.mr_training_close(self._training)
            self._training = ctypes.c_void_p()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        if getattr(self, "_training", None):
            self.close()

    def _open(self):
        if not self._training:
            raise ValueError("this training is closed")
        return self._training

    @property
    def step(self):
        """Steps done so far."""
        return lib.mr_training_steps(self._open())

    def run(self, until=None, progress=None):
        """Train until that many steps are done since the start (default: train.steps of the job).

        Returns the steps of this call as Step(step, loss, lr). `progress`, if given, is called with each of them;
        False ends the call at the next point where the training can pause, and so does an exception (or Ctrl-C),
        which is then raised here.
        """
        steps = []
        raised = []

        def follow(_, struct):
            try:
                s = struct.contents
                steps.append(Step(s.step, s.loss, s.lr))
                return not raised and (progress is None or progress(steps[-1]) is not False)
            except BaseException as e:  # it must not pass through the library
                raised.append(e)
                return False

        until = self._job._steps if until is None else until
        status = lib.mr_training_run(self._open(), int(until), Progress(follow), None)
        if raised:
            raise raised[0]
        check(status)
        return steps

    def evaluate(self):
        """Mean loss over the validation samples, and the part of the targets that were predicted (NaN: no classes)."""
        loss, accuracy = ctypes.c_double(), ctypes.c_double()
        check(lib.mr_training_evaluate(self._open(), ctypes.byref(loss), ctypes.byref(accuracy)))
        return Evaluation(loss.value, accuracy.value)

    def weights(self, view=False):
        """The latest weights as a dict of NumPy arrays.

        With `view` the arrays lie over the library's memory, are read-only, and are valid until the next call of this
        training; bf16 is then uint16, its bits. Without it they are copies, and bf16 becomes float32.
        """
        import numpy

        n = ctypes.c_size_t()
        check(lib.mr_training_tensors(self._open(), ctypes.byref(n)))
        out = {}
        for i in range(n.value):
            t = TensorStruct()
            lib.mr_training_tensor_at(self._training, i, ctypes.byref(t))
            stored = numpy.dtype(_STORED[t.dtype])
            shape = tuple(t.dim[: t.n_dims])
            size = stored.itemsize
            for d in shape:
                size *= d
            array = numpy.frombuffer((ctypes.c_char * size).from_address(t.data), dtype=stored).reshape(shape)
            array.flags.writeable = False
            if not view and t.dtype == _BF16:
                array = (array.astype(numpy.uint32) << 16).view(numpy.float32)
            elif not view:
                array = array.copy()
            out[t.name.decode()] = array
        return out
