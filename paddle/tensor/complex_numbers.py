"""Parts of complex numbers."""

from __future__ import annotations

from typing import Any

from paddle._public import public
from paddle.tensor._args import (
    create_on,
    floats,
    need_tensor,
    same_dtype,
)
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor


@public
def isreal(x: Tensor, name: str | None = None) -> Tensor:
    """Test each element for an imaginary part of zero.

    Args:
        x: tensor of any shape and dtype. Real elements always pass.

    Returns:
        bool tensor of x's shape.

    Raises:
        TypeError: x is no tensor.

    Example:
        >>> import paddle
        >>> paddle.isreal(paddle.to_tensor([1 + 0j, 1j])).tolist()
        [True, False]
    """
    need_tensor(x, "isreal")
    return F.eq(F.imag(x), 0) if x.dtype.is_complex else create_on(x.place, F.full, True, dt.bool, tuple(x.shape))


@public(op=F.Angle())
def angle(x: Tensor, name: str | None = None) -> Tensor:
    """Argument of complex numbers in radians, from -pi to pi, element by element.

    Args:
        x: floating or complex tensor of any shape; integers and bools become float32. Of real elements the argument is
            0, or pi below 0.

    Returns:
        Floating tensor of x's shape, as precise as x: float32 for complex64, integers and bools.

    Raises:
        TypeError: x is no tensor.

    Example:
        >>> import paddle
        >>> [round(v, 4) for v in paddle.angle(paddle.to_tensor([1j, -1 + 0j])).tolist()]
        [1.5708, 3.1416]
    """
    return F.angle(floats(x, "angle"))


@public(op=F.Conj())
def conj(x: Tensor, name: str | None = None) -> Tensor:
    """Complex conjugate, element by element.

    Args:
        x: tensor of any shape and dtype. Real elements are their own conjugates.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is no tensor.

    Example:
        >>> import paddle
        >>> paddle.conj(paddle.to_tensor([1 + 2j])).tolist()
        [(1-2j)]
    """
    return F.conj(need_tensor(x, "conj"))


@public(op=F.Imag())
def imag(x: Tensor, name: str | None = None) -> Tensor:
    """Imaginary part of complex numbers, element by element.

    Args:
        x: complex tensor of any shape.

    Returns:
        Tensor of x's shape: float32 for complex64, float64 for complex128.

    Raises:
        TypeError: x is no tensor, or is not complex.

    Example:
        >>> import paddle
        >>> paddle.imag(paddle.to_tensor([1 + 2j, 3 - 4j])).tolist()
        [2.0, -4.0]
    """
    return F.imag(need_tensor(x, "imag"))


@public(op=F.Real())
def real(x: Tensor, name: str | None = None) -> Tensor:
    """Real part of complex numbers, element by element.

    Args:
        x: tensor of any shape and dtype. A tensor that is not complex is returned itself.

    Returns:
        Tensor of x's shape: float32 for complex64, float64 for complex128, else x.

    Raises:
        TypeError: x is no tensor.

    Example:
        >>> import paddle
        >>> paddle.real(paddle.to_tensor([1 + 2j, 3 - 4j])).tolist()
        [1.0, 3.0]
    """
    return F.real(x) if need_tensor(x, "real").dtype.is_complex else x


@public("paddle paddle.tensor")
def complex(real: Tensor, imag: Tensor, name: str | None = None, *, out: Any = None) -> Tensor:
    """Complex numbers of real and imaginary parts.

    Args:
        real: float32 or float64 tensor of any shape.
        imag: tensor of real's dtype that broadcasts with it.
        out: tensor that is written with the result and returned.

    Returns:
        Tensor of dtype complex64 or complex128.

    Raises:
        TypeError: a part is not a tensor, the dtypes differ or are others.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> paddle.complex(paddle.to_tensor([1.0]), paddle.to_tensor([2.0])).tolist()
        [(1+2j)]
    """
    return F.complex(need_tensor(real, "complex", "real"), need_tensor(imag, "complex", "imag"))


@public
def polar(abs: Tensor, angle: Tensor, name: str | None = None, *, out: Any = None) -> Tensor:
    """Complex numbers of absolute values and angles.

    Args:
        abs: float32 or float64 tensor of any shape: absolute values.
        angle: tensor of one of these dtypes that broadcasts with it: angles in radians.
        out: tensor that is written with the result and returned.

    Returns:
        Tensor of dtype complex64 or complex128.

    Raises:
        TypeError: an operand is not a tensor, or of another dtype.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> paddle.polar(paddle.to_tensor([2.0]), paddle.to_tensor([0.0])).tolist()
        [(2+0j)]
    """
    need_tensor(abs, "polar", "abs")
    need_tensor(angle, "polar", "angle")
    if abs.dtype is not angle.dtype:
        abs, angle = same_dtype("mul", abs, angle)
    return F.polar(abs, angle)
