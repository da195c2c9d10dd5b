"""Profiler of a run: ops, kernels, layers and ranges of your own, as tables and traces."""

from paddle import _lazy
from paddle.profiler import export, names, profiler, ranges, scheduler

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
