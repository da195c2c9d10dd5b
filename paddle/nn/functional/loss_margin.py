"""Losses that ask for a margin. ``reduction``: ``"mean"``, ``"sum"`` or ``"none"``."""

from __future__ import annotations

from collections.abc import Callable

from paddle._public import public
from paddle.nn._ops import reduce_loss
from paddle.tensor._args import made_on
from umiak import ops as F
from umiak.core.eager import apply, apply2
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

_BCE_LOGITS = F.BceWithLogits()
_MULTI_LABEL = F.MultiLabelMargin()
_HINGE = F.HingeEmbedding()
_RANKING = F.MarginRanking()
_SOFT_MARGIN = F.SoftMargin()


@public("paddle.nn.functional")
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


@public("paddle.nn.functional")
def hinge_embedding_loss(
    input: Tensor, label: Tensor, margin: float = 1.0, reduction: str = "mean", name: str | None = None
) -> Tensor:
    """``input`` where label is 1, ``max(0, margin - input)`` where it is -1."""
    label = label if label.dtype is input.dtype else F.cast(label, dtype=input.dtype)
    return reduce_loss("hinge_embedding_loss", apply(_HINGE, (input, label), (float(margin),)), reduction)


@public("paddle.nn.functional")
def soft_margin_loss(input: Tensor, label: Tensor, reduction: str = "mean", name: str | None = None) -> Tensor:
    """``log(1 + exp(-label*input))``, label being -1 or 1."""
    label = label if label.dtype is input.dtype else F.cast(label, dtype=input.dtype)
    return reduce_loss("soft_margin_loss", apply2(_SOFT_MARGIN, input, label), reduction)


@public("paddle.nn.functional")
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    label: Tensor,
    margin: float = 0,
    reduction: str = "mean",
    name: str | None = None,
) -> Tensor:
    """Loss of the cosine of rows: ``1 - cos`` where label is 1, ``max(0, cos - margin)`` where it is -1."""
    if input1.ndim > 2 or input1.shape != input2.shape:
        raise op_error(
            ValueError, "cosine_embedding_loss", "two inputs of one shape", f"{input1.shape}, {input2.shape}"
        )
    axes, eps = (input1.ndim - 1,), 1e-8
    dot = F.sum(F.mul(input1, input2), axes=axes)
    squares = (F.add(F.sum(F.mul(v, v), axes=axes), eps) for v in (input1, input2))
    cos = F.div(dot, F.sqrt(F.mul(*squares)))
    loss = F.where(F.eq(label, 1), F.sub(1.0, cos), F.maximum(F.sub(cos, float(margin)), 0.0))
    return reduce_loss("cosine_embedding_loss", loss, reduction)


@public("paddle.nn.functional")
def multi_label_soft_margin_loss(
    input: Tensor, label: Tensor, weight: Tensor | None = None, reduction: str = "mean", name: str | None = None
) -> Tensor:
    """The mean over classes of ``log(1 + exp(-(2*label - 1) * input))``, for labels 0 or 1."""
    label = label if label.dtype is input.dtype else F.cast(label, dtype=input.dtype)
    loss = apply(_BCE_LOGITS, (input, label, None))
    loss = F.mean(loss if weight is None else F.mul(loss, weight), axes=(input.ndim - 1,))
    return reduce_loss("multi_label_soft_margin_loss", loss, reduction)


@public("paddle.nn.functional")
def multi_label_margin_loss(input: Tensor, label: Tensor, reduction: str = "mean", name: str | None = None) -> Tensor:
    """The sum of ``max(0, 1 - (input[y] - input[i]))`` over a row's classes y and all others i, over the number of
    classes, for ``[N, C]``. A row of ``label`` ends at its first negative number.
    """
    return reduce_loss("multi_label_margin_loss", apply2(_MULTI_LABEL, input, label), reduction)


@public("paddle.nn.functional")
def multi_margin_loss(
    input: Tensor,
    label: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    reduction: str = "mean",
    name: str | None = None,
) -> Tensor:
    """The sum over other classes of ``max(0, margin - input[label] + input[j]) ** p``, over the number of classes, for
    ``[N, C]``; times the weight of each row's class.
    """
    own = F.take_along(input, F.unsqueeze(label, axes=(1,)), axis=1)
    gap = F.maximum(F.sub(float(margin), F.sub(own, input)), 0.0)
    gap = gap if p == 1 else F.pow(gap, float(p))
    if weight is not None:
        gap = F.mul(gap, F.unsqueeze(F.take(weight, label, axis=0), axes=(1,)))
    classes = made_on(label.place, F.iota, 0, 1, label.dtype, input.shape[1])
    other = F.ne(classes, F.unsqueeze(label, axes=(1,)))
    return reduce_loss("multi_margin_loss", F.mean(F.where(other, gap, 0.0), axes=(1,)), reduction)


def _distance(x: Tensor, y: Tensor, p: float, epsilon: float) -> Tensor:
    return F.pairwise_distance(x, y, ord={1.0: "1", 2.0: "2"}.get(float(p), "p"), p=float(p), eps=float(epsilon))


def _triplet(
    who: str, near: Tensor, far: Tensor, between: Callable[[], Tensor] | None, margin: float, reduction: str
) -> Tensor:
    if between is not None:
        far = F.minimum(far, between())
    return reduce_loss(who, F.maximum(F.add(F.sub(near, far), float(margin)), 0.0), reduction)


@public("paddle.nn.functional")
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
        raise op_error(ValueError, "triplet_margin_loss", "margin > 0", margin)
    near, far = _distance(input, positive, p, epsilon), _distance(input, negative, p, epsilon)
    between = (lambda: _distance(positive, negative, p, epsilon)) if swap else None
    return _triplet("triplet_margin_loss", near, far, between, margin, reduction)


@public("paddle.nn.functional")
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
        raise op_error(ValueError, "triplet_margin_with_distance_loss", "margin > 0", margin)
    d = distance_function or (lambda a, b: _distance(a, b, 2.0, 0.0))
    between = (lambda: d(positive, negative)) if swap else None
    return _triplet(
        "triplet_margin_with_distance_loss", d(input, positive), d(input, negative), between, margin, reduction
    )
