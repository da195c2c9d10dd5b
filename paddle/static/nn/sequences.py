"""Sequences of different lengths in one tensor: ``[batch, time, ...]``, padded behind their ends.

The reference packs sequences one after the other and keeps where each begins (LoD). Here they are padded, and the
keyword ``lengths`` says how many steps of each count; without it all do. Whatever stands behind an end is ignored, and
results are zeros there.
"""

from __future__ import annotations

from typing import Any

import paddle
from paddle._public import need_tensor, public
from paddle.nn.initializer import XavierUniform
from paddle.static.nn.layers import _activated, _known, _Parameters
from paddle.static.program import tracer_of
from umiak.core.context import capture_of
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

_KINDS = ("sum", "average", "sqrt", "max", "last", "first")


def _sequences(op_name: str, x: Any, least: int, lengths: Any) -> Tensor:
    if capture_of() is None:
        tracer_of(op_name)
    if need_tensor(x, op_name, "input").ndim < least:
        shape = "[batch, time, ...]" if least < 3 else "[batch, time, features]"
        raise op_error(ValueError, op_name, f"padded sequences {shape}", list(x.shape))
    if lengths is not None and need_tensor(lengths, op_name, "lengths").ndim != 1:
        raise op_error(ValueError, op_name, "lengths of shape [batch]", list(lengths.shape))
    return x


def _inside(x: Tensor, lengths: Tensor | None) -> Tensor | None:
    """Flags of the steps that count, with as many dims as x; None for all."""
    if lengths is None:
        return None
    steps = paddle.arange(x.shape[1]).unsqueeze(0) < lengths.astype("int64").unsqueeze(1)
    return steps.reshape([*steps.shape, *[1] * (x.ndim - 2)])


def _cleared(x: Tensor, lengths: Tensor | None) -> Tensor:
    inside = _inside(x, lengths)
    return x if inside is None else paddle.where(inside, x, paddle.zeros_like(x))


@public("paddle.static.nn", usual=False)
def sequence_pool(
    input: Tensor, pool_type: str, is_test: bool = False, pad_value: float = 0.0, *, lengths: Tensor | None = None
) -> Tensor:
    """One step out of all steps of each sequence.

    Args:
        input: padded sequences, floating ``[batch, time, ...]``.
        pool_type: ``"sum"``, ``"average"``, ``"sqrt"`` (the sum over the square root of the length), ``"max"``,
            ``"last"`` or ``"first"``.
        is_test: accepted.
        pad_value: stands for a sequence without steps.
        lengths: how many steps of each sequence count ``[batch]``, integers; None: all.

    Returns:
        Tensor ``[batch, ...]``.

    Raises:
        RuntimeError: dynamic mode.
        ValueError: another kind of pooling, or shapes that are not as above.

    Example:
        >>> import numpy, paddle
        >>> paddle.enable_static()
        >>> with paddle.static.program_guard(paddle.static.Program()):
        ...     x, n = paddle.static.data("x", [None, None, 1]), paddle.static.data("n", [None], "int64")
        ...     y = paddle.static.nn.sequence_pool(x, "sum", lengths=n)
        ...     feed = {"x": numpy.ones([2, 3, 1], "float32"), "n": numpy.array([1, 3])}
        ...     paddle.static.Executor().run(feed=feed, fetch_list=[y])[0].tolist()
        [[1.0], [3.0]]
        >>> paddle.disable_static()
    """
    x = _sequences("sequence_pool", input, 2, lengths)
    kind = pool_type.lower() if isinstance(pool_type, str) else pool_type
    if kind not in _KINDS:
        raise op_error(ValueError, "sequence_pool", f"a pool_type of {list(_KINDS)}", repr(pool_type))
    if lengths is None:
        if kind == "first":
            return x[:, 0]
        if kind == "last":
            return x[:, -1]
        if kind == "max":
            return x.max(1)
        total = x.sum(1)
        if kind == "sum":
            return total
        steps = paddle.ones_like(x[:, :, 0] if x.ndim > 2 else x).sum(1)
        return total / _like(steps if kind == "average" else paddle.sqrt(steps), total)
    counts = lengths.astype("int64")
    inside: Any = _inside(x, lengths)
    if kind == "max":
        y = paddle.where(inside, x, paddle.full_like(x, float("-inf"))).max(1)
    elif kind in ("first", "last"):
        at = paddle.zeros_like(counts) if kind == "first" else counts - 1
        chosen = paddle.arange(x.shape[1]).unsqueeze(0) == at.unsqueeze(1)
        chosen = chosen.reshape([*chosen.shape, *[1] * (x.ndim - 2)])
        y = paddle.where(chosen, x, paddle.zeros_like(x)).sum(1)
    else:
        y = _cleared(x, lengths).sum(1)
        if kind != "sum":
            steps = counts.clip(1).astype(x.dtype)
            y = y / _like(steps if kind == "average" else paddle.sqrt(steps), y)
    return paddle.where(_like(counts > 0, y), y, paddle.full_like(y, pad_value))


