"""Beam search over sequences: the words that go on, and the sentences that they have led to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddle.static.formats.graph import TensorType
from paddle.static.formats.legacy.packed import OFFSETS
from paddle.static.formats.legacy.program import Operator
from paddle.static.formats.legacy.table import rule
from umiak.ir.serialise import FormatError

if TYPE_CHECKING:
    from paddle.static.formats.legacy.translate import Translator

_PARENTS = TensorType("int32", (-1,))


@rule("beam_search")
def _search(t: Translator, o: Operator) -> None:
    scores = t.input(o, "scores")
    levels, level = t.packed.of(scores), o.get("level", 0)
    if not 0 <= level < len(levels):
        raise FormatError(f"a level of the sequences of its input 'scores' is required, got {level} of {len(levels)}")
    of_rows = levels[level]
    for inner in levels[level + 1 :]:
        (of_rows,) = t.call_for("gather", [inner, of_rows, t.scalar(0)], [OFFSETS])
    operands = [t.input(o, "pre_ids"), t.input(o, "pre_scores"), t.optional(o, "ids"), scores, of_rows]
    attributes = {k: o.get(k, 0) for k in ("beam_size", "end_id")} | {"is_accumulated": o.get("is_accumulated", True)}
    types = [t.result_type(o, "selected_ids"), t.result_type(o, "selected_scores"), _PARENTS, OFFSETS]
    ids, kept, parents, offsets = t.call_for("beam_search", operands, types, **attributes)
    for slot, n in (("selected_ids", ids), ("selected_scores", kept), ("parent_idx", parents)):
        t.define(o, slot, n)
    t.packed.give(ids, of_rows, offsets)
    t.packed.give(kept, of_rows, offsets)
    t.packed.give(parents)


@rule("beam_search_decode")
def _decode(t: Translator, o: Operator) -> None:
    ids, scores = t.input(o, "Ids"), t.input(o, "Scores")
    levels = t.packed.of(ids)
    if len(levels) != 2:
        raise FormatError(f"2 levels of sequences in its input 'Ids' are required, got {len(levels)}")
    attributes = {k: o.get(k, 0) for k in ("beam_size", "end_id")}
    types = [t.result_type(o, "SentenceIds"), t.result_type(o, "SentenceScores"), OFFSETS, OFFSETS]
    made = t.call_for("beam_search_decode", [ids, scores, *levels], types, **attributes)
    for slot, n in zip(("SentenceIds", "SentenceScores"), made, strict=False):
        t.define(o, slot, n)
        t.packed.give(n, *made[2:])
