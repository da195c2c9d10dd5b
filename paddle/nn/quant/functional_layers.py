"""Functions as layers: a quantizer replaces or observes layers, and these stand where a model would call a function.

The names are those of the reference framework, in lower case.
"""

from __future__ import annotations

from typing import Any

import paddle
from paddle._public import public
from paddle.nn.layer.layers import Layer
from umiak.core.tensor import Tensor

_HERE = "paddle.nn.quant"


@public(_HERE)
class FloatFunctionalLayer(Layer):
    """Base of the layers that call a function and have no parameters.

    Shape:
        Those of the function.

    Example:
        >>> import paddle
        >>> len(paddle.nn.quant.FloatFunctionalLayer().parameters())
        0
    """

    def __init__(self) -> None:
        super().__init__()


@public(_HERE)
class add(FloatFunctionalLayer):
    """Sum of two tensors, element by element, as a layer.

    Shape:
        x, y: tensors of shapes that broadcast.
        output: of the shape to which they broadcast.

    Example:
        >>> import paddle
        >>> paddle.nn.quant.add()(paddle.ones([2]), paddle.ones([2])).tolist()
        [2.0, 2.0]
    """

    def forward(self, x: Tensor, y: Any, name: str | None = None) -> Tensor:
        return paddle.add(x, y, name)


@public(_HERE)
class subtract(FloatFunctionalLayer):
    """Difference of two tensors, element by element, as a layer.

    Shape:
        x, y: tensors of shapes that broadcast.
        output: of the shape to which they broadcast.

    Example:
        >>> import paddle
        >>> paddle.nn.quant.subtract()(paddle.ones([2]), paddle.ones([2])).tolist()
        [0.0, 0.0]
    """

    def forward(self, x: Tensor, y: Any, name: str | None = None) -> Tensor:
        return paddle.subtract(x, y, name)


@public(_HERE)
class multiply(FloatFunctionalLayer):
    """Product of two tensors, element by element, as a layer.

    Shape:
        x, y: tensors of shapes that broadcast.
        output: of the shape to which they broadcast.

    Example:
        >>> import paddle
        >>> paddle.nn.quant.multiply()(paddle.full([2], 2.0), paddle.full([2], 3.0)).tolist()
        [6.0, 6.0]
    """

    def forward(self, x: Tensor, y: Any, name: str | None = None) -> Tensor:
        return paddle.multiply(x, y, name)


@public(_HERE)
class divide(FloatFunctionalLayer):
    """Quotient of two tensors, element by element, as a layer.

    Shape:
        x, y: tensors of shapes that broadcast.
        output: of the shape to which they broadcast.

    Example:
        >>> import paddle
        >>> paddle.nn.quant.divide()(paddle.ones([2]), paddle.full([2], 2.0)).tolist()
        [0.5, 0.5]
    """

    def forward(self, x: Tensor, y: Any, name: str | None = None) -> Tensor:
        return paddle.divide(x, y, name)


@public(_HERE)
class reshape(FloatFunctionalLayer):
    """Tensor of another shape, as a layer.

    Shape:
        x: tensor of any shape.
        output: of the shape of the call.

    Example:
        >>> import paddle
        >>> paddle.nn.quant.reshape()(paddle.ones([2, 3]), [3, 2]).shape == [3, 2]
        True
    """

    def forward(self, x: Tensor, shape: Any, name: str | None = None) -> Tensor:
        return paddle.reshape(x, shape, name=name)


@public(_HERE)
class transpose(FloatFunctionalLayer):
    """Tensor with its axes in another order, as a layer.

    Shape:
        x: tensor of any shape.
        output: axis i is axis ``perm[i]`` of x.

    Example:
        >>> import paddle
        >>> paddle.nn.quant.transpose()(paddle.ones([2, 3]), [1, 0]).shape == [3, 2]
        True
    """

    def forward(self, x: Tensor, perm: Any, name: str | None = None) -> Tensor:
        return paddle.transpose(x, perm, name=name)


@public(_HERE)
class concat(FloatFunctionalLayer):
    """Tensors joined along an axis, as a layer.

    Shape:
        x: list of tensors that differ in the size of the axis at most.
        output: their sizes are added on the axis.

    Example:
        >>> import paddle
        >>> paddle.nn.quant.concat()([paddle.ones([2]), paddle.ones([3])]).shape == [5]
        True
    """

    def forward(self, x: Any, axis: int = 0, name: str | None = None) -> Tensor:
        return paddle.concat(x, axis, name=name)


@public(_HERE)
class flatten(FloatFunctionalLayer):
    """Tensor with neighbouring axes made one, as a layer.

    Shape:
        x: tensor of any shape.
        output: axes from ``start_axis`` to ``stop_axis`` are one.

    Example:
        >>> import paddle
        >>> paddle.nn.quant.flatten()(paddle.ones([2, 3, 4]), 1).shape == [2, 12]
        True
    """

    def forward(self, x: Tensor, start_axis: int = 0, stop_axis: int = -1, name: str | None = None) -> Tensor:
        return paddle.flatten(x, start_axis, stop_axis, name=name)


@public(_HERE)
class matmul(FloatFunctionalLayer):
    """Matrix product, as a layer.

    Shape:
        x: tensor ``[..., n, k]``; y: ``[..., k, m]``.
        output: ``[..., n, m]``.

    Example:
        >>> import paddle
        >>> paddle.nn.quant.matmul()(paddle.ones([2, 3]), paddle.ones([3, 4])).shape == [2, 4]
        True
    """

    def forward(
        self, x: Tensor, y: Tensor, transpose_x: bool = False, transpose_y: bool = False, name: str | None = None
    ) -> Tensor:
        return paddle.matmul(x, y, transpose_x, transpose_y, name=name)
