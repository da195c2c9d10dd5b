"""Operands and arguments for every in-place form of the table."""

from __future__ import annotations

from typing import Any

import numpy as np

import paddle

MATRIX = [[0.2, 0.7, 0.4], [0.9, 0.1, 0.5]]
ARGUMENTS: dict[str, tuple] = {
    "addmm": ([[0.5, 0.1], [0.3, 0.8]], [[0.3, 0.6, 0.2], [0.1, 0.4, 0.9]]),
    "cast": ("float64",),
    "clamp": (0.3, 0.6),
    "clip": (0.3, 0.6),
    "cumprod": (1,),
    "cumsum": (1,),
    "lerp": ([[0.3, 0.2, 0.9], [0.4, 0.5, 0.6]], 0.5),
    "index_add": (np.array([0]), 0, [[0.3, 0.6, 0.2]]),
    "index_fill": (np.array([0]), 0, 5.0),
    "index_put": ((np.array([0]), np.array([1])), [0.3]),
    "masked_fill": (np.array([[True, False, True]]), 9.0),
    "masked_scatter": (np.array([[True, False, True]] * 2), [0.3, 0.6, 0.2, 0.1]),
    "multigammaln": (1,),
    "polygamma": (1,),
    "pow": (2.5,),
    "put_along_axis": (np.array([[0], [1]]), [[0.3], [0.6]], 1, "multiply"),
    "renorm": (2.0, 0, 0.5),
    "reshape": ([3, 2],),
    "scale": (2.0, 1.0),
    "scatter": (np.array([0]), [[0.3, 0.6, 0.2]]),
    "scatter_add": (0, np.array([[0, 0, 0]]), [[0.3, 0.6, 0.2]]),
    "transpose": ([1, 0],),
    "swapaxes": (0, 1),
    "swapdims": (0, 1),
    "unsqueeze": (0,),
}
TWO = set(
    "add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign div divide equal "
    "floor_divide floor_mod gammainc gammaincc gcd greater greater_equal greater_than hypot lcm ldexp less less_equal "
    "less_than logical_and logical_or logical_xor mod mul multiply not_equal remainder sub subtract".split()
)
INTEGERS = ("bitwise", "gcd", "lcm")


def case(name: str, dtype: str = "float64") -> tuple[np.ndarray, list[Any]]:
    """What a form is tried on, and its arguments; those that are tensors are arrays."""
    base = name[:-1]
    x = np.array(MATRIX, dtype)
    if base == "baddbmm":
        square = np.array([[[0.5, 0.1], [0.3, 0.8]]], dtype)
        return square, [square + 0.1, square * 2]
    if base.startswith(INTEGERS):
        x = np.array([[1, 2, 3], [4, 5, 6]])
    if base == "acosh":
        x = x + 1
    if base in TWO:
        return x, [x[:, ::-1].copy() if base != "ldexp" else np.array([[1, 2, 0], [2, 1, 1]])]
    arguments = []
    for a in ARGUMENTS.get(base, ()):
        whole = isinstance(a, list) and base != "transpose" and base != "reshape"
        arguments.append(np.array(a, dtype) if whole else a)
    return x, arguments


def tensor(a: Any, wants_grad: bool = False) -> Any:
    """Arrays as tensors, also within a tuple; floating ones as leaves."""
    if isinstance(a, tuple):
        return tuple(map(tensor, a))
    if not isinstance(a, np.ndarray):
        return a
    made = paddle.to_tensor(a)
    made.stop_gradient = not (wants_grad and a.dtype.kind == "f")
    return made
