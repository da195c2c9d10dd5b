"""Tile registers of processors (Intel's AMX): whether this process may use them."""

from __future__ import annotations

import ctypes
import functools
import platform
import sys
from collections.abc import Callable

from umiak.backends import base
from umiak.compiler.render.target import Target
from umiak.util import flags

_ARCH_PRCTL, _ASK_FOR_STATE, _TILE_DATA = 158, 0x1023, 18  # of Linux on x86-64


@functools.cache
def permitted(target: Target) -> bool:
    """Return whether the processor multiplies bfloat16 in such registers, and the system lets this process use them.

    Linux saves their 8 KiB for processes alone that have asked; the answer holds for all threads, and for children.
    """
    if not target.has.issuperset(("amx-tile", "amx-bf16", "avx512bf16")) or not target.avx512:
        return False
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return False
    return ctypes.CDLL(None).syscall(_ARCH_PRCTL, _ASK_FOR_STATE, _TILE_DATA) == 0


# Told what :func:`splits_f32` says when the switch changes.
LISTENERS: list[Callable[[bool], object]] = []


def _tell(on: bool) -> None:
    for listener in LISTENERS:
        listener(on and permitted(Target.host()))
    base.clear_plans()  # those of attention have the functions for it, or not


SPLIT = flags.define(
    "cpu_f32_by_bf16_tiles",
    False,
    "float32 matmuls and attention by tile registers of bfloat16, where the processor has them: each number is split "
    "into three, and errors are no larger than those of float32 arithmetic",
    on_change=_tell,
)


def splits_f32(target: Target) -> bool:
    """Return whether float32 is multiplied in such registers."""
    return SPLIT.value and permitted(target)
