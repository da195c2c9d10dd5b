"""Sequences that are packed one behind the other, as those of older programs (LoD).

``offsets``: where each of n sequences begins, and the number of all rows: n + 1 integers. Operands have a row for each
item of all sequences. Where an operator makes other sequences, their offsets are its last result.
"""

from __future__ import annotations

from typing import Any

import paddle
from paddle.static.formats.operators import labels
from paddle.static.formats.operators.table import Tensors, bounded, chosen, integer_of, operator
from umiak import ops as F
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.util.errors import op_error

_INT = "int64"


def count_of(offsets: Tensor) -> Any:
    """The number of sequences."""
    return offsets.shape[0] - 1


def lengths_of(offsets: Tensor) -> Tensor:
    """The number of items of each sequence."""
    return offsets[1:] - offsets[:-1]


def owners_of(offsets: Tensor, x: Tensor) -> Tensor:
    """Of each row of ``x`` the number of its sequence."""
    return paddle.searchsorted(offsets[1:], rows_of(x), right=True)


def offsets_of(lengths: Tensor) -> Tensor:
    """Offsets of sequences of these lengths."""
    return paddle.concat([paddle.zeros([1], _INT), paddle.cumsum(lengths.reshape([-1]).astype(_INT))])


def rows_of(x: Tensor) -> Tensor:
    """The numbers of all rows."""
    return paddle.arange(0, x.shape[0], 1, _INT)


def _column(x: Tensor, like: Tensor) -> Tensor:
    """A vector along the rows of another tensor."""
    return x.reshape([-1, *[1] * (like.ndim - 1)])


def _within(x: Tensor, places: Tensor) -> Tensor:
    """Rows at places, those outside of the tensor at its edge."""
    return paddle.gather(x, paddle.clip(places, 0, x.shape[0] - 1))


def _sums(x: Tensor, offsets: Tensor, owners: Tensor) -> Tensor:
    zeros = paddle.zeros([count_of(offsets), *x.shape[1:]], x.dtype)
    return paddle.scatter_nd_add(zeros, owners.unsqueeze(1), x)


def _most(x: Tensor, offsets: Tensor, owners: Tensor) -> Tensor:
    return paddle.geometric.send_u_recv(x, rows_of(x), owners, "max", out_size=count_of(offsets))


def _require(fits: Tensor, op_name: str, required: str) -> None:
    F.require(fits, kind="ValueError", args=(f"[{op_name}] requires {required}, got others",))


@operator("sequence_checked_offsets")
def sequence_checked_offsets(offsets: Tensor, divided: Tensor, *, label: str, of_rows: bool) -> Any:
    """Offsets that are given, of rows or of the sequences that other offsets are of. ValueError where they are none."""
    end = divided.shape[0] if of_rows else divided.shape[0] - 1
    begins = paddle.any(paddle.equal(offsets[:1], 0))  # there may be none
    fits = begins & paddle.all(lengths_of(offsets) >= 0) & paddle.any(paddle.equal(offsets[-1:], end))
    what = "rows" if of_rows else "sequences of the next level"
    _require(fits, "run", f"offsets {label!r} that begin with 0, grow, and end with the number of {what}")
    return offsets


@operator("sequence_lengths")
def sequence_lengths(offsets: Tensor) -> Any:
    return lengths_of(offsets).astype("int32")


@operator("sequence_offsets")
def sequence_offsets(lengths: Tensor) -> Any:
    return offsets_of(lengths)


@operator("sequence_owners")
def sequence_owners(x: Tensor, offsets: Tensor) -> Any:
    return owners_of(offsets, x)


@operator("sequence_offsets_of_equal")
def sequence_offsets_of_equal(x: Tensor, images: Tensor) -> Any:
    """Offsets where each image has as many rows of ``x`` as any other."""
    each = x.shape[0] // images.shape[0]
    return paddle.arange(0, images.shape[0] + 1, 1, _INT) * each


@operator("sequence_pool")
def sequence_pool(x: Tensor, offsets: Tensor, *, pooltype: str = "AVERAGE", pad_value: float = 0.0) -> Any:
    owners, lengths = owners_of(offsets, x), _column(lengths_of(offsets), x)
    kind = pooltype.upper()
    if kind == "MAX":
        made = _most(x, offsets, owners)
    elif kind in ("FIRST", "LAST"):
        made = _within(x, offsets[:-1] if kind == "FIRST" else offsets[1:] - 1)
    else:
        divisors = {"SUM": None, "AVERAGE": lengths.astype(x.dtype), "SQRT": paddle.sqrt(lengths.astype(x.dtype))}
        divisor = chosen(divisors, kind)
        made = _sums(x, offsets, owners)
        made = made if divisor is None else made / divisor
    return paddle.where(lengths > 0, made, paddle.full_like(made, pad_value))


@operator("sequence_softmax")
def sequence_softmax(x: Tensor, offsets: Tensor) -> Any:
    owners = owners_of(offsets, x)
    e = paddle.exp(x - paddle.gather(_most(x, offsets, owners), owners))
    return e / paddle.gather(_sums(e, offsets, owners), owners)


