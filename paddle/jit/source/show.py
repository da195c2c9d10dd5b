"""Levels of what rewriting prints: stages of the text, and a log of what is done."""

from __future__ import annotations

import ast
import logging
import sys
from types import FunctionType

from paddle._public import public
from paddle.jit.source.errors import line_of
from umiak.core.context import current
from umiak.util.errors import op_error

LAST = 100  # the level of the final text
_LOG = logging.getLogger("paddle.jit")
_KEY = "jit_levels"  # of the rank's values
_FIRST = {"code": (-1, False), "verbosity": (0, False)}  # the level, and whether it goes to stdout as well


@public("paddle.jit")
def set_code_level(level: int = LAST, also_to_stdout: bool = False) -> None:
    """Set which stages of rewritten functions the log shows.

    Args:
        level: 0 shows a function as it was read, 1 as it is rewritten, 100 the final text alone; -1, as at first,
            nothing. It is logged by ``paddle.jit`` when a function is rewritten, at its first call.
        also_to_stdout: print it as well.

    Raises:
        TypeError: a level that is no int, or a switch that is no bool.

    Example:
        >>> import paddle
        >>> paddle.jit.set_code_level(100, also_to_stdout=True)
        >>> @paddle.jit.to_static(full_graph=True)
        ... def f(x):
        ...     return x if x > 0 else -x
        >>> y = f(paddle.ones([]))
        --- f: the final text ---
        def f(x):
            return jst.choose(x > 0, lambda: x, lambda: -x)
        >>> paddle.jit.set_code_level(-1)
    """
    _set("set_code_level", "code", level, also_to_stdout)


@public("paddle.jit")
def set_verbosity(level: int = 0, also_to_stdout: bool = False) -> None:
    """Set how much is logged of what rewriting does.

    Args:
        level: 0, as at first, nothing; 1 and more, which functions are rewritten and which are called as they are.
        also_to_stdout: print it as well.

    Raises:
        TypeError: a level that is no int, or a switch that is no bool.

    Example:
        >>> import paddle
        >>> paddle.jit.set_verbosity(1)
        >>> paddle.jit.set_verbosity(0)
    """
    _set("set_verbosity", "verbosity", level, also_to_stdout)


def _set(op_name: str, key: str, level: int, also_to_stdout: bool) -> None:
    if isinstance(level, bool) or not isinstance(level, int):
        raise op_error(TypeError, op_name, "an int as level", type(level).__name__)
    if not isinstance(also_to_stdout, bool):
        raise op_error(TypeError, op_name, "a bool for also_to_stdout", type(also_to_stdout).__name__)
    values = current().state.values
    values[_KEY] = {**values.get(_KEY, _FIRST), key: (level, also_to_stdout)}


def _level(key: str) -> tuple[int, bool]:
    return current().state.values.get(_KEY, _FIRST)[key]


def show(function: FunctionType, stage: str, tree: ast.AST, final: bool = False) -> None:
    """Show a stage of the text of a function, as ``set_code_level`` says."""
    level, _ = _level("code")
    if level < 0 or (level == 0 and final) or (level >= LAST and not final):
        return
    title = f"--- {function.__qualname__}: {'the final text' if level >= LAST else stage} ---"
    _say("code", f"{title}\n{ast.unparse(tree)}")


def note(text: str, function: FunctionType) -> None:
    """Log what is done with a function, as ``set_verbosity`` says."""
    if _level("verbosity")[0] > 0:
        _say("verbosity", f"{function.__qualname__} ({line_of(function.__code__)}) {text}")


def _say(key: str, text: str) -> None:
    # A level that was set is a wish to see it, whatever the logger's own level is.
    _LOG.log(max(logging.INFO, _LOG.getEffectiveLevel()), "%s", text)
    if _level(key)[1]:
        sys.stdout.write(text + "\n")
