"""Layers as functions: each call makes parameters of its own in the startup program."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import paddle
import paddle.nn.functional as F
from paddle._public import need_tensor, public
from paddle.distributed.entry_attr import EntryAttr
from paddle.framework import unique_name
from paddle.framework.param_attr import ParamAttr
from paddle.framework.parameter import Parameter
from paddle.nn.initializer import Constant, Normal, XavierUniform
from paddle.nn.initializer.initializers import defaults
from paddle.static.program import tracer_of
from paddle.static.weight_norm import WeightNormParamAttr, normed
from umiak.core import dtype as dt
from umiak.core.dtype import convert
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


class _Parameters:
    """The parameters of one call, named after its kind: ``fc_0.w_0``, ``fc_0.b_0``."""

    def __init__(self, op_name: str, kind: str, name: str | None) -> None:
        tracer_of(op_name)
        self.name = name or unique_name.generate(kind)

    def make(
        self, shape: Sequence[int], attr: Any, initializer: Any, dtype: Any, end: str = "w", trained: bool = True
    ) -> Any:
        """A parameter; None where ``attr`` is False."""
        attr = ParamAttr._to_attr(attr)
        if attr is False:
            return None
        name = attr.name or unique_name.generate(f"{self.name}.{end}")
        if trained:  # others are statistics
            initializer = defaults.instead_of(initializer, end == "b")
        if isinstance(attr, WeightNormParamAttr):
            return normed(shape, dtype, name, attr, attr.initializer or initializer)
        made = Parameter.create(shape, dtype, name, attr, attr.initializer or initializer)
        made.stop_gradient = made.stop_gradient or not trained
        return made

    def bias(self, shape: Sequence[int], attr: Any, dtype: Any) -> Any:
        return self.make(shape, attr, Constant(0.0), dtype, "b")


def _activated(op_name: str, y: Tensor, act: str | None) -> Tensor:
    if act is None:
        return y
    function = getattr(F, act, None) or getattr(paddle, act, None)
    if function is None:
        raise op_error(ValueError, op_name, "the name of an activation, or None", repr(act))
    return function(y)


def _known(op_name: str, x: Tensor, axes: Sequence[int]) -> list[int]:
    """Sizes that parameters have, too."""
    sizes = [x.shape[a] for a in axes]
    if not all(type(n) is int for n in sizes):
        raise op_error(ValueError, op_name, f"sizes that are declared on axes {list(axes)}", list(x.shape))
    return sizes


def _each(value: Any, n: int) -> list[int]:
    return list(value) if isinstance(value, (list, tuple)) else [value] * n


@public("paddle.static.nn")
def fc(
    x: Any,
    size: int,
    num_flatten_dims: int = 1,
    weight_attr: Any = None,
    bias_attr: Any = None,
    activation: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Fully connected layer: a matmul with a weight, plus a bias. Several inputs have a weight each and are added up.

    Args:
        x: floating tensor, or a list of them; the dims from ``num_flatten_dims`` on are one.
        size: of the last dim of the result.
        num_flatten_dims: how many dims stay, from 1 up.
        weight_attr: attributes of the weights ``[inputs, size]``, Xavier-uniform by default; for several inputs one for
            all or a list.
        bias_attr: attributes of the bias ``[size]``, zeros by default; False for none.
        activation: the name of a function of ``paddle.nn.functional``; None for none.
        name: the beginning of the names of parameters; None: ``fc_0`` and so on.

    Returns:
        Tensor of x's first ``num_flatten_dims`` sizes and ``size``.

    Raises:
        RuntimeError: dynamic mode.
        ValueError: sizes of the dims that are joined that are not declared, or another activation.

    Example:
        >>> import paddle
        >>> paddle.enable_static()
        >>> with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
        ...     y = paddle.static.nn.fc(paddle.static.data("x", [8, 3, 4]), 5, activation="relu")
        >>> y.shape
        paddle.Size([8, 5])
        >>> paddle.disable_static()
    """
    xs = list(x) if isinstance(x, (list, tuple)) else [x]
    made = _Parameters("fc", "fc", name)
    attrs = list(weight_attr) if isinstance(weight_attr, (list, tuple)) else [weight_attr] * len(xs)
    if len(attrs) != len(xs):
        raise op_error(ValueError, "fc", f"{len(xs)} weight_attr, as many as inputs", len(attrs))
    total = None
    for t, attr in zip(xs, attrs, strict=True):
        rank = need_tensor(t, "fc").ndim
        axes = range(num_flatten_dims % rank if num_flatten_dims < 0 else num_flatten_dims, rank)
        inputs = math.prod(_known("fc", t, axes))
        weight = made.make([inputs, size], attr, XavierUniform(), t.dtype)
        flat = t if len(axes) == 1 else paddle.reshape(t, [*t.shape[: axes.start], inputs])
        y = paddle.matmul(flat, weight)
        total = y if total is None else total + y
    if total is None:
        raise op_error(ValueError, "fc", "at least one input", "none")
    bias = made.bias([size], bias_attr, total.dtype)
    return _activated("fc", total if bias is None else total + bias, activation)


