"""Runs a program op by op with the eager engine: what it means, without compiler or runtime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from umiak.core import eager, inplace
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.ir.expr import Sym
from umiak.ir.program import Program, Value


def environment(program: Program, arguments: Sequence[Tensor], numbers: dict[str, Any] | None = None) -> dict[Sym, Any]:
    """Values of the symbols, from the shapes of the arguments and from numbers given by name."""
    env = {}
    for symbol, source in program.sources().items():
        env[symbol] = arguments[source[0]].shape[source[1]] if source is not None else (numbers or {})[symbol.name]
    return env


def run(program: Program, arguments: Sequence[Tensor], env: dict[Sym, Any] | None = None) -> list[Any]:
    """The outputs; effects are made at the end. Constants are read from what was captured."""
    named = {id(v): program.captured[n] for n, v in program.constants.items()}
    rest = iter(arguments)
    values: dict[int, Any] = {id(v): named[id(v)] if id(v) in named else next(rest) for v in program.inputs}
    if env is None:
        env = environment(program, [values[id(v)] for v in program.inputs])
    for condition in (*program.guards, *(c.condition for c in program.checks)):
        assert dim.evaluate(condition, env), condition

    def value(x: Any) -> Any:
        return values[id(x)] if type(x) is Value else dim.evaluate(x, env)

    for operation in program.ops:
        found = eager.apply(operation.op, tuple(map(value, operation.operands)), dim.evaluate(operation.params, env))
        found = found if isinstance(found, tuple) else (found,)
        for result, tensor in zip(operation.results, found):
            assert tensor.dtype is result.meta.dtype
            assert tensor.shape == list(dim.evaluate(result.meta.shape, env)), operation
            values[id(result)] = tensor
    outputs = [value(x) for x in program.outputs]
    for write in program.effects:
        inplace.assign(values[id(write.target)], value(write.value))
    return outputs
