"""Losses of sequences that are not aligned with their labels. ``reduction``: ``"mean"``, ``"sum"`` or ``"none"``."""

from __future__ import annotations

from paddle._public import public
from paddle.nn._ops import check_reduction, mean_all, reduce_loss
from paddle.tensor._args import create_on
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.eager import apply
from umiak.core.tensor import Tensor

_CTC = F.Ctc()
_TRANSDUCER = F.Transducer()


@public("paddle.nn.functional")
def ctc_loss(
    log_probs: Tensor,
    labels: Tensor,
    input_lengths: Tensor,
    label_lengths: Tensor,
    blank: int = 0,
    reduction: str = "mean",
    norm_by_times: bool = False,
    zero_infinity: bool = False,
) -> Tensor:
    """Connectionist temporal classification: minus the log-probability of all alignments (Graves et al., 2006).

    Args:
        log_probs: logits ``[T, N, C]``; a softmax is part of the loss (and changes no log-probabilities).
        labels: ``[N, L]``, integers; of row i the first ``label_lengths[i]`` count.
        input_lengths: ``[N]``, how many of the T times of each row count.
        label_lengths: ``[N]``, how many labels of each row count.
        blank: the class that stands for no label.
        reduction: ``"mean"`` over rows, each divided by the length of its label; ``"sum"`` or ``"none"``.
        norm_by_times: divide the gradient of a row, not its loss, by its input length.
        zero_infinity: an infinite loss, of labels with probability 0, becomes 0. Rows too short for their label have
            a loss and a gradient of 0 in any case.

    Returns:
        Tensor without dims, or ``[N]`` with ``reduction="none"``.

    Raises:
        ValueError: shapes that do not fit, a blank that is no class, or an unknown reduction.
        TypeError: labels or lengths that are not integers.

    Example:
        >>> import paddle
        >>> logits, labels = paddle.zeros([2, 1, 3]), paddle.to_tensor([[1]])
        >>> lengths = paddle.to_tensor([2]), paddle.to_tensor([1])
        >>> round(float(paddle.nn.functional.ctc_loss(logits, labels, *lengths)), 4)  # log(9 / 3)
        1.0986
    """
    check_reduction("ctc_loss", reduction)
    loss = apply(_CTC, (log_probs, labels, input_lengths, label_lengths), (int(blank),))
    if zero_infinity:
        hopeless = F.isinf(loss)
    else:
        hopeless = F.lt(_int64(input_lengths), _shortest(labels, _int64(label_lengths)))
    loss = F.where(hopeless, 0.0, loss)
    if norm_by_times:
        loss = F.scale_gradient(loss, F.reciprocal(_counts(input_lengths, loss)))
    if reduction == "mean":
        return mean_all(F.div(loss, _counts(label_lengths, loss)))
    return reduce_loss("ctc_loss", loss, reduction)


def _int64(x: Tensor) -> Tensor:
    return x if x.dtype is dt.int64 else F.cast(x, dtype=dt.int64)


def _counts(lengths: Tensor, like: Tensor) -> Tensor:
    """Lengths to divide by."""
    return F.cast(F.maximum(lengths, 1), dtype=like.dtype)


def _shortest(labels: Tensor, lengths: Tensor) -> Tensor:
    """Return the time steps that a label needs: one per element, one for a blank between equal neighbours."""
    pairs = labels.shape[1] - 1
    if pairs < 1:
        return lengths
    left, right = (F.slice(labels, axes=(1,), starts=(i,), sizes=(pairs,), steps=(1,)) for i in (0, 1))
    inside = F.lt(create_on(lengths.place, F.iota, 1, 1, dt.int64, pairs), F.unsqueeze(lengths, axes=(1,)))
    repeated = F.logical_and(F.eq(left, right), inside)
    return F.add(lengths, F.sum(F.cast(repeated, dtype=dt.int64), axes=(1,)))


@public("paddle.nn.functional")
def rnnt_loss(
    input: Tensor,
    label: Tensor,
    input_lengths: Tensor,
    label_lengths: Tensor,
    blank: int = 0,
    fastemit_lambda: float = 0.001,
    reduction: str = "mean",
    name: str | None = None,
) -> Tensor:
    """Loss of a recurrent transducer: minus the log-probability of all alignments (Graves, 2012).

    Args:
        input: log-probabilities ``[N, T, L + 1, C]`` (``log_softmax`` of the joint network's results).
        label: ``[N, L]``, integers; of row i the first ``label_lengths[i]`` count.
        input_lengths: ``[N]``, how many of the T times of each row count, 1 or more.
        label_lengths: ``[N]``, how many labels of each row count.
        blank: the class that stands for no label.
        fastemit_lambda: the gradient of labels is larger by this part (FastEmit, Yu et al., 2021); the loss is not.
        reduction: ``"mean"`` over rows, ``"sum"`` or ``"none"``.

    Returns:
        Tensor without dims, or ``[N]`` with ``reduction="none"``.

    Raises:
        ValueError: shapes that do not fit, a blank that is no class, or an unknown reduction.
        TypeError: labels or lengths that are not integers.

    Example:
        >>> import paddle
        >>> scores = paddle.nn.functional.log_softmax(paddle.zeros([1, 2, 2, 4]))
        >>> lengths = paddle.to_tensor([2]), paddle.to_tensor([1])
        >>> loss = paddle.nn.functional.rnnt_loss(scores, paddle.to_tensor([[1]]), *lengths)
        >>> round(float(loss), 4)  # -log(2 / 4**3)
        3.4657
    """
    check_reduction("rnnt_loss", reduction)
    loss = apply(_TRANSDUCER, (input, label, input_lengths, label_lengths), (int(blank), float(fastemit_lambda)))
    return reduce_loss("rnnt_loss", loss, reduction)
