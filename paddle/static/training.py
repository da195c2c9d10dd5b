"""Steps of optimizers as operations of a program."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from paddle.framework import unique_name
from paddle.static.backward import append_backward
from paddle.static.program import default_main_program, default_startup_program, initialized, program_guard
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.context import no_grad_guard
from umiak.core.inplace import assign
from umiak.core.tensor import Tensor, empty
from umiak.runtime.program_tracer import ProgramTracer, outside

if TYPE_CHECKING:
    from paddle.optimizer.optimizer import Optimizer


def backward(optimizer: Optimizer, loss: Any, parameters: Any, no_grad_set: Any) -> list[tuple[Any, Tensor]]:
    """The gradients of a loss; parameters that the optimizer does not have yet become its own."""
    chosen = [parameters] if isinstance(parameters, Tensor) else parameters or optimizer._parameter_list or None
    pairs = [(p, g) for p, g in append_backward(loss, chosen, no_grad_set) if g is not None]
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
        if optimizer._rate_name is None and not optimizer._is_hooked:  # whose rate is a variable
            optimizer._rate_name = unique_name.generate("learning_rate")
    startup = default_startup_program()._tracer
    for p in optimizer._parameter_list:
        tracer.makes_state(p)
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


def mean_of_latest(name: str, grad: Tensor, total: Tensor, count: int) -> Tensor:
    """Record the mean of the gradients of the latest ``count`` runs, or of as many as there were.

    Args:
        name: the beginning of the names of variables that are kept: those gradients, and the number of runs.
        grad: the gradient of a run.
        total: a variable with the sum of them.
        count: how many are kept.
    """
    latest, runs = empty((count, *total.shape), total.dtype, total.place), empty((1,), dt.int64, total.place)
    latest.name, runs.name = unique_name.generate(f"{name}_y"), unique_name.generate(f"{name}_m")
    for x in (latest, runs):
        _begin(x, partial(_filled, 0.0))
    grad = F.cast(grad, dtype=total.dtype)
    places = F.iota(0, 1, dtype=dt.int64, size=count)
    replaced = F.eq(places, F.remainder(runs, count))
    replaced = F.reshape(replaced, shape=(count,) + (1,) * total.ndim)
    now = F.add(F.sub(total, F.sum(F.mul(latest, F.cast(replaced, dtype=total.dtype)), axes=(0,))), grad)
    done = F.add(runs, 1)
    mean = F.div(now, F.cast(F.reshape(F.minimum(done, count), shape=(1,) * total.ndim), dtype=total.dtype))
    for x, value in ((latest, F.where(replaced, grad, latest)), (runs, done), (total, now)):
        assign(x, value)
    return mean


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
