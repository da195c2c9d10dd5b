"""What a run does: ops, kernels, layers and ranges of your own, as tables and traces."""

from paddle import _late
from paddle.profiler import export, names, profiler, ranges, scheduler

__getattr__, __dir__, __all__ = _late.contents(__name__)
