"""``decompose``: a program's composites as primitives."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from paddle._public import public
from paddle.decomposition.register import RULES, op_name
from paddle.framework import decomposition as switches
from paddle.static.program import Program
from umiak.compiler.passes import decomposition
from umiak.ir import program as ir
from umiak.runtime.rewriting import rewrite
from umiak.util.errors import op_error


@public("paddle.decomposition", usual=False)
def decompose(
    program: Program,
    src_vars: Sequence[Any],
    blacklist: Iterable[str] = frozenset(),
    whitelist: Iterable[str] = frozenset(),
    start_index: int = 0,
    end_index: int = -1,
) -> list[Any]:
    """Exchange a program's composite operations for primitives, if primitives are switched on.

    They are by ``FLAGS_prim_forward`` or ``FLAGS_prim_all``. Nothing needs this for gradients or for speed: every op
    has derivatives of any order, and the compiler decomposes what it fuses. A rule of
    :func:`paddle.decomposition.register.register_decomp` comes before an op's own meaning.

    Args:
        program: a static program.
        src_vars: variables of it.
        blacklist: names of ops that stay.
        whitelist: names of the only ops that do not; none: all.
        start_index: the first operation.
        end_index: the operation behind the last one; -1: to the end.

    Returns:
        ``src_vars`` as a list: they stand for the same values.

    Raises:
        TypeError: something that is no program.
        ValueError: a variable of another program.

    Example:
        >>> import paddle
        >>> paddle.enable_static()
        >>> main = paddle.static.Program()
        >>> with paddle.static.program_guard(main):
        ...     y = paddle.nn.functional.softmax(paddle.static.data("x", [2, 3]))
        >>> paddle.set_flags({"FLAGS_prim_forward": True})
        >>> _ = paddle.decomposition.decompose(main, [y])
        >>> [op.name() for op in main.global_block().ops]
        ['max', 'sub', 'exp', 'sum', 'div']
        >>> paddle.set_flags({"FLAGS_prim_forward": False})
        >>> paddle.disable_static()
    """
    if not isinstance(program, Program):
        raise op_error(TypeError, "decompose", "a Program", type(program).__name__)
    for x in src_vars:
        if program._tracer.find(x) is None:
            raise op_error(ValueError, "decompose", "variables of the program as src_vars", repr(x))
    if switches.forward_enabled():

        def run(recorded: ir.Program) -> dict[int, Any]:
            names, only = map(op_name, blacklist), map(op_name, whitelist)
            decomposition.decompose(recorded, names, only, start_index, end_index, RULES)
            return {}

        rewrite(program._tracer, run)
        program._runs.clear()
    return list(src_vars)
