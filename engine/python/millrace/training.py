"""Jobs and trainings."""

import ctypes
import json
import numbers
import os
import re
import signal
import threading
import warnings
import weakref
from collections import namedtuple

from ._library import OptsStruct, Progress, ShapeStruct, TensorStruct, Wait, check, lib

Step = namedtuple("Step", "step loss lr seconds")
Evaluation = namedtuple("Evaluation", "loss accuracy")

_GROUPS = {"model": "name", "data": "name", "optimizer": "name", "mitigation": "name", "system": "name",
           "lr_schedule": "name",
           "train": "steps", "run": "dir", "machine": "workers", "checkpoint": "every", "trace": "steps",
           "sample": "tokens"}
_STORED = {0: "float32", 1: "float64", 2: "uint16"}  # mr_job_dtype; bf16 as its bits
_BF16 = 2
_free = ctypes.CDLL(None).free  # of the C library
_free.argtypes = [ctypes.c_void_p]
_free.restype = None
_ALL = 2**64 - 1  # MR_TRAINING_ALL


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


def _json(function, *arguments):
    """The JSON that a function of the library makes, which is freed here."""
    text = ctypes.c_void_p()
    check(function(*arguments, ctypes.byref(text)))
    try:
        return json.loads(ctypes.string_at(text))
    finally:
        _free(text)


def inspect(path):
    """What a checkpoint holds, as a dict: "step", "facts" of its training, and "files", each with its "tensors".

    `path` is one checkpoint, a folder of checkpoints or the folder of a run; every checksum is verified. The tensors
    are read by the package safetensors, or as engine/store/FORMATS.md shows.
    """
    return _json(lib.mr_inspect, os.fsencode(path))


def plan(job, file=None):
    """What a training of a job would be, without training it, as a dict: stages, placement, memory, predicted times.

    As `millrace plan --format json`; `file` is a plan in place of the system's own. One that does not fit raises Error.
    """
    if not isinstance(job, Job):
        raise TypeError(f"a plan is of a millrace.Job, not {job!r}")
    return _json(lib.mr_plan_job, job._job, None if file is None else os.fsencode(file))


class _Signals:
    """Signals while the library works: their handlers run in its callbacks, and what they raise is kept for the caller.

    Python runs a handler, such as that of Ctrl-C, in the main thread before any of its instructions. During a call of
    the library that would be at the head of a callback, where nothing can catch what the handler raises: ctypes would
    print and forget it.
    """

    def __init__(self):
        self.raised = []  # exceptions
        self._came = []  # signals not handled yet
        self._handlers = {}
        self._in_code = False  # of the user: handlers may raise there

    def __enter__(self):
        if threading.current_thread() is threading.main_thread():
            for number in signal.valid_signals():
                handler = signal.getsignal(number)
                if callable(handler):
                    self._handlers[number] = handler
            try:
                for number in sorted(self._handlers, key=self._is_not_interrupt):
                    signal.signal(number, self._take)
            except BaseException:
                self._restore()
                raise
        return self

    @staticmethod
    def _is_not_interrupt(number):
        return number != signal.SIGINT

    def _restore(self):
        for number in sorted(self._handlers, key=self._is_not_interrupt, reverse=True):
            signal.signal(number, self._handlers[number])

    def __exit__(self, kind, value, trace):
        self._restore()
        self.poll()
        if kind is None and self.raised:
            raise self.raised[0]

    def _take(self, number, frame):
        if self._in_code:
            self._in_code = False
            self._handlers[number](number, frame)
        else:
            self._came.append((number, frame))

    def poll(self):
        """Run the handlers of the signals that have come; False once something was raised."""
        while self._came:
            number, frame = self._came.pop(0)
            try:
                self._handlers[number](number, frame)
            except BaseException as e:
                self.raised.append(e)
        return not self.raised

    def call(self, function, *arguments):
        """Call a function of the user; False if it raises, which is kept."""
        try:
            self._in_code = True
            result = function(*arguments)
            self._in_code = False
            return result
        except BaseException as e:
            self._in_code = False
            self.raised.append(e)
            return False


class _Memory:
    """The library's memory of one tensor, for NumPy. It holds the training, whose memory stays until it is gone."""

    def __init__(self, training, tensor, dtype):
        self.training = training
        self.__array_interface__ = {
            "version": 3,
            "shape": tuple(tensor.dim[: tensor.n_dims]),
            "typestr": dtype.str,
            "data": (tensor.data, True),  # read-only
        }


