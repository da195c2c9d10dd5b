"""Adam and its family: averages of gradients over averages of their size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from paddle._public import public
from paddle.optimizer.loaded import power_of
from paddle.optimizer.lr import LRScheduler
from paddle.optimizer.optimizer import Optimizer, Row, State
from umiak import ops as F
from umiak.core.context import capture_of
from umiak.core.slot import ABSENT, GRAD, RATE, TARGET, VALUE
from umiak.core.tensor import Tensor
from umiak.ir.expr import compare_lt, maximum, where
from umiak.util.errors import op_error

# Beyond these many steps every correction for the start at 0 is 1.
_FOREVER = 10_000_000


def _check_betas(op_name: str, beta1: Any, beta2: Any, epsilon: Any) -> tuple[float, float, float]:
    tracer = capture_of()
    if tracer is not None and tracer.static and any(isinstance(v, Tensor) for v in (beta1, beta2, epsilon)):
        raise op_error(TypeError, op_name, "numbers as beta1, beta2 and epsilon in static mode", "a variable")
    beta1, beta2, epsilon = (float(v.item() if hasattr(v, "item") else v) for v in (beta1, beta2, epsilon))
    if not (0 <= beta1 < 1 and 0 <= beta2 < 1):
        raise ValueError(f"[{op_name}] requires beta1 and beta2 in [0, 1), got {beta1} and {beta2}")
    if epsilon < 0:
        raise ValueError(f"[{op_name}] requires epsilon >= 0, got {epsilon}")
    return beta1, beta2, epsilon


def _rounded(beta: float) -> float:
    """A beta as float32: what the reference framework takes the powers of in some optimizers. RAdam's ``rho`` depends
    on it.
    """
    return float(np.float32(beta))


class _Moments(Optimizer):
    """Two moments, and a count of steps that a state dict holds as powers of the betas."""

    accumulators: ClassVar[tuple[str, ...]] = ("moment1", "moment2")
    hyperparameters: ClassVar[tuple[str, ...]] = ("beta1", "beta2", "epsilon")
    _layout: tuple[int, ...] | None = (TARGET, GRAD, VALUE, VALUE + 1, RATE)

    _saved_beta: Any = float

    # By which classes of packages ask for states.
    _moment2_acc_max_str = "moment2_max"
    _beta1_pow_acc_str = "beta1_pow_acc"
    _beta2_pow_acc_str = "beta2_pow_acc"

    def _add_states(self, p: Any) -> None:
        self._add_moments_pows(p)

    def _add_moments_pows(self, p: Any) -> None:
        """Make the states of a parameter or its copy; packages define it to have others."""
        super()._add_states(p)

    def _set_betas(self, beta1: Any, beta2: Any, epsilon: Any) -> None:
        self._beta1, self._beta2, self._epsilon = _check_betas(type(self).__name__, beta1, beta2, epsilon)
        self._hypers: dict[tuple, tuple] = {}  # one object for all that are equal
        self._latest: dict[int, tuple[int, tuple]] = {}  # by the id of one of these: a step, and its params

    def _hyper_of(self, p: Any, hyper: Any) -> Any:
        return self._hypers.setdefault(hyper, hyper)

    def _params(self, state: State) -> tuple:
        """The params of this step's op. Most parameters share them: the same tuple is parsed once."""
        hyper, steps = state.hyper, state.steps
        if type(steps) is not int:  # a formula is asked for
            return self._make_params(hyper, steps)
        latest = self._latest.get(id(hyper))
        if latest is None or latest[0] != steps:
            latest = self._latest[id(hyper)] = steps, self._make_params(hyper, steps)
        return latest[1]

    def _make_params(self, hyper: tuple, steps: int) -> tuple:
        beta1, beta2, eps = hyper[:3]
        return beta1, beta2, eps, beta1**steps, beta2**steps

    def _scalars(self, state: State) -> dict[str, np.ndarray]:
        # The reference framework keeps the power that the next step needs.
        beta1, beta2, *_ = map(self._saved_beta, state.hyper)
        n, dtype = state.steps + 1, state.param.dtype.compute.real.numpy
        return {"beta1_pow_acc": np.full([1], beta1**n, dtype), "beta2_pow_acc": np.full([1], beta2**n, dtype)}

    def _load_scalars(self, state: State) -> int:
        beta1, beta2, *_ = state.hyper
        saved = (self._take(state, "beta1_pow_acc"), beta1), (self._take(state, "beta2_pow_acc"), beta2)
        loaded = [(v, b) for v, b in saved if v is not None]
        counts = [power_of(v, b, 1) for v, b in sorted(loaded, key=lambda pair: -pair[1])]
        if loaded:
            state.steps = next((n for n in counts if n is not None), _FOREVER)
        return len(loaded)


