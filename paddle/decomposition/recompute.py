"""``auto_recompute``: what the gradients of a program make again instead of keeping it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paddle._public import public
from paddle.decomposition.register import op_name
from paddle.static.program import Program
from umiak.compiler.passes import recomputation
from umiak.ir import program as ir
from umiak.runtime.rewriting import rewrite
from umiak.util.errors import op_error


@public("paddle.decomposition", usual=False)
def auto_recompute(
    program: Program,
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    grad_outputs: Sequence[Any],
    fwd_op_end_idx: int,
    backward_op_start_idx: int,
    recomputable_ops: Sequence[str] | None = None,
) -> tuple[Program, int]:
    """Have gradients make values of the forward part again where that is cheap, so that fewer bytes are kept for them.

    What is kept is a minimum cut between both parts; results are the same, random draws included.

    Args:
        program: a static program with its gradients; it is changed.
        inputs: of the forward part. Inputs and parameters are there anyway.
        outputs: of the forward part, which are kept.
        grad_outputs: the gradients of the outputs, from which the backward part begins.
        fwd_op_end_idx: the last operation of the forward part.
        backward_op_start_idx: the first operation of the backward part.
        recomputable_ops: names of the only ops that may be repeated; None: all but matmuls, convolutions, attention and
            other calls of libraries.

    Returns:
        The program, and the last operation of its forward part.

    Raises:
        TypeError: something that is no program.
        ValueError: numbers that are no operations in this order, or a variable of another program.

    Example:
        >>> import paddle
        >>> paddle.enable_static()
        >>> main = paddle.static.Program()
        >>> with paddle.static.program_guard(main):
        ...     x = paddle.static.data("x", [8, 8])
        ...     w = paddle.create_parameter([8, 8], "float32")
        ...     y = paddle.nn.functional.gelu(paddle.tanh(x @ w * 2.0)).sum()
        ...     end = main.num_ops() - 1
        ...     (g,) = paddle.static.gradients(y, w)
        >>> _, end = paddle.decomposition.auto_recompute(main, [x], [y], [], end, end + 1)
        >>> [op.name() for op in main.global_block().ops].count("tanh")
        2
        >>> paddle.disable_static()
    """
    if not isinstance(program, Program):
        raise op_error(TypeError, "auto_recompute", "a Program", type(program).__name__)
    if not -1 <= fwd_op_end_idx < backward_op_start_idx <= program.num_ops():
        raise op_error(
            ValueError, "auto_recompute", f"fwd_op_end_idx < backward_op_start_idx <= {program.num_ops()}",
            (fwd_op_end_idx, backward_op_start_idx),
        )  # fmt: skip
    tracer = program._tracer
    values = [tracer.find(x) for x in (*inputs, *outputs, *grad_outputs)]
    if None in values:
        raise op_error(ValueError, "auto_recompute", "variables of the program", "one of another program")
    names = None if recomputable_ops is None else frozenset(map(op_name, recomputable_ops))

    def run(recorded: ir.Program) -> dict[int, Any]:
        again = recomputation.cheap if names is None else lambda o: o.name in names
        recomputation.recompute(recorded, fwd_op_end_idx + 1, backward_op_start_idx, again, values)
        return {}

    rewrite(tracer, run)
    program._runs.clear()
    return program, fwd_op_end_idx
