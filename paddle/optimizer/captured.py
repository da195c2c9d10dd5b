"""A step of an optimizer inside of a captured function: its updates are operations of the program.

The rate and the count of steps differ between runs, and with them the numbers of the updates. What ``_row`` says of a
step is therefore traced once, with symbols for both: the formulas are evaluated in C before each run, which also counts
the step. Where ``_row`` decides by these numbers, it is asked again at every run instead.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from paddle.optimizer.lr import LRScheduler
from umiak import ops as F
from umiak.compiler.plan import scalar_program
from umiak.core.captured import Stale
from umiak.core.context import capture_of, no_grad_guard
from umiak.core.foreach import apply_foreach_into
from umiak.core.inplace import apply_into
from umiak.core.scalar import double_bits
from umiak.core.steps import OptimizerScalars
from umiak.core.tensor import Tensor
from umiak.ir.expr import Sym, kind_of, symbol
from umiak.ir.linearise import linearise
from umiak.ir.scope import get_scope, set_scope, symbols_of
from umiak.runtime.capture import Capture, CaptureError

if TYPE_CHECKING:
    from paddle.optimizer.optimizer import Optimizer, State

_COPY = F.Copy()
_LOG = logging.getLogger("paddle.jit")
RATE, STEP = symbol("rate", kind="float"), symbol("step", lo=1)


def refuse_inside(method: str) -> None:
    """Refuse to be recorded, of a method that keeps counts and tensors in Python: it runs between two graphs then."""
    tracer = capture_of()
    if tracer is not None and not tracer.static:
        raise CaptureError(f"[{method}] requires a call outside of graphs, got one inside: it counts steps in Python")


def captured_step(optimizer: Optimizer, tracer: Capture, groups: list, own_rate: bool) -> None:
    """Record the updates of one step. ``own_rate``: the class of the optimizer has a ``get_lr`` of its own."""
    class_name = type(optimizer).__name__
    if optimizer._one_by_one:
        raise CaptureError(f"[{class_name}] requires an optimizer that defines _row, got one that updates in Python")
    if optimizer._is_hooked:
        raise CaptureError(f"[{class_name}] requires an optimizer without hooks, got one that steps in Python")
    if optimizer._made_in == id(tracer) and optimizer.accumulators:
        raise CaptureError(
            f"[{class_name}] requires an optimizer that is made outside of the captured function, got one made inside: "
            "its states would go on from run to run"
        )
    parameters = [p for group, _ in groups for p in group["params"]]
    tracer.asks_for_gradients(p for p in parameters if not p.stop_gradient)
    tracer.leaves_out(p for p in parameters if p.stop_gradient)
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
            raise CaptureError(f"[{class_name}] requires its schedule to be stepped outside of the captured function")

    tracer.conditions.append(unchanged)
    with tracer.paused():
        formulas = _Formulas.of(optimizer, rows, own_rate)
    if formulas is None:
        numbers = [x for _, _, row in rows for x in _numbers(row)]
        symbols = tracer.scalars(numbers, _Reader(optimizer, rows), lambda: _count(stepped, -1))
    else:
        found = tracer.scalars(formulas.values, formulas.scalars())
        symbols = [found[at] for at in formulas.positions]
    given = iter(symbols)
    apart = [(state, tracer.rows[id(state.param)]) for state, _, _ in rows if _stays(optimizer, tracer, groups, state)]
    before = [[F.copy(x) for x in state.outs] for state, _ in apart]
    for op, many in _by_op(rows, given).items():
        apply_foreach_into(op, many)
    for (state, given_rows), former in zip(apart, before, strict=True):
        for x, old in zip(state.outs, former, strict=True):
            column = F.unsqueeze(given_rows, axes=tuple(range(1, x.ndim)))
            apply_into(_COPY, (x,), (F.where(column, x, old),))
    for op, many in casts.items():
        apply_foreach_into(op, many)


def _stays(optimizer: Optimizer, tracer: Capture, groups: list, state: State) -> bool:
    """Return whether rows of a table without a gradient stay as they are, where eager steps would get rows and the
    program has zeros."""
    if not (optimizer._by_rows and optimizer._changes_by_zeros) or id(state.param) not in tracer.rows:
        return False
    plain = any(p is state.param for group, _ in groups if group["_regularizer"] is None for p in group["params"])
    return plain and state.penalty is None and all(x.is_contiguous() for x in (state.param, *state.outs))


def _make_states(optimizer: Optimizer, tracer: Capture, groups: list) -> None:
    """States are made now, outside of the program."""
    for group, pairs in groups:
        given = [(p, p.grad) for p in group["params"]] if pairs is None else pairs
        for p, g in given:
            if g is not None and not p.stop_gradient and p not in optimizer._states:
                with tracer.paused():
                    optimizer._make_state(p, group["_hyper"])
        group["_states"] = None


# --- formulas --------------------------------------------------------------------------------------------------------


class _NoFormula(Exception):
    """The numbers of a step were not found to be formulas in its rate and number."""


class _Later:
    """A state before a step whose number is a symbol."""

    def __init__(self, state: Any) -> None:
        self._state = state
        self.steps = STEP

    def __getattr__(self, name: str) -> Any:
        return getattr(self._state, name)


class _Formulas:
    """The numbers of rows as expressions in RATE and STEP.

    What does not depend on the rate is one number for all rows that have the same formula and have done as many steps.
    ``values`` are the distinct numbers at the capture, ``positions`` says which of them each number of the rows is.
    """

    def __init__(self, optimizer: Optimizer, rows: list, values_found: list[list[Any]]) -> None:
        self.optimizer, self.rows, self.found = optimizer, rows, values_found
        self.values: list[Any] = []
        self.positions: list[int] = []
        self.keys: list[tuple[Any, int]] = []  # of each value: its formula, and the row that it is computed for
        known: dict[Any, int] = {}
        for i, (state, _, row) in enumerate(rows):
            for value, formula in zip(_numbers(row), values_found[i], strict=True):
                own = i if type(formula) is Sym and RATE in symbols_of(formula) else -1 - state.steps
                exact = formula if type(formula) is Sym else (type(value), double_bits(float(value)), value)
                at = known.setdefault((own, exact), len(self.values))
                if at == len(self.values):
                    self.values.append(value)
                    self.keys.append((formula, i))
                self.positions.append(at)

    @classmethod
    def of(cls, optimizer: Optimizer, rows: list, own_rate: bool) -> _Formulas | None:
        """None where the numbers are no formulas, or are not found to be."""
        if not optimizer._has_formulas:
            return None
        try:
            if own_rate:
                raise _NoFormula("it has a get_lr of its own")
            return cls(optimizer, rows, _traced(optimizer, rows))
        except _NoFormula as error:
            _LOG.warning(
                "the numbers of %s's step are asked for in Python before each run of a captured function, which takes "
                "longer than formulas: %s",
                type(optimizer).__name__,
                error,
            )
            return None

    def scalars(self) -> OptimizerScalars:
        """Return the function that evaluates the formulas."""
        slots = [state for state, _, _ in self.rows]
        first: dict[int, int] = {}
        leaders = [first.setdefault(state.steps, i) for i, state in enumerate(slots)]
        rates = [-1] * len(slots)
        programs: list[Any] = []
        symbols: dict[tuple, tuple[int, tuple[int, ...]]] = {}
        wanted: dict[int, list[int]] = {}  # by row: numbers that are no rates
        for at, (formula, row) in enumerate(self.keys):
            if formula is RATE:
                rates[row] = at
            else:
                wanted.setdefault(row, []).append(at)
        formulas = []
        for row, numbers in wanted.items():
            exprs = tuple(self.keys[at][0] for at in numbers)
            key = tuple(x if type(x) is Sym else (type(x), double_bits(float(x)), x) for x in exprs)
            if key not in symbols:
                linear = linearise(exprs, [RATE, STEP])
                symbols[key] = len(programs), linear.outputs
                programs.append(scalar_program(linear))
            program, registers = symbols[key]
            formulas.append((program, row, list(zip(registers, numbers, strict=True))))
        return OptimizerScalars(
            vars(self.optimizer), LRScheduler, list(slots), leaders, rates, programs, formulas, len(self.values),
            self.renew,
        )  # fmt: skip

    def renew(self) -> None:
        """The optimizer has another attribute: raise Stale where the formulas are others then."""
        try:
            now = _traced(self.optimizer, self.rows)
        except _NoFormula as error:
            raise Stale from error
        for a, b in zip(self.found, now, strict=True):
            if not all(_exactly(x, y) for x, y in zip(a, b, strict=True)):
                raise Stale


def _traced(optimizer: Any, rows: list) -> list[list[Any]]:
    """The formulas of the numbers of each row. Raises ``_NoFormula`` where `_row` cannot be traced, or gives another
    row.
    """
    scope = get_scope()
    set_scope(None)  # what would be decided by a symbol is an error
    values_found = []
    try:
        with no_grad_guard():
            for state, op, row in rows:
                if optimizer._states.get(state.param) is not state:
                    raise _NoFormula("its states were exchanged")
                later: Any = _Later(state)
                try:
                    now, traced = optimizer._row(later, state.target, RATE)
                    formulas = _formulas_of(row, traced)
                except (TypeError, ValueError, ArithmeticError) as error:
                    # Where a number is needed, a symbol raises them.
                    raise _NoFormula(f"asked with symbols, it raises {type(error).__name__}: {error}") from error
                if now is not op:
                    raise _NoFormula(f"it is {now} instead of {op}")
                values_found.append(formulas)
    finally:
        set_scope(scope)
    _confirm(optimizer, rows, values_found)
    return values_found


def _formulas_of(row: Any, traced: Any) -> list[Any]:
    """Return the formulas of a row's scalars; everything else must be the same."""
    flat = [*row[1], *row[2]]
    other = [*traced[1], *traced[2]]
    values_found: list[Any] = []
    if len(flat) != len(other) or any(x is not y for x, y in zip(row[0], traced[0], strict=True)):
        raise _NoFormula("its rows differ")
    for i, (x, y) in enumerate(zip(flat, other, strict=True)):
        if _is_number(x):
            if kind_of(y) != kind_of(x):
                raise _NoFormula(f"its number {x} becomes {y}")
            values_found.append(y)
        elif i != 1 and x is not y and (isinstance(x, Tensor) or x != y):
            raise _NoFormula(f"its operand or param {x} becomes {y}")
    # Numbers of operands come before those of params, as in `_numbers`.
    return values_found


