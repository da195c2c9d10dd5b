"""ONNX nodes as they are appended: values that know their types, and one way to make a node.

The schema of the operator at the chosen opset says what a node may be. What it does not take as it is becomes a cast
before it and one behind it; what the opset cannot say is an :class:`Unsayable`, which knows the opset that can.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Union

import numpy as np
from onnx import AttributeProto, GraphProto, NodeProto, TypeProto, ValueInfoProto, defs, helper

from paddle.onnx.elements import BY_NUMPY, BY_SCHEMA, FLOATS, NUMBERS, NUMPY, PARTS, nearest
from paddle.onnx.opsets import NEWEST, OLDEST
from umiak.util.dtypes import cast_array

_ELEMENTWISE = set(
    "Abs Add And Ceil Clip Cos Div Equal Erf Exp Floor Greater Identity IsNaN Less LessOrEqual Log Max Min Mod Mul Neg "
    "Not Or Pow RandomUniformLike Reciprocal Relu Round Sigmoid Sign Sin Softplus Sqrt Sub Sum Tanh Where Xor".split()
)
# What takes elements of any type from one place to another. The standard lets other operators compute in bfloat16 too,
# but what runs models on a CPU has none of them: they compute in float32, and round.
_MOVES = set(
    "Cast Concat Expand Gather GatherElements GatherND Identity If Loop Pad Reshape Scan ScatterElements ScatterND "
    "Slice Split Squeeze Tile Transpose Unsqueeze".split()
)
# What attributes may be, by their kinds.
_ATTRIBUTES: dict[int, tuple[type, ...]] = {
    AttributeProto.FLOAT: (float, int), AttributeProto.INT: (int,), AttributeProto.STRING: (str,),
    AttributeProto.INTS: (list, tuple), AttributeProto.FLOATS: (list, tuple),
}  # fmt: skip


class Unsayable(Exception):
    """An operator that the chosen opset has no form for. ``opset``: the first that has; None if there is none."""

    def __init__(self, why: str, opset: int | None = None) -> None:
        super().__init__(why)
        self.why, self.opset = why, opset


Operand = Union["Value", float, int, bool, np.ndarray, None]


@dataclass(frozen=True, eq=False)
class Value:
    """A tensor of the graph. ``shape``: sizes, -1 for unknown ones, None where the rank is unknown; ``constant``: its
    elements where they are known; ``sequence``: whether it is a sequence of such tensors. Operators make nodes.
    """

    builder: Builder
    name: str
    dtype: str
    shape: tuple[int, ...] | None = None
    constant: np.ndarray | None = None
    sequence: bool = False

    @property
    def rank(self) -> int:
        """The number of axes, which the operator at hand needs."""
        return len(self.sizes)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The shape, whose rank the operator at hand needs."""
        if self.shape is None:
            raise Unsayable(f"a known rank of {self.name}")
        return self.shape

    @property
    def complex(self) -> bool:
        """Does a last axis hold real and imaginary parts?"""
        return self.dtype in PARTS

    def _binary(self, kind: str, other: Operand, swap: bool = False) -> Value:
        return self.builder.node(kind, other, self) if swap else self.builder.node(kind, self, other)

    def __add__(self, other: Operand) -> Value:
        return self._binary("Add", other)

    def __radd__(self, other: Operand) -> Value:
        return self._binary("Add", other, True)

    def __sub__(self, other: Operand) -> Value:
        return self._binary("Sub", other)

    def __rsub__(self, other: Operand) -> Value:
        return self._binary("Sub", other, True)

    def __mul__(self, other: Operand) -> Value:
        return self._binary("Mul", other)

    def __rmul__(self, other: Operand) -> Value:
        return self._binary("Mul", other, True)

    def __truediv__(self, other: Operand) -> Value:
        return self._binary("Div", other)

    def __rtruediv__(self, other: Operand) -> Value:
        return self._binary("Div", other, True)

    def __neg__(self) -> Value:
        return self.builder.node("Neg", self)

    def __lt__(self, other: Operand) -> Value:
        return self._binary("Less", other)

    def __gt__(self, other: Operand) -> Value:
        return self._binary("Greater", other)

    def __and__(self, other: Operand) -> Value:
        return self._binary("And", other)

    def __or__(self, other: Operand) -> Value:
        return self._binary("Or", other)

    def __invert__(self) -> Value:
        return self.builder.node("Not", self)


