"""Filling tensors in place, in the manner of functions; the rules are those of ``paddle.nn.initializer``."""

from __future__ import annotations

from paddle import _lazy
from paddle._public import also, public
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
    calculate_gain,  # noqa: F401 for type checkers
)
from paddle.tensor._args import create_on
from umiak import ops as F
from umiak.core.context import no_grad_guard
from umiak.core.inplace import assign
from umiak.core.tensor import Tensor

in_dygraph_mode = also(in_dynamic_mode, "in_dygraph_mode", "paddle.nn.init")


@public("paddle.nn.init")
def in_pir_mode() -> bool:
    """Say whether operations are recorded into a program.

    Returns:
        A bool.

    Example:
        >>> import paddle
        >>> paddle.nn.init.in_pir_mode()
        False
    """
    return not in_dynamic_mode()


@public("paddle.nn.init")
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0) -> Tensor:
    """Fill a tensor with uniform random numbers.

    Args:
        tensor: a floating tensor, which is written.
        a: lower bound.
        b: upper bound, which is not reached.

    Returns:
        The tensor.

    Raises:
        TypeError: a tensor that is not floating.
        ValueError: a lies above b.

    Example:
        >>> import paddle
        >>> x = paddle.nn.init.uniform_(paddle.empty([3, 4]), 1.0, 2.0)
        >>> 1.0 <= float(x.min()) and float(x.max()) <= 2.0
        True
    """
    return Uniform(a, b)(tensor)


@public("paddle.nn.init")
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """Fill a tensor with normally distributed random numbers.

    Args:
        tensor: a floating tensor, which is written.
        mean: mean of the distribution.
        std: standard deviation, 0 or more.

    Returns:
        The tensor.

    Raises:
        TypeError: a tensor that is not floating.
        ValueError: a negative std.

    Example:
        >>> import paddle
        >>> x = paddle.nn.init.normal_(paddle.empty([3, 4]), mean=5.0, std=0.0)
        >>> float(x.min()), float(x.max())
        (5.0, 5.0)
    """
    return Normal(mean, std)(tensor)


@public("paddle.nn.init")
def trunc_normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0) -> Tensor:
    """Fill a tensor with normally distributed random numbers, conditioned on lying between two bounds.

    Args:
        tensor: a floating tensor, which is written.
        mean: mean of the distribution before it is cut.
        std: its standard deviation, 0 or more.
        a: lower bound.
        b: upper bound, above a.

    Returns:
        The tensor.

    Raises:
        TypeError: a tensor that is not floating.
        ValueError: a negative std, or bounds in the wrong order.

    Example:
        >>> import paddle
        >>> x = paddle.nn.init.trunc_normal_(paddle.empty([3, 4]), a=-1.0, b=1.0)
        >>> float(x.abs().max()) <= 1.0
        True
    """
    return TruncatedNormal(mean, std, a, b)(tensor)


@public("paddle.nn.init")
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill a tensor with one value.

    Args:
        tensor: a tensor, which is written.
        val: the value, a number that its dtype holds.

    Returns:
        The tensor.

    Raises:
        OverflowError: a number beyond the tensor's dtype.

    Example:
        >>> import paddle
        >>> paddle.nn.init.constant_(paddle.empty([2]), 3.0).tolist()
        [3.0, 3.0]
    """
    return Constant(val)(tensor)


@public("paddle.nn.init")
def ones_(tensor: Tensor) -> Tensor:
    """Fill a tensor with ones.

    Args:
        tensor: a tensor, which is written.

    Returns:
        The tensor.

    Raises:
        AttributeError: a value that is not a tensor.

    Example:
        >>> import paddle
        >>> paddle.nn.init.ones_(paddle.empty([2])).tolist()
        [1.0, 1.0]
    """
    return Constant(1.0)(tensor)


@public("paddle.nn.init")
def zeros_(tensor: Tensor) -> Tensor:
    """Fill a tensor with zeros.

    Args:
        tensor: a tensor, which is written.

    Returns:
        The tensor.

    Raises:
        AttributeError: a value that is not a tensor.

    Example:
        >>> import paddle
        >>> paddle.nn.init.zeros_(paddle.empty([2])).tolist()
        [0.0, 0.0]
    """
    return Constant(0.0)(tensor)


@public("paddle.nn.init")
def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with the identity.

    Args:
        tensor: a tensor of rank 2, which is written.

    Returns:
        The tensor.

    Raises:
        ValueError: a tensor of another rank.

    Example:
        >>> import paddle
        >>> paddle.nn.init.eye_(paddle.empty([2, 3])).tolist()
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    if tensor.ndim != 2:
        raise ValueError(f"[eye_] requires a tensor of rank 2, got shape {list(tensor.shape)}")
    rows, columns = tensor.shape
    with no_grad_guard():
        ones = create_on(tensor.place, F.full, 1, tensor.dtype, (rows, columns))
        return assign(tensor, F.triu(F.tril(ones)))


@public("paddle.nn.init")
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill convolution kernels so that they pass their input through.

    Args:
        tensor: kernels ``[out, in, *sizes]`` of rank 3 to 5, which are written.
        groups: how many groups of output channels each repeat the identity.

    Returns:
        The tensor.

    Raises:
        ValueError: a tensor of another rank, or groups that do not divide the output channels.

    Example:
        >>> import paddle
        >>> paddle.nn.init.dirac_(paddle.empty([1, 1, 3])).tolist()
        [[[0.0, 1.0, 0.0]]]
    """
    return Dirac(groups)(tensor)


