"""The words of the profiler."""

from __future__ import annotations

from enum import Enum

from paddle._public import public


@public("paddle.profiler")
class ProfilerState(Enum):
    """State of a profiler in a step.

    Attributes:
        CLOSED: nothing is done.
        READY: the profiler is on, but what it sees is dropped: what happens once is over when recording begins.
        RECORD: the step is recorded.
        RECORD_AND_RETURN: the last step of a recording, which is handed over at its end.

    Example:
        >>> import paddle
        >>> schedule = paddle.profiler.make_scheduler(closed=1, ready=0, record=1)
        >>> schedule(0) is paddle.profiler.ProfilerState.CLOSED
        True
    """

    CLOSED = 0  # nothing
    READY = 1  # the profiler is on, but what it sees is dropped: what happens once is over when recording begins
    RECORD = 2
    RECORD_AND_RETURN = 3  # the last step of a profile: it is handed over at its end


@public("paddle.profiler")
class ProfilerTarget(Enum):
    """Kinds of devices to record.

    Attributes:
        CPU: the host.
        GPU: CUDA devices.
        XPU: XPUs.
        CUSTOM_DEVICE: devices of plug-ins.

    Example:
        >>> import paddle
        >>> profiler = paddle.profiler.Profiler(targets=[paddle.profiler.ProfilerTarget.CPU])
    """

    CPU = 0
    GPU = 1
    XPU = 2
    CUSTOM_DEVICE = 3


@public("paddle.profiler")
class SortedKeys(Enum):
    """Keys that rows of tables are sorted by: times of ops (``CPU...``), or those of their kernels (``GPU...``).

    Attributes:
        CPUTotal, CPUAvg, CPUMax, CPUMin: the sum, mean, largest and smallest time of an op.
        GPUTotal, GPUAvg, GPUMax, GPUMin: those of the kernels of an op.

    Example:
        >>> import paddle
        >>> paddle.profiler.SortedKeys.CPUMax.name
        'CPUMax'
    """

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
    """Tables of a summary. There is none for ``DistributedView`` yet.

    Attributes:
        DeviceView, OverView, ModelView, KernelView, OperatorView: times of devices, kinds, steps, kernels and ops.
        MemoryView, MemoryManipulationView: memory, and copies of it.
        UDFView: ranges of the user.
        DistributedView: nothing.

    Example:
        >>> import paddle
        >>> paddle.profiler.SummaryView.KernelView.name
        'KernelView'
    """

    DeviceView = 0
    OverView = 1
    ModelView = 2
    DistributedView = 3
    KernelView = 4
    OperatorView = 5
    MemoryView = 6
    MemoryManipulationView = 7
    UDFView = 8


@public("paddle.profiler")
class TracerEventType(Enum):
    """Kind of a range, for ``RecordEvent``; tables count ranges under its name.

    Attributes:
        Operator: an op.
        Dataloader: reading of a batch.
        ProfileStep: a step.
        CudaRuntime: a call of the CUDA runtime.
        Kernel: a kernel.
        Memcpy: a copy between devices.
        Memset: filling of memory.
        UserDefined: a range of a program.
        OperatorInner: a part of an op.
        Forward: a forward pass.
        Backward: a backward pass.
        Optimization: a step of an optimizer.
        Communication: an exchange between ranks.
        PythonOp: an op of Python.
        PythonUserDefined: a range of a program of Python.
        DygraphKernelLaunch: a launch from an eager op.
        StaticKernelLaunch: a launch from a program.

    Example:
        >>> import paddle
        >>> with paddle.profiler.RecordEvent("load", paddle.profiler.TracerEventType.Dataloader):
        ...     pass
    """

    Operator = 0
    Dataloader = 1
    ProfileStep = 2
    CudaRuntime = 3
    Kernel = 4
    Memcpy = 5
    Memset = 6
    UserDefined = 7
    OperatorInner = 8
    Forward = 9
    Backward = 10
    Optimization = 11
    Communication = 12
    PythonOp = 13
    PythonUserDefined = 14
    DygraphKernelLaunch = 15
    StaticKernelLaunch = 16

    def __int__(self) -> int:
        return int(self.value)
