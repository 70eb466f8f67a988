"""Arrays, frames and generators as the data of a job, and arrays as initial weights: files for the library."""

import csv
import json
import os
import tempfile

_CELLS = 1 << 16  # of a table that are turned into Python's numbers at once
_DTYPES = {"float32": "F32", "float64": "F64", "float16": "F16"}


def pairs_of(x, y):
    """Rows and targets of an iterator that gives a row and its target each time."""
    if y is None and hasattr(x, "__next__"):
        pairs = list(x)
        if not pairs:
            raise ValueError("the generator gave no rows")
        x, y = zip(*pairs)
    return x, y


def _has_texts(column):
    return column.dtype.kind not in "iuf"


def _frame(x, y, keys, file):
    """A pandas frame with its own names; columns of texts are categories."""
    texts = [str(name) for name in x.columns if _has_texts(x[name])]
    if texts:
        keys.setdefault("categories", ",".join(texts))
        keys.setdefault("category", "known")
    x.assign(**{keys["target"]: list(y)}).to_csv(file, index=False)


def _array(x, y, keys, file):
    import numpy

    x, y = numpy.asarray(x), numpy.asarray(y)
    if x.ndim < 2 or len(x) != len(y) or y.size != len(y):
        raise ValueError(f"data: expected rows and a target for each, got arrays of {x.shape} and {y.shape}")
    if x.dtype.kind not in "biuf":
        raise TypeError(f"data: rows are numbers, or a pandas frame, and not an array of {x.dtype}")
    x = x.reshape(len(x), -1)
    y = y.reshape(-1)
    out = csv.writer(file)
    out.writerow([f"x{i + 1}" for i in range(x.shape[1])] + [keys["target"]])
    step = max(1, _CELLS // x.shape[1])
    for at in range(0, len(x), step):
        rows = x[at : at + step].astype(float if x.dtype.kind == "f" else int).tolist()
        out.writerows(row + [target] for row, target in zip(rows, y[at : at + step].tolist()))


def table(data):
    """The group `data` of rows and targets, and the folder that holds its file until it is given up.

    `data` is a pair (rows, targets), a generator of such pairs, or a dict with "rows", "targets" and other keys of data
    "csv". Targets that are texts, truth values or whole numbers are classes; "task" says "classes" or "numbers".
    """
    import numpy

    given = dict(data) if isinstance(data, dict) else {"rows": data} if hasattr(data, "__next__") else None
    if given is None:
        given = dict(zip(("rows", "targets"), data, strict=True))
    x, y = pairs_of(given.pop("rows"), given.pop("targets", None))
    if y is None:
        raise ValueError("data: rows without targets")
    kind = numpy.asarray(y).dtype.kind
    keys = {"name": "csv", "header": "yes", "separator": "comma", "target": "target",
            "targets": "numbers" if kind == "f" else "classes"}
    if "task" in given:
        keys["targets"] = given.pop("task")
    if keys["targets"] == "numbers":
        keys["target_scale"] = "standard"
    keys.update(given)
    folder = tempfile.TemporaryDirectory()
    keys["path"] = os.path.join(folder.name, "rows.csv")
    with open(keys["path"], "w", newline="") as file:
        (_frame if hasattr(x, "columns") else _array)(x, y, keys, file)
    return keys, folder


def tokens(data):
    """The same of a dict with "tokens", an array of their numbers, and other keys of data "tokens"."""
    import numpy

    keys = dict(data)
    numbers = numpy.asarray(keys.pop("tokens")).reshape(-1)
    if numbers.dtype.kind not in "iu" or not numbers.size or numbers.min() < 0 or numbers.max() >= 2**31:
        raise ValueError(f"data: tokens are whole numbers from 0, and not an array {numbers.shape} of {numbers.dtype}")
    head = numpy.zeros(256, "<i4")
    head[:3] = 20240801, 7, numbers.size  # as llm.c has them
    folder = tempfile.TemporaryDirectory()
    path = os.path.join(folder.name, "tokens.bin")
    with open(path, "wb") as file:
        file.write(head.tobytes() + numbers.astype("<u4").tobytes())
    return {"name": "tokens", **keys, "path": path}, folder


def pictures(data):
    """The same of a dict with "pictures", an array [n, size, size, 3] of uint8 (or grey ones [n, size, size]), with
    "targets", and other keys of data "images"."""
    import numpy

    keys = dict(data)
    pixels, targets = numpy.asarray(keys.pop("pictures")), [str(t) for t in keys.pop("targets")]
    if pixels.dtype != numpy.uint8 or pixels.ndim not in (3, 4) or pixels.shape[3:] not in ((), (3,)) or \
            pixels.shape[1] != pixels.shape[2] or len(pixels) != len(targets):
        raise ValueError(f"data: expected pictures [n, size, size, 3] of uint8 and {len(targets)} targets, got an "
                         f"array {pixels.shape} of {pixels.dtype}")
    size = pixels.shape[1]
    kind = "P6" if pixels.ndim == 4 else "P5"
    folder = tempfile.TemporaryDirectory()
    for name in set(targets):
        if not name or "/" in name or name.startswith("."):
            raise ValueError(f"data: a class of pictures cannot be called {name!r}")
        os.mkdir(os.path.join(folder.name, name))
    for i, (picture, name) in enumerate(zip(pixels, targets)):
        with open(os.path.join(folder.name, name, f"{i:08d}.{'ppm' if kind == 'P6' else 'pgm'}"), "wb") as file:
            file.write(f"{kind} {size} {size} 255\n".encode() + picture.tobytes())
    return {"name": "images", "size": size, "crop": "exact", **keys, "path": folder.name}, folder


def maker(data):
    """The function above that makes files of the group `data`; None: it is no arrays."""
    if isinstance(data, dict):
        makers = {"rows": table, "tokens": tokens, "pictures": pictures}
        return next((makers[key] for key in makers if key in data), None)
    pair = isinstance(data, (tuple, list)) and len(data) == 2 and not isinstance(data[0], str)
    return table if pair or hasattr(data, "__next__") else None


def write_tensors(path, tensors):
    """Arrays by their names as a file safetensors."""
    import numpy

    head, parts, at = {}, [], 0
    for name, array in tensors.items():
        array = numpy.asarray(array)
        if array.dtype.name not in _DTYPES:
            array = array.astype(numpy.float64 if array.dtype.kind in "iu" else numpy.float32)
        parts.append(numpy.ascontiguousarray(array).tobytes())
        head[name] = {"dtype": _DTYPES[array.dtype.name], "shape": list(array.shape),
                      "data_offsets": [at, at + len(parts[-1])]}
        at += len(parts[-1])
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + b"".join(parts))
