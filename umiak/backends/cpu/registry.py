"""The table of kernels for ops of their own: op class → what makes the kernel of a class of calls.

Ops that are not in it are asked of the libraries, and then lowered to nests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from umiak.backends.base import Kernel

Make = TypeVar("Make", bound=Callable[[Any], Kernel | None])

KERNELS: dict[type, Callable[[Any], Kernel | None]] = {}
OPAQUE: set[type] = set()  # composites that stay one call inside of others


def serves(*classes: type, opaque: bool = False) -> Callable[[Make], Make]:
    """Register the decorated function, which makes the kernel of a class of calls.

    Where it gives None, the next backend of the place is asked.
    """

    def enter(make: Make) -> Make:
        for cls in classes:
            # A module that is imported again (its first import was interrupted) replaces its own entries.
            if cls in KERNELS and KERNELS[cls].__module__ != make.__module__:
                raise ValueError(f"op {cls.__name__} has two kernels: {KERNELS[cls]} and {make}")
            KERNELS[cls] = make
            OPAQUE.update([cls] if opaque else ())
        return make

    return enter
