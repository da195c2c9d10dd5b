"""``Profiler``: records steps of a program by a schedule."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

from paddle._public import public
from paddle.device.places import get_all_custom_device_type
from paddle.framework.place import device_count
from paddle.profiler import scheduler as schedules
from paddle.profiler.names import ProfilerState, ProfilerTarget, SortedKeys, SummaryView
from paddle.profiler.ranges import Instruments
from paddle.profiler.timer import StepTimer
from umiak import backends
from umiak.backends import Tracer
from umiak.observe import tables
from umiak.observe.collector import EventCollector, Range
from umiak.observe.emitter import nvtx
from umiak.observe.event import STEP
from umiak.observe.profile import Profile
from umiak.util.errors import op_error

CLOSED, READY, RECORD, LAST = ProfilerState


def _traced(types: list[str], all: bool) -> list[str]:
    """The types of devices to record, which plug-ins bring: those named, else all that have a profiler."""
    if not types and not all:
        return []
    known = get_all_custom_device_type()
    able = [name for name in known if _tracers([name])]
    missing = [name for name in types if name not in able]
    if missing:
        required = f"custom_device_types whose plug-ins have a profiler, of {able}"
        raise op_error(ValueError, "Profiler", required, f"custom_device_types={missing}")
    return types or able


def _tracers(types: list[str]) -> list[Tracer]:
    recorders = (backends.backends_of(name)[0].tracer() for name in types)
    return [recorder for recorder in recorders if recorder is not None]


@public("paddle.profiler")
class Profiler:
    """EventCollector of ops with their gradients, kernels, layers, optimizers, loaders and ranges of the user, of all
    threads.

    While one records, every op of the program passes through Python: a small op takes several times as long, kernels
    as long as ever. Rows of an optimizer are launched one by one. Nothing is slower while none records. One profiler
    can record at a time.

    Args:
        targets: kinds of devices (``ProfilerTarget``); what this build has not is left out with a warning. None: the
            host. With ``ProfilerTarget.GPU``, kernels and copies of CUDA devices as CUPTI records them, where
            ``cupti-python`` is installed.
        scheduler: a function from the number of a step to its ``ProfilerState`` (see ``make_scheduler``), a pair
            ``(first, last)`` of steps, or None to record everything.
        on_trace_ready: called with the profiler when a profile is complete; None: nothing is.
        record_shapes: note operands and results of ops.
        profile_memory: note what tensors hold, after each op.
        timer_only: record nothing, only time the steps for ``step_info``.
        emit_nvtx: let every range that is recorded be one of NVTX, too, for tools of NVIDIA that look at the process
            (the package ``nvtx`` makes them). With ``timer_only``, that is all that is done with them.
        custom_device_types: types of devices whose plug-ins record what they do. Empty: with
            ``ProfilerTarget.CUSTOM_DEVICE`` among the targets, all that can.
        with_flops: accepted; the work of kernels is counted in any case.

    Raises:
        ImportError: ``emit_nvtx`` without the package ``nvtx``.
        ValueError: a custom type of device that has no profiler, or a pair of steps in the wrong order.
        TypeError: another scheduler.

    Example:
        >>> import paddle
        >>> net = paddle.nn.Linear(4, 2)
        >>> profiler = paddle.profiler.Profiler(scheduler=(1, 3))
        >>> with profiler:
        ...     for step in range(4):
        ...         net(paddle.ones([3, 4])).sum().backward()
        ...         profiler.step(num_samples=3)
        >>> sorted({e.kind for e in profiler.profiler_result.events})
        ['Backward', 'Forward', 'Kernel', 'Operator', 'OperatorInner', 'ProfileStep']
    """

    def __init__(
        self,
        *,
        targets: Iterable[ProfilerTarget] | None = None,
        scheduler: Callable[[int], ProfilerState] | tuple[int, int] | None = None,
        on_trace_ready: Callable[[Profiler], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        timer_only: bool = False,
        emit_nvtx: bool = False,
        custom_device_types: Iterable[str] = (),
        with_flops: bool = False,
    ) -> None:
        emitter = nvtx() if emit_nvtx else None
        if emit_nvtx and emitter is None:
            raise op_error(ImportError, "Profiler", "the package nvtx for emit_nvtx", "none", "Install it")
        targets = {ProfilerTarget.CPU} if targets is None else set(targets)
        traced = _traced(list(custom_device_types), ProfilerTarget.CUSTOM_DEVICE in targets)
        if ProfilerTarget.GPU in targets and device_count("gpu") and _tracers(["gpu"]):
            traced = [*traced, "gpu"]
        here = {ProfilerTarget.CPU, *([ProfilerTarget.CUSTOM_DEVICE] if traced else [])}
        for target in targets - here:
            if not (target is ProfilerTarget.GPU and device_count("gpu")):
                warnings.warn(f"[Profiler] has no {target.name} here: left out of the targets", stacklevel=2)
        if scheduler is None:
            scheduler = schedules.always
        elif isinstance(scheduler, (tuple, list)):
            scheduler = schedules.between(*scheduler)
        elif not callable(scheduler):
            raise op_error(TypeError, "Profiler", "a function or a pair of steps as scheduler", repr(scheduler))
        self.scheduler = scheduler
        self.on_trace_ready = on_trace_ready
        self.timer_only = timer_only
        self.step_num = 0
        self.current_state = CLOSED
        self.profiler_result: Profile | None = None
        self._emits = emit_nvtx
        self._make = lambda: EventCollector(
            record_shapes, profile_memory, [] if timer_only else _tracers(traced), emitter, keep=not timer_only
        )
        self._recorder: EventCollector | None = None
        self._range: Range | None = None
        self._timer = StepTimer()
        self._instruments = Instruments(self._timer.read)

    # --- from step to step

    def start(self) -> None:
        """Begin with step 0."""
        self.step_num = 0
        self._timer.start()
        if self.timer_only:
            if self._emits:
                self._recorder = self._make()
                self._recorder.start()
            self._instruments.on(all=self._emits)
        else:
            self._enter(self.scheduler(0))

    def step(self, num_samples: int | None = None) -> None:
        """End a step, and begin the next one.

        Args:
            num_samples: how many samples were in it, for ``step_info``; None: they are not counted.
        """
        self._timer.step(num_samples)
        if not self.timer_only:
            self._leave(self.current_state is LAST)
            self.step_num += 1
            self._enter(self.scheduler(self.step_num))

    def stop(self) -> None:
        """End, and hand over what is being recorded."""
        if self._recorder is not None:
            self._leave(self.current_state in (RECORD, LAST), stop=True)
        self.current_state = CLOSED
        self._instruments.off()

    def __enter__(self) -> Profiler:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def _enter(self, state: ProfilerState) -> None:
        """A step of this state begins."""
        before, self.current_state = self.current_state, state
        if state is CLOSED:
            self._end()
            return
        if self._recorder is None:
            self._recorder = self._make()
            self._recorder.start()
            self._instruments.on()
        elif before is READY and state is not READY:
            self._recorder.clear()
        self._range = Range(f"ProfileStep#{self.step_num}", STEP).__enter__()

    def _leave(self, complete: bool, stop: bool = False) -> None:
        """The step ends, and with it the recording if that is ``complete``."""
        if self._range is not None:
            self._range.__exit__()
            self._range = None
        if complete or stop:
            profile = self._end()
            if complete:
                self.profiler_result = profile
                if self.on_trace_ready is not None:
                    self.on_trace_ready(self)

    def _end(self) -> Profile | None:
        collector, self._recorder = self._recorder, None
        self._instruments.off()
        return collector.stop() if collector is not None else None

    # --- what was found

    def step_info(self, unit: str | None = None) -> str:
        """Describe the steps since the last call: their mean time, that of waiting for data, and samples per second.

        Args:
            unit: what samples are called; None: ``"samples"``.

        Returns:
            A str; an empty one where there was no step.

        Example:
            >>> import paddle
            >>> profiler = paddle.profiler.Profiler(timer_only=True)
            >>> profiler.start()
            >>> profiler.step(num_samples=8)
            >>> print(profiler.step_info(unit="images").split()[-1])
            images/s
            >>> profiler.stop()
        """
        return self._timer.info(unit)

    def _found(self) -> Profile:
        if self.profiler_result is None:
            raise op_error(RuntimeError, "Profiler", "a recording that is complete", "none yet", "Call stop() first.")
        return self.profiler_result

    def export(self, path: str = "", format: str = "json") -> None:
        """Write the last recording as a Chrome trace.

        Args:
            path: name of the file; it has to be given.
            format: ``"json"``.

        Raises:
            ValueError: no path, or another format.
            RuntimeError: nothing has been recorded yet.
        """
        if not path:
            raise op_error(ValueError, "Profiler.export", "the name of a file", repr(path))
        self._found().save(path, format)

    def summary(
        self,
        sorted_by: SortedKeys = SortedKeys.CPUTotal,
        op_detail: bool = True,
        thread_sep: bool = False,
        time_unit: str = "ms",
        views: SummaryView | Iterable[SummaryView] | None = None,
    ) -> None:
        """Print tables of the last profile.

        Args:
            sorted_by: what rows are sorted by.
            op_detail: show kernels below their ops.
            thread_sep: a table for each thread.
            time_unit: ``"s"``, ``"ms"``, ``"us"`` or ``"ns"``.
            views: the tables to show, by default all that have rows.

        Raises:
            ValueError: an unknown unit.
            RuntimeError: nothing has been recorded yet.
        """
        if time_unit not in tables.UNITS:
            raise op_error(ValueError, "Profiler", f"a time_unit of {list(tables.UNITS)}", repr(time_unit))
        if self.timer_only:
            print(self._timer.table())
            return
        chosen = [views] if isinstance(views, SummaryView) else views
        names = None if chosen is None else [v.name for v in chosen]
        found = tables.Tables(self._found(), time_unit, sorted_by.name, op_detail, thread_sep)
        print(tables.summary(found, names))
