"""Tracebacks of users' mistakes: they end at the function that was called, but at ``FLAGS_call_stack_level`` 2.

Frames of the engine are dropped where dispatch passes an error on, which costs calls that succeed nothing; the few of
the way back are dropped when an error that nobody caught is shown.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

from umiak.util import flags
from umiak.util.errors import inside

LEVEL = flags.define(
    "call_stack_level", 1, "2 and more: tracebacks of users' mistakes show the frames of the engine too"
)


def _folds(error: BaseException) -> bool:
    return LEVEL.value < 2 and getattr(error, "mistake", False)


def folded(error: BaseException) -> BaseException:
    """``error`` without the frames that found a user's mistake; other errors are ours, and keep theirs."""
    if not _folds(error):
        return error
    error.__suppress_context__ = True
    return error.with_traceback(None)


def _module(frame: FrameType) -> str:
    """The name of the module of a frame; "" for what was executed with a namespace of its own."""
    return frame.f_globals.get("__name__", "")


def _passes_on(frame: FrameType) -> bool:
    """Return whether a frame only brings a call to the function in whose place it stands."""
    module = _module(frame)
    return module == "umiak.core.direct" or module.startswith("paddle._")


def fold(trace: TracebackType | None) -> TracebackType | None:
    """A traceback that ends with the function which the user's last line called."""
    entries = []
    while trace is not None:
        if not _passes_on(trace.tb_frame):
            entries.append(trace)
        trace = trace.tb_next
    users = [i for i, entry in enumerate(entries) if not inside(entry.tb_frame)]
    end = users[-1] + 2 if users else len(entries)
    if users and end <= len(entries) and _module(entries[end - 1].tb_frame).startswith("umiak.core"):
        end -= 1  # an operator: the line itself says it
    result = None
    for entry in reversed(entries[:end]):
        result = TracebackType(result, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return result


def show_folded() -> None:
    """Fold what is shown of errors that nobody catches, on all threads. The hooks that are there go on."""
    shown: Callable[..., Any] = sys.excepthook
    shown_of_thread: Callable[..., Any] = threading.excepthook

    def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if _folds(error):
            trace = fold(trace)
            error = error.with_traceback(trace)
        shown(kind, error, trace)

    def show_of_thread(args: Any) -> None:
        if args.exc_value is not None and _folds(args.exc_value):
            trace = fold(args.exc_traceback)
            args = type(args)((args.exc_type, args.exc_value.with_traceback(trace), trace, args.thread))
        shown_of_thread(args)

    sys.excepthook, threading.excepthook = show, show_of_thread
