"""Feeds and fetches, branches, and loops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from paddle.static.formats.graph import FETCH, Attribute, Block, TensorType, ValueType
from paddle.static.formats.legacy.operators.lists import begin_lists
from paddle.static.formats.legacy.packed import OFFSETS
from paddle.static.formats.legacy.program import Operator
from paddle.static.formats.legacy.table import rows, rule
from umiak.ir.serialise import FormatError

if TYPE_CHECKING:
    from paddle.static.formats.legacy.translate import Translator

IF, WHILE = "pd_op.if", "pd_op.while"

# What moves or marks a tensor changes nothing of its value.
rows("""
memcpy: assign(X) -> Out
memcpy_d2h: assign(X) -> Out
memcpy_h2d: assign(X) -> Out
share_data: assign(X) -> Out
depend: assign(X) -> Out
npu_identity: assign(x) -> out
c_identity: assign(X) -> Out
print: print(In; first_n message summarize print_tensor_name print_tensor_type print_tensor_shape print_tensor_layout
    print_tensor_lod print_phase is_forward) -> Out
assert: assert(Cond, Data*; summarize~-1) -> _
""")


@rule("feed")
def _feed(t: Translator, o: Operator) -> None:
    """Data were made before everything else, in the order of columns."""


@rule("fetch", "fetch_v2")
def _fetch(t: Translator, o: Operator) -> None:
    name = o.reads("X")
    attributes = {"name": Attribute("str", name), "col": Attribute("i32", o.get("col", 0))}
    t.emit(FETCH, [t.input(o, "X")], attributes, [t.variable_type(name)])


@rule("share_buffer")
def _share_buffer(t: Translator, o: Operator) -> None:
    for x, y in zip(o.inputs.get("X", ()), o.outputs.get("Out", ())):
        t.values[y] = t.value(x)


# --- branches


@dataclass(eq=False)
class _Branch:
    """A conditional block. It is translated where the values that it makes are needed: together with its alternative,
    which is another conditional block, of the negated condition.
    """

    condition: int
    block: int
    before: dict[str, Any]  # values where it stood

    def translate(self, t: Translator, names: list[str]) -> _Way:
        """The block, which gives these variables."""
        with t.region(self.block, self.before, {}) as region:
            levels = _given(t, [t.value(n) for n in names])
        return _Way(region.block, levels)

    def settle(self, t: Translator, name: str) -> int:
        """A variable of the block that is read without an alternative: zeros, if the block was not run."""
        type = t.variable_type(name)
        if not isinstance(type, TensorType):
            raise FormatError(f"a variable of a known type is required, got {name!r}, which one branch makes")
        (made,) = _if(t, self.condition, [type], self.translate(t, [name]), _zeros(t, type))
        t.values[name] = made
        return made


class _Way(NamedTuple):
    """One way of a branch: offsets of the values that it gives, None where they have them on some ways alone."""

    block: Block
    levels: list[tuple[int, ...] | None]


def _given(t: Translator, numbers: list[int]) -> list[tuple[int, ...] | None]:
    """End the current block with values; return their offsets."""
    levels = [t.packed.carried(n) for n in numbers]
    t.give(numbers)
    return levels


def _if(t: Translator, condition: int, types: list[ValueType], then: _Way, other: _Way) -> list[int]:
    """A branch. Values that have as many levels of sequences on both ways have them behind it."""
    count = len(types)
    pairs = zip(then.levels, other.levels, strict=True)
    agreed = [x if x is not None and y is not None and len(x) == len(y) else None for x, y in pairs]
    for way in (then, other):
        given = [n for levels, both in zip(way.levels, agreed) if both is not None for n in levels or ()]
        way.block.operations[-1].operands.extend(given)
    of_lists = [(OFFSETS,) if isinstance(x, tuple) and not isinstance(x, TensorType) else OFFSETS for x in types]
    more = [of for of, both in zip(of_lists, agreed) for _ in both or ()]
    made = t.emit(IF, [condition], {}, [*types, *more], [then.block, other.block])
    t.packed.spread(made[:count], made[count:], agreed)
    return made[:count]


def _zeros(t: Translator, type: TensorType) -> _Way:
    with t.inner() as block:
        levels = _given(t, [t.scalar(0, type.dtype, [max(n, 1) for n in type.shape])])
    return _Way(block, levels)


def _kept(t: Translator, numbers: list[int]) -> _Way:
    with t.inner() as block:
        levels = _given(t, numbers)
    return _Way(block, levels)


def _written(t: Translator, number: int) -> list[str]:
    """Variables from outside that a block writes, in order."""
    if number not in t.writes:
        block = t.program.blocks[number]
        found: dict[str, None] = {}
        for o in block.operators:
            slots = (names for slot, names in o.outputs.items() if slot not in ("Scope", "StepScopes", "XShape"))
            inner = (_written(t, n) for n in o.blocks)
            found.update((n, None) for names in (*slots, *inner) for n in names if n not in block.variables)
        t.writes[number] = list(found)
    return t.writes[number]


@rule("conditional_block", "conditional_block_infer")
def _conditional_block(t: Translator, o: Operator) -> None:
    block = o.block
    names = _written(t, block)
    if not o.get("is_scalar_condition", False):
        _of_some_rows(t, block, names)
        return
    begin_lists(t, names)
    branch = _Branch(t.input(o, "Cond"), block, dict(t.values))
    replaced = [n for n in names if n in t.values]
    if replaced:
        before = [t.value(n) for n in replaced]
        made = _if(t, branch.condition, [t.types[n] for n in before], branch.translate(t, replaced), _kept(t, before))
        t.values.update(zip(replaced, made, strict=True))
    t.values.update((n, branch) for n in names if n not in replaced)


def _of_some_rows(t: Translator, block: int, names: list[str]) -> None:
    """A block that is run where its inputs have rows, as those of ``IfElse``: without rows it gives none."""
    if any(n in t.values for n in names):
        raise FormatError("a condition of one element is required ('is_scalar_condition') for what was written before")
    with t.inlined(block, t.values):
        made = {n: t.value(n) for n in names if n in t.values}
    t.values.update(made)


@rule("select_input")
def _select_input(t: Translator, o: Operator) -> None:
    """The second variable where the mask is 1, else the first one: what the two branches of a condition make."""
    names = o.inputs.get("X", [])
    out = o.into("Out")
    if len(names) != 2:
        raise FormatError(f"two variables as its input 'X' are required, got {names}")
    given = [t.values.get(n) for n in names]
    other, then = given
    if other == then and isinstance(then, int):  # both ways wrote to it
        t.values[out] = then
        return
    if not (
        isinstance(other, _Branch) and isinstance(then, _Branch) and _negated(t, other.condition) == then.condition
    ):
        type = t.variable_type(out)
        (t.values[out],) = t.emit("pd_op.select_input", [t.input(o, "Mask"), *(t.value(n) for n in names)], {}, [type])
        return
    # All results of the two branches at once.
    found = [
        p for p in t.following(o)
        if p.type == "select_input" and len(p.inputs.get("X", ())) == 2 and p.outputs.get("Out")
        and [t.values.get(n) for n in p.inputs["X"]] == given
    ]  # fmt: skip
    pairs = [(p.inputs["X"], p.into("Out")) for p in found]
    types = [t.variable_type(name) for _, name in pairs]
    regions = then.translate(t, [x[1] for x, _ in pairs]), other.translate(t, [x[0] for x, _ in pairs])
    for (_, name), n in zip(pairs, _if(t, then.condition, types, *regions), strict=True):
        t.values[name] = n
    t.chosen.update(id(p) for p in found)


def _negated(t: Translator, n: int) -> int | None:
    made = t.makers.get(n)
    return made.operands[0] if made is not None and made.name == "pd_op.logical_not" else None


# --- loops


@rule("while")
def _while(t: Translator, o: Operator) -> None:
    """The condition, and what the body writes, go around."""
    block, condition = o.block, o.reads("Condition")
    written = _written(t, block)
    begin_lists(t, written)
    carried = [n for n in written if n != condition and n in t.values]
    before = [t.value(n) for n in carried]
    first = t.value(condition)
    levels = [t.packed.carried(n) for n in before]
    # Which levels of sequences lists come to have, and what has others behind an iteration, the body says.
    while True:
        region = t.region(block, t.values, {n: t.types[v] for n, v in zip(carried, before, strict=True)})
        arguments = [region.values[n] for n in carried]
        for n, argument in zip(before, arguments, strict=True):
            if t.packed.unwritten(n):
                t.packed.begin(argument)
        numbers = [region.argument(t.types[x]) for of in levels for x in of or ()]
        t.packed.spread(arguments, numbers, levels)
        with region:
            after = [t.value(n) for n in carried]
            found = [t.packed.carried(n) for n in after]
            settled = [_levels(t, *each) for each in zip(before, levels, found, strict=True)]
            t.give([t.value(condition), *after, *(n for of in found for n in of or ())])
        if [*map(_depth, settled)] == [*map(_depth, levels)]:
            break
        levels = [
            t.packed.empty_lists(len(now)) if now and not of else now for of, now in zip(levels, settled, strict=True)
        ]
    given = [n for of in levels for n in of or ()]
    types = [*(t.types[n] for n in before), *(t.types[n] for n in given)]
    made = t.emit(WHILE, [first, *before, *given], {}, types, [region.block])
    t.packed.spread(made[: len(carried)], made[len(carried) :], levels)
    t.values.update(zip(carried, made, strict=False))
    type = t.types[first]
    shape = type.shape if isinstance(type, TensorType) and -1 not in type.shape else (1,)
    t.values[condition] = t.scalar(False, "bool", shape)  # a loop ends when it is false


def _depth(levels: tuple[int, ...] | None) -> int | None:
    return None if levels is None else len(levels)


def _levels(
    t: Translator, before: int, given: tuple[int, ...] | None, after: tuple[int, ...] | None
) -> tuple[int, ...] | None:
    """Offsets that a value begins a loop with, so that it ends an iteration with as many levels."""
    if given is None or after is None:
        return None
    if len(given) == len(after):
        return given
    return after if not given and t.packed.unwritten(before) else None
