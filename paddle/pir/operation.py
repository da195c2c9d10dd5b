"""Operations of programs, and the values between them, as programs of users look at them."""

from __future__ import annotations

from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

from paddle._public import public
from umiak.ir.program import Block, Program, uses
from umiak.ir.program import Operation as Recorded
from umiak.ir.tracer import SymTensor, symbolic
from umiak.runtime.program_tracer import ProgramTracer
from umiak.util.errors import op_error


@public("paddle.pir")
class Operation:
    """An operation of a static program.

    Operands and results are variables, which can be fetched; an operand that is a number is a number, an absent one
    None.

    Args:
        recorded: what the engine has recorded.
        tracer: the program that it belongs to.

    Example:
        >>> import paddle
        >>> paddle.enable_static()
        >>> program = paddle.static.Program()
        >>> with paddle.static.program_guard(program):
        ...     y = paddle.tanh(paddle.static.data("x", [2]) * 2.0)
        >>> scaled, tanh = program.global_block().ops
        >>> tanh.name(), tanh.num_results(), scaled.operand_source(1)
        ('tanh', 1, 2.0)
        >>> tanh.operand_source(0).get_defining_op().name()
        'mul'
        >>> paddle.disable_static()
    """

    def __init__(self, recorded: Recorded, tracer: ProgramTracer | None) -> None:
        self._operation = recorded
        self._tracer = tracer

    @property
    def type(self) -> str:
        """The name of the op."""
        return self._operation.name

    def name(self) -> str:
        """Return the name of the op."""
        return self._operation.name

    def attrs(self) -> dict[str, Any]:
        """Return what is fixed about the call: attributes, and params that are numbers, by name."""
        params = zip(getattr(self._operation.op, "param_fields", ()), self._operation.params, strict=False)
        return {**self._operation.attributes, **dict(params)}

    def has_attr(self, name: str) -> bool:
        """Say whether there is an attribute of a name.

        Args:
            name: the name.
        """
        return name in self.attrs()

    def get_attr_names(self) -> list[str]:
        """Return the names of the attributes."""
        return list(self.attrs())

    def get_input_names(self) -> list[str]:
        """Return what the op calls its operands."""
        return [n.strip("*?") for n in self._operation.op.inputs]

    def num_operands(self) -> int:
        """Return the number of operands."""
        return len(self._operation.operands)

    def num_results(self) -> int:
        """Return the number of results."""
        return len(self._operation.results)

    def num_regions(self) -> int:
        """Return the number of regions: branches, conditions and bodies of loops."""
        return len(self._operation.regions)

    def operands_source(self) -> list[Any]:
        """Return the operands: variables, numbers, or None."""
        return [self._shown(x) for x in self._operation.operands]

    def operand_source(self, index: int) -> Any:
        """Return an operand.

        Args:
            index: its number, from 0.

        Raises:
            IndexError: there are fewer.
        """
        return self._nth("operand_source", self.operands_source(), index)

    def results(self) -> list[SymTensor]:
        """Return the results."""
        return [symbolic(r, self._tracer) for r in self._operation.results]

    def result(self, index: int) -> SymTensor:
        """Return a result.

        Args:
            index: its number, from 0.

        Raises:
            IndexError: there are fewer.
        """
        return self._nth("result", self.results(), index)

    def blocks(self) -> list[RegionBlock]:
        """Return the blocks of the regions."""
        return [RegionBlock(r, self._tracer) for r in self._operation.regions]

    def _shown(self, x: Any) -> Any:
        return symbolic(x, self._tracer) if hasattr(x, "producer") else x

    @staticmethod
    def _nth(what: str, given: list, index: int) -> Any:
        if not 0 <= index < len(given):
            raise op_error(IndexError, what, f"a number below {len(given)}", index)
        return given[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Operation) and other._operation is self._operation

    def __hash__(self) -> int:
        return id(self._operation)

    def __repr__(self) -> str:
        return repr(self._operation)


class RegionBlock:
    """The operations of a branch or a loop body, over its arguments."""

    def __init__(self, block: Block, tracer: ProgramTracer | None) -> None:
        self._block = block
        self._tracer = tracer

    @property
    def ops(self) -> list[Operation]:
        """The operations, in order."""
        return [Operation(o, self._tracer) for o in self._block.operations]

    def args(self) -> list[SymTensor]:
        """Return the arguments: what the operation hands in."""
        return [symbolic(v, self._tracer) for v in self._block.arguments]

    def num_ops(self) -> int:
        """Return the number of operations."""
        return len(self._block.operations)


def recorded_in(tracer: ProgramTracer) -> list[Operation]:
    """The operations of a program outside of regions."""
    return [Operation(o, tracer) for o in tracer.builder.program.ops]


# --- variables, which are the engine's symbolic tensors ---------------------------------------------------------------


# The program that a pass is looking at; its variables belong to no tracer.
EXAMINED: ContextVar[Program | None] = ContextVar("examined", default=None)


def _readers(x: SymTensor) -> Iterator[Recorded]:
    program = EXAMINED.get() if x._tracer is None else x._tracer.builder.program
    assert program is not None
    return (o for o in program.walk() if any(v is x._value for v in uses(o)))


def get_defining_op(self: SymTensor) -> Operation | None:
    """The operation that makes a variable of a static program; None for an input or a parameter."""
    operation = self._value.operation
    return None if operation is None else Operation(operation, self._tracer)  # type: ignore[arg-type]


def all_used_ops(self: SymTensor) -> list[Operation]:
    """The operations that read a variable of a static program."""
    return [Operation(o, self._tracer) for o in _readers(self)]  # type: ignore[arg-type]


def use_empty(self: SymTensor) -> bool:
    """Say whether no operation reads a variable of a static program."""
    return next(_readers(self), None) is None


def has_one_use(self: SymTensor) -> bool:
    """Say whether one operation reads a variable of a static program."""
    return len(list(_readers(self))) == 1


def is_same(self: SymTensor, other: Any) -> bool:
    """Say whether two variables of a static program stand for one value."""
    return isinstance(other, SymTensor) and self._value is other._value


for _method in (get_defining_op, all_used_ops, use_empty, has_one_use, is_same):
    setattr(SymTensor, _method.__name__, _method)