@public("paddle.static.nn")
def embedding(
    input: Tensor,
    size: Sequence[int],
    is_sparse: bool = False,
    is_distributed: bool = False,
    padding_idx: int | None = None,
    param_attr: Any = None,
    dtype: Any = "float32",
) -> Tensor:
    """Rows of a table, by number.

    Args:
        input: integer tensor.
        size: rows and columns of the table.
        is_sparse: accepted: gradients are dense.
        is_distributed: accepted: the table is whole.
        padding_idx: a number that gives zeros and has no gradient; None for none.
        param_attr: attributes of the table, Xavier-uniform by default.
        dtype: of the table.

    Returns:
        Tensor of input's shape and the number of columns.

    Raises:
        RuntimeError: dynamic mode.

    Example:
        >>> import paddle
        >>> paddle.enable_static()
        >>> with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
        ...     y = paddle.static.nn.embedding(paddle.static.data("x", [8, 3], "int64"), [10, 4])
        >>> y.shape
        paddle.Size([8, 3, 4])
        >>> paddle.disable_static()
    """
    table = _Parameters("embedding", "embedding", None).make(list(size), param_attr, XavierUniform(), dtype)
    return F.embedding(input, table, padding_idx=padding_idx)


_TABLES = ("CommonSparseTable", "SSDSparseTable", "MemorySparseTable")


@public("paddle.static.nn")
def sparse_embedding(
    input: Tensor,
    size: Sequence[int],
    padding_idx: int | None = None,
    is_test: bool = False,
    entry: EntryAttr | None = None,
    table_class: str = "MemorySparseTable",
    param_attr: Any = None,
    dtype: Any = "float32",
    slot: int | None = None,
) -> Tensor:
    """Rows of a table for features of which there may be very many, by number.

    In the reference a parameter server keeps the table: a row is made when its feature is first looked up, or when
    ``entry`` lets it in. Without a server, as here, the table is a parameter of the program, as in :func:`embedding`:
    all its rows are there from the beginning, with their initial values, and numbers are below the number of rows.

    Args:
        input: int64 tensor; a last dim of 1 is left out of the result.
        size: rows and columns of the table.
        padding_idx: a number that gives zeros and has no gradient; None for none.
        is_test: accepted: on a server no row would be made.
        entry: accepted, a ``ProbabilityEntry``, ``CountFilterEntry`` or ``ShowClickEntry``: which features would get a
            row on a server; None: all.
        table_class: accepted, ``"MemorySparseTable"``, ``"SSDSparseTable"`` or ``"CommonSparseTable"``: the kind of
            table on a server.
        param_attr: attributes of the table, Xavier-uniform by default.
        dtype: of the table, float32 or float64.
        slot: accepted: the number of the slot that the features belong to.

    Returns:
        Tensor of input's shape and the number of columns.

    Raises:
        RuntimeError: dynamic mode.
        TypeError: input or table of another dtype.
        ValueError: a table without rows, an entry or a kind of table that is not known.

    Example:
        >>> import paddle
        >>> paddle.enable_static()
        >>> with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
        ...     features = paddle.static.data("features", [8, 1], "int64")
        ...     y = paddle.static.nn.sparse_embedding(features, [1000, 4])
        >>> y.shape
        paddle.Size([8, 4])
        >>> paddle.disable_static()
    """
    op_name = "sparse_embedding"
    parameters = _Parameters(op_name, op_name, None)
    if need_tensor(input, op_name).dtype is not dt.int64:
        raise op_error(TypeError, op_name, "input of int64", input.dtype.name)
    if (dtype := convert(dtype)) not in (dt.float32, dt.float64):
        raise op_error(TypeError, op_name, "a table of float32 or float64", dtype.name)
    if len(size) != 2 or not all(type(n) is int and n > 0 for n in size):
        required = "rows and columns as size, as there is no server that would make rows"
        raise op_error(ValueError, op_name, required, list(size))
    if entry is not None and not isinstance(entry, EntryAttr):
        required = "a ProbabilityEntry, CountFilterEntry or ShowClickEntry as entry, or None"
        raise op_error(ValueError, op_name, required, type(entry).__name__)
    if table_class not in _TABLES:
        raise op_error(ValueError, op_name, f"a table_class of {', '.join(_TABLES)}", repr(table_class))
    table = parameters.make(list(size), param_attr, XavierUniform(), dtype)
    if len(input.shape) > 1 and type(input.shape[-1]) is int and input.shape[-1] == 1:
        input = paddle.squeeze(input, -1)
    return F.embedding(input, table, padding_idx=padding_idx)


