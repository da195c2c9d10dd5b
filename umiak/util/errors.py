"""Errors in one form: what the user called, what was required, what came, what to do.

A mistake is often found far below the function that was called: an op inside of a composite, a kernel. Its message
names that function nevertheless, and its traceback ends there (``frames.py``).
"""

from __future__ import annotations

import linecache
import sys
from types import FrameType
from typing import Any

_PACKAGES = ("paddle", "umiak")
_SIMULATION = ("paddle.jit.sot.", "paddle.jit.source.")  # which call functions in the place of the user's code
_CALLERS = (*_SIMULATION, "paddle.distributed.fleet.recompute.")  # whose functions do nothing but call others


class OperandError(TypeError, ValueError):
    """An operand that is no tensor, or whose dtype does not fit. Programs for the reference framework, which finds most
    of them in its kernels, expect a ValueError."""


class IndexingError(IndexError, ValueError):
    """An index beyond the end, or of another kind: the reference framework raises either."""


class ShapeError(ValueError, AssertionError):
    """Shapes that do not fit where the reference framework asserts that they do."""


class NotOneElement(TypeError, ValueError, AssertionError):
    """A tensor of several elements, or of none, where Python wants a number. NumPy raises the first or the second, the
    reference framework the third."""


class LeafError(RuntimeError, ValueError):
    """A write into a leaf that wants a gradient. It is a RuntimeError in most frameworks, and a ValueError in the
    reference framework."""


def op_error(kind: type[Exception], op: str, required: str, got: Any, hint: str = "") -> Exception:
    """Build (not raise) ``[op] requires …, got …. hint``; the public function that was called stands for ``op``."""
    text = f"[{called(op)}] requires {required}, got {list(got) if isinstance(got, list) else got}"
    error = kind(f"{text}. {hint}" if hint else text)
    error.mistake = True  # type: ignore[attr-defined]
    return error


def freed_graph(op: str, node: str) -> RuntimeError:
    """Build (not raise) the error of a gradient that goes once more through what has freed its saved tensors."""
    return RuntimeError(
        f"[{op}] requires a graph that is still there, got node {node!r} whose saved tensors are freed. "
        "Pass retain_graph=True to the first backward to run a second one."
    )


def inside(frame: FrameType) -> bool:
    """Return whether a frame is the framework's."""
    return frame.f_globals.get("__name__", "").partition(".")[0] in _PACKAGES


Line = tuple[str, int, str] | list[str]  # file, number and function; or its text, as tracebacks show it


def users_line() -> Line | None:
    """The innermost line of the user's that runs; None where there is none."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and inside(frame):
        frame = frame.f_back
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


def shown(line: Line | None) -> list[str]:
    """A line as tracebacks show it; nothing for None."""
    if line is None or isinstance(line, list):
        return line or []
    file, number, function = line
    return [f'  File "{file}", line {number}, in {function}', f"    {linecache.getline(file, number).strip()}"]


def _public(frame: FrameType) -> str | None:
    """The name of the public function that the frame runs, None for all else."""
    module, code = frame.f_globals["__name__"], frame.f_code
    if (
        not module.startswith("paddle.")
        or "._" in module
        or code.co_name.startswith("_")
        or module.startswith(_CALLERS)
    ):
        return None
    value = frame.f_globals.get(code.co_name)
    inner = getattr(value, "__wrapped__", value)
    other = getattr(value, "_other", None)  # what takes calls in another order
    codes = (getattr(value, "__code__", None), getattr(inner, "__code__", None), other and other.function.__code__)
    return code.co_name if code in codes else None


def called(op: str) -> str:
    """The public function that the user's code called last, or ``op`` where it was none (an operator, a layer) and
    where ``op`` names a class or a switch."""
    if not op[:1].islower():
        return op
    frame: FrameType | None = sys._getframe(1)
    name = None
    while frame is not None and inside(frame):
        if frame.f_code.co_name == "__call__" and frame.f_globals["__name__"].startswith(_SIMULATION):
            break  # a simulated function of the user's, which a function of the library calls
        name = _public(frame) or name
        frame = frame.f_back
    return op if name is None else name
