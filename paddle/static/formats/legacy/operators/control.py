"""Feeds and fetches, branches, loops, and lists of tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paddle.static.formats.graph import FETCH, Attribute, Block, TensorType, ValueType
from paddle.static.formats.legacy.program import ARRAY, Operator
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
read_from_array: array_read(X, I) -> Out
tensor_array_to_tensor: array_to_tensor(X; axis~0 use_stack~False) -> Out OutIndex
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


@rule("lod_array_length")
def _array_length(t: Translator, o: Operator) -> None:
    """One element, where today's operator gives none."""
    t.finish(o, "Out", t.call("reshape", t.call("array_length", t.input(o, "X")), t.integers([1])))


@rule("write_to_array")
def _write_to_array(t: Translator, o: Operator) -> None:
    name = o.into("Out")
    x = t.input(o, "X")
    array = t.values.get(name)
    if array is None:
        array = _empty_array(t, name, t.type(x))
    (made,) = t.emit("pd_op.array_write_", [array, x, t.input(o, "I")], {}, [t.variable_type(name)])
    t.define(o, "Out", made)


def _empty_array(t: Translator, name: str, elements: ValueType) -> int:
    """The value of a variable of a list of tensors before anything is written to it."""
    dtype = Attribute("dtype", elements.dtype if isinstance(elements, TensorType) else "float32")
    return t.emit("pd_op.create_array", [], {"dtype": dtype}, [t.variable_type(name)])[0]


def _begin_arrays(t: Translator, names: list[str]) -> None:
    """Lists that a block writes first: no operator makes them, but the variable is there."""
    for name in names:
        variable = t.variable(name)
        if name not in t.values and variable is not None and variable.kind == ARRAY:
            t.values[name] = _empty_array(t, name, variable.type)


# --- branches


@dataclass(eq=False)
class _Branch:
    """A conditional block. It is translated where the values that it makes are needed: together with its alternative,
    which is another conditional block, of the negated condition.
    """

    condition: int
    block: int
    before: dict[str, Any]  # values where it stood

    def translate(self, t: Translator, names: list[str]) -> Block:
        """The block, which gives these variables."""
        with t.region(self.block, self.before, {}) as region:
            t.give([t.value(n) for n in names])
        return region.block

    def settle(self, t: Translator, name: str) -> int:
        """A variable of the block that is read without an alternative: zeros, if the block was not run."""
        type = t.variable_type(name)
        if not isinstance(type, TensorType):
            raise FormatError(f"a variable of a known type is required, got {name!r}, which one branch makes")
        (made,) = _if(t, self.condition, [type], self.translate(t, [name]), _zeros(t, type))
        t.values[name] = made
        return made


def _if(t: Translator, condition: int, types: list[ValueType], then: Block, other: Block) -> list[int]:
    return t.emit(IF, [condition], {}, types, [then, other])


def _zeros(t: Translator, type: TensorType) -> Block:
    with t.inner() as block:
        t.give([t.scalar(0, type.dtype, [max(n, 1) for n in type.shape])])
    return block


def _kept(t: Translator, numbers: list[int]) -> Block:
    with t.inner() as block:
        t.give(numbers)
    return block


def _written(t: Translator, number: int) -> list[str]:
    """Variables from outside that a block writes, in order."""
    block = t.program.blocks[number]
    found: dict[str, None] = {}
    for o in block.operators:
        names = [n for slot, names in o.outputs.items() if slot not in ("Scope", "StepScopes", "XShape") for n in names]
        for inner in o.blocks:
            names += _written(t, inner)
        found.update((n, None) for n in names if n not in block.variables)
    return list(found)


@rule("conditional_block", "conditional_block_infer")
def _conditional_block(t: Translator, o: Operator) -> None:
    if not o.get("is_scalar_condition", False):
        raise FormatError("a condition of one element is required ('is_scalar_condition')")
    block = o.block
    names = _written(t, block)
    _begin_arrays(t, names)
    branch = _Branch(t.input(o, "Cond"), block, dict(t.values))
    replaced = [n for n in names if n in t.values]
    if replaced:
        before = [t.value(n) for n in replaced]
        made = _if(t, branch.condition, [t.types[n] for n in before], branch.translate(t, replaced), _kept(t, before))
        t.values.update(zip(replaced, made, strict=True))
    t.values.update((n, branch) for n in names if n not in replaced)


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
    block = o.block
    condition = o.reads("Condition")
    written = _written(t, block)
    _begin_arrays(t, written)
    carried = [n for n in written if n != condition and n in t.values]
    before = [t.value(n) for n in carried]
    arguments = {n: t.types[v] for n, v in zip(carried, before)}
    first = t.value(condition)
    with t.region(block, t.values, arguments) as region:
        t.give([t.value(condition), *(t.value(n) for n in carried)])
    made = t.emit(WHILE, [first, *before], {}, list(arguments.values()), [region.block])
    t.values.update(zip(carried, made, strict=True))
    type = t.types[first]
    shape = type.shape if isinstance(type, TensorType) and -1 not in type.shape else (1,)
    t.values[condition] = t.scalar(False, "bool", shape)  # a loop ends when it is false