@public("paddle.optimizer")
class Adam(_Moments):
    """Adam: the average of gradients over the root of the average of their squares.

    ``m = beta1*m + (1-beta1)*g``, ``v = beta2*v + (1-beta2)*g²``, ``param -= lr * m̂ / (sqrt(v̂) + epsilon)``, where m̂
    and v̂ are corrected for their start at 0.

    Args:
        learning_rate: a number, or a schedule of ``paddle.optimizer.lr``.
        beta1: decay of the average of gradients, in [0, 1).
        beta2: decay of the average of their squares, in [0, 1).
        epsilon: added to the root of the average of squares, 0 or more.
        parameters: parameters, or dicts of groups of them with settings of their own; see :class:`Optimizer`. Required.
        weight_decay: a number (the coefficient of an L2 penalty, whose derivative is added to the gradient), a
            regularizer, or None for no penalty.
        grad_clip: a ``ClipGradBy…`` of ``paddle.nn``, applied to gradients first; None: no clipping.
        lazy_mode: of a table with a gradient of selected rows, update these rows alone; otherwise the averages of the
            other rows decay, as with a dense gradient.
        multi_precision: keep float32 copies of float16 and bfloat16 parameters, which the steps are applied to.
        use_multi_tensor: accepted; parameters are always updated together.
        amsgrad: divide by the largest average of squares so far.

    Raises:
        ValueError: no parameters, one of them twice, or numbers out of range.
        TypeError: arguments of another kind.

    References:
        Kingma and Ba, 2015: Adam: A Method for Stochastic Optimization.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Linear(2, 1)
        >>> opt = paddle.optimizer.Adam(0.01, parameters=layer.parameters())
        >>> before = layer(paddle.ones([1, 2])).item()
        >>> layer(paddle.ones([1, 2])).sum().backward()
        >>> opt.step()
        >>> layer(paddle.ones([1, 2])).item() < before
        True
    """

    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        lazy_mode: bool = False,
        multi_precision: bool = False,
        use_multi_tensor: bool = False,
        amsgrad: bool = False,
        name: str | None = None,
    ) -> None:
        self._set_betas(beta1, beta2, epsilon)
        self._amsgrad = amsgrad
        self._multi_precision = multi_precision
        self._op = F.AdamUpdate(amsgrad)
        self._layout = (TARGET, GRAD, VALUE, VALUE + 1, RATE, VALUE + 2 if amsgrad else ABSENT)
        self._by_rows = lazy_mode
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)

    def _accumulator_names(self) -> tuple[str, ...]:
        return (*self.accumulators, "moment2_max") if self._amsgrad else self.accumulators


