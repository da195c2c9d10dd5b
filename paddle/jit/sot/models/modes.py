"""Models of contexts: of gradients, of the user's, and of those that mean nothing to a graph."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from paddle.framework import unique_name
from paddle.framework.grad_mode import _Mode, set_grad_enabled
from paddle.framework.place import current_place
from paddle.jit.sot.flow_instructions import enter
from paddle.jit.sot.models.table import model
from paddle.nn.attention.sdpa import sdp_kernel, sdpa_kernel
from paddle.static.amp.casting import fp16_guard
from paddle.static.places import device_guard, name_scope
from paddle.static.scope import scope_guard
from umiak.core.context import current

if TYPE_CHECKING:
    from collections.abc import Callable

    from paddle.jit.sot.simulator import Simulator


@model(enter)
def _enter(sim: Simulator, x: Any) -> Any:
    return sim.call(sim.special(x, "__enter__"), (), {}, direct=True)


@model(_Mode.__enter__)
def _enter_mode(sim: Simulator, mode: _Mode) -> None:
    ctx = current()
    sim.forced(sim.attribute(mode, "_saved")).append(ctx.grad_enabled)
    ctx.grad_enabled = sim.attribute(mode, "mode")


@model(set_grad_enabled.__enter__)
def _enter_set_mode(sim: Simulator, mode: set_grad_enabled) -> None:
    sim.forced(sim.attribute(mode, "_saved")).append(sim.attribute(mode, "_before"))
    current().grad_enabled = sim.attribute(mode, "mode")


@model(_Mode.__exit__)
def _leave_mode(sim: Simulator, mode: _Mode, *error: Any) -> None:
    current().grad_enabled = sim.forced(sim.attribute(mode, "_saved")).pop()


def _nothing(make: Callable[..., Any]) -> None:
    @model(make)
    def enter_none(sim: Simulator, *args: Any, **kwargs: Any) -> Any:
        with make(*args, **kwargs):  # for its errors
            return nullcontext()


def _nothing_in_one_graph(make: Callable[..., Any]) -> None:
    @model(make)
    def enter_none(sim: Simulator, *args: Any, **kwargs: Any) -> Any:
        with make(*args, **kwargs):
            inside = current_place()
        if sim.trace.policy.full_graph and inside == current_place():
            return nullcontext()
        return sim.leaf(make, args, kwargs)  # what runs between two graphs may make layers and run programs


_NO_MODES: tuple[Callable[..., Any], ...] = (name_scope, fp16_guard, sdpa_kernel, sdp_kernel)
for _make in _NO_MODES:
    _nothing(_make)
_ONE_GRAPH: tuple[Callable[..., Any], ...] = (unique_name.guard, scope_guard, device_guard)
for _make in _ONE_GRAPH:
    _nothing_in_one_graph(_make)
