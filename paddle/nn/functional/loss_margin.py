"""Losses that ask for a margin. ``reduction``: ``"mean"``, ``"sum"`` or ``"none"``."""

from __future__ import annotations

from collections.abc import Callable

from paddle._public import need_tensor, public
from paddle.nn._ops import apply_promoted, check_class_weights, check_label_shape, of_one_dtype, reduce_loss
from paddle.tensor._args import create_on
from umiak import ops as F
from umiak.core.eager import apply, apply2
from umiak.core.tensor import Tensor
from umiak.ir.sym import to_float
from umiak.util.errors import OperandError, op_error

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
    """Ranking loss: ``max(0, margin - label*(input - other))``.

    Args:
        input: floating tensor of any shape.
        other: tensor of input's dtype.
        label: tensor of input's dtype: 1 where input should be the larger, -1 where other should; the three broadcast.
        margin: the difference that is asked for.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Returns:
        Tensor without dims, or of the broadcast shape for ``"none"``, of input's dtype.

    Raises:
        TypeError: the operands are not floating, or of different dtypes.
        ValueError: the shapes do not broadcast, or the reduction is unknown.

    Example:
        >>> import paddle
        >>> x, y, label = paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([2.0, 0.0]), paddle.to_tensor([1.0, 1.0])
        >>> paddle.nn.functional.margin_ranking_loss(x, y, label, reduction="none").tolist()
        [1.0, 0.0]
    """
    return reduce_loss(
        "margin_ranking_loss", apply_promoted(_RANKING, (input, other, label), (to_float(margin),)), reduction
    )


@public("paddle.nn.functional")
def hinge_embedding_loss(
    input: Tensor, label: Tensor, margin: float = 1.0, reduction: str = "mean", name: str | None = None
) -> Tensor:
    """Hinge loss of distances: ``input`` where label is 1, ``max(0, margin - input)`` where it is -1.

    Args:
        input: floating tensor of any shape, such as distances of pairs.
        label: tensor of any real dtype, 1 or -1; other numbers give 0. The two broadcast.
        margin: the distance that pairs of label -1 should have.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Returns:
        Tensor without dims, or of the broadcast shape for ``"none"``, of input's dtype.

    Raises:
        TypeError: input is not floating.
        ValueError: the shapes do not broadcast, or the reduction is unknown.

    Example:
        >>> import paddle
        >>> x, label = paddle.to_tensor([0.25, 0.25, 2.0]), paddle.to_tensor([1, -1, -1])
        >>> paddle.nn.functional.hinge_embedding_loss(x, label, reduction="none").tolist()
        [0.25, 0.75, 0.0]
    """
    need_tensor(input, "hinge_embedding_loss", "input")
    need_tensor(label, "hinge_embedding_loss", "label")
    label = label if label.dtype is input.dtype else F.cast(label, dtype=input.dtype)
    return reduce_loss("hinge_embedding_loss", apply(_HINGE, (input, label), (to_float(margin),)), reduction)


@public("paddle.nn.functional")
def soft_margin_loss(input: Tensor, label: Tensor, reduction: str = "mean", name: str | None = None) -> Tensor:
    """Logistic loss: ``log(1 + exp(-label*input))``.

    Args:
        input: floating tensor of any shape.
        label: tensor of input's shape and any real dtype, 1 or -1.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Returns:
        Tensor without dims, or of input's shape for ``"none"``, of input's dtype.

    Raises:
        TypeError: input is not floating.
        ValueError: shapes that do not fit, or an unknown reduction.

    Example:
        >>> import paddle
        >>> loss = paddle.nn.functional.soft_margin_loss(paddle.zeros([2]), paddle.to_tensor([1, -1]))
        >>> round(float(loss), 4)
        0.6931
    """
    need_tensor(input, "soft_margin_loss", "input")
    need_tensor(label, "soft_margin_loss", "label")
    check_label_shape("soft_margin_loss", input, label)
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
    """Loss of the cosine of rows: ``1 - cos`` where label is 1, ``max(0, cos - margin)`` elsewhere.

    Args:
        input1: floating tensor ``[N, M]`` or ``[M]``.
        input2: tensor of input1's shape and dtype.
        label: tensor ``[N]``, or without dims for ``[M]``, of any real dtype: 1 for rows that should be similar, -1 for
            others.
        margin: cosines up to it cost nothing where rows should differ.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Returns:
        Tensor without dims, or ``[N]`` for ``"none"``, of input1's dtype.

    Raises:
        TypeError: the inputs are not floating, or of different dtypes.
        ValueError: shapes that do not fit, or an unknown reduction.

    Example:
        >>> import paddle
        >>> x, y = paddle.to_tensor([[1.0, 0.0], [1.0, 0.0]]), paddle.to_tensor([[0.0, 1.0], [2.0, 0.0]])
        >>> loss = paddle.nn.functional.cosine_embedding_loss(x, y, paddle.to_tensor([1, -1]), reduction="none")
        >>> [round(v, 4) for v in loss.tolist()]
        [1.0, 1.0]
    """
    need_tensor(input1, "cosine_embedding_loss", "input1")
    need_tensor(input2, "cosine_embedding_loss", "input2")
    if not 1 <= input1.ndim <= 2 or input1.shape != input2.shape:
        shapes = f"{list(input1.shape)} and {list(input2.shape)}"
        raise op_error(ValueError, "cosine_embedding_loss", "two inputs [N, M] or [M] of one shape", shapes)
    if not input1.dtype.is_floating:
        raise op_error(OperandError, "cosine_embedding_loss", "floating inputs", input1.dtype.name)
    if need_tensor(label, "cosine_embedding_loss", "label").dtype.is_bool:
        raise op_error(OperandError, "cosine_embedding_loss", "labels that are numbers", label.dtype.name)
    input1, input2 = of_one_dtype(input1, input2)
    axes, eps = (input1.ndim - 1,), 1e-8
    dot = F.sum(F.mul(input1, input2), axes=axes)
    squares = (F.add(F.sum(F.mul(v, v), axes=axes), eps) for v in (input1, input2))
    cos = F.div(dot, F.sqrt(F.mul(*squares)))
    loss = F.where(F.eq(label, 1), F.sub(1.0, cos), F.maximum(F.sub(cos, to_float(margin)), 0.0))
    return reduce_loss("cosine_embedding_loss", loss, reduction)


