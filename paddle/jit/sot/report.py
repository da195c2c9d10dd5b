"""Reports of captures: the log, and files for who wants to read what was captured."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from paddle.jit.sot import switches

if TYPE_CHECKING:
    from paddle.jit.sot.captured_frame import CapturedFrame
    from umiak.core.entries import GuardedEntry
    from umiak.runtime.captured_function import Captured

TEXT_LEVEL = 3  # the level of texts of many lines
_LOG = logging.getLogger("paddle.jit")


def say(level: int, message: str, *args: object) -> None:
    """Log a message, from ``TEXT_LEVEL`` on as one for debugging; ``SOT_LOG_LEVEL`` of at least ``level`` prints it on
    stderr, too."""
    _LOG.log(logging.DEBUG if level >= TEXT_LEVEL else logging.INFO, message, *args)
    if switches.log_level() >= level:
        print("[sot]", message % args, file=sys.stderr)


def captured(frame: CapturedFrame, entry: GuardedEntry, run: Captured | None) -> None:
    """Report a capture."""
    size = 0 if run is None else len(run.program.ops)
    say(2, "%s: captured %d operations", frame.name, size)
    say(TEXT_LEVEL, "%s: %s", frame.name, getattr(entry.guard, "text", ""))
    folder = switches.export_folder()
    if folder is not None:
        parts = [getattr(entry.guard, "text", "")]
        parts.append("# no graph" if run is None else str(run.program))
        parts.append("return r[0]" if entry.finish is None else getattr(entry.finish, "text", ""))
        Path(folder).mkdir(parents=True, exist_ok=True)
        name = "".join(c if c.isalnum() else "_" for c in frame.name)
        Path(folder, f"{name}_{len(frame.entries)}.txt").write_text("\n\n".join(parts))
