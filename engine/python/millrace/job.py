"""Jobs."""

import ctypes
import json
import numbers
import os
import re

from ._library import check, lib
from .arrays import maker

_GROUPS = {"model": "name", "data": "name", "optimizer": "name", "mitigation": "name", "system": "name",
           "lr_schedule": "name",
           "train": "steps", "run": "dir", "machine": "workers", "checkpoint": "every", "trace": "steps",
           "sample": "tokens"}
_free = ctypes.CDLL(None).free  # of the C library
_free.argtypes = [ctypes.c_void_p]
_free.restype = None


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


def settings(groups):
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


def pairs(groups):
    """The same as texts "key=value"."""
    return [f"{key}={_text(value)}".encode() for key, value in settings(groups)]


def read_json(function, *arguments):
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
    return read_json(lib.mr_inspect, os.fsencode(path))


def plan(job, file=None):
    """What a training of a job would be, without training it, as a dict: stages, placement, memory, predicted times.

    As `millrace plan --format json`; `file` is a plan in place of the system's own. One that does not fit raises Error.
    """
    if not isinstance(job, Job):
        raise TypeError(f"a plan is of a millrace.Job, not {job!r}")
    return read_json(lib.mr_plan_job, job._job, None if file is None else os.fsencode(file))


class Job:
    """What to train: a dict such as {"model": {"name": "mlp"}, ..., "backend": "auto"}. Raises Error.

    "data" may be arrays, too: a pair (rows, targets), where rows are an array or a pandas frame, a generator of such
    pairs, or a dict {"rows": ..., "targets": ..., "task": "classes" or "numbers"} with other keys of data "csv". A dict
    with "tokens" is an array of token numbers, one with "pictures" and "targets" bytes [n, size, size, 3].
    """

    def __init__(self, groups):
        if not isinstance(groups, dict):
            raise TypeError(f"a job is a dict of groups, not {groups!r}")
        self._job = ctypes.c_void_p()
        groups, self._folder = self._with_files(groups)
        check(lib.mr_job_create(ctypes.byref(self._job)))
        for key, value in settings(groups):
            check(lib.mr_job_set(self._job, key.encode(), _text(value).encode()))
        check(lib.mr_job_check(self._job))

    @staticmethod
    def _with_files(groups):
        """The groups with a file in the place of arrays, and its folder, which lives as long as the job."""
        make = maker(groups.get("data"))
        if not make:
            return groups, None
        keys, folder = make(groups["data"])
        return {**groups, "data": keys}, folder

    @classmethod
    def load(cls, path, groups=None):
        """The job that a configuration file describes, with the keys of a dict in place of what the file says."""
        groups, folder = cls._with_files(groups or {})
        sets = pairs(groups)
        job = cls.__new__(cls)
        job._job = ctypes.c_void_p()
        job._folder = folder
        check(lib.mr_job_load(os.fsencode(path), (ctypes.c_char_p * len(sets))(*sets), len(sets),
                              ctypes.byref(job._job)))
        return job

    def __reduce_ex__(self, _):
        raise TypeError("a millrace.Job cannot be copied or pickled: make another one of the same dict")

    def __del__(self):
        if getattr(self, "_job", None):
            lib.mr_job_destroy(self._job)
            self._job = None
