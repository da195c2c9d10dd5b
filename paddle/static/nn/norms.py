"""Normalizations and maps as functions: each call makes parameters of its own in the startup program."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import paddle
import paddle.nn.functional as F
from paddle._public import need_tensor, public
from paddle.nn._spectral import matrix_of, power_iteration, scaled
from paddle.nn.initializer import Constant, Normal, XavierUniform
from paddle.static.nn.layers import _activated, _each, _known, _Parameters
from paddle.vision.ops import deform_conv2d as _deform_conv2d
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


@public("paddle.static.nn")
def batch_norm(
    input: Tensor,
    act: str | None = None,
    is_test: bool = False,
    momentum: float = 0.9,
    epsilon: float = 1e-05,
    param_attr: Any = None,
    bias_attr: Any = None,
    data_layout: str = "NCHW",
    in_place: bool = False,
    name: str | None = None,
    moving_mean_name: str | None = None,
    moving_variance_name: str | None = None,
    do_model_average_for_mean_and_var: bool = True,
    use_global_stats: bool = False,
) -> Tensor:
    """Batch normalization, with parameters and running statistics of its own.

    Args:
        input: floating tensor ``[N, C, *]``, or channels last.
        act: the name of an activation; None for none.
        is_test: take the running statistics, and leave them alone.
        momentum: how much of the running values stays at each step.
        epsilon: added to the variance.
        param_attr: attributes of the weight, ones by default; False for none.
        bias_attr: attributes of the bias, zeros by default; False for none.
        data_layout: ``"NCHW"`` or ``"NHWC"``.
        in_place: accepted; results are new tensors.
        name: the beginning of the names of parameters.
        moving_mean_name: of the running mean; None: one is made.
        moving_variance_name: of the running variance; None: one is made.
        do_model_average_for_mean_and_var: whether averaging of parameters includes the running values.
        use_global_stats: take the running statistics, also in training.

    Returns:
        Tensor of input's shape and dtype.

    Raises:
        RuntimeError: dynamic mode.
        ValueError: channels that are not declared, or another activation.

    Example:
        >>> import paddle
        >>> paddle.enable_static()
        >>> with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
        ...     y = paddle.static.nn.batch_norm(paddle.static.data("x", [8, 3, 4, 4]), act="relu")
        >>> y.shape
        paddle.Size([8, 3, 4, 4])
        >>> paddle.disable_static()
    """
    made = _Parameters("batch_norm", "batch_norm", name)
    last = data_layout == "NHWC"
    sizes = _known("batch_norm", need_tensor(input, "batch_norm"), [-1 if last else 1])
    dtype = input.dtype.compute
    weight = made.make(sizes, param_attr, Constant(1.0), dtype)
    bias = made.bias(sizes, bias_attr, dtype)
    mean, variance = (
        made.make(
            sizes,
            paddle.ParamAttr(given, do_model_average=do_model_average_for_mean_and_var),
            Constant(first),
            dtype,
            trained=False,
        )
        for given, first in ((moving_mean_name, 0.0), (moving_variance_name, 1.0))
    )
    channels_last = {3: "NLC", 4: "NHWC", 5: "NDHWC"}
    layout = channels_last.get(input.ndim, "NC") if last else "NCHW"
    y = F.batch_norm(
        input, mean, variance, weight, bias, training=not is_test, momentum=momentum, epsilon=epsilon,
        data_format=layout, use_global_stats=True if use_global_stats else None,
    )  # fmt: skip
    return _activated("batch_norm", y, act)


@public("paddle.static.nn")
def layer_norm(
    input: Tensor,
    scale: bool = True,
    shift: bool = True,
    begin_norm_axis: int = 1,
    epsilon: float = 1e-05,
    param_attr: Any = None,
    bias_attr: Any = None,
    act: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Layer normalization over the dims from ``begin_norm_axis`` on, with parameters of its own.

    Args:
        input: floating tensor.
        scale: whether there is a weight.
        shift: whether there is a bias.
        begin_norm_axis: the first dim that is normalised.
        epsilon: added to the variance.
        param_attr: attributes of the weight, ones by default; False for none.
        bias_attr: attributes of the bias, zeros by default; False for none.
        act: the name of an activation; None for none.
        name: the beginning of the names of parameters.

    Returns:
        Tensor of input's shape and dtype.

    Raises:
        RuntimeError: dynamic mode.
        ValueError: sizes that are normalised and not declared, or another activation.

    Example:
        >>> import paddle
        >>> paddle.enable_static()
        >>> with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
        ...     y = paddle.static.nn.layer_norm(paddle.static.data("x", [8, 3, 4]))
        >>> y.shape
        paddle.Size([8, 3, 4])
        >>> paddle.disable_static()
    """
    made = _Parameters("layer_norm", "layer_norm", name)
    sizes = _known("layer_norm", input, range(begin_norm_axis, need_tensor(input, "layer_norm").ndim))
    count = [math.prod(sizes)]
    dtype = input.dtype.compute
    weight = made.make(count, param_attr if scale else False, Constant(1.0), dtype)
    bias = made.bias(count, bias_attr if shift else False, dtype)
    y = F.layer_norm(
        input, sizes, None if weight is None else weight.reshape(sizes), None if bias is None else bias.reshape(sizes),
        epsilon,
    )  # fmt: skip
    return _activated("layer_norm", y, act)


