"""Trainings."""

import contextlib
import ctypes
import os
import tempfile
import warnings
import weakref
from collections import namedtuple

from ._library import OptsStruct, OwnLoss, Progress, ShapeStruct, TensorStruct, Wait, check, lib
from .arrays import write_tensors
from .job import Job
from .signals import Signals

Step = namedtuple("Step", "step loss lr seconds")
Evaluation = namedtuple("Evaluation", "loss accuracy")

_STORED = {0: "float32", 1: "float64", 2: "uint16"}  # mr_job_dtype; bf16 as its bits
_BF16 = 2
_ALL = 2**64 - 1  # MR_TRAINING_ALL


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


class Training:
    """A training of a job. Close it, or use it in a `with`: its workers hold cores until then.

    A job with run.dir has a folder, in which the training writes what `millrace train` writes; closing saves what is
    not saved. `resume` goes on from a checkpoint there ("" the newest, "best", or a name), `init` begins with the
    weights of files, or of a dict of arrays by their names (with `init_anyway` also if something of them has no place),
    `plan` trains the plan in a file,
    `simulate` trains in virtual time: the same weights, with the seconds of the cost model. `counters` counts processor
    events, `record` writes the order that a racing system took to a file, and `replay` carries it out again.

    `loss` is a loss of one's own: loss(outputs, targets) gets arrays of some samples, the values that would enter the
    model's loss [n, ...] and the targets [n, ...], and returns the mean loss and its gradient by each output, [n, ...].
    It is called on a thread of the training, for each micro-batch, and on several where a system has replicas. What it
    raises ends the training, and run() raises it. Evaluations use it too, and then know no accuracy.

    One of its functions at a time: a call from another thread, or from `progress`, while one has not returned raises
    Error, and so does every call in a process that was forked. `step`, `lag` and `stop()` may be used at any time.
    """

    def __init__(self, job, resume=None, init=None, plan=None, simulate=False, init_anyway=False, counters=False,
                 record=None, replay=None, loss=None):
        if not isinstance(job, Job):
            raise TypeError(f"a training takes a millrace.Job, not {job!r}")
        self._training = ctypes.c_void_p()
        self._closed = False
        self._views = weakref.WeakSet()
        self._process = os.getpid()
        self._told = 0  # bytes of the notices that were given as warnings
        self.history = []  # of fit: each step
        self._job = job  # its files
        self._own_loss = OwnLoss() if loss is None else OwnLoss(self._loss_of(loss))
        self._failed = []  # exceptions of the own loss
        with contextlib.ExitStack() as stack:
            if isinstance(init, dict):
                path = os.path.join(stack.enter_context(tempfile.TemporaryDirectory()), "init.safetensors")
                write_tensors(path, init)
                init = path
            resume, init, plan, record, replay = (None if x is None else os.fsencode(x)
                                                  for x in (resume, init, plan, record, replay))
            options = OptsStruct(resume, init, plan, simulate, init_anyway, counters, record, replay, self._own_loss)
            check(lib.mr_training_open_with(job._job, ctypes.byref(options), ctypes.byref(self._training)))
        self._warn()
        self._output_shape = self._shapes()[2]

    def _shapes(self):
        """The structs of input and output, and the shape of an output in an array."""
        x, y = ShapeStruct(), ShapeStruct()
        check(lib.mr_training_shapes(self._open(), ctypes.byref(x), ctypes.byref(y)))
        return x, y, tuple(n for n in y.dim[: y.n_dims] if n != 1 or y.n == 1)

    def _loss_of(self, function):
        """The callback of the library for a loss."""
        import numpy

        arrays = numpy.ctypeslib.as_array

        def find(_, struct, gradient, loss):
            try:
                o = struct.contents
                output = arrays(o.output, (o.n, o.n_outputs))
                target = arrays(o.target, (o.n, o.n_targets))
                output = output.reshape((o.n,) + self._output_shape)
                found, slope = function(output, target[:, 0] if o.n_targets == 1 else target)
                loss[0] = float(found)
                slope = numpy.asarray(slope, dtype=float)
                if slope.size != output.size:
                    raise ValueError(f"loss: the gradient has the shape {slope.shape}, expected {output.shape}")
                arrays(gradient, (o.n, o.n_outputs))[...] = slope.reshape(o.n, o.n_outputs)
                return True
            except BaseException as e:
                self._failed.append(e)
                return False

        return find

    def _check(self, status):
        """As check(), and what the own loss has raised."""
        if status and self._failed:
            raise self._failed[0]
        check(status)

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
        so does that of a signal's handler (Ctrl-C), with the step under way or lag steps on; it is then raised here.
        After Ctrl-C the training is saved, where it has a folder. The training can go on afterwards.
        """
        steps = []
        until = _ALL if until is None else int(until)
        try:
            self._run(steps, until, progress)
        except KeyboardInterrupt:
            lib.mr_training_save(self._training)  # without a folder, or a step, it refuses
            raise
        return steps

    def _run(self, steps, until, progress):
        with Signals() as signals:

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
        self._check(status)

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

        x, y, shape = self._shapes()
        given = numpy.asarray(inputs)
        if not given.ndim or given.size != len(given) * x.n or (x.tokens and given.dtype.kind not in "iu"):
            raise ValueError(f"inputs: expected an array of samples of {'tokens' if x.tokens else 'numbers'}, "
                             f"{tuple(x.dim[: x.n_dims])} each, got {given.shape} of {given.dtype}")
        rows = numpy.ascontiguousarray(given, dtype=numpy.int32 if x.tokens else numpy.float64)
        out = numpy.empty((len(rows), y.n))
        with Signals() as signals:
            status = self._guarded(signals, lib.mr_training_predict, rows.ctypes.data, len(rows), out.ctypes.data)
        check(status)
        return out.reshape((len(rows),) + shape)

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
        with Signals() as signals:
            status = self._guarded(signals, lib.mr_training_evaluate, ctypes.byref(loss), ctypes.byref(accuracy))
        self._check(status)
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
