"""Losses of numbers: squares, absolute values, likelihoods. ``reduction``: ``"mean"``, ``"sum"`` or ``"none"``."""

from __future__ import annotations

from paddle._public import need_tensor, public
from paddle.nn._ops import apply_promoted, check_label_shape, check_reduction, reduce_loss, sum_all
from paddle.tensor._args import InternedOps
from umiak import ops as F
from umiak.core.eager import apply2
from umiak.core.tensor import Tensor
from umiak.ir.sym import to_float
from umiak.util.errors import op_error

_GAUSSIAN = InternedOps(F.GaussianNll)
_KL = InternedOps(F.KlDiv)
_L1 = F.L1()
_MSE = F.Mse()
_POISSON = InternedOps(F.PoissonNll)
_SMOOTH_L1 = InternedOps(F.SmoothL1)


@public("paddle.nn.functional")
def mse_loss(input: Tensor, label: Tensor, reduction: str = "mean", name: str | None = None) -> Tensor:
    """Mean squared error: ``(input - label)²``.

    Args:
        input: floating tensor of any shape.
        label: floating tensor; the two broadcast.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Returns:
        Tensor without dims, or of the broadcast shape for ``"none"``, of the dtype that the operands promote to.

    Raises:
        TypeError: the operands are not floating.
        ValueError: the shapes do not broadcast, or the reduction is unknown.

    Example:
        >>> import paddle
        >>> float(paddle.nn.functional.mse_loss(paddle.to_tensor([1.0]), paddle.to_tensor([3.0])))
        4.0
    """
    try:
        loss = apply2(_MSE, input, label)
    except TypeError:
        loss = apply_promoted(_MSE, (input, label))
    return reduce_loss("mse_loss", loss, reduction)


@public("paddle.nn.functional")
def square_error_cost(input: Tensor, label: Tensor) -> Tensor:
    """Squared error of each element: ``(input - label)²``.

    Args:
        input: floating tensor of any shape.
        label: floating tensor; the two broadcast.

    Returns:
        Tensor of the broadcast shape and of the dtype that the operands promote to.

    Raises:
        TypeError: the operands are not floating.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.square_error_cost(paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([3.0, 2.0])).tolist()
        [4.0, 0.0]
    """
    return apply_promoted(_MSE, (input, label))


@public("paddle.nn.functional")
def l1_loss(input: Tensor, label: Tensor, reduction: str = "mean", name: str | None = None) -> Tensor:
    """Absolute error: ``|input - label|``.

    Args:
        input: floating tensor of any shape.
        label: floating tensor; the two broadcast.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Returns:
        Tensor without dims, or of the broadcast shape for ``"none"``, of the dtype that the operands promote to.

    Raises:
        TypeError: the operands are not floating.
        ValueError: the shapes do not broadcast, or the reduction is unknown.

    Example:
        >>> import paddle
        >>> float(paddle.nn.functional.l1_loss(paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([4.0, 1.0])))
        2.0
    """
    try:
        loss = apply2(_L1, input, label)
    except TypeError:
        loss = apply_promoted(_L1, (input, label))
    return reduce_loss("l1_loss", loss, reduction)


@public("paddle.nn.functional")
def smooth_l1_loss(
    input: Tensor,
    label: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    is_huber: bool = True,
    name: str | None = None,
) -> Tensor:
    """Huber loss: with ``z = |input - label|``, ``z²/2`` where z is below ``delta``, ``delta*(z - delta/2)`` beyond.

    Args:
        input: floating tensor of any shape.
        label: floating tensor of input's shape.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.
        delta: the error at which the loss becomes linear.
        is_huber: False divides the loss by ``delta``.

    Returns:
        Tensor without dims, or of input's shape for ``"none"``, of the dtype that the operands promote to.

    Raises:
        TypeError: the operands are not floating.
        ValueError: shapes that do not fit, or an unknown reduction.

    Example:
        >>> import paddle
        >>> x, y = paddle.to_tensor([1.0, 4.0]), paddle.zeros([2])
        >>> paddle.nn.functional.smooth_l1_loss(x, y, "none", delta=2.0).tolist()
        [0.5, 6.0]
    """
    check_label_shape("smooth_l1_loss", input, label)
    return reduce_loss(
        "smooth_l1_loss", apply_promoted(_SMOOTH_L1[bool(is_huber)], (input, label), (to_float(delta),)), reduction
    )


