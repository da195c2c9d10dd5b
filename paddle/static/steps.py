"""Numbers of optimizers that files have as variables: counts of steps done, and learning rates.

Like the states of an optimizer, each scope has its own counts. They are in the optimizer's states, where C reads them,
for one scope at a time; other scopes keep theirs. Rates are the optimizer's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from paddle.optimizer.lr import LRScheduler
from paddle.static.scope import Scope
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.inplace import apply_into
from umiak.core.tensor import Tensor
from umiak.runtime.program_tracer import outside
from umiak.util.errors import op_error

if TYPE_CHECKING:
    from paddle.optimizer.optimizer import Optimizer
    from umiak.runtime.program_tracer import ProgramTracer

_COPY = F.Copy()


def count_in(optimizer: Optimizer, scope: Scope) -> None:
    """Let an optimizer go on from the numbers of a scope."""
    states = list(optimizer._states.values())
    if not states:
        return
    scope = scope._outermost  # where the values of states are made
    before = _scope_of(states[0])
    if before is scope:
        return
    if before is not None:
        before._steps[optimizer] = {state: state.steps for state in states}
    done = scope._steps.pop(optimizer, {})
    for state in states:
        # What no scope had are numbers that were loaded.
        state.steps = done.get(state, state.steps if before is None else 0)
        state.scope = ref(scope)


def _scope_of(state: Any) -> Scope | None:
    found = getattr(state, "scope", None)
    return None if found is None else found()


def begin(tracer: ProgramTracer, scope: Scope) -> None:
    """A startup program has run in a scope: the states that it makes have done as many steps as at the recording."""
    for optimizer, state, steps in tracer.begun:
        count_in(optimizer, scope)
        state.steps = steps


def rates(tracer: ProgramTracer) -> dict[str, np.ndarray]:
    """The learning rates of a program's optimizers, by name."""
    return {o._rate_name: np.array(o.get_lr(), "float32") for o in tracer.optimizers if o._rate_name is not None}


def rate_of(optimizer: Optimizer, tracer: ProgramTracer) -> Tensor | None:
    """The learning rate as a tensor, in a program as a variable: that of each run. None before the first step."""
    static = optimizer._rate_name is not None
    if not static and not optimizer._states:
        return None
    if optimizer._rate is None or not static:
        with outside():
            optimizer._rate = F.full(float(optimizer.get_lr()), dtype=dt.float32, shape=())
        if static:
            optimizer._rate.name = optimizer._rate_name
            tracer.names[optimizer._rate.name] = optimizer._rate
    return optimizer._rate


def put_rates(tracer: ProgramTracer) -> None:
    """Write the rates of the run that begins to the variables of them."""
    for x, rate in ((o._rate, o.get_lr()) for o in tracer.optimizers if o._rate is not None):
        apply_into(_COPY, (x,), (F.full(float(rate), dtype=x.dtype, shape=()),))


def set_rates(tracer: ProgramTracer, saved: Mapping[str, Any]) -> None:
    """Take learning rates that were saved; schedules set their own."""
    for name, rate in rates(tracer).items():
        for optimizer in (o for o in tracer.optimizers if o._rate_name == name):
            if name in saved and not isinstance(optimizer._learning_rate, LRScheduler):
                value = np.asarray(saved[name], "float32")
                if value.size != 1:
                    raise op_error(ValueError, "set_state_dict", f"one number as {name}", f"shape {list(value.shape)}")
                if value.item() != rate:  # else it has more digits than the file
                    optimizer.set_lr(value.item())
