"""Starts the ranks of a job: ``python -m paddle.distributed.launch``, or ``fleetrun``."""

from paddle import _lazy
from paddle.distributed.launch import main

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
