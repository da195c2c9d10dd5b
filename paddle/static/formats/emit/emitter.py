"""Appending operations of PaddlePaddle for those of a program.

``TABLE`` has a function for each op that one of theirs can say, or several. It returns what stands for the results, or
None where these operands cannot be said so: then the op's own meaning in smaller operations is written.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from itertools import count
from typing import Any, cast

import numpy as np

from paddle.static.formats.graph import (
    ASSERT,
    COMBINE,
    PARAMETER,
    SPLIT,
    Attribute,
    Block,
    Operation,
    Result,
    TensorType,
    ValueType,
)
from umiak import ops as F
from umiak.core.tensor import Tensor
from umiak.ir import program as ir
from umiak.ir.builder import scope_of
from umiak.ir.expr import Sym
from umiak.ir.scope import Check, symbols_of, without_zero_divisors
from umiak.ir.tracer import trace
from umiak.util.errors import shown

Emit = Callable[["Emitter", ir.Operation], "Result | Sequence[Result | None] | None"]
TABLE: dict[type, Emit] = {}
_MOST_ELEMENTS = 16  # of a constant that is written as an operation; larger ones are parameters
_EXACT = 1 << 53  # integers up to here are numbers of float64, as which values of `full` are written


def emits(*ops: type) -> Callable[[Emit], Emit]:
    """Decorator: the function writes calls of these ops."""

    def enter(function: Emit) -> Emit:
        TABLE.update(dict.fromkeys(ops, function))
        return function

    return enter


# --- attributes ------------------------------------------------------------------------------------------------------


def flag(x: Any) -> Attribute:
    return Attribute("bool", bool(x))


def text(x: str) -> Attribute:
    return Attribute("str", x)


def i32(x: int) -> Attribute:
    return Attribute("i32", int(x))


def i64(x: int) -> Attribute:
    return Attribute("i64", int(x))


def f32(x: float) -> Attribute:
    return Attribute("f32", float(np.float32(x)))


def f64(x: float) -> Attribute:
    return Attribute("f64", float(x))


def array(kind: Callable[[Any], Attribute], xs: Iterable[Any]) -> Attribute:
    return Attribute("array", tuple(map(kind, xs)))


def element(x: Any) -> Attribute:
    """An element type, by a dtype or its name."""
    return Attribute("dtype", x if isinstance(x, str) else x.name)


# The dtype of a result that follows from the operands.
UNDEFINED = Attribute("dtype", "Undefined(ALL_DTYPE)")
ON_HOST, ANYWHERE = Attribute("place", (1, 0, "")), Attribute("place", (0, 0, ""))


def number(dtype: str, x: Any) -> Attribute:
    """An element of a constant."""
    if dtype.startswith(("float", "bfloat")):
        return f64(x)
    return flag(x) if dtype == "bool" else i32(x) if dtype == "int32" else i64(x)


# --- the emitter -----------------------------------------------------------------------------------------------------


class Emitter:
    """One program that is being written. ``missing``: what the operators cannot say; ``parameters``: what the program
    reads, by name; ``spelt``: composites that are written in smaller ones."""

    def __init__(self, program: ir.Program, spelt: Collection[type] = ()) -> None:
        self.program = program
        self.spelt = spelt
        self.block = Block()
        self.parameters: dict[str, Tensor] = {}
        self.missing: dict[str, None] = {}
        self.scope = scope_of(program)
        self._unwritten: list[Check] = []  # conditions on numbers that are not there yet
        self._met = 0  # how many of the scope's were looked at
        self.values: ChainMap[int, Result] = ChainMap()  # of this block, then of those around it
        self._read: set[int] = set()  # values and numbers that something reads
        self._counted: set[Sym] = set()
        self._numbers, self._arguments = count(1), count(-1, -1)
        self._flows: set[int] = set()  # values that have a gradient
        # Values that were made before and are good in this block and those inside of it, by what they are.
        self._known: ChainMap[Any, Result] = ChainMap()
        self._held: list[Any] = []  # so that ids stay theirs
        self.line: list[str] | None = None  # of the user's source that operations are written for, as text

    # --- appending

    def call(
        self, name: str, operands: Iterable[Result | None], types: Iterable[ValueType], **attributes: Attribute
    ) -> list[Result]:
        """Append a call of ``pd_op.<name>``; its results."""
        return self.append(f"pd_op.{name}", operands, types, attributes)

    def one(self, name: str, operands: Iterable[Result | None], type: ValueType, /, **attributes: Attribute) -> Result:
        """Append a call that has one result."""
        return self.append(f"pd_op.{name}", operands, [type], attributes)[0]

    def append(
        self,
        name: str,
        operands: Iterable[Result | None],
        types: Iterable[ValueType],
        attributes: dict[str, Attribute],
        regions: Iterable[Block] = (),
    ) -> list[Result]:
        """Append an operation; its results."""
        operands = list(operands)
        results = [Result(next(self._numbers), t) for t in types]
        regions = list(regions)
        read = [o.operands for r in regions for o in r.walk()]
        flows = any(n in self._flows for xs in read for n in xs) or any(
            x is not None and x.number in self._flows for x in operands
        )
        stops = [not (flows and self.flowing(x)) for x in results]
        if self.line is not None and name.startswith("pd_op."):
            attributes["op_callstack"] = array(text, self.line)
        numbers = [None if x is None else x.number for x in operands]
        traits = {"stop_gradient": stops} if results else {}
        self.block.operations.append(Operation(name, numbers, attributes, results, regions, traits))
        return results

    def flowing(self, x: Result) -> bool:
        """Note that gradients flow to a value, if its type has any; whether it has."""
        first = x.type[0] if type(x.type) is tuple and x.type else x.type
        has = isinstance(first, TensorType) and first.dtype.startswith(("float", "bfloat", "complex"))
        if has:
            self._flows.add(x.number)
        return has

    def combine(self, xs: Sequence[Result]) -> Result:
        """Several tensors as one list."""
        return self.append(COMBINE, xs, [tuple(x.type for x in xs)], {})[0]  # type: ignore[misc]

    def parts(self, xs: Result) -> list[Result]:
        """The tensors of a list."""
        types = cast("tuple[TensorType, ...]", xs.type)
        return self.append(SPLIT, [xs], list(types), {})

    def parameter(self, x: Tensor, name: str) -> Result:
        """A tensor whose values are in the file of values."""
        self.parameters[name] = x
        made = Result(next(self._numbers), TensorType(x.dtype.name, tuple(int(n) for n in x.shape)))
        trainable = not x.stop_gradient
        if trainable:
            self._flows.add(made.number)
        facts = {
            "is_distributed": flag(False), "is_parameter": flag(True), "need_clip": flag(True),
            "parameter_name": text(name),
        }  # fmt: skip
        traits = {"persistable": [True], "stop_gradient": [not trainable], "trainable": [trainable]}
        self.block.operations.append(Operation(PARAMETER, [], facts, [made], [], traits))
        return made

    def bind(self, value: ir.Value, x: Result) -> None:
        """``x`` stands for a value of the program."""
        self.values[id(value)] = x
        self._held.append(value)

    # --- operands

    def of(self, x: Any, dtype: Any = None) -> Result:
        """The value that stands for an operand; a number becomes a tensor without dims, of ``dtype``."""
        if type(x) is ir.Value:
            return self.values[id(x)]
        name = dtype if isinstance(dtype, str) else dtype.name
        if type(x) is Sym:
            return self.cast(self.number(x), name)
        return self.full((), x, name)

    def cast(self, x: Result, dtype: Any) -> Result:
        """``x`` in a dtype, by name or as one."""
        name = dtype if isinstance(dtype, str) else dtype.name
        kind = typed(x)
        if kind.dtype == name:
            return x
        return self.one("cast", [x], kind._replace(dtype=name), dtype=element(name))

    def full(self, shape: Sequence[int], value: Any, dtype: str, place: Attribute = ANYWHERE) -> Result:
        """A constant of equal elements."""
        key = "full", tuple(shape), type(value), repr(value), dtype, place.data
        if (found := self._known.get(key)) is not None:
            return found
        if (isinstance(value, int) and abs(value) > _EXACT) or isinstance(value, complex):
            made = self.constant(np.full(shape, value, dtype))
        else:
            extent = Attribute("intarray", tuple(shape))
            made = self.one(
                "full", [], TensorType(dtype, tuple(shape)), shape=extent, value=f64(value), dtype=element(dtype),
                place=place,
            )  # fmt: skip
        self._known[key] = made
        return made

    def filled(self, shape: Sequence[Any], value: Any, kind: TensorType) -> Result:
        """A tensor of one number, whose sizes may be symbols."""
        if -1 not in kind.shape:
            return self.full(kind.shape, value, kind.dtype)
        operands = [self.full((1,), value, kind.dtype), self.ints(shape)]
        return self.one("full_with_tensor", operands, kind, dtype=element(kind.dtype))

    def attribute(self, value: Any, dtype: str) -> Result:
        """A number that operators take as an operand though they mean an attribute."""
        return self.full((1,), value, dtype, ON_HOST)

    def constant(self, values: np.ndarray) -> Result:
        """A constant tensor of few elements."""
        name = values.dtype.name
        kind = TensorType(name, values.shape)
        if name.startswith("complex"):
            parts = [self.constant(np.ascontiguousarray(p)) for p in (values.real, values.imag)]
            return self.one("complex", parts, kind)
        if name in ("bfloat16", "float16", "int8", "uint8", "int16"):  # constants have no elements of these
            wide = "float32" if "float" in name else "int32"
            return self.cast(self.constant(values.astype(wide)), name)
        blank = self.one(
            "full", [], kind, shape=Attribute("intarray", values.shape), value=f64(0), dtype=element(name),
            place=ANYWHERE,
        )  # fmt: skip
        elements = array(lambda x: number(name, x), values.ravel().tolist())
        return self.one(
            "assign_value_", [blank], kind, shape=array(i32, values.shape), dtype=element(name), values=elements,
            place=ANYWHERE,
        )  # fmt: skip

    def tensor(self, x: Tensor, name: str) -> Result:
        """A tensor that the program knows by itself, and does not keep: its values, or a parameter for many."""
        values = np.asarray(x.numpy()) if x.dtype.numpy is not None and x.size <= _MOST_ELEMENTS else None
        if values is None or values.size == 0:
            return self.parameter(x, name)
        first = values.ravel()[0].item()
        if not np.iscomplexobj(values) and bool((values == values.ravel()[0]).all()):
            return self.full(values.shape, first, x.dtype.name)
        return self.constant(values)

    # --- sizes

    def ints(self, xs: Sequence[Any]) -> Result:
        """A list of integers, which may be symbols, as an operand."""
        if any(type(x) is Sym for x in xs):
            numbers = [self.number(x) for x in xs]
            key = ("stack", *(x.number for x in numbers))
            if (found := self._known.get(key)) is None:
                found = self.one("stack", [self.combine(numbers)], TensorType("int64", (len(xs),)), axis=i32(0))
                self._known[key] = found
            return found
        key = ("ints", *xs)
        if (found := self._known.get(key)) is None:
            values = array(i64, xs)
            kind = TensorType("int64", (len(xs),))
            found = self.one("full_int_array", [], kind, value=values, dtype=element("int64"), place=ON_HOST)
            self._known[key] = found
        return found

    def number(self, x: Any) -> Result:
        """A number as a tensor without dims: an int64, a float64 or a bool."""
        if type(x) is not Sym:
            return self.full((), x, "bool" if type(x) is bool else "int64" if type(x) is int else "float64", ON_HOST)
        if (found := self._known.get(x)) is None:
            found = self._known[x] = self._computed(x)
        return found

    def know(self, symbol: Any, made: Result) -> None:
        """``made`` is the value of a symbol now."""
        if type(symbol) is not Sym:
            return
        self.forget(symbol)
        self._known[symbol] = made
        self.conditions()

    def forget(self, symbol: Any) -> None:
        """A symbol has another value from here on."""
        for known in self._known.maps:
            for key in [k for k in known if type(k) is Sym and symbol in symbols_of(k)]:
                del known[key]

    def reads(self, value: ir.Value) -> bool:
        """Does something read a value?"""
        return id(value) in self._read

    def counts(self, symbol: Any) -> bool:
        """Does something read a number?"""
        return type(symbol) is Sym and symbol in self._counted

    def note(self, program: ir.Program) -> None:
        """Note what a program reads."""
        self._read |= {id(x) for x in program.outputs}
        self._counted.update(symbols_of([x for x in program.outputs if type(x) is Sym]))
        self._counted.update(symbols_of([c.condition for c in program.checks]))
        for o in program.walk():
            bound = set(ir.bound(o))
            self._counted.update(s for s in ir.scalars_of(o) if s not in bound)
            for r in o.regions:
                self._counted.update(symbols_of([x for x in r.outputs if type(x) is Sym]))
        self._note_reads(program.ops)

    def read_results(self, o: ir.Operation) -> list[int]:
        """Places of a branch's results that something reads: they, or sizes that nothing else says."""
        return [i for i, r in enumerate(o.results) if self.reads(r) or any(map(self._says, r.meta.shape))]

    def is_known(self, number: Any) -> bool:
        """Are all symbols of a number sizes of inputs, or numbers that there are by now?"""
        sizes = self.program.sources()
        return all(s in self._known or sizes.get(s) is not None for s in symbols_of(number))

    def _says(self, size: Any) -> bool:
        """Is a size a number that something reads, and that no input has?"""
        return self.counts(size) and self.program.sources().get(size) is None

    def _note_reads(self, operations: Sequence[ir.Operation]) -> None:
        """Note what operations read. A branch is read for those results of its operation that something reads."""
        for o in reversed(operations):
            self._read |= {id(v) for v in o.values}
            for region in o.regions:
                at = self.read_results(o) if type(o.op) is F.Cond else range(len(region.outputs))
                self._read |= {id(region.outputs[i]) for i in at}
                self._note_reads(region.operations)

    def size(self, x: Result, axis: int) -> Result:
        """The size of a dim, when the program runs."""
        key = "shape", x.number
        if (sizes := self._known.get(key)) is None:
            rank = len(typed(x).shape)
            sizes = self._known[key] = self.one("shape64", [x], TensorType("int64", (rank,)))
        return self.at(sizes, axis)

    def at(self, xs: Result, i: int) -> Result:
        """An element of a list of integers."""
        return self.one(
            "slice", [xs, self.ints([i]), self.ints([i + 1])], TensorType(typed(xs).dtype, ()), axes=array(i64, [0]),
            infer_flags=array(i64, [1]), decrease_axis=array(i64, [0]),
        )  # fmt: skip

    def _computed(self, x: Sym) -> Result:
        """A symbol, or an expression over symbols."""
        if x.op == "symbol":
            return self._source(x)
        # Of a choice all is computed: what is not chosen must not fail.
        xs = [self.number(without_zero_divisors(a) if x.op in ("select", "and", "or") else a) for a in x.args]
        kind = {"int": "int64", "float": "float64", "bool": "bool"}[x.kind]
        if x.op in _CASTS:
            return self.cast(xs[0], kind)
        if x.op == "not":
            return self.one("logical_not", xs, TensorType("bool", ()))
        if x.op == "fneg":
            return self._binary("subtract", [self.full((), 0.0, "float64", ON_HOST), *xs], kind)
        if x.op == "select":
            return self.one("where", xs, TensorType(kind, ()))
        if x.op == "cdiv":  # -(-a // b)
            zero = self.number(0)
            less = self._binary("subtract", [zero, xs[0]], kind)
            return self._binary("subtract", [zero, self._binary("floor_divide", [less, xs[1]], kind)], kind)
        if x.op == "broadcast":  # all but sizes of 1 are equal
            return self._broadcast(xs)
        return self._binary(_NUMBERS[x.op], xs, kind)

    def _binary(self, name: str, xs: Sequence[Result], dtype: str) -> Result:
        out = xs[0]
        for x in xs[1:]:
            out = self.one(name, [out, x], TensorType(dtype, ()))
        return out

    def _broadcast(self, xs: Sequence[Result]) -> Result:
        out, one = xs[0], self.number(1)
        for x in xs[1:]:
            is_one = self.one("equal", [out, one], TensorType("bool", ()))
            out = self.one("where", [is_one, x, out], TensorType("int64", ()))
        return out

    def _source(self, x: Sym) -> Result:
        """A size of a value that there is."""
        at = self.program.sources().get(x)
        if at is not None:
            return self.size(self.values[id(self.program.inputs[at[0]])], at[1])
        for value in reversed(self._held):  # of what an operation has made: how many there are
            if id(value) in self.values:
                for axis, n in enumerate(value.meta.shape):
                    if n is x:
                        return self.size(self.values[id(value)], axis)
        self.missing.setdefault(f"the number {x}")
        return self.full((), 1, "int64", ON_HOST)

    # --- types

    def types(self, o: ir.Operation) -> list[TensorType]:
        """Types of the results of an operation."""
        return [type_of(r.meta) for r in o.results]

    def type(self, o: ir.Operation) -> TensorType:
        """Type of the one result of an operation."""
        return type_of(o.results[0].meta)

    # --- shapes

    def reshape(self, x: Result, shape: Sequence[Any], dtype: Any = None) -> Result:
        """``x`` under another shape, whose sizes may be symbols."""
        kind = TensorType(typed(x).dtype, tuple(n if type(n) is int else -1 for n in shape))
        return self.one("reshape", [x, self.extent(x, shape)], kind)

    def extent(self, x: Result, shape: Sequence[Any]) -> Result:
        """A shape for a reshape of ``x``, in which one size may be left open."""
        if sum(type(n) is Sym for n in shape) == 1 and all(type(n) is Sym or n > 0 for n in shape):
            return self.ints([-1 if type(n) is Sym else n for n in shape])
        return self.ints(shape)

    def unsqueeze(self, x: Result, axes: Sequence[int]) -> Result:
        """``x`` with dims of 1 that stand at ``axes`` of the result."""
        if not axes:
            return x
        kind = typed(x)
        shape = list(kind.shape)
        for a in sorted(axes):
            shape.insert(a, 1)
        return self.one("unsqueeze", [x, self.ints(list(axes))], kind._replace(shape=tuple(shape)))

    def squeeze(self, x: Result, axes: Sequence[int]) -> Result:
        """``x`` without dims of 1."""
        if not axes:
            return x
        kind = typed(x)
        shape = tuple(n for i, n in enumerate(kind.shape) if i not in axes)
        return self.one("squeeze", [x, self.ints(list(axes))], kind._replace(shape=shape))

    def transpose(self, x: Result, perm: Sequence[int]) -> Result:
        """``x`` with its dims in another order."""
        if list(perm) == list(range(len(perm))):
            return x
        if (found := self._known.get(("transpose", x.number, *perm))) is not None:
            return found
        kind = typed(x)
        shape = tuple(kind.shape[p] for p in perm)
        made = self.one("transpose", [x], kind._replace(shape=shape), perm=array(i32, perm))
        back = ("transpose", made.number, *(list(perm).index(i) for i in range(len(perm))))
        self._known[back] = x
        return made

    def expand(self, x: Result, shape: Sequence[Any]) -> Result:
        """``x`` repeated to a shape, whose sizes may be symbols."""
        kind = TensorType(typed(x).dtype, tuple(n if type(n) is int else -1 for n in shape))
        if kind.shape == typed(x).shape and -1 not in kind.shape:
            return x
        return self.one("expand", [x, self.ints(shape)], kind)

    def binary(self, name: str, x: Result, y: Result, type: TensorType) -> Result:
        """A call of two operands."""
        return self.one(name, [x, y], type)

    def scaled(self, x: Result, factor: float, bias: float = 0.0) -> Result:
        """``factor*x + bias``."""
        kind = typed(x)
        by = self.attribute(factor, "float32" if kind.dtype != "float64" else "float64")
        return self.one("scale", [x, by], kind, bias=f32(bias), bias_after_scale=flag(True))

    # --- operations

    def emit(self, o: ir.Operation) -> None:
        """Write one operation of the program."""
        with self.written_for(shown(o.line)):
            self._emit(o)

    @contextmanager
    def written_for(self, lines: Sequence[str]) -> Iterator[None]:
        """Operations are written for a line of the user's source, as text; none: for the same as before."""
        around, self.line = self.line, list(lines) or self.line
        try:
            yield
        finally:
            self.line = around

    def conditions(self, last: bool = False) -> None:
        """Write the conditions on sizes and other numbers that are there by now; ``last``: all that are left."""
        waiting = self._unwritten + self.scope.checks[self._met :]
        self._met = len(self.scope.checks)
        self._unwritten = []
        for check in waiting:
            if last or self.is_known(check.condition):
                self._condition(check)
            else:
                self._unwritten.append(check)

    def _condition(self, check: Check) -> None:
        with self.written_for(check.lines):
            numbers = [self.number(s) for s in symbols_of(check.condition)]
            self.require(self.number(check.condition), check.message, numbers)

    def require(self, flag: Result, message: str, shown: Sequence[Result] = ()) -> None:
        """Write that a flag must be true. ``shown``: what is said beside the message where it is not."""
        said = {"summarize": i64(-1), "message": text(message)}
        self.append(ASSERT, [flag, self.combine(shown)], [], said)

    def _emit(self, o: ir.Operation) -> None:
        start = len(self.block.operations)
        self._write(o)
        for value in o.results:
            x = self.values.get(id(value))
            if value.stop and x is not None and x.number in self._flows:
                self.values[id(value)] = self._stopped(x, self.block.operations[start:])

    def _stopped(self, x: Result, made: Sequence[Operation]) -> Result:
        """A value through which no gradient flows: the same where one of ``made`` makes it, else a copy."""
        if not any(x in o.results for o in made):
            x = self.one("assign", [x], x.type)
            made = self.block.operations[-1:]
        self._flows.discard(x.number)
        for o in made:
            for i, r in enumerate(o.results):
                if r is x:
                    o.traits["stop_gradient"][i] = True
        return x

    def _write(self, o: ir.Operation) -> None:
        found = next((TABLE[cls] for cls in type(o.op).__mro__ if cls in TABLE), None)
        made = found(self, o) if found is not None and type(o.op) not in self.spelt else None
        if made is not None:
            results = [made] if isinstance(made, Result) else made
            for value, x in zip(o.results, results, strict=True):
                if x is not None:
                    self.bind(value, x)
        elif o.op.decompose is not None and not o.regions:
            self.expanded(o, o.op.decompose, o.operands, o.params)
        else:
            self.missing.setdefault(o.name)
            for value in o.results:
                self.bind(value, Result(next(self._numbers), type_of(value.meta)))

    def expanded(
        self, o: ir.Operation, function: Callable[..., Any], operands: Sequence[Any], params: Sequence[Any] = ()
    ) -> None:
        """Write a call as what a function of its operands records."""
        for value, made in zip(o.results, self.traced(lambda *xs: function(*xs, *params), operands), strict=True):
            self.bind(value, made)

    def traced(self, function: Callable[..., Any], operands: Sequence[Any]) -> list[Result]:
        """Write what a function of operands records; what stands for its results."""
        program = trace(function, [x.meta if type(x) is ir.Value else x for x in operands], self.scope)
        self.note(program)
        given = [x for x in operands if type(x) is ir.Value]
        for value, x in zip(program.arguments(), given, strict=True):
            self.bind(value, self.of(x))
        self.constants(program, {})
        self.conditions()
        self.operations(program.ops)
        return [self.of(x) for x in program.outputs]

    def constants(self, program: ir.Program, names: Mapping[str, str]) -> None:
        """Tensors that a program knows by itself; ``names``: those of what is kept from run to run."""
        for key, value in program.constants.items():
            x = program.captured[key]
            if key in names:
                self.bind(value, self.parameter(x, names[key]))
            else:
                taken = {*names.values(), *self.parameters}
                free = (n for n in map("constant_{}".format, count(len(self.parameters))) if n not in taken)
                self.bind(value, self.tensor(x, next(free)))

    def operations(self, operations: Iterable[ir.Operation]) -> None:
        """Write operations in order."""
        for o in operations:
            self.emit(o)

    # --- regions

    @contextmanager
    def region(self, arguments: Iterable[TensorType] = ()) -> Iterator[Block]:
        """Operations go to a block of an operation. It may use the values of those around it."""
        outer, known, values = self.block, self._known, self.values
        self.block = Block([Result(next(self._arguments), t) for t in arguments])
        for x in self.block.arguments:
            self.flowing(x)
        self._known, self.values = known.new_child(), values.new_child()
        try:
            yield self.block
        finally:
            self.block, self._known, self.values = outer, known, values

    def loop(self, going: Result, start: Iterable[Result], types: Sequence[TensorType], block: Block) -> list[Result]:
        """A loop while a flag holds. The reference's takes the memory of the flag and of what it starts with, and
        writes to it: it is given copies."""
        own = [self.one("assign", [x], typed(x)) for x in (going, *start)]
        return self.append("pd_op.while", own, types, {}, [block])

    @contextmanager
    def on_way(self, condition: Any) -> Iterator[None]:
        """Operations are written that run under a condition on sizes, or None."""
        with self.scope.within(condition) if condition is not None else nullcontext():
            yield
            self.conditions()


def type_of(meta: Any) -> TensorType:
    """The type of a value; sizes that are symbols are not known."""
    return TensorType(meta.dtype.name, tuple(n if type(n) is int else -1 for n in meta.shape))


def typed(x: Result) -> TensorType:
    """The type of a value that is a tensor."""
    assert isinstance(x.type, TensorType)
    return x.type


def fixed(*xs: Any) -> bool:
    """Are these numbers known, and none a symbol?"""
    return not any(symbols_of(x) for x in xs)


_CASTS = "itof", "ftoi"
_NUMBERS = {
    "add": "add", "mul": "multiply", "floordiv": "floor_divide", "mod": "remainder", "min": "minimum",
    "max": "maximum", "fadd": "add", "fsub": "subtract", "fmul": "multiply", "fdiv": "divide",
    "fpow": "elementwise_pow", "fmin": "minimum", "fmax": "maximum", "eq": "equal", "ne": "not_equal",
    "le": "less_equal", "lt": "less_than", "and": "logical_and", "or": "logical_or",
}  # fmt: skip
