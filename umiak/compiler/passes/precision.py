"""Mixed precision of a program that was recorded without it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from umiak import ops as F
from umiak.compiler.amp import custom_lists, with_casts
from umiak.compiler.passes.registry import register_pass
from umiak.core.dtype import DType, convert, float32
from umiak.core.tensor import Tensor
from umiak.ir.builder import Builder
from umiak.ir.passes import merge_common, remove_dead
from umiak.ir.program import Operation, Program, Value, is_pure
from umiak.ir.rewrite import Sweep
from umiak.ops.base import Op
from umiak.util.errors import op_error


@register_pass("auto_mixed_precision_pass")
def mixed_precision(
    program: Program,
    dtype: Any = "bfloat16",
    level: str = "O1",
    custom_white_list: Iterable[str] = (),
    custom_black_list: Iterable[str] = (),
    scope: Callable[[Tensor], Tensor] | None = None,
) -> None:
    """Compute in a narrow type what ``auto_cast`` would, with casts between; inputs and outputs keep their types.

    ``level`` "O2": everything that is not on the list of ops to keep wide. ``scope``: gives the values of captured
    tensors, which are constants then: where nothing else that an operation reads is wide, they become narrow, and do
    not make its result wide.
    """
    low = convert(dtype)
    if low.name not in ("float16", "bfloat16") or level not in ("O1", "O2"):
        raise op_error(
            ValueError, "auto_mixed_precision_pass", "dtype float16 or bfloat16 and level O1 or O2",
            f"{low.name} and {level!r}",
        )  # fmt: skip
    rest = "allow" if level == "O2" else "promote"
    lists = custom_lists(frozenset(custom_white_list), frozenset(custom_black_list), rest)
    Narrowed(program, low, int(level[1]), lists, constants=scope is not None).program(program)
    remove_dead(merge_common(program))


class Narrowed(Sweep):
    """Operations over operands in the types that the mode asks for. Regions stay as they are."""

    def __init__(self, program: Program, low: DType, level: int, lists: int, constants: bool = False) -> None:
        super().__init__()
        self.builder = Builder(program)
        self.low, self.level, self.lists = low, level, lists
        self.casts: dict[tuple[int, int], Value] = {}
        ends = [*program.outputs, *(w.value for w in program.effects)]
        self.kept = {id(x) for x in ends if type(x) is Value and x.operation is not None}
        written = {id(w.target) for w in program.effects}
        known = program.constants.values() if constants else ()
        self.constant = {id(v) for v in known if id(v) not in written}  # and what is made of them alone

    def visit(self, o: Operation) -> None:
        wanted = o.operands
        if self.fixed(o):
            # Itself, since a gradient in Python may be known for it.
            o.operands = tuple(self.cast(self.current(x), _type(x), o) for x in wanted)
            self.out.append(o)
            return
        operands = [self.current(x) for x in wanted]
        metas = [x.meta if type(x) is Value else None for x in operands]
        casted: Any = with_casts(o.op, metas, self.level, self.low.id, self.lists)
        if self.gives_way(o.op, operands):
            operands = [self.cast(x, self.low if self.is_wide(x) else None, o) for x in operands]
        elif casted is not o.op:
            operands = [self.cast(x, d, o) for x, d in zip(operands, casted.dtypes, strict=True)]
        self.builder.recompute = o.recompute
        made = o.over(operands)
        if made is not o:
            made = self.builder.make(o.op, operands, o.params)
        self.out.append(made)
        values = [id(x) for x in operands if type(x) is Value]
        if values and self.constant.issuperset(values) and is_pure(made) and not made.op.random:
            self.constant.update(id(r) for r in made.results)
        self.settle(o, made)

    def gives_way(self, op: Op, operands: Sequence[Any]) -> bool:
        """Return whether an operation may be narrow since all that is wide of its operands are constants."""
        if op.view or op.amp == "keep":
            return False
        wide = [self.is_wide(x) for x in operands]
        free = [type(x) is Value and id(x) in self.constant for x in operands]
        if any(w and not f for w, f in zip(wide, free, strict=True)) or not any(wide):
            return False
        others = [x.meta if type(x) is Value and not w else None for x, w in zip(operands, wide, strict=True)]
        if not any(m is not None and m.dtype is self.low for m in others):
            return False
        return with_casts(op, others, self.level, self.low.id, self.lists) is op

    def is_wide(self, x: Any) -> bool:
        return type(x) is Value and x.meta.dtype is float32

    def fixed(self, o: Operation) -> bool:
        """Return whether an operation stays in its types: what is no function, or ties several types."""
        if o.regions or o.op.effect or any(r.hooks for r in o.results) or o.op.declares_none:
            return True
        tied = o.op.amp == "keep" or o.op.view
        return tied and len(o.values) > 1

    def settle(self, o: Operation, made: Operation) -> None:
        """The results of ``made`` stand for those of ``o``; values that must remain do."""
        for old, new in zip(o.results, made.results, strict=True):
            if old is new:
                continue
            new.stop = old.stop
            if id(old) not in self.kept:
                self.stand([old], [new])
            elif new.meta.dtype is old.meta.dtype:
                made.results = tuple(old if r is new else r for r in made.results)
                old.producer, old.index = made, new.index
            else:
                back = self.builder.make(F.Cast(old.meta.dtype), [new])
                back.results, old.producer, old.index = (old,), back, 0
                self.out.append(back)
                self.casts[id(old), self.low.id] = new

    def cast(self, x: Any, dtype: DType | None, reader: Operation) -> Any:
        """An operand in a type; each value is cast once."""
        if dtype is None or type(x) is not Value or x.meta.dtype is dtype:
            return x
        key = id(x), dtype.id
        if key not in self.casts:
            self.builder.recompute = reader.recompute
            made = self.builder.make(F.Cast(dtype), [x])
            made.results[0].stop = reader.results[0].stop if reader.results else False
            self.out.append(made)
            self.casts[key] = made.results[0]
        return self.casts[key]

    def block(self, block: Any) -> None:
        outer, self.out = self.out, []
        for o in block.operations:
            self.visit(o)
        block.operations, self.out = self.out, outer


def _type(x: Any) -> DType | None:
    return x.meta.dtype if type(x) is Value else None
