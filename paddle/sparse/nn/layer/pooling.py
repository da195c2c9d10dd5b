"""Pooling over sparse tensors as layers."""

from __future__ import annotations

from typing import Any

from paddle._public import public
from paddle.nn.layer.layers import Layer
from paddle.sparse.nn.functional import pooling as F
from umiak.core.tensor import Tensor


@public("paddle.sparse.nn")
class MaxPool3D(Layer):
    """Largest stored value of each window of a sparse tensor; windows without one are not stored.

    Args:
        kernel_size: sizes of the window, an int or three of them.
        stride: steps of the window, an int or three of them; None: the kernel_size.
        padding: room around space, an int, three ints, six ints or three pairs.
        return_mask: accepted; there is no mask.
        ceil_mode: whether windows that reach beyond the end count.
        data_format: ``"NDHWC"``.

    Shape:
        x: sparse COO tensor ``[b, d, h, w, channels]``, in which the channels are dense, floating.
        output: sparse COO tensor of the pooled shape and x's dtype.

    Raises:
        TypeError: in a call, an input that is no sparse COO tensor, or not floating.
        ValueError: in a call, shapes that do not fit, or another data_format.

    Example:
        >>> import paddle
        >>> where = [[0, 0], [0, 1], [0, 1], [0, 1]]
        >>> x = paddle.sparse.sparse_coo_tensor(where, [[-1.0], [-2.0]], [1, 2, 2, 2, 1])
        >>> paddle.sparse.nn.MaxPool3D(2)(x).values().tolist()
        [[-1.0]]
    """

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        return_mask: bool = False,
        ceil_mode: bool = False,
        data_format: str = "NDHWC",
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.ksize = kernel_size
        self.stride = stride
        self.padding = padding
        self.return_mask = return_mask
        self.ceil_mode = ceil_mode
        self.data_format = data_format
        self.name = name

    def forward(self, x: Tensor) -> Tensor:
        return F.max_pool3d(x, self.ksize, self.stride, self.padding, self.ceil_mode, self.data_format)

    def extra_repr(self) -> str:
        return f"kernel_size={self.ksize}, stride={self.stride}, padding={self.padding}"
