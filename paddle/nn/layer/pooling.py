"""Pooling as layers."""

from __future__ import annotations

from typing import Any

import paddle.nn.functional as F
from paddle._public import also, public
from paddle.nn.layer._synonyms import Synonym
from paddle.nn.layer.layers import Layer
from umiak.core.tensor import Tensor


class _Pool(Layer):
    """Shared by pooling with windows."""

    kernel_size: Any
    stride: Any
    padding: Any
    ksize = Synonym("kernel_size")

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _AdaptivePool(Layer):
    """Shared by pooling into a number of regions."""

    _output_size: Any
    output_size = Synonym("_output_size")
    name = Synonym("_name")

    def extra_repr(self) -> str:
        return f"output_size={self._output_size}"


class _AdaptiveMaxPool(_AdaptivePool):
    """Shared by maxima of regions."""

    _return_mask: bool
    return_mask = Synonym("_return_mask")
    return_indices = Synonym("_return_mask")

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, return_mask={self._return_mask}"


class _LPPool(_Pool):
    """Shared by norms of windows."""

    norm_type: float

    def extra_repr(self) -> str:
        return f"norm_type={self.norm_type}, {super().extra_repr()}"


class _MaxUnPool(_Pool):
    """Shared by inverses of max pooling."""

    output_size: Any

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


@public("paddle.nn")
class MaxPool1D(_Pool):
    """Maximum of each window of sequences.

    Args:
        kernel_size: size of windows, one int, or one for each spatial dim; 1 or more.
        stride: distance of windows, one int, or one for each spatial dim; the kernel's size by default.
        padding: as for ``conv1d``: pads are never the maximum.
        return_mask: return also the flat index of each maximum within its channel, int32.
        ceil_mode: take a last window also where it is partly outside.

    Shape:
        input: ``[N, C, L]``.
        output: ``[N, C, *out]`` of the input's dtype.

    Raises:
        ValueError: in a call, windows that do not fit, or an unknown padding or format.

    Example:
        >>> import paddle
        >>> paddle.nn.MaxPool1D(2)(paddle.ones([1, 2, 4])).shape
        paddle.Size([1, 2, 2])
    """

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        return_mask: bool = False,
        ceil_mode: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.return_mask = return_mask
        self.ceil_mode = ceil_mode
        self.name = name

    def forward(self, input: Tensor) -> Any:
        return F.max_pool1d(input, self.kernel_size, self.stride, self.padding, self.return_mask, self.ceil_mode)


@public("paddle.nn")
class AvgPool1D(_Pool):
    """Mean of each window of sequences.

    Args:
        kernel_size: size of windows, one int, or one for each spatial dim; 1 or more.
        stride: distance of windows, one int, or one for each spatial dim; the kernel's size by default.
        padding: as for ``conv1d``: zeros are added.
        exclusive: leave pads out of the mean. Otherwise they count, those at the end of a dim as far as there are as
            many at its beginning.
        ceil_mode: take a last window also where it is partly outside.

    Shape:
        input: ``[N, C, L]``, floating.
        output: ``[N, C, *out]`` of the input's dtype.

    Raises:
        ValueError: in a call, windows that do not fit, or an unknown padding or format.

    Example:
        >>> import paddle
        >>> paddle.nn.AvgPool1D(2)(paddle.ones([1, 2, 4])).shape
        paddle.Size([1, 2, 2])
    """

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        exclusive: bool = True,
        ceil_mode: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.exclusive = exclusive
        self.ceil_mode = ceil_mode
        self.name = name

    def forward(self, x: Tensor) -> Tensor:
        return F.avg_pool1d(x, self.kernel_size, self.stride, self.padding, self.exclusive, self.ceil_mode)


