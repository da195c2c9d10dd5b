"""Counts of the steps that optimizers have done: like the states of an optimizer, each scope has its own.

They are in the optimizer's states, where C reads them, for one scope at a time; other scopes keep theirs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import ref

from paddle.static.scope import Scope

if TYPE_CHECKING:
    from paddle.optimizer.optimizer import Optimizer
    from umiak.runtime.program_tracer import ProgramTracer


def count_in(optimizer: Optimizer, scope: Scope) -> None:
    """Let an optimizer go on from the numbers of a scope."""
    states = list(optimizer._states.values())
    if not states:
        return
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
