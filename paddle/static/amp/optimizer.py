"""An optimizer of static programs with mixed precision: losses are scaled, steps with infinite gradients left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import paddle
from paddle._public import public
from paddle.amp.auto_cast import _low_dtype
from paddle.framework import unique_name
from paddle.static.amp.casting import cast, cast_model_to_fp16
from paddle.static.amp.lists import AutoMixedPrecisionLists
from paddle.static.backward import append_backward
from paddle.static.program import Program, default_main_program, program_guard, tracer_of
from paddle.static.variable import create_global_var
from umiak.core.context import no_grad_guard
from umiak.core.inplace import assign
from umiak.core.tensor import Tensor
from umiak.ir.tracer import symbolic
from umiak.ops.python_call import call
from umiak.runtime.program_tracer import ProgramTracer
from umiak.util.errors import op_error

if TYPE_CHECKING:
    from paddle.optimizer.optimizer import Optimizer


class OptimizerWithMixedPrecision:
    """Optimizer whose ``minimize`` casts the program, scales the loss, and leaves out steps with infinite gradients.

    It is what :func:`decorate` returns; all else is the optimizer's own.
    """

    def __init__(self, optimizer: Optimizer, lists: AutoMixedPrecisionLists, settings: dict[str, Any]) -> None:
        self._optimizer, self._amp_lists, self._settings = optimizer, lists, settings
        dynamic = settings["use_dynamic_loss_scaling"]
        self._dynamic = lists.amp_dtype == "float16" if dynamic is None else bool(dynamic)
        self._loss_scaling: Tensor | None = None
        self._scaled_loss: Tensor | None = None
        self._counts: list[Tensor] = []  # of steps with finite gradients, and without, since the scale was changed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._optimizer, name)

    def get_loss_scaling(self) -> Tensor | None:
        """Return the variable with the scale; None before the loss was scaled."""
        return self._loss_scaling

    def get_scaled_loss(self) -> Tensor | None:
        """Return the loss times the scale; None before."""
        return self._scaled_loss

    def amp_init(
        self, place: Any, scope: Any = None, test_program: Program | None = None, use_fp16_test: bool = False,
        rewrite_master_weight: bool = False,
    ) -> None:  # fmt: skip
        """Prepare runs, after the startup program has run.

        Args:
            place: accepted.
            scope: accepted: parameters stay float32, and are cast where they are read.
            test_program: a copy for evaluation that was made before ``minimize``.
            use_fp16_test: have it compute in the narrower type as well.
            rewrite_master_weight: accepted.
        """
        if test_program is not None and use_fp16_test and self._settings["level"] != "O0":
            cast_model_to_fp16(
                test_program, self._amp_lists, self._settings["use_amp_guard"], self._amp_lists.amp_dtype,
                self._settings["level"], self._settings["use_promote"],
            )  # fmt: skip

    def backward(
        self, loss: Tensor, startup_program: Program | None = None, parameter_list: Any = None, no_grad_set: Any = None,
        callbacks: Any = None,
    ) -> list[tuple[Any, Tensor]]:  # fmt: skip
        """Cast the program, scale the loss, and record the gradients of that.

        Args:
            loss: a variable with one element.
            startup_program: gives new variables their values; None: the default one.
            parameter_list: parameters, or names of them; None: all that are trainable.
            no_grad_set: parameters, or names of them, that are left out; None: none.
            callbacks: accepted.

        Returns:
            Pairs of parameter and gradient of the scaled loss.
        """
        tracer = tracer_of("minimize", loss)
        settings = self._settings
        guarded = settings["use_amp_guard"] and settings["level"] == "O2"
        if settings["level"] != "O0":
            cast(tracer, self._amp_lists, settings["level"], guarded, settings["use_promote"])
        if startup_program is not None:
            with program_guard(default_main_program(), startup_program):
                self._make_variables()
        else:
            self._make_variables()
        self._scaled_loss = loss.astype("float32") * self._loss_scaling.reshape([])  # type: ignore[union-attr]
        from paddle.static.training import backward

        if parameter_list is None and not self._optimizer._parameter_list:
            return backward(self._optimizer, self._scaled_loss, None, no_grad_set)
        given = append_backward(self._scaled_loss, parameter_list or self._optimizer._parameter_list, no_grad_set)
        return [(p, g) for p, g in given if g is not None]

    def _make_variables(self) -> None:
        if self._loss_scaling is None:
            scale = float(self._settings["init_loss_scaling"])
            name = unique_name.generate("loss_scaling")
            self._loss_scaling = create_global_var([1], scale, "float32", True, name=name)
            self._counts = [
                create_global_var([1], 0, "int32", True, name=unique_name.generate(n))
                for n in ("num_good_steps", "num_bad_steps")
            ]

    def apply_gradients(self, params_grads: Sequence[tuple[Any, Tensor]]) -> list[Any]:
        """Record the step by gradients of the scaled loss.

        Args:
            params_grads: pairs of parameter and gradient.

        Returns:
            An empty list.
        """
        scale = self._loss_scaling
        if scale is None:
            raise op_error(RuntimeError, "apply_gradients", "backward() before it", "none")
        tracer = tracer_of("apply_gradients", params_grads[0][1] if params_grads else None)
        with no_grad_guard(), tracer.training():
            grads = [g.astype("float32") / scale.reshape([]) for _, g in params_grads]
            finite = paddle.stack([paddle.isfinite(g).all() for g in grads]).all()
            before = {id(root): root._value for root, _ in tracer._roots}
        self._optimizer.apply_gradients(list(zip([p for p, _ in params_grads], grads, strict=True)))
        with no_grad_guard(), tracer.training():
            self._left_out(tracer, before, finite)
            if self._dynamic:
                self._rescale(finite)
        return []

    def _left_out(self, tracer: ProgramTracer, before: dict[int, Any], finite: Tensor) -> None:
        """Undo whatever the step has written, where gradients were not finite."""
        captured = tracer.captured()
        for root, original in list(tracer._roots):
            value = before.get(id(root), original)
            if root._value is not value and id(root) in captured:
                old = symbolic(value, tracer)
                assign(captured[id(root)], paddle.where(finite, symbolic(root._value, tracer), old))
        optimizer = self._optimizer

        def uncounted(flag: Tensor) -> None:
            if not bool(flag):
                for state in optimizer._states.values():
                    state.steps -= 1

        call(uncounted, [finite], [])

    def _rescale(self, finite: Tensor) -> None:
        """Grow the scale after some finite steps, shrink it after some others."""
        settings, scale = self._settings, self._loss_scaling
        assert scale is not None
        good, bad = self._counts
        one = paddle.ones([1], "int32")
        now_good = paddle.where(finite, good + one, good * 0)
        now_bad = paddle.where(finite, bad * 0, bad + one)
        grows = now_good >= int(settings["incr_every_n_steps"])
        shrinks = now_bad >= int(settings["decr_every_n_nan_or_inf"])
        grown: Any = scale * float(settings["incr_ratio"])
        grown = paddle.where(paddle.isfinite(grown), grown, scale)
        shrunk = paddle.maximum(scale * float(settings["decr_ratio"]), paddle.ones_like(scale))
        assign(scale, paddle.where(grows, grown, paddle.where(shrinks, shrunk, scale)))
        assign(good, paddle.where(grows, now_good * 0, now_good))
        assign(bad, paddle.where(shrinks, now_bad * 0, now_bad))

    def apply_optimize(
        self, loss: Tensor, startup_program: Program | None, params_grads: Sequence[tuple[Any, Tensor]]
    ) -> list[Any]:
        """Record the step, with first values in a startup program.

        Args:
            loss: accepted.
            startup_program: gives states their first values; None: the default one.
            params_grads: pairs of parameter and gradient.

        Returns:
            An empty list.
        """
        if startup_program is None:
            return self.apply_gradients(params_grads)
        with program_guard(default_main_program(), startup_program):
            return self.apply_gradients(params_grads)

    def minimize(
        self, loss: Tensor, startup_program: Program | None = None, parameter_list: Any = None, no_grad_set: Any = None
    ) -> tuple[list[Any], list[tuple[Any, Tensor]]]:
        """Cast the program, record gradients of the scaled loss and the step by them.

        Args:
            loss: a variable with one element.
            startup_program: gives new variables their values; None: the default one.
            parameter_list: parameters, or names of them; None: all that are trainable.
            no_grad_set: parameters, or names of them, that are left out; None: none.

        Returns:
            An empty list, and pairs of parameter and gradient of the scaled loss.
        """
        pairs = self.backward(loss, startup_program, parameter_list, no_grad_set)
        return self.apply_optimize(loss, startup_program, pairs), pairs


_FIRST_ORDER: dict[str, Any] = {
    "amp_lists": None, "init_loss_scaling": 32768.0, "incr_every_n_steps": 1000, "decr_every_n_nan_or_inf": 2,
    "incr_ratio": 2.0, "decr_ratio": 0.8, "use_dynamic_loss_scaling": True, "use_pure_fp16": False,
    "use_fp16_guard": None, "use_bf16": False, "use_promote": False,
}  # fmt: skip
_OTHER_ORDER: dict[str, Any] = {
    "amp_lists": None, "level": "O1", "dtype": "float16", "master_weight": None, "master_grad": False,
    "init_loss_scaling": 65536.0, "incr_every_n_steps": 2000, "decr_every_n_nan_or_inf": 1, "incr_ratio": 2.0,
    "decr_ratio": 0.5, "use_dynamic_loss_scaling": None, "use_amp_guard": False, "use_promote": False,
}  # fmt: skip


@public("paddle.static.amp")
def decorate(*args: Any, **kwargs: Any) -> OptimizerWithMixedPrecision:
    """Make an optimizer for mixed precision: ``minimize`` casts the program and scales the loss.

    ``decorate(optimizer, amp_lists=None, level="O1", dtype="float16", master_weight=None, master_grad=False,
    init_loss_scaling=65536, incr_every_n_steps=2000, decr_every_n_nan_or_inf=1, incr_ratio=2.0, decr_ratio=0.5,
    use_dynamic_loss_scaling=None, use_amp_guard=False, use_promote=False)``, or in older programs
    ``decorate(optimizer, amp_lists=None, init_loss_scaling=32768, incr_every_n_steps=1000, decr_every_n_nan_or_inf=2,
    incr_ratio=2.0, decr_ratio=0.8, use_dynamic_loss_scaling=True, use_pure_fp16=False, use_fp16_guard=None,
    use_bf16=False, use_promote=False)``.

    Args:
        *args: the optimizer, ``AutoMixedPrecisionLists``, and what follows above.
        **kwargs: the same by name. Level ``"O0"`` scales the loss and casts nothing. Parameters stay float32
            (``master_weight``), and so do their gradients (``master_grad``); ``use_dynamic_loss_scaling=None`` adapts
            the scale for float16 alone.

    Returns:
        An optimizer with ``minimize``, ``backward``, ``apply_gradients``, ``amp_init``, ``get_loss_scaling()`` and
        ``get_scaled_loss()``. A step whose gradients are not finite changes nothing, and is not counted.

    Raises:
        TypeError: no optimizer, or another keyword.
        ValueError: another level or dtype, or factors and counts that make no sense.

    Example:
        >>> import numpy, paddle
        >>> paddle.enable_static()
        >>> main, startup = paddle.static.Program(), paddle.static.Program()
        >>> with paddle.static.program_guard(main, startup):
        ...     loss = paddle.nn.Linear(2, 1)(paddle.static.data("x", [None, 2])).mean()
        ...     optimizer = paddle.static.amp.decorate(paddle.optimizer.SGD(0.1), dtype="bfloat16")
        ...     _ = optimizer.minimize(loss)
        >>> exe = paddle.static.Executor()
        >>> _ = exe.run(startup)
        >>> exe.run(main, {"x": numpy.ones([4, 2], "float32")}, [optimizer.get_loss_scaling()])
        [array([65536.], dtype=float32)]
        >>> paddle.disable_static()
    """
    older = {"use_pure_fp16", "use_fp16_guard", "use_bf16"} & kwargs.keys()
    older = bool(older) or (len(args) > 2 and not isinstance(args[2], str))  # type: ignore[assignment]
    defaults = _FIRST_ORDER if older else _OTHER_ORDER
    given = dict(zip(["optimizer", *defaults], args, strict=False))
    if len(args) > len(defaults) + 1 or given.keys() & kwargs.keys():
        raise op_error(
            TypeError, "decorate", f"optimizer, {', '.join(defaults)}, each once", f"{len(args)} and {kwargs}"
        )
    given.update(kwargs)
    optimizer = given.pop("optimizer", None)
    if not isinstance(optimizer, paddle.optimizer.Optimizer):
        raise op_error(TypeError, "decorate", "an optimizer", type(optimizer).__name__)
    if unknown := set(given) - set(defaults):
        raise op_error(TypeError, "decorate", f"options of {sorted(defaults)}", sorted(unknown))
    settings = {**defaults, **given}
    if older:
        pure = settings.pop("use_pure_fp16")
        guard, low = settings.pop("use_fp16_guard"), "bfloat16" if settings.pop("use_bf16") else "float16"
        settings.update(level="O2" if pure else "O1", dtype=low, use_amp_guard=pure if guard is None else guard)
    if settings["level"] not in ("O0", "O1", "O2", "OD"):
        raise op_error(ValueError, "decorate", "level 'O0', 'O1', 'O2' or 'OD'", repr(settings["level"]))
    low = _low_dtype("decorate", settings["dtype"]).name
    if not settings["init_loss_scaling"] > 0 or not settings["incr_ratio"] > 1 or not 0 < settings["decr_ratio"] < 1:
        got = [settings[k] for k in ("init_loss_scaling", "incr_ratio", "decr_ratio")]
        raise op_error(
            ValueError, "decorate", "init_loss_scaling above 0, incr_ratio above 1, decr_ratio in (0, 1)", got
        )
    if settings["incr_every_n_steps"] < 1 or settings["decr_every_n_nan_or_inf"] < 1:
        got = [settings[k] for k in ("incr_every_n_steps", "decr_every_n_nan_or_inf")]
        raise op_error(ValueError, "decorate", "incr_every_n_steps and decr_every_n_nan_or_inf of at least 1", got)
    lists = settings["amp_lists"] or AutoMixedPrecisionLists(dtype=low)
    if not isinstance(lists, AutoMixedPrecisionLists):
        raise op_error(TypeError, "decorate", "AutoMixedPrecisionLists or None", type(lists).__name__)
    return OptimizerWithMixedPrecision(optimizer, lists, settings)
