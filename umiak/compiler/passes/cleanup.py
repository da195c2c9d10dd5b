"""Passes that leave out what a program says twice or for nothing."""

from __future__ import annotations

from typing import Any

from umiak.compiler.passes.registry import register_pass
from umiak.ir.meta import identical
from umiak.ir.passes import merge_common, remove_dead
from umiak.ir.program import Operation, Program, Value
from umiak.ir.rewrite import Sweep


@register_pass("dead_code_elimination_pass")
def eliminate_dead_code(program: Program) -> None:
    """Drop operations whose results nothing reads."""
    remove_dead(program)


@register_pass("common_subexpression_elimination_pass")
def eliminate_common_subexpressions(program: Program) -> dict[int, Any]:
    """Compute equal calls once."""
    stands: dict[int, Any] = {}
    merge_common(program, stands)
    return stands


@register_pass("identity_op_clean_pass")
def clean_identities(program: Program) -> dict[int, Any]:
    """Leave out calls whose result is their operand: to its own shape or type, times 1, permuted there and back."""
    sweep = _Identities(program)
    sweep.program(program)
    remove_dead(program)
    return sweep.table


class _Identities(Sweep):
    in_place = True

    def __init__(self, program: Program) -> None:
        super().__init__()
        self.kept = {id(x) for x in (*program.outputs, *(w.value for w in program.effects))}

    def visit(self, o: Operation) -> None:
        self.keep(o)
        if len(o.results) != 1 or id(o.results[0]) in self.kept or o.results[0].hooks:
            return
        x = self.operand(o)
        (r,) = o.results
        if type(x) is not Value or x.meta.dtype is not r.meta.dtype or not identical(x.meta.shape, r.meta.shape):
            return
        if r.stop and not x.stop:  # a gradient would flow
            return
        self.out.pop()
        self.stand(o.results, [x])

    def operand(self, o: Operation) -> Any:
        """The operand that the result might be."""
        if o.name in ("reshape", "broadcast_to", "sum_to", "cast", "copy"):
            return o.operands[0]
        if o.name in _NEUTRAL:
            number, commutes = _NEUTRAL[o.name]
            a, b = o.operands
            if type(b) in (int, float) and b == number:
                return a
            return b if commutes and type(a) in (int, float) and a == number else None
        if o.name == "permute":
            inner = o.operands[0].operation if type(o.operands[0]) is Value else None
            perm = o.op.perm
            if inner is not None and inner.name == "permute":
                perm = tuple(inner.op.perm[i] for i in perm)
                return inner.operands[0] if perm == tuple(range(len(perm))) else None
            return o.operands[0] if perm == tuple(range(len(perm))) else None
        if o.name in ("dropout",) and o.params and o.params[0] == 0:
            return o.operands[0]
        return None


# The number that changes nothing, and whether it may stand first. 0 is not in it for `add`: -0.0 + 0 is 0.
_NEUTRAL: dict[str, tuple[Any, bool]] = {"mul": (1, True), "div": (1, False), "pow": (1, False), "sub": (0, False)}
