"""A module in the operators of PaddlePaddle as an ONNX model.

Each operation is looked up in one table (:mod:`paddle.onnx.table`); its rule appends nodes and gives the values of its
results.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto, helper

from paddle import version
from paddle.onnx.builder import Builder, Unsayable, Value, described
from paddle.onnx.complex_parts import BILINEAR, LINEAR, by_parts
from paddle.onnx.elements import PARTS
from paddle.onnx.opsets import NEWEST, OLDEST
from paddle.onnx.requirements import behind
from paddle.onnx.table import RULES, TAKE_COMPLEX, Call, load
from paddle.onnx.weights import within
from paddle.static.formats.graph import (
    COMBINE,
    DATA,
    FETCH,
    PARAMETER,
    SPLIT,
    YIELD,
    Block,
    Module,
    Operation,
    TensorType,
    reads,
)
from paddle.static.formats.record import is_kept
from umiak.util.errors import called, op_error

Bound = Any  # Value, list of them, None for what is absent


def convert(
    module: Module,
    parameters: Mapping[str, np.ndarray],
    opset: int,
    name: str = "main",
    *,
    op: str = "onnx.export",
    initializer: Callable[[str, np.ndarray], TensorProto] = within,
    results: Sequence[str] | Mapping[str, str] | None = None,
) -> ModelProto:
    """The model of a module.

    Args:
        module: a program in the operators of PaddlePaddle.
        parameters: values of its parameters by name.
        opset: version of the ONNX operators, 11 to 21.
        name: the graph's name.
        op: the function that errors name.
        initializer: makes what the model says of a constant, when all operators could be said.
        results: names of all results, or others for those that it names; None: those that the program has.

    Returns:
        The model, not yet checked.

    Raises:
        ValueError: an opset outside of 11 to 21, a parameter without a value, or names that are not those of results.
        Refused: operators that the opset cannot say: all of them are named, each with the first opset that can.
    """
    if not OLDEST <= opset <= NEWEST:
        raise op_error(ValueError, op, f"an opset from {OLDEST} to {NEWEST}", opset)
    load()
    converter = _Converter(Builder(opset), parameters, op)
    fetched = converter.outermost(module.block, results)
    if converter.refused:
        raise Refused(op, opset, converter.refused)
    return _model(converter, fetched, name, initializer)


class Refused(ValueError):
    """Operators that an opset cannot say. ``opset``: the first that can say all of them; None if there is none."""

    def __init__(self, op: str, opset: int, refused: Mapping[str, list[Unsayable]]) -> None:
        lines, firsts = [], []
        for name, reasons in refused.items():
            opsets = [r.opset for r in reasons]
            first = None if None in opsets else max(n for n in opsets if n is not None)
            firsts.append(first)
            why = "; ".join(dict.fromkeys(r.why for r in reasons))
            lines.append(f"  {name}: needs {why} (opset {first or 'none'})")
        self.opset = None if None in firsts else max(n for n in firsts if n is not None)
        text = "\n".join(lines)
        super().__init__(
            f"[{called(op)}] requires operators that ONNX can say at opset {opset}, got these that it cannot:\n{text}\n"
            "In brackets stands the first opset that can: choose it as opset_version. Where it is none, compute these "
            "operators outside of the exported layer."
        )


def _bare(name: str) -> str:
    return name.partition(".")[2]


class _Converter:
    def __init__(self, builder: Builder, parameters: Mapping[str, np.ndarray], op: str) -> None:
        self.builder = builder
        self.parameters = parameters
        self.op = op
        self.values: dict[int, Bound] = {}
        self.inputs: list[Value] = []
        self.refused: dict[str, list[Unsayable]] = {}
        self.reads: Counter[int] = Counter()  # operations that read a value

    def outermost(
        self, block: Block, results: Sequence[str] | Mapping[str, str] | None = None
    ) -> list[tuple[str, Value]]:
        """Convert the whole program; what it fetches, by name."""
        self.reads.update(n for o in block.walk() for n in o.operands if n is not None)
        for o in block.operations:
            if o.name in (DATA, PARAMETER):
                self.builder.reserve(o.plain("name") if o.name == DATA else o.plain("parameter_name"))
        fetched: list[tuple[int, str, int]] = []
        for o in block.operations:
            if o.name in _FETCHED:
                (operand,) = o.operands
                if operand is None:
                    raise op_error(ValueError, self.op, "a value that is fetched", "none")
                name = o.plain("name") or o.plain("output_name")
                fetched.append((int(o.plain("col", len(fetched))), name, operand))
        fetched.sort()
        names = [self.builder.free(name) for name in self._renamed([name for _, name, _ in fetched], results)]
        self.run(block)
        return [] if self.refused else [(name, self.values[n]) for name, (_, _, n) in zip(names, fetched, strict=True)]

    def _renamed(self, names: list[str], others: Sequence[str] | Mapping[str, str] | None) -> list[str]:
        """Names of results as they are asked for."""
        if others is None:
            return names
        if isinstance(others, Mapping):
            if not set(others) <= set(names):
                raise op_error(ValueError, self.op, f"output_names of results out of {names}", list(others))
            return [others.get(name, name) for name in names]
        if isinstance(others, str) or len(others) != len(names) or len(set(others)) != len(names):
            raise op_error(ValueError, self.op, f"{len(names)} output_names that differ", repr(others))
        return list(others)

    def run(self, block: Block) -> list[Bound]:
        """Append what a block does; what it yields."""
        for o in _needed(block):
            if o.name == YIELD:
                return [self.operand(n) for n in o.operands]
            try:
                self._append(o)
            except _MALFORMED as error:
                if getattr(error, "mistake", False):  # it says what is wrong
                    raise
                found = f"{type(error).__name__}: {error}"
                raise op_error(ValueError, self.op, f"operands and attributes that {o.name} has", found) from error
        return []

    def _append(self, o: Operation) -> None:
        if o.name == DATA:
            self._data(o)
        elif o.name == PARAMETER:
            self._parameter(o)
        elif o.name == COMBINE:
            self._bind(o, [[self.operand(n) for n in o.operands]])
        elif o.name in (SPLIT, _SLICE):
            parts = self.operand(o.operands[0])
            if isinstance(parts, list) and o.name == _SLICE:
                parts = [parts[o.plain("index")]]
            if not isinstance(parts, (list, Unsayable)):
                raise TypeError("no list of tensors")
            self._bind(o, parts)
        elif o.name not in _FETCHED:
            self._operation(o)

    def operand(self, number: int | None) -> Bound:
        if number is None:
            return None
        if number not in self.values:
            raise op_error(ValueError, self.op, "a program whose values are made before they are read", f"%{number}")
        return self.values[number]

    def _operation(self, o: Operation) -> None:
        rule = RULES.get(_bare(o.name)) or RULES.get(_bare(o.name).removesuffix("_"))
        try:
            if rule is None:
                raise Unsayable("what ONNX has no operators for here")
            operands = [self._checked(self.operand(n)) for n in o.operands]
            name = _bare(o.name).removesuffix("_")
            call = Call(o, operands, self)
            if name in TAKE_COMPLEX or not any(map(_is_complex, operands)):
                made = rule(self.builder, call)
            elif name in LINEAR or name in BILINEAR:
                made = by_parts(self.builder, rule, call)
            else:
                raise Unsayable("operands that are not complex")
        except Unsayable as error:
            if error.why != _POISON:
                self.refused.setdefault(o.name, []).append(error)
            self._bind(o, Unsayable(_POISON))
            return
        self._bind(o, list(made) if isinstance(made, tuple) else [made])
        written = writes(o)
        if written is not None:
            self.values[written] = self.values[o.results[0].number]

    def _checked(self, value: Bound) -> Bound:
        if isinstance(value, Unsayable):
            raise value
        if isinstance(value, list):
            return [self._checked(v) for v in value]
        return value

    def _bind(self, o: Operation, made: Sequence[Bound] | Unsayable) -> None:
        """The results of an operation; those that its rule does not give cannot be read."""
        for i, r in enumerate(o.results):
            value: Bound
            if isinstance(made, Unsayable):
                value = made
            else:
                value = made[i] if i < len(made) else Unsayable(f"result {i} of {o.name}")
            if isinstance(value, Value) and value.constant is None and isinstance(r.type, TensorType):
                value = _declared(value, r.type)
            self.values[r.number] = value

    def _data(self, o: Operation) -> None:
        (result,) = o.results
        if not isinstance(result.type, TensorType):
            raise op_error(ValueError, self.op, f"a tensor as the input {o.plain('name')!r}", "another type")
        value = Value(self.builder, o.plain("name"), result.type.dtype, result.type.shape)
        if value.complex:
            raise op_error(ValueError, self.op, "inputs of real elements", f"{value.dtype} for {value.name!r}")
        self.inputs.append(value)
        self.values[result.number] = value

    def _parameter(self, o: Operation) -> None:
        name = o.plain("parameter_name")
        if not is_kept(o):
            self.values[o.results[0].number] = None  # what reads it takes it as absent
            return
        if name not in self.parameters:
            raise op_error(ValueError, self.op, f"a value of the parameter {name!r}", "none")
        value = self.builder.parameter(name, np.asarray(self.parameters[name]))
        if self.reads[o.results[0].number] > 1 and value.constant is not None and value.constant.size > MOST_COPIED:
            value = replace(value, constant=None)  # what is made of it is computed, so that it is stored once
        self.values[o.results[0].number] = value


def _is_complex(x: Bound) -> bool:
    return any(map(_is_complex, x)) if isinstance(x, list) else isinstance(x, Value) and x.complex


# What a rule meets in a program whose operators lack operands or attributes, or have others.
_MALFORMED = TypeError, LookupError, ArithmeticError, ValueError, AttributeError
_POISON = "what another operator did not make"
_SLICE = "builtin.slice"  # one of a list of tensors, by the attribute `index`
_FETCHED = FETCH, "builtin.shadow_output"  # the latter with an attribute `output_name`
MOST_COPIED = 1024  # elements of a parameter of which there may be several forms
_KEEPS = {
    "batch_norm_",
    "sync_batch_norm_",
}  # their name ends as of those that write into an operand, here nothing reads it


def _needed(block: Block) -> list[Operation]:
    """The operations that make what is read, or do more than make results. Others may be such that ONNX cannot say."""
    read: set[int] = set()
    kept = []
    for o in reversed(block.operations):
        is_plain = o.results and not o.regions and not o.name.endswith("_") and o.name not in (DATA, *_FETCHED)
        if not is_plain or any(r.number in read for r in o.results):
            read.update(reads(o))
            kept.append(o)
    return kept[::-1]


def writes(o: Operation) -> int | None:
    """The number of the value that an operation writes into; its first result is what is then there."""
    name = _bare(o.name)
    if not name.endswith("_") or name in _KEEPS or not o.results:
        return None
    return o.operands[1 if name == "assign_out_" else 0] if o.operands else None


def _declared(value: Value, type: TensorType) -> Value:
    """The value with the sizes that the program declares, where the rule knew none."""
    if value.shape is not None and -1 not in value.shape:
        return value
    if value.dtype != type.dtype and value.dtype in PARTS:
        return value
    sizes = tuple(max(n, -1) for n in type.shape)
    if value.shape is not None:
        if len(value.shape) != len(sizes):
            return value
        sizes = tuple(a if a >= 0 else b for a, b in zip(value.shape, sizes, strict=True))
    return Value(value.builder, value.name, value.dtype, sizes, sequence=value.sequence)


# --- the model --------------------------------------------------------------------------------------------------------


def _model(
    converter: _Converter,
    fetched: Sequence[tuple[str, Value]],
    name: str,
    initializer: Callable[[str, np.ndarray], TensorProto],
) -> ModelProto:
    builder = converter.builder
    nodes = builder.graphs[0].nodes
    outputs = []
    for label, y in fetched:
        if isinstance(y, Unsayable):
            raise Refused(converter.op, builder.opset, {label: [y]})
        if y.complex:
            raise op_error(
                ValueError, converter.op, "results of real elements, as of paddle.as_real", f"{y.dtype} for {label!r}"
            )
        y = behind(builder, y)
        nodes.append(NodeProto(op_type="Identity", name=label, input=[y.name], output=[label]))
        sizes = None if y.shape is None else [n if n >= 0 else None for n in y.shape]
        outputs.append(described(y, label, sizes))
    kept, used = _live(nodes, {o.name for o in outputs})
    inputs = []
    for x in converter.inputs:
        inputs.append(described(x, sizes=[n if n >= 0 else f"{x.name}_{i}" for i, n in enumerate(x.sizes)]))
    tensors = [initializer(k, v) for k, v in builder.tensors.items() if k in used]
    graph = helper.make_graph(_forwarded(kept, outputs), name, inputs, outputs, tensors)
    imports = [helper.make_opsetid("", builder.opset)]
    return helper.make_model(
        graph,
        opset_imports=imports,
        ir_version=helper.find_min_ir_version_for(imports),
        producer_name="umiak",
        producer_version=str(version.full_version),
    )


def _names(node: NodeProto) -> set[str]:
    """Names that a node reads, in its inner graphs too."""
    names = set(node.input)
    for a in node.attribute:
        if a.type == onnx.AttributeProto.GRAPH:
            for n in a.g.node:
                names |= _names(n)
            names |= {y.name for y in a.g.output}
    return names


def _live(nodes: Sequence[NodeProto], wanted: set[str]) -> tuple[list[NodeProto], set[str]]:
    """The nodes that results need, and all that is read."""
    used, kept = set(wanted), []
    for node in reversed(nodes):
        if used.intersection(node.output):
            used |= _names(node)
            kept.append(node)
    return kept[::-1], used


def _forwarded(nodes: list[NodeProto], outputs: Sequence[Any]) -> list[NodeProto]:
    """Results under their own names, without a copy where a node makes what nothing else gives."""
    names = {o.name for o in outputs}
    made = {n: node for node in nodes for n in node.output}
    renamed: dict[str, str] = {}
    kept = []
    for node in nodes:
        source = node.input[0] if node.op_type == "Identity" and node.output[0] in names else None
        if source is not None and source in made and source not in renamed and source not in names:
            renamed[source] = node.output[0]
        else:
            kept.append(node)
    for node in kept:
        _rename(node, renamed)
    return kept


def _rename(node: NodeProto, renamed: Mapping[str, str]) -> None:
    for names in (node.input, node.output):
        for i, n in enumerate(names):
            if n in renamed:
                names[i] = renamed[n]
    for a in node.attribute:
        if a.type == onnx.AttributeProto.GRAPH:
            for inner in a.g.node:
                _rename(inner, renamed)