@public("paddle.nn")
class MaxPool2D(_Pool):
    """Maximum of each window of images.

    Args:
        kernel_size: size of windows, one int, or one for each spatial dim; 1 or more.
        stride: distance of windows, one int, or one for each spatial dim; the kernel's size by default.
        padding: as for ``conv2d``: pads are never the maximum.
        return_mask: return also the flat index of each maximum within its channel, int32; channels first only.
        ceil_mode: take a last window also where it is partly outside.
        data_format: ``"NCHW"`` or ``"NHWC"``, the order of dims of input and output.

    Shape:
        input: ``[N, C, H, W]``, or ``[N, H, W, C]`` with ``data_format="NHWC"``.
        output: ``[N, C, *out]`` of the input's dtype, channels last where the input has them last.

    Raises:
        ValueError: in a call, windows that do not fit, or an unknown padding or format.

    Example:
        >>> import paddle
        >>> paddle.nn.MaxPool2D(2)(paddle.ones([1, 2, 4, 4])).shape
        paddle.Size([1, 2, 2, 2])
    """

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        return_mask: bool = False,
        ceil_mode: bool = False,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.return_mask = return_mask
        self.ceil_mode = ceil_mode
        self.data_format = data_format
        self.name = name

    def forward(self, x: Tensor) -> Any:
        return F.max_pool2d(
            x, self.kernel_size, self.stride, self.padding, self.return_mask, self.ceil_mode, self.data_format
        )


@public("paddle.nn")
class AvgPool2D(_Pool):
    """Mean of each window of images.

    Args:
        kernel_size: size of windows, one int, or one for each spatial dim; 1 or more.
        stride: distance of windows, one int, or one for each spatial dim; the kernel's size by default.
        padding: as for ``conv2d``: zeros are added.
        ceil_mode: take a last window also where it is partly outside.
        exclusive: leave pads out of the mean. Otherwise they count, those at the end of a dim as far as there are as
            many at its beginning.
        divisor_override: divide sums by this number instead of the count.
        data_format: ``"NCHW"`` or ``"NHWC"``, the order of dims of input and output.

    Shape:
        input: ``[N, C, H, W]``, or ``[N, H, W, C]`` with ``data_format="NHWC"``, floating.
        output: ``[N, C, *out]`` of the input's dtype, channels last where the input has them last.

    Raises:
        ValueError: in a call, windows that do not fit, or an unknown padding or format.

    Example:
        >>> import paddle
        >>> paddle.nn.AvgPool2D(2)(paddle.ones([1, 2, 4, 4])).shape
        paddle.Size([1, 2, 2, 2])
    """

    divisor = Synonym("divisor_override")

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        exclusive: bool = True,
        divisor_override: int | None = None,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.exclusive = exclusive
        self.divisor_override = divisor_override
        self.data_format = data_format
        self.name = name

    def forward(self, x: Tensor) -> Tensor:
        return F.avg_pool2d(
            x,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.exclusive,
            self.divisor_override,
            self.data_format,
        )


@public("paddle.nn")
class MaxPool3D(_Pool):
    """Maximum of each window of volumes.

    Args:
        kernel_size: size of windows, one int, or one for each spatial dim; 1 or more.
        stride: distance of windows, one int, or one for each spatial dim; the kernel's size by default.
        padding: as for ``conv3d``: pads are never the maximum.
        return_mask: return also the flat index of each maximum within its channel, int32; channels first only.
        ceil_mode: take a last window also where it is partly outside.
        data_format: ``"NCDHW"`` or ``"NDHWC"``, the order of dims of input and output.

    Shape:
        input: ``[N, C, D, H, W]``, or ``[N, D, H, W, C]`` with ``data_format="NDHWC"``.
        output: ``[N, C, *out]`` of the input's dtype, channels last where the input has them last.

    Raises:
        ValueError: in a call, windows that do not fit, or an unknown padding or format.

    Example:
        >>> import paddle
        >>> paddle.nn.MaxPool3D(2)(paddle.ones([1, 2, 4, 4, 4])).shape
        paddle.Size([1, 2, 2, 2, 2])
    """

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        return_mask: bool = False,
        ceil_mode: bool = False,
        data_format: str = "NCDHW",
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.return_mask = return_mask
        self.ceil_mode = ceil_mode
        self.data_format = data_format
        self.name = name

    def forward(self, x: Tensor) -> Any:
        return F.max_pool3d(
            x, self.kernel_size, self.stride, self.padding, self.return_mask, self.ceil_mode, self.data_format
        )


