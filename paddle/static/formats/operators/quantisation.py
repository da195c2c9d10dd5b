"""Numbers of few bits: quantise and dequantise, and products with quantised weights."""

from __future__ import annotations

from typing import Any

import paddle
from paddle.nn import quant
from paddle.static.formats.operators.table import Tensors, operator
from paddle.static.formats.operators.weight_tiles import from_tiles, to_tiles
from umiak.core.tensor import Tensor
from umiak.ir.serialise import FormatError

# Scales up to the first are those of nothing but zeros: the reference adds the second to them.
_NO_SCALE, _LEAST = 1e-30, 1e-6


def _most(bits: int) -> float:
    if not 0 < bits <= 64:
        raise ValueError(f"[quantize] requires a number of bits from 1 to 64, got {bits}")
    return float(2 ** (bits - 1) - 1)


def _along(scale: Tensor, x: Tensor, axis: int) -> Tensor:
    """Scales beside a tensor: one, one for each entry along an axis, or a row of them for each group of its rows."""
    if scale.ndim == 2:
        groups, rows = scale.shape[0], x.shape[0]
        if x.ndim != 2 or scale.shape[1] != x.shape[1] or not groups or rows % groups:
            found = f"{list(scale.shape)} beside {list(x.shape)}"
            raise FormatError(f"a row of scales for each group of rows of a matrix is required, got {found}")
        return paddle.repeat_interleave(scale, rows // groups, 0)
    if scale.ndim == 0 or axis < 0 or (scale.ndim == 1 and scale.shape[0] == 1):
        return scale.reshape([1] * x.ndim)
    return scale.reshape([-1 if i == axis else 1 for i in range(x.ndim)])


def _straight(x: Tensor, y: Tensor) -> Tensor:
    """y, with the gradient of x, as training in few bits has it."""
    if x.stop_gradient or not paddle.is_grad_enabled():
        return y
    x = paddle.where(paddle.isfinite(x), x, paddle.zeros_like(x))  # infinite ones less themselves are no zeros
    return y.detach() + (x - x.detach())


@operator("quantize_linear")
def quantize_linear(
    x: Tensor, scale: Tensor, zero_point: Tensor | None = None, in_accum: Tensor | None = None,
    in_state: Tensor | None = None, *, quant_axis: int = 0, bit_length: int = 8, qmin: int = -128, qmax: int = 127,
    round_type: int = 0, is_test: bool = True, only_observer: bool = False,
) -> Any:  # fmt: skip
    if only_observer:
        return x, in_state, in_accum, scale
    y = _quantised(x, _along(scale, x, quant_axis), bit_length, round_type)
    return paddle.clip(y, float(qmin), float(qmax)), in_state, in_accum, scale


@operator("dequantize_linear")
def dequantize_linear(
    x: Tensor, scale: Tensor, zero_point: Tensor | None = None, in_accum: Tensor | None = None,
    in_state: Tensor | None = None, *, quant_axis: int = 0, bit_length: int = 8, qmin: int = -128, qmax: int = 127,
    round_type: int = 0, is_test: bool = True, only_observer: bool = False,
) -> Any:  # fmt: skip
    if only_observer:
        return x, in_state, in_accum, scale
    y = x.astype(scale.dtype) * _along(scale, x, quant_axis) / _most(bit_length)
    return y, in_state, in_accum, scale


def _largest(x: Tensor, axis: int | None) -> Tensor:
    size = paddle.abs(x)
    return paddle.max(size) if axis is None else paddle.max(size, [i for i in range(x.ndim) if i != axis])


def _quantised(x: Tensor, scale: Tensor, bits: int, round_type: int) -> Tensor:
    """Levels of x. Of two that are as near, ``round_type`` 0 takes the even one, 1 the one away from zero."""
    most = _most(bits)
    # In the order in which the reference multiplies, and its steps where the largest magnitude is 0.
    step = paddle.where(scale <= _NO_SCALE, 1.0 / (scale + _LEAST), 1.0 / scale) * most
    if round_type == 0:
        return paddle.clip(paddle.round(step * x), -most - 1, most)
    y = step * paddle.clip(x, -scale, scale)
    return paddle.sign(y) * paddle.floor(paddle.abs(y) + 0.5)


def _through(x: Tensor, scale: Tensor, bits: int, round_type: int) -> Tensor:
    """x as its levels say it."""
    return _straight(x, _quantised(x, scale, bits, round_type) * scale / _most(bits))


@operator("fake_quantize_abs_max")
def fake_quantize_abs_max(x: Tensor, *, bit_length: int = 8, round_type: int = 1) -> Any:
    scale = _largest(x, None)
    return _quantised(x, scale, bit_length, round_type), scale.reshape([1])


@operator("fake_quantize_dequantize_abs_max")
def fake_quantize_dequantize_abs_max(x: Tensor, *, bit_length: int = 8, round_type: int = 1) -> Any:
    scale = _largest(x, None)
    return _through(x, scale, bit_length, round_type), scale.reshape([1])


@operator("fake_channel_wise_quantize_abs_max")
def fake_channel_wise_quantize_abs_max(
    x: Tensor, *, bit_length: int = 8, round_type: int = 1, quant_axis: int = 0, is_test: bool = False
) -> Any:
    scale = _largest(x, quant_axis)
    return _quantised(x, _along(scale, x, quant_axis), bit_length, round_type), scale


@operator("fake_channel_wise_quantize_dequantize_abs_max")
def fake_channel_wise_quantize_dequantize_abs_max(
    x: Tensor, *, bit_length: int = 8, round_type: int = 1, quant_axis: int = 0
) -> Any:
    scale = _largest(x, quant_axis)
    return _through(x, _along(scale, x, quant_axis), bit_length, round_type), scale


@operator("fake_dequantize_max_abs")
def fake_dequantize_max_abs(x: Tensor, scale: Tensor, *, max_range: float) -> Any:
    return x.astype(scale.dtype) * scale / max_range


@operator("dequantize_abs_max")
def dequantize_abs_max(x: Tensor, scale: Tensor, *, max_range: float) -> Any:
    return x.astype("float32") * scale / max_range


@operator("fake_quantize_moving_average_abs_max")
def fake_quantize_moving_average_abs_max(
    x: Tensor, in_scale: Tensor, in_accum: Tensor | None = None, in_state: Tensor | None = None, *,
    moving_rate: float = 0.9, bit_length: int = 8, is_test: bool = False, round_type: int = 1,
) -> Any:  # fmt: skip
    scale, state, accum = _moved(x, in_scale, in_accum, in_state, moving_rate, is_test)
    return _quantised(x, scale, bit_length, round_type), scale, state, accum


@operator("fake_quantize_dequantize_moving_average_abs_max")
def fake_quantize_dequantize_moving_average_abs_max(
    x: Tensor, in_scale: Tensor, in_accum: Tensor | None = None, in_state: Tensor | None = None, *,
    moving_rate: float = 0.9, bit_length: int = 8, is_test: bool = False, round_type: int = 1,
) -> Any:  # fmt: skip
    scale, state, accum = _moved(x, in_scale, in_accum, in_state, moving_rate, is_test)
    return _through(x, scale, bit_length, round_type), scale, state, accum


def _moved(x: Tensor, scale: Tensor, accum: Any, state: Any, rate: float, is_test: bool) -> tuple[Tensor, Any, Any]:
    """The scale: as it is, or the mean of largest magnitudes, older ones counting less. No gradient goes to it."""
    if is_test:
        return scale.detach(), state, accum
    x = x.detach()
    if state is None or accum is None:
        raise FormatError("a state and a sum of scales are required where they are learnt, got none")
    state = rate * state + 1.0
    accum = rate * accum + _largest(x, None)
    return (accum / state).reshape([1]), state, accum


@operator("fake_quantize_range_abs_max")
def fake_quantize_range_abs_max(
    x: Tensor, in_scale: Tensor, iter: Tensor | None = None, *, window_size: int = 10000, bit_length: int = 8,
    is_test: bool = False, round_type: int = 1,
) -> Any:  # fmt: skip
    if not is_test:
        raise ValueError("[fake_quantize_range_abs_max] requires is_test: scales are learnt with other operators here")
    return _quantised(x, in_scale, bit_length, round_type), in_scale, None


@operator("moving_average_abs_max_scale")
def moving_average_abs_max_scale(
    x: Tensor, in_accum: Tensor | None = None, in_state: Tensor | None = None, *, moving_rate: float = 0.9,
    is_test: bool = False,
) -> Any:  # fmt: skip
    if is_test:
        return x, None, in_state, in_accum
    scale, state, accum = _moved(x, x, in_accum, in_state, moving_rate, False)
    return x, scale, state, accum


_PLAIN = "llm.int8"  # which has no order of tiles
_BITS = {"weight_only_int8": 8, "weight_only_int4": 4}


@operator("weight_quantize")
def weight_quantize(x: Tensor, *, algo: str = "weight_only_int8", arch: int = 80, group_size: int = -1) -> Any:
    q, scale = quant.weight_quantize(x, algo, group_size=group_size)
    return (q if algo == _PLAIN else to_tiles(q, _BITS[algo], arch)), scale


@operator("weight_dequantize")
def weight_dequantize(x: Tensor, scale: Tensor, *, algo: str = "weight_only_int8", group_size: int = -1) -> Any:
    rows = x if algo == _PLAIN else from_tiles(x, _BITS[algo], 80)  # files do not say it; archs from 75 on store alike
    return quant.weight_dequantize(rows, scale, algo, scale.dtype, group_size)


@operator("weight_only_linear")
def weight_only_linear(
    x: Tensor, weight: Tensor, bias: Tensor | None, weight_scale: Tensor, *, weight_dtype: str = "int8",
    arch: int = 80, group_size: int = -1,
) -> Any:  # fmt: skip
    rows = from_tiles(weight, {"int8": 8, "int4": 4}.get(weight_dtype, 0), arch)
    return quant.weight_only_linear(x, rows, bias, weight_scale, weight_dtype, group_size=group_size)


@operator("llm_int8_linear")
def llm_int8_linear(
    x: Tensor, weight: Tensor, bias: Tensor | None, weight_scale: Tensor, *, threshold: float = 6.0
) -> Any:
    return quant.llm_int8_linear(x, weight, bias, weight_scale, threshold)


@operator("apply_per_channel_scale")
def apply_per_channel_scale(x: Tensor, scales: Tensor) -> Any:
    return quant.apply_per_channel_scale(x, scales)


@operator("dequantize_log")
def dequantize_log(x: Tensor, dict: Tensor) -> Any:
    place = x.astype("int64")
    negative = place < 0
    found = paddle.gather(dict, paddle.where(negative, place + 128, place).reshape([-1])).reshape(x.shape)
    return paddle.where(negative, -found, found)


@operator("fake_channel_wise_dequantize_max_abs")
def fake_channel_wise_dequantize_max_abs(
    x: Tensor, scales: Tensors, *, quant_bits: Any = (8,), quant_axis: int = 0, x_num_col_dims: int = 1
) -> Any:
    if len(scales) > 2 or len(quant_bits) < len(scales):
        raise ValueError(f"[fake_channel_wise_dequantize_max_abs] requires one or two scales, got {len(scales)}")
    # Of weights a scale for each channel; of results one for each column, and one of the activations.
    axis = quant_axis if len(scales) == 1 else x_num_col_dims
    y = x.astype(scales[0].dtype) * _along(scales[0], x, axis) / _most(quant_bits[0])
    return y if len(scales) == 1 else y * scales[1].reshape([]) / _most(quant_bits[1])
