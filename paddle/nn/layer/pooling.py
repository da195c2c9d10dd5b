"""Pooling as layers."""

from __future__ import annotations

from typing import Any

import paddle.nn.functional as F
from paddle._public import also, public
from paddle.nn.layer.layers import Layer
from umiak.core.tensor import Tensor


class _Pool(Layer):
    """Shared by pooling with windows."""

    kernel_size: Any
    stride: Any
    padding: Any

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _AdaptivePool(Layer):
    """Shared by pooling into a number of regions."""

    _output_size: Any

    def extra_repr(self) -> str:
        return f"output_size={self._output_size}"


@public("paddle.nn")
class MaxPool1D(_Pool):
    """The largest of each window of sequences; see ``paddle.nn.functional.max_pool1d``."""

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
    """The mean of each window of sequences; see ``paddle.nn.functional.avg_pool1d``."""

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
    """The largest of each window of images; see ``paddle.nn.functional.max_pool2d``."""

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
    """The mean of each window of images; see ``paddle.nn.functional.avg_pool2d``."""

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
    """The largest of each window of volumes; see ``paddle.nn.functional.max_pool3d``."""

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
    """The mean of each window of volumes; see ``paddle.nn.functional.avg_pool3d``."""

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
    """The mean of each of ``output_size`` regions that divide sequences evenly."""

    def __init__(self, output_size: Any, name: str | None = None) -> None:
        super().__init__()
        self._output_size = output_size
        self._name = name

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool1d(input, self._output_size)


AdaptiveAvgPool1d = also(AdaptiveAvgPool1D, "AdaptiveAvgPool1d", "paddle.nn")


@public("paddle.nn")
class AdaptiveMaxPool1D(_AdaptivePool):
    """The largest of each of ``output_size`` regions that divide sequences evenly."""

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
    """The mean of each of ``output_size`` regions that divide images evenly."""

    def __init__(self, output_size: Any, data_format: str = "NCHW", name: str | None = None) -> None:
        super().__init__()
        self._output_size = output_size
        self._data_format = data_format
        self._name = name

    def forward(self, x: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(x, self._output_size, self._data_format)


AdaptiveAvgPool2d = also(AdaptiveAvgPool2D, "AdaptiveAvgPool2d", "paddle.nn")


@public("paddle.nn")
class AdaptiveMaxPool2D(_AdaptivePool):
    """The largest of each of ``output_size`` regions that divide images evenly."""

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
    """The mean of each of ``output_size`` regions that divide volumes evenly."""

    def __init__(self, output_size: Any, data_format: str = "NCDHW", name: str | None = None) -> None:
        super().__init__()
        self._output_size = output_size
        self._data_format = data_format
        self._name = name

    def forward(self, x: Tensor) -> Tensor:
        return F.adaptive_avg_pool3d(x, self._output_size, self._data_format)


AdaptiveAvgPool3d = also(AdaptiveAvgPool3D, "AdaptiveAvgPool3d", "paddle.nn")


@public("paddle.nn")
class AdaptiveMaxPool3D(_AdaptivePool):
    """The largest of each of ``output_size`` regions that divide volumes evenly."""

    def __init__(self, output_size: Any, return_mask: bool = False, name: str | None = None) -> None:
        super().__init__()
        self._output_size = output_size
        self._return_mask = return_mask
        self._name = name

    def forward(self, x: Tensor) -> Any:
        return F.adaptive_max_pool3d(x, self._output_size, self._return_mask)


AdaptiveMaxPool3d = also(AdaptiveMaxPool3D, "AdaptiveMaxPool3d", "paddle.nn")


@public("paddle.nn")
class LPPool1D(_Pool):
    """``(sum of x**norm_type over each window) ** (1/norm_type)`` of sequences."""

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
        self.norm_type = norm_type
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
class LPPool2D(_Pool):
    """``(sum of x**norm_type over each window) ** (1/norm_type)`` of images."""

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
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
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
class MaxUnPool1D(_Pool):
    """Puts the largest of each window of sequences back to its place; see ``paddle.nn.functional.max_unpool1d``."""

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
class MaxUnPool2D(_Pool):
    """Puts the largest of each window of images back to its place; see ``paddle.nn.functional.max_unpool2d``."""

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
class MaxUnPool3D(_Pool):
    """Puts the largest of each window of volumes back to its place; see ``paddle.nn.functional.max_unpool3d``."""

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
    """The largest of regions of images with random borders; see ``paddle.nn.functional.fractional_max_pool2d``."""

    def forward(self, x: Tensor) -> Any:
        return F.fractional_max_pool2d(x, self._output_size, self._kernel_size, self._random_u, self._return_mask)


@public("paddle.nn")
class FractionalMaxPool3D(_FractionalMaxPool):
    """The largest of regions of volumes with random borders; see ``paddle.nn.functional.fractional_max_pool2d``."""

    def forward(self, x: Tensor) -> Any:
        return F.fractional_max_pool3d(x, self._output_size, self._kernel_size, self._random_u, self._return_mask)
