"""Steps of an epilogue by their names, in the order in which kernels do them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

# Of kernels in strips, and of models compiled ahead: to both a residual is added while results are in registers.
ORDERED = re.compile("(,bias)?(,add)?(,relu|,hard_swish)?(,scale)?(,shift)?")


def fit(pattern: re.Pattern[str], steps: Sequence[Any]) -> bool:
    """Return whether steps, which are names or pairs of name and number, are those of a pattern."""
    names = "".join(f",{step if isinstance(step, str) else step[0]}" for step in steps)
    return pattern.fullmatch(names) is not None
