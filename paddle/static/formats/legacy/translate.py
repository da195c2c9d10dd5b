"""An older program as a module: names of variables become values, blocks become regions.

A variable may be written often; a name stands for the value that was written last. What each operator becomes is in
``table`` and, by subject, in ``operators``.
"""

from __future__ import annotations

import importlib
import itertools
import pkgutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from paddle.static.formats.graph import (
    COMBINE,
    DATA,
    FETCH,
    PARAMETER,
    SPLIT,
    YIELD,
    Attribute,
    Block,
    Module,
    Operation,
    Result,
    TensorType,
    ValueType,
)
from paddle.static.formats.legacy import operators
from paddle.static.formats.legacy.packed import Packed
from paddle.static.formats.legacy.program import (
    ARRAY,
    DENSE,
    SELECTED_ROWS,
    LegacyBlock,
    LegacyProgram,
    Operator,
    Variable,
    read,
)
from paddle.static.formats.legacy.refused import described
from paddle.static.formats.legacy.table import TABLE, UNSET, Operand, Renamed, Row, unknown
from paddle.static.formats.parameters import ELEMENTS
from umiak.ir.serialise import FormatError

# Every module of that folder is a subject, and fills the table.
for _subject in pkgutil.iter_modules(operators.__path__):
    importlib.import_module(f"{operators.__name__}.{_subject.name}")

NOTHING = "@EMPTY@"  # the name of no variable
MOST_GROWTH = 64  # operations that an operator may become, on average; loops and branches may be translated twice

# Kinds of a module's attributes, by the numbers of types in messages: of the value, or of the elements of a list.
_KINDS = {0: "i32", 1: "f32", 2: "str", 6: "bool", 9: "i64", 15: "f64", 16: "scalar"}
_LIST_KINDS = {3: "i32", 4: "f32", 5: "str", 7: "bool", 11: "i64", 12: "f64", 17: "scalar"}
_VARIABLE, _VARIABLES = 13, 14
_BY_TYPE = {bool: "bool", int: "i32", float: "f32", str: "str"}


def read_pdmodel(data: bytes) -> Module:
    """The module of a ``.pdmodel`` or ``__model__`` file.

    Raises:
        FormatError: no such file; operators that are not known, all of which the error names.
    """
    return module_of(read(data))


def module_of(program: LegacyProgram) -> Module:
    """The module of an older program."""
    if missing := unknown(o.type for o in program.walk()):
        raise FormatError(f"operators that are known here are required, got {described(missing)}")
    return Translator(program).module()


