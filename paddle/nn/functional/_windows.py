"""Arguments of sliding windows (convolution and pooling): sizes, strides, and the many forms of padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from umiak import ops as F
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

Ints = tuple[int, ...]


def ints(value: Any, n: int, who: str, what: str) -> Ints:
    """``n`` ints from one or from a sequence."""
    if type(value) is int:
        return (value,) * n
    found = (
        tuple(int(v) for v in (value.tolist() if hasattr(value, "tolist") else value))
        if hasattr(value, "__len__")
        else (int(value),)
    )
    found = found * n if len(found) == 1 else found
    if len(found) != n:
        raise op_error(ValueError, who, f"{what} as one int or {n}", value)
    return found


def pads(padding: Any, n: int, who: str, last: bool) -> Any:
    """(low, high) pads from an int, n ints, n pairs in a flat list, or pairs for every dim; "same" and "valid" as
    they are.
    """
    if isinstance(padding, str):
        if padding.upper() not in ("SAME", "VALID"):
            raise op_error(ValueError, who, "padding 'SAME' or 'VALID'", repr(padding))
        return padding.upper()
    if isinstance(padding, int):
        return (padding,) * n, (padding,) * n
    found = list(padding)
    if len(found) == n + 2 and all(isinstance(p, (list, tuple)) for p in found):
        spatial, other = (found[1:-1], (found[0], found[-1])) if last else (found[2:], found[:2])
        if any(any(p) for p in other):
            raise op_error(ValueError, who, "no padding of batch and channels", padding)
        found = spatial
    if len(found) == n and all(isinstance(p, (list, tuple)) for p in found):
        return tuple(int(p[0]) for p in found), tuple(int(p[1]) for p in found)
    found = [int(p) for p in found]
    if len(found) == 2 * n:
        return tuple(found[::2]), tuple(found[1::2])
    if len(found) == 1:
        found = found * n
    if len(found) != n:
        raise op_error(ValueError, who, f"padding as 'SAME', 'VALID', one int, {n} or {2 * n} ints or pairs", padding)
    return tuple(found), tuple(found)


def same_pads(sizes: Sequence[int], kernel: Ints, strides: Ints) -> tuple[Ints, Ints]:
    """The pads for ceil(size/stride) windows, the odd one at the end."""
    total = [max((-(-n // s) - 1) * s + k - n, 0) for n, k, s in zip(sizes, kernel, strides, strict=True)]
    return tuple(t // 2 for t in total), tuple(t - t // 2 for t in total)


def to_first(x: Tensor, n: int) -> Tensor:
    """``[N, *space, C]`` to ``[N, C, *space]``."""
    return F.permute(x, perm=(0, n + 1, *range(1, n + 1)))


def to_last(x: Tensor, n: int) -> Tensor:
    """``[N, C, *space]`` to ``[N, *space, C]``."""
    return F.permute(x, perm=(0, *range(2, n + 2), 1))
