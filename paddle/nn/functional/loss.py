"""Losses of classes and probabilities. ``reduction``: ``"mean"``, ``"sum"`` or ``"none"``."""

from __future__ import annotations

from typing import Any

from paddle._public import public
from paddle.nn._ops import check_reduction, mean_all, reduce_loss, sum_all
from paddle.tensor._args import Records, made_on
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.eager import apply, apply2
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

_BCE = F.BceLoss()
_BCE_LOGITS = F.BceWithLogits()
_CROSS_ENTROPY = Records(F.SoftmaxCrossEntropy)
_LABEL_WEIGHTS = Records(F.LabelWeights)
_LABELLED_MEAN = F.LabelledMean()
_SMOOTHED = Records(F.SmoothedCrossEntropy)
_LOG_LOSS = F.LogLoss()
_NLL = Records(F.NllLoss)
_FOCAL = F.SigmoidFocal()


@public("paddle.nn.functional", usual=False)
def cross_entropy(
    input: Tensor,
    label: Any = None,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    soft_label: bool = False,
    axis: int = -1,
    use_softmax: bool = True,
    label_smoothing: float = 0.0,
    name: str | None = None,
    *,
    target: Any = None,
) -> Tensor:
    """``-log softmax(input)`` of each row's class.

    Args:
        input: scores of classes along ``axis``; probabilities with ``use_softmax=False``.
        label: classes, as integers of input's shape without ``axis`` (or with size 1 there), or with ``soft_label``
            their probabilities in input's shape (``target`` is another name for it).
        weight: ``[classes]``; each row counts as much as its class weighs, also in the mean.
        ignore_index: rows with this label give 0 and do not count in the mean.
        soft_label: whether labels are probabilities.
        label_smoothing: this part of each label is spread evenly over all classes.

    Returns:
        a number, or with ``reduction="none"`` the loss of each row (size 1 along ``axis`` where label has that dim,
        and with ``label_smoothing``).

    Raises:
        ValueError: shapes that do not fit, or an unknown reduction.

    Example:
        >>> import paddle
        >>> logits = paddle.to_tensor([[0.0, 0.0], [0.0, 0.0]])
        >>> round(float(paddle.nn.functional.cross_entropy(logits, paddle.to_tensor([0, 1]))), 4)
        0.6931
    """
    if label is None:
        label = target
    if reduction != "mean":
        check_reduction("cross_entropy", reduction)
    if axis < 0:
        axis += input.ndim
    if soft_label or (label_smoothing > 0.0 and not use_softmax):
        return _soft_cross_entropy(
            input, label, weight, ignore_index, reduction, soft_label, axis, use_softmax, label_smoothing
        )
    rows = label if label.ndim != input.ndim and label.dtype.is_integer else _classes(input, label, axis)
    if label_smoothing > 0.0:
        loss = apply(_SMOOTHED[axis], (input, rows), (ignore_index, float(label_smoothing)))
        if weight is not None:
            # A smoothed label weighs what its classes weigh together.
            even = F.mul(F.mean(weight, axes=(0,)), float(label_smoothing))
            weight = F.add(F.mul(weight, 1.0 - label_smoothing), even)
    elif use_softmax:
        loss = apply(_CROSS_ENTROPY[axis, False], (input, rows), (ignore_index,))
    else:
        loss = apply(_NLL[axis], (F.log(input), rows, None), (ignore_index,))
    if weight is not None:
        counts = apply(_LABEL_WEIGHTS[input.dtype], (rows, weight), (ignore_index,))
        loss = F.mul(loss, counts)
    if reduction == "none":
        column = label.ndim == input.ndim or label_smoothing > 0.0
        return F.unsqueeze(loss, axes=(axis,)) if column else loss
    if reduction == "sum":
        return sum_all(loss)
    return _mean_of_labelled(loss, rows, ignore_index) if weight is None else _mean_of_rows(loss, counts)


def _classes(input: Tensor, label: Tensor, axis: int) -> Tensor:
    """Labels as integers without the class dim."""
    if label.ndim == input.ndim and input.ndim and label.shape[axis] == 1:
        label = F.squeeze(label, axes=(axis,))
    return label if label.dtype.is_integer else F.cast(label, dtype=dt.int64)