class Translator:
    """A program on its way into a module."""

    def __init__(self, program: LegacyProgram) -> None:
        self.program = program
        self.number = 0
        self.left = MOST_GROWTH * (16 + sum(len(b.operators) for b in program.blocks))
        self.types: dict[int, ValueType] = {}
        self.makers: dict[int, Operation] = {}  # of values, by number
        self.block = Block()
        self.scope: list[LegacyBlock] = [program.blocks[0]]  # blocks around, innermost last
        self.values: dict[str, Any] = {}  # numbers by name, or what makes one when it is read: ``settle``
        self.packed = Packed(self)
        self.chosen: set[int] = set()  # operators of the block that were translated together with an earlier one
        self.writes: dict[int, list[str]] = {}  # variables around a block that it writes, by its number
        self.written: Attribute | None = None  # where the user's source has the operator in hand

    def module(self) -> Module:
        """Translate the outermost block."""
        first = self.program.blocks[0]
        for v in first.variables.values():
            if v.persistable and v.kind in (DENSE, SELECTED_ROWS) and v.type is not None:
                self._parameter(v)
        for o in _feeds(first):
            self._data(o.outputs["Out"][0])
        if not any(o.type == "feed" for o in first.operators):
            for v in first.variables.values():
                if v.fed and not v.persistable and v.type is not None:
                    self._data(v.name)
        self.operators(first.operators)
        fetched = {o.plain("name"): o.operands[0] for o in self.block.operations if o.name == FETCH}
        offsets = {name: found for name, n in fetched.items() if n is not None and (found := self.packed.made(n))}
        return Module(self.block, self.program.version, offsets=offsets, packed=self.packed.inputs())

    def _parameter(self, v: Variable) -> None:
        flags = {
            "persistable": True,
            "stop_gradient": v.stop_gradient,
            "trainable": v.parameter and not v.stop_gradient,
        }
        (n,) = self.emit(
            PARAMETER,
            [],
            {"parameter_name": Attribute("str", v.name)},
            [v.type],
            traits={k: [f] for k, f in flags.items()},
        )
        self.values[v.name] = n

    def _data(self, name: str) -> None:
        type = self.variable_type(name)
        if not isinstance(type, TensorType):
            raise FormatError(f"what is fed requires an element type and sizes, got none for {name!r}")
        attributes = {
            "name": Attribute("str", name), "shape": Attribute("intarray", type.shape),
            "dtype": Attribute("dtype", type.dtype), "place": Attribute("place", (0, 0, "")),
        }  # fmt: skip
        v = self.variable(name)
        stops = {"stop_gradient": [v is not None and v.stop_gradient]}
        (n,) = self.emit(DATA, [], attributes, [type], traits=stops)
        self.values[name] = n
        self.packed.feed(n, name, v.levels if v is not None else 0)

    # --- blocks

    def operators(self, given: Sequence[Operator]) -> None:
        """Translate operators in order, into the current block."""
        around = self.chosen, self.written
        self.chosen = set()
        for o in given:
            if id(o) in self.chosen:
                continue
            lines = o.get("op_callstack", [])
            self.written = Attribute("array", tuple(Attribute("str", str(x)) for x in lines)) if lines else None
            meaning = TABLE[o.type]
            try:
                if isinstance(meaning, Row):
                    self.row(o, meaning)
                else:
                    meaning(self, o)
                self.packed.follow(o)
            except (FormatError, RecursionError) as error:
                if getattr(error, "operator", None) is not None:
                    raise
                made = FormatError(f"operator {o.type!r}, which makes {_first(o)}: {error}")
                made.operator = o
                raise made from error
        self.chosen, self.written = around

    def region(self, number: int, values: Mapping[str, Any], arguments: Mapping[str, ValueType]) -> _Region:
        """Translate a sub-block (``with`` it); names stand for ``values``, and for arguments of these types."""
        return _Region(self, number, values, arguments)

    @contextmanager
    def inlined(self, number: int, values: Mapping[str, Any]) -> Iterator[None]:
        """Translate a sub-block into the current one; names stand for ``values``, and for its own within."""
        outside, self.values = self.values, dict(values)
        self.scope.append(self.program.blocks[number])
        try:
            self.operators(self.program.blocks[number].operators)
            yield
        finally:
            self.scope.pop()
            self.values = outside

    @contextmanager
    def inner(self) -> Iterator[Block]:
        """A block of no operators."""
        outside, self.block = self.block, Block()
        try:
            yield self.block
        finally:
            self.block = outside

    def give(self, numbers: Sequence[int]) -> None:
        """End the current block with these values."""
        self.emit(YIELD, numbers, {}, [])

    def following(self, o: Operator) -> Iterator[Operator]:
        """An operator, and those behind it in its block."""
        return itertools.dropwhile(lambda p: p is not o, self.scope[-1].operators)

    # --- values

    def variable(self, name: str) -> Variable | None:
        """The description of a variable, in the innermost block that has it."""
        for block in reversed(self.scope):
            if name in block.variables:
                return block.variables[name]
        return None

    def variable_type(self, name: str) -> ValueType:
        v = self.variable(name)
        if v is None or v.type is None:
            return None
        return (v.type,) if v.kind == ARRAY else v.type

    def value(self, name: str) -> int:
        """The number of what a variable holds now."""
        found = self.values.get(name)
        if found is None:
            raise FormatError(f"a value of the variable {name!r} is required, got none before")
        if not isinstance(found, int):
            found = found.settle(self, name)
        return found

    def input(self, o: Operator, slot: str) -> int:
        """The value of a slot that has one variable."""
        names = _names(o.inputs.get(slot))
        if not names:
            raise FormatError(f"a variable as its input {slot!r} is required, got none")
        return self.value(names[0])

    def optional(self, o: Operator, slot: str) -> int | None:
        """The same; None where there is none."""
        return self.input(o, slot) if _names(o.inputs.get(slot)) else None

    def inputs(self, o: Operator, slot: str) -> list[int]:
        """The values of a slot."""
        return [self.value(n) for n in _names(o.inputs.get(slot))]

    def type(self, n: int) -> ValueType:
        """The type of a value, as far as the file says."""
        return self.types[n]

    def rank(self, n: int) -> int:
        """The number of axes of a value."""
        type = self.types[n]
        if not isinstance(type, TensorType):
            raise FormatError("an operand with a known number of axes is required, got none")
        return len(type.shape)

    def result_type(self, o: Operator, slot: str) -> ValueType:
        """The type of the variable that a slot of results has."""
        names = _names(o.outputs.get(slot))
        return self.variable_type(names[0]) if names else None

    def define(self, o: Operator, slot: str, n: int) -> None:
        """Let the variable of a slot stand for a value; nothing where it has none."""
        for name in _names(o.outputs.get(slot)):
            self.stand(name, n)

    def stand(self, name: str, n: int) -> None:
        """Let a variable stand for a value, through which gradients flow as the file says of the variable.

        What a loop or branch writes to was declared before, by what it holds there: its flag says nothing of writes.
        """
        self.values[name] = n
        v = self.variable(name)
        made = self.makers.get(n)
        if v is not None and v.stop_gradient and made is not None and name in self.scope[-1].variables:
            said = made.traits.setdefault("stop_gradient", [False] * len(made.results))
            said[next(i for i, r in enumerate(made.results) if r.number == n)] = True

    # --- operations

    def new(self, type: ValueType) -> int:
        """The number of a new value."""
        self.number += 1
        self.types[self.number] = type
        return self.number

    def grow(self) -> None:
        """Count an operation, or an argument of a region; refuse too many for the program's size."""
        self.left -= 1
        if self.left < 0:
            raise FormatError("a program that does not grow beyond bounds is required")

    def emit(
        self,
        name: str,
        operands: Iterable[int | None],
        attributes: Mapping[str, Attribute] | None = None,
        types: Sequence[ValueType] = (None,),
        regions: Sequence[Block] = (),
        traits: Mapping[str, list[Any]] | None = None,
    ) -> list[int]:
        """Append an operation; return the numbers of its results."""
        self.grow()
        made = Operation(name, list(operands), dict(attributes or {}), regions=list(regions), traits=dict(traits or {}))
        for type in types:
            n = self.new(type)
            made.results.append(Result(n, type))
            self.makers[n] = made
        self.block.operations.append(made)
        if self.written is not None:
            made.attributes["op_callstack"] = self.written
        return [x.number for x in made.results]

    def call(self, name: str, *operands: int | None, like: int | None = None, **attributes: Any) -> int:
        """Append ``pd_op.<name>`` with one result, of the type of ``like`` (the first operand); return its number.

        Attributes: bool, int, float, str, lists of them, or `Attribute`.
        """
        if like is None:
            like = next((n for n in operands if n is not None), None)
        return self.call_for(name, operands, [None if like is None else self.types[like]], **attributes)[0]

    def call_for(
        self, name: str, operands: Iterable[int | None], types: Sequence[ValueType], **attributes: Any
    ) -> list[int]:
        """Append ``pd_op.<name>`` with results of these types; return their numbers. Attributes as of `call`."""
        made = {k: v if isinstance(v, Attribute) else plain_attribute(v) for k, v in attributes.items()}
        return self.emit(f"pd_op.{name}", operands, made, types)

    def finish(self, o: Operator, slot: str, n: int) -> None:
        """Let the variable of a slot stand for a value that was just made, which gets its type."""
        type = self.result_type(o, slot)
        if type is not None and n in self.makers:
            self.retype(n, type)
        self.define(o, slot, n)

    def retype(self, n: int, type: ValueType) -> None:
        """Give a value that was just made its type."""
        self.types[n] = type
        for result in self.makers[n].results:
            if result.number == n:
                result.type = type

    def combine(self, numbers: Sequence[int]) -> int:
        """A list of values."""
        types = tuple(t for n in numbers if isinstance(t := self.types[n], TensorType))
        return self.emit(COMBINE, numbers, {}, [types])[0]

    def integers(self, values: Sequence[int]) -> int:
        """A constant tensor of integers."""
        attributes = {
            "value": Attribute("array", tuple(Attribute("i64", int(x)) for x in values)),
            "dtype": Attribute("dtype", "int64"), "place": Attribute("place", (1, 0, "")),
        }  # fmt: skip
        return self.emit("pd_op.full_int_array", [], attributes, [TensorType("int64", (len(values),))])[0]

    def scalar(self, value: Any, dtype: str | None = None, shape: Sequence[int] = (1,)) -> int:
        """A constant tensor with one value."""
        dtype = dtype or ("bool" if isinstance(value, bool) else "int64" if isinstance(value, int) else "float32")
        attributes = {
            "shape": Attribute("intarray", tuple(shape)), "value": Attribute("f64", float(value)),
            "dtype": Attribute("dtype", dtype), "place": Attribute("place", (1, 0, "")),
        }  # fmt: skip
        return self.emit("pd_op.full", [], attributes, [TensorType(dtype, tuple(shape))])[0]

    # --- rows

    def row(self, o: Operator, row: Row) -> None:
        """Translate an operator by its row."""
        operands = [self._operand(o, x) for x in row.operands]
        attributes = {}
        for a in row.attributes:
            made = self.attribute(o, a)
            if made is not None:
                attributes[a.name] = made
        types: list[ValueType] = []
        for slot, listed in row.results:
            names = _names(o.outputs.get(slot)) if slot is not None else []
            if listed:
                types.append(tuple(t for n in names if isinstance(t := self.variable_type(n), TensorType)))
            else:
                types.append(self.variable_type(names[0]) if names else None)
        for (slot, listed), n in zip(row.results, self.emit(row.target, operands, attributes, types), strict=True):
            if slot is None:
                continue
            if listed:
                self.spread(o, slot, n)
            else:
                self.define(o, slot, n)

    def spread(self, o: Operator, slot: str, n: int) -> None:
        """Let the variables of a slot stand for the values of a list."""
        names = _names(o.outputs.get(slot))
        if not names:
            return
        parts = self.emit(SPLIT, [n], {}, [self.variable_type(x) for x in names])
        for name, part in zip(names, parts, strict=True):
            self.stand(name, part)

    def _operand(self, o: Operator, operand: Operand) -> int | None:
        for source in operand.sources:
            if source.constant:
                found = self.constant(o, source.name, source.default)
                if found is not None:
                    return found
            elif names := _names(o.inputs.get(source.name)):
                if source.listed:
                    return self.combine([self.value(x) for x in names])
                return self.value(names[0])
        if operand.optional:
            return None
        names = [x.name for x in operand.sources]
        raise FormatError(f"its input {' or '.join(map(repr, names))} is required, got {sorted(o.inputs)}")

    def constant(self, o: Operator, name: str, default: Any = UNSET) -> int | None:
        """An attribute as a tensor; None where the operator has none and there is no default."""
        value, kind = o.attributes.get(name, default), o.kinds.get(name)
        if value is UNSET:
            return None
        if kind == _VARIABLE:
            return self.value(value)
        if kind == _VARIABLES:
            return self.combine([self.value(x) for x in value])
        if isinstance(value, list):
            if not all(isinstance(x, int) for x in value):
                raise FormatError(f"integers as its attribute {name!r} are required, got {value}")
            return self.integers(value)
        if isinstance(value, (str, complex)):
            raise FormatError(f"a number as its attribute {name!r} is required, got {value!r}")
        return self.scalar(value)

    def attribute(self, o: Operator, a: Renamed) -> Attribute | None:
        """An attribute of an operation; None where the operator has none."""
        source = next((x for x in a.sources if x in o.attributes), None)
        if source is None:
            if a.default is UNSET:
                return None
            return dtype_attribute(a.default) if a.dtype else plain_attribute(a.default)
        value, kind = o.attributes[source], o.kinds[source]
        if a.dtype:
            return dtype_attribute(value)
        if kind in _KINDS:
            return Attribute(_KINDS[kind], value)
        if kind in _LIST_KINDS:
            return Attribute("array", tuple(Attribute(_LIST_KINDS[kind], x) for x in value))
        raise FormatError(f"a constant as its attribute {source!r} is required, got variables or blocks")


