"""Convolutions, pooling, resampling, and other operators of images."""

from __future__ import annotations

from typing import Any

import paddle
from paddle.nn import functional as F
from paddle.static.formats.operators.table import Number, Sizes, Tensors, bounded, bounded_all, operator
from umiak.core.tensor import Tensor
from umiak.ir.expr import Sym


def _padding(paddings: Any, algorithm: str) -> Any:
    """``EXPLICIT`` paddings, or the name of the way in which they are computed."""
    return list(paddings) if algorithm == "EXPLICIT" else algorithm


def _format(data_format: str, n: int) -> str:
    """Older programs leave the order of dims open, and name that of images for volumes."""
    last = data_format in ("NHWC", "NDHWC", "NLC")
    return {1: ("NCL", "NLC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}[n][last]


@operator("conv2d", "depthwise_conv2d")
def conv2d(
    input: Tensor, filter: Tensor, *, strides: Any = (1, 1), paddings: Any = (0, 0),
    padding_algorithm: str = "EXPLICIT", dilations: Any = (1, 1), groups: int = 1, data_format: str = "NCHW",
) -> Any:  # fmt: skip
    return _convolved(input, filter, None, strides, paddings, padding_algorithm, dilations, groups, data_format)


@operator("depthwise_conv2d_bias")
def conv2d_bias(
    input: Tensor, filter: Tensor, bias: Tensor | None = None, *, strides: Any = (1, 1), paddings: Any = (0, 0),
    padding_algorithm: str = "EXPLICIT", dilations: Any = (1, 1), groups: int = 1, data_format: str = "NCHW",
) -> Any:  # fmt: skip
    return _convolved(input, filter, bias, strides, paddings, padding_algorithm, dilations, groups, data_format)


def _convolved(
    input: Tensor, filter: Tensor, bias: Tensor | None, strides: Any, paddings: Any, algorithm: str, dilations: Any,
    groups: int, data_format: str,
) -> Tensor:  # fmt: skip
    padding = _padding(paddings, algorithm)
    return F.conv2d(input, filter, bias, strides, padding, dilations, groups, _format(data_format, 2))


@operator("conv3d", "depthwise_conv3d")
def conv3d(
    input: Tensor, filter: Tensor, *, strides: Any = (1, 1, 1), paddings: Any = (0, 0, 0),
    padding_algorithm: str = "EXPLICIT", dilations: Any = (1, 1, 1), groups: int = 1, data_format: str = "NCDHW",
) -> Any:  # fmt: skip
    padding = _padding(paddings, padding_algorithm)
    return F.conv3d(input, filter, None, strides, padding, dilations, groups, _format(data_format, 3))


@operator("conv2d_transpose", "depthwise_conv2d_transpose")
def conv2d_transpose(
    x: Tensor, filter: Tensor, output_size: Sizes = (), *, strides: Any = (1, 1), paddings: Any = (0, 0),  # type: ignore[assignment]
    output_padding: Any = (), padding_algorithm: str = "EXPLICIT", groups: int = 1, dilations: Any = (1, 1),
    data_format: str = "NCHW",
) -> Any:  # fmt: skip
    return F.conv2d_transpose(
        x, filter, None, strides, _padding(paddings, padding_algorithm), list(output_padding) or 0, dilations, groups,
        list(output_size) or None, _format(data_format, 2),
    )  # fmt: skip


@operator("conv2d_transpose_bias")
def conv2d_transpose_bias(
    x: Tensor, filter: Tensor, bias: Tensor, output_size: Sizes = (), *, strides: Any = (1, 1),  # type: ignore[assignment]
    paddings: Any = (0, 0), output_padding: Any = (), padding_algorithm: str = "EXPLICIT", groups: int = 1,
    dilations: Any = (1, 1), data_format: str = "NCHW",
) -> Any:  # fmt: skip
    return F.conv2d_transpose(
        x, filter, bias, strides, _padding(paddings, padding_algorithm), list(output_padding) or 0, dilations, groups,
        list(output_size) or None, _format(data_format, 2),
    )  # fmt: skip


@operator("conv3d_transpose")
def conv3d_transpose(
    x: Tensor, filter: Tensor, *, strides: Any = (1, 1, 1), paddings: Any = (0, 0, 0), output_padding: Any = (),
    output_size: Any = (), padding_algorithm: str = "EXPLICIT", groups: int = 1, dilations: Any = (1, 1, 1),
    data_format: str = "NCDHW",
) -> Any:  # fmt: skip
    return F.conv3d_transpose(
        x, filter, None, strides, _padding(paddings, padding_algorithm), list(output_padding) or 0, groups, dilations,
        list(output_size) or None, _format(data_format, 3),
    )  # fmt: skip


@operator("deformable_conv")
def deformable_conv(
    x: Tensor, offset: Tensor, filter: Tensor, mask: Tensor | None = None, *, strides: Any, paddings: Any,
    dilations: Any, deformable_groups: int = 1, groups: int = 1, im2col_step: int = 64,
) -> Any:  # fmt: skip
    return paddle.vision.ops.deform_conv2d(
        x, offset, filter, None, strides, paddings, dilations, deformable_groups, groups, mask
    )


# --- pooling ---------------------------------------------------------------------------------------------------------


def _pooled(
    n: int, x: Tensor, kernel_size: Any, strides: Any, paddings: Any, ceil_mode: bool, exclusive: bool,
    data_format: str, pooling_type: str, global_pooling: bool, adaptive: bool, algorithm: str,
) -> Tensor:  # fmt: skip
    form = _format(data_format, n)
    last = form.endswith("C")
    maximal = pooling_type == "max"
    if global_pooling or (adaptive and all(k == 1 for k in kernel_size)):
        axes = list(range(1, n + 1)) if last else list(range(2, n + 2))
        return (paddle.max if maximal else paddle.mean)(x, axes, keepdim=True)
    if adaptive:
        return _adaptively(n, x, list(kernel_size), maximal, last)
    padding = _padding(paddings, algorithm)
    if maximal:
        maximum = (F.max_pool2d, F.max_pool3d)[n - 2]
        return maximum(x, list(kernel_size), strides, padding, False, ceil_mode, form)
    average = (F.avg_pool2d, F.avg_pool3d)[n - 2]
    return average(x, list(kernel_size), strides, padding, ceil_mode, exclusive, None, form)


def _adaptively(n: int, x: Tensor, sizes: list[Any], maximal: bool, last: bool) -> Tensor:
    if last:
        order = [0, n + 1, *range(1, n + 1)]
        back = [0, *range(2, n + 2), 1]
        return paddle.transpose(_adaptively(n, paddle.transpose(x, order), sizes, maximal, False), back)
    if maximal:
        return (F.adaptive_max_pool2d, F.adaptive_max_pool3d)[n - 2](x, sizes)
    return (F.adaptive_avg_pool2d, F.adaptive_avg_pool3d)[n - 2](x, sizes)


@operator("pool2d")
def pool2d(
    x: Tensor, kernel_size: Sizes, *, strides: Any = (1, 1), paddings: Any = (0, 0), ceil_mode: bool = False,
    exclusive: bool = True, data_format: str = "NCHW", pooling_type: str, global_pooling: bool = False,
    adaptive: bool = False, padding_algorithm: str = "EXPLICIT",
) -> Any:  # fmt: skip
    return _pooled(2, x, kernel_size, strides, paddings, ceil_mode, exclusive, data_format, pooling_type,
                   global_pooling, adaptive, padding_algorithm)  # fmt: skip


@operator("pool3d")
def pool3d(
    x: Tensor, *, kernel_size: Any, strides: Any = (1, 1, 1), paddings: Any = (0, 0, 0), ceil_mode: bool = False,
    exclusive: bool = True, data_format: str = "NCDHW", pooling_type: str, global_pooling: bool = False,
    adaptive: bool = False, padding_algorithm: str = "EXPLICIT",
) -> Any:  # fmt: skip
    return _pooled(3, x, kernel_size, strides, paddings, ceil_mode, exclusive, data_format, pooling_type,
                   global_pooling, adaptive, padding_algorithm)  # fmt: skip


@operator("max_pool2d_with_index")
def max_pool2d_with_index(
    x: Tensor, *, kernel_size: Any, strides: Any = (1, 1), paddings: Any = (0, 0), global_pooling: bool = False,
    adaptive: bool = False, ceil_mode: bool = False,
) -> Any:  # fmt: skip
    if global_pooling or adaptive:
        return tuple(F.adaptive_max_pool2d(x, [1, 1] if global_pooling else list(kernel_size), return_mask=True))
    return tuple(F.max_pool2d(x, list(kernel_size), strides, list(paddings), True, ceil_mode))


@operator("max_pool3d_with_index")
def max_pool3d_with_index(
    x: Tensor, *, kernel_size: Any, strides: Any = (1, 1, 1), paddings: Any = (0, 0, 0), global_pooling: bool = False,
    adaptive: bool = False, ceil_mode: bool = False,
) -> Any:  # fmt: skip
    if global_pooling or adaptive:
        return tuple(F.adaptive_max_pool3d(x, [1, 1, 1] if global_pooling else list(kernel_size), return_mask=True))
    return tuple(F.max_pool3d(x, list(kernel_size), strides, list(paddings), True, ceil_mode))


@operator("lp_pool2d")
def lp_pool2d(
    x: Tensor, *, kernel_size: Any, strides: Any = (1, 1), paddings: Any = (0, 0), ceil_mode: bool = False,
    data_format: str = "NCHW", norm_type: float = 2.0,
) -> Any:  # fmt: skip
    return F.lp_pool2d(x, norm_type, list(kernel_size), strides, list(paddings), ceil_mode, data_format)


@operator("unpool")
def unpool(
    x: Tensor, indices: Tensor, output_size: Sizes, *, ksize: Any, strides: Any, padding: Any, data_format: str = "NCHW"
) -> Any:
    return F.max_unpool2d(x, indices, list(ksize), list(strides), list(padding), data_format, list(output_size))


@operator("unpool3d")
def unpool3d(
    x: Tensor, indices: Tensor, *, ksize: Any, strides: Any = (1, 1, 1), paddings: Any = (0, 0, 0), output_size: Any,
    data_format: str = "NCDHW",
) -> Any:  # fmt: skip
    return F.max_unpool3d(x, indices, list(ksize), list(strides), list(paddings), data_format, list(output_size))


# --- resampling ------------------------------------------------------------------------------------------------------

_INTERPOLATIONS = {
    "nearest_interp": "nearest", "linear_interp": "linear", "bilinear_interp": "bilinear", "bicubic_interp": "bicubic",
    "trilinear_interp": "trilinear",
}  # fmt: skip


def _interpolation(mode: str | None, antialias: bool) -> Any:
    def call(
        x: Tensor, out_size: Sizes | None = None, size_tensor: Sizes | None = None, scale_tensor: Sizes | None = None,
        *, data_format: str = "NCHW", out_d: int = 0, out_h: int = 0, out_w: int = 0, scale: Any = (),
        interp_method: str = "bilinear", align_corners: bool = True, align_mode: int = 1,
    ) -> Any:  # fmt: skip
        n = x.ndim - 2
        form = None if data_format in ("NCHW", "NCDHW", "NCW", "AnyLayout") else _format(data_format, n)
        form = "NWC" if form == "NLC" else form
        size: Any = size_tensor or out_size
        factors = [f for f in (scale_tensor or scale) if f > 0]
        if not size and not factors:
            size = [out_d, out_h, out_w][3 - n :]
        kind = mode or interp_method
        for n in size or (int(m * f) for m in x.shape if type(m) is int for f in factors):
            bounded(n)
        if kind == "nearest" and align_corners:
            return _nearest_corners(x, size, factors, form)
        return F.interpolate(
            x, size or None, None if size else factors, kind, align_corners, align_mode, form, antialias=antialias
        )

    return call


def _nearest_corners(x: Tensor, size: Any, factors: Any, form: str | None) -> Tensor:
    """The nearest elements where corners lie on corners, which today's functions have no name for."""
    axes = list(range(2, x.ndim)) if form is None else list(range(1, x.ndim - 1))
    factors = factors * len(axes) if len(factors) == 1 else factors
    for i, axis in enumerate(axes):
        n = x.shape[axis]
        m = bounded(size[i] if size else int(n * factors[i]))
        if type(n) is Sym or type(m) is Sym:
            raise ValueError("[nearest_interp] requires sizes that are declared, with align_corners")
        ratio = (n - 1) / (m - 1) if m > 1 else 0.0
        x = paddle.index_select(x, paddle.to_tensor([int(ratio * k + 0.5) for k in range(m)], "int64"), axis)
    return x


for _name, _mode in _INTERPOLATIONS.items():
    operator(_name)(_interpolation(_mode, False))
operator("interp_antialias")(_interpolation(None, True))


@operator("grid_sample")
def grid_sample(
    x: Tensor, grid: Tensor, *, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool = True
) -> Any:
    return F.grid_sample(x, grid, mode, padding_mode, align_corners)


@operator("affine_grid")
def affine_grid(input: Tensor, output_shape: Sizes, *, align_corners: bool = True) -> Any:
    return F.affine_grid(input, bounded_all(output_shape), align_corners)


@operator("affine_channel")
def affine_channel(x: Tensor, scale: Tensor, bias: Tensor, *, data_layout: str = "NCHW") -> Any:
    shape = [-1] if data_layout == "NHWC" else [-1, *[1] * (x.ndim - 2)]
    return x * scale.reshape(shape) + bias.reshape(shape)


# --- pads and rearrangements -----------------------------------------------------------------------------------------


@operator("pad")
def pad(x: Tensor, pad_value: Number = 0.0, *, paddings: Any) -> Any:
    return F.pad(x, list(paddings), "constant", pad_value)


@operator("pad3d")
def pad3d(
    x: Tensor, paddings: Sizes, *, mode: str = "constant", pad_value: Any = 0.0, data_format: str = "NCDHW"
) -> Any:
    return F.pad(x, paddings, mode, pad_value, data_format)


@operator("pixel_shuffle")
def pixel_shuffle(x: Tensor, *, upscale_factor: int = 1, data_format: str = "NCHW") -> Any:
    return F.pixel_shuffle(x, upscale_factor, data_format)


@operator("pixel_unshuffle")
def pixel_unshuffle(x: Tensor, *, downscale_factor: int = 1, data_format: str = "NCHW") -> Any:
    return F.pixel_unshuffle(x, downscale_factor, data_format)


@operator("channel_shuffle")
def channel_shuffle(x: Tensor, *, groups: int, data_format: str = "NCHW") -> Any:
    return F.channel_shuffle(x, groups, data_format)


@operator("shuffle_channel")
def shuffle_channel(x: Tensor, *, group: int = 1) -> Any:
    return F.channel_shuffle(x, group)


@operator("temporal_shift")
def temporal_shift(x: Tensor, *, seg_num: int, shift_ratio: float = 0.25, data_format: str = "NCHW") -> Any:
    return F.temporal_shift(x, seg_num, shift_ratio, data_format=data_format)


@operator("unfold")
def unfold(x: Tensor, *, kernel_sizes: Any, strides: Any, paddings: Any, dilations: Any) -> Any:
    bounded_all(x.shape[2:])
    return F.unfold(x, list(kernel_sizes), list(strides), list(paddings), list(dilations))


@operator("fold")
def fold(x: Tensor, *, output_sizes: Any, kernel_sizes: Any, strides: Any, paddings: Any, dilations: Any) -> Any:
    return F.fold(x, bounded_all(output_sizes), list(kernel_sizes), list(strides), list(paddings), list(dilations))


@operator("partial_concat")
def partial_concat(x: Tensors, *, start_index: int = 0, length: int = -1) -> Any:
    stop = None if length < 0 else start_index + length
    return paddle.concat([y[:, start_index:stop] for y in x], 1)


@operator("partial_sum")
def partial_sum(x: Tensors, *, start_index: int = 0, length: int = -1) -> Any:
    stop = None if length < 0 else start_index + length
    return paddle.add_n([y[:, start_index:stop] for y in x])


@operator("im2sequence")
def im2sequence(
    x: Tensor, y: Tensor | None = None, *, kernels: Any, strides: Any = (1, 1), paddings: Any = (0, 0, 0, 0),
    out_stride: Any = (1, 1),
) -> Any:  # fmt: skip
    if y is not None:
        raise ValueError("[im2sequence] requires images of one size, got a tensor of sizes")
    bounded_all(x.shape[2:])
    columns = F.unfold(x, list(kernels), list(strides), list(paddings), 1)
    return paddle.transpose(columns, [0, 2, 1]).reshape([-1, columns.shape[1]])


@operator("fractional_max_pool2d")
def fractional_max_pool2d(
    x: Tensor, *, output_size: Any, kernel_size: Any = (0, 0), random_u: float = 0.0, return_mask: bool = True
) -> Any:
    return _fractionally(F.fractional_max_pool2d, x, output_size, kernel_size, random_u)


@operator("fractional_max_pool3d")
def fractional_max_pool3d(
    x: Tensor, *, output_size: Any, kernel_size: Any = (0, 0, 0), random_u: float = 0.0, return_mask: bool = True
) -> Any:
    return _fractionally(F.fractional_max_pool3d, x, output_size, kernel_size, random_u)


def _fractionally(pool: Any, x: Tensor, output_size: Any, kernel_size: Any, random_u: float) -> Any:
    kernel = list(kernel_size) if any(kernel_size) else None
    return tuple(pool(x, list(output_size), kernel, random_u or None, True))
