"""Upper bounds of expressions: an argument that cannot be large needs no code for large ones."""

from __future__ import annotations

import math

from umiak.compiler.loop.node import Node


def largest(x: Node, depth: int = 8) -> float:
    """No |x| is above it, and no x is NaN unless it is infinite."""
    t, args = x.type, x.args
    if not depth:
        return math.inf
    depth -= 1
    if x.op == "const":
        return math.inf if x.attr != x.attr else abs(float(x.attr))
    if x.op == "shr" and t.kind == "u" and args[1].op == "const":
        return largest(args[0], depth) / 2 ** min(args[1].attr, t.bits)
    if x.op == "and" and t.kind == "u":
        return min(largest(y, depth) for y in args)
    if x.op in ("or", "xor") and t.kind == "u":
        most = max(largest(y, depth) for y in args)
        return 2.0 ** math.frexp(most)[1] - 1 if most < 2.0**32 else 2.0**t.bits
    if t.kind == "u":
        return 2.0**t.bits
    if not t.is_float or t.is_storage:
        return math.inf
    if x.op == "cast":
        return largest(args[0], depth) * (1 + 2**-8)  # rounded
    if x.op in ("abs", "neg"):
        return largest(args[0], depth)
    if x.op in ("add", "sub"):
        return (largest(args[0], depth) + largest(args[1], depth)) * (1 + 2**-8)
    if x.op == "mul":
        a, b = (largest(y, depth) for y in args)
        return math.inf if math.inf in (a, b) else a * b * (1 + 2**-8)
    return math.inf
