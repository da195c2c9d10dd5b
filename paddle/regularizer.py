"""Penalties on parameters: what an optimizer adds to their gradients."""

from __future__ import annotations

from umiak import ops as F
from umiak.core.tensor import Tensor


class WeightDecayRegularizer:
    """Base: called with a parameter and its gradient, returns the gradient with the penalty's derivative added."""

    def __call__(self, param: Tensor, grad: Tensor, block: object = None) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} defines no penalty")


class L1Decay(WeightDecayRegularizer):
    """The penalty ``coeff * sum |param|``: adds ``coeff * sign(param)``.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Linear(2, 2, weight_attr=paddle.ParamAttr(regularizer=paddle.regularizer.L1Decay(0.01)))
        >>> layer.weight.regularizer
        L1Decay, coeff=0.010000
    """

    def __init__(self, coeff: float = 0.0) -> None:
        self._coeff = float(coeff)

    def __call__(self, param: Tensor, grad: Tensor, block: object = None) -> Tensor:
        return F.penalised(grad, param, self._coeff, l1=True)

    def __repr__(self) -> str:
        return f"L1Decay, coeff={self._coeff:f}"


class L2Decay(WeightDecayRegularizer):
    """The penalty ``coeff / 2 * sum param²``: adds ``coeff * param``.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Linear(2, 2)
        >>> opt = paddle.optimizer.SGD(0.1, layer.parameters(), weight_decay=paddle.regularizer.L2Decay(0.01))
    """

    def __init__(self, coeff: float = 0.0) -> None:
        self._coeff = float(coeff)

    def __call__(self, param: Tensor, grad: Tensor, block: object = None) -> Tensor:
        return F.penalised(grad, param, self._coeff)

    def __repr__(self) -> str:
        return f"L2Decay, coeff={self._coeff:f}"
