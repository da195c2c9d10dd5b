"""One logger per part, all under ``umiak``; the level comes from ``FLAGS_log``: debug, info, warning or error."""

from __future__ import annotations

import logging

from umiak.util import flags

_LEVELS = ("debug", "info", "warning", "error")


def _apply(level: str) -> None:
    if level not in _LEVELS:
        raise ValueError(f"[FLAGS_log] requires one of {', '.join(_LEVELS)}, got {level!r}")
    logging.getLogger("umiak").setLevel(level.upper())


_apply("warning")
LEVEL = flags.define("log", "warning", f"which messages are shown: {', '.join(_LEVELS)}", on_change=_apply)


def get(part: str) -> logging.Logger:
    """The logger of one part of the engine: ``log.get("compiler").debug(...)``."""
    return logging.getLogger(f"umiak.{part}")