def _neighbour(x: Tensor, offsets: Tensor, owners: Tensor, distance: int) -> tuple[Tensor, Tensor]:
    """Of each row the one that far behind it in its sequence, and whether there is one."""
    places = rows_of(x) + distance
    inside = (places >= paddle.gather(offsets[:-1], owners)) & (places < paddle.gather(offsets[1:], owners))
    return _within(x, places), _column(inside, x)


@operator("sequence_conv")
def sequence_conv(
    x: Tensor, offsets: Tensor, filter: Tensor, around: Tensor | None = None, *,
    context_length: int, context_start: int = 0,
) -> Any:  # fmt: skip
    """``around``: rows before a sequence, and behind it, those next to it first to count; None: zeros."""
    owners, parts = owners_of(offsets, x), []
    starts, ends = paddle.gather(offsets[:-1], owners), paddle.gather(offsets[1:], owners)
    before = max(-context_start, 0)
    for k in range(bounded(context_length)):
        distance = context_start + k
        row, inside = _neighbour(x, offsets, owners, distance)
        if around is None or not distance:
            parts.append(row * inside.astype(x.dtype))
            continue
        places = rows_of(x) + distance
        outside = before + (places - starts if distance < 0 else places - ends)
        parts.append(paddle.where(inside, row, _within(around, outside)))
    return paddle.matmul(paddle.concat(parts, 1), filter)


@operator("sequence_row_conv")
def sequence_row_conv(x: Tensor, offsets: Tensor, filter: Tensor) -> Any:
    owners = owners_of(offsets, x)
    made = paddle.zeros_like(x)
    for k in range(bounded(filter.shape[0])):
        row, inside = _neighbour(x, offsets, owners, k)
        made = made + row * inside.astype(x.dtype) * filter[k]
    return made


@operator("sequence_enumerate")
def sequence_enumerate(x: Tensor, offsets: Tensor, *, win_size: int, pad_value: int = 0) -> Any:
    owners, parts = owners_of(offsets, x), []
    for k in range(bounded(win_size)):
        row, inside = _neighbour(x, offsets, owners, k)
        parts.append(paddle.where(inside, row, paddle.full_like(row, pad_value)).reshape([-1, 1]))
    return paddle.concat(parts, 1)


@operator("sequence_reverse")
def sequence_reverse(x: Tensor, offsets: Tensor) -> Any:
    owners = owners_of(offsets, x)
    both = paddle.gather(offsets[:-1], owners) + paddle.gather(offsets[1:], owners)
    return paddle.gather(x, both - 1 - rows_of(x))


@operator("sequence_repeat")
def sequence_repeat(x: Tensor, times: Tensor) -> Any:
    """Each row as often as the sequence of its number in ``times``, which are offsets, has items."""
    return paddle.repeat_interleave(x, lengths_of(times), 0)


@operator("sequence_expand_as")
def sequence_expand_as(x: Tensor, y: Tensor, offsets: Tensor) -> Any:
    """Each row for all items of a sequence of ``y``."""
    return paddle.gather(x, owners_of(offsets, y))


@operator("sequence_expand")
def sequence_expand(x: Tensor, offsets: Tensor, times: Tensor) -> Any:
    """Each sequence as often as that of its number in ``times``, which are offsets, has items."""
    found = paddle.repeat_interleave(paddle.arange(0, count_of(offsets), 1, _INT), lengths_of(times), 0)
    return _picked(x, paddle.gather(offsets[:-1], found), paddle.gather(lengths_of(offsets), found))


