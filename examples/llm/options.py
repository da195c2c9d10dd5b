"""Numbers of command lines within their bounds: others are refused before anything is read."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from typing import Any


def integer(least: int) -> Callable[[str], int]:
    """Return the type of an option that is an integer of ``least`` or more."""
    return _within(int, least, f"an integer of {least} or more", (1 << 63) - 1)


def number(least: float, most: float = sys.float_info.max, above: bool = False) -> Callable[[str], float]:
    """Return the type of an option that is a number from ``least``, or ``above`` it, to ``most``."""
    bounds = f"{'above' if above else 'from'} {least:g}" + ("" if most == sys.float_info.max else f" to {most:g}")
    return _within(float, math.nextafter(least, math.inf) if above else least, f"a number {bounds}", most)


def _within(kind: type, least: float, required: str, most: float) -> Callable[[str], Any]:
    def parsed(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{required} is required, got {text!r}")
        return value

    return parsed
