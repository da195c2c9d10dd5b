"""Pictures of programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from paddle._public import public
from paddle.static.program import Program
from umiak.ir import picture
from umiak.ir import program as ir
from umiak.util.errors import op_error


@public("paddle.pir")
def program_svg(program: Any, path: Any = None) -> str:
    """Draw a program: a box for each operation with its types, arrows for values, regions as boxes inside.

    Args:
        program: a static program, or one of the engine's.
        path: of a file that the picture is written to as well; None: none.

    Returns:
        SVG as a str, which browsers show.

    Raises:
        TypeError: something that is no program.

    Example:
        >>> import paddle
        >>> paddle.enable_static()
        >>> main = paddle.static.Program()
        >>> with paddle.static.program_guard(main):
        ...     y = paddle.tanh(paddle.static.data("x", [None, 2]))
        >>> "tanh" in paddle.pir.program_svg(main)
        True
        >>> paddle.disable_static()
    """
    if isinstance(program, Program):
        program = program._tracer.program([])
    elif not isinstance(program, ir.Program):
        raise op_error(TypeError, "program_svg", "a Program", type(program).__name__)
    text = picture.program_svg(program)
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text
