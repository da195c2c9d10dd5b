"""Steps of one length (``StaticRNN``): a block that is run for each of them, with memories."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddle.static.formats.graph import Attribute, Result, TensorType, ValueType
from paddle.static.formats.legacy.operators.control import WHILE
from paddle.static.formats.legacy.program import Operator
from paddle.static.formats.legacy.table import rule
from umiak.ir.serialise import FormatError

if TYPE_CHECKING:
    from paddle.static.formats.legacy.translate import Translator

_COUNT, _FLAG = TensorType("int64", (1,)), TensorType("bool", (1,))


@rule("recurrent")
def _recurrent(t: Translator, o: Operator) -> None:
    """The first step, whose results tell sizes, and a loop over the others."""
    inputs, begin, results = (
        o.inputs.get("inputs", []),
        o.inputs.get("initial_states", []),
        o.outputs.get("outputs", []),
    )
    before, after = o.get("ex_states", []), o.get("states", [])
    if not inputs or not len(begin) == len(before) == len(after):
        counts = f"{len(begin)} that begin, {len(before)} before a step and {len(after)} behind it"
        raise FormatError(f"an input and as many memories at each place are required, got {len(inputs)} and {counts}")
    xs = [t.value(n) for n in inputs]
    (count,) = t.call_for("step_count", [t.combine(xs)], [_COUNT])
    one = t.scalar(1)
    last = t.call("subtract", count, one)
    backwards = o.get("reverse", False)

    def step(k: int, memories: list[int]) -> tuple[int, list[int], list[int]]:
        """A step: its place, memories behind it, and results."""
        (at,) = t.call_for("subtract", [last, k], [_COUNT]) if backwards else [k]
        values = dict(t.values)
        for name, x in zip(inputs, xs, strict=True):
            (row,) = t.call_for("gather", [x, at, t.scalar(0)], [None])
            (values[name],) = t.call_for("squeeze", [row, t.integers([0])], [_of_step(t.type(x))])
        values.update(zip(before, memories, strict=True))
        with t.inlined(o.block, values):
            return at, [t.value(str(n)) for n in after], [t.value(n) for n in results]

    at, memories, found = step(t.scalar(0), [t.value(n) for n in begin])
    types = [t.variable_type(n) for n in results]
    rooms = [t.call_for("step_results", [x, count], [of])[0] for x, of in zip(found, types, strict=True)]
    rooms = _placed(t, rooms, at, found)
    carried = [one, *memories, *rooms]
    with t.inner() as block:
        block.arguments = [Result(t.new(t.type(n)), t.type(n)) for n in carried]
        k, *now = (x.number for x in block.arguments)
        at, then, found = step(k, now[: len(begin)])
        rooms = _placed(t, now[len(begin) :], at, found)
        following = t.call("add", k, one)
        (going,) = t.call_for("less_than", [following, count], [_FLAG])
        t.give([going, following, *then, *rooms])
    (going,) = t.call_for("less_than", [one, count], [_FLAG])
    made = t.emit(WHILE, [going, *carried], {}, [t.type(n) for n in carried], [block])
    for name, n in zip(results, made[1 + len(begin) :], strict=True):
        t.stand(name, n)
        t.packed.give(n)


def _of_step(type: ValueType) -> ValueType:
    return TensorType(type.dtype, type.shape[1:]) if isinstance(type, TensorType) else None


def _placed(t: Translator, rooms: list[int], at: int, found: list[int]) -> list[int]:
    """Results of a step where they belong."""
    made = []
    for room, x in zip(rooms, found, strict=True):
        (row,) = t.call_for("unsqueeze", [x, t.integers([0])], [None])
        made += t.call_for("scatter", [room, at, row], [t.type(room)], overwrite=Attribute("bool", True))
    return made
