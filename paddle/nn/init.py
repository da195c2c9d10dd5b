"""Filling tensors in place, in the manner of functions; the rules are those of ``paddle.nn.initializer``."""

from __future__ import annotations

from paddle.framework.mode import in_dynamic_mode
from paddle.nn.initializer import (
    Constant,
    Dirac,
    KaimingNormal,
    KaimingUniform,
    Normal,
    Orthogonal,
    TruncatedNormal,
    Uniform,
    XavierNormal,
    XavierUniform,
    calculate_gain,
)
from paddle.tensor._args import made_on
from umiak import ops as F
from umiak.core.context import no_grad_guard
from umiak.core.inplace import assign
from umiak.core.tensor import Tensor

__all__ = [
    "Constant",
    "Dirac",
    "KaimingNormal",
    "KaimingUniform",
    "Normal",
    "Orthogonal",
    "TruncatedNormal",
    "Uniform",
    "XavierNormal",
    "XavierUniform",
    "calculate_gain",
    "constant_",
    "dirac_",
    "eye_",
    "in_dygraph_mode",
    "in_pir_mode",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]

in_dygraph_mode = in_dynamic_mode


def in_pir_mode() -> bool:
    """Return whether operations are recorded into a program."""
    return not in_dynamic_mode()


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0) -> Tensor:
    """Fill with numbers uniform between ``a`` and ``b``; returns the tensor, as all functions here do.

    Example:
        >>> import paddle
        >>> paddle.nn.init.uniform_(paddle.empty([3, 4])).shape
        [3, 4]
    """
    return Uniform(a, b)(tensor)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """Fill with numbers normal with ``mean`` and ``std``."""
    return Normal(mean, std)(tensor)


def trunc_normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0) -> Tensor:
    """Fill with numbers normal with ``mean`` and ``std``, conditioned on lying between ``a`` and ``b``."""
    return TruncatedNormal(mean, std, a, b)(tensor)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one value."""
    return Constant(val)(tensor)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones."""
    return Constant(1.0)(tensor)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros."""
    return Constant(0.0)(tensor)


def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with the identity. Raises ValueError for another rank.

    Example:
        >>> import paddle
        >>> paddle.nn.init.eye_(paddle.empty([2, 3])).tolist()
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    if tensor.ndim != 2:
        raise ValueError(f"[eye_] requires a tensor of rank 2, got shape {list(tensor.shape)}")
    rows, columns = tensor.shape
    with no_grad_guard():
        ones = made_on(tensor.place, F.full, 1, tensor.dtype, (rows, columns))
        return assign(tensor, F.triu(F.tril(ones)))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill convolution kernels so that they pass their input through."""
    return Dirac(groups)(tensor)


def orthogonal_(tensor: Tensor, gain: float = 1) -> Tensor:
    """Fill with ``gain`` times a matrix with orthonormal rows or columns, whichever are fewer."""
    return Orthogonal(gain)(tensor)


def xavier_uniform_(
    tensor: Tensor, gain: float = 1.0, fan_in: float | None = None, fan_out: float | None = None
) -> Tensor:
    """Fill uniformly with variance ``gain² * 2/(fan_in + fan_out)``; a matrix is ``[in, out]``."""
    return XavierUniform(fan_in, fan_out, gain)(tensor)


def xavier_normal_(
    tensor: Tensor, gain: float = 1.0, fan_in: float | None = None, fan_out: float | None = None
) -> Tensor:
    """Fill normally with variance ``gain² * 2/(fan_in + fan_out)``; a matrix is ``[in, out]``."""
    return XavierNormal(fan_in, fan_out, gain)(tensor)


def kaiming_uniform_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Tensor:
    """Fill uniformly with variance ``gain² / fan``, where ``a`` is the slope of leaky ReLU."""
    return KaimingUniform(None, a, nonlinearity, mode)(tensor)


def kaiming_normal_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Tensor:
    """Fill normally with variance ``gain² / fan``, where ``a`` is the slope of leaky ReLU."""
    return KaimingNormal(None, a, nonlinearity, mode)(tensor)