@dataclass
class Graph:
    """A graph under construction: the model's, or that of a branch or a loop's body.

    ``zero``: a vector of one 0 that is there if all holds that the graph requires; None where it requires nothing.
    """

    inputs: list[Value] = field(default_factory=list)
    nodes: list[NodeProto] = field(default_factory=list)
    zero: Value | None = None


@functools.cache
def _schema(kind: str, opset: int) -> defs.OpSchema | None:
    try:
        return defs.get_schema(kind, opset)
    except defs.SchemaError:
        return None


@functools.cache
def _cast_types(opset: int) -> set[str]:
    """Element types of an opset: those that Cast takes."""
    schema = _schema("Cast", opset)
    assert schema is not None
    types = next(c.allowed_type_strs for c in schema.type_constraints if c.type_param_str == "T1")
    return {BY_SCHEMA[t] for t in types if t in BY_SCHEMA}


def _first_with(dtype: str) -> Iterator[int]:
    return (n for n in range(OLDEST, NEWEST + 1) if dtype in _cast_types(n))


@functools.cache
def first_opset(kind: str, attribute: str | None = None, inputs: int = 0) -> int | None:
    """The first opset here that has an operator (with an attribute, with so many inputs)."""
    for opset in range(OLDEST, NEWEST + 1):
        schema = _schema(kind, opset)
        if schema and (attribute is None or attribute in schema.attributes) and inputs <= schema.max_input:
            return opset
    return None


def _type_of(number: float | bool, elements: set[str], before: Sequence[Value | None]) -> str:
    """The type of a number whose type variable no operand has: a floating one that stands before it, else the usual."""
    if isinstance(number, bool):
        return "bool"
    first = next((v.dtype for v in before if v is not None), "float32")
    usual = [first if first in FLOATS else "float32"] if isinstance(number, float) else ["int64", "int32", first]
    return next((t for t in usual if t in elements), usual[0])


def _broadcast(shapes: Sequence[tuple[int, ...] | None]) -> tuple[int, ...] | None:
    """The shape of what is computed element by element, where it can be told."""
    sizes: list[int] = []
    for shape in shapes:
        if shape is None:
            return None
        sizes = [1] * (len(shape) - len(sizes)) + sizes
        for i, n in enumerate(reversed(shape)):
            at = len(sizes) - 1 - i
            # An unknown size beside another may be 1.
            sizes[at] = n if sizes[at] == 1 else sizes[at] if n in (1, -1) else n
    return tuple(sizes)


