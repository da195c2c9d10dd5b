"""Run programs of this folder in the framework that ``import paddle`` finds, and write what they give.

    python record.py RESULTS [PROGRAM[:CASE] ...]

A program is a module with a function ``run``, whose result is a dict of numbers, texts, arrays, tensors, and lists of
them. With ``CASES``, a tuple of names, it runs once for each: ``run(case)``. ``TOLERANCE`` is how far numbers of two
frameworks may lie apart, beside the largest of their list (1e-4 without it). This file runs in two environments: it
needs NumPy and ``paddle``, nothing of this project.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
SUPPORT = {"common", "record", "__main__", "__init__", "conftest"}


def names() -> list[str]:
    """Every program."""
    return sorted(p.stem for p in HERE.glob("*.py") if p.stem not in SUPPORT and not p.stem.startswith("test_"))


def program(name: str) -> Any:
    """The module of a program."""
    if str(HERE) not in sys.path:
        sys.path.insert(0, str(HERE))
    return importlib.import_module(name)


def cases(name: str) -> tuple[str, ...]:
    """The cases of a program; one without a name where it has none."""
    return getattr(program(name), "CASES", ("",))


def plain(value: Any) -> Any:
    """A result as JSON: numbers with seven digits."""
    if isinstance(value, (str, bool, int)) or value is None:
        return value
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if hasattr(value, "numpy"):
        value = value.numpy()
    array = np.asarray(value)
    if array.dtype.kind == "f":
        return [float(f"{x:.7g}") for x in array.ravel()] if array.ndim else float(f"{float(array):.7g}")
    return array.tolist()


def result(name: str, case: str = "") -> dict[str, Any]:
    """What a program gives, as JSON has it."""
    paddle = importlib.import_module("paddle")
    paddle.seed(1)
    run = program(name).run
    return plain(run(case) if case else run())


def mend_int(paddle: Any) -> None:
    """``paddle.flops`` of the reference converts tensors of one element, which NumPy 2.4 refuses."""
    try:
        int(paddle.ones([1]))
    except TypeError:
        paddle.Tensor.__int__ = lambda tensor: int(tensor.item())


def main(target: str, *wanted: str) -> None:
    warnings.filterwarnings("ignore")
    mend_int(importlib.import_module("paddle"))
    with open(target, "w") as out:
        for name in names():
            for case in cases(name):
                if not wanted or name in wanted or f"{name}:{case}" in wanted:
                    print(name, case, file=sys.stderr, flush=True)
                    out.write(json.dumps({"program": name, "case": case, "result": result(name, case)}) + "\n")
                    out.flush()


if __name__ == "__main__":
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # frameworks print
    main(*sys.argv[1:])
