"""Operators that few models have: of trees, hashes, and pairs of texts."""

from __future__ import annotations

from typing import Any

import numpy as np

import paddle
from paddle.nn import functional as F
from paddle.static.formats.operators.sequences import offsets_of
from paddle.static.formats.operators.table import bounded, dtype_of, operator
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


@operator("tdm_child")
def tdm_child(x: Tensor, tree: Tensor, *, dtype: str = "int32") -> Any:
    """Children of nodes, and which of them are leaves. A row of a tree: item, layer, parent, children; 0 for none."""
    nodes = x.reshape([-1]).astype("int64")
    children = paddle.gather(tree, nodes)[:, 3:]
    some = nodes.astype("bool").unsqueeze(1) & children[:, :1].astype("bool")
    children = paddle.where(some, children, paddle.zeros_like(children))
    items = paddle.gather(tree[:, 0], children.reshape([-1])).reshape(children.shape)
    leaves = some & items.astype("bool")
    sizes = [*x.shape, children.shape[1]]
    return tuple(y.reshape(sizes).astype(dtype_of(dtype)) for y in (children, leaves))


@operator("sampling_id")
def sampling_id(x: Tensor) -> Any:
    """A column of each row, by probabilities."""
    return paddle.multinomial(x, 1).reshape([-1])


# --- hashes

_PRIMES = [
    np.uint64(n) for n in (
        0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5,
    )
]  # fmt: skip


def _turned(x: np.ndarray, count: int) -> np.ndarray:
    return (x << np.uint64(count)) | (x >> np.uint64(64 - count))


def _mixed(h: np.ndarray, lane: np.ndarray) -> np.ndarray:
    return _turned(h + lane * _PRIMES[1], 31) * _PRIMES[0]


