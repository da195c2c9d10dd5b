"""Programs of quantised models: levels that are made twice, and weights that are dequantised in every run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from umiak.compiler.passes.folding import Folding
from umiak.compiler.passes.registry import register_pass
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor
from umiak.ir.passes import remove_dead
from umiak.ir.program import Operation, Program, Value
from umiak.ir.rewrite import Sweep, operand_of

_SIGNIFICANT_BITS = {dt.bfloat16: 8, dt.float16: 11, dt.float32: 24, dt.float64: 53}


@register_pass("delete_weight_dequant_linear_op_pass")
def fold_weights(program: Program, scope: Callable[[Tensor], Tensor] | None = None) -> None:
    """Dequantise constant weights once.

    ``scope``: gives the values of captured tensors, which are constants then; without it nothing is one.
    """
    if scope is not None:
        _Weights(program, scope).program(program)
        remove_dead(program)


class _Weights(Folding):
    def folded(self, o: Operation) -> tuple[Tensor, ...] | None:
        return super().folded(o) if o.name in ("quantize_linear", "dequantize_linear") else None


@register_pass("delete_quant_dequant_linear_op_pass")
def merge_pairs(program: Program) -> dict[int, Any]:
    """Leave levels as they are where they are dequantised and quantised again with the same scale.

    What only moves elements may stand between. A value that is quantised and dequantised stays rounded to levels.
    """
    sweep = _Pairs(program)
    sweep.program(program)
    remove_dead(program).renumber()
    return sweep.table


class _Pairs(Sweep):
    in_place = True

    def __init__(self, program: Program) -> None:
        super().__init__()
        self.kept = {id(x) for x in (*program.outputs, *(w.value for w in program.effects))}

    def visit(self, o: Operation) -> None:
        self.keep(o)
        if o.name != "quantize_linear" or id(o.results[0]) in self.kept or o.results[0].hooks:
            return
        moves: list[Operation] = []
        x = o.operands[0]
        while type(x) is Value and (made := x.operation) is not None and _moves(made) and o.op.axis == -1:
            moves.append(made)
            x = made.operands[0]
        back = operand_of(x, "dequantize_linear")
        if back is None or not _same_levels(o, back) or not _recovers(o):
            return
        levels = back.operands[0]
        source = operand_of(levels, "quantize_linear")
        if source is None or source.op is not o.op or not _same_levels(source, back) or source.params != o.params:
            return
        self.out.pop()
        for move in reversed(moves):
            again = move.replace(operands=(levels,))
            self.out.append(again)
            (levels,) = again.results
        self.stand(o.results, [levels])


def _moves(o: Operation) -> bool:
    return o.op.view and len(o.operands) == 1 and len(o.results) == 1 and not o.results[0].hooks


def _same_levels(a: Operation, b: Operation) -> bool:
    return a.op.axis == b.op.axis and a.operands[1] is b.operands[1] and a.params[0] == b.params[0]


def _recovers(o: Operation) -> bool:
    """Return whether rounding finds a level again after what it stands for was rounded to its type."""
    dtype = o.results[0].meta.dtype
    if dtype not in _SIGNIFICANT_BITS or not all(type(p) in (int, float) for p in o.params):
        return False
    return max(map(abs, o.params)) * 2.0 ** -_SIGNIFICANT_BITS[dtype] <= 0.5