def _like(x: Tensor, y: Tensor) -> Tensor:
    """A number for each sequence, with as many dims as ``y``."""
    return x.reshape([x.shape[0], *[1] * (y.ndim - 1)])


@public("paddle.static.nn", usual=False)
def sequence_first_step(input: Tensor, *, lengths: Tensor | None = None) -> Tensor:
    """First step of each sequence.

    Args:
        input: padded sequences, floating ``[batch, time, ...]``.
        lengths: how many steps of each sequence count ``[batch]``, integers; None: all. One without steps gives zeros.

    Returns:
        Tensor ``[batch, ...]``.

    Raises:
        RuntimeError: dynamic mode.
        ValueError: shapes that are not as above.

    Example:
        >>> import paddle
        >>> paddle.enable_static()
        >>> with paddle.static.program_guard(paddle.static.Program()):
        ...     paddle.static.nn.sequence_first_step(paddle.static.data("x", [2, 3, 4])).shape
        paddle.Size([2, 4])
        >>> paddle.disable_static()
    """
    return sequence_pool(_sequences("sequence_first_step", input, 2, lengths), "first", lengths=lengths)


@public("paddle.static.nn", usual=False)
def sequence_last_step(input: Tensor, *, lengths: Tensor | None = None) -> Tensor:
    """Last step of each sequence.

    Args:
        input: padded sequences, floating ``[batch, time, ...]``.
        lengths: how many steps of each sequence count ``[batch]``, integers; None: all. One without steps gives zeros.

    Returns:
        Tensor ``[batch, ...]``.

    Raises:
        RuntimeError: dynamic mode.
        ValueError: shapes that are not as above.

    Example:
        >>> import paddle
        >>> paddle.enable_static()
        >>> with paddle.static.program_guard(paddle.static.Program()):
        ...     paddle.static.nn.sequence_last_step(paddle.static.data("x", [2, 3, 4])).shape
        paddle.Size([2, 4])
        >>> paddle.disable_static()
    """
    return sequence_pool(_sequences("sequence_last_step", input, 2, lengths), "last", lengths=lengths)


@public("paddle.static.nn", usual=False)
def sequence_softmax(
    input: Tensor, use_cudnn: bool = False, name: str | None = None, *, lengths: Tensor | None = None
) -> Tensor:
    """Softmax over the steps of each sequence.

    Args:
        input: padded sequences, floating ``[batch, time]`` or ``[batch, time, 1]``.
        use_cudnn: accepted.
        name: accepted.
        lengths: how many steps of each sequence count ``[batch]``, integers; None: all.

    Returns:
        Tensor of input's shape; zeros behind the ends.

    Raises:
        RuntimeError: dynamic mode.
        ValueError: shapes that are not as above.

    Example:
        >>> import paddle
        >>> paddle.enable_static()
        >>> with paddle.static.program_guard(paddle.static.Program()):
        ...     paddle.static.nn.sequence_softmax(paddle.static.data("x", [2, 3])).shape
        paddle.Size([2, 3])
        >>> paddle.disable_static()
    """
    x = _sequences("sequence_softmax", input, 2, lengths)
    if x.ndim > 3 or (x.ndim == 3 and x.shape[2] != 1):
        raise op_error(ValueError, "sequence_softmax", "sequences [batch, time] or [batch, time, 1]", list(x.shape))
    inside = _inside(x, lengths)
    if inside is None:
        return paddle.nn.functional.softmax(x, 1)
    # A large negative number rather than an infinite one: a sequence without steps would give NaN.
    masked = paddle.where(inside, x, paddle.full_like(x, paddle.finfo(x.dtype).min / 2))
    return _cleared(paddle.nn.functional.softmax(masked, 1), lengths)


