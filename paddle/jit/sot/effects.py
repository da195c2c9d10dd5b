"""Effects of a function beyond computing with tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from paddle.jit.sot.control import Control
from paddle.jit.sot.trace import Policy, Trace
from umiak.core.tensor import Tensor

if TYPE_CHECKING:
    from paddle.jit.sot.simulator import Simulator


def effects_of(sim: Simulator, f: Callable[..., Any], like: list[Any], by_simulator: bool = False) -> str | None:
    """Say what ``f(*like)`` does beyond computing with tensors; None for nothing.

    It is simulated in a trace of its own, which is thrown away, or, ``by_simulator``, does so itself:
    ``f(simulator, *like)``. Otherwise it is a hook, which gets gradients of ``like``: it may write to these, where a
    leaf that wants a gradient could not be written to.
    """
    trace = Trace(Policy(), "probe")
    inner = type(sim)(trace)
    with trace.capture:
        given = [trace.like(x, stop=None if by_simulator else True) if isinstance(x, Tensor) else x for x in like]
        try:
            f(inner, *given) if by_simulator else inner.call(f, tuple(given), {})
        except Control as stop:
            reasons = list(trace.policy.breaks.values())
            return f"cannot be captured: {reasons[0] if reasons else stop}"
        except Exception as error:
            return f"raises {type(error).__name__}"
    appended = any(values for _, values in trace.appended.values())
    if appended or trace.attributes or trace.cells or trace.globals or any(s.changed() for s in trace.shadows.values()):
        return "changes Python state"
    return None