@public("paddle.nn.functional")
def multi_label_soft_margin_loss(
    input: Tensor, label: Tensor, weight: Tensor | None = None, reduction: str = "mean", name: str | None = None
) -> Tensor:
    """Binary cross entropy of each class, mean over classes: that of ``log(1 + exp(-(2*label - 1) * input))``.

    Args:
        input: floating tensor of scores ``[*, C]``.
        label: tensor of input's shape and any real dtype, 0 or 1 for each class.
        weight: tensor of input's dtype that multiplies the loss of each class, such as ``[C]``. None for ones.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Returns:
        Tensor without dims, or of input's shape without the last dim for ``"none"``, of input's dtype.

    Raises:
        TypeError: input is not floating, or weight is of another dtype.
        ValueError: shapes that do not broadcast, or an unknown reduction.

    Example:
        >>> import paddle
        >>> x, label = paddle.zeros([2, 3]), paddle.to_tensor([[1, 0, 1], [0, 0, 1]])
        >>> round(float(paddle.nn.functional.multi_label_soft_margin_loss(x, label)), 4)
        0.6931
    """
    need_tensor(input, "multi_label_soft_margin_loss", "input")
    need_tensor(label, "multi_label_soft_margin_loss", "label")
    check_label_shape("multi_label_soft_margin_loss", input, label)
    input, label = of_one_dtype(input, label)
    label = label if label.dtype is input.dtype else F.cast(label, dtype=input.dtype)
    loss = apply(_BCE_LOGITS, (input, label, None))
    loss = loss if weight is None else F.mul(loss, weight)
    loss = F.mean(loss, axes=(input.ndim - 1,)) if input.ndim else loss
    return reduce_loss("multi_label_soft_margin_loss", loss, reduction)


