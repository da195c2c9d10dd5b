"""Operators that few models have: of trees, texts and clicks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddle.static.formats.legacy.packed import OFFSETS
from paddle.static.formats.legacy.program import Operator
from paddle.static.formats.legacy.table import rows, rule
from umiak.ir.serialise import FormatError

if TYPE_CHECKING:
    from paddle.static.formats.legacy.translate import Translator

rows("""
transfer_dtype: cast(X; dtype=out_dtype@dtype) -> Out
tdm_child: tdm_child(X, TreeInfo; dtype@dtype~2) -> Child LeafMask
sampling_id: sampling_id(X) -> Out
hash: hash(X; num_hash~1 mod_by~100000) -> Out
similarity_focus: similarity_focus(X; axis indexes) -> Out
""")


@rule("fusion_seqpool_cvm_concat")
def _clicks(t: Translator, o: Operator) -> None:
    if o.get("axis", 1) != 1:
        raise FormatError(f"an axis of 1 is required, got {o.get('axis', 1)}")
    found = []
    for x in t.inputs(o, "X"):
        operands = [x, t.packed.innermost(x, "X")]
        (pooled,) = t.call_for("sequence_pool", operands, [t.type(x)], pooltype=o.get("pooltype", "SUM"), pad_value=0.0)
        found += t.call_for("cvm", [pooled, t.input(o, "CVM")], [t.type(x)], use_cvm=True)
    (made,) = t.call_for("concat", [t.combine(found), t.scalar(1)], [t.result_type(o, "Out")])
    t.define(o, "Out", made)
    t.packed.give(made, *t.call_for("sequence_offsets_of_equal", [made, made], [OFFSETS]))  # each row is a sequence


# --- two texts


@rule("match_matrix_tensor")
def _matches(t: Translator, o: Operator) -> None:
    """Each pair of texts is a sequence of similarities, of each kind one for each pair of words."""
    x, y = t.input(o, "X"), t.input(o, "Y")
    operands = [x, t.packed.innermost(x, "X"), y, t.packed.innermost(y, "Y"), t.input(o, "W")]
    made, offsets = t.call_for("sequence_matches", operands, [t.result_type(o, "Out"), OFFSETS])
    t.define(o, "Out", made)
    t.packed.give(made, offsets)


@rule("var_conv_2d")
def _convolved(t: Translator, o: Operator) -> None:
    """Each sequence is an image of its own height and width, those of sequences of other operands."""
    sizes = [t.packed.innermost(t.input(o, slot), slot) for slot in ("ROW", "COLUMN")]
    attributes = {
        "channels": o.get("InputChannel", 1), "kernel": [o.get("KernelH", 1), o.get("KernelW", 1)],
        "stride": [o.get("StrideH", 1), o.get("StrideW", 1)],
    }  # fmt: skip
    types = [t.result_type(o, "Out"), OFFSETS]
    made, offsets = t.call_for("sequence_images", [t.input(o, "X"), *sizes, t.input(o, "W")], types, **attributes)
    t.define(o, "Out", made)
    t.packed.give(made, offsets)
