"""What the device has no kernel for runs on the host, with operands moved there and results back. It is counted."""

from __future__ import annotations

import logging
from typing import Any

from umiak.backends.base import Kernel
from umiak.backends.transfer import moved
from umiak.core import eager
from umiak.core.context import no_grad_guard, place_guard
from umiak.core.place import Place
from umiak.core.tensor import Tensor
from umiak_opencl.counts import HOST

CPU = Place("cpu")
log = logging.getLogger("umiak_opencl")


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


def note(name: str, place: Place) -> None:
    if HOST.add(name) == 1:
        log.warning("[%s] runs on the host: %s has no kernel for it", name, place.name)


def kernel(call: Any) -> Kernel:
    """The kernel of a class of calls, on the host."""
    op, place = call.op, call.place

    def run(operands: tuple, params: tuple) -> tuple:
        note(op.name, place)
        with no_grad_guard(), place_guard(CPU):
            given = tuple(moved(x, CPU) if isinstance(x, Tensor) else x for x in operands)
            made = eager.apply(op, given, params)
            results = made if isinstance(made, (tuple, list)) else (made,)
            return tuple(moved(y, place) for y in results)

    return Kernel(call=run)
