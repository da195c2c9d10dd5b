"""Operators of random schemas, and what they compute in NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import paddle
from umiak.ir.expr import Sym

NUMBERS = (int, float, Sym)  # symbols where a gradient is traced


@dataclass
class Drawn:
    """An operator, the arguments of its calls by size, and the judge: results and gradients in NumPy."""

    operator: Any
    kinds: list[str]
    results: int
    traced: bool  # whether its gradient computes with tensors alone

    def arguments(self, rng: np.random.Generator, n: int) -> list[Any]:
        """Values for the arguments: arrays for tensors."""
        outputs: list[Any] = []
        for kind in self.kinds:
            if kind == "Tensor":
                outputs.append(rng.standard_normal((n, 3)).astype("float32"))
            elif kind == "Tensor[]":
                outputs.append([rng.standard_normal((n, 3)).astype("float32") for _ in range(2)])
            elif kind == "Tensor?":
                outputs.append(None)
            elif kind == "int":
                outputs.append(int(rng.integers(1, 4)))
            elif kind == "float":
                outputs.append(float(rng.integers(1, 8)) / 4)
            elif kind == "int[]":
                outputs.append([int(k) for k in rng.integers(1, 4, 2)])
            elif kind == "float[]":
                outputs.append([0.5, float(rng.integers(1, 4))])
            elif kind == "bool":
                outputs.append(bool(rng.integers(0, 2)))
            else:
                outputs.append(str(rng.choice(["plain", "tanh"])))
        return outputs


def scalars_of(args: list[Any]) -> tuple[float, bool]:
    """The factor that numbers among arguments make, and whether a tanh is taken."""
    factor, tanh = 1.0, False
    for x in args:
        if isinstance(x, bool):
            factor = -factor if x else factor
        elif isinstance(x, NUMBERS):
            factor *= x
        elif isinstance(x, str):
            tanh = x == "tanh"
        elif isinstance(x, (list, tuple)) and x and isinstance(x[0], NUMBERS):
            factor *= sum(x)
    return factor, tanh


def arrays_of(args: list[Any]) -> list[np.ndarray]:
    """The arrays among arguments."""
    collected: list[np.ndarray] = []
    for x in args:
        if isinstance(x, np.ndarray):
            collected.append(x)
        elif isinstance(x, (list, tuple)) and x and isinstance(x[0], np.ndarray):
            collected += x
    return collected


def judge(args: list[Any], results: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Results, and gradients of their sums: of the product of k + 1 and the k-th array, summed, times the factor."""
    factor, tanh = scalars_of(args)
    arrays = arrays_of(args)
    y = sum((k + 1) * a for k, a in enumerate(arrays)) * np.float32(factor * 0.1)
    slope = np.full_like(y, factor * 0.1)
    if tanh:
        y = np.tanh(y)
        slope = slope * (1 - y * y)
    out = [y * np.float32(i + 1) for i in range(results)]
    weight = sum(range(1, results + 1))
    return out, [slope * weight * (k + 1) for k in range(len(arrays))]


def as_arrays(args: Any) -> list[Any]:
    """Arguments with arrays for tensors."""
    return [
        x.numpy() if isinstance(x, paddle.Tensor) else as_arrays(x) if isinstance(x, (list, tuple)) else x for x in args
    ]


def draw(rng: np.random.Generator, name: str) -> Drawn:
    """An operator of a random schema."""
    others = ["Tensor", "Tensor[]", "Tensor?", "int", "float", "int[]", "float[]", "bool", "str"]
    kinds = ["Tensor", *(str(k) for k in rng.choice(others, int(rng.integers(0, 5))))]
    results, traced = int(rng.integers(1, 4)), bool(rng.integers(0, 2))
    returns = "Tensor" if results == 1 else f"({', '.join(['Tensor'] * results)})"
    schema = f"({', '.join(f'{k} a{i}' for i, k in enumerate(kinds))}) -> {returns}"

    def body(*args: Any) -> Any:
        out = [paddle.to_tensor(y) for y in judge(as_arrays(args), results)[0]]
        return out[0] if results == 1 else tuple(out)

    def fake(*args: Any) -> Any:
        out = [paddle.empty_like(args[0]) for _ in range(results)]
        return out[0] if results == 1 else tuple(out)

    def setup(ctx: Any, inputs: tuple, output: Any) -> None:
        ctx.save_for_backward(output if results == 1 else output[0])
        ctx.factor, ctx.tanh = scalars_of(list(inputs))
        ctx.kinds = [len(x) if isinstance(x, (list, tuple)) else None for x in inputs]
        ctx.tensors = [
            isinstance(x, paddle.Tensor) or (isinstance(x, (list, tuple)) and isinstance(x[0], paddle.Tensor))
            for x in inputs
        ]

    def backward(ctx: Any, *grads: Any) -> Any:
        (y,) = ctx.saved_tensors
        if not traced:
            y, grads = paddle.to_tensor(y.numpy()), tuple(paddle.to_tensor(g.numpy()) for g in grads)
        total = sum(g * float(i + 1) for i, g in enumerate(grads)) * (ctx.factor * 0.1)
        if ctx.tanh:
            total = total * (1 - y * y)
        at, outputs = 0, []
        for tensor, count in zip(ctx.tensors, ctx.kinds, strict=True):
            if not tensor:
                outputs.append(None)
                continue
            own = [total * float(at + k + 1) for k in range(count or 1)]
            outputs.append(own if count else own[0])
            at += count or 1
        return tuple(outputs)

    operator = paddle.library.custom_op(name, body, mutates_args=(), schema=schema)
    operator.register_fake(fake)
    operator.register_autograd(backward, setup_context=setup)
    return Drawn(operator, kinds, results, traced)
