"""The models of perf/steps/cases.c in PyTorch. Each module of this folder has a table CASES: for the name of a case a
function that makes its Training (training.py)."""
import importlib
import pkgutil


def cases():
    """All of them, by name."""
    found = {}
    for module in pkgutil.iter_modules(__path__):
        found.update(getattr(importlib.import_module(f"{__name__}.{module.name}"), "CASES", {}))
    return found
