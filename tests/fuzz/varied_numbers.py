"""Captured functions of random statements with a number of the call in them, called many times with different ones.

    python -m tests.fuzz.varied_numbers FIRST LAST

A list of launches, a guard or a program that was made for some numbers must not serve others. The judge is the eager
call: results and gradients.
"""

from __future__ import annotations

import linecache
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import paddle
import paddle.nn.functional as F
from tests.fuzz.seeds import run_seeds

# Statements over a matrix and the number k, from 0 to 3.
STATEMENTS = (
    "{x}[:, k : k + 2]", "{x}[k:]", "{x}[: k + 2]", "{x}[:: k + 1]", "{x}[k].unsqueeze(0)", "paddle.roll({x}, k, 0)",
    "{x}.T", "paddle.tanh({x})", "{x} * (k + 0.5)", "{x} + {x}.mean()", "F.pad({x}, [k, 0, 1, k])",
    "{x}.reshape([-1, 1])", "{x}.flatten().expand([k + 1, -1])", "paddle.concat([{x}, {x}[: k + 1]], 0)",
    "paddle.tril({x}, k - 1)", "{x} / (k + 1)", "F.softmax({x} * k, -1)", "{x}.sum(-1, keepdim=True)",
    "{x} - {x}.max(0, keepdim=True)", "paddle.matmul({x}, {x}.T) / 8", "{x}.cumsum(0)",
    "paddle.full([k + 1, 1], 0.5) * {x}[:1]", "{x}.flip(0)", "{x}.clip(-k - 0.5, k + 0.5)", "{x}.tile([1, k + 1])",
    "paddle.where({x} > 0.1 * k, {x}, {x} * 2)", "{x}.unsqueeze(0).expand([k + 1, *{x}.shape]).mean(0)",
    "paddle.index_select({x}, paddle.arange(min(k + 1, {x}.shape[0])), 0)", "{x} ** (k % 3 + 1)", "{x} / {x}.size",
    "paddle.stack([{x}, {x} * k], 1).flatten(0, 1)", "{x}.T.reshape([{x}.shape[1], -1])",
    "{x}[2 * k :].reshape([0, -1])", "{x}[:, 3 * k :].reshape([-1, 0])",
)  # fmt: skip
CALLS = 14


class Case(NamedTuple):
    """A function as text, and the numbers that it is called with."""

    text: str
    numbers: list[int]
    seed: int


def draw(seed: int) -> Case:
    """Return the case of a seed."""
    r = random.Random(seed)
    lines, names = ["def f(x, k):"], ["x"]
    for i in range(r.randint(3, 8)):
        lines.append(f"    t{i} = " + r.choice(STATEMENTS).format(x=r.choice(names[-3:])))
        names.append(f"t{i}")
    lines.append(f"    return {names[-1]}, {names[-2]}.sum() * k")
    return Case("\n".join(lines), [1, 1, 1, *(r.randint(0, 3) for _ in range(CALLS))], seed)


def function_of(case: Case) -> Callable[..., Any]:
    """The function of a case, whose text Python finds by the name of its file."""
    name = f"<numbers {case.seed}>"
    linecache.cache[name] = len(case.text), None, case.text.splitlines(True), name
    space: dict[str, Any] = {"paddle": paddle, "F": F}
    exec(compile(case.text, name, "exec"), space)
    return space["f"]


def results_of(f: Callable[..., Any], x: paddle.Tensor, k: int) -> list[np.ndarray] | None:
    """Results and gradient of a call; None where it raises, as sizes do that a statement cannot take."""
    x.clear_gradient(False)
    try:
        y, total = f(x, k)
        (y.sum() + total).backward()
    except (ValueError, IndexError):
        return None
    return [y.numpy(), total.numpy(), x.grad.numpy().copy()]


def check(case: Case) -> str | None:
    """What is wrong; None if nothing is."""
    eager = function_of(case)
    for whole in (False, True):
        captured = paddle.jit.to_static(function_of(case), full_graph=whole)
        array = np.random.default_rng(case.seed).normal(size=(8, 8)).astype("float32") / 2
        x = paddle.to_tensor(array, stop_gradient=False)
        for i, k in enumerate(case.numbers):
            want, got = results_of(eager, x, k), results_of(captured, x, k)
            alike = (got is None) == (want is None) and all(
                g.shape == w.shape and np.allclose(g, w, rtol=2e-3, atol=2e-3, equal_nan=True)
                for g, w in zip(got or (), want or (), strict=True)
            )
            if not alike:
                return (
                    f"seed {case.seed}, {'source' if whole else 'bytecode'}, call {i} with {case.numbers}:\n{case.text}"
                )
    return None


if __name__ == "__main__":
    run_seeds(__doc__, (), lambda seed, tally, only: check(draw(seed)))
