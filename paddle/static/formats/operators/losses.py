"""Losses."""

from __future__ import annotations

from typing import Any

import paddle
from paddle.nn import functional as F
from paddle.static.formats.operators.table import operator
from umiak.core.tensor import Tensor


@operator("bce_loss")
def bce_loss(input: Tensor, label: Tensor) -> Any:
    return F.binary_cross_entropy(input, label, reduction="none")


@operator("sigmoid_cross_entropy_with_logits")
def sigmoid_cross_entropy_with_logits(
    x: Tensor, label: Tensor, pos_weight: Tensor | None = None, *, normalize: bool = False, ignore_index: int = -100
) -> Any:
    if pos_weight is None:
        loss = F.binary_cross_entropy_with_logits(x, label, reduction="none")
    else:  # of each element: programs have made it of the weight of the class and the label
        loss = (1 - label) * x + pos_weight * F.softplus(-x)
    counted = paddle.not_equal(label, float(ignore_index)).astype(x.dtype)
    loss = loss * counted
    return loss / paddle.clip(paddle.sum(counted), 1e-6) if normalize else loss


@operator("cross_entropy_with_softmax")
def cross_entropy_with_softmax(
    input: Tensor, label: Tensor, *, soft_label: bool = False, use_softmax: bool = True,
    numeric_stable_mode: bool = True, ignore_index: int = -100, axis: int = -1,
) -> Any:  # fmt: skip
    if use_softmax:
        loss, softmax = F.softmax_with_cross_entropy(
            input, label, soft_label, ignore_index, numeric_stable_mode, True, axis
        )
        return softmax, loss
    loss = F.cross_entropy(
        input, label, ignore_index=ignore_index, reduction="none", soft_label=soft_label, axis=axis, use_softmax=False
    )
    return input, loss if loss.ndim == input.ndim else paddle.unsqueeze(loss, axis)


@operator("huber_loss")
def huber_loss(input: Tensor, label: Tensor, *, delta: float) -> Any:
    rest = label - input
    size = paddle.abs(rest)
    return paddle.where(size <= delta, 0.5 * rest * rest, delta * (size - 0.5 * delta)), rest


@operator("kldiv_loss")
def kldiv_loss(x: Tensor, label: Tensor, *, reduction: str = "mean", log_target: bool = False) -> Any:
    return F.kl_div(x, label, reduction, log_target)


@operator("log_loss")
def log_loss(input: Tensor, label: Tensor, *, epsilon: float = 1e-4) -> Any:
    return F.log_loss(input, label, epsilon)


@operator("nll_loss")
def nll_loss(
    input: Tensor, label: Tensor, weight: Tensor | None = None, *, ignore_index: int = -100, reduction: str = "mean"
) -> Any:
    counted = paddle.not_equal(label, ignore_index)
    weights = counted.astype(input.dtype)
    if weight is not None:
        weights = weights * paddle.where(
            counted,
            paddle.gather(weight, paddle.clip(label, 0).reshape([-1])).reshape(label.shape),
            paddle.zeros_like(weights),
        )
    loss = F.nll_loss(input, label, weight, ignore_index, reduction)
    return loss, paddle.sum(weights)


@operator("hinge_loss")
def hinge_loss(logits: Tensor, labels: Tensor) -> Any:
    return F.relu(1.0 - logits * (2.0 * labels - 1.0))


@operator("identity_loss")
def identity_loss(x: Tensor, *, reduction: int = 1) -> Any:
    return (paddle.sum, paddle.mean, paddle.assign)[reduction](x)


@operator("warpctc")
def warpctc(
    logits: Tensor, label: Tensor, logits_length: Tensor | None = None, labels_length: Tensor | None = None, *,
    blank: int = 0, norm_by_times: bool = False,
) -> Any:  # fmt: skip
    if logits_length is None or labels_length is None:
        raise ValueError("[warpctc] requires lengths: sequences are padded here")
    loss = F.ctc_loss(logits, label, logits_length, labels_length, blank, "none", norm_by_times)
    return loss.reshape([-1, 1]), None


@operator("warprnnt")
def warprnnt(
    input: Tensor, label: Tensor, input_lengths: Tensor, label_lengths: Tensor, *, blank: int = 0,
    fastemit_lambda: float = 0.0,
) -> Any:  # fmt: skip
    return F.rnnt_loss(input, label, input_lengths, label_lengths, blank, fastemit_lambda, "none"), None


@operator("hsigmoid_loss")
def hsigmoid_loss(
    x: Tensor, label: Tensor, w: Tensor, bias: Tensor | None = None, path: Tensor | None = None,
    code: Tensor | None = None, *, num_classes: int, is_sparse: bool = False,
) -> Any:  # fmt: skip
    return F.hsigmoid_loss(x, label, num_classes, w, bias, path, code), None, None


@operator("margin_cross_entropy")
def margin_cross_entropy(
    logits: Tensor, label: Tensor, *, return_softmax: bool = False, ring_id: int = 0, rank: int = 0, nranks: int = 1,
    margin1: float = 1.0, margin2: float = 0.5, margin3: float = 0.0, scale: float = 64.0,
) -> Any:  # fmt: skip
    if nranks != 1:
        raise ValueError(f"[margin_cross_entropy] requires all classes on one rank, got {nranks} ranks")
    loss, softmax = F.margin_cross_entropy(
        logits, label, margin1, margin2, margin3, scale, return_softmax=True, reduction=None
    )
    return softmax, loss
