"""What a run does: ops, kernels, layers and ranges of your own, as tables and traces."""

from paddle import _late
from paddle.profiler.export import export_chrome_tracing, export_protobuf, load_profiler_result
from paddle.profiler.names import ProfilerState, ProfilerTarget, SortedKeys, SummaryView
from paddle.profiler.profiler import Profiler
from paddle.profiler.ranges import RecordEvent
from paddle.profiler.scheduler import make_scheduler

__getattr__, __dir__ = _late.attributes_of(__name__)

__all__ = [
    "Profiler",
    "ProfilerState",
    "ProfilerTarget",
    "RecordEvent",
    "SortedKeys",
    "SummaryView",
    "export_chrome_tracing",
    "export_protobuf",
    "load_profiler_result",
    "make_scheduler",
]
