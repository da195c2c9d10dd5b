"""Layers and losses of before 2.0 that no function of today is."""

from __future__ import annotations

from typing import Any

import paddle
from paddle.nn import functional as F
from paddle.static.formats.operators.table import bounded, operator
from umiak.core.tensor import Tensor


@operator("fsp")
def fsp(x: Tensor, y: Tensor) -> Any:
    """Products of the channels of two images, averaged over places."""
    x, y = (paddle.flatten(v, 2) for v in (x, y))
    return paddle.matmul(x, y, transpose_y=True) / x.shape[2]


@operator("spp")
def spp(x: Tensor, *, pyramid_height: int, pooling_type: str = "max") -> Any:
    """Pools of 1, 4, 16 … regions, one behind the other."""
    parts = []
    for level in range(pyramid_height):
        bounded(2**level)
        bins = 2**level
        sizes = [-(-n // bins) for n in x.shape[2:]]
        pads = [(k * bins - n + 1) // 2 for k, n in zip(sizes, x.shape[2:], strict=True)]
        pool = F.max_pool2d if pooling_type == "max" else F.avg_pool2d
        parts.append(paddle.flatten(pool(x, sizes, sizes, pads), 1))
    return paddle.concat(parts, 1)


def _columns(x: Tensor, start: int, length: int) -> Tensor:
    start = start + x.shape[1] if start < 0 else start
    return x[:, start:] if length < 0 else x[:, start : start + length]


@operator("data_norm")
def data_norm(
    scale_w: Tensor | None, bias: Tensor | None, x: Tensor, size: Tensor, total: Tensor, squares: Tensor, *,
    slot_dim: int = -1, enable_scale_and_shift: bool = False,
) -> Any:  # fmt: skip
    means, scales = total / size, paddle.sqrt(size / squares)
    y = (x - means) * scales
    if enable_scale_and_shift and scale_w is not None and bias is not None:
        y = y * scale_w + bias
    if slot_dim > 0:  # a slot that begins with 0 was not shown
        shown = paddle.abs(x[:, ::slot_dim]) >= 1e-7
        y = y * paddle.repeat_interleave(shown, slot_dim, 1).astype(y.dtype)
    return y, means, scales


@operator("embedding_of_part")
def embedding_of_part(w: Tensor, ids: Tensor, *, start_index: int = 0) -> Any:
    """Rows of a part of a table: zeros for those of other parts."""
    places = ids - start_index
    inside = (places >= 0) & (places < w.shape[0])
    rows = F.embedding(paddle.where(inside, places, paddle.zeros_like(places)), w)
    return rows * inside.unsqueeze(-1).astype(rows.dtype)


# --- losses, one for each sample


@operator("cross_entropy")
def cross_entropy(x: Tensor, label: Tensor, *, soft_label: bool = False, ignore_index: int = -100) -> Any:
    """Of probabilities."""
    if soft_label:
        return -paddle.sum(label * paddle.log(x), -1, keepdim=True)
    label = label if label.ndim == x.ndim else label.unsqueeze(-1)
    counted = paddle.not_equal(label, paddle.full_like(label, ignore_index))
    picked = paddle.take_along_axis(x, paddle.where(counted, label, paddle.zeros_like(label)), -1)
    return paddle.where(counted, -paddle.log(picked), paddle.zeros_like(picked))


@operator("bpr_loss")
def bpr_loss(x: Tensor, label: Tensor) -> Any:
    """The mean over other classes of how much less they have than the right one, in logarithms."""
    label = label if label.ndim == x.ndim else label.unsqueeze(-1)
    each = F.softplus(x - paddle.take_along_axis(x, label, -1))
    others = 1.0 - F.one_hot(label.squeeze(-1), x.shape[-1]).astype(x.dtype)
    return paddle.sum(each * others, -1, keepdim=True) / (x.shape[-1] - 1)


@operator("rank_loss")
def rank_loss(label: Tensor, left: Tensor, right: Tensor) -> Any:
    return F.softplus(left - right) - label * (left - right)


@operator("modified_huber_loss")
def modified_huber_loss(x: Tensor, y: Tensor) -> Any:
    margin = x * (2.0 * y - 1.0)
    near = paddle.square(paddle.clip(1.0 - margin, min=0.0))
    return margin, paddle.where(margin < -1.0, -4.0 * margin, near)


@operator("teacher_student_sigmoid_loss")
def teacher_student_sigmoid_loss(x: Tensor, label: Tensor) -> Any:
    """A label is -2, or -1 where there was a click; a teacher's score is added to 0, or to 1 where there was one."""
    base = F.softplus(x)
    clicked = paddle.where((label >= -1.0) & (label < 0.0) | (label >= 1.0), base - x, base)
    score = paddle.where(label >= 1.0, label - 1.0, label)
    return paddle.where(label < 0.0, clicked, clicked + base - x * score)
