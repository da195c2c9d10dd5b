"""Arithmetic and comparison of sizes and run-time numbers: ``from umiak.ir import sym as dim``.

Every function takes Python scalars and symbolic ones alike. A comparison of concrete sizes evaluates; of hinted ones
(capture) it records a guard; of unhinted ones it becomes a check that the program makes at run time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from umiak.ir import expr
from umiak.ir.expr import (
    Bool,
    DimError,
    Int,
    Number,
    Sym,
    cdiv,
    kind_of,
    maximum,
    minimum,
    symbol,
    to_float,
    to_int,
)
from umiak.ir.linearise import Instruction, Linear, Opcode, linearise
from umiak.ir.scope import (
    Check,
    Scope,
    get_scope,
    install,
    require,
    set_scope,
    settle,
    substitute,
    symbols_of,
)


def eq(a: Int, b: Int) -> bool:
    """Return whether two sizes are equal. Without hints the answer is True and the program checks it.

    It is for what is required, so that False is an error. What only chooses among forms branches on ``a == b``, which
    is never taken for true, or asks :func:`same`.
    """
    if type(a) is int and type(b) is int:
        return a == b
    return settle(expr.compare_eq(a, b), f"requires {a} == {b}")


def le(a: Int, b: Int) -> bool:
    """Return whether ``a <= b``; regimes as for :func:`eq`."""
    if type(a) is int and type(b) is int:
        return a <= b
    return settle(expr.compare_le(a, b), f"requires {a} <= {b}")


def lt(a: Int, b: Int) -> bool:
    """Return whether ``a < b``; regimes as for :func:`eq`."""
    if type(a) is int and type(b) is int:
        return a < b
    return settle(expr.compare_lt(a, b), f"requires {a} < {b}")


def one_of(a: Int, *sizes: Int) -> bool:
    """Return whether a size is one of some; as :func:`eq`, for what is required."""
    if type(a) is int and all(type(n) is int for n in sizes):
        return a in sizes
    condition = expr.disjunction(*(expr.compare_eq(a, n) for n in sizes))
    return settle(condition, f"requires {a} to be {' or '.join(map(str, sizes))}")


def same(a: Number, b: Number) -> bool:
    """Return whether two values are provably equal. Records nothing, so False may mean "not known"."""
    if a is b:
        return True
    scope = get_scope()
    if scope is not None:
        a, b = scope.simplify(a), scope.simplify(b)
    if kind_of(a) == "float" or kind_of(b) == "float":
        return a is b or (type(a) is type(b) is float and a.hex() == b.hex())
    return expr.compare_eq(a, b) is True


def broadcast(a: Int, b: Int) -> Int:
    """The size of two broadcast dimensions; raises :class:`DimError` when they are known not to fit."""
    if type(a) is int and type(b) is int:
        return expr.EVALUATE["broadcast"](a, b)
    condition = expr.broadcastable(a, b)
    scope = get_scope()
    if scope is not None:
        for size, other in ((a, b), (b, a)):
            if expands(other, size):
                return scope.simplify(size)
    if type(condition) is Sym and scope is not None and condition.hinted and scope.decide(condition) is None:
        # Settle the narrowest condition, so that the guard says which of the three cases was seen.
        for narrow, result in ((expr.compare_eq(a, b), a), (expr.compare_eq(b, 1), a), (expr.compare_eq(a, 1), b)):
            if narrow is True or (type(narrow) is Sym and narrow.hint):
                settle(narrow, "")
                return scope.simplify(result)
    message = f"sizes {a} and {b} do not broadcast"
    require(condition, message)
    if scope is not None:
        a, b = scope.simplify(a), scope.simplify(b)
    return expr.broadcast_value(a, b)


def where(condition: Bool, a: Number, b: Number) -> Number:
    """``a if condition else b`` without deciding the condition; ``a if b == 1 else b`` is the size of both broadcast,
    where they are known to."""
    if type(condition) is type(b) is Sym and kind_of(a) == kind_of(b) == "int" and condition is expr.compare_eq(b, 1):
        scope = get_scope()
        if scope is not None and scope.decide(expr.broadcastable(a, b)):  # type: ignore[arg-type]
            return broadcast(a, b)  # type: ignore[arg-type]
    return expr.where(condition, a, b)


def expands(n: Int, size: Int) -> bool:
    """Return whether a size is known to be ``size``, or 1 and so to be repeated. Records nothing."""
    condition = expr.disjunction(expr.compare_eq(n, size), expr.compare_eq(n, 1))
    scope = get_scope()
    return condition is True or (scope is not None and scope.decide(condition) is True)


def product(sizes: Iterable[Int]) -> Int:
    """The product of sizes; 1 for none."""
    out: Any = 1
    for size in sizes:
        out = out * size
    return out


def known(a: Number) -> int | None:
    """The size as an int, or None while it is symbolic."""
    if type(a) is Sym:
        scope = get_scope()
        a = scope.simplify(a) if scope is not None else a
        if type(a) is Sym:
            return None
    return int(a)


def evaluate(x: Any, env: Mapping[Any, Any]) -> Any:
    """The value of an expression or a nested tuple; ``env`` maps symbols or their names to numbers."""
    if type(x) is Sym:
        if x.op == "symbol":
            return env[x] if x in env else env[x.name]
    elif type(x) is not tuple:
        return x
    memo: dict[int, Any] = {}

    def visit(node: Any) -> Any:
        if type(node) is tuple:
            return tuple(visit(item) for item in node)
        if type(node) is not Sym:
            return node
        if id(node) in memo:
            return memo[id(node)]
        if node.op == "symbol":
            value = env[node] if node in env else env[node.name]
        elif node.op == "select":
            # Only the chosen side: the other may divide by zero.
            value = visit(node.args[1] if visit(node.args[0]) else node.args[2])
        elif node.op in ("and", "or"):
            value = connected(node.args, node.op == "or")
        else:
            value = expr.EVALUATE[node.op](*map(visit, node.args))
        memo[id(node)] = value
        return value

    def connected(args: tuple, settles: bool) -> bool:
        """``settles`` if one of them is: it may be what keeps others, which stand in any order, from failing."""
        failure = None
        for arg in args:
            try:
                if visit(arg) == settles:
                    return settles
            except ZeroDivisionError as error:
                failure = error
        if failure is not None:
            raise failure
        return not settles

    return visit(x)


__all__ = [
    "Bool",
    "Check",
    "DimError",
    "Instruction",
    "Int",
    "Linear",
    "Number",
    "Opcode",
    "Scope",
    "Sym",
    "broadcast",
    "cdiv",
    "eq",
    "evaluate",
    "expands",
    "get_scope",
    "install",
    "kind_of",
    "known",
    "le",
    "linearise",
    "lt",
    "maximum",
    "minimum",
    "one_of",
    "product",
    "require",
    "same",
    "set_scope",
    "substitute",
    "symbol",
    "symbols_of",
    "to_float",
    "to_int",
    "where",
]
