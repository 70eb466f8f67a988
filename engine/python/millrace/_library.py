"""libmillrace by ctypes: its functions, the two structs that they fill, and its failures as exceptions."""

import ctypes
import ctypes.util
import os

_NAME = "libmillrace.so.0"


class Error(Exception):
    """A failure of the library. `status` is its kind, such as "config" or "data"."""

    def __init__(self, message, status):
        super().__init__(message)
        self.status = status


class StepStruct(ctypes.Structure):
    _fields_ = [("step", ctypes.c_uint64), ("loss", ctypes.c_double), ("lr", ctypes.c_double),
                ("seconds", ctypes.c_double)]


class TensorStruct(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("data", ctypes.c_void_p),
        ("dtype", ctypes.c_int),
        ("n_dims", ctypes.c_uint32),
        ("dim", ctypes.c_int64 * 8),
    ]


class OutputsStruct(ctypes.Structure):
    _fields_ = [("n", ctypes.c_uint64), ("n_outputs", ctypes.c_size_t), ("n_targets", ctypes.c_size_t),
                ("output", ctypes.POINTER(ctypes.c_double)), ("target", ctypes.POINTER(ctypes.c_double)),
                ("train", ctypes.c_bool)]


OwnLoss = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.POINTER(OutputsStruct),
                           ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_double))


class OptsStruct(ctypes.Structure):
    _fields_ = [("resume", ctypes.c_char_p), ("init", ctypes.c_char_p), ("plan", ctypes.c_char_p),
                ("simulate", ctypes.c_bool), ("init_anyway", ctypes.c_bool), ("counters", ctypes.c_bool),
                ("record", ctypes.c_char_p), ("replay", ctypes.c_char_p), ("loss", OwnLoss),
                ("loss_arg", ctypes.c_void_p)]


class ShapeStruct(ctypes.Structure):
    _fields_ = [
        ("tokens", ctypes.c_bool),
        ("n_dims", ctypes.c_uint32),
        ("dim", ctypes.c_int64 * 8),
        ("n", ctypes.c_size_t),
    ]


class PredictorOptsStruct(ctypes.Structure):
    _fields_ = [("checkpoint", ctypes.c_char_p), ("sets", ctypes.POINTER(ctypes.c_char_p)), ("n_sets", ctypes.c_size_t),
                ("batch", ctypes.c_int64), ("calibrated", ctypes.c_bool)]


Rows = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_uint64, ctypes.POINTER(ctypes.c_double),
                        ctypes.POINTER(ctypes.c_double))


class PredictorInputStruct(ctypes.Structure):
    _fields_ = [("path", ctypes.c_char_p), ("output", ctypes.c_char_p), ("format", ctypes.c_char_p),
                ("scores", ctypes.c_char_p), ("curves", ctypes.c_char_p), ("calibrate", ctypes.c_bool),
                ("input", ctypes.c_char_p), ("by_token", ctypes.c_bool), ("rows", Rows), ("arg", ctypes.c_void_p)]


Progress = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.POINTER(StepStruct))
Wait = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p)

_pointer = ctypes.c_void_p
_text = ctypes.c_char_p
_status = ctypes.c_int
_doubles = ctypes.POINTER(ctypes.c_double)

