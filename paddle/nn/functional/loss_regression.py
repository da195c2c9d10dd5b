"""Losses of numbers: squares, absolute values, likelihoods. ``reduction``: ``"mean"``, ``"sum"`` or ``"none"``."""

from __future__ import annotations

from paddle._public import public
from paddle.nn._ops import check_reduction, reduce_loss, sum_all
from paddle.tensor._args import Records
from umiak import ops as F
from umiak.core.eager import apply, apply2
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

_GAUSSIAN = Records(F.GaussianNll)
_KL = Records(F.KlDiv)
_L1 = F.L1()
_MSE = F.Mse()
_POISSON = Records(F.PoissonNll)
_SMOOTH_L1 = Records(F.SmoothL1)


@public("paddle.nn.functional")
def mse_loss(input: Tensor, label: Tensor, reduction: str = "mean", name: str | None = None) -> Tensor:
    """``(input - label)²``.

    Example:
        >>> import paddle
        >>> float(paddle.nn.functional.mse_loss(paddle.to_tensor([1.0]), paddle.to_tensor([3.0])))
        4.0
    """
    return reduce_loss("mse_loss", apply2(_MSE, input, label), reduction)


@public("paddle.nn.functional")
def square_error_cost(input: Tensor, label: Tensor) -> Tensor:
    """``(input - label)²`` of each element."""
    return apply2(_MSE, input, label)


@public("paddle.nn.functional")
def l1_loss(input: Tensor, label: Tensor, reduction: str = "mean", name: str | None = None) -> Tensor:
    """``|input - label|``."""
    return reduce_loss("l1_loss", apply2(_L1, input, label), reduction)


@public("paddle.nn.functional")
def smooth_l1_loss(
    input: Tensor,
    label: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    is_huber: bool = True,
    name: str | None = None,
) -> Tensor:
    """``z²/2`` where ``z = |input - label|`` is below ``delta``, ``delta*(z - delta/2)`` beyond.

    Without ``is_huber`` it is divided by delta.
    """
    return reduce_loss("smooth_l1_loss", apply(_SMOOTH_L1[bool(is_huber)], (input, label), (float(delta),)), reduction)


@public("paddle.nn.functional")
def kl_div(
    input: Tensor, label: Tensor, reduction: str = "mean", log_target: bool = False, name: str | None = None
) -> Tensor:
    """``label * (log(label) - input)``, input being log probabilities; label is a log too with ``log_target``.

    ``reduction`` may also be ``"batchmean"``: the sum over the first dim's size.
    """
    check_reduction("kl_div", reduction, "batchmean")
    loss = apply2(_KL[bool(log_target)], input, label)
    if reduction == "batchmean":
        return F.div(sum_all(loss), float(input.shape[0])) if input.ndim else loss
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
    """Negative log likelihood of counts ``label`` under a Poisson law with rate ``exp(input)``, or input itself.

    ``full`` adds Stirling's approximation of ``log(label!)``.
    """
    if epsilon <= 0:
        raise op_error(ValueError, "poisson_nll_loss", "epsilon > 0", epsilon)
    loss = apply(_POISSON[bool(log_input), bool(full)], (input, label), (float(epsilon),))
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
    """Negative log likelihood of ``label`` under a normal law with mean ``input`` and ``variance``."""
    if list(variance.shape) != list(input.shape):
        if list(variance.shape) == list(input.shape[:-1]):
            variance = F.unsqueeze(variance, axes=(variance.ndim,))
        elif variance.ndim != input.ndim or variance.shape[-1] != 1:
            raise op_error(ValueError, "gaussian_nll_loss", f"variance of shape {input.shape}", variance.shape)
    loss = apply(_GAUSSIAN[(bool(full),)], (input, label, variance), (float(epsilon),))
    return reduce_loss("gaussian_nll_loss", loss, reduction)
