#!/bin/sh
# The wheel: its record, and a training in Python with nothing of this tree but what the wheel brings.
#   test_wheel.sh SOURCE BUILD
. "$(dirname "$0")/python_lib.sh"
"$python" "$source/engine/python/make_wheel.py" "$build/libmillrace.so" . >out 2>&1 || { cat out; exit 1; }
wheel=$(cat out)
case $wheel in
millrace-*-py3-none-linux_*.whl) ;;
*) echo "wheel: it is called $wheel" && exit 1 ;;
esac
cat >check.py <<'END_OF_CHECK'
import base64
import hashlib
import sys
import zipfile

wheel = zipfile.ZipFile(sys.argv[1])
record = [n for n in wheel.namelist() if n.endswith("/RECORD")]
rows = [line.rsplit(",", 2) for line in wheel.read(record[0]).decode().splitlines()]
assert sorted(r[0] for r in rows) == sorted(wheel.namelist()), "the record has other files"
for name, digest, size in rows:
    if name == record[0]:
        continue
    data = wheel.read(name)
    told = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    assert digest == "sha256=" + told and int(size) == len(data), name
assert "millrace/lib/libmillrace.so.0" in wheel.namelist()
assert any("libjansson" in n for n in wheel.namelist()), "what the library needs is not there"
END_OF_CHECK
"$python" check.py "$wheel" || exit 1
if "$python" -m pip --version >/dev/null 2>&1; then
	"$python" -m pip install -q --no-index --no-deps --target installed "$wheel" >out 2>&1 || { cat out; exit 1; }
else
	"$python" -m zipfile -e "$wheel" installed
fi
unset MILLRACE_LIBRARY LD_LIBRARY_PATH
cat >train.py <<'END_OF_TRAINING'
import millrace

job = millrace.Job({
    "model": {"name": "mlp", "hidden": [8]}, "data": {"name": "synthetic", "features": 4, "classes": 2, "samples": 100},
    "optimizer": {"name": "sgd", "lr": 0.1}, "system": {"name": "1f1b"}, "train": {"steps": 5, "batch": 4},
    "machine": {"workers": 2, "threads": 1}, "backend": "reference",
})
with millrace.Training(job) as t:
    assert len(t.fit().history) == 5 and t.predict([[1, 2, 3, 4]]).shape == (1, 2)
maps = open("/proc/self/maps").read()
own = [line.split()[-1] for line in maps.splitlines() if "/installed/millrace/lib/" in line]
assert any("libmillrace" in p for p in own) and any("libjansson" in p for p in own), own
assert not [l for l in maps.splitlines() if "libjansson" in l and "/installed/" not in l], "the system's was loaded"
print("the wheel works")
END_OF_TRAINING
PYTHONPATH=installed "$python" train.py >out 2>&1 && grep -q "the wheel works" out || { cat out; exit 1; }
