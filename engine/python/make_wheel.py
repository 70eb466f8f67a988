#!/usr/bin/env python3
"""Makes millrace-VERSION-py3-none-linux_MACHINE.whl: the package with the library and the libraries that it needs.

    make_wheel.py LIBMILLRACE.SO FOLDER

What every Linux of this kind has (the C library) stays outside; the rest is found by ldd.
"""

import base64
import hashlib
import os
import pathlib
import platform
import re
import subprocess
import sys
import zipfile

_HERE = pathlib.Path(__file__).resolve().parent
_OF_THE_SYSTEM = re.compile(r"(linux-vdso|ld-linux.*|libc|libm|libpthread|libdl|librt|libresolv)\.so.*")
_TIME = (1980, 1, 1, 0, 0, 0)


def needs(library):
    """Paths of the shared libraries that `library` needs, by the name under which they are looked for."""
    out = {}
    for line in subprocess.run(["ldd", library], check=True, capture_output=True, text=True).stdout.splitlines():
        found = re.match(r"\s*(\S+) => (\S+)", line)
        if "not found" in line:
            raise SystemExit(f"make_wheel: {library}: {line.strip()}")
        if found and not _OF_THE_SYSTEM.fullmatch(found[1]):
            out[found[1]] = pathlib.Path(found[2])
    return out


def contents(library, version, tag):
    """Names and bytes of the files, without the record."""
    project = (_HERE / "pyproject.toml").read_text()
    summary = re.search(r'^description = "(.*)"', project, re.M)[1]
    python = re.search(r'^requires-python = "(.*)"', project, re.M)[1]
    for path in sorted((_HERE / "millrace").glob("*.py")):
        yield f"millrace/{path.name}", path.read_bytes()
    yield "millrace/lib/libmillrace.so.0", pathlib.Path(library).read_bytes()
    for name, path in sorted(needs(library).items()):
        yield f"millrace/lib/{name}", path.read_bytes()
    info = f"millrace-{version}.dist-info"
    head = (f"Metadata-Version: 2.1\nName: millrace\nVersion: {version}\nSummary: {summary}\nLicense: Apache-2.0\n"
            f"Requires-Python: {python}\nRequires-Dist: numpy\nDescription-Content-Type: text/markdown\n\n")
    yield f"{info}/METADATA", head.encode() + (_HERE / "README.md").read_bytes()
    yield f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: millrace\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()


def main(library, folder):
    version = re.search(r'^version = "(.*)"', (_HERE / "pyproject.toml").read_text(), re.M)[1]
    tag = f"py3-none-linux_{platform.machine()}"
    path = pathlib.Path(folder) / f"millrace-{version}-{tag}.whl"
    record = []
    os.makedirs(folder, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in contents(library, version, tag):
            wheel.writestr(zipfile.ZipInfo(name, _TIME), data, zipfile.ZIP_DEFLATED)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(data)}\n")
        name = f"millrace-{version}.dist-info/RECORD"
        wheel.writestr(zipfile.ZipInfo(name, _TIME), "".join(record) + f"{name},,\n", zipfile.ZIP_DEFLATED)
    print(path)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(sys.argv[1], sys.argv[2])
