"""Convolutions over sparse tensors as layers."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from paddle._public import public
from paddle.nn.functional._windows import ints
from paddle.nn.initializer import Normal
from paddle.nn.layer.layers import Layer
from paddle.sparse.nn.functional import conv as F
from umiak.core.tensor import Tensor


class _Conv(Layer):
    """Sizes, weight and bias of convolutions."""

    n: ClassVar[int]
    weight: Tensor
    bias: Tensor | None

    def _setup(
        self,
        channels: tuple[int, int],
        kernel_size: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        groups: int,
        padding_mode: str,
        attrs: tuple[Any, Any],
        data_format: str,
    ) -> None:
        op_name = type(self).__name__
        if groups != 1:
            raise ValueError(f"[{op_name}] requires groups=1, got {groups}")
        if padding_mode != "zeros":
            raise ValueError(f"[{op_name}] requires padding_mode 'zeros', got {padding_mode!r}")
        self._in_channels, self._out_channels = channels
        self._kernel_size = list(ints(kernel_size, self.n, op_name, "kernel_size"))
        self._stride = list(ints(stride, self.n, op_name, "stride"))
        self._dilation = list(ints(dilation, self.n, op_name, "dilation"))
        self._padding = padding
        self._padding_mode = padding_mode
        self._groups = groups
        self._data_format = data_format
        default = Normal(0.0, math.sqrt(2.0 / (math.prod(self._kernel_size) * channels[0])))
        self.weight = self.create_parameter([*self._kernel_size, *channels], attrs[0], default_initializer=default)
        self.bias = self.create_parameter([channels[1]], attrs[1], is_bias=True)

    def _arguments(self) -> tuple[Any, ...]:
        weights = (self.weight, self.bias)
        return (*weights, self._stride, self._padding, self._dilation, self._groups, self._data_format)

    def extra_repr(self) -> str:
        parts = [str(self._in_channels), str(self._out_channels), f"kernel_size={self._kernel_size}"]
        if self._stride != [1] * self.n:
            parts.append(f"stride={self._stride}")
        if self._padding != 0:
            parts.append(f"padding={self._padding}")
        if self._dilation != [1] * self.n:
            parts.append(f"dilation={self._dilation}")
        return ", ".join([*parts, f"data_format={self._data_format}"])


@public("paddle.sparse.nn")
class Conv2D(_Conv):
    """Convolution of a sparse tensor, with a result wherever the kernel meets a stored value.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the result.
        kernel_size: sizes of the kernel, an int or 2 of them.
        stride: steps of the kernel, an int or 2 of them.
        padding: zeros around space, an int, 2 ints, 4 ints or 2 pairs; ``"SAME"`` or ``"VALID"``.
        dilation: steps between the elements of the kernel, an int or 2 of them.
        groups: 1.
        padding_mode: ``"zeros"``.
        weight_attr: attributes of the weight, by default normal with the variance 2 / (kernel * in_channels).
        bias_attr: attributes of the bias, zeros by default; False for none.
        data_format: ``"NHWC"``.

    Shape:
        x: sparse COO tensor ``[b, h, w, in_channels]``, in which the channels are dense.
        output: sparse COO tensor of the convolution's shape, with out_channels.

    Attributes:
        weight: parameter of shape ``[*kernel_size, in_channels, out_channels]``.
        bias: parameter of shape ``[out_channels]``, or None.

    Raises:
        TypeError: in a call, an input that is no sparse COO tensor.
        ValueError: groups or a padding_mode that there is not; in a call, shapes that do not fit.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 0], [0, 1], [0, 1]], [[1.0], [2.0]], [1, 2, 2, 1])
        >>> paddle.sparse.nn.Conv2D(1, 4, 2)(x).shape
        paddle.Size([1, 1, 1, 4])
    """

    n = 2

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        padding_mode: str = "zeros",
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NHWC",
    ) -> None:
        super().__init__()
        channels, attrs = (in_channels, out_channels), (weight_attr, bias_attr)
        self._setup(channels, kernel_size, stride, padding, dilation, groups, padding_mode, attrs, data_format)

    def forward(self, x: Tensor) -> Tensor:
        return F.conv2d(x, *self._arguments())


@public("paddle.sparse.nn")
class Conv3D(_Conv):
    """Convolution of a sparse tensor, with a result wherever the kernel meets a stored value.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the result.
        kernel_size: sizes of the kernel, an int or 3 of them.
        stride: steps of the kernel, an int or 3 of them.
        padding: zeros around space, an int, 3 ints, 6 ints or 3 pairs; ``"SAME"`` or ``"VALID"``.
        dilation: steps between the elements of the kernel, an int or 3 of them.
        groups: 1.
        padding_mode: ``"zeros"``.
        weight_attr: attributes of the weight, by default normal with the variance 2 / (kernel * in_channels).
        bias_attr: attributes of the bias, zeros by default; False for none.
        data_format: ``"NDHWC"``.

    Shape:
        x: sparse COO tensor ``[b, d, h, w, in_channels]``, in which the channels are dense.
        output: sparse COO tensor of the convolution's shape, with out_channels.

    Attributes:
        weight: parameter of shape ``[*kernel_size, in_channels, out_channels]``.
        bias: parameter of shape ``[out_channels]``, or None.

    Raises:
        TypeError: in a call, an input that is no sparse COO tensor.
        ValueError: groups or a padding_mode that there is not; in a call, shapes that do not fit.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 0], [0, 1], [0, 1], [0, 1]], [[1.0], [2.0]], [1, 2, 2, 2, 1])
        >>> paddle.sparse.nn.Conv3D(1, 4, 2)(x).shape
        paddle.Size([1, 1, 1, 1, 4])
    """

    n = 3

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        padding_mode: str = "zeros",
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NDHWC",
    ) -> None:
        super().__init__()
        channels, attrs = (in_channels, out_channels), (weight_attr, bias_attr)
        self._setup(channels, kernel_size, stride, padding, dilation, groups, padding_mode, attrs, data_format)

    def forward(self, x: Tensor) -> Tensor:
        return F.conv3d(x, *self._arguments())


@public("paddle.sparse.nn")
class SubmConv2D(_Conv):
    """Submanifold convolution of a sparse tensor, with results at its own positions.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the result.
        kernel_size: sizes of the kernel, an int or 2 of them.
        stride: 1, or a list of them.
        padding: accepted; the kernel stands on each position.
        dilation: steps between the elements of the kernel, an int or 2 of them.
        groups: 1.
        padding_mode: ``"zeros"``.
        key: accepted; what is computed of positions is kept with them.
        weight_attr: attributes of the weight, by default normal with the variance 2 / (kernel * in_channels).
        bias_attr: attributes of the bias, zeros by default; False for none.
        data_format: ``"NHWC"``.
        backend: None or ``"igemm"``, which compute the same.

    Shape:
        x: sparse COO tensor ``[b, h, w, in_channels]``, in which the channels are dense.
        output: sparse COO tensor of x's positions, with out_channels.

    Attributes:
        weight: parameter of shape ``[*kernel_size, in_channels, out_channels]``.
        bias: parameter of shape ``[out_channels]``, or None.

    Raises:
        TypeError: in a call, an input that is no sparse COO tensor.
        ValueError: groups or a padding_mode that there is not; in a call, shapes that do not fit.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 0], [0, 1], [0, 1]], [[1.0], [2.0]], [1, 2, 2, 1])
        >>> paddle.sparse.nn.SubmConv2D(1, 4, 3)(x).shape
        paddle.Size([1, 2, 2, 4])
    """

    n = 2

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        padding_mode: str = "zeros",
        key: str | None = None,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NHWC",
        backend: str | None = None,
    ) -> None:
        super().__init__()
        if backend not in (None, "igemm"):
            raise ValueError(f"[{type(self).__name__}] requires backend None or 'igemm', got {backend!r}")
        channels, attrs = (in_channels, out_channels), (weight_attr, bias_attr)
        self._setup(channels, kernel_size, stride, padding, dilation, groups, padding_mode, attrs, data_format)
        self._key = key
        self._backend = backend

    def forward(self, x: Tensor) -> Tensor:
        function = F.subm_conv2d if self._backend is None else F.subm_conv2d_igemm
        return function(x, *self._arguments(), self._key)  # type: ignore[call-arg, unused-ignore]


@public("paddle.sparse.nn")
class SubmConv3D(_Conv):
    """Submanifold convolution of a sparse tensor, with results at its own positions.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the result.
        kernel_size: sizes of the kernel, an int or 3 of them.
        stride: 1, or a list of them.
        padding: accepted; the kernel stands on each position.
        dilation: steps between the elements of the kernel, an int or 3 of them.
        groups: 1.
        padding_mode: ``"zeros"``.
        key: accepted; what is computed of positions is kept with them.
        weight_attr: attributes of the weight, by default normal with the variance 2 / (kernel * in_channels).
        bias_attr: attributes of the bias, zeros by default; False for none.
        data_format: ``"NDHWC"``.
        backend: None or ``"igemm"``, which compute the same.

    Shape:
        x: sparse COO tensor ``[b, d, h, w, in_channels]``, in which the channels are dense.
        output: sparse COO tensor of x's positions, with out_channels.

    Attributes:
        weight: parameter of shape ``[*kernel_size, in_channels, out_channels]``.
        bias: parameter of shape ``[out_channels]``, or None.

    Raises:
        TypeError: in a call, an input that is no sparse COO tensor.
        ValueError: groups or a padding_mode that there is not; in a call, shapes that do not fit.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 0], [0, 1], [0, 1], [0, 1]], [[1.0], [2.0]], [1, 2, 2, 2, 1])
        >>> paddle.sparse.nn.SubmConv3D(1, 4, 3)(x).shape
        paddle.Size([1, 2, 2, 2, 4])
    """

    n = 3

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        padding_mode: str = "zeros",
        key: str | None = None,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NDHWC",
        backend: str | None = None,
    ) -> None:
        super().__init__()
        if backend not in (None, "igemm"):
            raise ValueError(f"[{type(self).__name__}] requires backend None or 'igemm', got {backend!r}")
        channels, attrs = (in_channels, out_channels), (weight_attr, bias_attr)
        self._setup(channels, kernel_size, stride, padding, dilation, groups, padding_mode, attrs, data_format)
        self._key = key
        self._backend = backend

    def forward(self, x: Tensor) -> Tensor:
        function = F.subm_conv3d if self._backend is None else F.subm_conv3d_igemm
        return function(x, *self._arguments(), self._key)  # type: ignore[call-arg, unused-ignore]
