"""A call program for inputs of known sizes as a list of launches. See docs/design/capture.md."""

from collections.abc import Callable
from typing import Any

APART: int  # what `kind` of `install` may say
SAME: int
TO_BE_SEEN: int

def install(kind: Callable[[Any], int], copy: Any) -> None:
    """``kind(plan)`` says whether its launches may run beside others on one thread: ``APART``: no; ``SAME``: yes, their
    bits do not depend on the number of threads; ``TO_BE_SEEN``: where that is so. ``copy``: the op that makes
    contiguous copies."""
