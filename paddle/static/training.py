"""Steps of optimizers as operations of a program."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from paddle.static.backward import append_backward
from paddle.static.program import default_main_program, default_startup_program, initialized, program_guard
from umiak import ops as F
from umiak.core.context import no_grad_guard
from umiak.core.inplace import assign
from umiak.core.tensor import Tensor
from umiak.runtime.program_tracer import ProgramTracer, outside

if TYPE_CHECKING:
    from paddle.optimizer.optimizer import Optimizer


def backward(optimizer: Optimizer, loss: Any, parameters: Any, no_grad_set: Any) -> list[tuple[Any, Tensor]]:
    """The gradients of a loss; parameters that the optimizer does not have yet become its own."""
    pairs = append_backward(loss, parameters or optimizer._parameter_list or None, no_grad_set)
    known = {id(p) for p in optimizer._parameter_list}
    if new := [p for p, _ in pairs if id(p) not in known]:
        optimizer._add_param_group({"params": new})
    return pairs


def minimize(
    optimizer: Optimizer, loss: Any, startup_program: Any, parameters: Any, no_grad_set: Any
) -> tuple[list, list[tuple[Any, Tensor]]]:
    """Record gradients of a loss and the updates by them."""
    pairs = backward(optimizer, loss, parameters, no_grad_set)
    if startup_program is None:
        return optimizer.apply_gradients(pairs), pairs
    with program_guard(default_main_program(), startup_program):
        return optimizer.apply_gradients(pairs), pairs


def step(optimizer: Optimizer, tracer: ProgramTracer, groups: list, own_rate: bool) -> None:
    """Record the updates of one step: training's alone. The startup program makes the states."""
    from paddle.optimizer.captured import captured_step

    if not any(known is optimizer for known in tracer.optimizers):
        tracer.optimizers.append(optimizer)
    startup = default_startup_program()._tracer
    before = set(optimizer._states)
    loaded = bool(optimizer._saved)
    with tracer.training():
        captured_step(optimizer, tracer, groups, own_rate)
    for p in [p for p in optimizer._states if p not in before]:
        state = optimizer._states[p]
        startup.begun.append((optimizer, state, state.steps))
        if state.master is not None:
            _begin(state.master, partial(_cast_of, p))
        for name, value in zip(optimizer._accumulator_names(), state.values, strict=True):
            if loaded:
                with outside():
                    _begin(value, partial(_the_same, value.clone()))
            else:
                _begin(value, partial(_filled, optimizer._initial(name)))


def _cast_of(p: Tensor, x: Tensor) -> Tensor:
    return F.cast(p, dtype=x.dtype)


def _the_same(first: Tensor, x: Tensor) -> Tensor:
    return first


def _filled(first: float, x: Tensor) -> Tensor:
    value = complex(first, first) if x.dtype.is_complex else first  # as eager states begin
    return F.full(value, dtype=x.dtype, shape=tuple(x.shape))


def _begin(x: Tensor, value: Callable[[Tensor], Tensor]) -> None:
    """Have the startup program write ``value(x)`` to a state."""

    def fill(target: Tensor) -> None:
        with no_grad_guard():
            assign(target, value(target))

    initialized(x, fill)
