"""Kernels that may run beside others on one thread, in the place of all threads."""

from __future__ import annotations

from typing import Any

from umiak.backends.cpu.attention import Attention
from umiak.backends.cpu.chain import ChainLauncher
from umiak.backends.cpu.joining import Joining
from umiak.backends.cpu.launcher import NestLauncher
from umiak.backends.cpu.providers.launch import Launch
from umiak.backends.cpu.providers.pooling import LaunchState as Pooling
from umiak.backends.cpu.recurrent import Recurrent
from umiak.backends.cpu.sorting import Sorting
from umiak.compiler.jit.engine import Library
from umiak.core.frozen import APART, SAME, TO_BE_SEEN
from umiak.ops.custom import CustomCall

# What a kernel keeps alive says what it is. Parts of these compute the same, however many there are; code of users, and
# what sets the threads of a library for the whole process, is in neither list.
OWN = (ChainLauncher, Joining, Library, NestLauncher, Recurrent, Sorting)
SPLIT_BY_THREADS = (Attention, Launch, Pooling)  # libraries split sums as they like, decoding splits rows of keys


def kind(plan: Any) -> int:
    """Return whether launches of a plan may have one thread: ``frozen.install`` says what the answers mean."""
    if isinstance(plan.op, CustomCall):
        return APART
    kept = plan.keep[0] if type(plan.keep) is tuple else plan.keep
    if type(kept) in OWN:
        return SAME
    return TO_BE_SEEN if type(kept) in SPLIT_BY_THREADS else APART
