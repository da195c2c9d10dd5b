"""Signals, graphs, sequences of labels and other subjects."""

from __future__ import annotations

from typing import Any

import paddle
from paddle.static.formats.operators.table import Sizes, bounded, operator
from umiak.core.tensor import Tensor


@operator("fft_c2c")
def fft_c2c(x: Tensor, *, axes: Any, normalization: str, forward: bool) -> Any:
    function = paddle.fft.fftn if forward else paddle.fft.ifftn
    return function(x, axes=list(axes), norm=normalization)


@operator("fft_r2c")
def fft_r2c(x: Tensor, *, axes: Any, normalization: str, forward: bool, onesided: bool) -> Any:
    if onesided:
        return (
            paddle.fft.rfftn(x, axes=list(axes), norm=normalization)
            if forward
            else paddle.fft.ihfftn(x, axes=list(axes), norm=normalization)
        )
    function = paddle.fft.fftn if forward else paddle.fft.ifftn
    return function(x, axes=list(axes), norm=normalization)


@operator("fft_c2r")
def fft_c2r(x: Tensor, *, axes: Any, normalization: str, forward: bool, last_dim_size: int = 0) -> Any:
    axes = list(axes)
    sizes = [x.shape[a] for a in axes]
    sizes[-1] = last_dim_size or 2 * (x.shape[axes[-1]] - 1)
    function = paddle.fft.hfftn if forward else paddle.fft.irfftn
    return function(x, sizes, axes, normalization)


@operator("frame")
def frame(x: Tensor, *, frame_length: int, hop_length: int, axis: int = -1) -> Any:
    return paddle.signal.frame(x, frame_length, hop_length, axis)


@operator("overlap_add")
def overlap_add(x: Tensor, *, hop_length: int, axis: int = -1) -> Any:
    return paddle.signal.overlap_add(x, hop_length, axis)


@operator("stft")
def stft(
    x: Tensor, window: Tensor, *, n_fft: int, hop_length: int, normalized: bool = False, onesided: bool = True
) -> Any:
    return paddle.signal.stft(
        x, n_fft, hop_length, window=window, center=False, normalized=normalized, onesided=onesided
    )


# --- graphs ----------------------------------------------------------------------------------------------------------


def _rows(out_size: Any) -> Any:
    """The number of rows of a result; None, where it is not said, for as many as x has."""
    sizes = list(out_size or ())
    return None if not sizes or sizes[0] in (0, -1) else sizes[0]


@operator("send_u_recv")
def send_u_recv(
    x: Tensor, src_index: Tensor, dst_index: Tensor, out_size: Sizes | None = None, *, reduce_op: str = "SUM"
) -> Any:
    return paddle.geometric.send_u_recv(x, src_index, dst_index, reduce_op.lower(), _rows(out_size)), None


@operator("send_ue_recv")
def send_ue_recv(
    x: Tensor, y: Tensor, src_index: Tensor, dst_index: Tensor, out_size: Sizes | None = None, *,
    message_op: str = "ADD", reduce_op: str = "SUM",
) -> Any:  # fmt: skip
    return paddle.geometric.send_ue_recv(
        x, y, src_index, dst_index, message_op.lower(), reduce_op.lower(), _rows(out_size)
    ), None


@operator("send_uv")
def send_uv(x: Tensor, y: Tensor, src_index: Tensor, dst_index: Tensor, *, message_op: str = "ADD") -> Any:
    return paddle.geometric.send_uv(x, y, src_index, dst_index, message_op.lower())


@operator("segment_pool")
def segment_pool(x: Tensor, segment_ids: Tensor, *, pooltype: str = "SUM") -> Any:
    return getattr(paddle.geometric, f"segment_{pooltype.lower()}")(x, segment_ids), None


# --- labels ----------------------------------------------------------------------------------------------------------


@operator("viterbi_decode")
def viterbi_decode(
    potentials: Tensor, transition_params: Tensor, lengths: Tensor, *, include_bos_eos_tag: bool = True
) -> Any:
    return tuple(paddle.text.viterbi_decode(potentials, transition_params, lengths, include_bos_eos_tag))


@operator("gather_tree")
def gather_tree(ids: Tensor, parents: Tensor) -> Any:
    return paddle.nn.functional.gather_tree(ids, parents)


@operator("add_position_encoding")
def add_position_encoding(x: Tensor, *, alpha: float = 1.0, beta: float = 1.0) -> Any:
    half = x.shape[-1] // 2
    places = paddle.arange(0, x.shape[1], 1, "float32").reshape([-1, 1])
    scale = paddle.pow(paddle.full([], 10000.0), paddle.arange(0, half, 1, "float32") / max(half - 1, 1))
    angles = places / scale
    encoding = paddle.concat([paddle.sin(angles), paddle.cos(angles)], -1)
    return alpha * x + beta * paddle.unsqueeze(encoding, 0).astype(x.dtype)


@operator("row_conv")
def row_conv(x: Tensor, filter: Tensor) -> Any:
    steps = filter.shape[0]
    padded = paddle.nn.functional.pad(x, [0, 0, 0, steps - 1, 0, 0], "constant", 0.0)
    return paddle.add_n([paddle.slice(padded, [1], [k], [k + x.shape[1]]) * filter[k] for k in range(bounded(steps))])


@operator("cvm")
def cvm(x: Tensor, cvm: Tensor, *, use_cvm: bool = True) -> Any:
    if not use_cvm:
        return x[:, 2:]
    shown = paddle.log(x[:, :1] + 1.0)
    return paddle.concat([shown, paddle.log(x[:, 1:2] + 1.0) - shown, x[:, 2:]], 1)