class Job:
    """What to train: a dict such as {"model": {"name": "mlp"}, ..., "backend": "auto"}. Raises Error."""

    def __init__(self, groups):
        if not isinstance(groups, dict):
            raise TypeError(f"a job is a dict of groups, not {groups!r}")
        self._job = ctypes.c_void_p()
        check(lib.mr_job_create(ctypes.byref(self._job)))
        for key, value in _settings(groups):
            check(lib.mr_job_set(self._job, key.encode(), _text(value).encode()))
        check(lib.mr_job_check(self._job))

    @classmethod
    def load(cls, path, groups=None):
        """The job that a configuration file describes, with the keys of a dict in place of what the file says."""
        sets = [f"{key}={_text(value)}".encode() for key, value in _settings(groups or {})]
        job = cls.__new__(cls)
        job._job = ctypes.c_void_p()
        check(lib.mr_job_load(os.fsencode(path), (ctypes.c_char_p * len(sets))(*sets), len(sets),
                              ctypes.byref(job._job)))
        return job

    def __reduce_ex__(self, _):
        raise TypeError("a millrace.Job cannot be copied or pickled: make another one of the same dict")

    def __del__(self):
        if getattr(self, "_job", None):
            lib.mr_job_destroy(self._job)
            self._job = None


class Training:
    """A training of a job. Close it, or use it in a `with`: its workers hold cores until then.

    A job with run.dir has a folder, in which the training writes what `millrace train` writes; closing saves what is
    not saved. `resume` goes on from a checkpoint there ("" the newest, "best", or a name), `init` begins with the
    weights of files (with `init_anyway` also if something of them has no place), `plan` trains the plan in a file,
    `simulate` trains in virtual time: the same weights, with the seconds of the cost model. `counters` counts processor
    events, `record` writes the order that a racing system took to a file, and `replay` carries it out again.

    One of its functions at a time: a call from another thread, or from `progress`, while one has not returned raises
    Error, and so does every call in a process that was forked. `step`, `lag` and `stop()` may be used at any time.
    """

    def __init__(self, job, resume=None, init=None, plan=None, simulate=False, init_anyway=False, counters=False,
                 record=None, replay=None):
        if not isinstance(job, Job):
            raise TypeError(f"a training takes a millrace.Job, not {job!r}")
        self._training = ctypes.c_void_p()
        self._closed = False
        self._views = weakref.WeakSet()
        self._process = os.getpid()
        self._told = 0  # bytes of the notices that were given as warnings
        self.history = []  # of fit: each step
        resume, init, plan, record, replay = (None if x is None else os.fsencode(x)
                                              for x in (resume, init, plan, record, replay))
        options = OptsStruct(resume, init, plan, simulate, init_anyway, counters, record, replay)
        check(lib.mr_training_open_with(job._job, ctypes.byref(options), ctypes.byref(self._training)))
        self._warn()

    @classmethod
    def load(cls, job, name=""):
        """A training that goes on from a checkpoint in the job's folder: the newest, "best", or that of a name."""
        return cls(job, resume=name)

    def _warn(self):
        """Give what the library has to say, though nothing failed, as warnings."""
        text = lib.mr_training_notices(self._training)
        for line in text[self._told :].decode(errors="replace").splitlines():
            warnings.warn(line.removeprefix("warning: "), stacklevel=3)
        self._told = len(text)

    def close(self):
        """End the workers. Memory of arrays that weights(view=True) gave stays until they are gone."""
        if not self._training or self._closed:
            return
        if self._views:
            check(lib.mr_training_on_wait(self._training, Wait(), None))  # refuses where closing would
            self._closed = True
            return
        check(lib.mr_training_close(self._training))
        self._training = ctypes.c_void_p()
        self._closed = True

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __reduce_ex__(self, _):
        raise TypeError("a millrace.Training cannot be copied or pickled: it has threads")

    def __del__(self):
        if getattr(self, "_training", None) and self._process == os.getpid():
            lib.mr_training_close(self._training)
            self._training = None

    def _open(self):
        if self._closed:
            raise ValueError("this training is closed")
        return self._training

    @property
    def step(self):
        """Steps done so far."""
        return lib.mr_training_steps(self._open())

    @property
    def lag(self):
        """How many steps after the one for which `progress` returned False a run ends."""
        return lib.mr_training_lag(self._open())

    def stop(self):
        """End the run or evaluation of another thread some steps on; without one nothing happens."""
        check(lib.mr_training_stop(self._open()))

    def _guarded(self, signals, function, *arguments):
        """Call the library while signals are looked after; the status."""
        wait = Wait(lambda _: signals.poll())
        check(lib.mr_training_on_wait(self._open(), wait, None))
        try:
            status = function(self._training, *arguments)
            if not status:
                self._warn()
            return status
        finally:
            lib.mr_training_on_wait(self._training, Wait(), None)

    def run(self, until=None, progress=None):
        """Train until that many steps are done since the start (default: train.steps of the job).

        Returns the steps of this call as Step(step, loss, lr, seconds). `progress`, if given, is called with each; when
        it returns False for step k the call ends with step k + lag. An exception of `progress` ends it likewise, and
        so does that of a signal's handler (Ctrl-C) some steps after it came; it is then raised here. The training can
        go on afterwards.
        """
        steps = []
        until = _ALL if until is None else int(until)
        with _Signals() as signals:

            def follow(_, struct):
                try:
                    s = struct.contents
                    steps.append(Step(s.step, s.loss, s.lr, s.seconds))
                    if not signals.poll():
                        return False
                    return progress is None or signals.call(progress, steps[-1]) is not False
                except BaseException as e:  # a signal beside an exception of `progress`
                    signals.raised.append(e)
                    return False

            status = self._guarded(signals, lib.mr_training_run, until, Progress(follow), None)
        check(status)
        return steps

    def fit(self, progress=None):
        """Train to train.steps of the job, as `run`; the steps are added to `history`. Returns the training."""
        self.history += self.run(progress=progress)
        return self

    def save(self):
        """Save a checkpoint now, and wait until the disk has it."""
        check(lib.mr_training_save(self._open()))

    def predict(self, inputs):
        """What the network makes of samples, as an array: the values that enter its loss (of classes logits).

        `inputs` has a row a sample, as the job's data give them to the network: numbers, or tokens.
        """
        import numpy

        x, y = ShapeStruct(), ShapeStruct()
        check(lib.mr_training_shapes(self._open(), ctypes.byref(x), ctypes.byref(y)))
        given = numpy.asarray(inputs)
        if not given.ndim or given.size != len(given) * x.n or (x.tokens and given.dtype.kind not in "iu"):
            raise ValueError(f"inputs: expected an array of samples of {'tokens' if x.tokens else 'numbers'}, "
                             f"{tuple(x.dim[: x.n_dims])} each, got {given.shape} of {given.dtype}")
        rows = numpy.ascontiguousarray(given, dtype=numpy.int32 if x.tokens else numpy.float64)
        out = numpy.empty((len(rows), y.n))
        with _Signals() as signals:
            status = self._guarded(signals, lib.mr_training_predict, rows.ctypes.data, len(rows), out.ctypes.data)
        check(status)
        return out.reshape((len(rows),) + tuple(n for n in y.dim[: y.n_dims] if n != 1 or y.n == 1))

    def score(self, inputs=None, targets=None):
        """The part of the classes `targets` that is predicted for `inputs`; without them that of validation."""
        import numpy

        if inputs is None:
            return self.evaluate().accuracy
        classes = self.predict(inputs).argmax(axis=-1)
        return float((classes.reshape(-1) == numpy.asarray(targets).reshape(-1)).mean())

    def plan(self):
        """The plan that is trained, as the text that `millrace check` and `Training(job, plan=file)` read."""
        text = ctypes.c_char_p()
        check(lib.mr_training_plan(self._open(), ctypes.byref(text)))
        return text.value.decode()

    def sample(self):
        """Text that a language model writes, as the keys of the group `sample` say."""
        text = ctypes.c_char_p()
        check(lib.mr_training_sample(self._open(), ctypes.byref(text)))
        return text.value.decode(errors="replace")

    def evaluate(self):
        """Mean loss over the validation samples, and the part of the targets that were predicted (NaN: no classes)."""
        loss, accuracy = ctypes.c_double(), ctypes.c_double()
        with _Signals() as signals:
            status = self._guarded(signals, lib.mr_training_evaluate, ctypes.byref(loss), ctypes.byref(accuracy))
        check(status)
        return Evaluation(loss.value, accuracy.value)

    def figures(self):
        """What is known of the figures of `millrace list figures`: of the last step, the last evaluation, or now."""
        out, value, i = {}, ctypes.c_double(), 0
        while name := lib.mr_training_figure_name(i):
            check(lib.mr_training_figure(self._open(), name, ctypes.byref(value)))
            if value.value == value.value:
                out[name.decode()] = value.value
            i += 1
        return out

    def weights(self, view=False):
        """The latest weights as a dict of NumPy arrays.

        With `view` the arrays lie over the library's memory and are read-only; a later run changes what they show, and
        they keep the training's memory after it was closed. bf16 is then uint16, its bits. Without it they are copies,
        and bf16 becomes float32.
        """
        import numpy

        n = ctypes.c_size_t()
        check(lib.mr_training_tensors(self._open(), ctypes.byref(n)))
        out = {}
        for i in range(n.value):
            t = TensorStruct()
            check(lib.mr_training_tensor_at(self._training, i, ctypes.byref(t)))
            memory = _Memory(self, t, numpy.dtype(_STORED[t.dtype]))
            array = numpy.asarray(memory)
            if view:
                self._views.add(memory)
            elif t.dtype == _BF16:
                array = (array.astype(numpy.uint32) << 16).view(numpy.float32)
            else:
                array = array.copy()
            out[t.name.decode()] = array
        return out
