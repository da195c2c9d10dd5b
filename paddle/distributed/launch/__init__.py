"""Starts the ranks of a job: ``python -m paddle.distributed.launch``, or ``fleetrun``."""

from paddle.distributed.launch.main import launch

__all__ = ["launch"]