@public("paddle.optimizer")
class AdamW(_Moments):
    """Adam with decoupled weight decay: ``param *= 1 - lr*weight_decay``, then Adam's step.

    Args:
        learning_rate: a number, or a schedule of ``paddle.optimizer.lr``.
        beta1: decay of the average of gradients, in [0, 1).
        beta2: decay of the average of their squares, in [0, 1).
        epsilon: added to the root of the average of squares, 0 or more.
        parameters: parameters, or dicts of groups of them with settings of their own; see :class:`Optimizer`. Required.
        weight_decay: a number.
        use_lowprecision_moment: accepted; averages are float32.
        lr_ratio: called with a parameter, gives a factor on its learning rate; None: 1.
        apply_decay_param_fun: called with a parameter's name, says whether it decays; None: all do.
        grad_clip: a ``ClipGradBy…`` of ``paddle.nn``, applied to gradients first; None: no clipping.
        lazy_mode: of a table with a gradient of selected rows, update these rows alone; otherwise the averages of the
            other rows decay, as with a dense gradient.
        multi_precision: keep float32 copies of float16 and bfloat16 parameters, which the steps are applied to.
        amsgrad: divide by the largest average of squares so far.

    Raises:
        ValueError: no parameters, one of them twice, or numbers out of range.
        TypeError: ``weight_decay`` is not a number, or arguments of another kind.

    References:
        Loshchilov and Hutter, 2019: Decoupled Weight Decay Regularization.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Linear(2, 1)
        >>> opt = paddle.optimizer.AdamW(0.01, weight_decay=0.1, parameters=layer.parameters())
        >>> before = layer(paddle.ones([1, 2])).item()
        >>> layer(paddle.ones([1, 2])).sum().backward()
        >>> opt.step()
        >>> layer(paddle.ones([1, 2])).item() < before
        True
    """

    hyperparameters = ("beta1", "beta2", "epsilon", "weight_decay")

    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        parameters: Any = None,
        weight_decay: float = 0.01,
        use_lowprecision_moment: bool = False,
        lr_ratio: Callable[[Tensor], float] | None = None,
        apply_decay_param_fun: Callable[[str], bool] | None = None,
        grad_clip: Any = None,
        lazy_mode: bool = False,
        multi_precision: bool = False,
        amsgrad: bool = False,
        name: str | None = None,
    ) -> None:
        self._set_betas(beta1, beta2, epsilon)
        if not isinstance(weight_decay, (int, float)) and not hasattr(weight_decay, "item"):
            raise TypeError(f"[AdamW] requires a number as weight_decay, got {type(weight_decay).__name__}")
        self._amsgrad = amsgrad
        if lr_ratio is not None and not callable(lr_ratio):
            raise op_error(TypeError, "AdamW", "a function as lr_ratio", repr(lr_ratio))
        self._lr_ratio = lr_ratio
        if apply_decay_param_fun is not None and not callable(apply_decay_param_fun):
            raise op_error(TypeError, "AdamW", "a function as apply_decay_param_fun", repr(apply_decay_param_fun))
        self._apply_decay_param_fun = apply_decay_param_fun
        self._multi_precision = multi_precision
        self._op = F.AdamwUpdate(amsgrad)
        self._layout = (TARGET, GRAD, VALUE, VALUE + 1, RATE, VALUE + 2 if amsgrad else ABSENT)
        self._by_rows = lazy_mode
        super().__init__(learning_rate, parameters, float(weight_decay), grad_clip, name)

    def _regularizer(self, decay: Any) -> None:
        """None: decay is a number of the step here, not a penalty on the gradient."""

    def _add_param_group(self, group: dict[str, Any]) -> None:
        if "weight_decay" in group:
            group["weight_decay"] = float(group["weight_decay"])
        super()._add_param_group(group)

    def _accumulator_names(self) -> tuple[str, ...]:
        return (*self.accumulators, "moment2_max") if self._amsgrad else self.accumulators

    def _hyper_of(self, p: Any, hyper: Any) -> Any:
        decays = self._apply_decay_param_fun is None or self._apply_decay_param_fun(p.name)
        ratio = 1.0 if self._lr_ratio is None else float(self._lr_ratio(p))
        return super()._hyper_of(p, (*hyper[:3], hyper[3] if decays else 0.0, ratio))

    def _make_params(self, hyper: tuple, steps: int) -> tuple:
        return *super()._make_params(hyper, steps), hyper[3]

    @property
    def _singly(self) -> bool:
        return self._lr_ratio is not None

    def _row(self, state: State, grad: Tensor, lr: float) -> tuple[Any, Row]:
        return super()._row(state, grad, lr * state.hyper[4])