@public("paddle.nn")
class AvgPool3D(_Pool):
    """Mean of each window of volumes.

    Args:
        kernel_size: size of windows, one int, or one for each spatial dim; 1 or more.
        stride: distance of windows, one int, or one for each spatial dim; the kernel's size by default.
        padding: as for ``conv3d``: zeros are added.
        ceil_mode: take a last window also where it is partly outside.
        exclusive: leave pads out of the mean. Otherwise they count, those at the end of a dim as far as there are as
            many at its beginning.
        divisor_override: divide sums by this number instead of the count.
        data_format: ``"NCDHW"`` or ``"NDHWC"``, the order of dims of input and output.

    Shape:
        input: ``[N, C, D, H, W]``, or ``[N, D, H, W, C]`` with ``data_format="NDHWC"``, floating.
        output: ``[N, C, *out]`` of the input's dtype, channels last where the input has them last.

    Raises:
        ValueError: in a call, windows that do not fit, or an unknown padding or format.

    Example:
        >>> import paddle
        >>> paddle.nn.AvgPool3D(2)(paddle.ones([1, 2, 4, 4, 4])).shape
        paddle.Size([1, 2, 2, 2, 2])
    """

    divisor = Synonym("divisor_override")

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        exclusive: bool = True,
        divisor_override: int | None = None,
        data_format: str = "NCDHW",
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.exclusive = exclusive
        self.divisor_override = divisor_override
        self.data_format = data_format
        self.name = name

    def forward(self, x: Tensor) -> Tensor:
        return F.avg_pool3d(
            x,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.exclusive,
            self.divisor_override,
            self.data_format,
        )


@public("paddle.nn")
class AdaptiveAvgPool1D(_AdaptivePool):
    """Mean of each of ``output_size`` regions that divide sequences evenly.

    Args:
        output_size: how many regions, one int, or one for each spatial dim; None keeps a dim.

    Shape:
        input: ``[N, C, L]``, floating.
        output: ``[N, C, *out]`` of the input's dtype.

    Raises:
        ValueError: in a call, another rank, number of sizes or format.

    Example:
        >>> import paddle
        >>> paddle.nn.AdaptiveAvgPool1D(3)(paddle.ones([1, 2, 4])).shape
        paddle.Size([1, 2, 3])
    """

    def __init__(self, output_size: Any, name: str | None = None) -> None:
        super().__init__()
        self._output_size = output_size
        self._name = name

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool1d(input, self._output_size)


AdaptiveAvgPool1d = also(AdaptiveAvgPool1D, "AdaptiveAvgPool1d", "paddle.nn")


@public("paddle.nn", aliases={"return_indices": "return_mask"})
class AdaptiveMaxPool1D(_AdaptiveMaxPool):
    """Maximum of each of ``output_size`` regions that divide sequences evenly.

    Args:
        output_size: how many regions, one int, or one for each spatial dim; None keeps a dim.
        return_mask: return also the flat index of each maximum within its channel, int32.

    Shape:
        input: ``[N, C, L]``.
        output: ``[N, C, *out]`` of the input's dtype.

    Raises:
        ValueError: in a call, another rank or number of sizes.

    Example:
        >>> import paddle
        >>> paddle.nn.AdaptiveMaxPool1D(3)(paddle.ones([1, 2, 4])).shape
        paddle.Size([1, 2, 3])
    """

    def __init__(self, output_size: Any, return_mask: bool = False, name: str | None = None) -> None:
        super().__init__()
        self._output_size = output_size
        self._return_mask = return_mask
        self._name = name

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool1d(input, self._output_size, self._return_mask)


AdaptiveMaxPool1d = also(AdaptiveMaxPool1D, "AdaptiveMaxPool1d", "paddle.nn")