@public("paddle.static.nn")
def group_norm(
    input: Tensor,
    groups: int,
    epsilon: float = 1e-05,
    param_attr: Any = None,
    bias_attr: Any = None,
    act: str | None = None,
    data_layout: str = "NCHW",
    name: str | None = None,
) -> Tensor:
    """Group normalization, with a weight and a bias of its own where they are asked for.

    Args:
        input: floating tensor ``[N, C, *]``, or channels last.
        groups: of channels.
        epsilon: added to the variance.
        param_attr: attributes of the weight, or True for ones; None and False: no weight.
        bias_attr: attributes of the bias, or True for zeros; None and False: no bias.
        act: the name of an activation; None for none.
        data_layout: ``"NCHW"`` or ``"NHWC"``.
        name: the beginning of the names of parameters.

    Returns:
        Tensor of input's shape and dtype.

    Raises:
        RuntimeError: dynamic mode.
        ValueError: channels that are not declared, or another activation.

    Example:
        >>> import paddle
        >>> paddle.enable_static()
        >>> with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
        ...     y = paddle.static.nn.group_norm(paddle.static.data("x", [8, 4, 3, 3]), 2)
        >>> y.shape
        paddle.Size([8, 4, 3, 3])
        >>> paddle.disable_static()
    """
    made = _Parameters("group_norm", "group_norm", name)
    sizes = _known("group_norm", need_tensor(input, "group_norm"), [-1 if data_layout == "NHWC" else 1])
    weight = made.make(sizes, param_attr or False, Constant(1.0), input.dtype)
    bias = made.bias(sizes, bias_attr or False, input.dtype)
    return _activated("group_norm", F.group_norm(input, groups, epsilon, weight, bias, data_layout), act)


@public("paddle.static.nn")
def instance_norm(
    input: Tensor, epsilon: float = 1e-05, param_attr: Any = None, bias_attr: Any = None, name: str | None = None
) -> Tensor:
    """Instance normalization, with a weight and a bias of its own where both are asked for.

    Args:
        input: floating tensor ``[N, C, *]``.
        epsilon: added to the variance.
        param_attr: attributes of the weight, or True for ones; None and False: neither weight nor bias.
        bias_attr: attributes of the bias, or True for zeros; None and False: neither weight nor bias.
        name: the beginning of the names of parameters.

    Returns:
        Tensor of input's shape and dtype.

    Raises:
        RuntimeError: dynamic mode.
        ValueError: channels that are not declared, or a bias that is asked for with a ``param_attr`` of False.

    Example:
        >>> import paddle
        >>> paddle.enable_static()
        >>> with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
        ...     y = paddle.static.nn.instance_norm(paddle.static.data("x", [8, 4, 3, 3]))
        >>> y.shape
        paddle.Size([8, 4, 3, 3])
        >>> paddle.disable_static()
    """
    made = _Parameters("instance_norm", "instance_norm", name)
    sizes = _known("instance_norm", need_tensor(input, "instance_norm"), [1])
    if param_attr is False and bias_attr:
        raise op_error(ValueError, "instance_norm", "a bias_attr of False with a param_attr of False", bias_attr)
    asked = bool(param_attr and bias_attr)
    weight = made.make(sizes, asked and param_attr, Constant(1.0), input.dtype)
    bias = made.bias(sizes, asked and bias_attr, input.dtype)
    return F.instance_norm(input, weight=weight, bias=bias, eps=epsilon)