def _over_counts(loss: Tensor, counts: Tensor) -> Tensor:
    """The sum of a loss over what its rows weigh; 0 where nothing counts."""
    total = sum_all(counts)
    return F.div(sum_all(loss), F.where(F.eq(total, 0), 1, total))


def _mean_of_rows(loss: Tensor, counts: Tensor) -> Tensor:
    """0 where all rows are ignored; not a number where there are none, like every other mean."""
    return mean_all(loss) if _no_rows(loss) else _over_counts(loss, counts)


def _mean_of_labelled(loss: Tensor, labels: Tensor, ignore_index: int) -> Tensor:
    """The same where every row that is not ignored counts as one."""
    return mean_all(loss) if _no_rows(loss) else apply(_LABELLED_MEAN, (loss, labels), (ignore_index,))


def _no_rows(loss: Tensor) -> bool:
    return 0 in loss.shape if type(loss) is Tensor else any(type(n) is int and n == 0 for n in loss.shape)


def _soft_cross_entropy(
    input: Tensor,
    label: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    reduction: str,
    soft_label: bool,
    axis: int,
    use_softmax: bool,
    smoothing: float,
) -> Tensor:
    classes = input.shape[axis]
    ignored = None
    if not soft_label:
        rows = _classes(input, label, axis)
        ignored = F.unsqueeze(F.eq(rows, ignore_index), axes=(axis,))
        label = F.one_hot(rows, dtype=input.dtype, num_classes=classes)
        if axis != input.ndim - 1:
            order = list(range(input.ndim - 1))
            order.insert(axis, input.ndim - 1)
            label = F.permute(label, perm=tuple(order))
    if smoothing > 0.0:
        label = F.add(F.mul(label, 1.0 - smoothing), smoothing / classes)
    if use_softmax:
        loss = F.unsqueeze(apply(_CROSS_ENTROPY[axis, True], (input, label), (ignore_index,)), axes=(axis,))
    else:
        loss = F.neg(F.sum(F.mul(label, F.log(input)), axes=(axis,), keepdim=True))
    counts = None
    if weight is not None:
        along = F.reshape(weight, shape=(classes, *(1,) * (input.ndim - 1 - axis)))
        counts = F.sum(F.mul(label, along), axes=(axis,), keepdim=True)
        loss = F.mul(loss, counts)
    if ignored is not None:
        loss = F.where(ignored, 0.0, loss)
        counts = made_on(input.place, F.full, 1.0, input.dtype, ()) if counts is None else counts
        counts = F.where(ignored, 0.0, counts)
    if reduction == "mean" and counts is not None:
        return _mean_of_rows(loss, counts)
    return reduce_loss("cross_entropy", loss, reduction)


@public("paddle.nn.functional", usual=False)
def softmax_with_cross_entropy(
    logits: Tensor,
    label: Tensor,
    soft_label: bool = False,
    ignore_index: int = -100,
    numeric_stable_mode: bool = True,
    return_softmax: bool = False,
    axis: int = -1,
) -> Any:
    """:func:`cross_entropy` of each row, with size 1 along ``axis``; and the softmax with ``return_softmax``."""
    axis = axis + logits.ndim if axis < 0 else axis
    rows = label if soft_label else _classes(logits, label, axis)
    loss = F.unsqueeze(apply(_CROSS_ENTROPY[axis, bool(soft_label)], (logits, rows), (ignore_index,)), axes=(axis,))
    return (loss, F.softmax(logits, axis=axis)) if return_softmax else loss


@public("paddle.nn.functional")
def nll_loss(
    input: Tensor,
    label: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    name: str | None = None,
) -> Tensor:
    """``-input`` at each row's class, input being log probabilities ``[N, C]`` or ``[N, C, *]``.

    Args:
        input: log probabilities, classes on dim 1.
        label: ``[N]`` or ``[N, *]``.
        weight: ``[C]``; each row counts as much as its class weighs, also in the mean.
        ignore_index: rows with this label give 0 and do not count.
    """
    check_reduction("nll_loss", reduction)
    if input.ndim < 2:
        raise op_error(ValueError, "nll_loss", "input of rank 2 or more", input.ndim)
    loss = apply(_NLL[1], (input, label, weight), (ignore_index,))
    if reduction != "mean":
        return reduce_loss("nll_loss", loss, reduction)
    if weight is None:
        return apply(_LABELLED_MEAN, (loss, label), (ignore_index,))
    return _over_counts(loss, apply(_LABEL_WEIGHTS[input.dtype], (label, weight), (ignore_index,)))