@public("paddle.nn.functional")
def multi_label_margin_loss(input: Tensor, label: Tensor, reduction: str = "mean", name: str | None = None) -> Tensor:
    """Margin loss of several classes: the sum of ``max(0, 1 - (input[y] - input[i]))``, over the number of classes.

    The sum is over a row's classes y and all other classes i.

    Args:
        input: floating tensor of scores ``[N, C]``.
        label: classes of each row, as a tensor of integers ``[N, C]``; a row ends at its first negative number.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Returns:
        Tensor without dims, or ``[N]`` for ``"none"``, of input's dtype.

    Raises:
        TypeError: input is not floating, or label is not of integers.
        IndexError: a label is beyond the classes.
        ValueError: shapes that do not fit, or an unknown reduction.

    Example:
        >>> import paddle
        >>> x, label = paddle.to_tensor([[0.5, 0.0, 2.0, 1.0]]), paddle.to_tensor([[2, -1, 0, 0]])
        >>> float(paddle.nn.functional.multi_label_margin_loss(x, label))
        0.0
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
    """Margin loss of one class: the mean over classes of ``max(0, margin - input[label] + input[i]) ** p``.

    The row's own class adds nothing to it.

    Args:
        input: floating tensor of scores ``[N, C]``.
        label: classes from 0 on, as a tensor of integers ``[N]``.
        p: the exponent.
        margin: how much larger the score of the row's class should be than all others.
        weight: tensor ``[C]`` of input's dtype; that of the row's class multiplies the loss. None for
            ones.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Returns:
        Tensor without dims, or ``[N]`` for ``"none"``, of input's dtype.

    Raises:
        TypeError: input is not floating, weight is of another dtype, or label is not of integers.
        IndexError: a label is beyond the classes, or negative.
        ValueError: shapes that do not fit, or an unknown reduction.

    Example:
        >>> import paddle
        >>> x, label = paddle.to_tensor([[0.0, 2.0], [0.0, 0.5]]), paddle.to_tensor([1, 1])
        >>> paddle.nn.functional.multi_margin_loss(x, label, reduction="none").tolist()
        [0.0, 0.25]
    """
    need_tensor(input, "multi_margin_loss", "input")
    need_tensor(label, "multi_margin_loss", "label")
    if (input.ndim, label.ndim) != (2, 1):
        shapes = f"{list(input.shape)} and {list(label.shape)}"
        raise op_error(ValueError, "multi_margin_loss", "input [N, C] and label [N]", shapes)
    if weight is not None:
        check_class_weights("multi_margin_loss", weight, input.shape[1])
    own = F.take_along(input, F.unsqueeze(label, axes=(1,)), axis=1, from_end=False)
    gap = F.maximum(F.sub(to_float(margin), F.sub(own, input)), 0.0)
    gap = gap if p == 1 else F.pow(gap, float(p))
    if weight is not None:
        gap = F.mul(gap, F.unsqueeze(F.take(weight, label, axis=0), axes=(1,)))
    classes = create_on(label.place, F.iota, 0, 1, label.dtype, input.shape[1])
    other = F.ne(classes, F.unsqueeze(label, axes=(1,)))
    return reduce_loss("multi_margin_loss", F.mean(F.where(other, gap, 0.0), axes=(1,)), reduction)


def _distance(x: Tensor, y: Tensor, p: float, epsilon: float) -> Tensor:
    return F.pairwise_distance(x, y, ord={1.0: "1", 2.0: "2"}.get(float(p), "p"), p=float(p), eps=float(epsilon))


def _triplet(
    op_name: str, near: Tensor, far: Tensor, between: Callable[[], Tensor] | None, margin: float, reduction: str
) -> Tensor:
    if between is not None:
        far = F.minimum(far, between())
    return reduce_loss(op_name, F.maximum(F.add(F.sub(near, far), to_float(margin)), 0.0), reduction)


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
    """Triplet loss: ``max(0, |input - positive| - |input - negative| + margin)``, distances in the ``p``-norm.

    Args:
        input: floating tensor ``[*, M]`` of one dim or more.
        positive: tensor of input's dtype that should be near input.
        negative: tensor of input's dtype that should be far from it; the three broadcast.
        margin: how much farther negative should be, above 0.
        p: order of the norm.
        epsilon: added to each difference before the norm is taken.
        swap: count the distance of positive and negative where it is smaller than that of input and negative.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Returns:
        Tensor without dims, or of the broadcast shape without the last dim for ``"none"``, of input's dtype.

    Raises:
        TypeError: the operands are not floating, or of different dtypes.
        ValueError: margin is not above 0, shapes that do not fit, or an unknown reduction.

    Example:
        >>> import paddle
        >>> x, near, far = (paddle.to_tensor([point]) for point in ([0.0, 0.0], [3.0, 4.0], [0.0, 2.0]))
        >>> round(float(paddle.nn.functional.triplet_margin_loss(x, near, far)), 4)
        4.0
    """
    if margin <= 0:
        raise op_error(ValueError, "triplet_margin_loss", "margin > 0", margin)
    input, positive, negative = of_one_dtype(input, positive, negative)
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
    """Triplet loss with any distance: ``max(0, d(input, positive) - d(input, negative) + margin)``.

    Args:
        input: floating tensor ``[*, M]`` of one dim or more.
        positive: tensor of input's dtype that should be near input.
        negative: tensor of input's dtype that should be far from it.
        distance_function: takes two of them and returns the tensor of their distances; None for the Euclidean distance
            along the last dim.
        margin: how much farther negative should be, above 0.
        swap: count the distance of positive and negative where it is smaller than that of input and negative.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Returns:
        Tensor without dims, or of the shape and dtype of the distances for ``"none"``.

    Raises:
        TypeError: the operands are not floating, or of different dtypes.
        ValueError: margin is not above 0, shapes that do not fit, or an unknown reduction.

    Example:
        >>> import paddle
        >>> def manhattan(a, b):
        ...     return (a - b).abs().sum(-1)
        >>> x, near, far = (paddle.to_tensor([point]) for point in ([0.0, 0.0], [3.0, 4.0], [0.0, 2.0]))
        >>> float(paddle.nn.functional.triplet_margin_with_distance_loss(x, near, far, manhattan))
        6.0
    """
    if margin <= 0:
        raise op_error(ValueError, "triplet_margin_with_distance_loss", "margin > 0", margin)
    if distance_function is None:
        input, positive, negative = of_one_dtype(input, positive, negative)
    d = distance_function or (lambda a, b: _distance(a, b, 2.0, 1e-6))
    between = (lambda: d(positive, negative)) if swap else None
    return _triplet(
        "triplet_margin_with_distance_loss", d(input, positive), d(input, negative), between, margin, reduction
    )