class Builder:
    """Appends nodes to the innermost graph that is under construction."""

    def __init__(self, opset: int) -> None:
        self.opset = opset
        self.graphs = [Graph()]
        self.tensors: dict[str, np.ndarray] = {}  # initializers, all of the outermost graph
        self.integers: dict[str, Value] = {}  # quantised values by the name of the floating ones that stand for them
        self._constants: dict[tuple[Any, ...], Value] = {}
        self._numbers: dict[str, int] = {}

    def fresh(self, stem: str) -> str:
        """A name that no value has."""
        while True:
            number = self._numbers.get(stem, -1) + 1
            self._numbers[stem] = number
            name = f"{stem}_{number}"
            if name not in self._numbers:
                self._numbers[name] = 0
                return name

    def reserve(self, name: str) -> None:
        """Keep a name for what the user knows by it."""
        self._numbers.setdefault(name, 0)

    def free(self, name: str) -> str:
        """The name, kept, or where a value has it already (as an input that is written and given) one like it."""
        if name in self._numbers:
            return self.fresh(name)
        self.reserve(name)
        return name

    # --- values ------------------------------------------------------------------------------------------------------

    def constant(self, array: Any, dtype: str | None = None) -> Value:
        """A value whose elements are known."""
        with np.errstate(over="ignore", invalid="ignore"):  # what the type cannot hold is infinite, as in the program
            array = np.asarray(array) if dtype is None else cast_array(np.asarray(array), np.dtype(NUMPY[dtype]))
        dtype = BY_NUMPY[array.dtype]
        key = (dtype, array.shape, array.tobytes()) if array.size <= 64 else None
        if key is not None and key in self._constants:
            return self._constants[key]
        value = self.parameter(self.fresh("constant"), array)
        if key is not None:
            self._constants[key] = value
        return value

    def parameter(self, name: str, array: np.ndarray) -> Value:
        """An initializer of a name."""
        self.tensors[name] = array
        return Value(self, name, BY_NUMPY[array.dtype], array.shape, array)

    def ints(self, values: Sequence[int]) -> Value:
        """A vector of 64-bit integers."""
        return self.constant(np.array(list(values), np.int64))

    # --- nodes -------------------------------------------------------------------------------------------------------

    def node(self, kind: str, *operands: Operand, outputs: int = 1, made: str | None = None, **attributes: Any) -> Any:
        """Append a node; numbers among the operands become constants of the type that the others have.

        Args:
            kind: the ONNX operator.
            operands: its inputs, None for one that is absent.
            outputs: how many results it has.
            made: element type of results that the inputs do not say, or not as is meant.
            attributes: constants of the node, those that are None left out.

        Returns:
            Its result, or a tuple of them.
        """
        schema = _schema(kind, self.opset)
        if schema is None:
            raise Unsayable(f"ONNX operator {kind}", first_opset(kind))
        attributes = {k: v for k, v in attributes.items() if v is not None}
        for name in attributes:
            if name not in schema.attributes:
                raise Unsayable(f"{name} of ONNX operator {kind}", first_opset(kind, name))
        if len(operands) > schema.max_input:
            opset = first_opset(kind, inputs=len(operands))
            raise Unsayable(f"{len(operands)} inputs of ONNX operator {kind}", opset)
        if len(operands) < schema.min_input:
            raise TypeError(f"{kind} requires {schema.min_input} inputs, got {len(operands)}")
        values, said, narrowed = self._admitted(kind, schema, operands)
        names = [self.fresh(kind) for _ in range(outputs)]
        proto = NodeProto(op_type=kind, name=names[0], input=[v.name if v else "" for v in values], output=names)
        while proto.input and not proto.input[-1]:
            proto.input.pop()
        for k, v in attributes.items():
            declared = int(schema.attributes[k].type.value)
            form = _ATTRIBUTES.get(declared)
            if form is not None and not isinstance(v, form):
                raise TypeError(f"{k} of {kind} is {v!r}")
            proto.attribute.append(helper.make_attribute(k, v, attr_type=declared))
        self.graphs[-1].nodes.append(proto)
        results = []
        for i, name in enumerate(names):
            formal = schema.outputs[min(i, len(schema.outputs) - 1)]
            result = self._result(kind, name, schema, formal.type_str, said, narrowed, made)
            if kind in _ELEMENTWISE and result.shape is None:
                result = replace(result, shape=_broadcast([v.shape for v in values if v is not None]))
            results.append(result)
        return results[0] if outputs == 1 else tuple(results)

    def _admitted(
        self, kind: str, schema: defs.OpSchema, operands: Sequence[Operand]
    ) -> tuple[list[Value | None], dict[str, str], dict[str, str]]:
        """The operands in types that the schema takes; per type variable its type, and the one that was meant."""
        formals = [schema.inputs[min(i, len(schema.inputs) - 1)] for i in range(len(operands))]
        said: dict[str, str] = {}
        for formal, x in zip(formals, operands, strict=True):
            if isinstance(x, Value):
                said.setdefault(formal.type_str, x.dtype)
        allowed = {c.type_param_str: set(c.allowed_type_strs) for c in schema.type_constraints}
        narrowed: dict[str, str] = {}
        out: list[Value | None] = []
        for formal, x in zip(formals, operands, strict=True):
            variable = formal.type_str
            if x is None:
                if formal.option != defs.OpSchema.FormalParameterOption.Optional:
                    raise TypeError(f"{kind} requires {formal.name}, got none")
                out.append(None)
                continue
            types = allowed.get(variable, {variable})
            elements = {BY_SCHEMA[t] for t in types if t in BY_SCHEMA}
            if kind not in _MOVES:
                elements.discard("bfloat16")
            if kind == "Where" and len(elements) > 1:
                elements.discard("bool")  # of which ONNX Runtime has no kernel
            if not isinstance(x, Value):
                if isinstance(x, np.ndarray):
                    x = self.constant(x)
                else:
                    x = self.constant(x, said.get(variable) or _type_of(x, elements, out))
                said.setdefault(variable, x.dtype)
            if x.sequence:
                if not any(t.startswith("seq(") for t in types):
                    raise Unsayable(f"a sequence as input of {kind}", 13 if kind == "Loop" else None)
                out.append(x)
                continue
            wanted = nearest(PARTS.get(x.dtype, x.dtype), elements)
            if wanted is None:
                raise Unsayable(f"{x.dtype} as input of ONNX operator {kind}")
            if wanted != PARTS.get(x.dtype, x.dtype):
                narrowed[variable] = wanted
                x = self.cast(x, wanted)
            out.append(x)
        return out, said, narrowed

    def _result(
        self,
        kind: str,
        name: str,
        schema: defs.OpSchema,
        variable: str,
        said: dict[str, str],
        narrowed: dict[str, str],
        dtype: str | None,
    ) -> Value:
        sequence = variable.startswith("seq(") or kind in ("SequenceEmpty", "SequenceInsert")
        if variable in narrowed and dtype is None:
            return self.cast(Value(self, name, narrowed[variable]), said[variable])
        meant = dtype or said.get(variable) or BY_SCHEMA.get(variable)
        if meant is None:
            types = next((c.allowed_type_strs for c in schema.type_constraints if c.type_param_str == variable), ())
            if len(types) != 1:
                raise AssertionError(f"the type of {kind}'s result must be given")
            meant = BY_SCHEMA[types[0]]
        return Value(self, name, meant, sequence=sequence)

    @contextlib.contextmanager
    def graph(self, inputs: Sequence[Value]) -> Iterator[Graph]:
        """Nodes made inside belong to a graph of their own."""
        made = Graph(list(inputs))
        self.graphs.append(made)
        try:
            yield made
        finally:
            self.graphs.pop()

    def cast(self, x: Value, dtype: str) -> Value:
        """``x`` in another element type."""
        if x.dtype == dtype:
            return x
        if x.constant is not None:
            return self.constant(x.constant, dtype)
        for end in (x.dtype, dtype):
            if end not in _cast_types(self.opset):
                raise Unsayable(f"elements of type {end}", next(iter(_first_with(end)), None))
        # By default both formats saturate; ours with infinities does not.
        saturate = 0 if dtype == "float8_e5m2" else None
        made: Value = self.node("Cast", x, made=dtype, to=NUMBERS[dtype], saturate=saturate)
        return Value(self, made.name, dtype, x.shape)


