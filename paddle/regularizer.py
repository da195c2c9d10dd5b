"""Penalties on parameters: what an optimizer adds to their gradients."""

from __future__ import annotations

from umiak import ops as F
from umiak.core.tensor import Tensor


class WeightDecayRegularizer:
    """Base of penalties: called with a parameter and its gradient, adds the penalty's derivative.

    A subclass defines ``__call__(param, grad, block=None)``, which returns the new gradient.

    Example:
        >>> import paddle
        >>> class Towards(paddle.regularizer.WeightDecayRegularizer):
        ...     def __call__(self, param, grad, block=None):
        ...         return grad + (param - 1.0)
        >>> x = paddle.create_parameter([1], "float32", default_initializer=paddle.nn.initializer.Constant(3.0))
        >>> opt = paddle.optimizer.SGD(0.5, parameters=[x], weight_decay=Towards())
        >>> (x * 0.0).sum().backward()
        >>> opt.step()
        >>> x.tolist()
        [2.0]
    """

    def __call__(self, param: Tensor, grad: Tensor, block: object = None) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} defines no penalty")


class L1Decay(WeightDecayRegularizer):
    """Penalty ``coeff * sum |param|``: adds ``coeff * sign(param)`` to a gradient.

    Args:
        coeff: the coefficient.

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
    """Penalty ``coeff / 2 * sum param²``: adds ``coeff * param`` to a gradient.

    Args:
        coeff: the coefficient.

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
