"""Losses of classes and probabilities. ``reduction``: ``"mean"``, ``"sum"`` or ``"none"``."""

from __future__ import annotations

import math
from typing import Any

from paddle._public import need_tensor, public
from paddle.nn._ops import (
    check_class_weights,
    check_label_shape,
    check_reduction,
    mean_all,
    of_one_dtype,
    reduce_loss,
    sum_all,
)
from paddle.tensor._args import InternedOps, create_on, fraction, real_number
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.eager import apply, apply2
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.ir.sym import to_float
from umiak.util.errors import ShapeError, op_error

_BCE = F.BceLoss()
_BCE_LOGITS = F.BceWithLogits()
_CROSS_ENTROPY = InternedOps(F.SoftmaxCrossEntropy)
_LABEL_WEIGHTS = InternedOps(F.LabelWeights)
_LABELLED_MEAN = F.LabelledMean()
_SMOOTHED = InternedOps(F.SmoothedCrossEntropy)
_LOG_LOSS = F.LogLoss()
_NLL = InternedOps(F.NllLoss)
_FOCAL = F.SigmoidFocal()


@public("paddle.nn.functional", aliases={"target": "label"}, usual=False)
def cross_entropy(
    input: Tensor,
    label: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    soft_label: bool = False,
    axis: int = -1,
    use_softmax: bool = True,
    label_smoothing: float = 0.0,
    name: str | None = None,
) -> Tensor:
    """Cross entropy of a softmax: ``-log(softmax(input))`` at each row's class.

    Args:
        input: floating tensor of scores, classes along ``axis``; probabilities with ``use_softmax=False``.
        label: classes from 0 on, as a tensor of integers of input's shape without ``axis`` or with size 1 there (other
            dtypes are cast to int64); with ``soft_label`` probabilities of input's shape and dtype.
        weight: tensor ``[classes]`` of input's dtype; each row counts as much as its class weighs, also in the mean. A
            soft or smoothed label weighs what its classes weigh together. None for ones.
        ignore_index: rows with this label have a loss of 0. They do not count in the mean, unless it is negative and
            there are no weights. Soft labels do not read it.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.
        soft_label: whether labels are probabilities.
        axis: the axis of the classes; negative counts from the end.
        use_softmax: False takes input for probabilities already.
        label_smoothing: this part of each label, from 0 to 1, is spread evenly over all classes.

    Returns:
        Tensor of input's dtype without dims, or for ``"none"`` of input's shape without ``axis``: with size 1 there
        where label has that dim, or is smoothed. The mean is 0 where all rows are ignored, NaN where there are none.

    Raises:
        TypeError: input is not floating, or soft labels are of another dtype.
        IndexError: input has no such axis, or a label is beyond the classes.
        ValueError: shapes that do not fit, an unknown reduction, or ``label_smoothing`` outside 0 to 1.

    Example:
        >>> import paddle
        >>> logits = paddle.to_tensor([[0.0, 0.0], [0.0, 0.0]])
        >>> round(float(paddle.nn.functional.cross_entropy(logits, paddle.to_tensor([0, 1]))), 4)
        0.6931
    """
    if reduction != "mean":
        check_reduction("cross_entropy", reduction)
    if type(label_smoothing) is not float or not 0.0 <= label_smoothing <= 1.0:
        label_smoothing = fraction(label_smoothing, "cross_entropy", "label_smoothing")
    if axis < 0:
        try:
            axis += input.ndim
        except AttributeError:
            need_tensor(input, "cross_entropy", "input")
            raise
    if weight is not None and 0 <= axis < input.ndim:  # of another axis the op says it
        check_class_weights("cross_entropy", weight, input.shape[axis])
        if weight.dtype is not input.dtype:
            input, weight = of_one_dtype(input, weight)
    if soft_label or (label_smoothing > 0.0 and not use_softmax):
        return _soft_cross_entropy(
            input, label, weight, ignore_index, reduction, soft_label, axis, use_softmax, label_smoothing
        )
    rows = label if label.ndim != input.ndim and label.dtype.is_integer else _classes(input, label, axis)
    if label_smoothing > 0.0:
        loss = apply(_SMOOTHED[axis], (input, rows), (ignore_index, to_float(label_smoothing)))
        if weight is not None:
            # A smoothed label weighs what its classes weigh together.
            even = F.mul(F.mean(weight, axes=(0,)), to_float(label_smoothing))
            weight = F.add(F.mul(weight, 1.0 - label_smoothing), even)
    elif use_softmax:
        loss = apply(_CROSS_ENTROPY[axis, False], (input, rows), (ignore_index,))
    else:
        loss = apply(_NLL[axis], (F.log(input), rows, None), (ignore_index,))
    if weight is not None:
        counts = apply(_LABEL_WEIGHTS[loss.dtype], (rows, weight), (ignore_index,))
        loss = F.mul(loss, counts)
    if reduction == "none":
        column = label.ndim == input.ndim or label_smoothing > 0.0
        return F.unsqueeze(loss, axes=(axis,)) if column else loss
    if reduction == "sum":
        return sum_all(loss)
    if weight is not None:
        return _mean_of_rows(loss, counts)
    # A negative label that is ignored has a loss of 0, but its row counts.
    return mean_all(loss) if ignore_index < 0 else _mean_of_labelled(loss, rows, ignore_index)


