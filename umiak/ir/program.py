"""Programs: values in SSA form, operations on them, blocks, and the effects that remain at the end.

Tensors in a program are immutable values. What a traced function did in place is left as ``write`` effects on inputs,
made after everything else. Operations with an effect of their own (collectives, IO) carry an order class, and keep
their relative order within it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from umiak.ir import printer
from umiak.ir.expr import Sym, negate
from umiak.ir.meta import Meta, identity
from umiak.ir.scope import Check, substitute, symbols_of
from umiak.util.errors import Line

if TYPE_CHECKING:
    from umiak.core.place import Place

Operand: TypeAlias = "Value | Sym | bool | int | float | complex | None"


class Value:
    """One result of an operation, or one argument of a block. ``id`` is its number in printed text.

    ``stop`` says that no gradient flows through it (it was computed under ``no_grad``, or detached). ``hooks`` has an
    entry ``[hook]`` for each that its gradient is passed through; copies of a program have none. ``place`` is known of
    what a trace was given and of what is made of that; None: where the program runs. It is not printed.
    """

    __slots__ = ("hooks", "id", "index", "meta", "place", "producer", "stop")

    def __init__(
        self, meta: Meta, producer: Operation | Block, index: int, id: int = -1, place: Place | None = None
    ) -> None:
        self.place = place
        self.meta = meta
        self.producer = producer
        self.index = index
        self.id = id
        self.stop = False
        self.hooks: list | None = None

    @property
    def operation(self) -> Operation | None:
        """The operation that computes this value; None for an argument."""
        return self.producer if type(self.producer) is Operation else None

    def __repr__(self) -> str:
        return f"%{self.id}: {self.meta}"


class Operation:
    """A call of an op. ``op`` is the interned op; ``params`` are its run-time numbers, in field order.

    ``recompute`` numbers the region that is recomputed in the backward part (see ``Tracer.recompute``), 0 for none;
    what is recomputed has the negative number. ``line``: where the user's source calls it, where that is noted: file,
    line and function.
    """

    __slots__ = ("line", "op", "operands", "order", "params", "recompute", "regions", "results")

    def __init__(
        self,
        op: Any,
        operands: Iterable[Operand],
        params: Iterable[Any] = (),
        metas: Iterable[Meta] = (),
        regions: Iterable[Block] = (),
    ) -> None:
        self.op = op
        self.operands: tuple[Operand, ...] = tuple(operands)
        self.params: tuple = tuple(params)
        self.regions: tuple[Block, ...] = tuple(regions)
        place = getattr(op, "target_place", None)
        if place is None:
            place = next((x.place for x in self.operands if type(x) is Value and x.place is not None), None)
        self.results: tuple[Value, ...] = tuple(Value(m, self, i, place=place) for i, m in enumerate(metas))
        if self.regions and hasattr(op, "yielded"):
            for value, like in zip(self.results, op.yielded(self.regions), strict=False):
                value.place = like.place if type(like) is Value else None
        # Number within its order class (see `order_class`); -1 while it has none.
        self.order = -1
        self.recompute = 0
        self.line: Line | None = None

    @property
    def name(self) -> str:
        return self.op.name

    @property
    def attributes(self) -> dict[str, Any]:
        return self.op.attributes

    @property
    def values(self) -> tuple[Value, ...]:
        """The operands that are values, with repetitions."""
        return tuple(x for x in self.operands if type(x) is Value)

    def replace(
        self,
        op: Any = None,
        operands: Iterable[Operand] | None = None,
        params: Iterable[Any] | None = None,
        metas: Iterable[Meta] | None = None,
        regions: Iterable[Block] | None = None,
    ) -> Operation:
        """A new call with what is given exchanged; every other property is that of this one.

        The results keep their numbers, and whether gradients flow through them, unless ``metas`` are of another count.
        """
        operation = Operation(
            self.op if op is None else op,
            self.operands if operands is None else operands,
            self.params if params is None else params,
            [r.meta for r in self.results] if metas is None else metas,
            self.regions if regions is None else regions,
        )
        operation.order, operation.recompute, operation.line = self.order, self.recompute, self.line
        if len(operation.results) == len(self.results):
            for old, new in zip(self.results, operation.results, strict=True):
                new.id, new.stop = old.id, old.stop
        return operation

    def over(self, operands: Iterable[Operand]) -> Operation:
        """The same call over these operands: itself, where they are its own."""
        operands = tuple(operands)
        if all(x is y for x, y in zip(operands, self.operands, strict=True)):
            return self
        return self.replace(operands=operands)

    def __repr__(self) -> str:
        return printer.show_operation(self)


class Block:
    """Operations in order, from ``arguments`` to ``outputs``."""

    __slots__ = ("arguments", "operations", "outputs")

    def __init__(self, metas: Iterable[Meta] = ()) -> None:
        self.arguments: list[Value] = [Value(m, self, i) for i, m in enumerate(metas)]
        self.operations: list[Operation] = []
        self.outputs: list[Operand] = []

    def argument(self, meta: Meta, place: Place | None = None) -> Value:
        value = Value(meta, self, len(self.arguments), place=place)
        self.arguments.append(value)
        return value


@dataclass(frozen=True, eq=False)
class Write:
    """The final effect: the storage of an input becomes ``value``."""

    target: Value
    value: Operand


@dataclass(eq=False)
class Program:
    """A block with declarations. Captured tensors are inputs that ``constants`` binds by name.

    ``symbols`` are the sizes and numbers that a caller supplies, ``guards`` the conditions under which the program is
    valid at all, ``checks`` the conditions that it tests before it computes.
    """

    name: str = ""
    body: Block = field(default_factory=Block)
    effects: list[Write] = field(default_factory=list)
    constants: dict[str, Value] = field(default_factory=dict)
    symbols: list[Sym] = field(default_factory=list)
    guards: list[Sym] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    # The tensors behind `constants` while the program lives in memory; never printed or saved.
    captured: dict[str, Any] = field(default_factory=dict)

    @property
    def inputs(self) -> list[Value]:
        return self.body.arguments

    @property
    def ops(self) -> list[Operation]:
        return self.body.operations

    @property
    def outputs(self) -> list[Operand]:
        return self.body.outputs

    @outputs.setter
    def outputs(self, values: Iterable[Operand]) -> None:
        self.body.outputs = list(values)

    def arguments(self) -> list[Value]:
        """The inputs that a caller passes: those that no constant binds."""
        bound = {id(v) for v in self.constants.values()}
        return [v for v in self.inputs if id(v) not in bound]

    def sources(self) -> dict[Sym, tuple[int, int] | None]:
        """The source of each symbol: (input, axis) of a size, or None for a scalar that the caller passes."""
        source_of: dict[Sym, tuple[int, int] | None] = dict.fromkeys(self.symbols)
        for i, value in enumerate(self.inputs):
            for axis, size in enumerate(value.meta.shape):
                if type(size) is Sym and size in source_of and source_of[size] is None:
                    source_of[size] = (i, axis)
        return source_of

    def disjoint(self) -> list[tuple[int, int]]:
        """Pairs of inputs that may share no memory in a call: one that is written, and any other.

        The trace took them for separate tensors; where they overlap, the write would have to show in both.
        """
        written = {id(w.target) for w in self.effects}
        first = [i for i, v in enumerate(self.inputs) if id(v) in written]
        return [(i, j) for i in first for j in range(len(self.inputs)) if j != i and (j not in first or i < j)]

    def walk(self) -> Iterator[Operation]:
        """Every operation, those of regions after the one that owns them."""
        yield from walk(self.body)

    def renumber(self) -> Program:
        """Number the values in the order in which they are defined; returns the program."""
        for number, value in enumerate(defined(self.body)):
            value.id = number
        return self

    def copy(self) -> Program:
        """A program of its own with the same meaning; ops and captured tensors are shared."""
        return self.substitute({})

    def substitute(self, mapping: dict[Sym, Any]) -> Program:
        """A copy in which symbols are replaced, in metas, params, operands and conditions alike."""
        table: dict[int, Value] = {}
        out = Program(self.name, _copy_block(self.body, table, mapping), captured=dict(self.captured))
        out.effects = [Write(table[id(w.target)], _mapped(w.value, table, mapping)) for w in self.effects]
        out.constants = {n: table[id(v)] for n, v in self.constants.items()}
        out.symbols = list(symbols_of(tuple(substitute(s, mapping) for s in self.symbols)))
        out.guards = [g for g in (substitute(g, mapping) for g in self.guards) if type(g) is Sym]
        for check in self.checks:
            condition = substitute(check.condition, mapping)
            if type(condition) is Sym:
                out.checks.append(Check(condition, check.message, check.lines))
            elif not condition:
                raise ValueError(f"with {mapping} the program's check fails: {check.message}")
        return out

    def same_as(self, other: Program) -> bool:
        """Structural equality, whatever the values are numbered."""
        return self.canonical() == other.canonical()

    def canonical(self) -> str:
        """Text with values numbered by definition: equal programs have equal text."""
        numbers = {id(v): n for n, v in enumerate(defined(self.body))}
        return printer.Printer(lambda v: numbers[id(v)]).program(self)

    def __repr__(self) -> str:
        return printer.show(self)


def walk(block: Block) -> Iterator[Operation]:
    for operation in block.operations:
        yield operation
        for region in operation.regions:
            yield from walk(region)


def defined(block: Block) -> Iterator[Value]:
    """Every value, in the order of definition."""
    yield from block.arguments
    for operation in block.operations:
        yield from defined_by(operation)


def defined_by(operation: Operation) -> Iterator[Value]:
    """The results of an operation and the values of its regions."""
    yield from operation.results
    for region in operation.regions:
        yield from defined(region)


def order_class(op: Any) -> str | None:
    """The order class of an op, such as ``"group:world"``; None for an op without an effect."""
    return op.effect or None


def is_pure(operation: Operation) -> bool:
    """Return whether nothing but its results depends on the operation."""
    if operation.op.effect:
        return False
    return not operation.regions or all(is_pure(inner) for r in operation.regions for inner in r.operations)


_CHECK = "require"


def is_repeatable(operation: Operation) -> bool:
    """Return whether an operation may run once more: what it does beside its results are tests, which it has passed."""
    if operation.op.effect and operation.op.name != _CHECK:
        return False
    return all(is_repeatable(inner) for r in operation.regions for inner in r.operations)


def without_checks(operation: Operation) -> Operation:
    """The same operation, whose regions test nothing; in place."""
    for region in operation.regions:
        region.operations = [without_checks(o) for o in region.operations if o.op.name != _CHECK]
    return operation


def is_closed(operation: Operation) -> bool:
    """Return whether the regions of an operation read no values but their arguments."""
    return getattr(operation.op, "closed", False)


def bound(operation: Operation) -> tuple[Sym, ...]:
    """The symbols that an operation gives a value to: after its run, or while its regions run."""
    names = getattr(operation.op, "binds", ())
    if not names:
        return ()
    first: dict[str, int] = dict(n if type(n) is tuple else (n, 0) for n in names)
    params = [
        x[first[n] :] if type(x) is tuple else (x,)
        for n, x in zip(operation.op.param_fields, operation.params, strict=True)
        if n in first
    ]
    each = (x for p in params for x in p)
    return tuple(x for x in each if type(x) is Sym and x.op == "symbol")


def bound_within(operations: Iterable[Operation]) -> set[Sym]:
    """The symbols that operations, and those of their regions, give a value to."""
    return {s for o in operations for inner in (o, *(i for r in o.regions for i in walk(r))) for s in bound(inner)}


def reads_number(operation: Operation) -> bool:
    """Does a call read from data the value that it gives to a symbol? What reads the symbol has to come behind it."""
    return bool(bound(operation)) and not (operation.regions and not getattr(operation.op, "grown", ()))


def way_condition(operation: Operation, way: int) -> Any:
    """The condition on sizes and other numbers under which region number ``way`` of a branch runs; None where data
    decide, and for regions of loops."""
    condition = _of_numbers(operation) if operation.name == "cond" else None
    return condition if way == 0 or condition is None else negate(condition)


def required_condition(operation: Operation) -> Sym | None:
    """The condition on sizes and other numbers that an operation requires; None where it requires none of them."""
    return _of_numbers(operation) if operation.name == "require" else None


def _of_numbers(operation: Operation) -> Sym | None:
    """The condition that the first operand stands for; None where data decide."""
    flag = operation.operands[0]
    made = flag.operation if type(flag) is Value else None
    if made is None or made.name != "full" or type(made.operands[0]) is not Sym:
        return None
    return made.operands[0]


def scalars_of(operation: Operation) -> dict[Sym, None]:
    """The symbols that a call reads as operands and params; those that it binds are among them."""
    return symbols_of([*(x for x in operation.operands if type(x) is Sym), operation.params])


def free(block: Block) -> list[Value]:
    """The values that a block reads from outside, in order; regions of its operations are closed."""
    own = {id(v) for v in block.arguments} | {id(r) for o in block.operations for r in o.results}
    read = [*(v for o in block.operations for v in o.values), *(x for x in block.outputs if type(x) is Value)]
    return list({id(v): v for v in read if id(v) not in own}.values())


def map_operand(x: Operand, replace: Callable[[Value], Operand]) -> Operand:
    return replace(x) if type(x) is Value else x


def _mapped(x: Any, table: dict[int, Value], mapping: dict[Sym, Any]) -> Any:
    if type(x) is Value:
        return table[id(x)]
    return substitute(x, mapping) if mapping else x


def _meta(meta: Meta, mapping: dict[Sym, Any]) -> Meta:
    return Meta(substitute(meta.shape, mapping), meta.dtype, meta.weak) if mapping else meta


def _copy_block(block: Block, table: dict[int, Value], mapping: dict[Sym, Any]) -> Block:
    out = Block(_meta(a.meta, mapping) for a in block.arguments)
    for old, new in zip(block.arguments, out.arguments, strict=True):
        table[id(old)] = new
        new.id, new.place = old.id, old.place
    out.operations = [_copy_operation(o, table, mapping) for o in block.operations]
    out.outputs = [_mapped(x, table, mapping) for x in block.outputs]
    return out


def _copy_operation(operation: Operation, table: dict[int, Value], mapping: dict[Sym, Any]) -> Operation:
    out = operation.replace(
        operands=[_mapped(x, table, mapping) for x in operation.operands],
        params=substitute(operation.params, mapping) if mapping else None,
        metas=[_meta(r.meta, mapping) for r in operation.results] if mapping else None,
        regions=[_copy_block(r, table, mapping) for r in operation.regions],
    )
    table.update({id(old): new for old, new in zip(operation.results, out.results, strict=True)})
    return out


def copy_operation(operation: Operation, table: dict[int, Value]) -> Operation:
    """The operation over what ``table`` has for its values by identity, which is told of its results."""
    for v in operation.values:
        table.setdefault(id(v), v)
    return _copy_operation(operation, table, {})


def extract(
    source: Program,
    operations: Iterable[Operation],
    inputs: Iterable[Value],
    outputs: Iterable[Operand],
    effects: Iterable[Write] = (),
) -> Program:
    """A program of its own from some operations of another, with the same symbols and conditions."""
    out, table = Program(source.name), {}
    names = {id(v): n for n, v in source.constants.items()}
    for value in inputs:
        table[id(value)] = out.body.argument(value.meta)
        table[id(value)].place = value.place
        if (name := names.get(id(value))) is not None:
            out.constants[name] = table[id(value)]
            if name in source.captured:
                out.captured[name] = source.captured[name]
    out.body.operations = [_copy_operation(o, table, {}) for o in operations]
    out.outputs = [_mapped(x, table, {}) for x in outputs]
    out.effects = [Write(table[id(w.target)], _mapped(w.value, table, {})) for w in effects]
    out.symbols, out.guards, out.checks = list(source.symbols), list(source.guards), list(source.checks)
    return out.renumber()


def with_bases(results: Iterable[Any]) -> set[int]:
    """The ids of results and of the values that they are views of: each is a tensor of its own for the caller, and so
    is its memory. Equal calls that lead to two of them are both made.
    """
    bases: set[int] = set()
    for v in results:
        while type(v) is Value and id(v) not in bases:
            bases.add(id(v))
            producer = v.operation
            v = producer.operands[0] if producer is not None and producer.op.view else None
    return bases


def uses(operation: Operation) -> Iterator[Value]:
    """The values that an operation reads, those of its regions included."""
    yield from operation.values
    for region in operation.regions:
        for inner in walk(region):
            yield from inner.values
        yield from (x for x in region.outputs if type(x) is Value)


def call_identity(operation: Operation) -> tuple:
    """Equal for two calls that are the same to every reader: value and gradient (regions aside)."""
    operands = tuple(("value", id(x)) if type(x) is Value else identity(x) for x in operation.operands)
    return (
        id(operation.op),
        operands,
        identity(operation.params),
        operation.recompute < 0,
        *(r.stop for r in operation.results),
    )