def _picked(x: Tensor, starts: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Parts of the rows as new sequences, and their offsets."""
    offsets = offsets_of(lengths)
    shifts = paddle.repeat_interleave(starts - offsets[:-1], lengths, 0)
    return paddle.gather(x, shifts + rows_of(shifts)), offsets


@operator("sequence_slice")
def sequence_slice(x: Tensor, offsets: Tensor, offset: Tensor, length: Tensor) -> Any:
    first, count = (v.reshape([-1]).astype(_INT) for v in (offset, length))
    fits = paddle.all((first >= 0) & (count >= 0) & (first + count <= lengths_of(offsets)))
    _require(fits, "sequence_slice", "parts that lie within their sequences")
    return _picked(x, offsets[:-1] + first, count)


@operator("sequence_concat")
def sequence_concat(xs: Tensors, offsets: Tensors) -> Any:
    """The first sequences of all operands, one behind the other, then the second ones."""
    together = sum(offsets[1:], offsets[0])
    before = together[:-1]
    places = []
    for x, own in zip(xs, offsets, strict=True):
        places.append(rows_of(x) + paddle.gather(before - own[:-1], owners_of(own, x)))
        before = before + lengths_of(own)
    return paddle.gather(paddle.concat(xs), paddle.argsort(paddle.concat(places))), together


@operator("sequence_reshape")
def sequence_reshape(x: Tensor, offsets: Tensor, *, new_dim: int) -> Any:
    return x.reshape([-1, new_dim]), offsets * x.shape[1] // new_dim


@operator("sequence_erase")
def sequence_erase(x: Tensor, offsets: Tensor, *, tokens: Any) -> Any:
    kept = paddle.full_like(x, True, "bool")
    for token in tokens:
        kept = kept & paddle.not_equal(x, paddle.full_like(x, token))
    return _only(x, kept.reshape([-1]), offsets)


def _only(x: Tensor, kept: Tensor, offsets: Tensor) -> tuple[Tensor, Tensor]:
    """The rows that are kept, and the offsets of what is left of the sequences."""
    before = offsets_of(kept)
    return paddle.gather(x, paddle.nonzero(kept).reshape([-1])), paddle.gather(before, offsets)


@operator("sequence_ctc_align")
def sequence_ctc_align(x: Tensor, offsets: Tensor, *, blank: int = 0, merge_repeated: bool = True) -> Any:
    kept = paddle.not_equal(x, paddle.full_like(x, blank))
    if merge_repeated:
        row, inside = _neighbour(x, offsets, owners_of(offsets, x), -1)
        kept = kept & ~(inside & paddle.equal(x, row))
    # A row of -1 where nothing is left, which no sequence has.
    x = paddle.concat([x, paddle.full_like(x[:1], -1)])
    kept = kept.reshape([-1])
    return _only(x, paddle.concat([kept, ~paddle.any(kept, keepdim=True)]), offsets)


@operator("sequence_scatter")
def sequence_scatter(x: Tensor, ids: Tensor, offsets: Tensor, updates: Tensor) -> Any:
    places = paddle.stack([owners_of(offsets, ids), ids.reshape([-1]).astype(_INT)], 1)
    return paddle.scatter_nd_add(x, places, updates.reshape([-1]))


# --- padded


def padded(x: Tensor, offsets: Tensor, value: Tensor | None = None, longest: Any = None) -> Tensor:
    """Sequences as rows of a batch, [n, longest, ...]."""
    lengths = lengths_of(offsets)
    steps = paddle.arange(0, integer_of(paddle.max(lengths)) if longest is None else longest, 1, _INT)
    places = offsets[:-1].unsqueeze(1) + steps.unsqueeze(0)
    made = _within(x, places.reshape([-1])).reshape([*places.shape, *x.shape[1:]])
    inside = (steps.unsqueeze(0) < lengths.unsqueeze(1)).reshape([*places.shape, *[1] * (x.ndim - 1)])
    zero = paddle.zeros([], x.dtype) if value is None else value.reshape([-1]) if value.ndim < x.ndim - 1 else value
    return paddle.where(inside, made, paddle.expand(zero, made.shape))


@operator("sequence_pad")
def sequence_pad(x: Tensor, offsets: Tensor, pad_value: Tensor, *, padded_length: int = -1) -> Any:
    lengths = lengths_of(offsets)
    if padded_length == -1:
        return padded(x, offsets, pad_value), lengths
    fits = paddle.all(lengths <= bounded(padded_length))
    _require(fits, "sequence_pad", f"a padded_length of at least the length of the longest sequence ({padded_length})")
    return padded(x, offsets, pad_value, padded_length), lengths


@operator("sequence_unpad")
def sequence_unpad(x: Tensor, length: Tensor) -> Any:
    lengths = length.reshape([-1]).astype(_INT)
    fits = paddle.all((lengths >= 0) & (lengths <= x.shape[1]))
    _require(fits, "sequence_unpad", "lengths of at most the padded one")
    inside = paddle.arange(0, x.shape[1], 1, _INT).unsqueeze(0) < lengths.unsqueeze(1)
    flat = x.reshape([-1, *x.shape[2:]])
    return paddle.gather(flat, paddle.nonzero(inside.reshape([-1])).reshape([-1])), offsets_of(lengths)


@operator("sequence_crf_decoding")
def sequence_crf_decoding(emission: Tensor, offsets: Tensor, transition: Tensor, label: Tensor | None = None) -> Any:
    path = labels.crf_decoding(padded(emission, offsets), transition, None, lengths_of(offsets))
    owners = owners_of(offsets, emission)
    steps = rows_of(emission) - paddle.gather(offsets[:-1], owners)
    found = paddle.gather(path.reshape([-1]), owners * path.shape[1] + steps).reshape([-1, 1])
    return found if label is None else paddle.equal(found, label.reshape([-1, 1]).astype(found.dtype)).astype(_INT)


@operator("sequence_edit_distance")
def sequence_edit_distance(
    hyps: Tensor, of_hyps: Tensor, refs: Tensor, of_refs: Tensor, *, normalized: bool = False
) -> Any:
    if not dim.eq(count_of(of_hyps), count_of(of_refs)):
        got = [count_of(of_hyps), count_of(of_refs)]
        raise op_error(ValueError, "edit_distance", "as many hypotheses as references", got)
    sides = [padded(x.reshape([-1]), offsets) for x, offsets in ((hyps, of_hyps), (refs, of_refs))]
    return labels.edit_distance(*sides, lengths_of(of_hyps), lengths_of(of_refs), normalized=normalized)
