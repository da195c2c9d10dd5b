"""Linear maps whose weights are stored in 8 or 4 bits, with a scale for each output channel or group of inputs.

A weight of shape [inputs, outputs] is stored transposed, as int8 of shape [outputs, inputs]. Of 4 bits, two outputs
share a byte, [outputs / 2, inputs]: output 2j in the low half of row j, output 2j + 1 in the high half. Scales have
shape [outputs], or [inputs / group_size, outputs]. The layout is the same for every ``arch``.
"""

from __future__ import annotations

from typing import Any

from paddle._public import need_tensor, public
from paddle.tensor._args import create_on
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.context import no_grad_guard
from umiak.core.dtype import convert
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.ops.low_bit import restored
from umiak.util.errors import op_error

_LIMITS = {"weight_only_int8": 127.0, "weight_only_int4": 7.0, "llm.int8": 127.0}
_ARCHS = (None, 70, 75, 80, 86, 89, 90, 100)
_GROUPS = (-1, 64, 128)
_FLOATS = (dt.float16, dt.bfloat16, dt.float32)


def _check(op: str, algo: str, arch: Any, group_size: int) -> None:
    if algo not in _LIMITS:
        raise op_error(ValueError, op, f"an algo of {sorted(_LIMITS)}", repr(algo))
    if arch not in _ARCHS:
        raise op_error(ValueError, op, f"an arch of {_ARCHS}", arch)
    if group_size not in _GROUPS:
        raise op_error(AssertionError, op, f"a group_size of {_GROUPS}", group_size)
    if algo == "llm.int8" and group_size != -1:
        raise op_error(ValueError, op, "group_size -1 for llm.int8", group_size)


def _floating(op: str, name: str, x: Any) -> Tensor:
    if need_tensor(x, op, name).dtype not in _FLOATS:
        raise op_error(TypeError, op, f"{name} of float16, bfloat16 or float32", x.dtype.name)
    return x


