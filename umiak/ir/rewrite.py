"""The driver of rewrites: passes over operations, and tables of rules that are run to a fixpoint.

A :class:`Sweep` takes operations in their order and builds the list anew; what stands for the values of operations that
it exchanges is put in where they are read. A pass is a sweep that says what becomes of an operation (``visit``).

A rule is an op name and a function ``rule(operation, build)``. It returns None where it does not apply, and otherwise
what stands for each result: a value, or a number. ``build(op, operands, params)`` adds operations before the
rewritten one and returns their results. Tables add: ``rewrite(program, CAST_RULES + POW_RULES)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from typing import Any, TypeAlias

from umiak.ir.builder import Builder
from umiak.ir.program import Block, Operand, Operation, Program, Value, Write, way_condition

Build: TypeAlias = Callable[..., "tuple[Value, ...]"]
Rule: TypeAlias = Callable[[Operation, Build], "Sequence[Operand] | Operand | None"]


class Sweep:
    """One pass over operations. ``out``: those that there are so far; ``table``: by identity what stands for values.

    By default operations are left as they are, but for their operands. An operation that has others is a new one, or,
    with ``in_place``, itself.
    """

    in_place = False

    def __init__(self) -> None:
        self.out: list[Operation] = []
        self.table: dict[int, Any] = {}

    def current(self, x: Any) -> Any:
        """Return the value that stands for an operand now."""
        return self.table.get(id(x), x) if type(x) is Value else x

    def visit(self, o: Operation) -> None:
        """Rewrite one operation."""
        self.keep(o)

    def keep(self, o: Operation, operands: Iterable[Any] | None = None) -> Operation:
        """The operation remains, over ``operands`` (by default what stands for its own)."""
        operands = [self.current(x) for x in o.operands] if operands is None else operands
        if self.in_place:
            o.operands = tuple(operands)
            for way in range(len(o.regions)):
                self.region(o, way)
            self.out.append(o)
            return o
        return self.put(o, o.over(operands))

    def region(self, o: Operation, way: int) -> None:
        """A region of an operation, in place."""
        self.block(o.regions[way])

    def put(self, o: Operation, replacement: Operation) -> Operation:
        """``replacement`` takes the place of ``o``."""
        if replacement is not o:
            self.stand(o.results, replacement.results)
        self.out.append(replacement)
        return replacement

    def stand(self, old: Iterable[Value], new: Iterable[Any]) -> None:
        """Let other values or numbers stand for some."""
        self.table.update({id(a): b for a, b in zip(old, new, strict=True)})

    # --- what is swept

    def run(
        self, operations: Iterable[Operation], results: Sequence[Value | None] = ()
    ) -> tuple[list[Operation], list[Any]]:
        """The operations that stand for these, and the values that stand for their results."""
        for o in operations:
            self.visit(o)
        return self.out, [None if v is None else self.result(v) for v in results]

    def result(self, v: Value) -> Any:
        """Return the value that the caller gets for ``v``."""
        return self.current(v)

    def block(self, block: Block) -> None:
        """A block, in place."""
        outer, self.out = self.out, []
        for o in block.operations:
            self.visit(o)
        block.operations, self.out = self.out, outer
        block.outputs = [self.current(x) for x in block.outputs]

    def program(self, program: Program) -> Program:
        """A whole program, in place: all blocks and the final writes."""
        self.block(program.body)
        program.effects = [Write(w.target, self.current(w.value)) for w in program.effects]
        return program


class Table:
    """Rules by op name, in order. ``"*"`` stands for every op."""

    def __init__(self, rules: Iterable[tuple[str, Any]] = ()) -> None:
        self.rules: tuple[tuple[str, Any], ...] = tuple(rules)
        self._by_name: dict[str, tuple[Any, ...]] = {}

    def __add__(self, other: Table) -> Table:
        return Table(self.rules + other.rules)

    def on(self, *names: str) -> Callable[[Any], Any]:
        """Decorator: enter a rule for these ops."""

        def enter(rule: Any) -> Any:
            self.rules += tuple((name, rule) for name in names)
            self._by_name.clear()
            return rule

        return enter

    def of(self, name: str) -> tuple[Any, ...]:
        rules = self._by_name.get(name)
        if rules is None:
            rules = self._by_name[name] = tuple(rule for n, rule in self.rules if n in (name, "*"))
        return rules


class _Rules(Sweep):
    """One application of a table to all blocks of a program."""

    in_place = True

    def __init__(self, program: Program, table: Table, log: list | None) -> None:
        super().__init__()
        self.builder = Builder(program)
        self.rules = table
        self.log = log
        self.changed = False

    def program(self, program: Program) -> Program:
        super().program(program)
        program.guards = list(self.builder.scope.guards)
        program.checks = list(self.builder.scope.checks)
        return program

    def region(self, o: Operation, way: int) -> None:
        condition = way_condition(o, way)
        with self.builder.scope.within(condition) if condition is not None else nullcontext():
            super().region(o, way)

    def build(self, op: Any, operands: Iterable[Operand], params: Iterable[Any] = ()) -> tuple[Value, ...]:
        operation = self.builder.make(op, operands, params)
        self.out.append(operation)
        return operation.results

    def visit(self, o: Operation) -> None:
        mark = len(self.out)
        self.keep(o)
        self.out.pop()
        self.builder.recompute = o.recompute
        for rule in self.rules.of(o.name):
            replacement = rule(o, self.build)
            if replacement is not None:
                results = tuple(replacement) if isinstance(replacement, (tuple, list)) else (replacement,)
                if self.keeps_stops(o, results, mark):
                    self.replaced(rule, o, results)
                    return
            # A rule that gave up half way leaves nothing behind.
            del self.out[mark:]
        self.out.append(o)

    def replaced(self, rule: Any, o: Operation, results: tuple) -> None:
        if len(results) != len(o.results):
            counts = f"{len(results)} results for {len(o.results)}"
            raise ValueError(f"rule {rule.__name__} gives {counts} of\n  {o!r}")
        self.stand(o.results, results)
        self.changed = True
        if self.log is not None:
            self.log.append((rule.__name__, repr(o)))

    def keeps_stops(self, o: Operation, results: Sequence[Operand], mark: int) -> bool:
        """Check that gradients stop where they did: a value that others use too cannot be closed for them."""
        built = {id(x) for x in self.out[mark:]}
        pairs = [
            (old, new)
            for old, new in zip(o.results, results, strict=False)
            if old.stop and type(new) is Value and not new.stop
        ]
        if any(id(new.producer) not in built for _, new in pairs):
            return False
        for _, new in pairs:
            new.stop = True
        return True


def rewrite(
    program: Program, table: Table, verify: bool = False, limit: int = 100, log: list[tuple[str, str]] | None = None
) -> Program:
    """Apply the rules of ``table`` in place until none applies, inside of regions too.

    ``verify`` checks the program after every sweep. ``log`` collects (rule, operation) for dumps.
    """
    for _ in range(limit):
        sweep = _Rules(program, table, log)
        sweep.program(program)
        if not sweep.changed:
            return program.renumber()
        if verify:
            from umiak.ir.verifier import verify as verify_program

            verify_program(program)
    names = sorted({rule.__name__ for _, rule in table.rules})
    raise RuntimeError(f"no fixpoint after {limit} sweeps of the rules {', '.join(names)} over\n{program!r}")


def operand_of(x: Any, name: str) -> Operation | None:
    """The operation named ``name`` that computes an operand, for patterns that look upwards."""
    operation = x.operation if type(x) is Value else None
    return operation if operation is not None and operation.name == name else None
