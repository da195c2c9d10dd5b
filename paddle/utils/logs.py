"""Loggers of packages."""

from __future__ import annotations

import logging

from umiak.util import log

fleet = log.get("fleet")  # of distributed training; `FLAGS_log` sets its level


def get_logger(name: str, level: int | str, fmt: str | None = None) -> logging.Logger:
    """Logger of a name with a level, which prints by itself and hands nothing on to the root logger.

    Asked for again, it keeps its handler.
    """
    logger = logging.getLogger(name)
    logger.setLevel(level)
    logger.propagate = False
    if not logger.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter(fmt))
        logger.addHandler(handler)
    return logger