def _packed(q: Tensor) -> Tensor:
    """Two rows of numbers from -8 to 7 in each row of bytes."""
    rows = F.reshape(q, (q.shape[0] // 2, 2, q.shape[1]))
    low, high = (F.squeeze(F.slice(rows, (1,), (i,), (1,), (1,)), (1,)) for i in (0, 1))
    return F.cast(F.cast(high, dtype=dt.int32) * 16 + (F.cast(low, dtype=dt.int32) & 15), dtype=dt.int8)


@public("paddle.nn.quant", usual=False)
def weight_quantize(
    x: Tensor, algo: str = "weight_only_int8", arch: int | None = None, group_size: int = -1
) -> tuple[Tensor, Tensor]:
    """Weight of a linear map in 8 or 4 bits, with its scales.

    A scale is the largest magnitude of an output channel, or of a group of its inputs, over 127 (or 7); numbers are
    rounded to the nearest multiple.

    Args:
        x: weight of shape [inputs, outputs], float16, bfloat16 or float32; inputs and outputs are multiples of 16.
        algo: ``"weight_only_int8"``, ``"weight_only_int4"`` or ``"llm.int8"``.
        arch: accepted, one of the numbers of devices' architectures; the layout does not depend on it.
        group_size: inputs that share a scale, 64 or 128; -1: all of a channel.

    Returns:
        The numbers, int8 of shape [outputs, inputs], of 4 bits [outputs / 2, inputs]; and the scales, of x's dtype
        (float32 for ``"llm.int8"``), of shape [outputs], with groups [inputs / group_size, outputs].

    Raises:
        TypeError: x is not a tensor of these dtypes.
        ValueError: another shape, algo or arch, or inputs that groups do not divide.
        AssertionError: another group_size.

    Example:
        >>> import paddle
        >>> out, scale = paddle.nn.quant.weight_quantize(paddle.ones([64, 32], "float16"))
        >>> out.shape, out.dtype, scale.shape
        (paddle.Size([32, 64]), paddle.int8, paddle.Size([32]))
    """
    op = "weight_quantize"
    _check(op, algo, arch, group_size)
    if _floating(op, "x", x).ndim != 2 or x.shape[0] % 16 or x.shape[1] % 16:
        raise op_error(ValueError, op, "a matrix whose sizes are multiples of 16", x.shape)
    inputs, outputs = x.shape
    if not inputs:
        raise op_error(ValueError, op, "inputs, of which scales are the largest magnitudes", x.shape)
    size = inputs if group_size == -1 else group_size
    if inputs % size:
        raise op_error(ValueError, op, f"inputs divisible by the group size {size}", inputs)
    with no_grad_guard():
        groups = F.reshape(F.cast(x, dtype=dt.float32), (inputs // size, size, outputs))
        scale = F.max(F.abs(groups), axes=(1,), keepdim=True) / _LIMITS[algo]
        divisor = F.where(scale == 0.0, create_on(x.place, F.full, 1.0, dt.float32, ()), scale)
        q = F.permute(F.reshape(F.round(groups / divisor), (inputs, outputs)), (1, 0))
        q = F.cast(q, dtype=dt.int8)
        scale = F.reshape(scale, (outputs,) if group_size == -1 else (inputs // size, outputs))
        kept = dt.float32 if algo == "llm.int8" else x.dtype
        return _packed(q) if algo == "weight_only_int4" else F.copy(q), F.cast(scale, dtype=kept)


def _stored(op: str, weight: Any, scale: Tensor, bits: int, group_size: int) -> tuple[int, int]:
    """Return the inputs and outputs of a stored weight, which its scales fit."""
    if need_tensor(weight, op, "weight").dtype is not dt.int8 or weight.ndim != 2:
        raise op_error(ValueError, op, "an int8 matrix of weights", f"{weight.dtype.name} {list(weight.shape)}")
    rows, inputs = weight.shape
    outputs = 2 * rows if bits == 4 else rows
    wanted = [outputs] if group_size == -1 else [inputs // group_size, outputs]
    if (group_size != -1 and inputs % group_size) or scale.shape != wanted:
        raise op_error(ValueError, op, f"scales of shape {wanted}", scale.shape)
    return inputs, outputs


@public("paddle.nn.quant", usual=False)
def weight_dequantize(
    x: Tensor, scale: Tensor, algo: str = "weight_only_int8", out_dtype: Any = "float16", group_size: int = -1
) -> Tensor:
    """Weight that ``weight_quantize`` has stored, in floating numbers again.

    Args:
        x: the stored numbers, int8.
        scale: their scales.
        algo: how they were stored.
        out_dtype: accepted; the result has the dtype of the scales.
        group_size: inputs that share a scale, 64 or 128; -1: all of a channel.

    Returns:
        Tensor of shape [inputs, outputs] and the scales' dtype.

    Raises:
        TypeError: values that are not tensors, or scales that are not floating.
        ValueError: another algo, or shapes and dtypes that do not fit.
        AssertionError: another group_size.

    Example:
        >>> import paddle
        >>> out, scale = paddle.nn.quant.weight_quantize(paddle.full([16, 16], 127.0))
        >>> float(paddle.nn.quant.weight_dequantize(out, scale).max())
        127.0
    """
    op = "weight_dequantize"
    _check(op, algo, None, group_size)
    _floating(op, "scale", scale)
    with no_grad_guard():
        bits = 4 if algo == "weight_only_int4" else 8
        _stored(op, x, scale, bits, group_size)
        return restored(x, scale, bits, group_size, scale.dtype)


def _rows(op: str, x: Tensor, inputs: int) -> Tensor:
    """x as a matrix."""
    if x.shape[-1:] != [inputs]:
        raise op_error(ValueError, op, f"x with a last dim of {inputs}", x.shape)
    return x if x.ndim == 2 else F.reshape(x, (dim.product(x.shape[:-1]), inputs))


def _finished(op: str, y: Tensor, x: Tensor, bias: Tensor | None) -> Tensor:
    """The product of rows in the shape of x, with its bias."""
    if x.ndim != 2:
        y = F.reshape(y, (*x.shape[:-1], y.shape[1]))
    return y if bias is None else y + F.cast(need_tensor(bias, op, "bias"), dtype=y.dtype)


def _scale_given(op: str, weight_scale: Any) -> Tensor:
    if weight_scale is None:
        raise op_error(ValueError, op, "a weight_scale", "None", "weight_quantize gives it.")
    return _floating(op, "weight_scale", weight_scale)


@public("paddle.nn.quant", usual=False)
def weight_only_linear(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    weight_scale: Tensor | None = None,
    weight_dtype: Any = "int8",
    arch: int | None = None,
    group_size: int = -1,
) -> Tensor:
    """Linear map by a weight that ``weight_quantize`` has stored; gradients reach x and the bias.

    Args:
        x: tensor of shape [..., inputs], float16, bfloat16 or float32.
        weight: the stored numbers, int8.
        bias: tensor of shape [outputs]; None: no bias.
        weight_scale: the scales of the numbers; needed.
        weight_dtype: ``"int8"`` or ``"int4"``.
        arch: accepted, as for ``weight_quantize``.
        group_size: inputs that share a scale, 64 or 128; -1: all of a channel.

    Returns:
        Tensor of shape [..., outputs] and x's dtype.

    Raises:
        TypeError: values that are not tensors, or not floating.
        ValueError: no scale, another weight_dtype or arch, or shapes that do not fit.
        AssertionError: another group_size.

    Example:
        >>> import paddle
        >>> weight, scale = paddle.nn.quant.weight_quantize(paddle.eye(16))
        >>> paddle.nn.quant.weight_only_linear(paddle.ones([1, 16]), weight, weight_scale=scale).sum().item()
        16.0
    """
    op = "weight_only_linear"
    name = weight_dtype if isinstance(weight_dtype, str) else convert(weight_dtype).name
    if name not in ("int8", "int4"):
        raise op_error(ValueError, op, "a weight_dtype of 'int8' or 'int4'", repr(weight_dtype))
    _check(op, f"weight_only_{name}", arch, group_size)
    scale = _scale_given(op, weight_scale)
    bits = int(name[3:])
    inputs, _ = _stored(op, weight, scale, bits, group_size)
    rows = _rows(op, _floating(op, "x", x), inputs)
    return _finished(op, F.weight_only_matmul(rows, weight, scale, bits=bits, group_size=group_size), x, bias)


@public("paddle.nn.quant", usual=False)
def llm_int8_linear(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, weight_scale: Tensor | None = None, threshold: float = 6.0
) -> Tensor:
    """Linear map of integers of 8 bits, with the inputs that reach ``threshold`` kept in floating numbers.

    Each row of x is rounded to multiples of its largest magnitude over 127, without the inputs that reach the
    threshold in some row; products of integers are summed in int32. No gradient is recorded.

    Args:
        x: tensor of shape [..., inputs], float16, bfloat16 or float32.
        weight: numbers of shape [outputs, inputs], int8, stored by ``weight_quantize(..., "llm.int8")``.
        bias: tensor of shape [outputs]; None: no bias.
        weight_scale: the scales of the numbers, of shape [outputs]; needed.
        threshold: an input is an outlier where it is of this magnitude or more in some row.

    Returns:
        Tensor of shape [..., outputs] and x's dtype.

    Raises:
        TypeError: values that are not tensors, or not floating.
        ValueError: no scale, or shapes and dtypes that do not fit.

    References:
        Dettmers et al., 2022: LLM.int8(): 8-bit Matrix Multiplication for Transformers at Scale.

    Example:
        >>> import paddle
        >>> weight, scale = paddle.nn.quant.weight_quantize(paddle.eye(16), "llm.int8")
        >>> paddle.nn.quant.llm_int8_linear(paddle.ones([1, 16]), weight, weight_scale=scale).sum().item()
        16.0
    """
    op = "llm_int8_linear"
    scale = _scale_given(op, weight_scale)
    with no_grad_guard():
        inputs, _ = _stored(op, weight, scale, 8, -1)
        rows = F.cast(_rows(op, _floating(op, "x", x), inputs), dtype=dt.float32)
        outlying = F.any(F.abs(rows) >= float(threshold), axes=(0,), keepdim=True)  # of no rows, none
        zero = create_on(x.place, F.full, 0.0, dt.float32, ())
        y = F.int8_matmul(F.where(outlying, zero, rows), weight, scale)
        y = y + F.weight_only_matmul(F.where(outlying, rows, zero), weight, scale)
        return F.cast(_finished(op, y, x, bias), dtype=x.dtype)


@public("paddle.nn.quant", usual=False)
def apply_per_channel_scale(x: Tensor, scales: Tensor) -> Tensor:
    """Activations times a factor of each channel, as they are scaled before they meet a quantised weight.

    Args:
        x: tensor of shape [rows, channels], float16, bfloat16 or float32.
        scales: tensor of shape [channels].

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: values that are not tensors, or not floating.
        ValueError: shapes that do not fit.

    Example:
        >>> import paddle
        >>> paddle.nn.quant.apply_per_channel_scale(paddle.ones([1, 2]), paddle.to_tensor([2.0, 3.0])).tolist()
        [[2.0, 3.0]]
    """
    op = "apply_per_channel_scale"
    if _floating(op, "scales", scales).shape != _floating(op, "x", x).shape[-1:]:
        raise op_error(ValueError, op, f"scales of shape {x.shape[-1:]}", scales.shape)
    return x * F.cast(scales, dtype=x.dtype)
