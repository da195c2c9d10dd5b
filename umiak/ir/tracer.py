"""Tracing: run ordinary tensor code on symbolic tensors and keep the operations.

One tracer serves vjp plans, decompositions, captured functions and static programs. Dispatch sends every op that meets a
symbolic tensor (or a symbolic number) to ``slow_path``, which asks the innermost tracer of the thread's context to record it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from umiak.core import context
from umiak.core.tensor import KIND_SYMBOLIC, Tensor
from umiak.ir.builder import Builder
from umiak.ir.expr import Sym
from umiak.ir.meta import Meta
from umiak.ir.program import Operation, Program, Value
from umiak.ir.scope import Scope


class SymTensor(Tensor):
    """A tensor of a program under construction: a dtype, sizes that may be symbolic, and the value it stands for."""

    __slots__ = ("value",)
    value: Value

    @property
    def shape(self) -> list:
        return list(self.value.meta.shape)

    @property
    def meta(self) -> Meta:
        return self.value.meta

    def __repr__(self) -> str:
        return f"SymTensor({self.value!r})"


def symbolic(value: Value) -> SymTensor:
    """The tensor that stands for ``value``."""
    out = SymTensor.__new__(SymTensor)
    dtype = value.meta.dtype
    assert dtype is not None
    out._init_symbolic(dtype, len(value.meta.shape))
    out.value = value
    return out


class Tracer:
    """Records calls into a program. Use as a context manager: ops run inside are recorded here."""

    def __init__(self, scope: Scope | None = None, program: Program | None = None) -> None:
        self.builder = Builder(program, scope)
        self.scope = self.builder.scope

    def __enter__(self) -> Tracer:
        context.current().trace.append(self)
        self.scope.__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        self.scope.__exit__(*exc)
        context.current().trace.pop()

    @property
    def operations(self) -> list[Operation]:
        return self.builder.block.operations

    def input(self, meta: Meta) -> SymTensor:
        """A new input of the program."""
        return symbolic(self.builder.input(meta))

    def operand(self, x: Any) -> Any:
        """What stands for an operand in the program."""
        if isinstance(x, SymTensor):
            return x.value
        if isinstance(x, Tensor):
            return self.constant(x)
        return x

    def constant(self, x: Tensor) -> Value:
        """A concrete tensor met while tracing becomes a captured input."""
        program = self.builder.program
        for name, held in program.captured.items():
            if held is x:
                return program.constants[name]
        name = f"c{len(program.captured)}"
        program.captured[name] = x
        return self.builder.input(Meta(tuple(x.shape), x.dtype), constant=name)

    def record(self, op: Any, operands: Iterable[Any], params: Iterable[Any]) -> Any:
        """Append a call; its results as symbolic tensors (a tuple of them where ``infer`` gives a tuple)."""
        results = self.builder.append(op, map(self.operand, operands), tuple(map(_param, params)))
        made = tuple(map(symbolic, results))
        return made if op.multiple(len(made)) else made[0]


def _param(x: Any) -> Any:
    return tuple(x) if type(x) is list else x


def current() -> Tracer:
    """The innermost tracer of this thread."""
    stack = context.current().trace
    if not stack:
        raise RuntimeError("a symbolic tensor was used outside of its trace. Keep results of a traced function inside of it.")
    return stack[-1]


def slow_path(op: Any, operands: tuple, params: tuple) -> Any:
    """Dispatch's slot for whatever is not a plain dense tensor."""
    if any(type(x) is Sym for x in operands) or any(_symbolic_param(p) for p in params):
        return current().record(op, operands, params)
    for x in operands:
        if isinstance(x, Tensor) and x._kind & KIND_SYMBOLIC:
            return current().record(op, operands, params)
    raise TypeError(f"[{op.name}] requires dense tensors, got {', '.join(type(x).__name__ for x in operands)}")


def _symbolic_param(p: Any) -> bool:
    return type(p) is Sym or (type(p) in (tuple, list) and any(type(i) is Sym for i in p))