@public("paddle.static.nn")
def prelu(x: Tensor, mode: str, param_attr: Any = None, data_format: str = "NCHW", name: str | None = None) -> Tensor:
    """``x`` where it is positive, else ``x`` times a slope that is learned.

    Args:
        x: floating tensor; ``[N, C, *]``, or channels last, for ``"channel"``.
        mode: ``"all"`` for one slope, ``"channel"`` for one of each channel, ``"element"`` for one of each element of a
            sample.
        param_attr: attributes of the slope, 0.25 by default.
        data_format: ``"NCHW"`` or ``"NHWC"``.
        name: the beginning of the name of the parameter.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        RuntimeError: dynamic mode.
        ValueError: another mode, or sizes that the slope has and are not declared.

    Example:
        >>> import paddle
        >>> paddle.enable_static()
        >>> with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
        ...     y = paddle.static.nn.prelu(paddle.static.data("x", [8, 4, 3, 3]), "channel")
        >>> y.shape
        paddle.Size([8, 4, 3, 3])
        >>> paddle.disable_static()
    """
    if mode not in ("all", "channel", "element"):
        raise op_error(ValueError, "prelu", "'all', 'channel' or 'element' as mode", repr(mode))
    made, rank = _Parameters("prelu", "prelu", name), need_tensor(x, "prelu").ndim
    at = rank - 1 if data_format == "NHWC" else 1
    if mode == "all":
        shape = [1]
    elif mode == "channel":
        shape = [1] * rank
        (shape[at],) = _known("prelu", x, [at])
    else:
        shape = [1, *_known("prelu", x, range(1, rank))]
    slope = made.make(shape, param_attr, Constant(0.25), x.dtype)
    return paddle.where(x > 0, x, x * slope)


@public("paddle.static.nn")
def bilinear_tensor_product(
    x: Tensor,
    y: Tensor,
    size: int,
    act: str | None = None,
    name: str | None = None,
    param_attr: Any = None,
    bias_attr: Any = None,
) -> Tensor:
    """Bilinear map of two tensors, with parameters of its own.

    Args:
        x: floating tensor ``[N, in1]``.
        y: tensor ``[N, in2]`` of x's dtype.
        size: of the result.
        act: the name of an activation; None for none.
        name: the beginning of the names of parameters.
        param_attr: attributes of the weight ``[size, in1, in2]``, Xavier-uniform by default.
        bias_attr: attributes of the bias ``[1, size]``, zeros by default; False for none.

    Returns:
        Tensor ``[N, size]``.

    Raises:
        RuntimeError: dynamic mode.
        ValueError: sizes that are not declared, or another activation.

    Example:
        >>> import paddle
        >>> paddle.enable_static()
        >>> with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
        ...     x, y = paddle.static.data("x", [8, 4]), paddle.static.data("y", [8, 5])
        ...     z = paddle.static.nn.bilinear_tensor_product(x, y, 3)
        >>> z.shape
        paddle.Size([8, 3])
        >>> paddle.disable_static()
    """
    op_name = "bilinear_tensor_product"
    made = _Parameters(op_name, op_name, name)
    sizes = [_known(op_name, need_tensor(t, op_name), [1])[0] for t in (x, y)]
    weight = made.make([size, *sizes], param_attr, XavierUniform(), x.dtype)
    bias = made.bias([1, size], bias_attr, x.dtype)
    return _activated(op_name, F.bilinear(x, y, weight, bias), act)


