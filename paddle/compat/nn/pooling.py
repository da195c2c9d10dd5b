"""Average pooling with PyTorch's parameters."""

from __future__ import annotations

from typing import Any

from paddle._public import also, public
from paddle.nn import functional as F
from paddle.nn.layer.layers import Layer
from umiak import ops
from umiak.core.tensor import Tensor

_HERE = "paddle.compat.nn"


class _AvgPool(Layer):
    """A layer that also takes one sample without a batch."""

    kernel_size: Any
    stride: Any
    padding: Any
    rank: int

    def _pool(self, input: Tensor) -> Tensor:
        raise NotImplementedError

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim == self.rank + 1:
            return ops.squeeze(self._pool(ops.unsqueeze(input, (0,))), (0,))
        return self._pool(input)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


@public(_HERE)
class AvgPool1D(_AvgPool):
    """Mean of each window of sequences.

    Args:
        kernel_size: size of windows, one int, or one for each spatial dim.
        stride: distance of windows, one int, or one for each spatial dim; None: the kernel's size.
        padding: zeros on both sides, one int, or one for each spatial dim.
        ceil_mode: take a last window also where it is partly outside.
        count_include_pad: whether added zeros count in the mean.

    Shape:
        input: ``[N, C, L]`` or ``[C, L]``, floating.
        output: ``[N, C, out]`` of the input's dtype, without N for one sample.

    Raises:
        ValueError: in a call, windows that do not fit.

    Example:
        >>> import paddle
        >>> paddle.compat.nn.AvgPool1D(2)(paddle.ones([1, 2, 4])).shape == (1, 2, 2)
        True
    """

    rank = 1

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        single = [(x,) if isinstance(x, int) else tuple(x) for x in (kernel_size, stride or kernel_size, padding)]
        self.kernel_size, self.stride, self.padding = single
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def _pool(self, input: Tensor) -> Tensor:
        sizes = (list(self.kernel_size), list(self.stride), list(self.padding))
        return F.avg_pool1d(input, *sizes, not self.count_include_pad, self.ceil_mode)


AvgPool1d = also(AvgPool1D, "AvgPool1d", _HERE)


@public(_HERE)
class AvgPool2D(_AvgPool):
    """Mean of each window of images.

    Args:
        kernel_size: size of windows, one int, or one for each spatial dim.
        stride: distance of windows, one int, or one for each spatial dim; None: the kernel's size.
        padding: zeros on both sides, one int, or one for each spatial dim.
        ceil_mode: take a last window also where it is partly outside.
        count_include_pad: whether added zeros count in the mean.
        divisor_override: what sums are divided by, in place of the number of elements.

    Shape:
        input: ``[N, C, H, W]`` or ``[C, H, W]``, floating.
        output: ``[N, C, *out]`` of the input's dtype, without N for one sample.

    Raises:
        ValueError: in a call, windows that do not fit.

    Example:
        >>> import paddle
        >>> paddle.compat.nn.AvgPool2D(2)(paddle.ones([1, 2, 4, 4])).shape == (1, 2, 2, 2)
        True
    """

    rank = 2

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.divisor_override = divisor_override
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def _pool(self, input: Tensor) -> Tensor:
        sizes = (self.kernel_size, self.stride, self.padding)
        return F.avg_pool2d(input, *sizes, self.ceil_mode, not self.count_include_pad, self.divisor_override)


AvgPool2d = also(AvgPool2D, "AvgPool2d", _HERE)


@public(_HERE)
class AvgPool3D(_AvgPool):
    """Mean of each window of volumes.

    Args:
        kernel_size: size of windows, one int, or one for each spatial dim.
        stride: distance of windows, one int, or one for each spatial dim; None: the kernel's size.
        padding: zeros on both sides, one int, or one for each spatial dim.
        ceil_mode: take a last window also where it is partly outside.
        count_include_pad: whether added zeros count in the mean.
        divisor_override: what sums are divided by, in place of the number of elements.

    Shape:
        input: ``[N, C, D, H, W]`` or ``[C, D, H, W]``, floating.
        output: ``[N, C, *out]`` of the input's dtype, without N for one sample.

    Raises:
        ValueError: in a call, windows that do not fit.

    Example:
        >>> import paddle
        >>> paddle.compat.nn.AvgPool3D(2)(paddle.ones([1, 2, 4, 4, 4])).shape == (1, 2, 2, 2, 2)
        True
    """

    rank = 3

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.divisor_override = divisor_override
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def _pool(self, input: Tensor) -> Tensor:
        sizes = (self.kernel_size, self.stride, self.padding)
        return F.avg_pool3d(input, *sizes, self.ceil_mode, not self.count_include_pad, self.divisor_override)


AvgPool3d = also(AvgPool3D, "AvgPool3d", _HERE)