@public("paddle.nn")
class AdaptiveAvgPool2D(_AdaptivePool):
    """Mean of each of ``output_size`` regions that divide images evenly.

    Args:
        output_size: how many regions, one int, or one for each spatial dim; None keeps a dim.
        data_format: ``"NCHW"`` or ``"NHWC"``, the order of dims of input and output.

    Shape:
        input: ``[N, C, H, W]``, or ``[N, H, W, C]`` with ``data_format="NHWC"``, floating.
        output: ``[N, C, *out]`` of the input's dtype, channels last where the input has them last.

    Raises:
        ValueError: in a call, another rank, number of sizes or format.

    Example:
        >>> import paddle
        >>> paddle.nn.AdaptiveAvgPool2D(3)(paddle.ones([1, 2, 4, 4])).shape
        paddle.Size([1, 2, 3, 3])
    """

    def __init__(self, output_size: Any, data_format: str = "NCHW", name: str | None = None) -> None:
        super().__init__()
        self._output_size = output_size
        self._data_format = data_format
        self._name = name

    def forward(self, x: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(x, self._output_size, self._data_format)


AdaptiveAvgPool2d = also(AdaptiveAvgPool2D, "AdaptiveAvgPool2d", "paddle.nn")


@public("paddle.nn", aliases={"return_indices": "return_mask"})
class AdaptiveMaxPool2D(_AdaptiveMaxPool):
    """Maximum of each of ``output_size`` regions that divide images evenly.

    Args:
        output_size: how many regions, one int, or one for each spatial dim; None keeps a dim.
        return_mask: return also the flat index of each maximum within its channel, int32.

    Shape:
        input: ``[N, C, H, W]``.
        output: ``[N, C, *out]`` of the input's dtype.

    Raises:
        ValueError: in a call, another rank or number of sizes.

    Example:
        >>> import paddle
        >>> paddle.nn.AdaptiveMaxPool2D(3)(paddle.ones([1, 2, 4, 4])).shape
        paddle.Size([1, 2, 3, 3])
    """

    def __init__(self, output_size: Any, return_mask: bool = False, name: str | None = None) -> None:
        super().__init__()
        self._output_size = output_size
        self._return_mask = return_mask
        self._name = name

    def forward(self, x: Tensor) -> Any:
        return F.adaptive_max_pool2d(x, self._output_size, self._return_mask)


AdaptiveMaxPool2d = also(AdaptiveMaxPool2D, "AdaptiveMaxPool2d", "paddle.nn")


@public("paddle.nn")
class AdaptiveAvgPool3D(_AdaptivePool):
    """Mean of each of ``output_size`` regions that divide volumes evenly.

    Args:
        output_size: how many regions, one int, or one for each spatial dim; None keeps a dim.
        data_format: ``"NCDHW"`` or ``"NDHWC"``, the order of dims of input and output.

    Shape:
        input: ``[N, C, D, H, W]``, or ``[N, D, H, W, C]`` with ``data_format="NDHWC"``, floating.
        output: ``[N, C, *out]`` of the input's dtype, channels last where the input has them last.

    Raises:
        ValueError: in a call, another rank, number of sizes or format.

    Example:
        >>> import paddle
        >>> paddle.nn.AdaptiveAvgPool3D(3)(paddle.ones([1, 2, 4, 4, 4])).shape
        paddle.Size([1, 2, 3, 3, 3])
    """

    def __init__(self, output_size: Any, data_format: str = "NCDHW", name: str | None = None) -> None:
        super().__init__()
        self._output_size = output_size
        self._data_format = data_format
        self._name = name

    def forward(self, x: Tensor) -> Tensor:
        return F.adaptive_avg_pool3d(x, self._output_size, self._data_format)


AdaptiveAvgPool3d = also(AdaptiveAvgPool3D, "AdaptiveAvgPool3d", "paddle.nn")


@public("paddle.nn", aliases={"return_indices": "return_mask"})
class AdaptiveMaxPool3D(_AdaptiveMaxPool):
    """Maximum of each of ``output_size`` regions that divide volumes evenly.

    Args:
        output_size: how many regions, one int, or one for each spatial dim; None keeps a dim.
        return_mask: return also the flat index of each maximum within its channel, int32.

    Shape:
        input: ``[N, C, D, H, W]``.
        output: ``[N, C, *out]`` of the input's dtype.

    Raises:
        ValueError: in a call, another rank or number of sizes.

    Example:
        >>> import paddle
        >>> paddle.nn.AdaptiveMaxPool3D(3)(paddle.ones([1, 2, 4, 4, 4])).shape
        paddle.Size([1, 2, 3, 3, 3])
    """

    def __init__(self, output_size: Any, return_mask: bool = False, name: str | None = None) -> None:
        super().__init__()
        self._output_size = output_size
        self._return_mask = return_mask
        self._name = name

    def forward(self, x: Tensor) -> Any:
        return F.adaptive_max_pool3d(x, self._output_size, self._return_mask)


AdaptiveMaxPool3d = also(AdaptiveMaxPool3D, "AdaptiveMaxPool3d", "paddle.nn")


@public("paddle.nn")
class LPPool1D(_LPPool):
    """Norm of each window of sequences: ``(sum of x**norm_type) ** (1/norm_type)``.

    Args:
        norm_type: order of the norm, any number but 0; infinity takes the maximum, minus infinity the smallest
            magnitude.
        kernel_size: size of windows, one int, or one for each spatial dim; 1 or more.
        stride: distance of windows, one int, or one for each spatial dim; the kernel's size by default.
        padding: as for ``conv1d``: zeros are added.
        ceil_mode: take a last window also where it is partly outside.
        data_format: ``"NCL"`` or ``"NLC"``, the order of dims of input and output.

    Shape:
        input: ``[N, C, L]``, or ``[N, L, C]`` with ``data_format="NLC"``, floating.
        output: ``[N, C, *out]`` of the input's dtype, channels last where the input has them last.

    Raises:
        ValueError: in a call, ``norm_type`` is 0, windows that do not fit, or an unknown padding or format.

    Example:
        >>> import paddle
        >>> paddle.nn.LPPool1D(2, 2)(paddle.ones([1, 2, 4])).shape
        paddle.Size([1, 2, 2])
    """

    def __init__(
        self,
        norm_type: float,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        data_format: str = "NCL",
        name: str | None = None,
    ) -> None:
        super().__init__()
        if isinstance(padding, bool):
            # In PyTorch's order: LPPool(norm_type, kernel_size, stride, ceil_mode).
            padding, ceil_mode = 0, padding
        self.norm_type = float(norm_type)
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.data_format = data_format
        self.name = name

    def forward(self, x: Tensor) -> Tensor:
        return F.lp_pool1d(
            x, self.norm_type, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.data_format
        )


LPPool1d = also(LPPool1D, "LPPool1d", "paddle.nn")


@public("paddle.nn")
class LPPool2D(_LPPool):
    """Norm of each window of images: ``(sum of x**norm_type) ** (1/norm_type)``.

    Args:
        norm_type: order of the norm, any number but 0; infinity takes the maximum, minus infinity the smallest
            magnitude.
        kernel_size: size of windows, one int, or one for each spatial dim; 1 or more.
        stride: distance of windows, one int, or one for each spatial dim; the kernel's size by default.
        padding: as for ``conv2d``: zeros are added.
        ceil_mode: take a last window also where it is partly outside.
        data_format: ``"NCHW"`` or ``"NHWC"``, the order of dims of input and output.

    Shape:
        input: ``[N, C, H, W]``, or ``[N, H, W, C]`` with ``data_format="NHWC"``, floating.
        output: ``[N, C, *out]`` of the input's dtype, channels last where the input has them last.

    Raises:
        ValueError: in a call, ``norm_type`` is 0, windows that do not fit, or an unknown padding or format.

    Example:
        >>> import paddle
        >>> paddle.nn.LPPool2D(2, 2)(paddle.ones([1, 2, 4, 4])).shape
        paddle.Size([1, 2, 2, 2])
    """

    def __init__(
        self,
        norm_type: float,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__()
        if isinstance(padding, bool):
            # In PyTorch's order: LPPool(norm_type, kernel_size, stride, ceil_mode).
            padding, ceil_mode = 0, padding
        self.norm_type = float(norm_type)
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.data_format = data_format
        self.name = name

    def forward(self, x: Tensor) -> Tensor:
        return F.lp_pool2d(
            x, self.norm_type, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.data_format
        )


LPPool2d = also(LPPool2D, "LPPool2d", "paddle.nn")


@public("paddle.nn")
class MaxUnPool1D(_MaxUnPool):
    """Inverse of max pooling of sequences: each value at the position that its index names, zeros elsewhere.

    Args:
        kernel_size: that of the pooling, one int, or one for each spatial dim.
        stride: that of the pooling, one int, or one for each spatial dim; the kernel's size by default.
        padding: that of the pooling, one int, or one for each spatial dim.
        data_format: ``"NCL"``.
        output_size: sizes of the result's spatial dims; by default the smallest that the pooling can have had.

    Shape:
        input: ``[N, C, L]``.
        indices: the mask of the pooling, of the input's shape.
        output: ``[N, C, *out]`` of the input's dtype.

    Raises:
        ValueError: in a call, shapes that do not fit, or another format.

    Example:
        >>> import paddle
        >>> x = paddle.arange(4.0).reshape([1, 1, 4])
        >>> y, indices = paddle.nn.functional.max_pool1d(x, 2, return_mask=True)
        >>> paddle.nn.MaxUnPool1D(2)(y, indices).shape
        paddle.Size([1, 1, 4])
    """

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        data_format: str = "NCL",
        output_size: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.data_format = data_format
        self.output_size = output_size
        self.name = name

    def forward(self, x: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        size = self.output_size if output_size is None else output_size
        return F.max_unpool1d(x, indices, self.kernel_size, self.stride, self.padding, self.data_format, size)


MaxUnpool1d = also(MaxUnPool1D, "MaxUnpool1d", "paddle.nn")


@public("paddle.nn")
class MaxUnPool2D(_MaxUnPool):
    """Inverse of max pooling of images: each value at the position that its index names, zeros elsewhere.

    Args:
        kernel_size: that of the pooling, one int, or one for each spatial dim.
        stride: that of the pooling, one int, or one for each spatial dim; the kernel's size by default.
        padding: that of the pooling, one int, or one for each spatial dim.
        data_format: ``"NCHW"``.
        output_size: sizes of the result's spatial dims; by default the smallest that the pooling can have had.

    Shape:
        input: ``[N, C, H, W]``.
        indices: the mask of the pooling, of the input's shape.
        output: ``[N, C, *out]`` of the input's dtype.

    Raises:
        ValueError: in a call, shapes that do not fit, or another format.

    Example:
        >>> import paddle
        >>> x = paddle.arange(16.0).reshape([1, 1, 4, 4])
        >>> y, indices = paddle.nn.functional.max_pool2d(x, 2, return_mask=True)
        >>> paddle.nn.MaxUnPool2D(2)(y, indices).shape
        paddle.Size([1, 1, 4, 4])
    """

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        data_format: str = "NCHW",
        output_size: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.data_format = data_format
        self.output_size = output_size
        self.name = name

    def forward(self, x: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        size = self.output_size if output_size is None else output_size
        return F.max_unpool2d(x, indices, self.kernel_size, self.stride, self.padding, self.data_format, size)


MaxUnpool2d = also(MaxUnPool2D, "MaxUnpool2d", "paddle.nn")


@public("paddle.nn")
class MaxUnPool3D(_MaxUnPool):
    """Inverse of max pooling of volumes: each value at the position that its index names, zeros elsewhere.

    Args:
        kernel_size: that of the pooling, one int, or one for each spatial dim.
        stride: that of the pooling, one int, or one for each spatial dim; the kernel's size by default.
        padding: that of the pooling, one int, or one for each spatial dim.
        data_format: ``"NCDHW"``.
        output_size: sizes of the result's spatial dims; by default the smallest that the pooling can have had.

    Shape:
        input: ``[N, C, D, H, W]``.
        indices: the mask of the pooling, of the input's shape.
        output: ``[N, C, *out]`` of the input's dtype.

    Raises:
        ValueError: in a call, shapes that do not fit, or another format.

    Example:
        >>> import paddle
        >>> x = paddle.arange(64.0).reshape([1, 1, 4, 4, 4])
        >>> y, indices = paddle.nn.functional.max_pool3d(x, 2, return_mask=True)
        >>> paddle.nn.MaxUnPool3D(2)(y, indices).shape
        paddle.Size([1, 1, 4, 4, 4])
    """

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        data_format: str = "NCDHW",
        output_size: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.data_format = data_format
        self.output_size = output_size
        self.name = name

    def forward(self, x: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        size = self.output_size if output_size is None else output_size
        return F.max_unpool3d(x, indices, self.kernel_size, self.stride, self.padding, self.data_format, size)


MaxUnpool3d = also(MaxUnPool3D, "MaxUnpool3d", "paddle.nn")


class _FractionalMaxPool(Layer):
    def __init__(
        self,
        output_size: Any,
        kernel_size: Any = None,
        random_u: float | None = None,
        return_mask: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self._output_size = output_size
        self._kernel_size = kernel_size
        self._random_u = random_u
        self._return_mask = return_mask
        self._name = name

    def extra_repr(self) -> str:
        return f"output_size={self._output_size}, return_mask={self._return_mask}"


@public("paddle.nn")
class FractionalMaxPool2D(_FractionalMaxPool):
    """Maximum of each of ``output_size`` windows of images, which a random number places.

    Args:
        output_size: how many windows, one int, or one for each spatial dim; None keeps a dim.
        kernel_size: size of windows, which then overlap; None: each ends where the next one starts.
        random_u: the random number, between 0 and 1; drawn at each call by default.
        return_mask: return also the flat index of each maximum within its channel, int32.

    Shape:
        input: ``[N, C, H, W]``, floating.
        output: ``[N, C, *output_size]`` of the input's dtype.

    Raises:
        ValueError: in a call, windows for which there is no room, or ``random_u`` out of its range.

    Example:
        >>> import paddle
        >>> paddle.nn.FractionalMaxPool2D(2)(paddle.ones([1, 2, 5, 5])).shape
        paddle.Size([1, 2, 2, 2])
    """

    def forward(self, x: Tensor) -> Any:
        return F.fractional_max_pool2d(x, self._output_size, self._kernel_size, self._random_u, self._return_mask)


@public("paddle.nn")
class FractionalMaxPool3D(_FractionalMaxPool):
    """Maximum of each of ``output_size`` windows of volumes, which a random number places.

    Args:
        output_size: how many windows, one int, or one for each spatial dim; None keeps a dim.
        kernel_size: size of windows, which then overlap; None: each ends where the next one starts.
        random_u: the random number, between 0 and 1; drawn at each call by default.
        return_mask: return also the flat index of each maximum within its channel, int32.

    Shape:
        input: ``[N, C, D, H, W]``, floating.
        output: ``[N, C, *output_size]`` of the input's dtype.

    Raises:
        ValueError: in a call, windows for which there is no room, or ``random_u`` out of its range.

    Example:
        >>> import paddle
        >>> paddle.nn.FractionalMaxPool3D(2)(paddle.ones([1, 2, 5, 5, 5])).shape
        paddle.Size([1, 2, 2, 2, 2])
    """

    def forward(self, x: Tensor) -> Any:
        return F.fractional_max_pool3d(x, self._output_size, self._kernel_size, self._random_u, self._return_mask)