@public("paddle.nn.init")
def orthogonal_(tensor: Tensor, gain: float = 1) -> Tensor:
    """Fill a tensor with ``gain`` times a matrix of orthonormal rows or columns, whichever are fewer.

    Args:
        tensor: a floating or complex tensor of rank 2 or more, which is written; dims after the first are columns.
        gain: factor on the matrix.

    Returns:
        The tensor.

    Raises:
        ValueError: a tensor of a lower rank.

    Example:
        >>> import paddle
        >>> x = paddle.nn.init.orthogonal_(paddle.empty([2, 2]))
        >>> bool(paddle.allclose(x @ x.T, paddle.eye(2), atol=1e-5))
        True
    """
    return Orthogonal(gain)(tensor)


@public("paddle.nn.init")
def xavier_uniform_(
    tensor: Tensor, gain: float = 1.0, fan_in: float | None = None, fan_out: float | None = None
) -> Tensor:
    """Fill a tensor with uniform random numbers of variance ``gain² * 2 / (fan_in + fan_out)``.

    Args:
        tensor: a floating tensor, which is written.
        gain: factor on the standard deviation.
        fan_in: inputs that each output is computed of; None: as the shape says. A matrix is ``[in, out]``.
        fan_out: outputs that each input goes to; None: as the shape says.

    Returns:
        The tensor.

    Raises:
        TypeError: a tensor that is not floating.

    Example:
        >>> import paddle
        >>> x = paddle.nn.init.xavier_uniform_(paddle.empty([1, 2]))
        >>> float(x.abs().max()) <= 2.0**0.5  # the root of 6 / (1 + 2)
        True
    """
    return XavierUniform(fan_in, fan_out, gain)(tensor)


@public("paddle.nn.init")
def xavier_normal_(
    tensor: Tensor, gain: float = 1.0, fan_in: float | None = None, fan_out: float | None = None
) -> Tensor:
    """Fill a tensor with normally distributed random numbers of variance ``gain² * 2 / (fan_in + fan_out)``.

    Args:
        tensor: a floating tensor, which is written.
        gain: factor on the standard deviation.
        fan_in: inputs that each output is computed of; None: as the shape says. A matrix is ``[in, out]``.
        fan_out: outputs that each input goes to; None: as the shape says.

    Returns:
        The tensor.

    Raises:
        TypeError: a tensor that is not floating.

    Example:
        >>> import paddle
        >>> x = paddle.nn.init.xavier_normal_(paddle.empty([100, 100]))
        >>> round(float(x.std()), 1)
        0.1
    """
    return XavierNormal(fan_in, fan_out, gain)(tensor)


@public("paddle.nn.init")
def kaiming_uniform_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Tensor:
    """Fill a tensor with uniform random numbers of variance ``gain² / fan``.

    Args:
        tensor: a floating tensor, which is written.
        a: the slope of leaky ReLU.
        mode: ``"fan_in"`` or ``"fan_out"``: which one the variance is divided by.
        nonlinearity: a name that :func:`calculate_gain` knows.

    Returns:
        The tensor.

    Raises:
        TypeError: a tensor that is not floating.
        ValueError: an unknown mode or nonlinearity.

    Example:
        >>> import paddle
        >>> x = paddle.nn.init.kaiming_uniform_(paddle.empty([6, 2]))
        >>> float(x.abs().max()) <= 1.0  # the root of 6 / fan_in
        True
    """
    return KaimingUniform(None, a, nonlinearity, mode)(tensor)


@public("paddle.nn.init")
def kaiming_normal_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Tensor:
    """Fill a tensor with normally distributed random numbers of variance ``gain² / fan``.

    Args:
        tensor: a floating tensor, which is written.
        a: the slope of leaky ReLU.
        mode: ``"fan_in"`` or ``"fan_out"``: which one the variance is divided by.
        nonlinearity: a name that :func:`calculate_gain` knows.

    Returns:
        The tensor.

    Raises:
        TypeError: a tensor that is not floating.
        ValueError: an unknown mode or nonlinearity.

    Example:
        >>> import paddle
        >>> x = paddle.nn.init.kaiming_normal_(paddle.empty([200, 50]))
        >>> round(float(x.std()), 1)  # the root of 2 / fan_in
        0.1
    """
    return KaimingNormal(None, a, nonlinearity, mode)(tensor)


__getattr__, __dir__, __all__ = _lazy.contents(__name__)
