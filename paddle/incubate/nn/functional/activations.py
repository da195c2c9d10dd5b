"""An activation between what an integer matmul leaves and what the next one takes."""

from __future__ import annotations

from paddle._public import need_tensor, public
from paddle.incubate.nn.functional._levels import as_levels
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.ops.promotion import cast
from umiak.util.errors import op_error

_OP = "fused_bias_act"
_COMPUTE_DTYPES = {"fp32": dt.float32, "fp16": dt.float16, "bf16": dt.bfloat16}
_ACTIVATIONS = {
    "gelu": lambda x: F.gelu(x, approximate=False),
    "relu": F.relu,
    "geglu": lambda x: _gated(x, lambda gate: F.gelu(gate, approximate=False)),
    "swiglu": lambda x: _gated(x, F.silu),
}


@public("paddle.incubate.nn.functional", usual=False)
def fused_bias_act(
    x: Tensor,
    bias: Tensor | None = None,
    dequant_scales: Tensor | None = None,
    shift: Tensor | None = None,
    smooth: Tensor | None = None,
    act_method: str = "gelu",
    compute_dtype: str = "default",
    quant_scale: float = -1,
    quant_round_type: int = 0,
    quant_max_bound: float = 0,
    quant_min_bound: float = 0,
) -> Tensor:
    """Activation of ``x * dequant_scales + bias``, then ``(y + shift) * smooth``, then perhaps 8-bit levels.

    Args:
        x: tensor ``[..., n]`` of float32, float16, bfloat16 or float64, or of int32 beside dequant_scales.
        bias: tensor ``[n]`` of the dtype that is computed in, or None.
        dequant_scales: tensor ``[n]`` of float32: what one of x's int32 stands for in each column.
        shift: tensor ``[m]``, added to the activation, where m is n, or n / 2 for the gated ones; given if smooth is.
        smooth: tensor ``[m]``, multiplied with the shifted activation.
        act_method: ``"gelu"``, ``"relu"``, or ``"geglu"`` or ``"swiglu"``: GELU or swish of the first half of the
            features, times the second half.
        compute_dtype: ``"fp32"``, ``"fp16"`` or ``"bf16"``, the dtype that is computed in; int32 needs it.
            ``"default"`` is x's.
        quant_scale: above 0, the result is ``quant_max_bound * quant_scale`` times what it would be, clipped to the
            bounds.
        quant_round_type: of int8 levels, 0 rounds ties to even, 1 away from 0.
        quant_max_bound: 448 for levels of float8_e4m3fn, up to 127 for those of int8.
        quant_min_bound: the lowest level.

    Returns:
        Tensor ``[..., m]`` of the dtype that is computed in, or that of levels.

    Raises:
        TypeError: a dtype that is not computed in.
        ValueError: an unknown activation or compute_dtype, int32 without scales, shift without smooth, an odd size of a
            gated activation, or sizes that do not fit.

    Example:
        >>> import paddle
        >>> from paddle.incubate.nn.functional import fused_bias_act
        >>> x = paddle.to_tensor([[-1.0, 1.0]])
        >>> fused_bias_act(x, act_method="relu").tolist()
        [[0.0, 1.0]]
        >>> fused_bias_act(x, act_method="relu", quant_scale=0.5, quant_max_bound=127, quant_min_bound=-127).tolist()
        [[0, 64]]
    """
    if act_method not in _ACTIVATIONS:
        raise op_error(ValueError, _OP, f"act_method of {tuple(_ACTIVATIONS)}", repr(act_method))
    x = _dequantised(x, dequant_scales, compute_dtype)
    n = x.shape[-1]
    if bias is not None:
        x = F.add(x, _vector("bias", bias, n, x.dtype))
    if act_method in ("geglu", "swiglu"):
        if not dim.eq(n % 2, 0):
            raise op_error(ValueError, _OP, f"an even last dim for {act_method}", n)
        n = n // 2
    y = _ACTIVATIONS[act_method](x)
    if (shift is None) != (smooth is None):
        raise op_error(ValueError, _OP, "both of shift and smooth or neither", "one")
    if shift is not None and smooth is not None:
        y = F.mul(F.add(y, _vector("shift", shift, n, y.dtype)), _vector("smooth", smooth, n, y.dtype))
    return as_levels(_OP, y, quant_scale, quant_round_type, quant_max_bound, quant_min_bound)


def _dequantised(x: Tensor, scales: Tensor | None, compute_dtype: str) -> Tensor:
    """x in the dtype that is computed in."""
    if compute_dtype != "default" and compute_dtype not in _COMPUTE_DTYPES:
        raise op_error(ValueError, _OP, f"compute_dtype of {('default', *_COMPUTE_DTYPES)}", repr(compute_dtype))
    wide = _COMPUTE_DTYPES.get(compute_dtype)
    if not need_tensor(x, _OP).ndim:
        raise op_error(ValueError, _OP, "x of rank 1 or more", list(x.shape))
    if x.dtype is dt.int32:
        if scales is None or wide is None:
            raise op_error(ValueError, _OP, "dequant_scales and a compute_dtype for x of int32", "none")
        return cast(
            F.mul(F.cast(x, dtype=dt.float32), _vector("dequant_scales", scales, x.shape[-1], dt.float32)), wide
        )
    if not x.dtype.is_floating:
        raise op_error(TypeError, _OP, "a floating x, or one of int32", x.dtype.name)
    if scales is not None:
        raise op_error(TypeError, _OP, "x of int32 beside dequant_scales", x.dtype.name)
    if wide is not None and x.dtype is not wide:
        raise op_error(TypeError, _OP, f"x of {wide.name} for compute_dtype {compute_dtype!r}", x.dtype.name)
    return x


def _vector(arg_name: str, v: Tensor, n: int, dtype: dt.DType) -> Tensor:
    """A floating vector of n numbers, in a dtype."""
    if need_tensor(v, _OP, arg_name).ndim != 1 or not dim.eq(v.shape[0], n):
        raise op_error(ValueError, _OP, f"{arg_name} of shape [{n}]", list(v.shape))
    if not v.dtype.is_floating:
        raise op_error(TypeError, _OP, f"a floating {arg_name}", v.dtype.name)
    return cast(v, dtype)


def _gated(x: Tensor, activation) -> Tensor:
    axis, half = x.ndim - 1, x.shape[-1] // 2
    gate, value = (F.slice(x, axes=(axis,), starts=(start,), sizes=(half,), steps=(1,)) for start in (0, half))
    return F.mul(activation(gate), value)
