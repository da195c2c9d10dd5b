"""Losses for many classes: trees, clusters, margins on cosines, samples of classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paddle._public import public
from paddle.nn._ops import check_reduction, mean_all, random_tensor, sum_all
from paddle.tensor._args import InternedOps, create_on, number_unless_negative
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.eager import apply
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.ir.tracer import SymTensor
from umiak.util.errors import op_error

_CROSS_ENTROPY = F.SoftmaxCrossEntropy(1, False)
_MARGIN = InternedOps(F.MarginCosine)
_TREE = F.HsigmoidLoss()


@public("paddle.nn.functional")
def hsigmoid_loss(
    input: Tensor,
    label: Tensor,
    num_classes: int,
    weight: Tensor,
    bias: Tensor | None = None,
    path_table: Tensor | None = None,
    path_code: Tensor | None = None,
    is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Hierarchical sigmoid: the cross entropies of the branches that lead to a class through a binary tree.

    Args:
        input: floating tensor ``[N, D]``.
        label: classes ``[N]`` or ``[N, 1]``, from 0 to ``num_classes - 1``; cast to int64.
        num_classes: how many there are, 2 or more. They are the leaves of a complete tree, whose inner nodes are
            numbered by level.
        weight: tensor ``[num_classes - 1, D]`` of input's dtype, a row for each inner node; with a tree of one's own as
            many as it has.
        bias: tensor of input's dtype, ``[num_classes - 1]`` or ``[num_classes - 1, 1]``; None for zeros.
        path_table: a tree of one's own: the inner nodes on the way to each row's class, as integers ``[N, depth]``,
            negative where the way has ended.
        path_code: the branch taken at each of them, 0 or 1, as integers ``[N, depth]``.
        is_sparse: accepted; gradients are dense.

    Returns:
        Tensor ``[N, 1]`` of input's dtype. Every place of a path that is not used adds log 2. Scores count up to 40 in
        the loss.

    Raises:
        TypeError: input is not floating, weight or bias are of another dtype, or a tree is not of integers.
        IndexError: a label or a node is beyond the rows of weight.
        ValueError: fewer than two classes, one of ``path_table`` and ``path_code`` without the other, or shapes that
            do not fit.

    References:
        Morin and Bengio, Hierarchical Probabilistic Neural Network Language Model (2005).

    Example:
        >>> import paddle
        >>> x, label, weight = paddle.zeros([2, 3]), paddle.to_tensor([0, 3]), paddle.zeros([3, 3])
        >>> loss = paddle.nn.functional.hsigmoid_loss(x, label, 4, weight)
        >>> [round(v, 4) for v in loss.flatten().tolist()]  # two branches, log(2) each
        [1.3863, 1.3863]
    """
    if num_classes < 2:
        raise op_error(ValueError, "hsigmoid_loss", "num_classes of 2 or more", num_classes)
    if (path_table is None) != (path_code is None):
        raise ValueError("[hsigmoid_loss] requires path_table and path_code together, got one of them")
    if path_table is None or path_code is None:
        path_table, path_code = _paths(F.reshape(label, shape=(input.shape[0], 1)), num_classes)
    if bias is not None and bias.ndim > 1:
        bias = F.reshape(bias, shape=(bias.shape[0],))
    return F.unsqueeze(apply(_TREE, (input, path_table, path_code, weight, bias)), axes=(1,))


def _paths(label: Tensor, classes: int) -> tuple[Tensor, Tensor]:
    """Nodes and branches on the way from each leaf to the root of the complete tree.

    The leaf of a class has the number ``label + classes`` if the root has 1 and the children of i are 2i and 2i + 1.
    """
    leaf = F.add(F.cast(label, dtype=dt.int64), classes)
    up = create_on(label.place, F.iota, 0, 1, dt.int64, (classes - 1).bit_length())
    node = F.sub(F.shift_right(leaf, F.add(up, 1)), 1)
    return node, F.bitwise_and(F.shift_right(leaf, up), 1)


