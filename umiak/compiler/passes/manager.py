"""Lists of passes, run in order over a program."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

# They enter their passes.
from umiak.compiler.passes import (  # noqa: F401
    attention,
    cleanup,
    convolution,
    decomposition,
    folding,
    inplace,
    norms,
    packing,
    precision,
    quantisation,
    subnormals,
)
from umiak.compiler.passes.registry import PASSES, Pass, Run
from umiak.ir.program import Program
from umiak.ir.verifier import VerifyError, verify
from umiak.util import flags
from umiak.util.errors import op_error

VERIFY = flags.define("verify_passes", False, "verify a program after every pass of a PassManager")

# What is done to a program that only computes results: nothing in it is differentiated or written any more.
INFERENCE = (
    "delete_quant_dequant_linear_op_pass",
    "common_subexpression_elimination_pass",
    "identity_op_clean_pass",
    "conv2d_bn_fuse_pass",
    "conv2d_affine_fuse_pass",
    "add_norm_fuse_pass",
    "fused_flash_attn_pass",
    "constant_folding_pass",
    "flush_subnormals_pass",
    "weight_packing_pass",
    "dead_code_elimination_pass",
    "inplace_pass",
)


class _Step(NamedTuple):
    todo: Pass
    options: dict[str, Any]
    verified: bool = False  # in any case


class PassManager:
    """Passes by name, in order. ``printing``: text before and after each; ``statistics``: what each has changed."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.steps: list[_Step] = []
        self.printing = self.statistics = False
        for name in names:
            self.add_pass(name)

    def add_pass(self, name: str, options: Mapping[str, Any] | None = None) -> None:
        todo = PASSES.get(name)
        if todo is None:
            close = difflib.get_close_matches(str(name), PASSES, n=1)
            required = f"the name of a pass: {', '.join(sorted(PASSES))}"
            raise op_error(ValueError, "add_pass", required, repr(name), f"Did you mean {close[0]}?" if close else "")
        given = dict(options or {})
        if not set(given) <= set(todo.options):
            known = ", ".join(todo.options) or "none"
            raise op_error(ValueError, "add_pass", f"options that {name} has: {known}", ", ".join(sorted(given)))
        self.steps.append(_Step(todo, given))

    def register_pass(self, name: str, run: Run) -> None:
        """Add a pass that is no pass of the table; programs are verified after it."""
        if name in PASSES or name in self.passes():
            raise op_error(ValueError, "register_pass", "a name that no pass has", repr(name))
        self.steps.append(_Step(Pass(name, run), {}, verified=True))

    def delete_pass(self, name: str) -> None:
        kept = [s for s in self.steps if s.todo.name != name]
        if len(kept) == len(self.steps):
            raise op_error(ValueError, "delete_pass", f"one of the passes {self.passes()}", repr(name))
        self.steps = kept

    def passes(self) -> list[str]:
        return [s.todo.name for s in self.steps]

    def run(self, program: Program) -> dict[int, Any]:
        """Change the program in place; returns what stands for values that were merged into others, by id.

        Whoever reads the ids holds the values.
        """
        stands: dict[int, Any] = {}
        for todo, options, verified in self.steps:
            before = sum(1 for _ in program.walk())
            if self.printing:
                print(f"; ---- before {todo.name}\n{program!r}\n")
            found = todo.run(program, **options)
            stands.update(found or {})
            if verified or VERIFY.value:
                _verify(program, todo.name)
            if self.printing:
                print(f"; ---- after {todo.name}\n{program!r}\n")
            if self.statistics:
                print(f"; {todo.name}: {before} -> {sum(1 for _ in program.walk())} operations")
        return stands


def _verify(program: Program, name: str) -> None:
    try:
        verify(program)
    except VerifyError as error:
        raise VerifyError(f"after {name}: {error}") from error