def _classes(input: Tensor, label: Tensor, axis: int) -> Tensor:
    """Labels as integers without the class dim."""
    if label.ndim == input.ndim and input.ndim:
        if not dim.eq(label.shape[axis], 1):
            required = f"labels of the shape without axis {axis}, or with size 1 there"
            raise op_error(ValueError, "cross_entropy", required, tuple(label.shape))
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
        label = F.add(F.mul(label, 1.0 - smoothing), smoothing / max(classes, 1))
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
        counts = create_on(input.place, F.full, 1.0, input.dtype, ()) if counts is None else counts
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
    """Cross entropy of each row, and with ``return_softmax`` the softmax as well.

    Args:
        logits: floating tensor of scores, classes along ``axis``.
        label: classes, as a tensor of integers of the logits' shape with size 1 along ``axis`` or without it; with
            ``soft_label`` probabilities of the logits' shape and dtype.
        soft_label: whether labels are probabilities.
        ignore_index: rows with this label have a loss of 0. Soft labels do not read it.
        numeric_stable_mode: accepted; the softmax never overflows.
        return_softmax: return the softmax of the logits too.
        axis: the axis of the classes; negative counts from the end.

    Returns:
        Tensor of the logits' shape with size 1 along ``axis``, and of their dtype; with ``return_softmax`` a tuple of
        it and the softmax, which has the logits' shape.

    Raises:
        TypeError: the logits are not floating, or soft labels are of another dtype.
        IndexError: the logits have no such axis, or a label is beyond the classes.
        ValueError: shapes that do not fit.

    Example:
        >>> import paddle
        >>> logits, label = paddle.zeros([2, 4]), paddle.to_tensor([[0], [3]])
        >>> loss, p = paddle.nn.functional.softmax_with_cross_entropy(logits, label, return_softmax=True)
        >>> loss.shape, p[0].tolist()
        (paddle.Size([2, 1]), [0.25, 0.25, 0.25, 0.25])
    """
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
    """Negative log-likelihood: ``-input`` at each row's class.

    Args:
        input: floating tensor of log-probabilities ``[N, C]`` or ``[N, C, *]``.
        label: classes from 0 on, as a tensor of integers ``[N]`` or ``[N, *]``.
        weight: tensor ``[C]`` of input's dtype; each row counts as much as its class weighs, also in the mean. None
            for ones.
        ignore_index: rows with this label have a loss of 0 and do not count in the mean.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Returns:
        Tensor without dims, or of label's shape for ``"none"``, of input's dtype. The mean over no rows is 0.

    Raises:
        TypeError: input is not floating, weight is of another dtype, or label is not of integers.
        IndexError: a label is beyond the classes.
        ValueError: input has fewer than two dims, shapes that do not fit, or an unknown reduction.

    Example:
        >>> import paddle
        >>> log_p = paddle.to_tensor([[-1.0, -2.0], [-3.0, -4.0]])
        >>> float(paddle.nn.functional.nll_loss(log_p, paddle.to_tensor([0, 1])))
        2.5
    """
    check_reduction("nll_loss", reduction)
    if need_tensor(input, "nll_loss", "input").ndim < 2:
        raise op_error(ValueError, "nll_loss", "input of rank 2 or more", input.ndim)
    loss = apply(_NLL[1], (input, label, weight), (ignore_index,))
    if reduction != "mean":
        return reduce_loss("nll_loss", loss, reduction)
    if weight is None:
        return apply(_LABELLED_MEAN, (loss, label), (ignore_index,))
    return _over_counts(loss, apply(_LABEL_WEIGHTS[loss.dtype], (label, weight), (ignore_index,)))


def _weighted(op_name: str, loss: Tensor, weight: Tensor | None, reduction: str) -> Tensor:
    return reduce_loss(op_name, loss if weight is None else F.mul(loss, weight), reduction)


