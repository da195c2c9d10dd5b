"""The hooks by which an optimizer of the reference makes its step, for classes that define one of them.

Such a class has its step made parameter by parameter. Gradients are clipped and penalised, ``_create_accumulators``
makes the states of all parameters, ``_append_optimize_op`` updates one of them, and ``_finish_update`` ends the step.
States are kept by name, in ``_accumulators`` and ``_master_weights``. What a class does not define is what its base
does: the step of ``AdamW`` on one parameter, for example.
"""

from __future__ import annotations

import re
import warnings
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from paddle.framework import unique_name
from paddle.framework.dtype import get_default_dtype
from paddle.optimizer.loaded import as_state
from paddle.optimizer.penalties import penalised
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.context import no_grad_guard, place_guard
from umiak.core.dtype import DType
from umiak.core.inplace import apply_into
from umiak.core.optimizer_step import gradients
from umiak.core.place import Place
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

HOOKS = (
    "_add_accumulator", "_add_moments_pows", "_append_optimize_op", "_apply_optimize", "_create_accumulators",
    "_create_global_learning_rate", "_create_master_weight", "_create_optimization_pass", "_create_param_lr",
    "_create_regularization_of_grad", "_finish_update", "_get_accumulator", "_get_accumulator_master",
    "_global_learning_rate", "_is_dtype_fp16_or_bf16", "_update_param_group", "append_regularization_ops",
)  # fmt: skip
_LOW = (dt.float16, dt.bfloat16)
_COPY = F.Copy()

Pair = tuple[Any, Any]  # a parameter and its gradient


def defines_hooks(cls: type) -> bool:
    """Return whether a class, or one that it derives from, has a hook that is not this package's."""
    functions = (getattr(cls, name, None) for name in HOOKS)
    return any(f is not None and not _is_ours(f) for f in functions)


def _is_ours(f: Any) -> bool:
    # By where its code is: a function that wraps one of ours has the other's __module__.
    return getattr(f, "__globals__", {}).get("__name__", "").partition(".")[0] == "paddle"


