"""Labels along sequences: decoding, alignment, distances."""

from __future__ import annotations

from typing import Any

import numpy as np

import paddle
from paddle.static.formats.operators.table import operator
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


@operator("crf_decoding")
def crf_decoding(
    emission: Tensor, transition: Tensor, label: Tensor | None = None, length: Tensor | None = None
) -> Any:
    if length is None:
        raise ValueError("[crf_decoding] requires lengths: sequences are padded here")
    counts = length.reshape([-1]).astype("int64")
    steps = paddle.arange(0, emission.shape[1], 1, "int64")
    # The first two rows are scores of beginnings and ends.
    last = paddle.equal(steps.unsqueeze(0), (counts - 1).unsqueeze(1)).astype(emission.dtype).unsqueeze(-1)
    first = paddle.equal(steps, 0).astype(emission.dtype).reshape([1, -1, 1])
    scores = emission + first * transition[0] + last * transition[1]
    _, path = paddle.text.viterbi_decode(scores, transition[2:], counts, False)
    inside = steps.unsqueeze(0) < counts.unsqueeze(1)
    if label is None:
        return paddle.where(inside, path, paddle.zeros_like(path))
    return (paddle.equal(path, label.reshape(path.shape).astype("int64")) & inside).astype("int64")


@operator("ctc_align")
def ctc_align(
    input: Tensor, input_length: Tensor | None = None, *, blank: int = 0, merge_repeated: bool = True,
    padding_value: int = 0,
) -> Any:  # fmt: skip
    if input_length is None:
        raise ValueError("[ctc_align] requires lengths: sequences are padded here")
    steps = paddle.arange(0, input.shape[1], 1, "int64").unsqueeze(0)
    kept = paddle.not_equal(input, blank) & (steps < input_length.reshape([-1, 1]).astype("int64"))
    if merge_repeated:
        before = paddle.concat([paddle.full_like(input[:, :1], -1), input[:, :-1]], 1)
        kept = kept & (paddle.not_equal(input, before) | paddle.equal(steps, 0))
    # What stays comes first, in order.
    order = paddle.argsort((~kept).astype("int64") * input.shape[1] + steps, 1)
    count = paddle.sum(kept.astype("int64"), 1, keepdim=True)
    moved = paddle.take_along_axis(input, order, 1, broadcast=False)
    padding = paddle.full_like(moved, padding_value)
    return paddle.where(steps < count, moved, padding), count.astype(input_length.dtype)


@operator("edit_distance")
def edit_distance(
    hyps: Tensor, refs: Tensor, hypslength: Tensor | None = None, refslength: Tensor | None = None, *,
    normalized: bool = False,
) -> Any:  # fmt: skip
    name = "edit_distance"
    if hyps.ndim != 2 or refs.ndim != 2 or hyps.shape[0] != refs.shape[0]:
        required = "as many hypotheses as references, with an axis of items"
        raise op_error(ValueError, name, required, [list(hyps.shape), list(refs.shape)])
    given = []
    for texts, lengths in ((hyps.numpy(), hypslength), (refs.numpy(), refslength)):
        counts = [texts.shape[1]] * len(texts) if lengths is None else lengths.numpy().ravel()
        if len(counts) != len(texts):
            raise op_error(ValueError, name, f"a length for each of {len(texts)} sequences", len(counts))
        given.append([row[:n] for row, n in zip(texts, counts, strict=True)])
    if normalized and not all(map(len, given[1])):
        raise op_error(ValueError, name, "references with items, by whose number distances are divided", "an empty one")
    found = []
    for a, b in zip(*given, strict=True):
        distance = _distance(a, b)
        found.append(distance / len(b) if normalized else distance)
    count = paddle.full([1], len(found), "int64")
    return count, paddle.to_tensor(np.array(found, "float32").reshape(-1, 1))


def _distance(a: np.ndarray, b: np.ndarray) -> float:
    """The number of items that are left out, put in or exchanged on the shortest way from one to the other."""
    row = np.arange(len(b) + 1)
    for i, x in enumerate(a, 1):
        # Exchanging or leaving out at once; putting in is a running minimum.
        best = np.minimum(row[:-1] + (b != x), row[1:] + 1)
        row = np.minimum.accumulate(np.concatenate([[i], best]) - np.arange(len(b) + 1)) + np.arange(len(b) + 1)
    return float(row[-1])