@public("paddle.nn.functional")
def adaptive_log_softmax_with_loss(
    input: Tensor,
    label: Tensor,
    head_weight: Tensor,
    tail_weights: Sequence[Sequence[Tensor]],
    cutoffs: Sequence[int],
    head_bias: Tensor | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Log-probability of each row's class where rare classes stand in clusters.

    Args:
        input: floating tensor ``[N, D]`` or ``[D]``.
        label: classes ``[N]``, or one without dims, from 0 to ``cutoffs[-1] - 1``; cast to int64.
        head_weight: tensor ``[D, cutoffs[0] + clusters]`` of input's dtype.
        tail_weights: for each cluster two tensors of input's dtype, ``[D, h]`` and ``[h, its classes]``.
        cutoffs: where clusters start, rising, and last the number of classes.
        head_bias: tensor ``[cutoffs[0] + clusters]`` of input's dtype; None for zeros.

    Returns:
        Log-probabilities in the shape of label, and minus their mean, without dims; both of input's dtype.

    Raises:
        TypeError: input is not floating, or weights are of another dtype.
        ValueError: shapes that do not fit, weights of other clusters, or labels that are no class.

    Note:
        A trace does not know the labels: what it captures raises an ``IndexError`` where one is no class.

    References:
        Grave et al., Efficient Softmax Approximation for GPUs (2017).

    Example:
        >>> import paddle
        >>> head, tail = paddle.zeros([3, 3]), [[paddle.zeros([3, 1]), paddle.zeros([1, 4])]]
        >>> log_p, loss = paddle.nn.functional.adaptive_log_softmax_with_loss(
        ...     paddle.zeros([2, 3]), paddle.to_tensor([0, 5]), head, tail, [2, 6]
        ... )
        >>> [round(v, 4) for v in log_p.exp().tolist()]  # a third; a quarter of a third
        [0.3333, 0.0833]
    """
    _check_clusters(head_weight, tail_weights, cutoffs)
    one = input.ndim == 1
    if (input.ndim, label.ndim) not in ((2, 1), (1, 0)) or (not one and input.shape[0] != label.shape[0]):
        got = f"{list(input.shape)} and {list(label.shape)}"
        raise op_error(ValueError, "adaptive_log_softmax_with_loss", "input [N, D] and label [N], or [D] and []", got)
    if one:
        input, label = F.unsqueeze(input, axes=(0,)), F.unsqueeze(label, axes=(0,))
    label = F.cast(label, dtype=dt.int64)
    shortlist, classes = cutoffs[0], cutoffs[-1]
    head = _linear(input, head_weight, head_bias)
    column, parts = label, []
    for k, (low, high) in enumerate(zip(cutoffs[:-1], cutoffs[1:], strict=True)):
        inside = F.logical_and(F.ge(label, low), F.lt(label, high))
        column = F.where(inside, shortlist + k, column)
        parts.append((inside, low))
    if not isinstance(label, SymTensor) and 0 not in label.shape:
        _check_classes(label, classes)
    output = F.neg(apply(_CROSS_ENTROPY, (head, column), (-100,)))
    for (inside, low), (down, up) in zip(parts, tail_weights, strict=True):
        output = F.add(output, _of_cluster(input, F.sub(label, low), inside, down, up))
    loss = F.neg(mean_all(output))
    return (F.squeeze(output, axes=(0,)) if one else output), loss


def _check_clusters(head: Tensor, tails: Sequence[Sequence[Tensor]], cutoffs: Sequence[int]) -> None:
    """Refuse weights that are not those of the clusters."""
    op_name, clusters = "adaptive_log_softmax_with_loss", len(cutoffs) - 1
    if len(tails) != clusters:
        got = f"{len(tails)} for {list(cutoffs)}"
        raise op_error(ValueError, op_name, "tail_weights for each cluster of cutoffs", got)
    classes = [high - low for low, high in zip(cutoffs[:-1], cutoffs[1:], strict=True)]
    columns = [head.shape[-1], *(up.shape[-1] for _, up in tails)]
    if columns != [cutoffs[0] + clusters, *classes]:
        required = f"head_weight with {cutoffs[0] + clusters} columns and tail_weights with {classes}"
        raise op_error(ValueError, op_name, required, f"{columns[0]} and {columns[1:]}")


def _check_classes(label: Tensor, classes: int) -> None:
    lowest, highest = int(F.min(label, axes=(0,)).item()), int(F.max(label, axes=(0,)).item())
    if lowest < 0 or highest >= classes:
        raise op_error(
            ValueError, "adaptive_log_softmax_with_loss", f"labels from 0 to {classes - 1}", f"{lowest} to {highest}"
        )


def _linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    y = F.matmul(x, weight)
    return y if bias is None else F.add(y, bias)


def _of_cluster(input: Tensor, place: Tensor, inside: Tensor, down: Tensor, up: Tensor) -> Tensor:
    """Log-probabilities of rows within a cluster, 0 for rows outside. Only rows inside are computed, except in a trace,
    where nobody knows which they are.
    """
    if isinstance(inside, SymTensor):
        scores = F.matmul(F.matmul(input, down), up)
        return F.neg(apply(_CROSS_ENTROPY, (scores, F.where(inside, place, -1)), (-1,)))
    rows = F.squeeze(F.nonzero_sized(inside, int(F.count_true(inside).item())), axes=(1,))
    scores = F.matmul(F.matmul(F.take(input, rows, axis=0), down), up)
    losses = F.neg(apply(_CROSS_ENTROPY, (scores, F.take(place, rows, axis=0)), (-1,)))
    return F.put(create_on(losses.place, F.full, 0, losses.dtype, tuple(inside.shape)), rows, losses, axis=0)


@public("paddle.nn.functional")
def margin_cross_entropy(
    logits: Tensor,
    label: Tensor,
    margin1: float = 1.0,
    margin2: float = 0.5,
    margin3: float = 0.0,
    scale: float = 64.0,
    group: Any = None,
    return_softmax: bool = False,
    reduction: str | None = "mean",
) -> Any:
    """Cross entropy of cosines, with a margin on that of each row's class: ArcFace and its relatives.

    ``cos(t)`` of the class becomes ``cos(margin1*t + margin2) - margin3``, and all cosines are multiplied by ``scale``.

    Args:
        logits: floating tensor of cosines ``[N, C]``, from -1 to 1.
        label: classes from 0 on, as a tensor of integers ``[N]`` or ``[N, 1]``.
        margin1: factor of the angle.
        margin2: added to the angle, in radians.
        margin3: taken from the cosine.
        scale: factor of all cosines.
        group: None or False: all classes are in this process.
        return_softmax: return the softmax of what the cosines become too.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``; None is ``"none"``.

    Returns:
        Tensor without dims, or ``[N, 1]`` for ``"none"``, of the logits' dtype; with ``return_softmax`` a tuple of it
        and the softmax ``[N, C]``.

    Raises:
        TypeError: the logits are not floating, or label is not of integers.
        IndexError: a label is beyond the classes.
        ValueError: shapes that do not fit, a group, or an unknown reduction.

    References:
        Deng et al., ArcFace: Additive Angular Margin Loss for Deep Face Recognition (2019).

    Example:
        >>> import paddle
        >>> cosines, label = paddle.zeros([2, 4]), paddle.to_tensor([0, 3])
        >>> round(float(paddle.nn.functional.margin_cross_entropy(cosines, label, margin2=0.0)), 4)  # log(4)
        1.3863
    """
    if group not in (None, False):
        raise ValueError("[margin_cross_entropy] requires all classes in one process: group of None or False")
    reduction = reduction or "none"
    check_reduction("margin_cross_entropy", reduction)
    label = F.reshape(label, shape=(label.shape[0],)) if label.ndim == 2 else label
    angular = margin1 != 1.0 or margin2 != 0.0
    params = (float(margin1), float(margin2), float(margin3), float(scale))
    scores = apply(_MARGIN[(angular,)], (logits, label), params)
    loss = F.unsqueeze(apply(_CROSS_ENTROPY, (scores, label), (-100,)), axes=(1,))
    loss = mean_all(loss) if reduction == "mean" else sum_all(loss) if reduction == "sum" else loss
    return (loss, F.softmax(scores, axis=1)) if return_softmax else loss


@public("paddle.nn.functional")
def class_center_sample(label: Tensor, num_classes: int, num_samples: int, group: Any = None) -> tuple[Tensor, Tensor]:
    """Sample of classes, all those of ``label`` among them; and the labels as places in it.

    Args:
        label: classes from 0 to ``num_classes - 1``, as a tensor of integers ``[N]``.
        num_classes: how many classes there are.
        num_samples: how many classes to take, at most ``num_classes``; more are taken where more occur in label. The
            others are drawn at random.
        group: None or False: all classes are in this process.

    Returns:
        Labels as places ``[N]``, and the classes taken, those of label first, both of label's dtype.

    Raises:
        ValueError: more samples than classes, a label that is not ``[N]`` of integers, negative labels, or a group.
        IndexError: labels beyond the classes.

    References:
        An et al., Partial FC: Training 10 Million Identities on a Single Machine (2021).

    Example:
        >>> import paddle
        >>> places, taken = paddle.nn.functional.class_center_sample(paddle.to_tensor([7, 2, 7]), 10, 4)
        >>> places.tolist(), taken.tolist()[:2], taken.shape
        ([1, 0, 1], [2, 7], paddle.Size([4]))
    """
    if group not in (None, False):
        raise ValueError("[class_center_sample] requires all classes in one process: group of None or False")
    if num_samples > num_classes:
        raise op_error(ValueError, "class_center_sample", f"num_samples of at most {num_classes}", num_samples)
    if label.ndim != 1 or not label.dtype.is_integer:
        got = f"{label.dtype.name}{list(label.shape)}"
        raise op_error(ValueError, "class_center_sample", "label [N] of integers", got)
    own = create_on(label.place, F.full, 1, dt.int64, tuple(label.shape))
    present = F.put(create_on(label.place, F.full, 0, dt.int64, (num_classes,)), label, own, axis=0)
    # Classes that are there stand first, in their order; the others follow in the order of random numbers.
    draws = random_tensor(F.UniformRandom, (num_classes,), dt.float32, 0.0, 1.0, place=label.place)
    _, order = F.sort(F.where(F.gt(present, 0), -1.0, draws), axis=0)
    if label._count:
        many = number_unless_negative(F.sum(present, axes=(0,)), F.min(label, axes=(0,)))
        if not dim.le(0, many):
            raise op_error(ValueError, "class_center_sample", f"labels from 0 to {num_classes - 1}", "negative ones")
        many = dim.maximum(num_samples, many)
    else:
        many = num_samples
    taken = F.slice(order, axes=(0,), starts=(0,), sizes=(many,), steps=(1,))
    rank = F.sub(F.cumsum(present, axis=0), 1)
    return F.cast(F.take(rank, label, axis=0), dtype=label.dtype), F.cast(taken, dtype=label.dtype)