@public("paddle.nn.functional")
def binary_cross_entropy(
    input: Tensor, label: Tensor, weight: Tensor | None = None, reduction: str = "mean", name: str | None = None
) -> Tensor:
    """Binary cross entropy: ``-label*log(input) - (1-label)*log(1-input)``; logarithms are kept above -100.

    Args:
        input: floating tensor of probabilities from 0 to 1.
        label: tensor of input's shape and dtype, from 0 to 1.
        weight: tensor of input's dtype that multiplies the loss, with which it broadcasts. None for ones.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Returns:
        Tensor without dims, or of input's shape for ``"none"``, of input's dtype.

    Raises:
        TypeError: the operands are not floating, or of different dtypes.
        ValueError: an element of input is NaN or outside 0 to 1, shapes that do not fit, or an unknown reduction.

    Example:
        >>> import paddle
        >>> p, label = paddle.to_tensor([0.5, 0.5]), paddle.to_tensor([0.0, 1.0])
        >>> round(float(paddle.nn.functional.binary_cross_entropy(p, label)), 4)
        0.6931
    """
    check_label_shape("binary_cross_entropy", input, label)
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
    """Binary cross entropy of ``sigmoid(logit)``, computed without forming it.

    Args:
        logit: floating tensor of any shape.
        label: tensor of logit's shape and dtype, from 0 to 1.
        weight: tensor of logit's dtype that multiplies the loss, with which it broadcasts. None for ones.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.
        pos_weight: tensor of logit's dtype that multiplies the part ``-label*log(sigmoid(logit))``; it broadcasts with
            logit. None for ones.

    Returns:
        Tensor without dims, or of logit's shape for ``"none"``, of logit's dtype.

    Raises:
        TypeError: the operands are not floating, or of different dtypes.
        ValueError: shapes that do not fit, or an unknown reduction.

    Example:
        >>> import paddle
        >>> logit, label = paddle.zeros([2]), paddle.to_tensor([0.0, 1.0])
        >>> round(float(paddle.nn.functional.binary_cross_entropy_with_logits(logit, label)), 4)
        0.6931
    """
    check_label_shape("binary_cross_entropy_with_logits", logit, label)
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
    """Focal loss: binary cross entropy of ``sigmoid(logit)``, times ``alpha_t * (1 - p_t)**gamma``.

    ``p_t`` is ``sigmoid(logit)`` for a label of 1 and one less it for 0; ``alpha_t`` is ``alpha`` or ``1 - alpha``.

    Args:
        logit: floating tensor of any shape.
        label: tensor of logit's shape and dtype, 0 or 1.
        normalizer: tensor of logit's dtype that divides the loss, such as the number of positive labels ``[1]``; None
            for 1.
        alpha: the weight of positive labels, from 0 to 1.
        gamma: the larger, the less labels count that are well predicted; 0 leaves the cross entropy.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Returns:
        Tensor without dims, or of logit's shape for ``"none"``, of logit's dtype.

    Raises:
        TypeError: the operands are not floating, or of different dtypes.
        ValueError: shapes that do not fit, or an unknown reduction.

    References:
        Lin et al., Focal Loss for Dense Object Detection (2017).

    Example:
        >>> import paddle
        >>> logit, label = paddle.zeros([2]), paddle.to_tensor([0.0, 1.0])
        >>> loss = paddle.nn.functional.sigmoid_focal_loss(logit, label, reduction="none")
        >>> [round(v, 4) for v in loss.tolist()]  # log(2) * 0.75 / 4, log(2) * 0.25 / 4
        [0.13, 0.0433]
    """
    check_label_shape("sigmoid_focal_loss", logit, label)
    loss = apply(_FOCAL, (logit, label), (to_float(alpha), to_float(gamma)))
    return reduce_loss("sigmoid_focal_loss", loss if normalizer is None else F.div(loss, normalizer), reduction)


@public("paddle.nn.functional")
def log_loss(input: Tensor, label: Tensor, epsilon: float = 0.0001, name: str | None = None) -> Tensor:
    """Binary cross entropy of each element: ``-label*log(input + epsilon) - (1-label)*log(1 - input + epsilon)``.

    Args:
        input: floating tensor of probabilities from 0 to 1.
        label: tensor of input's shape and dtype, from 0 to 1.
        epsilon: added to both probabilities, so that their logarithms are finite.

    Returns:
        Tensor of input's shape and dtype.

    Raises:
        TypeError: the operands are not floating, or of different dtypes.
        ValueError: label is of another shape.

    Example:
        >>> import paddle
        >>> loss = paddle.nn.functional.log_loss(paddle.to_tensor([[0.5], [1.0]]), paddle.to_tensor([[1.0], [1.0]]))
        >>> [round(v, 3) for v in loss.flatten().tolist()]
        [0.693, -0.0]
    """
    check_label_shape("log_loss", input, label)
    return apply(_LOG_LOSS, (input, label), (to_float(epsilon),))


