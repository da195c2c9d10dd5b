"""Operators over packed sequences, which get offsets as operands and give those of what they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from paddle.static.formats.graph import Attribute, TensorType, ValueType
from paddle.static.formats.legacy.operators.broadcasting import activated, matrices
from paddle.static.formats.legacy.packed import OFFSETS
from paddle.static.formats.legacy.program import Operator
from paddle.static.formats.legacy.table import row, rule
from umiak.ir.serialise import FormatError

if TYPE_CHECKING:
    from paddle.static.formats.legacy.translate import Translator

_COUNTS = TensorType("int32", (-1,))


def _of(t: Translator, o: Operator, slot: str) -> int:
    """The offsets of the rows of an operand."""
    return t.packed.innermost(t.input(o, slot), slot)


def _result(t: Translator, o: Operator, slot: str, name: str, operands: Sequence[int | None], **attributes: Any) -> int:
    """An operation with one result."""
    (made,) = t.call_for(name, operands, [t.result_type(o, slot)], **attributes)
    t.define(o, slot, made)
    return made


def _renewed(t: Translator, o: Operator, name: str, operands: Sequence[int | None], **attributes: Any) -> None:
    """An operation whose result has sequences of its own."""
    made, offsets = t.call_for(name, operands, [t.result_type(o, "Out"), OFFSETS], **attributes)
    t.define(o, "Out", made)
    t.packed.give(made, offsets)


def _from_lengths(t: Translator, lengths: int) -> int:
    return t.call_for("sequence_offsets", [lengths], [OFFSETS])[0]


# --- over items


@rule("sequence_pool")
def _pool(t: Translator, o: Operator) -> None:
    _pooled(t, o, t.input(o, "X"), "X")


def _pooled(t: Translator, o: Operator, x: int, slot: str) -> None:
    kind, value = o.get("pooltype", "AVERAGE"), float(o.get("pad_value", 0.0))
    offsets = [x, t.packed.innermost(x, slot)]
    made = _result(t, o, "Out", "sequence_pool", offsets, pooltype=kind, pad_value=value)
    t.packed.give(made, *t.packed.of(x)[:-1])


@rule("sequence_softmax", "sequence_reverse")
def _by_item(t: Translator, o: Operator) -> None:
    slot = "Y" if o.type == "sequence_reverse" else "Out"
    x = t.input(o, "X")
    t.packed.share(x, _result(t, o, slot, o.type, [x, _of(t, o, "X")]))


@rule("sequence_conv")
def _conv(t: Translator, o: Operator) -> None:
    t.packed.share(t.input(o, "X"), _convolved(t, o, t.result_type(o, "Out")))


def _convolved(t: Translator, o: Operator, type: ValueType) -> int:
    if o.get("contextStride", 1) != 1:
        raise FormatError(f"'contextStride' of 1 is required, got {o.get('contextStride', 1)}")
    around = t.input(o, "PaddingData") if o.get("paddingTrainable", False) else None
    operands = [t.input(o, "X"), _of(t, o, "X"), t.input(o, "Filter"), around]
    size = {"context_length": o.get("contextLength", 1), "context_start": o.get("contextStart", 0)}
    (made,) = t.call_for("sequence_conv", operands, [type], **size)
    t.define(o, "Out", made)
    return made


@rule("row_conv")
def _row_conv(t: Translator, o: Operator) -> None:
    """Of rows of a batch, or of packed ones."""
    x = t.input(o, "X")
    if t.packed.has(x):
        t.packed.share(x, _result(t, o, "Out", "sequence_row_conv", [x, _of(t, o, "X"), t.input(o, "Filter")]))
    else:
        t.row(o, _ROW_CONV)


_ROW_CONV = row("row_conv: row_conv(X, Filter) -> Out")


@rule("sequence_enumerate")
def _enumerate(t: Translator, o: Operator) -> None:
    sizes = {"win_size": o.get("win_size", 1), "pad_value": o.get("pad_value", 0)}
    _result(t, o, "Out", "sequence_enumerate", [t.input(o, "X"), _of(t, o, "X")], **sizes)


@rule("sequence_erase")
def _erase(t: Translator, o: Operator) -> None:
    _renewed(t, o, "sequence_erase", [t.input(o, "X"), _of(t, o, "X")], tokens=o.integers("tokens"))


@rule("sequence_scatter")
def _scatter(t: Translator, o: Operator) -> None:
    x, ids, updates = (t.input(o, k) for k in ("X", "Ids", "Updates"))
    _result(t, o, "Out", "sequence_scatter", [x, ids, _of(t, o, "Ids"), updates])


# --- other sequences


@rule("sequence_expand")
def _expand(t: Translator, o: Operator) -> None:
    x, y = t.input(o, "X"), t.input(o, "Y")
    levels, level = t.packed.of(y), o.get("ref_level", -1)
    if not levels or not -1 <= level < len(levels):
        raise FormatError(f"a level of the sequences of its input 'Y' is required, got {level} of {len(levels)}")
    times = levels[level]
    if t.packed.has(x):
        _renewed(t, o, "sequence_expand", [x, _of(t, o, "X"), times])
    elif times == levels[-1]:
        t.packed.give(_result(t, o, "Out", "sequence_expand_as", [x, y, times]))
    else:
        t.packed.give(_result(t, o, "Out", "sequence_repeat", [x, times]))


@rule("sequence_expand_as")
def _expand_as(t: Translator, o: Operator) -> None:
    x, y = t.input(o, "X"), t.input(o, "Y")
    t.packed.share(y, _result(t, o, "Out", "sequence_expand_as", [x, y, _of(t, o, "Y")]))


@rule("sequence_slice")
def _slice(t: Translator, o: Operator) -> None:
    _renewed(t, o, "sequence_slice", [t.input(o, "X"), _of(t, o, "X"), t.input(o, "Offset"), t.input(o, "Length")])


@rule("sequence_concat")
def _concat(t: Translator, o: Operator) -> None:
    xs = t.inputs(o, "X")
    _renewed(t, o, "sequence_concat", [t.combine(xs), t.combine([t.packed.innermost(x, "X") for x in xs])])


@rule("sequence_reshape")
def _reshape(t: Translator, o: Operator) -> None:
    _renewed(t, o, "sequence_reshape", [t.input(o, "X"), _of(t, o, "X")], new_dim=o.get("new_dim", 0))


@rule("sequence_pad")
def _pad(t: Translator, o: Operator) -> None:
    operands = [t.input(o, "X"), _of(t, o, "X"), t.input(o, "PadValue")]
    types = [t.result_type(o, "Out"), t.result_type(o, "Length")]
    made, lengths = t.call_for("sequence_pad", operands, types, padded_length=o.get("padded_length", -1))
    for slot, n in (("Out", made), ("Length", lengths)):
        t.define(o, slot, n)
        t.packed.give(n)


@rule("sequence_unpad")
def _unpad(t: Translator, o: Operator) -> None:
    _renewed(t, o, "sequence_unpad", [t.input(o, "X"), t.input(o, "Length")])


@rule("lod_reset")
def _reset(t: Translator, o: Operator) -> None:
    """Offsets are those of another tensor, its elements, or an attribute."""
    made = _result(t, o, "Out", "assign", [t.input(o, "X")])
    y, name = t.optional(o, "Y"), o.inputs["Y"][0] if o.inputs.get("Y") else "target_lod"
    if y is not None and t.packed.has(y):
        *outer, last = t.packed.of(y)
    elif y is not None:
        outer, (last,) = [], t.call_for("cast", [y], [OFFSETS], dtype=Attribute("dtype", OFFSETS.dtype))
    else:
        outer, last = [], t.integers(o.integers("target_lod"))
    offsets = *outer, *t.call_for("sequence_checked_offsets", [last, made], [OFFSETS], label=name, of_rows=True)
    before = t.packed.of(t.input(o, "X")) if o.get("append", False) else ()
    t.packed.give(made, *before, *offsets)


@rule("im2sequence")
def _columns(t: Translator, o: Operator) -> None:
    """Each image is a sequence."""
    t.row(o, _COLUMNS)
    made = t.value(o.into("Out"))
    t.packed.give(made, *t.call_for("sequence_offsets_of_equal", [made, t.input(o, "X")], [OFFSETS]))


_COLUMNS = row("""
im2sequence: im2sequence(X, Y?; out_stride~[1,1] paddings~[0,0,0,0] strides~[1,1] kernels) -> Out
""")


# --- labels


def _padded(t: Translator, o: Operator, lengths: str, *slots: str) -> bool:
    """Return whether operands are rows of one length, with the lengths that count or without; else they are packed."""
    return t.optional(o, lengths) is not None or not all(t.packed.has(t.input(o, k)) for k in slots)


@rule("ctc_align")
def _align(t: Translator, o: Operator) -> None:
    if _padded(t, o, "InputLength", "Input"):
        t.row(o, _ALIGN)
        return
    attributes = {"blank": o.get("blank", 0), "merge_repeated": o.get("merge_repeated", True)}
    operands, types = [t.input(o, "Input"), _of(t, o, "Input")], [t.result_type(o, "Output"), OFFSETS]
    made, offsets = t.call_for("sequence_ctc_align", operands, types, **attributes)
    t.define(o, "Output", made)
    t.packed.give(made, offsets)


_ALIGN = row("""
ctc_align: ctc_align(Input, InputLength?; padding_value~0 merge_repeated~True blank~0) -> Output OutputLength
""")


@rule("crf_decoding")
def _chain(t: Translator, o: Operator) -> None:
    if _padded(t, o, "Length", "Emission"):
        t.row(o, _CHAIN)
        return
    x = t.input(o, "Emission")
    operands = [x, _of(t, o, "Emission"), t.input(o, "Transition"), t.optional(o, "Label")]
    t.packed.share(x, _result(t, o, "ViterbiPath", "sequence_crf_decoding", operands))


_CHAIN = row("crf_decoding: crf_decoding(Emission, Transition, Label?, Length?) -> ViterbiPath")


@rule("edit_distance")
def _distance(t: Translator, o: Operator) -> None:
    if _padded(t, o, "HypsLength", "Hyps", "Refs"):
        t.row(o, _DISTANCE)
        return
    operands = [n for k in ("Hyps", "Refs") for n in (t.input(o, k), _of(t, o, k))]
    types = [t.result_type(o, "SequenceNum"), t.result_type(o, "Out")]
    count, made = t.call_for("sequence_edit_distance", operands, types, normalized=o.get("normalized", False))
    t.define(o, "SequenceNum", count)
    t.define(o, "Out", made)
    t.packed.give(made)


_DISTANCE = row("""
edit_distance: edit_distance(Hyps, Refs, HypsLength?, RefsLength?; normalized~False) -> SequenceNum Out
""")


# --- recurrence

_GATES = {
    "gru": {"activation": "tanh", "gate_activation": "sigmoid"},
    "lstm": {"gate_activation": "sigmoid", "cell_activation": "tanh", "candidate_activation": "tanh"},
}  # fmt: skip
_FLAGS = {"gru": {"is_reverse": False, "origin_mode": False}, "lstm": {"use_peepholes": True, "is_reverse": False}}


def _layer(t: Translator, o: Operator, kind: str, x: int, offsets: int, weight: str, biased: bool = False) -> None:
    """A recurrent layer; ``biased``: the bias of the gates is in ``x``."""
    attributes = {k: o.get(k, d) for k, d in (_GATES[kind] | _FLAGS[kind]).items()}
    operands = [x, offsets, t.input(o, weight), t.optional(o, "Bias"), t.optional(o, "H0")]
    attributes |= {"biased": True} if biased else {}
    slots = ["Hidden"] if kind == "gru" else ["Hidden", "Cell"]
    operands += [] if kind == "gru" else [t.optional(o, "C0")]
    made = t.call_for(f"sequence_{kind}", operands, [t.result_type(o, s) for s in slots], **attributes)
    for slot, n in zip(slots, made, strict=True):
        t.define(o, slot, n)
        t.packed.give(n, offsets)


@rule("gru", "lstm")
def _recurrent(t: Translator, o: Operator) -> None:
    _layer(t, o, o.type, t.input(o, "Input"), _of(t, o, "Input"), "Weight")


@rule("fusion_gru", "fusion_lstm")
def _with_product(t: Translator, o: Operator) -> None:
    """The same over what is not multiplied yet."""
    x = t.input(o, "X")
    _layer(t, o, o.type.removeprefix("fusion_"), matrices(t, x, t.input(o, "WeightX"), 1), _of(t, o, "X"), "WeightH")


@rule("fused_embedding_fc_lstm")
def _of_words(t: Translator, o: Operator) -> None:
    """The same over words, whose table has been multiplied and has the bias of the gates in it."""
    ids = t.input(o, "Ids")
    _layer(t, o, "lstm", _looked_up(t, o, ids, "Embeddings"), t.packed.innermost(ids, "Ids"), "WeightH", biased=True)


# --- what passes fuse


@rule("fused_embedding_seq_pool")
def _words(t: Translator, o: Operator) -> None:
    if o.get("combiner", "sum") != "sum":
        raise FormatError(f"the combiner 'sum' is required, got {o.get('combiner', 'sum')!r}")
    ids = t.input(o, "Ids")
    found = _looked_up(t, o, ids, "W")
    t.packed.share(ids, found)
    _pooled(t, replace(o, attributes={"pooltype": "SUM"}), found, "Ids")


def _looked_up(t: Translator, o: Operator, ids: int, slot: str) -> int:
    """Rows of a table for words that stand in one column."""
    table = t.input(o, slot)
    sizes, columns = t.type(table), t.type(ids)
    if not isinstance(sizes, TensorType) or len(sizes.shape) != 2:
        raise FormatError(
            f"a table of words and their elements (two axes) as its input {slot!r} is required, got {sizes}"
        )
    if isinstance(columns, TensorType) and columns.shape[-1:] not in ((1,), (-1,)):
        raise FormatError(f"words in one column as its input 'Ids' are required, got sizes {list(columns.shape)}")
    (flat,) = t.call_for("reshape", [ids, t.integers([-1])], [TensorType("int64", (-1,))])
    rows = TensorType(sizes.dtype, (-1, sizes.shape[-1]))
    (found,) = t.call_for("embedding", [flat, table], [rows], padding_idx=o.get("padding_idx", -1), sparse=False)
    return found


@rule("fusion_seqconv_eltadd_relu")
def _conv_relu(t: Translator, o: Operator) -> None:
    x = t.input(o, "X")
    made = _convolved(t, o, t.result_type(o, "Out"))
    made = t.call("relu", t.call("add", made, t.input(o, "Bias"), like=made))
    t.define(o, "Out", made)
    t.packed.share(x, made)


@rule("fusion_seqpool_concat")
def _pool_concat(t: Translator, o: Operator) -> None:
    kind, found = o.get("pooltype", "SUM"), []
    for x in t.inputs(o, "X"):
        operands = [x, t.packed.innermost(x, "X")]
        found += t.call_for("sequence_pool", operands, [t.type(x)], pooltype=kind, pad_value=0.0)
    t.packed.give(_result(t, o, "Out", "concat", [t.combine(found), t.scalar(o.get("axis", 1))]))


@rule("fusion_seqexpand_concat_fc")
def _expand_concat(t: Translator, o: Operator) -> None:
    """Rows of the first operand beside one of each other operand for its whole sequence, and a product."""
    first, *rest = t.inputs(o, "X")
    offsets = t.packed.innermost(first, "X")
    rows = [first]
    for x in rest:
        rows += t.call_for("sequence_expand_as", [x, first, offsets], [t.type(x)])
    width = sum(s.shape[-1] for n in rows if isinstance(s := t.type(n), TensorType))
    type = t.type(first)
    if not isinstance(type, TensorType):
        raise FormatError("rows of known sizes are required, got none")
    wide = TensorType(type.dtype, (-1, width))
    (together,) = t.call_for("concat", [t.combine(rows), t.scalar(1)], [wide])
    made = matrices(t, together, t.input(o, "FCWeight"), 1)
    bias = t.optional(o, "FCBias")
    made = made if bias is None else t.call("add", made, bias)
    made = activated(t, made, o.get("fc_activation", "identity").replace("identity", ""), o)
    t.finish(o, "Out", made)
    t.packed.share(first, made)
