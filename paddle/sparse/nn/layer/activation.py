"""Activations of sparse tensors as layers."""

from __future__ import annotations

from paddle._public import public
from paddle.nn.layer.layers import Layer
from paddle.sparse.nn.functional import activation as F
from umiak.core.tensor import Tensor


@public("paddle.sparse.nn")
class ReLU(Layer):
    """Positive part of the values of a sparse tensor.

    Shape:
        x: sparse COO or CSR tensor of any shape.
        output: sparse tensor of x's positions and dtype.

    Raises:
        TypeError: in a call, an input that is not sparse.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_csr_tensor([0, 2], [0, 2], [-2.0, 8.0], [1, 3])
        >>> paddle.sparse.nn.ReLU()(x).values().tolist()
        [0.0, 8.0]
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__()
        self._name = name

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(x)

    def extra_repr(self) -> str:
        return f"name={self._name}" if self._name else ""


@public("paddle.sparse.nn")
class ReLU6(Layer):
    """Values of a sparse tensor, cut to what lies between 0 and 6.

    Shape:
        x: sparse COO or CSR tensor of any shape.
        output: sparse tensor of x's positions and dtype.

    Raises:
        TypeError: in a call, an input that is not sparse.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_csr_tensor([0, 2], [0, 2], [-2.0, 8.0], [1, 3])
        >>> paddle.sparse.nn.ReLU6()(x).values().tolist()
        [0.0, 6.0]
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__()
        self._name = name

    def forward(self, x: Tensor) -> Tensor:
        return F.relu6(x)

    def extra_repr(self) -> str:
        return f"name={self._name}" if self._name else ""


@public("paddle.sparse.nn")
class LeakyReLU(Layer):
    """Values of a sparse tensor, with negative ones scaled.

    Args:
        negative_slope: the factor of negative values.

    Shape:
        x: sparse COO or CSR tensor of any shape.
        output: sparse tensor of x's positions and dtype.

    Raises:
        TypeError: in a call, an input that is not sparse.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_csr_tensor([0, 2], [0, 2], [-2.0, 8.0], [1, 3])
        >>> paddle.sparse.nn.LeakyReLU(0.5)(x).values().tolist()
        [-1.0, 8.0]
    """

    def __init__(self, negative_slope: float = 0.01, name: str | None = None) -> None:
        super().__init__()
        self._negative_slope = negative_slope
        self._name = name

    def forward(self, x: Tensor) -> Tensor:
        return F.leaky_relu(x, self._negative_slope)

    def extra_repr(self) -> str:
        return f"name={self._name}" if self._name else ""


@public("paddle.sparse.nn")
class Softmax(Layer):
    """Softmax of the stored values along an axis; what is not stored does not count.

    Args:
        axis: a sparse axis, negative counted from the end.

    Shape:
        x: sparse COO or CSR tensor of any shape.
        output: sparse tensor of x's positions and dtype.

    Raises:
        TypeError: in a call, an input that is not sparse.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_csr_tensor([0, 2], [0, 2], [-2.0, 8.0], [1, 3])
        >>> [round(v, 4) for v in paddle.sparse.nn.Softmax()(x * 0.1).values().tolist()]
        [0.2689, 0.7311]
    """

    def __init__(self, axis: int = -1, name: str | None = None) -> None:
        super().__init__()
        self._axis = axis
        self._name = name

    def forward(self, x: Tensor) -> Tensor:
        return F.softmax(x, self._axis)

    def extra_repr(self) -> str:
        return f"name={self._name}" if self._name else ""