@public("paddle.nn.functional")
def dice_loss(input: Tensor, label: Tensor, epsilon: float = 0.00001, name: str | None = None) -> Tensor:
    """Dice loss: one less twice the overlap of input and one-hot label over the sum of both, mean over samples.

    Args:
        input: floating tensor of probabilities ``[N, *, C]``.
        label: classes ``[N, *, 1]`` from 0 on, as a tensor of integers.
        epsilon: added to the sum that is divided by.

    Returns:
        Tensor without dims, of input's dtype.

    Raises:
        TypeError: input is not floating, or label is not of integers.
        IndexError: a label is beyond the classes, or negative.
        ValueError: shapes that do not fit.

    Example:
        >>> import paddle
        >>> p, label = paddle.to_tensor([[1.0, 0.0], [1.0, 0.0]]), paddle.to_tensor([[0], [1]])
        >>> round(float(paddle.nn.functional.dice_loss(p, label)), 4)
        0.5
    """
    need_tensor(input, "dice_loss", "input")
    need_tensor(label, "dice_loss", "label")
    if input.ndim < 2 or list(label.shape) != [*input.shape[:-1], 1]:
        shapes = f"{list(input.shape)} and {list(label.shape)}"
        raise op_error(ShapeError, "dice_loss", "input [N, *, C] and label [N, *, 1]", shapes)
    axes = tuple(range(1, input.ndim))
    # The sum of a one-hot label is the number of its rows.
    overlap = F.sum(F.take_along(input, label, axis=input.ndim - 1, from_end=False), axes=axes)
    total = F.add(F.sum(input, axes=axes), math.prod(label.shape[1:]))
    total = F.add(total, real_number(epsilon, "dice_loss", "epsilon"))
    return reduce_loss("dice_loss", F.sub(1.0, F.div(F.mul(overlap, 2.0), total)), "mean")


@public("paddle.nn.functional")
def npair_loss(anchor: Tensor, positive: Tensor, labels: Tensor, l2_reg: float = 0.002) -> Tensor:
    """N-pair loss: cross entropy of the similarities of anchors and positives with equal labels, plus an L2 term.

    Args:
        anchor: floating tensor ``[N, M]``.
        positive: tensor ``[N, M]`` of anchor's dtype; row i belongs to anchor i.
        labels: tensor ``[N]`` or ``[N, 1]`` of any dtype; rows with equal labels belong together.
        l2_reg: a quarter of it multiplies the mean of the squared lengths of anchors and positives.

    Returns:
        Tensor without dims, of anchor's dtype.

    Raises:
        TypeError: anchor and positive are not floating, or of different dtypes.
        IndexError: anchor or positive have no second dim.
        ValueError: shapes that do not fit.

    References:
        Sohn, Improved Deep Metric Learning with Multi-class N-pair Loss Objective (2016).

    Example:
        >>> import paddle
        >>> x = paddle.zeros([2, 3])
        >>> round(float(paddle.nn.functional.npair_loss(x, x, paddle.to_tensor([0, 1]))), 4)
        0.6931
    """
    for x, arg_name in ((anchor, "anchor"), (positive, "positive"), (labels, "labels")):
        need_tensor(x, "npair_loss", arg_name)
    column = F.reshape(labels, shape=(labels.shape[0], 1))
    same = F.cast(F.eq(column, F.permute(column, perm=(1, 0))), dtype=anchor.dtype)
    soft = F.div(same, F.sum(same, axes=(1,), keepdim=True))
    squares = F.add(F.sum(F.mul(anchor, anchor), axes=(1,)), F.sum(F.mul(positive, positive), axes=(1,)))
    l2 = F.mul(F.mean(squares, axes=(0,)), 0.25 * real_number(l2_reg, "npair_loss", "l2_reg"))
    similarity = F.matmul(anchor, positive, transpose_y=True)
    loss = F.unsqueeze(F.softmax_cross_entropy(similarity, soft, axis=1, soft_label=True), axes=(1,))
    return F.add(l2, F.mean(F.sum(F.mul(soft, loss), axes=(0,)), axes=(0,)))