def _confirm(optimizer: Optimizer, rows: list, values_found: list[list[Any]]) -> None:
    """Compare formulas, as C evaluates them, with what ``_row`` says, for two rates and steps."""
    checked: set[tuple] = set()
    for (state, _, _), formulas in zip(rows, values_found, strict=True):
        key = (id(state.hyper), state.steps, *(id(x) if type(x) is Sym else x for x in formulas))
        if key in checked:
            continue
        checked.add(key)
        linear = linearise(formulas, [RATE, STEP])
        program = scalar_program(linear)
        for rate, more in ((0.0371, 1), (1.3e-5, 17)):
            state.steps += more
            try:
                with no_grad_guard():
                    _, row = optimizer._row(state, state.target, rate)
            finally:
                state.steps -= more
            registers = program.evaluate([double_bits(rate), state.steps + more])
            for value, at in zip(_numbers(row), linear.outputs, strict=True):
                if registers[at] != (double_bits(value) if type(value) is float else value):
                    raise _NoFormula(f"its number {value} is not what its formula gives")


def _exactly(x: Any, y: Any) -> bool:
    """Return whether formulas are the same."""
    if type(x) is Sym or type(y) is Sym:
        return x is y
    return type(x) is type(y) and double_bits(float(x)) == double_bits(float(y)) and x == y


# --- without formulas ------------------------------------------------------------------------------------------------


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
        values_found: list[Any] = []
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
                values_found += numbers
        except BaseException:
            _count(done, -1)
            raise
        return values_found


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
    by_op: dict[Any, list] = {}
    for _, op, (outs, operands, params) in rows:
        taken = tuple(next(symbols) if _is_number(x) else x for x in operands)
        by_op.setdefault(op, []).append((outs, taken, tuple(next(symbols) if _is_number(x) else x for x in params)))
    return by_op
