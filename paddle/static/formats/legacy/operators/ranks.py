"""Recurrence over the ranks of sequences (``DynamicRNN``), and rows that go one way or the other (``IfElse``).

The longest sequence has the first rank. A step takes in the sequences that are long enough, which are the first ones,
so a memory is cut where the shorter ones end. A table of ranks is a tensor: the number and the length of each sequence,
by rank; what it has as levels of sequences are those above the one that it ranks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddle.static.formats.graph import TensorType
from paddle.static.formats.legacy.packed import OFFSETS
from paddle.static.formats.legacy.program import Operator
from paddle.static.formats.legacy.table import rule
from umiak.ir.serialise import FormatError

if TYPE_CHECKING:
    from paddle.static.formats.legacy.translate import Translator

_RANKS, _LONGEST, _LISTS = TensorType("int64", (-1, 2)), TensorType("int64", (1,)), (OFFSETS,)


@rule("lod_rank_table")
def _ranked(t: Translator, o: Operator) -> None:
    levels, level = t.packed.of(t.input(o, "X")), o.get("level", 0)
    if not 0 <= level < len(levels):
        raise FormatError(f"a level of the sequences of its input 'X' is required, got {level} of {len(levels)}")
    (made,) = t.call_for("sequence_ranks", [levels[level]], [_RANKS])
    t.define(o, "Out", made)
    t.packed.give(made, *levels[:level])


@rule("max_sequence_len")
def _longest(t: Translator, o: Operator) -> None:
    t.define(o, "Out", *t.call_for("sequence_longest", [t.input(o, "RankTable")], [_LONGEST]))


@rule("lod_tensor_to_array")
def _steps(t: Translator, o: Operator) -> None:
    x, table = t.input(o, "X"), t.input(o, "RankTable")
    above, levels = len(t.packed.of(table)), t.packed.of(x)
    if len(levels) <= above:
        raise FormatError(f"at least {above + 1} levels of sequences in its input 'X' are required, got {len(levels)}")
    levels = levels[above:]
    types = [t.result_type(o, "Out"), *[_LISTS] * (len(levels) - 1)]
    made, *below = t.call_for("sequence_steps", [x, table, t.combine(levels)], types)
    t.define(o, "Out", made)
    t.packed.give(made, *below)


@rule("array_to_lod_tensor")
def _whole(t: Translator, o: Operator) -> None:
    x, table = t.input(o, "X"), t.input(o, "RankTable")
    below = t.packed.of(x)
    types = [t.result_type(o, "Out"), *[OFFSETS] * (len(below) + 1)]
    made, *levels = t.call_for("sequence_of_steps", [x, table, *([t.combine(below)] if below else [])], types)
    t.define(o, "Out", made)
    t.packed.give(made, *t.packed.of(table), *levels)


@rule("shrink_rnn_memory")
def _shrunk(t: Translator, o: Operator) -> None:
    _picked(t, o, "sequence_going_on", t.input(o, "I"))


@rule("reorder_lod_tensor_by_rank")
def _reordered(t: Translator, o: Operator) -> None:
    _picked(t, o, "sequence_by_rank")


def _picked(t: Translator, o: Operator, name: str, *more: int) -> None:
    """Some sequences of an operand, or some of its rows if it has none."""
    x = t.input(o, "X")
    levels = t.packed.of(x)
    types = [t.result_type(o, "Out"), *[OFFSETS] * len(levels)]
    made, *own = t.call_for(name, [x, t.input(o, "RankTable"), _listed(t, levels), *more], types)
    t.define(o, "Out", made)
    t.packed.give(made, *own)


def _listed(t: Translator, levels: tuple[int, ...]) -> int | None:
    return t.combine(levels) if levels else None


# --- one way or the other


def _outermost(o: Operator) -> None:
    if o.get("level", 0) != 0:
        raise FormatError(f"a level of 0 is required, got {o.get('level', 0)}")


@rule("split_lod_tensor")
def _split(t: Translator, o: Operator) -> None:
    _outermost(o)
    x = t.input(o, "X")
    levels = t.packed.of(x)
    for slot, chosen in (("OutTrue", True), ("OutFalse", False)):
        types = [t.result_type(o, slot), *[OFFSETS] * len(levels)]
        operands = [x, t.input(o, "Mask"), _listed(t, levels)]
        made, *own = t.call_for("sequence_split", operands, types, chosen=chosen)
        t.define(o, slot, made)
        t.packed.give(made, *own)


@rule("merge_lod_tensor", "merge_lod_tensor_infer")
def _merge(t: Translator, o: Operator) -> None:
    _outermost(o)
    yes, no = t.input(o, "InTrue"), t.input(o, "InFalse")
    levels = t.packed.of(yes), t.packed.of(no)
    if len(levels[0]) != len(levels[1]):
        raise FormatError(f"as many levels of sequences on both ways are required, got {[*map(len, levels)]}")
    operands = [t.input(o, "Mask"), yes, no, _listed(t, levels[0]), _listed(t, levels[1])]
    types = [t.result_type(o, "Out"), *[OFFSETS] * len(levels[0])]
    made, *own = t.call_for("sequence_merged", operands, types)
    t.define(o, "Out", made)
    t.packed.give(made, *own)
