"""The words of the profiler."""

from __future__ import annotations

from enum import Enum

from paddle._public import public


@public("paddle.profiler")
class ProfilerState(Enum):
    """What is done in a step."""

    CLOSED = 0  # nothing
    READY = 1  # the profiler is on, but what it sees is dropped: what happens once is over when recording begins
    RECORD = 2
    RECORD_AND_RETURN = 3  # the last step of a recording: it is handed over at its end


@public("paddle.profiler")
class ProfilerTarget(Enum):
    """Kinds of devices."""

    CPU = 0
    GPU = 1
    XPU = 2
    CUSTOM_DEVICE = 3


@public("paddle.profiler")
class SortedKeys(Enum):
    """What the rows of tables are sorted by: the time of ops (``CPU...``), or that of their kernels (``GPU...``)."""

    CPUTotal = 0
    CPUAvg = 1
    CPUMax = 2
    CPUMin = 3
    GPUTotal = 4
    GPUAvg = 5
    GPUMax = 6
    GPUMin = 7


@public("paddle.profiler")
class SummaryView(Enum):
    """The tables of a summary. There is none for ``DistributedView`` yet."""

    DeviceView = 0
    OverView = 1
    ModelView = 2
    DistributedView = 3
    KernelView = 4
    OperatorView = 5
    MemoryView = 6
    MemoryManipulationView = 7
    UDFView = 8
