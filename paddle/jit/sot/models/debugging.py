"""Models of the functions of psdb."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paddle.jit.sot import psdb
from paddle.jit.sot.breakpoints import BM
from paddle.jit.sot.models.table import model

if TYPE_CHECKING:
    from paddle.jit.sot.simulator import Simulator


@model(psdb.assert_true)
def _assert_true(sim: Simulator, input: Any) -> None:
    psdb.assert_true(bool(sim.call(bool, (input,), {})))


@model(psdb.breakgraph)
def _breakgraph(sim: Simulator) -> None:
    sim.break_graph("psdb.breakgraph() asks for it")


@model(psdb.fallback)
def _fallback(sim: Simulator, recursive: bool = False) -> None:
    sim._needs_real_frame(psdb.fallback)


@model(psdb.breakpoint)
def _breakpoint(sim: Simulator) -> None:
    BM.stop(sim.frames)


@model(psdb.in_sot)
def _in_sot(sim: Simulator) -> bool:
    return True


@model(psdb.print)
def _print(sim: Simulator, *args: Any, **kwargs: Any) -> None:
    print(*args, **kwargs)
