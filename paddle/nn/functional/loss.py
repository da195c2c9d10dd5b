"""Losses as functions. ``reduction``: ``"mean"``, ``"sum"`` or ``"none"``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from paddle.nn._ops import Records, check_reduction, reduce_loss, sum_all
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.dispatch import apply, apply2
from umiak.core.tensor import Tensor

_BCE = F.BceLoss()
_BCE_LOGITS = F.BceWithLogits()
_CROSS_ENTROPY = Records(F.SoftmaxCrossEntropy)
_GAUSSIAN = Records(F.GaussianNll)
_HINGE = F.HingeEmbedding()
_KL = Records(F.KlDiv)
_L1 = F.L1()
_LABEL_WEIGHTS = Records(F.LabelWeights)
_LOG_LOSS = F.LogLoss()
_MSE = F.Mse()
_NLL = Records(F.NllLoss)
_POISSON = Records(F.PoissonNll)
_RANKING = F.MarginRanking()
_FOCAL = F.SigmoidFocal()
_SMOOTH_L1 = Records(F.SmoothL1)
_SOFT_MARGIN = F.SoftMargin()


# --- classification ------------------------------------------------------------------------------------------------


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
        a number, or with ``reduction="none"`` the loss of each row (size 1 along ``axis`` where label has that dim).

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
    check_reduction("cross_entropy", reduction)
    axis = axis + input.ndim if axis < 0 else axis
    if soft_label or label_smoothing > 0.0:
        return _soft_cross_entropy(
            input, label, weight, ignore_index, reduction, soft_label, axis, use_softmax, label_smoothing
        )
    rows = _classes(input, label, axis)
    if use_softmax:
        loss = apply(_CROSS_ENTROPY[axis, False], (input, rows), (ignore_index,))
    else:
        loss = apply(_NLL[axis], (F.log(input), rows, None), (ignore_index,))
    if weight is None and reduction != "mean":
        counts: Any = None
    else:
        counts = apply(_LABEL_WEIGHTS[input.dtype], (rows, weight), (ignore_index,))
    if weight is not None:
        loss = F.mul(loss, counts)
    if reduction == "none":
        return F.unsqueeze(loss, axes=(axis,)) if label.ndim == input.ndim else loss
    return sum_all(loss) if reduction == "sum" else _over_counts(loss, counts)


def _classes(input: Tensor, label: Tensor, axis: int) -> Tensor:
    """Labels as integers without the class dim."""
    if label.ndim == input.ndim and input.ndim and label.shape[axis] == 1:
        label = F.squeeze(label, axes=(axis,))
    return label if label.dtype.is_integer else F.cast(label, dtype=dt.int64)


def _over_counts(loss: Tensor, counts: Tensor) -> Tensor:
    """The sum of a loss over what its rows weigh; 0 where nothing counts."""
    total = sum_all(counts)
    return F.div(sum_all(loss), F.where(F.eq(total, 0), 1, total))


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
        counts = F.where(ignored, 0.0, F.full(1.0, dtype=input.dtype, shape=()) if counts is None else counts)
    if reduction == "mean" and counts is not None:
        return _over_counts(loss, counts)
    return reduce_loss("cross_entropy", loss, reduction)


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
        raise ValueError(f"[nll_loss] requires input of rank 2 or more, got {input.ndim}")
    loss = apply(_NLL[1], (input, label, weight), (ignore_index,))
    if reduction != "mean":
        return reduce_loss("nll_loss", loss, reduction)
    return _over_counts(loss, apply(_LABEL_WEIGHTS[input.dtype], (label, weight), (ignore_index,)))


def _weighted(who: str, loss: Tensor, weight: Tensor | None, reduction: str) -> Tensor:
    return reduce_loss(who, loss if weight is None else F.mul(loss, weight), reduction)


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


def log_loss(input: Tensor, label: Tensor, epsilon: float = 0.0001, name: str | None = None) -> Tensor:
    """``-label*log(input + epsilon) - (1-label)*log(1 - input + epsilon)`` of each element."""
    return apply(_LOG_LOSS, (input, label), (float(epsilon),))


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


# --- regression ----------------------------------------------------------------------------------------------------


def mse_loss(input: Tensor, label: Tensor, reduction: str = "mean", name: str | None = None) -> Tensor:
    """``(input - label)²``.

    Example:
        >>> import paddle
        >>> float(paddle.nn.functional.mse_loss(paddle.to_tensor([1.0]), paddle.to_tensor([3.0])))
        4.0
    """
    return reduce_loss("mse_loss", apply2(_MSE, input, label), reduction)


def square_error_cost(input: Tensor, label: Tensor) -> Tensor:
    """``(input - label)²`` of each element."""
    return apply2(_MSE, input, label)


def l1_loss(input: Tensor, label: Tensor, reduction: str = "mean", name: str | None = None) -> Tensor:
    """``|input - label|``."""
    return reduce_loss("l1_loss", apply2(_L1, input, label), reduction)


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
        raise ValueError(f"[poisson_nll_loss] requires epsilon > 0, got {epsilon}")
    loss = apply(_POISSON[bool(log_input), bool(full)], (input, label), (float(epsilon),))
    return reduce_loss("poisson_nll_loss", loss, reduction)


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
            raise ValueError(f"[gaussian_nll_loss] requires variance of shape {input.shape}, got {variance.shape}")
    loss = apply(_GAUSSIAN[(bool(full),)], (input, label, variance), (float(epsilon),))
    return reduce_loss("gaussian_nll_loss", loss, reduction)


# --- margins -------------------------------------------------------------------------------------------------------


def margin_ranking_loss(
    input: Tensor,
    other: Tensor,
    label: Tensor,
    margin: float = 0.0,
    reduction: str = "mean",
    name: str | None = None,
) -> Tensor:
    """``max(0, margin - label*(input - other))``: input should be the larger where label is 1, the smaller where -1."""
    return reduce_loss("margin_ranking_loss", apply(_RANKING, (input, other, label), (float(margin),)), reduction)


def hinge_embedding_loss(
    input: Tensor, label: Tensor, margin: float = 1.0, reduction: str = "mean", name: str | None = None
) -> Tensor:
    """``input`` where label is 1, ``max(0, margin - input)`` where it is -1."""
    label = label if label.dtype is input.dtype else F.cast(label, dtype=input.dtype)
    return reduce_loss("hinge_embedding_loss", apply(_HINGE, (input, label), (float(margin),)), reduction)


def soft_margin_loss(input: Tensor, label: Tensor, reduction: str = "mean", name: str | None = None) -> Tensor:
    """``log(1 + exp(-label*input))``, label being -1 or 1."""
    label = label if label.dtype is input.dtype else F.cast(label, dtype=input.dtype)
    return reduce_loss("soft_margin_loss", apply2(_SOFT_MARGIN, input, label), reduction)


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    label: Tensor,
    margin: float = 0,
    reduction: str = "mean",
    name: str | None = None,
) -> Tensor:
    """``max(0, margin - label*(input - other))``: input should be the larger where label is 1, the smaller at -1."""
    if input1.ndim > 2 or input1.shape != input2.shape:
        raise ValueError(
            f"[cosine_embedding_loss] requires two inputs of one shape, got {input1.shape}, {input2.shape}"
        )
    axes, eps = (input1.ndim - 1,), 1e-8
    dot = F.sum(F.mul(input1, input2), axes=axes)
    squares = (F.add(F.sum(F.mul(v, v), axes=axes), eps) for v in (input1, input2))
    cos = F.div(dot, F.sqrt(F.mul(*squares)))
    loss = F.where(F.eq(label, 1), F.sub(1.0, cos), F.maximum(F.sub(cos, float(margin)), 0.0))
    return reduce_loss("cosine_embedding_loss", loss, reduction)


def multi_label_soft_margin_loss(
    input: Tensor, label: Tensor, weight: Tensor | None = None, reduction: str = "mean", name: str | None = None
) -> Tensor:
    """The mean over classes of ``log(1 + exp(-(2*label - 1) * input))``, for labels 0 or 1."""
    label = label if label.dtype is input.dtype else F.cast(label, dtype=input.dtype)
    loss = apply(_BCE_LOGITS, (input, label, None))
    loss = F.mean(loss if weight is None else F.mul(loss, weight), axes=(input.ndim - 1,))
    return reduce_loss("multi_label_soft_margin_loss", loss, reduction)


def multi_margin_loss(
    input: Tensor,
    label: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    reduction: str = "mean",
    name: str | None = None,
) -> Tensor:
    """The mean over other classes of ``max(0, margin - input[label] + input[j]) ** p``, for ``[N, C]``."""
    own = F.take_along(input, F.unsqueeze(label, axes=(1,)), axis=1)
    gap = F.maximum(F.sub(float(margin), F.sub(own, input)), 0.0)
    if weight is not None:
        gap = F.mul(gap, F.unsqueeze(F.take(weight, label, axis=0), axes=(1,)))
    gap = gap if p == 1 else F.pow(gap, float(p))
    other = F.ne(F.iota(0, 1, dtype=label.dtype, size=input.shape[1]), F.unsqueeze(label, axes=(1,)))
    return reduce_loss("multi_margin_loss", F.mean(F.where(other, gap, 0.0), axes=(1,)), reduction)


def _distance(x: Tensor, y: Tensor, p: float, epsilon: float) -> Tensor:
    return F.pairwise_distance(x, y, ord={1.0: "1", 2.0: "2"}.get(float(p), "p"), p=float(p), eps=float(epsilon))


def _triplet(
    who: str, near: Tensor, far: Tensor, between: Callable[[], Tensor] | None, margin: float, reduction: str
) -> Tensor:
    if between is not None:
        far = F.minimum(far, between())
    return reduce_loss(who, F.maximum(F.add(F.sub(near, far), float(margin)), 0.0), reduction)


def triplet_margin_loss(
    input: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    epsilon: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
    name: str | None = None,
) -> Tensor:
    """``max(0, |input - positive| - |input - negative| + margin)`` in the ``p``-norm.

    With ``swap``, the distance of positive and negative counts where it is smaller than that of input and negative.
    """
    if margin <= 0:
        raise ValueError(f"[triplet_margin_loss] requires margin > 0, got {margin}")
    near, far = _distance(input, positive, p, epsilon), _distance(input, negative, p, epsilon)
    between = (lambda: _distance(positive, negative, p, epsilon)) if swap else None
    return _triplet("triplet_margin_loss", near, far, between, margin, reduction)


def triplet_margin_with_distance_loss(
    input: Tensor,
    positive: Tensor,
    negative: Tensor,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
    name: str | None = None,
) -> Tensor:
    """:func:`triplet_margin_loss` with a distance of the caller's, by default the Euclidean one."""
    if margin <= 0:
        raise ValueError(f"[triplet_margin_with_distance_loss] requires margin > 0, got {margin}")
    d = distance_function or (lambda a, b: _distance(a, b, 2.0, 0.0))
    between = (lambda: d(positive, negative)) if swap else None
    return _triplet(
        "triplet_margin_with_distance_loss", d(input, positive), d(input, negative), between, margin, reduction
    )


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
