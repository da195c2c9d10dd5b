"""Max pooling in windows that a random number places (Graham, 2014)."""

from __future__ import annotations

from typing import Any

from paddle._public import need_tensor, public
from paddle.nn._ops import random_tensor
from paddle.nn.functional._windows import ints
from paddle.tensor._args import InternedOps, create_on
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.eager import apply
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

_FRACTIONAL = InternedOps(F.FractionalMaxPool)


def _fractional(n: int, x: Tensor, output_size: Any, kernel_size: Any, random_u: float | None, mask: bool) -> Any:
    op_name = f"fractional_max_pool{n}d"
    if need_tensor(x, op_name).ndim != n + 2:
        raise op_error(ValueError, op_name, f"x of rank {n + 2}", f"shape {list(x.shape)}")
    wanted = [output_size] * n if output_size is None or isinstance(output_size, int) else list(output_size)
    if len(wanted) != n:
        raise op_error(ValueError, op_name, f"output_size as one int or {n}", output_size)
    counts = tuple(m if w is None else int(w) for w, m in zip(wanted, x.shape[2:], strict=True))
    kernel = (1,) * n if kernel_size is None else ints(kernel_size, n, op_name, "kernel_size")
    for size, count, k in zip(x.shape[2:], counts, kernel, strict=True):
        if type(size) is int and not 1 <= count <= size - k + 1:  # the op checks sizes that are symbols
            raise op_error(ValueError, op_name, f"room for {count} windows of {k} or more", f"a dim of {size}")
    if random_u is None:
        u = random_tensor(F.UniformRandom, (), dt.float32, 0.0, 1.0, place=x.place)
    elif 0 < random_u < 1:
        u = create_on(x.place, F.full, float(random_u), dt.float32, ())
    else:
        raise op_error(ValueError, op_name, "random_u between 0 and 1", random_u)
    y, where = apply(_FRACTIONAL[n, dt.int32, kernel_size is not None], (x, u), (counts, kernel))
    return (y, where) if mask else y


@public("paddle.nn.functional", usual=False)
def fractional_max_pool2d(
    x: Tensor,
    output_size: Any,
    kernel_size: Any = None,
    random_u: float | None = None,
    return_mask: bool = False,
    name: str | None = None,
) -> Any:
    """Maximum of each of ``output_size`` windows of images, which a random number places.

    Args:
        x: tensor ``[N, C, H, W]``.
        output_size: how many windows, one int or one for each spatial dim; None keeps a dim.
        kernel_size: the size of windows, which then overlap; None: each ends where the next one starts.
        random_u: the random number, between 0 and 1; drawn at each call by default.
        return_mask: return also the flat index of each largest element within its channel, int32.

    Returns:
        ``[N, C, *output_size]``, or a pair with the mask.

    Raises:
        ValueError: windows for which there is no room, or ``random_u`` out of its range.

    Example:
        >>> import paddle
        >>> x = paddle.arange(7.0).expand([1, 1, 7, 7])
        >>> paddle.nn.functional.fractional_max_pool2d(x, 3, random_u=0.3)[0, 0, 0].tolist()
        [1.0, 4.0, 6.0]
    """
    return _fractional(2, x, output_size, kernel_size, random_u, return_mask)


@public("paddle.nn.functional", usual=False)
def fractional_max_pool3d(
    x: Tensor,
    output_size: Any,
    kernel_size: Any = None,
    random_u: float | None = None,
    return_mask: bool = False,
    name: str | None = None,
) -> Any:
    """Maximum of each of ``output_size`` windows of volumes, which a random number places.

    Args:
        x: tensor ``[N, C, D, H, W]``.
        output_size: how many windows, one int or one for each spatial dim; None keeps a dim.
        kernel_size: size of windows, which then overlap; None: each ends where the next one starts.
        random_u: the random number, between 0 and 1; drawn at each call by default.
        return_mask: return also the flat index of each largest element within its channel, int32.

    Returns:
        Tensor ``[N, C, *output_size]`` of x's dtype, or a pair with the mask.

    Raises:
        ValueError: windows for which there is no room, or ``random_u`` out of its range.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.fractional_max_pool3d(paddle.ones([1, 2, 5, 5, 5]), 2).shape
        paddle.Size([1, 2, 2, 2, 2])
    """
    return _fractional(3, x, output_size, kernel_size, random_u, return_mask)
