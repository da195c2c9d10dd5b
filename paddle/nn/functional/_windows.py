"""Arguments of sliding windows (convolution and pooling): sizes, strides, and the many forms of padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from umiak import ops as F
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.util.errors import OperandError, op_error

Ints = tuple[int, ...]


def _int(value: Any, op_name: str, arg_name: str) -> int:
    try:
        return int(value)
    except (TypeError, ValueError):
        raise op_error(TypeError, op_name, f"{arg_name} of ints", repr(value)) from None


def ints(value: Any, n: int, op_name: str, arg_name: str) -> Ints:
    """``n`` ints from one or from a sequence."""
    if type(value) is int:
        return (value,) * n
    if isinstance(value, str) or not (hasattr(value, "__len__") or hasattr(value, "__int__")):
        raise op_error(OperandError, op_name, f"{arg_name} as one int or {n}", repr(value))
    sizes = value.tolist() if hasattr(value, "tolist") else value
    values = tuple(_int(v, op_name, arg_name) for v in (sizes if hasattr(sizes, "__len__") else (sizes,)))
    values = values * n if len(values) == 1 else values
    if len(values) != n:
        raise op_error(ValueError, op_name, f"{arg_name} as one int or {n}", value)
    return values


def pads(padding: Any, n: int, op_name: str, last: bool) -> Any:
    """(low, high) pads from an int, n ints, n pairs in a flat list, or pairs for every dim; "same" and "valid" as
    they are.
    """
    if isinstance(padding, str):
        if padding.upper() not in ("SAME", "VALID"):
            raise op_error(ValueError, op_name, "padding 'SAME' or 'VALID'", repr(padding))
        return padding.upper()
    if isinstance(padding, int):
        return (padding,) * n, (padding,) * n
    pairs = list(padding)
    if len(pairs) == n + 2 and all(isinstance(p, (list, tuple)) for p in pairs):
        spatial, other = (pairs[1:-1], (pairs[0], pairs[-1])) if last else (pairs[2:], pairs[:2])
        if any(any(p) for p in other):
            raise op_error(ValueError, op_name, "no padding of batch and channels", padding)
        pairs = spatial
    if len(pairs) == n and all(isinstance(p, (list, tuple)) for p in pairs):
        return tuple(int(p[0]) for p in pairs), tuple(int(p[1]) for p in pairs)
    pairs = [int(p) for p in pairs]
    if len(pairs) == 2 * n:
        return tuple(pairs[::2]), tuple(pairs[1::2])
    if len(pairs) == 1:
        pairs = pairs * n
    if len(pairs) != n:
        raise op_error(
            ValueError, op_name, f"padding as 'SAME', 'VALID', one int, {n} or {2 * n} ints or pairs", padding
        )
    return tuple(pairs), tuple(pairs)


def same_pads(sizes: Sequence[int], kernel: Ints, strides: Ints) -> tuple[Ints, Ints]:
    """The pads for ceil(size/stride) windows, the odd one at the end."""
    short: list[Any] = [(-(-n // s) - 1) * s + k - n for n, k, s in zip(sizes, kernel, strides, strict=True)]
    total: list[Any] = [max(t, 0) if type(t) is int else dim.maximum(t, 0) for t in short]
    return tuple(t // 2 for t in total), tuple(t - t // 2 for t in total)


def to_first(x: Tensor, n: int) -> Tensor:
    """``[N, *space, C]`` to ``[N, C, *space]``."""
    return F.permute(x, perm=(0, n + 1, *range(1, n + 1)))


def to_last(x: Tensor, n: int) -> Tensor:
    """``[N, C, *space]`` to ``[N, *space, C]``."""
    return F.permute(x, perm=(0, *range(2, n + 2), 1))