# --- protocol buffers -------------------------------------------------------------------------------------------------


def described(value: Value, name: str | None = None, sizes: Sequence[int | str | None] | None = None) -> ValueInfoProto:
    """Declare an input or a result of a graph; sizes that are None are not said."""
    number = NUMBERS[PARTS.get(value.dtype, value.dtype)]
    tensor: TypeProto = helper.make_tensor_type_proto(number, sizes)
    kind = helper.make_sequence_type_proto(tensor) if value.sequence else tensor
    return helper.make_value_info(name or value.name, kind)


def graph_proto(graph: Graph, name: str, outputs: Sequence[Value]) -> GraphProto:
    """An inner graph. What it gives must be made in it."""
    made = {n for node in graph.nodes for n in node.output}
    given: list[Value] = []
    seen: set[str] = set()
    for y in outputs:
        if y.name not in made or y.name in seen:
            copied = y.builder.fresh("copy")
            graph.nodes.append(NodeProto(op_type="Identity", name=copied, input=[y.name], output=[copied]))
            y = Value(y.builder, copied, y.dtype, y.shape, sequence=y.sequence)
        seen.add(y.name)
        given.append(y)
    inputs = [described(x, sizes=[] if x.shape == () else None) for x in graph.inputs]
    return GraphProto(name=name, node=graph.nodes, input=inputs, output=[described(y) for y in given])