@public("paddle.static.nn")
def deform_conv2d(
    x: Tensor,
    offset: Tensor,
    mask: Tensor | None,
    num_filters: int,
    filter_size: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    deformable_groups: int = 1,
    im2col_step: int = 1,
    weight_attr: Any = None,
    bias_attr: Any = None,
    name: str | None = None,
) -> Tensor:
    """Deformable convolution, with parameters of its own.

    Args:
        x: floating tensor ``[N, C, H, W]``.
        offset: where each tap of the kernel lies, as for ``paddle.vision.ops.deform_conv2d``.
        mask: a factor for each tap; None for none.
        num_filters: channels of the result.
        filter_size: of the kernel, an int or one for each dim.
        stride: of the kernel.
        padding: of x, with zeros.
        dilation: of the kernel.
        groups: of channels.
        deformable_groups: of channels that share offsets.
        im2col_step: accepted.
        weight_attr: attributes of the weight, normal with variance ``2 / (C * kernel size)`` by default.
        bias_attr: attributes of the bias, zeros by default; False for none.
        name: the beginning of the names of parameters.

    Returns:
        Tensor of x's dtype.

    Raises:
        RuntimeError: dynamic mode.
        ValueError: channels that are not declared.

    Example:
        >>> import paddle
        >>> paddle.enable_static()
        >>> with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
        ...     x, moved = paddle.static.data("x", [2, 3, 6, 6]), paddle.static.data("o", [2, 18, 4, 4])
        ...     y = paddle.static.nn.deform_conv2d(x, moved, None, 4, 3)
        >>> y.shape
        paddle.Size([2, 4, 4, 4])
        >>> paddle.disable_static()
    """
    made = _Parameters("deform_conv2d", "deformable_conv", name)
    (channels,) = _known("deform_conv2d", need_tensor(x, "deform_conv2d"), [1])
    kernel = _each(filter_size, 2)
    std = math.sqrt(2.0 / (math.prod(kernel) * channels))
    weight = made.make([num_filters, channels // groups, *kernel], weight_attr, Normal(0.0, std), x.dtype)
    bias = made.bias([num_filters], bias_attr, x.dtype)
    return _deform_conv2d(x, offset, weight, bias, stride, padding, dilation, deformable_groups, groups, mask)


@public("paddle.static.nn")
def row_conv(input: Tensor, future_context_size: int, param_attr: Any = None, act: str | None = None) -> Tensor:
    """Sum of each step of a sequence and of those that follow, each channel with weights of its own.

    Args:
        input: floating tensor ``[N, T, D]``; behind the end are zeros.
        future_context_size: how many steps beyond the present one count.
        param_attr: attributes of the weight ``[future_context_size + 1, D]``, Xavier-uniform by default.
        act: the name of an activation; None for none.

    Returns:
        Tensor of input's shape and dtype.

    Raises:
        RuntimeError: dynamic mode.
        ValueError: channels that are not declared, or another activation.

    References:
        Amodei et al., 2015: Deep Speech 2.

    Example:
        >>> import paddle
        >>> paddle.enable_static()
        >>> with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
        ...     y = paddle.static.nn.row_conv(paddle.static.data("x", [8, 5, 4]), 2)
        >>> y.shape
        paddle.Size([8, 5, 4])
        >>> paddle.disable_static()
    """
    made = _Parameters("row_conv", "row_conv", None)
    (channels,) = _known("row_conv", need_tensor(input, "row_conv"), [2])
    weight = made.make([future_context_size + 1, channels], param_attr, XavierUniform(), input.dtype)
    steps = input.shape[1]
    behind = paddle.zeros([input.shape[0], future_context_size, channels], input.dtype)
    padded = paddle.concat([input, behind], axis=1)
    total = input * weight[0]
    for k in range(1, future_context_size + 1):
        total = total + padded[:, k : k + steps] * weight[k]
    return _activated("row_conv", total, act)


@public("paddle.static.nn")
def spectral_norm(
    weight: Tensor, dim: int = 0, power_iters: int = 1, eps: float = 1e-12, name: str | None = None
) -> Tensor:
    """A weight over its largest singular value, which is found by power iteration.

    Args:
        weight: floating tensor.
        dim: the dim that is the rows of the matrix; the others are its columns.
        power_iters: steps of the iteration, from two vectors that are normally distributed at first and stay.
        eps: added to norms.
        name: the beginning of the names of the vectors.

    Returns:
        Tensor of the weight's shape and dtype.

    Raises:
        RuntimeError: dynamic mode.
        ValueError: sizes that are not declared, or a dim out of range.

    References:
        Miyato et al., 2018: Spectral Normalization for Generative Adversarial Networks.

    Example:
        >>> import paddle
        >>> paddle.enable_static()
        >>> with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
        ...     y = paddle.static.nn.spectral_norm(paddle.static.data("x", [4, 8]))
        >>> y.shape
        paddle.Size([4, 8])
        >>> paddle.disable_static()
    """
    made = _Parameters("spectral_norm", "spectral_norm", name)
    sizes: Sequence[int] = _known("spectral_norm", weight, range(need_tensor(weight, "spectral_norm").ndim))
    if not 0 <= dim < len(sizes):
        raise op_error(ValueError, "spectral_norm", f"a dim from 0 to {len(sizes) - 1}", dim)
    rows = sizes[dim]
    u, v = (
        made.make([n], None, Normal(0.0, 1.0), weight.dtype, trained=False) for n in (rows, math.prod(sizes) // rows)
    )
    matrix = matrix_of(weight, dim)
    return scaled(weight, matrix, *power_iteration(matrix, u, v, power_iters, eps))
