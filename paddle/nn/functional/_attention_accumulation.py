"""The switch that has attention computed in float64, whatever its operands are."""

from __future__ import annotations

from typing import Any, NamedTuple

from umiak import ops as F
from umiak.compiler.amp import WithCasts, with_casts
from umiak.core import dtype as dt
from umiak.core.context import current
from umiak.core.tensor import Tensor
from umiak.ops.promotion import cast
from umiak.util import flags
from umiak.util.errors import op_error

_CHOICES = ("auto", "float64")
_BELOW = ("float16", "bfloat16", "float32")


def _check(value: str) -> None:
    if value not in _CHOICES:
        raise op_error(ValueError, "FLAGS_attention_accumulation", f"one of {_CHOICES}", repr(value))


ACCUMULATION = flags.define(
    "attention_accumulation",
    "auto",
    "float64: attention multiplies and adds up in float64, and rounds results and gradients once; auto: in float32 for "
    "operands of float32 and below",
    on_change=_check,
)


class Widened(NamedTuple):
    """Operands of float64, and the dtypes of the result and of sums that leave beside it."""

    operands: tuple[Tensor, Tensor, Tensor, Tensor | None]
    dtype: dt.DType

    def rounded(self, y: Tensor) -> Tensor:
        return cast(y, self.dtype)

    def rounded_sums(self, y: Tensor) -> Tensor:
        return cast(y, self.dtype.compute)


def widened(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Widened | None:
    """The operands in float64 if the switch asks for that; None where they are to be taken as they are, also those that
    attention refuses."""
    if ACCUMULATION.value == "auto" or query.dtype.name not in _BELOW:
        return None
    level, low, lists = current().amp()
    if level:
        # Casts that mixed precision asks for come first: they decide on the dtype of the result.
        operands: Any = (query, key, value, mask)
        casts = with_casts(F.Attention(), operands, level, low, lists)
        if isinstance(casts, WithCasts):
            pairs = zip(operands, casts.dtypes, strict=True)
            query, key, value, mask = (x if d is None else cast(x, d) for x, d in pairs)
    dtype = query.dtype
    if key.dtype is not dtype or value.dtype is not dtype:
        return None
    if mask is not None and mask.dtype.is_floating:
        if mask.dtype is not dtype:
            return None
        mask = cast(mask, dt.float64)
    return Widened((cast(query, dt.float64), cast(key, dt.float64), cast(value, dt.float64), mask), dtype)