class HookedStep:
    """The hooks, and what they call, for :class:`~paddle.optimizer.Optimizer`, which this is a part of."""

    # What the rest of the optimizer has.
    _accumulators: Any
    _dtype: Any
    _grad_clip: Any
    _groups: list[dict[str, Any]]
    _is_grouped: bool
    _l2_divisor: float
    _master_weights: Any
    _multi_precision: bool
    _name: str | None
    _parameter_list: list[Any]
    _saved: dict[str, Any]
    _states: dict[Any, Any]
    hyperparameters: ClassVar[tuple[str, ...]]
    regularization: Any

    _is_hooked = False  # its class defines a hook
    helper: Any = None

    def _start_hooks(self) -> None:
        """Set what hooks and methods that packages define ask for."""
        self._is_hooked = True
        self._states_by_name: dict[str, dict[str, Any]] = defaultdict(dict)
        self._copies: dict[str, Any] = {}
        self._already_create_accumulator: set[str] = set()
        self._auxiliary_vars: dict[str, Any] = {}
        self._learning_rate_map: dict[Any, Any] = {}
        self._params_name: set[str] = set()
        own = {name: getattr(self, f"_{name}") for name in self.hyperparameters}
        self._default_dict = {"weight_decay": self.regularization, "grad_clip": self._grad_clip, **own}

    # --- the step ----------------------------------------------------------------------------------------------------

    def _hooked_step(self, groups: list[dict[str, Any]], given: Iterable[Any]) -> None:
        """One step of groups: for each the pairs of parameter and gradient that are given, or None for all it has."""
        with no_grad_guard():
            for i, (group, pairs) in enumerate(zip(groups, given)):
                if pairs is None:
                    params = group["params"]
                    own = (getattr(p, "main_grad", None) for p in params)
                    grads = (g if kept is None else kept for g, kept in zip(gradients(params), own, strict=True))
                    pairs = [(p, g) for p, g in zip(params, grads, strict=True) if g is not None]
                pairs = [(p, g) for p, g in pairs if not p.stop_gradient]
                settings = {k: v for k, v in group.items() if not k.startswith("_") and k != "params"}
                told: Any = {**self._default_dict, **settings, "params": pairs} if self._is_grouped else pairs
                self._apply_optimize(None, None, told, i)

    def _apply_optimize(self, loss: Any, startup_program: Any, params_grads: Any, param_group_idx: int = 0) -> list:
        """Clip and penalise the gradients of a group and update its parameters."""
        if isinstance(params_grads, dict):
            pairs, clip = params_grads["params"], params_grads["grad_clip"]
            regularizer = self._groups[param_group_idx]["_regularizer"]
        else:
            pairs, clip, regularizer = params_grads, self._grad_clip, self.regularization
        if clip is not None:
            pairs = clip(pairs)
        pairs = self.append_regularization_ops(pairs, regularizer)
        told = {**params_grads, "params": pairs} if isinstance(params_grads, dict) else pairs
        if param_group_idx:
            return self._create_optimization_pass(told, param_group_idx)
        return self._create_optimization_pass(told)  # packages define it without the number

    def _create_optimization_pass(self, parameters_and_grads: Any, param_group_idx: int = 0) -> list:
        """Update the parameters of a group: make their states, and call the hooks. Returns no operators."""
        from paddle.framework.layer_helper import LayerHelper
        from paddle.static import default_main_program

        block = default_main_program().global_block()
        self.helper = LayerHelper(type(self).__name__)
        self._create_global_learning_rate()
        grouped = isinstance(parameters_and_grads, dict)
        pairs = parameters_and_grads["params"] if grouped else parameters_and_grads
        params = [p for p, _ in pairs if not p.stop_gradient]
        self._create_accumulators(block, {**parameters_and_grads, "params": params} if grouped else params)
        if not self._get_auxiliary_var("found_inf"):
            for p, g in pairs:
                if g is not None and not p.stop_gradient and p._is_initialized():
                    pair: Any = (p, g)
                    self._append_optimize_op(block, {**parameters_and_grads, "params": pair} if grouped else pair)
        self._finish_update(block, parameters_and_grads)
        return []

    def _create_accumulators(self, block: Any, parameters: Any) -> None:
        """Make the states of parameters, and copies of low-precision ones, where they are missing."""
        if isinstance(parameters, dict):
            parameters = self._update_param_group(parameters)
        for p in parameters:
            if p.name not in self._already_create_accumulator:
                kept_apart = self._multi_precision and self._is_dtype_fp16_or_bf16(p.dtype)
                self._add_states(self._create_master_weight(p) if kept_apart else p)
                self._already_create_accumulator.add(p.name)

    def _add_states(self, p: Any) -> None:
        """Make the states that the class declares, of a parameter or its copy."""
        for name in self._accumulator_names():
            self._add_accumulator(name, p, p.dtype.compute, self._initial(name))
        for name, value in self._first_scalars(p).items():
            self._add_accumulator(name, p, p.dtype.compute, float(value.ravel()[0]), list(value.shape))

    def _append_optimize_op(self, block: Any, param_and_grad: Any) -> None:
        """Update one parameter as the class does that this is called on: ``param_and_grad`` is the pair of it and its
        gradient, or a dict of a group's settings with the pair under ``"params"``.
        """
        if isinstance(param_and_grad, dict):
            param_and_grad = self._update_param_group(param_and_grad)
        param, grad = param_and_grad
        rate = float(self._create_param_lr(param_and_grad))
        self._update_one(param, grad, rate)

    def _finish_update(self, block: Any, parameters_and_grads: Any) -> None:
        """End a step; called once for each group."""

    def _update_param_group(self, parameters: dict[str, Any]) -> Any:
        """Take over the numbers that a group sets; returns its ``"params"``."""
        for name in self.hyperparameters:
            setattr(self, f"_{name}", parameters.get(name, self._default_dict[name]))
        return parameters.get("params")

    def _create_regularization_of_grad(self, param: Any, grad: Any, regularization: Any = None) -> Any:
        """The gradient with the derivative of the parameter's penalty added, or of the given one where it has none."""
        target = param
        if grad is not None and grad.dtype is not param.dtype:
            target = self._master_weights.get(param.name)
            target = F.cast(param, dtype=grad.dtype) if target is None else target
        return penalised(regularization, target, param, grad, self._l2_divisor)

    # --- states ------------------------------------------------------------------------------------------------------

    def _key(self, name: str) -> str:
        return name if self._name is None else f"{self._name}_{name}"

    def _add_accumulator(
        self, name: str, param: Any, dtype: Any = None, fill_value: float = 0.0, shape: Any = None, type: Any = None,
        device: Any = None,
    ) -> Any:  # fmt: skip
        """Make a state of a parameter, or return the one that there is.

        Args:
            name: the state's.
            param: the parameter, or its float32 copy.
            dtype: of the elements; None: the parameter's.
            fill_value: every element.
            shape: None: the parameter's.
            type: accepted.
            device: its place; None: the parameter's.

        Returns:
            The tensor, called ``<parameter>_<name>_0``; a value that was loaded is in it.
        """
        kept = self._accumulators[self._key(name)]
        if param.name in kept:
            return kept[param.name]
        dtype = param.dtype if dtype is None else dt.convert(dtype)
        shape = list(param.shape if shape is None else shape)
        value = self._loaded(f"{param.name}_{self._key(name)}", param, dtype, shape)
        if value is None:
            value = _filled(float(fill_value), dtype, shape, _place_of(device, param))
        value.name = f"{param.name}_{self._key(name)}_0"
        value.persistable = True
        kept[param.name] = value
        return value

    def _loaded(self, key: str, param: Any, dtype: DType, shape: list[int]) -> Any:
        saved = self._saved.pop(key, None)
        if saved is None:
            if self._saved.get("*"):
                self._warn_of(key)
            return None
        value = as_state(saved, param, dtype)
        if list(value.shape) != shape:
            raise op_error(
                ValueError, f"{type(self).__name__}.set_state_dict", f"{key} of shape {shape}", list(value.shape)
            )
        return value

    def _warn_of(self, key: str) -> None:
        warnings.warn(f"[{type(self).__name__}.set_state_dict] found nothing for {key}: it starts afresh", stacklevel=4)

    def _get_accumulator(self, name: str, param: Any) -> Any:
        """Return a state of a parameter.

        Raises:
            KeyError: there is none.
        """
        kept = self._accumulators.get(self._key(name), {})
        if param.name not in kept:
            owner = type(self).__name__
            raise op_error(KeyError, owner, f"a state {name!r} of {param.name}", sorted(self._accumulators))
        return kept[param.name]

    def _get_accumulator_master(self, name: str, param: Any) -> Any:
        """Return a state of a parameter, or of its float32 copy where it has one.

        Raises:
            KeyError: there is none.
        """
        low = self._multi_precision and self._is_dtype_fp16_or_bf16(param.dtype)
        return self._get_accumulator(name, self._master_weights[param.name] if low else param)

    def _create_master_weight(self, param: Any) -> Any:
        """Make the float32 copy of a parameter, or return the one that there is."""
        kept = self._master_weights
        if param.name not in kept:
            value: Any = F.cast(param, dtype=dt.float32)
            value.name = self._gen_master_weight_var_name(param)
            kept[param.name] = value
        return kept[param.name]

    def _gen_master_weight_var_name(self, param: Any) -> str:
        return f"{param.name}_fp32_master_0"

    def _is_dtype_fp16_or_bf16(self, dtype: Any) -> bool:
        return dt.convert(dtype) in _LOW

    def _get_device_for_param(self, param_name: str) -> None:
        """None: states are where their parameters are."""

    def _set_auxiliary_var(self, key: str, val: Any) -> None:
        self._auxiliary_vars[key] = val

    def _get_auxiliary_var(self, key: str) -> Any:
        return self._auxiliary_vars.get(key)

    def _hooked_state_dict(self) -> dict[str, Any]:
        return {value.name: value for kept in self._accumulators.values() for value in kept.values()}

    def _set_hooked_states(self, saved: Mapping[str, Any], copies: Mapping[str, Any]) -> None:
        """Go on from loaded states: now where there are states, later where they are yet to be made."""
        self._saved = {re.sub(r"_\d+$", "", k): v for k, v in saved.items()}
        self._saved["*"] = bool(saved)
        for p in self._parameter_list:
            if p.name in copies:
                copied = self._master_weights[p.name] = as_state(copies[p.name], p, dt.float32)
                copied.name = self._gen_master_weight_var_name(p)
        for name, kept in self._accumulators.items():
            for of, value in kept.items():
                loaded = self._loaded(f"{of}_{name}", value, value.dtype, list(value.shape))
                if loaded is not None:
                    apply_into(_COPY, (value,), (loaded,))
        self._states = {}

    # --- the learning rate -------------------------------------------------------------------------------------------

    def _create_global_learning_rate(self) -> None:
        """Make the tensor of the learning rate, or write the rate of this step into it."""
        from paddle.static import default_main_program

        program, rate = default_main_program(), float(self.get_lr())
        kept = self._learning_rate_map.get(program)
        if kept is None:
            like = self._parameter_list[0]
            default = dt.convert(get_default_dtype())
            low = like.dtype in _LOW and like.dtype is not default
            kept = _filled(rate, dt.float32 if low else like.dtype, [], like.place)
            kept.name = unique_name.generate("learning_rate")
            self._learning_rate_map[program] = kept
        else:
            apply_into(_COPY, (kept,), (_filled(rate, kept.dtype, [], kept.place),))

    def _global_learning_rate(self, program: Any = None) -> Any:
        """Return the tensor of the learning rate; None before the first step."""
        from paddle.static import default_main_program
        from paddle.static.steps import rate_of

        program = default_main_program() if program is None else program
        if not self._is_hooked:
            return rate_of(self, program._tracer)  # type: ignore[arg-type]
        return self._learning_rate_map.get(program)

    def _create_param_lr(self, param_and_grad: Any) -> Any:
        """Return the learning rate of a parameter, a tensor: that of the step by the parameter's own factor."""
        factor = (getattr(param_and_grad[0], "optimize_attr", None) or {}).get("learning_rate", 1.0)
        if isinstance(factor, Tensor):
            return factor
        rate = self._global_learning_rate()
        return rate if factor == 1.0 else rate * factor


def _filled(value: Any, dtype: DType, shape: list[int], place: Place) -> Any:
    with place_guard(place):
        return F.full(complex(value, value) if dtype.is_complex else value, dtype=dtype, shape=tuple(shape))


def _place_of(device: Any, param: Tensor) -> Place:
    from paddle.framework.place import place_of

    return param.place if device is None else place_of(device)
