"""A step of an optimizer inside of a captured function: its updates are operations of the program.

The rate and the count of steps differ between runs. They are numbers of the program, read from the optimizer before
each run, which also counts the step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from umiak.core.context import current
from umiak.core.each import apply_each_into
from umiak.core.tensor import Tensor
from umiak.runtime.capture import Capture, CaptureError, Stale

if TYPE_CHECKING:
    from paddle.optimizer.optimizer import Optimizer, State


def capturing() -> Capture | None:
    """The tracer of the function that is being captured, if there is one."""
    stack = current().trace
    return stack[-1] if stack and isinstance(stack[-1], Capture) else None


def captured_step(optimizer: Optimizer, tracer: Capture, groups: list) -> None:
    """Record the updates of one step."""
    who = type(optimizer).__name__
    if optimizer._one_by_one:
        raise CaptureError(f"[{who}] requires an optimizer that defines _row, got one that updates in Python")
    _make_states(optimizer, tracer, groups)
    rate = optimizer.get_lr()
    rows: list[tuple[State, Any, Any]] = []
    stepped: list[State] = []
    updates: dict[Any, list] = {}
    casts: dict[Any, list] = {}
    original = optimizer._row

    def remember(state: State, grad: Tensor, lr: float) -> Any:
        op, row = original(state, grad, lr)
        rows.append((state, op, row))
        return op, row

    optimizer._row = remember  # type: ignore[method-assign]
    try:
        for group, pairs in groups:
            optimizer._collect(group, pairs, updates, casts, stepped)
    finally:
        del optimizer._row
        for state in stepped:
            state.steps -= 1

    def unchanged() -> None:
        if optimizer.get_lr() != rate:
            raise CaptureError(f"[{who}] requires its schedule to be stepped outside of the captured function")

    tracer.conditions.append(unchanged)
    numbers = [x for _, _, row in rows for x in _numbers(row)]
    symbols = iter(tracer.numbers(numbers, _Reader(optimizer, rows), lambda: _count(stepped, -1)))
    for op, many in _by_op(rows, symbols).items():
        apply_each_into(op, many)
    for op, many in casts.items():
        apply_each_into(op, many)


def _make_states(optimizer: Optimizer, tracer: Capture, groups: list) -> None:
    """States are made now, outside of the program."""
    for group, pairs in groups:
        given = [(p, p.grad) for p in group["params"]] if pairs is None else pairs
        for p, g in given:
            if g is not None and not p.stop_gradient and p not in optimizer._states:
                with tracer.paused():
                    optimizer._make_state(p, group["_hyper"])
        group["_states"] = None


class _Reader:
    """The numbers of a step, from rows made again before each run."""

    def __init__(self, optimizer: Optimizer, rows: list) -> None:
        self.optimizer = optimizer
        self.rows: list[tuple[Any, Any, tuple, int]] = [
            (state, op, _fixed(row), len(_numbers(row))) for state, op, row in rows
        ]

    def __call__(self) -> list[Any]:
        optimizer = self.optimizer
        row_of, lr = optimizer._row, optimizer.get_lr()
        done: list[State] = []
        found: list[Any] = []
        try:
            for state, op, fixed, count in self.rows:
                held: Any = optimizer._states.get(state.param)
                if held is not state:
                    raise Stale
                state.steps += 1
                done.append(state)
                now, row = row_of(state, state.target, lr * state.rate["learning_rate"])
                numbers = _numbers(row)
                if now is not op or len(numbers) != count or not _same(_fixed(row), fixed):
                    raise Stale
                found += numbers
        except BaseException:
            _count(done, -1)
            raise
        return found


def _count(states: list, by: int) -> None:
    for state in states:
        state.steps += by


def _is_number(x: Any) -> bool:
    return type(x) is float or type(x) is int


def _numbers(row: Any) -> list[Any]:
    _, operands, params = row
    return [x for x in operands if _is_number(x)] + [x for x in params if _is_number(x)]


def _fixed(row: Any) -> tuple:
    """The rest of a row: its tensors but the gradient, which is the second operand, and what selects code."""
    outs, operands, params = row
    return (
        *outs,
        *(None if i == 1 or _is_number(x) else x for i, x in enumerate(operands)),
        *(x for x in params if not _is_number(x)),
    )


def _same(a: tuple, b: tuple) -> bool:
    return len(a) == len(b) and all(x is y or (not isinstance(x, Tensor) and x == y) for x, y in zip(a, b))


def _by_op(rows: list, symbols: Any) -> dict[Any, list]:
    found: dict[Any, list] = {}
    for _, op, (outs, operands, params) in rows:
        taken = tuple(next(symbols) if _is_number(x) else x for x in operands)
        found.setdefault(op, []).append((outs, taken, tuple(next(symbols) if _is_number(x) else x for x in params)))
    return found