@public("paddle.static.nn", usual=False)
def sequence_conv(
    input: Tensor,
    num_filters: int,
    filter_size: int = 3,
    filter_stride: int = 1,
    padding: bool = True,
    padding_start: int | None = None,
    bias_attr: Any = None,
    param_attr: Any = None,
    act: str | None = None,
    name: str | None = None,
    *,
    lengths: Tensor | None = None,
) -> Tensor:
    """Convolution over the steps of each sequence, with parameters of its own.

    Args:
        input: padded sequences, floating ``[batch, time, features]``.
        num_filters: features of the result.
        filter_size: how many steps each result is made of.
        filter_stride: 1.
        padding: accepted: steps before the beginning and behind the end are zeros.
        padding_start: the first of these steps, relative to the result's; None: ``-(filter_size // 2)``.
        bias_attr: attributes of the bias ``[num_filters]``, zeros by default; False for none.
        param_attr: attributes of the weight ``[filter_size * features, num_filters]``, Xavier-uniform by default.
        act: the name of an activation; None for none.
        name: the beginning of the names of parameters; None: ``sequence_conv_0`` and so on.
        lengths: how many steps of each sequence count ``[batch]``, integers; None: all.

    Returns:
        Tensor ``[batch, time, num_filters]``; zeros behind the ends.

    Raises:
        RuntimeError: dynamic mode.
        ValueError: another stride, shapes that are not as above, or features that are not declared.

    Example:
        >>> import paddle
        >>> paddle.enable_static()
        >>> with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
        ...     paddle.static.nn.sequence_conv(paddle.static.data("x", [2, 3, 4]), 5).shape
        paddle.Size([2, 3, 5])
        >>> paddle.disable_static()
    """
    made = _Parameters("sequence_conv", "sequence_conv", name)
    x = _sequences("sequence_conv", input, 3, lengths)
    if filter_stride != 1:
        raise op_error(ValueError, "sequence_conv", "a filter_stride of 1", filter_stride)
    if x.ndim != 3 or filter_size < 1:
        got = f"{list(x.shape)} and {filter_size}"
        raise op_error(ValueError, "sequence_conv", "sequences [batch, time, features] and a positive size", got)
    (features,) = _known("sequence_conv", x, [2])
    weight = made.make([filter_size * features, num_filters], param_attr, XavierUniform(), x.dtype)
    bias = made.bias([num_filters], bias_attr, x.dtype)
    start = -(filter_size // 2) if padding_start is None else int(padding_start)
    before, behind = max(0, -start), max(0, start + filter_size - 1)
    batch, time = x.shape[0], x.shape[1]
    parts = [_cleared(x, lengths)]
    if before:
        parts.insert(0, paddle.zeros([batch, before, features], x.dtype))
    if behind:
        parts.append(paddle.zeros([batch, behind, features], x.dtype))
    padded = paddle.concat(parts, 1) if len(parts) > 1 else parts[0]
    first = start + before
    windows = [padded[:, first + i : first + i + time] for i in range(filter_size)]
    y = paddle.matmul(paddle.concat(windows, 2), weight)
    y = _activated("sequence_conv", y if bias is None else y + bias, act)
    return _cleared(y, lengths)


@public("paddle.static.nn", usual=False)
def sequence_expand(
    x: Tensor, y: Tensor, ref_level: int = -1, name: str | None = None, *, lengths: Tensor | None = None
) -> Tensor:
    """Each row of ``x`` at every step of a sequence of ``y``.

    Args:
        x: a row for each sequence ``[batch, ...]``.
        y: padded sequences ``[batch, time, ...]``, whose elements are not read.
        ref_level: accepted: sequences have one level.
        name: accepted.
        lengths: how many steps of each sequence count ``[batch]``, integers; None: all.

    Returns:
        Tensor ``[batch, time, ...]`` of x's dtype; zeros behind the ends.

    Raises:
        RuntimeError: dynamic mode.
        ValueError: shapes that are not as above.

    Example:
        >>> import paddle
        >>> paddle.enable_static()
        >>> with paddle.static.program_guard(paddle.static.Program()):
        ...     x, y = paddle.static.data("x", [2, 4]), paddle.static.data("y", [2, 3, 1])
        ...     paddle.static.nn.sequence_expand(x, y).shape
        paddle.Size([2, 3, 4])
        >>> paddle.disable_static()
    """
    _sequences("sequence_expand", y, 2, lengths)
    need_tensor(x, "sequence_expand")
    if x.ndim < 1:
        raise op_error(ValueError, "sequence_expand", "a row for each sequence", list(x.shape))
    wide = paddle.expand(x.unsqueeze(1), [x.shape[0], y.shape[1], *x.shape[1:]])
    return _cleared(wide, lengths)
