"""Branches and loops, lists that grow in them, and what only watches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paddle.onnx.builder import Builder, Unsayable, Value, graph_proto
from paddle.onnx.convert import writes
from paddle.onnx.elements import NUMBERS
from paddle.onnx.requirements import behind, require, require_all_of
from paddle.onnx.shapes import known, reshape, scalar
from paddle.onnx.table import Call, rule
from paddle.static.formats.graph import Block, TensorType


def _written(blocks: Sequence[Block], values: dict[int, Any]) -> list[int]:
    """Numbers of values from outside into which blocks write."""
    found = [n for b in blocks for o in b.walk() if (n := writes(o)) is not None and n in values]
    return list(dict.fromkeys(found))


def _made(y: Any) -> Value:
    """A value that a block gives, if what makes it could be said."""
    if isinstance(y, Unsayable):
        raise y
    if not isinstance(y, Value):
        raise Unsayable("tensors as results of branches and loops")
    return y


def _typed(g: Builder, ys: Sequence[Any], types: Sequence[Any]) -> list[Value]:
    """Values in the element types that are declared for them."""
    out = []
    for y, t in zip(map(_made, ys), types, strict=True):
        same = y.sequence or not isinstance(t, TensorType)
        out.append(y if same else g.cast(y, t.dtype))
    return out


@rule("if")
def if_(g: Builder, o: Call) -> tuple[Value, ...]:
    operation, converter = o.operation, o.converter
    outside = _written(operation.regions, converter.values)
    types = [r.type for r in operation.results]
    graphs, kinds = [], []
    for block in operation.regions:
        kept = dict(converter.values)
        with g.graph([]) as graph:
            kinds.append(_typed(g, converter.run(block), types) + [_made(converter.values[n]) for n in outside])
        graphs.append(graph)
        converter.values = kept
    required = any(graph.zero is not None for graph in graphs)
    if required:
        for graph, ys in zip(graphs, kinds, strict=True):
            ys.append(g.ints([0]) if graph.zero is None else graph.zero)
    if not kinds[0]:
        return ()
    protos = [graph_proto(graph, g.fresh("branch"), ys) for graph, ys in zip(graphs, kinds, strict=True)]
    condition = scalar(g, g.cast(o[0], "bool"))
    made = g.node("If", condition, outputs=len(kinds[0]), made="bool", then_branch=protos[0], else_branch=protos[1])
    results = _named(g, made, kinds[0])
    if required:
        require_all_of(g, results.pop())
    for n, y in zip(outside, results[len(types) :], strict=True):
        converter.values[n] = y
    return tuple(results[: len(types)])


def _named(g: Builder, made: Any, like: Sequence[Value]) -> list[Value]:
    """Results of a node whose schema does not say their types."""
    values = made if isinstance(made, tuple) else (made,)
    return [Value(g, v.name, y.dtype, sequence=y.sequence) for v, y in zip(values, like, strict=True)]


@rule("pylayer")
def pylayer(g: Builder, o: Call) -> tuple[Value, ...]:
    # A function with a gradient of its own: what it computes stands here.
    (block,) = o.operation.regions
    return tuple(_made(y) for y in o.converter.run(block))


@rule("while")
def while_(g: Builder, o: Call) -> tuple[Value, ...]:
    operation, converter = o.operation, o.converter
    (block,) = operation.regions
    outside = _written([block], converter.values)
    states = [_made(s) for s in (*o.operands[1:], *(converter.values[n] for n in outside))]
    types = [r.type for r in operation.results]
    inputs = [
        Value(g, g.fresh("iteration"), "int64", ()), Value(g, g.fresh("again"), "bool", ()),
        *(Value(g, g.fresh("carried"), s.dtype, _size_free(s), sequence=s.sequence) for s in states),
    ]  # fmt: skip
    kept = dict(converter.values)
    with g.graph(inputs) as graph:
        for argument, x in zip(block.arguments, inputs[2:], strict=False):
            declared = argument.type
            sizes = declared.shape if isinstance(declared, TensorType) else None
            converter.values[argument.number] = known(x, sizes)
        for n, x in zip(outside, inputs[2 + len(block.arguments) :], strict=True):
            converter.values[n] = x
        again, *ys = converter.run(block)
        ys = _typed(g, ys, types) + [_made(converter.values[n]) for n in outside]
        ys = [y if y.sequence else g.cast(y, s.dtype) for y, s in zip(ys, states, strict=True)]
        going = scalar(g, behind(g, scalar(g, g.cast(_made(again), "bool"))))
        proto = graph_proto(graph, g.fresh("body"), [going, *ys])
    converter.values = kept
    condition = scalar(g, g.cast(o[0], "bool"))
    made = g.node("Loop", None, condition, *states, outputs=len(states), made="bool", body=proto)
    results = _named(g, made, states)
    for n, y in zip(outside, results[len(types) :], strict=True):
        converter.values[n] = y
    return tuple(results[: len(types)])


def _size_free(s: Value) -> tuple[int, ...] | None:
    """Sizes may change from one iteration to the next."""
    return None if s.shape is None else (-1,) * len(s.shape)


@rule("select_input")
def select_input(g: Builder, o: Call) -> Value:
    first = g.cast(scalar(g, o[0]), "bool")
    return g.node("Where", first, o[2], o[1])


@rule("print")
def print_(g: Builder, o: Call) -> Value:
    return g.node("Identity", o[0])


@rule("assert")
def assert_(g: Builder, o: Call) -> tuple[()]:
    lines = [str(line).strip() for line in o("op_callstack", ())]
    require(g, o[0], " ".join([str(o("message") or "requires that a condition of the model holds"), *lines]))
    return ()


# --- lists of tensors -------------------------------------------------------------------------------------------------


@rule("create_array")
def create_array(g: Builder, o: Call) -> Value:
    declared = o.operation.results[0].type
    dtype = declared.dtype if isinstance(declared, TensorType) else "float32"
    made = g.node("SequenceEmpty", made=dtype, dtype=NUMBERS[dtype])
    return Value(g, made.name, dtype, sequence=True)


@rule("array_length")
def array_length(g: Builder, o: Call) -> Value:
    return reshape(g, known(g.node("SequenceLength", o[0], made="int64"), []), [1])


@rule("array_write")
def array_write(g: Builder, o: Call) -> Value:
    array, x, place = o[0], o[1], scalar(g, g.cast(o[2], "int64"))
    # Behind the last element an element is added, else the one at the place gives way.
    end = g.node("SequenceLength", array, made="int64")
    branches = []
    for added in (True, False):
        with g.graph([]) as graph:
            base = array if added else _sequence(g, g.node("SequenceErase", array, place, made=array.dtype), array)
            operands = (base, x) if added else (base, x, place)
            y = _sequence(g, g.node("SequenceInsert", *operands, made=array.dtype), array)
            branches.append(graph_proto(graph, g.fresh("branch"), [y]))
    at_end = g.node("Equal", place, end)
    made = g.node("If", at_end, made=array.dtype, then_branch=branches[0], else_branch=branches[1])
    return _sequence(g, made, array)


def _sequence(g: Builder, x: Value, like: Value) -> Value:
    return Value(g, x.name, like.dtype, sequence=True)


@rule("array_read")
def array_read(g: Builder, o: Call) -> Value:
    return g.node("SequenceAt", o[0], scalar(g, g.cast(o[1], "int64")), made=o[0].dtype)


@rule("array_to_tensor")
def array_to_tensor(g: Builder, o: Call) -> tuple[Value, Value]:
    array, axis = o[0], o("axis", 0)
    stacked = o("use_stack", False)
    y = g.node("ConcatFromSequence", array, axis=axis, new_axis=int(stacked), made=array.dtype)
    count = reshape(g, known(g.node("SequenceLength", array, made="int64"), []), [1])
    ones = g.node("Expand", g.constant([1], "int32"), count)
    return y, ones