@public("paddle.nn.functional")
def kl_div(
    input: Tensor, label: Tensor, reduction: str = "mean", log_target: bool = False, name: str | None = None
) -> Tensor:
    """Kullback-Leibler divergence: ``label * (log(label) - input)``.

    Args:
        input: floating tensor of log-probabilities.
        label: probabilities of input's shape and dtype, or log-probabilities with ``log_target``; float32 and float64
            may meet.
        reduction: ``"mean"``, ``"sum"``, ``"none"``, or ``"batchmean"``: the sum over the size of the first dim.
        log_target: whether label is a logarithm too.

    Returns:
        Tensor without dims, or of input's shape for ``"none"``, of the dtype that the operands promote to.

    Raises:
        TypeError: the operands are not floating, or of dtypes that do not go together.
        ValueError: shapes that do not fit, or an unknown reduction.

    Example:
        >>> import paddle
        >>> p = paddle.to_tensor([[0.5, 0.5]])
        >>> loss = paddle.nn.functional.kl_div(paddle.log(p), paddle.to_tensor([[1.0, 0.0]]), "batchmean")
        >>> round(float(loss), 4)
        0.6931
    """
    check_reduction("kl_div", reduction, "batchmean")
    check_label_shape("kl_div", input, label)
    loss = apply_promoted(_KL[bool(log_target)], (input, label), low=False)
    if reduction == "batchmean":
        return F.div(sum_all(loss), input.shape[0]) if input.ndim else loss
    return reduce_loss("kl_div", loss, reduction)


@public("paddle.nn.functional")
def poisson_nll_loss(
    input: Tensor,
    label: Tensor,
    log_input: bool = True,
    full: bool = False,
    epsilon: float = 1e-8,
    reduction: str = "mean",
    name: str | None = None,
) -> Tensor:
    """Negative log-likelihood of counts ``label`` under a Poisson distribution.

    Args:
        input: floating tensor: the rate, or its logarithm with ``log_input``.
        label: tensor of counts, of input's shape and dtype.
        log_input: the rate is ``exp(input)``; with False it is input itself.
        full: add Stirling's approximation of ``log(label!)``, which does not depend on input, where label exceeds 1.
        epsilon: added to the rate before its logarithm is taken, above 0.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Returns:
        Tensor without dims, or of input's shape for ``"none"``, of the dtype that the operands promote to.

    Raises:
        TypeError: the operands are not floating.
        ValueError: ``epsilon`` is not above 0, shapes that do not fit, or an unknown reduction.

    Example:
        >>> import paddle
        >>> float(paddle.nn.functional.poisson_nll_loss(paddle.zeros([2]), paddle.to_tensor([1.0, 3.0])))
        1.0
    """
    if epsilon <= 0:
        raise op_error(ValueError, "poisson_nll_loss", "epsilon > 0", epsilon)
    check_label_shape("poisson_nll_loss", input, label)
    loss = apply_promoted(_POISSON[bool(log_input), bool(full)], (input, label), (to_float(epsilon),))
    return reduce_loss("poisson_nll_loss", loss, reduction)


@public("paddle.nn.functional")
def gaussian_nll_loss(
    input: Tensor,
    label: Tensor,
    variance: Tensor,
    full: bool = False,
    epsilon: float = 1e-6,
    reduction: str = "mean",
    name: str | None = None,
) -> Tensor:
    """Negative log-likelihood of ``label`` under a normal distribution with mean ``input``.

    Args:
        input: floating tensor: the mean.
        label: floating tensor; the two broadcast.
        variance: floating tensor: of input's shape, of that without the last dim, or with size 1 there.
        full: add the constant ``log(2*pi) / 2``.
        epsilon: smaller variances count as this.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Returns:
        Tensor without dims, or of the broadcast shape for ``"none"``, of the dtype that the operands promote to.

    Raises:
        TypeError: the operands are not floating.
        ValueError: shapes that do not fit, or an unknown reduction.

    Example:
        >>> import paddle
        >>> x, y, variance = paddle.zeros([2]), paddle.to_tensor([2.0, 0.0]), paddle.ones([2])
        >>> float(paddle.nn.functional.gaussian_nll_loss(x, y, variance))
        1.0
    """
    need_tensor(input, "gaussian_nll_loss", "input")
    need_tensor(variance, "gaussian_nll_loss", "variance")
    if list(variance.shape) != list(input.shape):
        if list(variance.shape) == list(input.shape[:-1]):
            variance = F.unsqueeze(variance, axes=(variance.ndim,))
        elif variance.ndim != input.ndim or variance.shape[-1] != 1:
            raise op_error(ValueError, "gaussian_nll_loss", f"variance of shape {list(input.shape)}", variance.shape)
    loss = apply_promoted(_GAUSSIAN[(bool(full),)], (input, label, variance), (to_float(epsilon),))
    return reduce_loss("gaussian_nll_loss", loss, reduction)