def _conv(
    n: int, x: Tensor, filters: int, size: Any, strides: Any, pads: Any, dilation: Any, groups: Any, attrs: tuple,
    act: str | None, name: str | None, data_format: str,
) -> Tensor:  # fmt: skip
    op_name = f"conv{n}d"
    made, groups = _Parameters(op_name, op_name, name), groups or 1
    (channels,) = _known(op_name, need_tensor(x, op_name), [1 if data_format[1] == "C" else -1])
    kernel = _each(size, n)
    std = math.sqrt(2.0 / (math.prod(kernel) * channels))
    weight = made.make([filters, channels // groups, *kernel], attrs[0], Normal(0.0, std), x.dtype)
    bias = made.bias([filters], attrs[1], x.dtype)
    y = getattr(F, op_name)(x, weight, bias, strides, pads, dilation, groups, data_format)
    return _activated(op_name, y, act)


@public("paddle.static.nn")
def conv2d(
    input: Tensor,
    num_filters: int,
    filter_size: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int | None = None,
    param_attr: Any = None,
    bias_attr: Any = None,
    use_cudnn: bool = True,
    act: str | None = None,
    name: str | None = None,
    data_format: str = "NCHW",
) -> Tensor:
    """Convolution of images, with parameters of its own.

    Args:
        input: floating tensor ``[N, C, H, W]``, or channels last.
        num_filters: channels of the result.
        filter_size: of the kernel, an int or one for each dim.
        stride: of the kernel.
        padding: as for ``paddle.nn.functional.conv2d``.
        dilation: of the kernel.
        groups: of channels; None: one.
        param_attr: attributes of the weight, normal with variance ``2 / (C * kernel size)`` by default.
        bias_attr: attributes of the bias, zeros by default; False for none.
        use_cudnn: accepted.
        act: the name of an activation; None for none.
        name: the beginning of the names of parameters.
        data_format: ``"NCHW"`` or ``"NHWC"``.

    Returns:
        Tensor of input's dtype.

    Raises:
        RuntimeError: dynamic mode.
        ValueError: channels that are not declared, or another activation.

    Example:
        >>> import paddle
        >>> paddle.enable_static()
        >>> with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
        ...     y = paddle.static.nn.conv2d(paddle.static.data("x", [8, 3, 6, 6]), 4, 3)
        >>> y.shape
        paddle.Size([8, 4, 4, 4])
        >>> paddle.disable_static()
    """
    attrs = param_attr, bias_attr
    return _conv(2, input, num_filters, filter_size, stride, padding, dilation, groups, attrs, act, name, data_format)


@public("paddle.static.nn")
def conv3d(
    input: Tensor,
    num_filters: int,
    filter_size: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int | None = None,
    param_attr: Any = None,
    bias_attr: Any = None,
    use_cudnn: bool = True,
    act: str | None = None,
    name: str | None = None,
    data_format: str = "NCDHW",
) -> Tensor:
    """Convolution of volumes, with parameters of its own.

    Args:
        input: floating tensor ``[N, C, D, H, W]``, or channels last.
        num_filters: channels of the result.
        filter_size: of the kernel, an int or one for each dim.
        stride: of the kernel.
        padding: as for ``paddle.nn.functional.conv3d``.
        dilation: of the kernel.
        groups: of channels; None: one.
        param_attr: attributes of the weight, normal with variance ``2 / (C * kernel size)`` by default.
        bias_attr: attributes of the bias, zeros by default; False for none.
        use_cudnn: accepted.
        act: the name of an activation; None for none.
        name: the beginning of the names of parameters.
        data_format: ``"NCDHW"`` or ``"NDHWC"``.

    Returns:
        Tensor of input's dtype.

    Raises:
        RuntimeError: dynamic mode.
        ValueError: channels that are not declared, or another activation.

    Example:
        >>> import paddle
        >>> paddle.enable_static()
        >>> with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
        ...     y = paddle.static.nn.conv3d(paddle.static.data("x", [8, 3, 6, 6, 6]), 4, 3)
        >>> y.shape
        paddle.Size([8, 4, 4, 4, 4])
        >>> paddle.disable_static()
    """
    attrs = param_attr, bias_attr
    return _conv(3, input, num_filters, filter_size, stride, padding, dilation, groups, attrs, act, name, data_format)


def _conv_transpose(
    n: int, x: Tensor, filters: int, output_size: Any, size: Any, pads: Any, strides: Any, dilation: Any, groups: Any,
    attrs: tuple, act: str | None, name: str | None, data_format: str,
) -> Tensor:  # fmt: skip
    op_name = f"conv{n}d_transpose"
    made, groups = _Parameters(op_name, op_name, name), groups or 1
    last = data_format[1] != "C"
    (channels,) = _known(op_name, need_tensor(x, op_name), [-1 if last else 1])
    if size is None:
        if output_size is None:
            raise op_error(ValueError, op_name, "filter_size or output_size", "neither")
        spatial = _known(op_name, x, range(1, n + 1) if last else range(2, n + 2))
        wanted, steps, holes, around = (_each(v, n) for v in (output_size, strides, dilation, pads))
        size = [(o - (m - 1) * s + 2 * p - 1) // d + 1 for o, m, s, p, d in zip(wanted, spatial, steps, around, holes)]
    weight = made.make([channels, filters // groups, *_each(size, n)], attrs[0], XavierUniform(), x.dtype)
    bias = made.bias([filters], attrs[1], x.dtype)
    y = getattr(F, op_name)(
        x, weight, bias, strides, pads, dilation=dilation, groups=groups, output_size=output_size,
        data_format=data_format,
    )  # fmt: skip
    return _activated(op_name, y, act)


@public("paddle.static.nn")
def conv2d_transpose(
    input: Tensor,
    num_filters: int,
    output_size: Any = None,
    filter_size: Any = None,
    padding: Any = 0,
    stride: Any = 1,
    dilation: Any = 1,
    groups: int | None = None,
    param_attr: Any = None,
    bias_attr: Any = None,
    use_cudnn: bool = True,
    act: str | None = None,
    name: str | None = None,
    data_format: str = "NCHW",
) -> Tensor:
    """Transposed convolution of images, with parameters of its own.

    Args:
        input: floating tensor ``[N, C, H, W]``, or channels last.
        num_filters: channels of the result.
        output_size: height and width of the result; None: what the kernel gives.
        filter_size: of the kernel; None: what ``output_size`` needs.
        padding: taken away from the result.
        stride: of the result.
        dilation: of the kernel.
        groups: of channels; None: one.
        param_attr: attributes of the weight, Xavier-uniform by default.
        bias_attr: attributes of the bias, zeros by default; False for none.
        use_cudnn: accepted.
        act: the name of an activation; None for none.
        name: the beginning of the names of parameters.
        data_format: ``"NCHW"`` or ``"NHWC"``.

    Returns:
        Tensor of input's dtype.

    Raises:
        RuntimeError: dynamic mode.
        ValueError: neither size is given, sizes that are needed and not declared, or another activation.

    Example:
        >>> import paddle
        >>> paddle.enable_static()
        >>> with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
        ...     y = paddle.static.nn.conv2d_transpose(paddle.static.data("x", [8, 3, 4, 4]), 2, filter_size=2, stride=2)
        >>> y.shape
        paddle.Size([8, 2, 8, 8])
        >>> paddle.disable_static()
    """
    return _conv_transpose(
        2, input, num_filters, output_size, filter_size, padding, stride, dilation, groups, (param_attr, bias_attr),
        act, name, data_format,
    )  # fmt: skip


@public("paddle.static.nn")
def conv3d_transpose(
    input: Tensor,
    num_filters: int,
    output_size: Any = None,
    filter_size: Any = None,
    padding: Any = 0,
    stride: Any = 1,
    dilation: Any = 1,
    groups: int | None = None,
    param_attr: Any = None,
    bias_attr: Any = None,
    use_cudnn: bool = True,
    act: str | None = None,
    name: str | None = None,
    data_format: str = "NCDHW",
) -> Tensor:
    """Transposed convolution of volumes, with parameters of its own.

    Args:
        input: floating tensor ``[N, C, D, H, W]``, or channels last.
        num_filters: channels of the result.
        output_size: depth, height and width of the result; None: what the kernel gives.
        filter_size: of the kernel; None: what ``output_size`` needs.
        padding: taken away from the result.
        stride: of the result.
        dilation: of the kernel.
        groups: of channels; None: one.
        param_attr: attributes of the weight, Xavier-uniform by default.
        bias_attr: attributes of the bias, zeros by default; False for none.
        use_cudnn: accepted.
        act: the name of an activation; None for none.
        name: the beginning of the names of parameters.
        data_format: ``"NCDHW"`` or ``"NDHWC"``.

    Returns:
        Tensor of input's dtype.

    Raises:
        RuntimeError: dynamic mode.
        ValueError: neither size is given, sizes that are needed and not declared, or another activation.

    Example:
        >>> import paddle
        >>> paddle.enable_static()
        >>> with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
        ...     y = paddle.static.nn.conv3d_transpose(paddle.static.data("x", [8, 3, 4, 4, 4]), 2, filter_size=2)
        >>> y.shape
        paddle.Size([8, 2, 5, 5, 5])
        >>> paddle.disable_static()
    """
    return _conv_transpose(
        3, input, num_filters, output_size, filter_size, padding, stride, dilation, groups, (param_attr, bias_attr),
        act, name, data_format,
    )  # fmt: skip