@public("paddle.optimizer")
class Adamax(_Moments):
    """Adam with the largest decayed gradient in place of the root of squares.

    ``m = beta1*m + (1-beta1)*g``, ``u = max(beta2*u + epsilon, |g|)``, ``param -= lr * m̂ / u``.

    Args:
        learning_rate: a number, or a schedule of ``paddle.optimizer.lr``.
        beta1: decay of the average of gradients, in [0, 1).
        beta2: decay of the largest gradient, in [0, 1).
        epsilon: added to the decayed largest gradient, 0 or more.
        parameters: parameters, or dicts of groups of them with settings of their own; see :class:`Optimizer`. Required.
        weight_decay: a number (the coefficient of an L2 penalty, whose derivative is added to the gradient), a
            regularizer, or None for no penalty.
        grad_clip: a ``ClipGradBy…`` of ``paddle.nn``, applied to gradients first; None: no clipping.

    Raises:
        ValueError: no parameters, one of them twice, or numbers out of range.
        TypeError: arguments of another kind.

    References:
        Kingma and Ba, 2015: Adam: A Method for Stochastic Optimization.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Linear(2, 1)
        >>> opt = paddle.optimizer.Adamax(0.01, parameters=layer.parameters())
        >>> before = layer(paddle.ones([1, 2])).item()
        >>> layer(paddle.ones([1, 2])).sum().backward()
        >>> opt.step()
        >>> layer(paddle.ones([1, 2])).item() < before
        True
    """

    accumulators = ("moment", "inf_norm")

    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        self._set_betas(beta1, beta2, epsilon)
        self._op = F.AdamaxUpdate()
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)

    def _scalars(self, state: State) -> dict[str, np.ndarray]:
        return {"beta1_pow_acc": super()._scalars(state)["beta1_pow_acc"]}

    def _make_params(self, hyper: tuple, steps: int) -> tuple:
        return super()._make_params(hyper, steps)[:4]


@public("paddle.optimizer")
class Lamb(_Moments):
    """Adam's change plus decay, scaled to the norm of each parameter.

    Args:
        learning_rate: a number, or a schedule of ``paddle.optimizer.lr``.
        lamb_weight_decay: part of the parameter that is added to its change.
        beta1: decay of the average of gradients, in [0, 1).
        beta2: decay of the average of their squares, in [0, 1).
        epsilon: added to the root of the average of squares, 0 or more.
        parameters: parameters, or dicts of groups of them with settings of their own; see :class:`Optimizer`. Required.
        grad_clip: a ``ClipGradBy…`` of ``paddle.nn``, applied to gradients first; None: no clipping.
        exclude_from_weight_decay_fn: called with a parameter, says that it does not decay; None: all do.
        multi_precision: keep float32 copies of float16 and bfloat16 parameters, which the steps are applied to.
        always_adapt: scale also the changes of parameters that do not decay.

    Raises:
        ValueError: no parameters, one of them twice, or numbers out of range.
        TypeError: arguments of another kind.

    References:
        You et al., 2020: Large Batch Optimization for Deep Learning.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Linear(2, 1)
        >>> opt = paddle.optimizer.Lamb(0.01, parameters=layer.parameters())
        >>> before = layer(paddle.ones([1, 2])).item()
        >>> layer(paddle.ones([1, 2])).sum().backward()
        >>> opt.step()
        >>> layer(paddle.ones([1, 2])).item() < before
        True
    """

    hyperparameters = ("beta1", "beta2", "epsilon", "lamb_weight_decay")
    _saved_beta = staticmethod(_rounded)

    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.001,
        lamb_weight_decay: float = 0.01,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-6,
        parameters: Any = None,
        grad_clip: Any = None,
        exclude_from_weight_decay_fn: Callable[[Tensor], bool] | None = None,
        multi_precision: bool = False,
        always_adapt: bool = False,
        name: str | None = None,
    ) -> None:
        self._set_betas(beta1, beta2, epsilon)
        self._lamb_weight_decay = float(lamb_weight_decay)
        if exclude_from_weight_decay_fn is not None and not callable(exclude_from_weight_decay_fn):
            required, got = "a function as exclude_from_weight_decay_fn", repr(exclude_from_weight_decay_fn)
            raise op_error(TypeError, "Lamb", required, got)
        self._exclude_from_weight_decay_fn = exclude_from_weight_decay_fn
        self._always_adapt = always_adapt
        self._multi_precision = multi_precision
        self._op, self._plain, self._layout = F.LambUpdate(), F.AdamUpdate(False), None
        super().__init__(learning_rate, parameters, None, grad_clip, name)

    def _hyper_of(self, p: Any, hyper: Any) -> Any:
        excluded = self._exclude_from_weight_decay_fn is not None and self._exclude_from_weight_decay_fn(p)
        return super()._hyper_of(p, (*hyper[:3], 0.0 if excluded else hyper[3]))

    def _adapts(self, hyper: tuple) -> bool:
        return hyper[3] != 0.0 or self._always_adapt

    def _make_params(self, hyper: tuple, steps: int) -> tuple:
        params = super()._make_params(hyper, steps)
        return (*params, hyper[3]) if self._adapts(hyper) else params

    def _row(self, state: State, grad: Tensor, lr: float) -> tuple[Any, Row]:
        p, (m, v) = state.target, state.values
        if self._adapts(state.hyper):
            return self._op, (state.outs, (p, grad, m, v, lr), self._params(state))
        return self._plain, (state.outs, (p, grad, m, v, lr, None), self._params(state))


