"""Momentum with a rate for each parameter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paddle._public import public
from paddle.optimizer.lr import LRScheduler
from paddle.optimizer.optimizer import Optimizer, Row, State
from umiak import ops as F
from umiak.core.tensor import Tensor


@public("paddle.incubate.optimizer")
class LarsMomentumOptimizer(Optimizer):
    """LARS (You et al., 2017): ``velocity = momentum*velocity + local_rate * (grad + lars_weight_decay*param)``,
    ``param -= velocity``, where the local rate is ``learning_rate * lars_coeff * |param| / (|grad| +
    lars_weight_decay*|param| + epsilon)``.

    Args:
        learning_rate: a number or a schedule.
        momentum: how much of the velocity stays.
        lars_coeff: how far to trust the ratio of norms.
        lars_weight_decay: part of the parameter that is added to its gradient.
        parameter_list: parameters or groups of them.
        regularization: a number (L2, added to the gradient first) or a regularizer.
        grad_clip: clips gradients first.
        exclude_from_weight_decay: parameters whose name holds one of these texts do not decay, and have the plain rate.
        epsilon: added to the denominator.
        multi_precision: keep float32 copies of low-precision parameters.
        rescale_grad: a factor on the gradients.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Linear(2, 1)
        >>> opt = paddle.incubate.optimizer.LarsMomentumOptimizer(0.1, 0.9, parameter_list=layer.parameters())
        >>> layer(paddle.ones([1, 2])).sum().backward()
        >>> opt.step()
    """

    accumulators = ("velocity",)

    def __init__(
        self,
        learning_rate: float | LRScheduler,
        momentum: float,
        lars_coeff: float = 0.001,
        lars_weight_decay: float = 0.0005,
        parameter_list: Any = None,
        regularization: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
        exclude_from_weight_decay: Sequence[str] | None = None,
        epsilon: float = 0,
        multi_precision: bool = False,
        rescale_grad: float = 1.0,
    ) -> None:
        self._momentum = float(momentum)
        self._coeff = float(lars_coeff)
        self._lars_weight_decay = float(lars_weight_decay)
        self._excluded = tuple(exclude_from_weight_decay or ())
        self._epsilon = float(epsilon)
        self._rescale_grad = float(rescale_grad)
        self._multi_precision = multi_precision
        self._adapting, self._plain = F.LarsUpdate(True), F.LarsUpdate(False)
        super().__init__(learning_rate, parameter_list, regularization, grad_clip, name)

    def _hyper_of(self, p: Any, hyper: Any) -> Any:
        return 0.0 if any(text in p.name for text in self._excluded) else self._lars_weight_decay

    def _row(self, state: State, grad: Tensor, lr: float) -> tuple[Any, Row]:
        if self._rescale_grad != 1.0:
            grad = F.mul(grad, self._rescale_grad)
        params = self._momentum, self._coeff, state.hyper, self._epsilon
        op = self._adapting if state.hyper > 0.0 else self._plain
        return op, (state.outs, (state.target, grad, state.values[0], lr), params)
