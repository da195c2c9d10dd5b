"""Made by ``tools/public_stubs.py``."""

from paddle.profiler.export import export_chrome_tracing as export_chrome_tracing
from paddle.profiler.export import export_protobuf as export_protobuf
from paddle.profiler.export import load_profiler_result as load_profiler_result
from paddle.profiler.names import ProfilerState as ProfilerState
from paddle.profiler.names import ProfilerTarget as ProfilerTarget
from paddle.profiler.names import SortedKeys as SortedKeys
from paddle.profiler.names import SummaryView as SummaryView
from paddle.profiler.names import TracerEventType as TracerEventType
from paddle.profiler.profiler import Profiler as Profiler
from paddle.profiler.ranges import RecordEvent as RecordEvent
from paddle.profiler.scheduler import make_scheduler as make_scheduler

__all__ = [
    "Profiler",
    "ProfilerState",
    "ProfilerTarget",
    "RecordEvent",
    "SortedKeys",
    "SummaryView",
    "TracerEventType",
    "export_chrome_tracing",
    "export_protobuf",
    "load_profiler_result",
    "make_scheduler",
]