# Name: result, arguments.
_functions = {
    "mr_version": (_text, []),
    "mr_error_text": (_text, []),
    "mr_status_name": (_text, [ctypes.c_int]),
    "mr_job_create": (_status, [ctypes.POINTER(_pointer)]),
    "mr_job_destroy": (None, [_pointer]),
    "mr_job_load": (_status, [_text, ctypes.POINTER(_text), ctypes.c_size_t, ctypes.POINTER(_pointer)]),
    "mr_job_set": (_status, [_pointer, _text, _text]),
    "mr_job_check": (_status, [_pointer]),
    "mr_plan_job": (_status, [_pointer, _text, ctypes.POINTER(_pointer)]),
    "mr_inspect": (_status, [_text, ctypes.POINTER(_pointer)]),
    "mr_predictor_open": (_status, [_text, ctypes.POINTER(PredictorOptsStruct), ctypes.POINTER(_pointer)]),
    "mr_predictor_close": (None, [_pointer]),
    "mr_predictor_about": (_status, [_pointer, ctypes.POINTER(_pointer)]),
    "mr_predictor_numbers": (_status, [_pointer, _pointer, ctypes.c_uint64, _pointer]),
    "mr_predictor_file": (_status, [_pointer, ctypes.POINTER(PredictorInputStruct)]),
    "mr_predictor_notices": (_text, [_pointer]),
    "mr_training_open_with": (_status, [_pointer, ctypes.POINTER(OptsStruct), ctypes.POINTER(_pointer)]),
    "mr_training_close": (_status, [_pointer]),
    "mr_training_notices": (_text, [_pointer]),
    "mr_training_save": (_status, [_pointer]),
    "mr_training_figure": (_status, [_pointer, _text, _doubles]),
    "mr_training_figure_name": (_text, [ctypes.c_size_t]),
    "mr_training_shapes": (_status, [_pointer, ctypes.POINTER(ShapeStruct), ctypes.POINTER(ShapeStruct)]),
    "mr_training_predict": (_status, [_pointer, _pointer, ctypes.c_uint64, _pointer]),
    "mr_training_plan": (_status, [_pointer, ctypes.POINTER(_text)]),
    "mr_training_sample": (_status, [_pointer, ctypes.POINTER(_text)]),
    "mr_training_lag": (ctypes.c_uint32, [_pointer]),
    "mr_training_on_wait": (_status, [_pointer, Wait, _pointer]),
    "mr_training_stop": (_status, [_pointer]),
    "mr_training_run": (_status, [_pointer, ctypes.c_uint64, Progress, _pointer]),
    "mr_training_steps": (ctypes.c_uint64, [_pointer]),
    "mr_training_evaluate": (_status, [_pointer, _doubles, _doubles]),
    "mr_training_tensors": (_status, [_pointer, ctypes.POINTER(ctypes.c_size_t)]),
    "mr_training_tensor_at": (_status, [_pointer, ctypes.c_size_t, ctypes.POINTER(TensorStruct)]),
}


def _of_wheel():
    """The library in the wheel's own folder, once what it needs is loaded from there; None outside a wheel."""
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib")
    if not os.path.exists(os.path.join(folder, _NAME)):
        return None
    waiting = [name for name in sorted(os.listdir(folder)) if name != _NAME]
    while waiting:  # each finds what it needs itself among those that are loaded
        failed = []
        for name in waiting:
            try:
                ctypes.CDLL(os.path.join(folder, name))
            except OSError:
                failed.append(name)
        if len(failed) == len(waiting):
            break
        waiting = failed
    return os.path.join(folder, _NAME)


def _load():
    names = [os.environ.get("MILLRACE_LIBRARY") or _of_wheel(), _NAME, ctypes.util.find_library("millrace")]
    tried = None
    for name in names:
        if not name:
            continue
        try:
            library = ctypes.CDLL(name)
        except OSError as e:
            tried = tried or e
            continue
        for function, (result, arguments) in _functions.items():
            bound = getattr(library, function, None)
            if bound is None:
                raise ImportError(f"{name} has no function {function}: it is of another version of millrace")
            bound.restype = result
            bound.argtypes = arguments
        return library
    raise ImportError(
        f"cannot load libmillrace ({tried}): install the package libmillrace0, or name the file in MILLRACE_LIBRARY"
    )


lib = _load()


def check(status):
    """Raise the library's message unless `status` is that of success."""
    if status != 0:
        raise Error(lib.mr_error_text().decode(errors="replace"), lib.mr_status_name(status).decode())


def version():
    """Version of the library."""
    return lib.mr_version().decode()
