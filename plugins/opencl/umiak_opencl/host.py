"""Counts of what the device has no kernel for: it runs on the host (:mod:`umiak.backends.host_calls`)."""

from __future__ import annotations

from umiak_opencl.counts import HOST


def fallbacks() -> dict[str, int]:
    """The number of calls that ran on the host since the start or the last reset, by the name of the op.

    Example:
        >>> from umiak_opencl import fallbacks
        >>> isinstance(fallbacks(), dict)
        True
    """
    return HOST.read()


def reset_fallbacks() -> None:
    """Count from zero. The first call of each op after it is logged again.

    Example:
        >>> from umiak_opencl import fallbacks, reset_fallbacks
        >>> reset_fallbacks()
        >>> fallbacks()
        {}
    """
    HOST.clear()
