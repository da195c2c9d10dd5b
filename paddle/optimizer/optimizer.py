"""The base of all optimizers: it walks over parameters and owns their states; a subclass says what one step does to
one.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any, ClassVar

import numpy as np

from paddle._public import public
from paddle.nn.clip import ClipGradBase
from paddle.optimizer.hooks import HookedStep, defines_hooks
from paddle.optimizer.loaded import as_state
from paddle.optimizer.lr import LRScheduler
from paddle.optimizer.penalties import with_penalties
from paddle.regularizer import L2Decay, WeightDecayRegularizer
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.array import from_numpy
from umiak.core.buffer import ACCESS_HOST, access
from umiak.core.context import capture_of, no_grad_guard, place_guard
from umiak.core.foreach import apply_foreach_into
from umiak.core.inplace import apply_into
from umiak.core.optimizer_step import (
    drop_gradients,
    gradients,
    lacks_slot,
    step_rows,
    step_slots,
    write_rows,
    zero_gradients,
)
from umiak.core.slot import Slot, SlotRows
from umiak.core.tensor import Tensor
from umiak.runtime.selected_rows import SelectedRows
from umiak.util.arguments import several
from umiak.util.errors import OperandError, op_error

Row = tuple[tuple, tuple, tuple]  # outs, operands and params of one update
Rows = dict[Any, list[Row | SlotRows]]  # of each op: what is updated together
Grads = list[Any]  # one per parameter, None where there is none

_ALL = repeat(None)  # of every group

_STATE = ("param", "hyper", "master", "target", "name", "rate", "penalty", "values", "outs", "steps")
_CASTS = {d: F.Cast(d) for d in (dt.float16, dt.bfloat16)}
_FULL_RATE = {"learning_rate": 1.0}


class State(Slot):
    """Declaration of a state that an optimizer keeps for each parameter.

    ``target`` is what the step is applied to: the parameter, or the float32 copy ``master`` of a low-precision one.
    ``values`` are the tensors named by ``Optimizer.accumulators``, and ``outs`` both; ``steps`` counts the steps
    done. ``rate`` and ``penalty`` are the parameter's ``optimize_attr`` and ``regularizer``. ``scope``, in static mode:
    a reference to the scope whose number ``steps`` is.
    """

    __slots__ = ("master", "name", "param", "penalty", "scope")

    def __init__(self, param: Any, hyper: Any, master: Any) -> None:
        self.param = param
        self.hyper = hyper
        self.master = master
        self.target = param if master is None else master
        self.name = param.name if master is None else master.name
        self.rate = getattr(param, "optimize_attr", _FULL_RATE)
        self.penalty = getattr(param, "regularizer", None)
        self.values: tuple[Any, ...] = ()
        self.outs: tuple[Any, ...] = (self.target,)
        self.steps = 0

    def __deepcopy__(self, memo: dict) -> State:
        # By hand, as the fields of Slot are in C. What is named after the parameter is named after its copy.
        copied = type(self).__new__(type(self))
        memo[id(self)] = copied
        for name in _STATE:
            setattr(copied, name, copy.deepcopy(getattr(self, name), memo))
        if copied.master is not None:
            copied.master.name = copied.param.name + self.master.name.removeprefix(self.param.name)
        copied.name = copied.param.name if copied.master is None else copied.master.name
        for value, old in zip(copied.values, self.values, strict=True):
            value.name = copied.name + old.name.removeprefix(self.name)
        return copied


@public("paddle.optimizer")
class Optimizer(HookedStep):
    """Base of all optimizers.

    A subclass declares its state tensors in ``accumulators`` and its numbers in ``hyperparameters``, and defines
    ``_update(state, grad, lr)``: one step of one parameter, in place. Or it defines what optimizers of the reference
    do: ``_create_accumulators(block, parameters)``, which makes states by ``_add_accumulator(name, parameter)``, and
    ``_append_optimize_op(block, param_and_grad)``, which updates one parameter.

    Args:
        learning_rate: a number, or a schedule of ``paddle.optimizer.lr``.
        parameters: parameters, or dicts with key ``"params"`` and settings of their own: ``"learning_rate"`` (a factor
            on the optimizer's in place of those of the parameters' attributes; 1 by default), ``"weight_decay"``,
            ``"grad_clip"`` and the optimizer's numbers, such as ``"beta1"``. Needed.
        weight_decay: a number (L2), a regularizer, or None for no penalty; a parameter's own regularizer takes its
            place.
        grad_clip: a ``ClipGradBy…`` of ``paddle.nn``, applied before the decay; None: no clipping.

    Raises:
        ValueError: no parameters, or one of them twice.
        TypeError: arguments of another kind.

    Example:
        >>> import paddle
        >>> class Signs(paddle.optimizer.Optimizer):
        ...     def _update(self, state, grad, lr):
        ...         state.param.set_value(state.param - lr * paddle.sign(grad))
        >>> x = paddle.create_parameter([2], "float32", default_initializer=paddle.nn.initializer.Constant(1.0))
        >>> opt = Signs(0.25, parameters=[x])
        >>> (x[0] * 10.0 - x[1]).backward()
        >>> opt.step()
        >>> x.tolist()
        [0.75, 1.25]
    """

    # What a subclass declares: names of the state tensors, each of the parameter's shape; numbers that groups may set.
    accumulators: ClassVar[tuple[str, ...]] = ()
    hyperparameters: ClassVar[tuple[str, ...]] = ()
    _one_by_one: ClassVar[bool] = False  # it defines an `_update`
    _singly: Any = False  # its `_row` is asked for each parameter
    # The op of a step and what its operands are, where these are the same for all parameters; else it defines `_row`.
    _op: Any = None
    _layout: tuple[int, ...] | None = None
    # Whether rows of a table without a gradient stay as they are: such gradients are then applied to the others alone.
    _by_rows: bool = False
    # Whether a step also changes such rows where it is given zeros for them.
    _changes_by_zeros: bool = True
    _l2_divisor: float = 1.0  # by which `_row` multiplies a gradient, an L2 penalty in it included, which it is not to
    # Whether the numbers of `_row` are formulas in the rate and the step, which a captured step evaluates in C. If not,
    # `_row` is asked before each run.
    _has_formulas: Any = True
    # Whether every state is one of `accumulators` or `_numbers`.
    _states_follow_parameters: ClassVar[bool] = True

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._one_by_one = cls._update is not Optimizer._update
        if "_row" in cls.__dict__ and "_singly" not in cls.__dict__:
            cls._singly = True
        for name in cls.__dict__.get("accumulators", ()):
            setattr(cls, f"_{name.lstrip('_')}_acc_str", name)  # by which classes of packages ask for states

    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.001,
        parameters: Iterable[Any] | None = None,
        weight_decay: float | WeightDecayRegularizer | None = None,
        grad_clip: ClipGradBase | None = None,
        name: str | None = None,
    ) -> None:
        op_name = type(self).__name__
        tracer = capture_of()
        recorded = tracer is not None and tracer.static  # in static mode, where `minimize` finds parameters
        if parameters is None:
            if not recorded:
                raise AttributeError(f"[{op_name}] requires parameters, got None")
            parameters = []
        if isinstance(parameters, (Tensor, dict)):
            raise op_error(TypeError, op_name, "an iterable of parameters or of dicts", type(parameters).__name__)
        given = several(op_name, "an iterable of parameters or of dicts", parameters)
        self._need_rate(learning_rate)
        if grad_clip is not None and not isinstance(grad_clip, ClipGradBase):
            raise TypeError(f"[{op_name}] requires a ClipGradBy… as grad_clip, got {type(grad_clip).__name__}")
        self._learning_rate = learning_rate
        self._name = name
        self._grad_clip = grad_clip
        self._weight_decay = weight_decay
        self.regularization = self._regularizer(weight_decay)
        self._states: dict[Any, State] = {}
        self._saved: dict[str, Any] = {}
        self._rate_name: str | None = None  # of the learning rate, among the variables of a program
        self._rate: Tensor | None = None  # that variable, once it was asked for
        self._penalised = False  # a parameter has a regularizer of its own
        self._copied = False  # a parameter has a float32 copy
        self._made_in = None if recorded else id(tracer)  # where it is made while a function is captured
        self._written_back: list[tuple[State, Tensor, tuple]] = []
        self._multi_precision = getattr(self, "_multi_precision", False)
        self._groups: list[dict[str, Any]] = []
        self._parameter_list: list[Any] = []
        self._is_grouped = bool(given) and isinstance(given[0], dict)
        if defines_hooks(type(self)):
            self._start_hooks()
        if self._is_grouped:
            for group in given:
                self._add_param_group(dict(group))
        else:
            self._add_param_group({"params": given})

    def _need_rate(self, learning_rate: Any, least: float | None = None) -> None:
        if isinstance(learning_rate, LRScheduler):
            return
        if not _is_number(learning_rate):
            kind = OperandError if learning_rate is None else TypeError  # the reference raises either
            required = "a float or an LRScheduler as learning_rate"
            raise op_error(kind, type(self).__name__, required, type(learning_rate).__name__)
        if least is not None and not learning_rate >= least:
            raise op_error(ValueError, type(self).__name__, f"a learning_rate of {least} or more", learning_rate)

    def _regularizer(self, decay: Any) -> WeightDecayRegularizer | None:
        if decay is None or isinstance(decay, WeightDecayRegularizer):
            return decay
        if not _is_number(decay):
            raise TypeError(f"[{type(self).__name__}] requires a float or a regularizer as weight_decay, got {decay!r}")
        return L2Decay(decay)

    def _add_param_group(self, group: dict[str, Any]) -> None:
        params: Any = group["params"]
        params = [params] if isinstance(params, Tensor) else params
        params = several(type(self).__name__, "an iterable of parameters", params, Tensor)
        known = {id(p) for p in self._parameter_list}
        for p in params:
            if id(p) in known:
                raise ValueError(f"[{type(self).__name__}] requires each parameter once, got {p.name} twice")
            known.add(id(p))
            if self._is_grouped:
                p.optimize_attr = {"learning_rate": group.get("learning_rate", 1.0)}
        group["params"] = params
        # In the order of `numbers`, with the optimizer's own where the group has none.
        group["_hyper"] = tuple(group.get(n, getattr(self, "_" + n)) for n in self.hyperparameters)
        own = "weight_decay" in group
        group["_regularizer"] = self._regularizer(group["weight_decay"]) if own else self.regularization
        group.setdefault("grad_clip", self._grad_clip)
        group["_states"] = None  # those of `params`, in their order (None where there is none yet)
        self._groups.append(group)
        self._parameter_list.extend(params)

    # --- the step --------------------------------------------------------------------------------------------------

    def step(self) -> None:
        """Update every parameter that has a gradient.

        Example:
            >>> import paddle
            >>> layer = paddle.nn.Linear(2, 1)
            >>> opt = paddle.optimizer.SGD(0.1, parameters=layer.parameters())
            >>> layer(paddle.ones([1, 2])).sum().backward()
            >>> opt.step()
            >>> opt.clear_grad()
        """
        groups = self._groups
        if len(groups) != 1 or not self._step_at_once(groups[0]):
            self._step(groups)

    def _step_at_once(self, group: dict[str, Any]) -> bool:
        """The step of a group of which no more is asked than the update of dense parameters, with little Python. False,
        and nothing is done, elsewhere.
        """
        if (
            group["grad_clip"] is not None
            or group["_regularizer"] is not None
            or group["_states"] is None
            or self._penalised
            or self._copied
            or not self._steps_together()
        ):
            return False
        return step_slots(self._op, group["params"], group["_states"], self.get_lr(), self._layout, self._params)  # type: ignore[arg-type]

    def _steps_together(self) -> bool:
        """Return whether C makes the rows of a step."""
        return not (self._layout is None or self._one_by_one or self._singly or "_row" in self.__dict__)

    def _step(self, groups: list[dict[str, Any]], given: Iterable[Any] = _ALL) -> None:
        """One step of groups: for each the pairs of parameter and gradient that are given, or None for all it has."""
        tracer = capture_of()
        if tracer is not None:
            record: Any
            if tracer.static:
                from paddle.static.training import step as record
            else:
                from paddle.optimizer.captured import captured_step as record

            with no_grad_guard():
                record(self, tracer, list(zip(groups, given)), type(self).get_lr is not Optimizer.get_lr)
            return
        if self._is_hooked:
            self._hooked_step(groups, given)
            return
        updates: Rows = {}
        casts: Rows = {}
        stepped: list[State] = []
        try:
            with no_grad_guard():
                for group, pairs in zip(groups, given):
                    self._collect(group, pairs, updates, casts, stepped)
                for op, rows in updates.items():
                    apply_foreach_into(op, rows)
                for op, rows in casts.items():
                    apply_foreach_into(op, rows)
                if self._written_back:
                    self._write_back()
        except BaseException:
            # A row that is refused is so before any row of its op is written: the step then has not been done, and the
            # next one has its number. What an earlier op (of other dtypes or groups) has written stays.
            for state in stepped:
                state.steps -= 1
            raise
        finally:
            if self._written_back:
                self._written_back = []

    def _collect(self, group: dict[str, Any], pairs: Any, updates: Rows, casts: Rows, stepped: list[State]) -> None:
        """Count a step of the parameters of a group that have a gradient, and say what is to be run for it."""
        params: Any = group["params"]
        if pairs is None:
            grads = gradients(params)
        else:
            params, grads = [p for p, _ in pairs], [None if p.stop_gradient else g for p, g in pairs]
        if group["grad_clip"] is not None:
            grads = group["grad_clip"].clipped(params, grads)
        states = self._states_for(group, params, grads)
        if group["_regularizer"] is not None or self._penalised:
            grads = with_penalties(group["_regularizer"], states, grads, self._l2_divisor)
        before, lr = len(stepped), self.get_lr()
        if not self._steps_together():
            self._collect_singly(states, grads, lr, updates, stepped)
        else:
            others: list[tuple[State, Any]] = []
            rows = step_rows(states, grads, lr, self._layout or (), self._params, stepped, others)
            if rows is not None:
                updates.setdefault(self._op, []).append(rows)
            for state, g in others:
                self._count(state, stepped)
                updates.setdefault(self._op, []).append(self._rows_row(state, g, lr * state.rate["learning_rate"]))
        if self._copied:
            for state in stepped[before:]:
                if state.master is not None:
                    casts.setdefault(_CASTS[state.param.dtype], []).append(((state.param,), (state.master,), ()))

    def _collect_singly(self, states: list[Any], grads: Grads, lr: float, updates: Rows, stepped: list[State]) -> None:
        # An `_update` of a subclass is asked for each parameter at once.
        update = self._update if self._one_by_one else None
        for state, g in zip(states, grads, strict=True):
            if g is None:
                continue
            g = g.to_dense() if isinstance(g, SelectedRows) else g
            self._count(state, stepped)
            rate = lr * state.rate["learning_rate"]
            if update is None:
                op, row = self._row(state, g, rate)
                updates.setdefault(op, []).append(row)
            else:
                update(state, g, rate)

    @staticmethod
    def _count(state: State, stepped: list[State]) -> None:
        state.steps += 1
        stepped.append(state)

    def _states_for(self, group: dict[str, Any], params: Any, grads: Grads) -> list[Any]:
        """The states of parameters; those that are missing are made where there is a gradient."""
        all_of_group = params is group["params"]
        states: list[Any] | None = group["_states"] if all_of_group else None
        if states is None or len(states) != len(params):
            states = [self._states.get(p) for p in params]
        if lacks_slot(states, grads):
            for i, (p, g) in enumerate(zip(params, grads, strict=True)):
                if states[i] is None and g is not None:
                    states[i] = self._states.get(p) or self._make_state(p, group["_hyper"])
        if all_of_group:
            group["_states"] = states
        return states

    def _rows_row(self, state: State, grad: SelectedRows, lr: float) -> Row:
        """The row of a gradient of selected rows: of those alone, or of all where the others change too."""
        if not self._by_rows or any(not x.is_contiguous() for x in (state.param, *state.outs)):
            return self._row(state, grad.to_dense(), lr)[1]
        grad = grad.merged()
        taken = tuple(F.take(x, grad.index, axis=0) for x in state.outs)
        self._written_back.append((state, grad.index, taken))
        given = (taken[0], grad.value(), lr, None, *taken[1:])
        return taken, tuple(given[i] for i in self._layout or ()), self._params(state)

    def _write_back(self) -> None:
        """Bring rows that were updated apart to where they belong."""
        for state, index, taken in self._written_back:
            for state_tensor, rows in zip(state.outs, taken, strict=True):
                _put_rows(state_tensor, index, rows)
            if state.master is not None:
                _put_rows(state.param, index, F.cast(taken[0], dtype=state.param.dtype))

    def _row(self, state: State, grad: Tensor, lr: float) -> tuple[Any, Row]:
        """One step of one parameter: an op, and what it writes into, its operands and its params.

        ``state.steps`` is the number of this step, from 1. A subclass defines it, or ``_op`` and ``_layout``.
        """
        if self._layout is None:
            raise NotImplementedError(
                f"[{type(self).__name__}] defines neither _append_optimize_op nor _update(state, grad, lr), of which "
                "one says what a step of one parameter is"
            )
        given = (state.target, grad, lr, None, *state.values)
        return self._op, (state.outs, tuple(given[i] for i in self._layout), self._params(state))

    def _params(self, state: State) -> tuple:
        """The params of the op of a step: a function of ``state.hyper`` and ``state.steps``."""
        return ()

    def _update(self, state: State, grad: Tensor, lr: float) -> None:
        """One step of one parameter, in place. A subclass may define it instead of ``_row``: it is called for one
        parameter after the other.
        """
        op, row = self._row(state, grad, lr)
        apply_into(op, *row)

    def _initial(self, accumulator: str) -> float:
        """Return the initial value of a state tensor."""
        return 0.0

    # --- states ----------------------------------------------------------------------------------------------------

    def _hyper_of(self, p: Any, hyper: Any) -> Any:
        """The numbers of a parameter's steps, from those of its group."""
        return hyper

    def _first_scalars(self, p: Any) -> dict[str, np.ndarray]:
        """The states that are numbers here, before the first step."""
        return self._scalars(State(p, self._hyper_of(p, self._own_hyper()), None))

    def _own_hyper(self) -> tuple:
        return tuple(getattr(self, "_" + n) for n in self.hyperparameters)

    def _update_one(self, param: Any, grad: Any, lr: float) -> None:
        """The step of a parameter whose states are kept by name."""
        hyper = self._own_hyper()
        values = tuple(self._get_accumulator_master(name, param) for name in self._accumulator_names())
        state = self._states.get(param)
        if state is None or any(x is not y for x, y in zip(state.values, values, strict=True)):
            state = self._make_state(param, hyper)
        state.hyper = self._hyper_of(param, hyper)
        state.steps += 1
        try:
            if isinstance(grad, SelectedRows) and self._steps_together():
                apply_into(self._op, *self._rows_row(state, grad, lr))
                self._write_back()
            else:
                self._update(state, grad.to_dense() if isinstance(grad, SelectedRows) else grad, lr)
        except BaseException:
            state.steps -= 1
            raise
        finally:
            self._written_back = []
        for name, value in self._scalars(state).items():
            kept = self._accumulators[self._key(name)].get(state.name)
            if kept is not None:
                apply_into(F.Copy(), (kept,), (from_numpy(value.reshape(kept.shape), kept.place),))
        if state.master is not None:
            apply_into(_CASTS[param.dtype], (param,), (state.master,))

    def _make_state(self, p: Any, hyper: Any) -> State:
        hyper = self._hyper_of(p, hyper)
        low = p.dtype.compute is not p.dtype
        master = None
        if self._is_hooked:
            master = self._master_weights.get(p.name) if low and self._multi_precision else None
        elif low and self._multi_precision:
            saved = self._saved.get("master_weights", {}).pop(p.name, None)
            master = F.cast(p, dtype=dt.float32) if saved is None else as_state(saved, p)
            master.name = p.name + "_fp32_master_0"
            self._copied = True
        state = State(p, hyper, master)
        self._states[p] = state
        self._penalised = self._penalised or state.penalty is not None
        shape = tuple(p.shape)
        values, n_loaded = [], 0
        for name in self._accumulator_names():
            if self._is_hooked:
                values.append(self._get_accumulator_master(name, p))
                continue
            saved = self._take(state, name)
            if saved is None:
                start = self._initial(name)
                # Each part of a complex number is a number of its own.
                filled = complex(start, start) if p.dtype.is_complex else start
                with place_guard(p.place):
                    value: Any = F.full(filled, dtype=p.dtype.compute, shape=shape)
            else:
                value = as_state(saved, p)
                n_loaded += 1
                if tuple(value.shape) != shape:
                    raise ValueError(
                        f"[{type(self).__name__}.set_state_dict] requires {state.name}_{name} of shape {list(shape)}, "
                        f"got {list(value.shape)}"
                    )
            value.name = f"{state.name}_{self._key(name)}_0"
            values.append(value)
        state.values = tuple(values)
        state.outs = (state.target, *values)
        n_loaded += self._load_scalars(state)
        if self._saved.get("*") and values and not n_loaded and not self._is_hooked:
            self._warn_of(state.name)
        return state

    def _accumulator_names(self) -> tuple[str, ...]:
        return self.accumulators

    def _scalars(self, state: State) -> dict[str, np.ndarray]:
        """States that are numbers here and tensors in a state dict."""
        return {}

    def _load_scalars(self, state: State) -> int:
        """The inverse of :meth:`_numbers`, from what was loaded; how many were found."""
        return 0

    def _step_numbers(self) -> dict[str, np.ndarray]:
        """Numbers of steps done, by name, as a state dict has them."""
        return {
            f"{s.name}_{self._key(name)}_0": number
            for s in self._ordered_states()
            for name, number in self._scalars(s).items()
        }

    def _set_step_numbers(self, saved: Mapping[str, Any]) -> None:
        """Go on from saved numbers, of those that :meth:`_step_numbers` has."""
        self._saved = {re.sub(r"_\d+$", "", k): v for k, v in saved.items() if k in self._step_numbers()}
        for state in self._ordered_states():
            self._load_scalars(state)
        self._saved = {}

    def _take(self, state: State, accumulator: str) -> Any:
        key = self._key(accumulator)
        kept = self._accumulators.get(key, {}).get(state.name) if self._is_hooked else None
        return self._saved.pop(f"{state.name}_{key}", None) if kept is None else kept

    @property
    def _accumulators(self) -> dict[str, dict[str, Tensor]]:
        """State tensors by accumulator and parameter name."""
        if self._is_hooked:
            return self._states_by_name
        out: dict[str, dict[str, Tensor]] = {self._key(n): {} for n in self._accumulator_names()}
        for state in self._ordered_states():
            for name, value in zip(self._accumulator_names(), state.values, strict=True):
                out[self._key(name)][state.name] = value
        return out

    @property
    def _master_weights(self) -> dict[str, Tensor]:
        if self._is_hooked:
            return self._copies
        return {s.param.name: s.master for s in self._ordered_states() if s.master is not None}

    @_master_weights.setter
    def _master_weights(self, copies: dict[str, Tensor]) -> None:
        if self._is_hooked:
            self._copies = copies
        elif copies:
            raise AttributeError(
                f"[{type(self).__name__}] keeps float32 copies itself: give them to set_state_dict() under "
                '"master_weights"'
            )

    @property
    def _param_groups(self) -> list[Any]:
        """The groups where parameters were given as groups, else the parameters."""
        return self._groups if self._is_grouped else self._parameter_list

    def _ordered_states(self) -> list[State]:
        return [self._states[p] for p in self._parameter_list if p in self._states]

    def state_dict(self) -> dict[str, Any]:
        """Make a dict of the states by name, such as ``linear_0.w_0_moment1_0``.

        Returns:
            A dict of tensors; with a schedule, its state under ``"LR_Scheduler"``, and with float32 copies of
            parameters these under ``"master_weights"``.

        Example:
            >>> import paddle
            >>> layer = paddle.nn.Linear(2, 1)
            >>> opt = paddle.optimizer.Adam(parameters=layer.parameters())
            >>> layer(paddle.ones([1, 2])).sum().backward()
            >>> opt.step()
            >>> len(opt.state_dict())
            8
        """
        states = [] if self._is_hooked else self._ordered_states()
        out: dict[str, Any] = self._hooked_state_dict() if self._is_hooked else {}
        for i in range(len(self._accumulator_names()) if states else 0):
            out.update((s.values[i].name, s.values[i]) for s in states)
        numbers = [(s, self._scalars(s)) for s in states]
        for name in numbers[0][1] if numbers else ():
            for s, number in numbers:
                value: Any = from_numpy(number[name], s.param.place)
                value.name = f"{s.name}_{self._key(name)}_0"
                out[value.name] = value
        masters = self._master_weights
        if masters:
            out["master_weights"] = masters
        if isinstance(self._learning_rate, LRScheduler):
            out["LR_Scheduler"] = self._learning_rate.state_dict()
        return out

    def sharded_state_dict(self, model_sharded_state_dict: Mapping[str, Any]) -> dict[str, Any]:
        """Make a dict of what this rank holds of the states, as ``ShardedWeight`` by name: ``<name of the
        parameter>.<state>``.

        The states are ``w_0`` (the float32 copy of a low-precision parameter), those such as ``moment1_0`` or
        ``velocity_0``, which are cut as the parameter is, and numbers such as ``beta1_pow_acc_0`` of shape ``[1]``.
        Loading into the result goes on from the saved states; states that are not there yet are made. The schedule of
        the learning rate is not among them.

        Args:
            model_sharded_state_dict: the model's. Of several names of one parameter the first in order is taken.

        Returns:
            A dict of ``ShardedWeight``.

        Raises:
            KeyError: a parameter that is not in the model's dict.

        Example:
            >>> import paddle
            >>> layer = paddle.nn.Linear(2, 1, bias_attr=False)
            >>> opt = paddle.optimizer.Momentum(parameters=layer.parameters())
            >>> list(opt.sharded_state_dict(layer.sharded_state_dict()))
            ['weight.velocity_0']
        """
        from paddle.optimizer.sharded import sharded_states

        return sharded_states(self, model_sharded_state_dict)

    def set_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from a saved state: its values are copied to the parameters of the same names.

        Args:
            state_dict: what :meth:`state_dict` returned.

        Raises:
            ValueError: a state of another shape.
        """
        saved = dict(state_dict)
        schedule = saved.pop("LR_Scheduler", None)
        if schedule is not None and isinstance(self._learning_rate, LRScheduler):
            self._learning_rate.set_state_dict(schedule)
        masters = dict(saved.pop("master_weights", None) or {})
        if self._is_hooked:
            self._set_hooked_states(saved, masters)
            return
        # The number at the end of a name says how many optimizers came before in its process: it is not compared.
        self._saved = {re.sub(r"_\d+$", "", k): v for k, v in saved.items()}
        self._saved.update({"master_weights": masters, "*": bool(saved)})
        # Values are copied now, not at the next step: the tensors given may go on changing.
        known, self._states = self._states, {}
        for group in self._groups:
            group["_states"] = None
            for p in group["params"]:
                names = (
                    f"{p.name}{m}_{self._key(a)}" for m in ("", "_fp32_master_0") for a in self._accumulator_names()
                )
                if p in known or p.name in masters or any(n in self._saved for n in names):
                    self._make_state(p, group["_hyper"])

    load_state_dict = set_state_dict
    set_dict = set_state_dict

    def get_opti_var_name_list(self) -> list[str]:
        """Return the names of the state tensors."""
        return [k for k in self.state_dict() if k not in ("LR_Scheduler", "master_weights")]

    # --- learning rate ---------------------------------------------------------------------------------------------

    def get_lr(self) -> float:
        """Return the learning rate of the next step."""
        lr = self._learning_rate
        return lr.last_lr if isinstance(lr, LRScheduler) else lr

    def set_lr(self, value: float) -> None:
        """Set the learning rate.

        Args:
            value: a number.

        Raises:
            TypeError: something else.
            RuntimeError: a schedule sets the rate.
        """
        if not _is_number(value):
            raise TypeError(f"[set_lr] requires a float, got {type(value).__name__}")
        if isinstance(self._learning_rate, LRScheduler):
            raise RuntimeError(
                "[set_lr] requires an optimizer without a schedule, got one that would overwrite the rate"
            )
        self._learning_rate = float(value)

    def set_lr_scheduler(self, scheduler: LRScheduler) -> None:
        """Take the learning rate from a schedule from now on.

        Args:
            scheduler: a schedule of ``paddle.optimizer.lr``.

        Raises:
            TypeError: something else.
        """
        if not isinstance(scheduler, LRScheduler):
            raise TypeError(f"[set_lr_scheduler] requires an LRScheduler, got {type(scheduler).__name__}")
        self._learning_rate = scheduler

    # --- gradients -------------------------------------------------------------------------------------------------

    def clear_grad(self, set_to_zero: bool = True) -> None:
        """Clear the gradients of all parameters.

        Args:
            set_to_zero: fill them with zeros; False sets them to None. Selected rows are dropped in any case.
        """
        tracer = capture_of()
        if tracer is not None and set_to_zero:
            tracer.clears(self._parameter_list)
        elif tracer is not None:
            tracer.drops(self._parameter_list)
        elif not set_to_zero:
            drop_gradients(self._parameter_list)
        else:
            zero_gradients(self._parameter_list)

    clear_gradients = clear_grad

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the gradients of all parameters.

        Args:
            set_to_none: set them to None; False fills them with zeros.
        """
        self.clear_grad(set_to_zero=not set_to_none)

    def backward(
        self,
        loss: Any,
        startup_program: Any = None,
        parameters: Iterable[Tensor] | None = None,
        no_grad_set: Any = None,
        callbacks: Any = None,
    ) -> list[tuple[Tensor, Tensor]]:
        """Return the gradients that ``loss.backward()`` has left; in static mode record them.

        Args:
            loss: a tensor; its ``backward`` has been called. In static mode a variable with one element.
            startup_program: accepted.
            parameters: those whose gradients are returned; None: the optimizer's.
            no_grad_set: parameters or names of them to leave out; None: none.
            callbacks: accepted; nothing is called.

        Returns:
            A list of pairs of parameter and gradient, of the parameters that have one.
        """
        tracer = capture_of()
        if tracer is not None and tracer.static:
            from paddle.static import training

            return training.backward(self, loss, parameters, no_grad_set)
        return self._pairs(parameters, no_grad_set)

    def _pairs(self, parameters: Iterable[Tensor] | None, no_grad_set: Any) -> list[tuple[Any, Tensor]]:
        op_name = f"{type(self).__name__}.minimize"
        skips = [no_grad_set] if isinstance(no_grad_set, Tensor) else no_grad_set or ()
        skips = several(op_name, "a list of parameters or names as no_grad_set", skips, (str, Tensor))
        skipped = {x if isinstance(x, str) else x.name for x in skips}
        chosen = [parameters] if isinstance(parameters, Tensor) else parameters or self._parameter_list
        params = several(op_name, "a list of parameters as parameters", chosen, Tensor)
        return [(p, p.grad) for p in params if p.grad is not None and not p.stop_gradient and p.name not in skipped]

    def append_regularization_ops(
        self,
        parameters_and_grads: Sequence[tuple[Tensor, Tensor | None]],
        regularization: WeightDecayRegularizer | None = None,
    ) -> list[tuple[Tensor, Tensor | None]]:
        """Add the derivatives of penalties to gradients.

        Args:
            parameters_and_grads: pairs of parameter and gradient or None.
            regularization: of the parameters that have none of their own; None: no penalty.

        Returns:
            A list of pairs of parameter and new gradient.
        """
        with no_grad_guard():
            return [(p, self._create_regularization_of_grad(p, g, regularization)) for p, g in parameters_and_grads]

    def apply_gradients(self, params_grads: Sequence[tuple[Tensor, Tensor]]) -> list:
        """Update parameters with given gradients.

        Args:
            params_grads: pairs of parameter and gradient; parameters that are not the optimizer's do not count.

        Returns:
            An empty list.
        """
        given = {id(p): (p, g) for p, g in params_grads}
        pairs = ([given[id(p)] for p in g["params"] if id(p) in given] for g in self._groups)
        self._step(self._groups, pairs)
        return []

    def minimize(
        self,
        loss: Any,
        startup_program: Any = None,
        parameters: Iterable[Tensor] | None = None,
        no_grad_set: Any = None,
    ) -> tuple[list, list[tuple[Tensor, Tensor]]]:
        """Update with the gradients that parameters have. Call ``loss.backward()`` before; in static mode, where this
        records gradients and updates into the program, there is no need to.

        Args:
            loss: gradients are those that it has left; in static mode a variable with one element.
            startup_program: in static mode gives states their first values; None: the default one.
            parameters: those that are updated; None: the optimizer's.
            no_grad_set: parameters or names of them to leave out; None: none.

        Returns:
            An empty list, and the pairs of parameter and gradient.
        """
        tracer = capture_of()
        if tracer is not None and tracer.static:
            from paddle.static import training

            return training.minimize(self, loss, startup_program, parameters, no_grad_set)
        pairs = self._pairs(parameters, no_grad_set)
        self.apply_gradients(pairs)
        return [], pairs


def _is_number(x: Any) -> bool:
    return isinstance(x, (int, float)) and not isinstance(x, bool)


def _put_rows(x: Tensor, index: Tensor, rows: Tensor) -> None:
    """Write some rows of a tensor, each at most once."""
    if access(x.place) == ACCESS_HOST:
        write_rows(x, index, rows)
    else:
        apply_into(F.Copy(), (x,), (F.put(x, index, rows, axis=0),))