class _Region:
    """A sub-block that is being translated."""

    def __init__(
        self, t: Translator, number: int, values: Mapping[str, Any], arguments: Mapping[str, ValueType]
    ) -> None:
        self.translator = t
        self.legacy = t.program.blocks[number]
        self.values = dict(values)
        self.block = Block()
        for name, type in arguments.items():
            self.values[name] = self.argument(type)

    def argument(self, type: ValueType) -> int:
        """Another argument, without a name."""
        self.translator.grow()
        n = self.translator.new(type)
        self.block.arguments.append(Result(n, type))
        return n

    def __enter__(self) -> _Region:
        t = self.translator
        self.outside = t.block, t.values
        t.block, t.values = self.block, self.values
        t.scope.append(self.legacy)
        t.operators(self.legacy.operators)
        return self

    def __exit__(self, *_: object) -> None:
        t = self.translator
        t.block, t.values = self.outside
        t.scope.pop()


def _feeds(block: LegacyBlock) -> list[Operator]:
    found = [o for o in block.operators if o.type == "feed"]
    for o in found:
        if not _names(o.outputs.get("Out")) or not isinstance(o.attributes.get("col"), int):
            raise FormatError("'feed' requires a column and a variable, got none")
    return sorted(found, key=lambda o: o.attributes["col"])


def _names(names: list[str] | None) -> list[str]:
    return [n for n in names or () if n != NOTHING]


def _first(o: Operator) -> str:
    return next((repr(n) for names in o.outputs.values() for n in names), "nothing")


def plain_attribute(value: Any) -> Attribute:
    """A plain value as an attribute; lists are of integers where they are empty."""
    if isinstance(value, list):
        return Attribute("array", tuple(plain_attribute(x) for x in value))
    return Attribute(_BY_TYPE[type(value)], value)


def dtype_attribute(number: Any) -> Attribute | None:
    """The element type of a number; None for -1, which means none."""
    if number == -1:
        return None
    if type(number) is not int or number not in ELEMENTS:
        raise FormatError(f"the number of an element type is required, got {number!r}")
    return Attribute("dtype", ELEMENTS[number])