@public("paddle.optimizer")
class NAdam(_Moments):
    """Adam with Nesterov's momentum.

    Args:
        learning_rate: a number, or a schedule of ``paddle.optimizer.lr``.
        beta1: decay of the average of gradients, in [0, 1).
        beta2: decay of the average of their squares, in [0, 1).
        epsilon: added to the root of the average of squares, 0 or more.
        momentum_decay: how fast the momentum grows towards ``beta1``: it is
            ``beta1 * (1 - 0.96 ** (step * momentum_decay) / 2)``.
        parameters: parameters, or dicts of groups of them with settings of their own; see :class:`Optimizer`. Required.
        weight_decay: a number (the coefficient of an L2 penalty, whose derivative is added to the gradient), a
            regularizer, or None for no penalty.
        grad_clip: a ``ClipGradBy…`` of ``paddle.nn``, applied to gradients first; None: no clipping.

    Raises:
        ValueError: no parameters, one of them twice, or numbers out of range.
        TypeError: arguments of another kind.

    References:
        Dozat, 2016: Incorporating Nesterov Momentum into Adam.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Linear(2, 1)
        >>> opt = paddle.optimizer.NAdam(0.01, parameters=layer.parameters())
        >>> before = layer(paddle.ones([1, 2])).item()
        >>> layer(paddle.ones([1, 2])).sum().backward()
        >>> opt.step()
        >>> layer(paddle.ones([1, 2])).item() < before
        True
    """

    _has_formulas = False  # the product of all momenta so far is none

    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.002,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        momentum_decay: float = 0.004,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        self._set_betas(beta1, beta2, epsilon)
        self._need_rate(learning_rate, least=0)
        if isinstance(momentum_decay, str) or not hasattr(momentum_decay, "__float__"):
            raise op_error(TypeError, "NAdam", "a number as momentum_decay", repr(momentum_decay))
        if not momentum_decay >= 0:
            raise op_error(ValueError, "NAdam", "momentum_decay of 0 or more", momentum_decay)
        self._momentum_decay = float(momentum_decay)
        self._products: dict[tuple, tuple[int, float]] = {}  # by betas: a step, and the product up to it
        self._op = F.NadamUpdate()
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)

    def _momentum(self, hyper: tuple, step: int) -> float:
        return hyper[0] * (1.0 - 0.5 * 0.96 ** (step * self._momentum_decay))

    def _product(self, hyper: tuple, steps: int) -> float:
        """The product of the momenta up to a step. In training that of the step before is at hand."""
        done, product = self._products.get(hyper, (0, 1.0))
        if done > steps:
            done, product = 0, 1.0
        for t in range(done + 1, steps + 1):
            if product == 0.0:
                break
            product *= self._momentum(hyper, t)
        self._products[hyper] = steps, product
        return product

    def _scalars(self, state: State) -> dict[str, np.ndarray]:
        shape, n, dtype = tuple(state.param.shape), state.steps, state.param.dtype.compute.real.numpy
        product = self._product(state.hyper, n)
        values = {"momentum_decay_pow": 0.96**n, "beta2_pow": _rounded(state.hyper[1]) ** n, "mu_product": product}
        return {k: np.full(shape, v, dtype) for k, v in values.items()}

    def _load_scalars(self, state: State) -> int:
        loaded = [(self._take(state, "beta2_pow"), state.hyper[1]), (self._take(state, "momentum_decay_pow"), 0.96)]
        self._take(state, "mu_product")
        loaded = [(v, b) for v, b in loaded if v is not None]
        if loaded:
            counts = (power_of(v, b, 0) for v, b in loaded)
            state.steps = next((n for n in counts if n is not None), _FOREVER)
        return len(loaded)

    def _make_params(self, hyper: tuple, steps: int) -> tuple:
        beta1, beta2, eps = hyper
        mu, mu_next = self._momentum(hyper, steps), self._momentum(hyper, steps + 1)
        return beta1, beta2, eps, beta2**steps, mu, mu_next, self._product(hyper, steps)


