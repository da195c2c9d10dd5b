"""Wrong calls that ``infer`` of each op refuses: the samples, each changed in one place.

``python tools/refusals.py`` records the answers in tests/data/refusals.txt. A row has the name of an op and a
letter for each call: ``R`` refused by the op itself, ``r`` by one it is made of, ``.`` taken. Changes are made in the
order of ``changed``: of operands, then of attributes, then of params.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import umiak.ops.gradient_buckets  # noqa: F401  registers its ops, which captured steps ask for
from umiak import ops as F

ROOT = Path(__file__).parents[1]
sys.path += [str(ROOT), str(ROOT / "tests" / "support")]

from samples import ARRAYS, Case, cases_of  # noqa: E402  a helper of the tests

DATA = ROOT / "tests" / "data" / "refusals.txt"
SAMPLES = 3  # of each op: the first ones
DTYPES = ("bool", "int64", "float32", "float64", "complex64")


def other_arrays(x: np.ndarray) -> Iterator[np.ndarray]:
    """Iterate over arrays of another rank, another size along each axis, another type."""
    yield x[None]
    if x.ndim:
        yield x.reshape(-1)[0] if x.size else np.zeros((), x.dtype)
    for axis in range(x.ndim):
        yield np.concatenate([x, x.take([0], axis)], axis) if x.shape[axis] else np.zeros((*x.shape[:axis], 1), x.dtype)
        yield x.take(range(max(0, x.shape[axis] - 1)), axis)
    for name in DTYPES:
        if x.dtype.name != name:
            yield np.zeros(x.shape, name)


def other_values(x: Any) -> Iterator[Any]:
    """Numbers beyond what they may be, other words, more and fewer of them."""
    if isinstance(x, bool) or x is None:
        return
    if isinstance(x, int):
        yield from (-7, -1, 0, 1, 2, 3, 4, 99)
    elif isinstance(x, float):
        yield from (-2.0, 0.0, 1.0, 3.0)
    elif isinstance(x, str):
        yield from ("", "nonsense")
    elif isinstance(x, tuple):
        yield from (x + x[-1:], x[:-1], ())
        for i, part in enumerate(x):
            yield from ((*x[:i], other, *x[i + 1 :]) for other in other_values(part))


def changed(case: Case) -> Iterator[tuple[Any, list, tuple]]:
    """(how to make the op, metas, params) of the calls that differ from the case in one place."""
    inputs = case.sample.inputs
    for i, x in enumerate(inputs):
        if isinstance(x, ARRAYS):
            for other in other_arrays(np.asarray(x)):
                made = case.with_inputs((*inputs[:i], other, *inputs[i + 1 :]))
                yield case.sample.attrs, made.metas(), case.params
    if inputs:
        yield case.sample.attrs, case.metas()[:-1], case.params
    for name, value in case.op.attributes.items():
        for other in other_values(value):
            yield {**case.sample.attrs, name: other}, case.metas(), case.params
    for i, value in enumerate(case.params):
        for other in other_values(value):
            yield case.sample.attrs, case.metas(), (*case.params[:i], other, *case.params[i + 1 :])


def answer(name: str, attributes: Any, metas: list, params: tuple) -> str:
    """Return how an op takes a call. Errors that are not meant for users count as taken."""
    try:
        F.REGISTRY[name](**attributes).infer(*metas, *params)
    except (TypeError, ValueError, IndexError, KeyError, AttributeError, ZeroDivisionError) as error:
        by = re.match(r"\[(\w+)\] ", str(error))
        return "." if by is None else "R" if by[1] == name else "r"
    return "."


def ops() -> list[str]:
    """Names of the ops that have a file: those that the compiler makes have no samples, and tests may register more."""
    return sorted(
        name for name, cls in F.REGISTRY.items() if cls.__module__.startswith("umiak.ops.") and "::" not in name
    )


def answers(name: str) -> str:
    return "".join(answer(name, *call) for case in cases_of(name)[:SAMPLES] for call in changed(case))


def recorded() -> dict[str, str]:
    rows = [line.split() for line in DATA.read_text().splitlines() if not line.startswith("#")]
    return {row[0]: "".join(row[1:]) for row in rows}


def record() -> None:
    head = "# What infer makes of wrong calls. Written by `python tools/refusals.py`, which says how to read it."
    rows = [f"{name} {answers(name)}".rstrip() for name in ops()]
    DATA.write_text("\n".join([head, *rows]) + "\n")


if __name__ == "__main__":
    record()
