"""Launches of kernels. See docs/design/launch.md."""

from typing import Any

LEFT_TO_PYTHON: int  # of a native launch: it has done nothing, the plan's Python kernel does this call

def time_launches(timer: Any) -> None:
    """Tell ``timer`` of every launch, on all threads; None ends that.

    ``timer.start()`` gives a token; after a launch that succeeded ``timer.stop(token, seconds, plan, operands,
    outputs, dims)`` is called, where ``dims`` is what a native kernel got, None where it asked for nothing or was
    launched flat.
    """
