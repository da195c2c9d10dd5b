"""Parts of complex numbers."""

from __future__ import annotations

from paddle._public import public
from paddle.tensor._args import (
    floats,
    made_on,
    need_tensor,
)
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor


@public
def isreal(x: Tensor, name: str | None = None) -> Tensor:
    """Whether the imaginary part is zero; true of every real number.

    Example:
        >>> import paddle
        >>> paddle.isreal(paddle.to_tensor([1 + 0j, 1j])).tolist()
        [True, False]
    """
    need_tensor(x, "isreal")
    return F.eq(F.imag(x), 0) if x.dtype.is_complex else made_on(x.place, F.full, True, dt.bool, tuple(x.shape))


@public(op=F.Angle())
def angle(x: Tensor, name: str | None = None) -> Tensor:
    """The argument of complex numbers; 0 or pi for real ones, element by element.

    Args:
        x: a tensor; integers become floats first.

    Example:
        >>> import paddle
        >>> paddle.angle(paddle.to_tensor([1.0])).tolist()
        [0.0]
    """
    return F.angle(floats(x, "angle"))


@public(op=F.Conj())
def conj(x: Tensor, name: str | None = None) -> Tensor:
    """The complex conjugate; real numbers as they are, element by element.

    Args:
        x: a tensor.

    Example:
        >>> import paddle
        >>> paddle.conj(paddle.to_tensor([1.0])).tolist()
        [1.0]
    """
    return F.conj(need_tensor(x, "conj"))


@public(op=F.Imag())
def imag(x: Tensor, name: str | None = None) -> Tensor:
    """The imaginary part of complex numbers, element by element.

    Args:
        x: a tensor.

    Example:
        >>> import paddle
        >>> paddle.imag(paddle.to_tensor([1 + 2j])).tolist()
        [2.0]
    """
    return F.imag(need_tensor(x, "imag"))


@public(op=F.Real())
def real(x: Tensor, name: str | None = None) -> Tensor:
    """The real part of complex numbers; real ones as they are, element by element.

    Args:
        x: a tensor.

    Example:
        >>> import paddle
        >>> paddle.real(paddle.to_tensor([1 + 2j])).tolist()
        [1.0]
    """
    return F.real(x) if need_tensor(x, "real").dtype.is_complex else x