def _weighted(who: str, loss: Tensor, weight: Tensor | None, reduction: str) -> Tensor:
    return reduce_loss(who, loss if weight is None else F.mul(loss, weight), reduction)


@public("paddle.nn.functional")
def binary_cross_entropy(
    input: Tensor, label: Tensor, weight: Tensor | None = None, reduction: str = "mean", name: str | None = None
) -> Tensor:
    """``-label*log(input) - (1-label)*log(1-input)``; logarithms are kept above -100.

    Args:
        input: probabilities.
        label: of the same shape, between 0 and 1.
        weight: multiplies the loss.
    """
    return _weighted("binary_cross_entropy", apply2(_BCE, input, label), weight, reduction)


@public("paddle.nn.functional")
def binary_cross_entropy_with_logits(
    logit: Tensor,
    label: Tensor,
    weight: Tensor | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
    name: str | None = None,
) -> Tensor:
    """:func:`binary_cross_entropy` of ``sigmoid(logit)``, computed without forming it.

    Args:
        logit: any real numbers.
        label: of the same shape, between 0 and 1.
        weight: multiplies the loss.
        pos_weight: multiplies the part of positive labels.
    """
    loss = apply(_BCE_LOGITS, (logit, label, pos_weight))
    return _weighted("binary_cross_entropy_with_logits", loss, weight, reduction)


@public("paddle.nn.functional")
def sigmoid_focal_loss(
    logit: Tensor,
    label: Tensor,
    normalizer: Tensor | None = None,
    alpha: float = 0.25,
    gamma: float = 2.0,
    reduction: str = "sum",
    name: str | None = None,
) -> Tensor:
    """Binary cross entropy times ``alpha_t * (1 - p_t)**gamma``, over ``normalizer`` (Lin et al., 2017)."""
    loss = apply(_FOCAL, (logit, label), (float(alpha), float(gamma)))
    return reduce_loss("sigmoid_focal_loss", loss if normalizer is None else F.div(loss, normalizer), reduction)


@public("paddle.nn.functional")
def log_loss(input: Tensor, label: Tensor, epsilon: float = 0.0001, name: str | None = None) -> Tensor:
    """``-label*log(input + epsilon) - (1-label)*log(1 - input + epsilon)`` of each element."""
    return apply(_LOG_LOSS, (input, label), (float(epsilon),))


@public("paddle.nn.functional")
def dice_loss(input: Tensor, label: Tensor, epsilon: float = 0.00001, name: str | None = None) -> Tensor:
    """One less twice the overlap of input and one-hot label over the sum of both, mean over samples.

    Args:
        input: probabilities ``[N, *, C]``.
        label: classes ``[N, *, 1]``.
    """
    hot = F.one_hot(F.squeeze(label, axes=(label.ndim - 1,)), dtype=input.dtype, num_classes=input.shape[-1])
    axes = tuple(range(1, input.ndim))
    overlap = F.sum(F.mul(input, hot), axes=axes)
    total = F.add(F.sum(input, axes=axes), F.sum(hot, axes=axes))
    return reduce_loss("dice_loss", F.sub(1.0, F.div(F.mul(overlap, 2.0), F.add(total, epsilon))), "mean")


@public("paddle.nn.functional")
def npair_loss(anchor: Tensor, positive: Tensor, labels: Tensor, l2_reg: float = 0.002) -> Tensor:
    """Cross entropy of the similarities of anchors and positives ``[N, M]`` with equal labels, plus an L2 term."""
    column = F.reshape(labels, shape=(labels.shape[0], 1))
    same = F.cast(F.eq(column, F.permute(column, perm=(1, 0))), dtype=anchor.dtype)
    soft = F.div(same, F.sum(same, axes=(1,), keepdim=True))
    squares = F.add(F.sum(F.mul(anchor, anchor), axes=(1,)), F.sum(F.mul(positive, positive), axes=(1,)))
    l2 = F.mul(F.mean(squares, axes=(0,)), 0.25 * l2_reg)
    similarity = F.matmul(anchor, positive, transpose_y=True)
    loss = F.unsqueeze(F.softmax_cross_entropy(similarity, soft, axis=1, soft_label=True), axes=(1,))
    return F.add(l2, F.mean(F.sum(F.mul(soft, loss), axes=(0,)), axes=(0,)))
