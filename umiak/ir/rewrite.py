"""The rewrite driver: tables of rules, run to a fixpoint.

A rule is an op name and a function ``rule(operation, build)``. It returns None where it does not apply, and otherwise
what stands for each result: a value, or a number. ``build(op, operands, params)`` adds operations before the
rewritten one and returns their results. Tables add: ``rewrite(program, CAST_RULES + POW_RULES)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from umiak.ir.builder import Builder
from umiak.ir.program import Block, Operand, Operation, Program, Value, Write, map_operand
from umiak.ir.verifier import verify as verify_program

Build: TypeAlias = Callable[..., "tuple[Value, ...]"]
Rule: TypeAlias = Callable[[Operation, Build], "Sequence[Operand] | Operand | None"]


class Table:
    """Rules by op name, in order. ``"*"`` stands for every op."""

    def __init__(self, rules: Iterable[tuple[str, Rule]] = ()) -> None:
        self.rules: tuple[tuple[str, Rule], ...] = tuple(rules)
        self._by_name: dict[str, tuple[Rule, ...]] = {}

    def __add__(self, other: Table) -> Table:
        return Table(self.rules + other.rules)

    def on(self, *names: str) -> Callable[[Rule], Rule]:
        """Decorator: enter a rule for these ops."""

        def enter(rule: Rule) -> Rule:
            self.rules += tuple((name, rule) for name in names)
            self._by_name.clear()
            return rule

        return enter

    def of(self, name: str) -> tuple[Rule, ...]:
        found = self._by_name.get(name)
        if found is None:
            found = self._by_name[name] = tuple(rule for n, rule in self.rules if n in (name, "*"))
        return found


class _Sweep:
    """One pass over all blocks, building each operation list anew."""

    def __init__(self, program: Program, table: Table, log: list | None) -> None:
        self.builder = Builder(program)
        self.program = program
        self.table = table
        self.log = log
        self.replaced: dict[int, Operand] = {}
        self.changed = False

    def run(self) -> bool:
        self.block(self.program.body)
        self.program.effects = [Write(w.target, self.current(w.value)) for w in self.program.effects]
        self.program.guards = list(self.builder.scope.guards)
        self.program.checks = list(self.builder.scope.checks)
        return self.changed

    def current(self, x: Operand) -> Operand:
        """What now stands for an operand."""
        return map_operand(x, lambda v: self.replaced.get(id(v), v))

    def block(self, block: Block) -> None:
        old, block.operations = block.operations, []
        for operation in old:
            operation.operands = tuple(map(self.current, operation.operands))
            for region in operation.regions:
                self.block(region)
            # Set here, since a rule may have been working inside a region.
            self.builder.block, self.builder.again = block, operation.again
            if not self.apply(operation):
                block.operations.append(operation)
        block.outputs = [self.current(x) for x in block.outputs]

    def apply(self, operation: Operation) -> bool:
        for rule in self.table.of(operation.name):
            mark = len(self.builder.block.operations)
            found = rule(operation, self.builder.append)
            if found is None:
                # A rule that gave up half way leaves nothing behind.
                del self.builder.block.operations[mark:]
                continue
            results = tuple(found) if isinstance(found, (tuple, list)) else (found,)
            if not self.keep_stops(operation, results, mark):
                del self.builder.block.operations[mark:]
                continue
            if len(results) != len(operation.results):
                counts = f"{len(results)} results for {len(operation.results)}"
                raise ValueError(f"rule {rule.__name__} gives {counts} of\n  {operation!r}")
            for value, new in zip(operation.results, results, strict=True):
                self.replaced[id(value)] = new
            self.changed = True
            if self.log is not None:
                self.log.append((rule.__name__, repr(operation)))
            return True
        return False

    def keep_stops(self, operation: Operation, results: Sequence[Operand], mark: int) -> bool:
        """Where no gradient flows, none may flow after; a value that others use too cannot be closed for them."""
        made = {id(o) for o in self.builder.block.operations[mark:]}
        pairs = [
            (old, new)
            for old, new in zip(operation.results, results, strict=False)
            if old.stop and type(new) is Value and not new.stop
        ]
        if any(id(new.producer) not in made for _, new in pairs):
            return False
        for _, new in pairs:
            new.stop = True
        return True


def rewrite(
    program: Program, table: Table, verify: bool = False, limit: int = 100, log: list[tuple[str, str]] | None = None
) -> Program:
    """Apply the rules of ``table`` in place until none applies.

    ``verify`` checks the program after every sweep. ``log`` collects (rule, operation) for dumps.
    """
    for _ in range(limit):
        if not _Sweep(program, table, log).run():
            return program.renumber()
        if verify:
            verify_program(program)
    names = sorted({rule.__name__ for _, rule in table.rules})
    raise RuntimeError(f"no fixpoint after {limit} sweeps of the rules {', '.join(names)} over\n{program!r}")


def operand_of(x: Any, name: str) -> Operation | None:
    """The operation named ``name`` that computes an operand, for patterns that look upwards."""
    operation = x.operation if type(x) is Value else None
    return operation if operation is not None and operation.name == name else None
