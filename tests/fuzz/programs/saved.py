"""Whether a program writes over what a gradient needs, which eager mode refuses in the backward run."""

from __future__ import annotations

from typing import Any

import torch

from tests.fuzz.programs.generate import leaf
from tests.fuzz.programs.memory import Judge
from tests.fuzz.programs.record import Program, Statement

# Their gradients need neither operands nor results.
NEITHER = frozenset(
    "add subtract add_scalar from_scalar times over scale clone assign concat concat_two stack stack_three sum "
    "mean take index_select gather pad flip roll tile repeat tril triu neg cumsum detach zeros_like full_like "
    "to_double to_single add_n diff to_int to_int32 less greater less_equal not_equal above hook floor ceil trunc "
    "frac add_ subtract_ copy_ scale_ fill_ zero_ cumsum_ tril_ neg_ floor_ ceil_ trunc_ frac_ put put_number "
    "put_many put_many_number put_part put_mask put_overlapping put_expression split chunk dropout randn "
    "embedding one_hot int_add int_times int_floor int_mod int_divide int_float int_sum any argmax avg_pool1d "
    "take_mask index_fill".split()
)
# Their gradients need operands, but no results.
OPERANDS = frozenset(
    "sin cos square abs log log2 log10 log1p erf atan asinh multiply linear matmul at gram dot outer inner kron "
    "bmm mm addmm baddbmm einsum tensordot vecdot lerp where where_above masked_fill mask_as_number maximum "
    "minimum fmax atan2 mse_loss l1_loss smooth_l1_loss kl_div cross_entropy conv1d conv2d rand augmented power "
    "clip digamma lgamma sinc i0 cosh sinh log_of_abs count".split()
)
OPERANDS_IN_PLACE = frozenset(
    "sin_ cos_ square_ abs_ log_ log2_ log10_ log1p_ erf_ atan_ asinh_ multiply_ lerp_ clip_ pow_ digamma_ "
    "lgamma_ sinc_ i0_ cosh_ sinh_".split()
)
READ_AND_WRITTEN = frozenset(["multiplied_part"])  # of what is written over, the derivative needs the old value
WRITES = ("write", "rewrite")


def overwrites(program: Program) -> bool:
    """False: no gradient can need what a later statement wrote over, so that a refusal is a defect."""
    names: dict[str, Any] = Judge(seed=program.seed).names()
    for x in program.inputs:
        names[x.name] = leaf(x, x.array(program.sizes[0]))
    needed: set[int] = set()  # cells of which some gradient needs what is there now
    kept: list[Any] = []  # so that ids stay theirs
    for s in program.statements:
        cells = [names[x].cell for x in s.operands]
        if s.op.form in WRITES:
            shared = s.op.name not in NEITHER and any(c is cells[0] for c in cells[1:])
            if shared or s.op.name in READ_AND_WRITTEN or id(cells[0]) in needed:
                return True
        _run(s, names)
        kept += cells
        if s.op.name == "grad":
            return True
        if s.op.form in ("view", "turn") or s.no_grad:
            continue
        if names[s.operands[0]].t.is_floating_point():  # whose gradient needs indices
            needed |= {id(names[x].cell) for x in s.operands[1:] if names[x].t.dtype is torch.int64}
        if s.op.name not in NEITHER:
            # The old value of what is written to is the op's own to keep.
            needed |= {id(c) for c in (cells[1:] if s.op.form in WRITES else cells)}
        if s.op.name not in NEITHER | OPERANDS | OPERANDS_IN_PLACE:
            made = [names[t].cell for t in s.targets] or cells[:1]
            kept += made
            needed |= {id(c) for c in made}
    return False


def _run(s: Statement, names: dict[str, Any]) -> None:
    exec(s.judge(), names)
