"""Query, key and value that come packed, and outputs that leave as levels: arguments of the names with a cache."""

from __future__ import annotations

from typing import Any

from paddle._public import need_tensor
from paddle.incubate.nn.functional._levels import as_levels
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.ops.promotion import cast
from umiak.util.errors import op_error

_COMPUTE = {"fp16": dt.float16, "bf16": dt.bfloat16, "fp32": dt.float32}


def features(
    op_name: str,
    qkv: Tensor,
    factor: Tensor | None,
    bias: Tensor | None,
    compute_dtype: str,
    key_heads: Any,
    size: Any,
    cache: Tensor,
) -> Tensor:
    """Query, key and value: ``[tokens, heads + 2 * key_heads, size]``. An int32 ``qkv`` is multiplied by ``factor``."""
    if need_tensor(qkv, op_name, "packed query, key and value").ndim != 2:
        raise op_error(ValueError, op_name, "packed query, key and value of shape [tokens, features]", list(qkv.shape))
    n = qkv.shape[1]
    heads = n // size - 2 * key_heads
    if not dim.eq(n % size, 0) or not heads >= key_heads or not dim.eq(heads % key_heads, 0):
        required = f"(heads + 2 * {key_heads}) * {size} features, with heads a multiple of {key_heads}"
        raise op_error(ValueError, op_name, required, n)
    x = qkv
    if factor is not None:
        if qkv.dtype is not dt.int32 or compute_dtype not in _COMPUTE:
            required = f"int32 and a compute_dtype of {tuple(_COMPUTE)} with qkv_out_scale"
            raise op_error(TypeError, op_name, required, f"{qkv.dtype.name} and {compute_dtype!r}")
        factor = flat(op_name, "qkv_out_scale", factor, n)
        x = cast(F.mul(F.cast(qkv, dtype=dt.float32), cast(factor, dt.float32)), _COMPUTE[compute_dtype])
    if not x.dtype.is_floating or (cache.dtype is not x.dtype and cache.dtype is not dt.uint8):
        required = "floating features, and a cache of their dtype"
        raise op_error(TypeError, op_name, required, f"{x.dtype.name} and {cache.dtype.name}")
    if bias is not None:
        x = F.add(x, cast(flat(op_name, "the bias", bias, n), x.dtype))
    return F.reshape(x, shape=(x.shape[0], n // size, size))


def row_lengths(op_name: str, arg_name: str, x: Tensor, batch: Any = None) -> Tensor:
    """``[batch]``, of lengths ``[batch]`` or ``[batch, 1]`` of int32 or int64; None: of any number of sequences."""
    if need_tensor(x, op_name, arg_name).dtype not in (dt.int32, dt.int64):
        raise op_error(TypeError, op_name, f"{arg_name} of int32 or int64", x.dtype.name)
    wanted = (x.shape[0] if batch is None and x.ndim else batch, 1)
    if x.ndim not in (1, 2) or not all(map(dim.eq, x.shape, wanted)):
        shown = "batch" if batch is None else batch
        raise op_error(ValueError, op_name, f"{arg_name} of shape [{shown}] or [{shown}, 1]", list(x.shape))
    return x if x.ndim == 1 else F.squeeze(x, axes=(1,))


def flat(op_name: str, arg_name: str, x: Tensor, n: Any) -> Tensor:
    """``x``, a number for each of ``n`` features, in one dim."""
    shape = need_tensor(x, op_name, arg_name).shape
    count: Any = 1
    for m in shape:
        count = count * m
    if not dim.eq(count, n):
        raise op_error(ValueError, op_name, f"{arg_name} with {n} elements", list(shape))
    return x if x.ndim == 1 else F.reshape(x, shape=(n,))


class Levels:
    """Quantises an output ``[tokens, size]``: ``(out + shift) * smooth`` where both are given. Arguments are looked at
    when it is made, before anything is computed."""

    def __init__(
        self, op_name: str, scale: float, rounding: tuple, shift: Tensor | None, smooth: Tensor | None, size: Any
    ) -> None:
        self.op_name, self.scale, self.rounding = op_name, scale, rounding
        self.around: tuple = ()
        if scale > 0:
            as_levels(op_name, F.full(0.0, dtype=dt.float32, shape=(0,)), scale, *rounding)
            if shift is not None and smooth is not None:
                self.around = flat(op_name, "out_shift", shift, size), flat(op_name, "out_smooth", smooth, size)

    def __call__(self, out: Tensor) -> Tensor:
        if self.around:
            shift, smooth = (cast(x, out.dtype) for x in self.around)
            out = F.mul(F.add(out, shift), smooth)
        return as_levels(self.op_name, out, self.scale, *self.rounding)
