"""Models of contexts: of gradients, and of the user's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paddle.framework.grad_mode import _Mode, set_grad_enabled
from paddle.jit.sot.flow_instructions import enter
from paddle.jit.sot.models.table import model
from umiak.core.context import current

if TYPE_CHECKING:
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