@public("paddle.optimizer")
class RAdam(_Moments):
    """Adam with rectified variance: plain momentum until the average of squares is known well enough.

    Args:
        learning_rate: a number, or a schedule of ``paddle.optimizer.lr``.
        beta1: decay of the average of gradients, in [0, 1).
        beta2: decay of the average of their squares, in [0, 1).
        epsilon: added to the root of the average of squares, 0 or more.
        parameters: parameters, or dicts of groups of them with settings of their own; see :class:`Optimizer`. Required.
        weight_decay: a number (the coefficient of an L2 penalty, whose derivative is added to the gradient), a
            regularizer, or None for no penalty.
        grad_clip: a ``ClipGradBy…`` of ``paddle.nn``, applied to gradients first; None: no clipping.

    Raises:
        ValueError: no parameters, one of them twice, or numbers out of range.
        TypeError: arguments of another kind.

    References:
        Liu et al., 2020: On the Variance of the Adaptive Learning Rate.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Linear(2, 1)
        >>> opt = paddle.optimizer.RAdam(0.01, parameters=layer.parameters())
        >>> before = layer(paddle.ones([1, 2])).item()
        >>> layer(paddle.ones([1, 2])).sum().backward()
        >>> opt.step()
        >>> layer(paddle.ones([1, 2])).item() < before
        True
    """

    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        self._set_betas(beta1, beta2, epsilon)
        self._need_rate(learning_rate, least=0)
        self._op = F.RadamUpdate()
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)

    def _scalars(self, state: State) -> dict[str, np.ndarray]:
        beta1, beta2, _ = map(_rounded, state.hyper)
        shape, n, dtype = tuple(state.param.shape), state.steps, state.param.dtype.compute.real.numpy
        return {
            "beta1_pow": np.full(shape, beta1**n, dtype),
            "beta2_pow": np.full(shape, beta2**n, dtype),
            "rho": np.full(shape, n * beta2**n / (1.0 - beta2**n) if n else 0.0, dtype),
        }

    def _load_scalars(self, state: State) -> int:
        beta1, beta2, _ = state.hyper
        loaded = [(self._take(state, "beta2_pow"), beta2), (self._take(state, "beta1_pow"), beta1)]
        self._take(state, "rho")
        loaded = [(v, b) for v, b in loaded if v is not None]
        if loaded:
            counts = (power_of(v, b, 0) for v, b in loaded)
            state.steps = next((n for n in counts if n is not None), _FOREVER)
        return len(loaded)

    def _make_params(self, hyper: tuple, steps: int) -> tuple:
        beta2 = hyper[1]
        params = super()._make_params(hyper, steps)
        pow2 = params[4]
        limit = 2.0 / (1.0 - beta2) - 1.0
        if limit <= 5.0:  # which rho never exceeds
            return *params, 0.0, 1.0
        # Without a branch, and with powers for roots: the step may be a symbol.
        rho = limit - 2.0 * steps * pow2 / (1.0 - pow2)
        known, r = compare_lt(5.0, rho), maximum(rho, 5.0)
        ratio: Any = (r - 4.0) * (r - 2.0) * limit / ((limit - 4.0) * (limit - 2.0) * r)
        return *params, where(known, ratio**0.5 * (1.0 - pow2) ** 0.5, 0.0), where(known, 0.0, 1.0)
