"""Gradient descent, with and without memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from paddle._public import public
from paddle.framework import mode
from paddle.optimizer.loaded import as_state
from paddle.optimizer.lr import LRScheduler
from paddle.optimizer.optimizer import Optimizer, Row, State
from paddle.tensor._args import create_on
from umiak import ops as F
from umiak.core.dtype import int64
from umiak.core.slot import ABSENT, GRAD, RATE, TARGET, VALUE
from umiak.core.tensor import Tensor
from umiak.ir.expr import minimum, mod, to_float

_DESCENT = F.SgdUpdate()


@public("paddle.optimizer")
class SGD(Optimizer):
    """Gradient descent, ``param -= lr * grad``.

    Args:
        learning_rate: a number, or a schedule of ``paddle.optimizer.lr``.
        parameters: parameters, or dicts of groups of them with settings of their own; see :class:`Optimizer`. Required.
        weight_decay: a number (the coefficient of an L2 penalty, whose derivative is added to the gradient), a
            regularizer, or None for no penalty.
        grad_clip: a ``ClipGradBy…`` of ``paddle.nn``, applied to gradients first; None: no clipping.
        multi_precision: keep float32 copies of float16 and bfloat16 parameters, which the steps are applied to.

    Raises:
        ValueError: no parameters, or one of them twice.
        TypeError: arguments of another kind.

    Example:
        >>> import paddle
        >>> x = paddle.create_parameter([1], "float32", default_initializer=paddle.nn.initializer.Constant(3.0))
        >>> opt = paddle.optimizer.SGD(0.25, parameters=[x])
        >>> (x * x).sum().backward()
        >>> opt.step()
        >>> x.tolist()  # 3 - 0.25 * 6
        [1.5]
    """

    _layout = (TARGET, GRAD, RATE)
    _by_rows = True
    _changes_by_zeros = False

    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.001,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        multi_precision: bool = False,
        name: str | None = None,
    ) -> None:
        self._multi_precision = multi_precision
        self._op = F.SgdUpdate()
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)


@public("paddle.optimizer")
class Momentum(Optimizer):
    """Gradient descent with momentum: ``velocity = momentum*velocity + grad``, ``param -= lr * velocity``.

    Args:
        learning_rate: a number, or a schedule of ``paddle.optimizer.lr``.
        momentum: how much of the velocity stays.
        parameters: parameters, or dicts of groups of them with settings of their own; see :class:`Optimizer`. Required.
        use_nesterov: ``param -= lr * (grad + momentum*velocity)`` instead.
        weight_decay: a number (the coefficient of an L2 penalty, whose derivative is added to the gradient), a
            regularizer, or None for no penalty.
        grad_clip: a ``ClipGradBy…`` of ``paddle.nn``, applied to gradients first; None: no clipping.
        multi_precision: keep float32 copies of float16 and bfloat16 parameters, which the steps are applied to.
        rescale_grad: a factor on the gradients, but not on an L2 penalty.
        use_multi_tensor: accepted; parameters are always updated together.

    Raises:
        ValueError: no parameters, or one of them twice.
        TypeError: arguments of another kind.

    Example:
        >>> import paddle
        >>> x = paddle.create_parameter([1], "float32", default_initializer=paddle.nn.initializer.Constant(0.0))
        >>> opt = paddle.optimizer.Momentum(1.0, momentum=0.5, parameters=[x])
        >>> for _ in range(2):
        ...     x.sum().backward()
        ...     opt.step()
        ...     opt.clear_grad()
        >>> x.tolist()  # -1, and then -1.5 more
        [-2.5]
    """

    accumulators = ("velocity",)
    hyperparameters = ("momentum",)
    _layout = (TARGET, GRAD, VALUE, RATE)

    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.001,
        momentum: float = 0.9,
        parameters: Any = None,
        use_nesterov: bool = False,
        weight_decay: Any = None,
        grad_clip: Any = None,
        multi_precision: bool = False,
        rescale_grad: float = 1.0,
        use_multi_tensor: bool = False,
        name: str | None = None,
    ) -> None:
        if momentum is None:
            raise ValueError("[Momentum] requires a number as momentum, got None")
        self._momentum = float(momentum)
        self._rescale_grad = self._l2_divisor = float(rescale_grad)
        self._multi_precision = multi_precision
        self._op = F.MomentumUpdate(bool(use_nesterov))
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)

    @property
    def _singly(self) -> bool:
        return self._rescale_grad != 1.0

    def _row(self, state: State, grad: Tensor, lr: float) -> tuple[Any, Row]:
        return super()._row(state, grad if self._rescale_grad == 1.0 else F.mul(grad, self._rescale_grad), lr)

    def _params(self, state: State) -> tuple:
        return state.hyper[0], 0.0


@public("paddle.optimizer")
class Adagrad(Optimizer):
    """Gradient descent over the root of all squares so far: ``param -= lr * grad / (sqrt(total) + epsilon)``.

    ``total += grad²`` comes first.

    Args:
        learning_rate: a number, or a schedule of ``paddle.optimizer.lr``.
        epsilon: added to the root.
        parameters: parameters, or dicts of groups of them with settings of their own; see :class:`Optimizer`. Required.
        weight_decay: a number (the coefficient of an L2 penalty, whose derivative is added to the gradient), a
            regularizer, or None for no penalty.
        grad_clip: a ``ClipGradBy…`` of ``paddle.nn``, applied to gradients first; None: no clipping.
        initial_accumulator_value: what ``total`` starts with.

    Raises:
        ValueError: no parameters, or one of them twice.
        TypeError: arguments of another kind.

    References:
        Duchi, Hazan and Singer, 2011: Adaptive Subgradient Methods.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Linear(2, 1)
        >>> opt = paddle.optimizer.Adagrad(0.1, parameters=layer.parameters())
        >>> before = layer(paddle.ones([1, 2])).item()
        >>> layer(paddle.ones([1, 2])).sum().backward()
        >>> opt.step()
        >>> layer(paddle.ones([1, 2])).item() < before
        True
    """

    accumulators = ("moment",)
    hyperparameters = ("epsilon",)
    _layout = (TARGET, GRAD, VALUE, RATE)
    _by_rows = True
    _changes_by_zeros = False

    def __init__(
        self,
        learning_rate: float | LRScheduler,
        epsilon: float = 1e-6,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
        initial_accumulator_value: float = 0.0,
    ) -> None:
        self._epsilon = float(epsilon)
        self._start = float(initial_accumulator_value)
        self._op = F.AdagradUpdate()
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)

    def _initial(self, accumulator: str) -> float:
        return self._start

    def _params(self, state: State) -> tuple:
        return state.hyper


@public("paddle.optimizer")
class Adadelta(Optimizer):
    """Gradient descent scaled by the ratio of average changes to average gradients.

    Args:
        learning_rate: a number, or a schedule of ``paddle.optimizer.lr``.
        epsilon: added to both averages.
        rho: decay of the averages.
        parameters: parameters, or dicts of groups of them with settings of their own; see :class:`Optimizer`. Required.
        weight_decay: a number (the coefficient of an L2 penalty, whose derivative is added to the gradient), a
            regularizer, or None for no penalty.
        grad_clip: a ``ClipGradBy…`` of ``paddle.nn``, applied to gradients first; None: no clipping.

    Raises:
        ValueError: no parameters, or one of them twice.
        TypeError: arguments of another kind.

    References:
        Zeiler, 2012: ADADELTA: An Adaptive Learning Rate Method.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Linear(2, 1)
        >>> opt = paddle.optimizer.Adadelta(1.0, parameters=layer.parameters())
        >>> before = layer(paddle.ones([1, 2])).item()
        >>> layer(paddle.ones([1, 2])).sum().backward()
        >>> opt.step()
        >>> layer(paddle.ones([1, 2])).item() < before
        True
    """

    accumulators = ("_avg_squared_grad", "_avg_squared_update")
    hyperparameters = ("rho", "epsilon")
    _layout = (TARGET, GRAD, VALUE, VALUE + 1, RATE)

    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.001,
        epsilon: float = 1e-6,
        rho: float = 0.95,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        self._rho = float(rho)
        self._epsilon = float(epsilon)
        self._op = F.AdadeltaUpdate()
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)

    def _params(self, state: State) -> tuple:
        return state.hyper


@public("paddle.optimizer")
class RMSProp(Optimizer):
    """Gradient over the root of its average square, through a momentum.

    ``s = rho*s + (1-rho)*grad²``, ``u = momentum*u + lr * grad / sqrt(s + epsilon)``, ``param -= u``.

    Args:
        learning_rate: a number, or a schedule of ``paddle.optimizer.lr``.
        rho: decay of the average, 0 or more.
        epsilon: added under the root, 0 or more.
        momentum: how much of the last change stays, 0 or more.
        centered: subtract the square of the average gradient under the root.
        parameters: parameters, or dicts of groups of them with settings of their own; see :class:`Optimizer`. Required.
        weight_decay: a number (the coefficient of an L2 penalty, whose derivative is added to the gradient), a
            regularizer, or None for no penalty.
        grad_clip: a ``ClipGradBy…`` of ``paddle.nn``, applied to gradients first; None: no clipping.

    Raises:
        ValueError: no parameters, one of them twice, or numbers out of range.
        TypeError: arguments of another kind.

    References:
        Tieleman and Hinton, 2012: Lecture 6.5 of Neural Networks for Machine Learning.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Linear(2, 1)
        >>> opt = paddle.optimizer.RMSProp(0.01, parameters=layer.parameters())
        >>> before = layer(paddle.ones([1, 2])).item()
        >>> layer(paddle.ones([1, 2])).sum().backward()
        >>> opt.step()
        >>> layer(paddle.ones([1, 2])).item() < before
        True
    """

    accumulators = ("momentum", "mean_square", "mean_grad")
    hyperparameters = ("rho", "epsilon", "momentum")

    def __init__(
        self,
        learning_rate: float | LRScheduler,
        rho: float = 0.95,
        epsilon: float = 1e-6,
        momentum: float = 0.0,
        centered: bool = False,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        for arg_name, value in (("rho", rho), ("epsilon", epsilon), ("momentum", momentum)):
            if value is None or value < 0.0:
                raise ValueError(f"[RMSProp] requires {arg_name} >= 0, got {value}")
        self._rho = float(rho)
        self._epsilon = float(epsilon)
        self._momentum = float(momentum)
        self._centered = centered
        self._op = F.RmspropUpdate()
        self._layout = (TARGET, GRAD, VALUE + 1, VALUE, RATE, VALUE + 2 if centered else ABSENT)
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)

    def _make_state(self, p: Any, hyper: Any) -> State:
        state = super()._make_state(p, hyper)
        momentum, squares, mean = state.values
        state.outs = (state.target, squares, momentum, *((mean,) if self._centered else ()))
        return state

    def _params(self, state: State) -> tuple:
        return state.hyper


@public("paddle.optimizer")
class Rprop(Optimizer):
    """Steps of a size of their own, which grows while the sign of the gradient stays and shrinks when it turns.

    Gradients should be those of all data, not of batches.

    Args:
        learning_rate: the first size of the steps, a number or a schedule, whose first rate counts.
        learning_rate_range: the smallest and the largest size.
        parameters: parameters, or dicts of groups of them with settings of their own; see :class:`Optimizer`. Required.
        etas: the factors of shrinking (between 0 and 1) and of growing (above 1).
        grad_clip: a ``ClipGradBy…`` of ``paddle.nn``, applied to gradients first; None: no clipping.
        multi_precision: keep float32 copies of float16 and bfloat16 parameters, which the steps are applied to.

    Raises:
        ValueError: no parameters, one of them twice, or numbers out of range.
        TypeError: arguments of another kind.

    References:
        Riedmiller and Braun, 1993: A Direct Adaptive Method for Faster Backpropagation Learning.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Linear(2, 1)
        >>> opt = paddle.optimizer.Rprop(0.01, parameters=layer.parameters())
        >>> before = layer(paddle.ones([1, 2])).item()
        >>> layer(paddle.ones([1, 2])).sum().backward()
        >>> opt.step()
        >>> layer(paddle.ones([1, 2])).item() < before
        True
    """

    accumulators = ("prevs", "learning_rates")
    _layout = (TARGET, GRAD, VALUE, VALUE + 1, RATE)

    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.001,
        learning_rate_range: tuple[float, float] = (1e-5, 50),
        parameters: Any = None,
        etas: tuple[float, float] = (0.5, 1.2),
        grad_clip: Any = None,
        multi_precision: bool = False,
        name: str | None = None,
    ) -> None:
        self._need_rate(learning_rate)
        rate = learning_rate() if isinstance(learning_rate, LRScheduler) else learning_rate
        if not 0.0 < learning_rate_range[0] <= rate <= learning_rate_range[1]:
            raise ValueError(
                f"[Rprop] requires 0 < least <= learning_rate <= largest, got {learning_rate_range} and {rate}"
            )
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"[Rprop] requires 0 < etas[0] < 1 < etas[1], got {etas}")
        self._limits = (*(float(v) for v in learning_rate_range), *(float(v) for v in etas))
        self._start = float(rate)
        self._multi_precision = multi_precision
        self._op = F.RpropUpdate()
        super().__init__(learning_rate, parameters, None, grad_clip, name)

    def _initial(self, accumulator: str) -> float:
        return self._start if accumulator == "learning_rates" else 0.0

    def _params(self, state: State) -> tuple:
        return self._limits


@public("paddle.optimizer")
class ASGD(Optimizer):
    """Gradient descent along the mean of the latest gradients of ``batch_num`` batches.

    Args:
        learning_rate: a number, or a schedule of ``paddle.optimizer.lr``.
        batch_num: how many batches an epoch has, 1 or more: so many gradients are kept.
        parameters: parameters, or dicts of groups of them with settings of their own; see :class:`Optimizer`. Required.
        weight_decay: a number (the coefficient of an L2 penalty, whose derivative is added to the gradient), a
            regularizer, or None for no penalty.
        grad_clip: a ``ClipGradBy…`` of ``paddle.nn``, applied to gradients first; None: no clipping.
        multi_precision: keep float32 copies of float16 and bfloat16 parameters, which the steps are applied to.

    Raises:
        ValueError: no parameters, one of them twice, or a ``batch_num`` that is not positive.
        TypeError: arguments of another kind.

    References:
        Schmidt, Le Roux and Bach, 2017: Minimizing Finite Sums with the Stochastic Average Gradient.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Linear(2, 1)
        >>> opt = paddle.optimizer.ASGD(0.01, parameters=layer.parameters())
        >>> before = layer(paddle.ones([1, 2])).item()
        >>> layer(paddle.ones([1, 2])).sum().backward()
        >>> opt.step()
        >>> layer(paddle.ones([1, 2])).item() < before
        True
    """

    accumulators = ("d",)

    _states_follow_parameters = False  # it keeps gradients of several batches

    @property
    def _has_formulas(self) -> bool:
        # Else steps differ in the gradient that they replace, too.
        return self._batch_num == 1 or bool(self._directions)

    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.001,
        batch_num: int = 1,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        multi_precision: bool = False,
        name: str | None = None,
    ) -> None:
        if batch_num is None or batch_num <= 0:
            raise ValueError(f"[ASGD] requires batch_num > 0, got {batch_num}")
        self._batch_num = int(batch_num)
        self._multi_precision = multi_precision
        self._op = F.AsgdUpdate()
        self._latest: dict[Any, list[Tensor]] = {}
        self._directions: dict[Any, Tensor] = {}  # of steps that a static program records
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)

    def _make_state(self, p: Any, hyper: Any) -> State:
        state = super()._make_state(p, hyper)
        saved, count = self._take(state, "y"), self._take(state, "m")
        shape, dtype = tuple(p.shape), p.dtype.compute
        if saved is None:
            self._latest[p] = [create_on(p.place, F.full, 0.0, dtype, shape) for _ in range(self._batch_num)]
        else:
            self._latest[p] = [F.copy(t) for t in F.unbind(as_state(saved, p), axis=0, count=self._batch_num)]
            state.steps = int(np.asarray(count.numpy() if hasattr(count, "numpy") else count).ravel()[0])
        return state

    def _row(self, state: State, grad: Tensor, lr: float) -> tuple[Any, Row]:
        p, (total,) = state.target, state.values
        if (direction := self._direction(state, grad)) is not None:
            return _DESCENT, ((p,), (p, direction, lr), ())
        old = self._latest[state.param][mod(state.steps - 1, self._batch_num)]
        seen = to_float(minimum(state.steps, self._batch_num))
        return self._op, ((p, total, old), (p, grad, total, old, lr), (seen,))

    def _direction(self, state: State, grad: Tensor) -> Tensor | None:
        """The mean of the latest gradients as a variable of the program that records the step; None in dynamic mode."""
        if mode.in_dynamic_mode():
            return self._directions.get(state.param)
        from paddle.static.training import mean_of_latest

        direction = mean_of_latest(state.name, grad, state.values[0], self._batch_num)
        self._directions[state.param] = direction
        return direction

    def state_dict(self) -> dict[str, Any]:
        out = super().state_dict()
        schedule = out.pop("LR_Scheduler", None)
        for state in self._ordered_states():
            latest = F.stack(self._latest[state.param], axis=0)
            latest.name = f"{state.name}_y_0"
            out[latest.name] = latest
        for state in self._ordered_states():
            count = F.full(state.steps, dtype=int64, shape=(1,))
            count.name = f"{state.name}_m_0"
            out[count.name] = count
        if schedule is not None:
            out["LR_Scheduler"] = schedule
        return out