def xxh64(data: np.ndarray, seed: int) -> np.ndarray:
    """The hash XXH64 (https://github.com/Cyan4973/xxHash, its specification) of each row of bytes, [n, length]."""
    a, b, c, d, e = _PRIMES
    count, length = data.shape
    begin = np.full(count, seed, np.uint64)
    words = np.ascontiguousarray(data[:, : length // 8 * 8]).view("<u8").reshape(count, -1)
    at = 0
    with np.errstate(over="ignore"):
        h = begin + e
        if length >= 32:
            lanes = [begin + a + b, begin + b, begin, begin - a]
            for at in range(4, length // 32 * 4 + 1, 4):
                lanes = [_mixed(v, words[:, at - 4 + j]) for j, v in enumerate(lanes)]
            h = sum((_turned(v, n) for v, n in zip(lanes, (1, 7, 12, 18), strict=True)), np.zeros_like(begin))
            for v in lanes:
                h = (h ^ _mixed(np.zeros_like(v), v)) * a + d
        h = h + np.uint64(length)
        for j in range(at, words.shape[1]):
            h = _turned(h ^ _mixed(np.zeros_like(h), words[:, j]), 27) * a + d
        rest = data[:, words.shape[1] * 8 :]
        if rest.shape[1] >= 4:
            word = np.ascontiguousarray(rest[:, :4]).view("<u4").reshape(-1).astype(np.uint64)
            h = _turned(h ^ word * a, 23) * b + c
            rest = rest[:, 4:]
        for byte in rest.T.astype(np.uint64):
            h = _turned(h ^ byte * e, 11) * a
        h = (h ^ (h >> np.uint64(33))) * b
        h = (h ^ (h >> np.uint64(29))) * c
        return h ^ (h >> np.uint64(32))


@operator("hash")
def hash(x: Tensor, *, num_hash: int = 1, mod_by: int = 100000) -> Any:
    """Buckets of rows, by several hashes."""
    values = x.numpy()
    if not 0 < mod_by or not values.ndim or not 0 <= num_hash:
        raise op_error(ValueError, "hash", "rows, a number of hashes and of buckets", [values.shape, num_hash, mod_by])
    flat = np.ascontiguousarray(values.reshape(-1, values.shape[-1]))
    data = flat.view(np.uint8).reshape(len(flat), -1)
    found = [xxh64(data, seed) % np.uint64(mod_by) for seed in range(bounded(num_hash))]
    made = np.stack(found, 1) if found else np.zeros((len(flat), 0))
    return paddle.to_tensor(made.astype(values.dtype).reshape(*values.shape[:-1], num_hash, 1))


@operator("similarity_focus")
def similarity_focus(x: Tensor, *, axis: int, indexes: Any) -> Any:
    """1 at rows and columns of the largest elements of some slices, each row and column once; 0 elsewhere."""
    values = x.numpy()
    if values.ndim != 4 or axis not in (1, 2, 3) or not all(0 <= i < values.shape[axis] for i in indexes):
        required = "an input with 4 axes, and indexes of its axis 1, 2 or 3"
        raise op_error(ValueError, "similarity_focus", required, [list(values.shape), axis, list(indexes)])
    made = np.zeros_like(values)
    for batch, into in zip(values, made, strict=True):
        for i in indexes:
            part, marked = np.take(batch, i, axis - 1), np.moveaxis(into, axis - 1, 0)
            rows, columns = np.ones(part.shape[0], bool), np.ones(part.shape[1], bool)
            for place in np.argsort(-part, axis=None, kind="stable"):
                row, column = divmod(int(place), part.shape[1])
                if rows[row] and columns[column]:
                    marked[:, row, column] = 1
                    rows[row] = columns[column] = False
    return paddle.to_tensor(made)


# --- pairs of texts


@operator("sequence_matches")
def sequence_matches(x: Tensor, of_x: Tensor, y: Tensor, of_y: Tensor, weight: Tensor) -> Any:
    """Similarities of all pairs of words of a pair of texts, by each of several matrices: [width, kinds, width]."""
    begins, others = of_x.numpy(), of_y.numpy()
    if len(begins) != len(others):
        raise op_error(ValueError, "match_matrix_tensor", "as many texts on both sides", [len(begins), len(others)])
    kinds = weight.shape[1]
    projected = paddle.matmul(x, weight.reshape([weight.shape[0], -1])).reshape([-1, kinds, weight.shape[2]])
    found = []
    for i in range(len(begins) - 1):
        left = projected[int(begins[i]) : int(begins[i + 1])].transpose([1, 0, 2])
        right = y[int(others[i]) : int(others[i + 1])]
        found.append(paddle.matmul(left, right, transpose_y=True).reshape([-1]))
    lengths = np.diff(begins) * np.diff(others) * kinds
    return paddle.concat(found).reshape([-1, 1]), offsets_of(paddle.to_tensor(lengths))


@operator("sequence_images")
def sequence_images(
    x: Tensor, of_rows: Tensor, of_columns: Tensor, weight: Tensor, *, channels: int, kernel: Any, stride: Any
) -> Any:
    """A convolution over images of heights and widths of their own, one behind the other."""
    heights, widths = np.diff(of_rows.numpy()), np.diff(of_columns.numpy())
    places = np.cumsum([0, *(channels * heights * widths).tolist()]) if len(heights) == len(widths) else [-1]
    if places[-1] != x.shape[0] or min(*kernel, *stride) < 1:
        required = "images of as many channels, rows and columns as its other inputs say"
        raise op_error(ValueError, "var_conv_2d", required, [x.shape[0], channels, heights.tolist(), widths.tolist()])
    filters = weight.reshape([-1, channels, *kernel])
    found, lengths = [], []
    # The middle of a kernel of an even size is the one behind the half.
    pads = [n for k in reversed(kernel) for n in (k // 2, k - 1 - k // 2)]
    for i, (height, width) in enumerate(zip(heights.tolist(), widths.tolist(), strict=True)):
        image = x[int(places[i]) : int(places[i + 1])].reshape([1, channels, height, width])
        made = F.conv2d(F.pad(image, pads), filters, stride=list(stride))
        found.append(made.reshape([-1]))
        lengths.append(found[-1].shape[0])
    return paddle.concat(found).reshape([-1, 1]), offsets_of(paddle.to_tensor(lengths))
