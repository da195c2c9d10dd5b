"""Packed operands inside plans: an op together with the unpacking of its operands and the packing of its results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from umiak import ops as F
from umiak.compiler.fused import Fused
from umiak.core import eager
from umiak.core.dtype import DType
from umiak.ir.meta import Meta
from umiak.ops._common import is_tensor
from umiak.ops.base import Op, register
from umiak.ops.packed import Pack, Unpack, unpacked
from umiak.ops.places import Transfer


def with_packing(op: Op, metas: Sequence[Meta | None], results: Sequence[Meta]) -> Op:
    """The op itself, or the op on carriers where operands or results are packed."""
    if isinstance(op, (Pack, Unpack, Transfer, Fused, WithPacking)):  # packed elements are their own business
        return op
    dtypes = tuple(m.dtype for m in results)
    shares = op.view and op.shares(dtypes[0])
    if shares or not any(m is not None and _packed(m.dtype) for m in (*metas, *results)):
        return op
    return WithPacking(inner=op, n=len(metas), dtypes=dtypes)


def _packed(x: Any) -> bool:
    return isinstance(x, DType) and x.is_packed


@register
class WithPacking(Op):
    """``inner`` with packed operands unpacked, and its results packed to ``dtypes`` where these are.

    The planner puts it in the place of ``inner``.
    """

    inputs = ("*xs",)
    packed = True
    inner: Any
    n: int
    dtypes: Any

    def bind(self) -> None:
        self._bind(len(self.inner.inputs), tuple(p.kind for p in self.inner.param_fields.values()))
        # A recorded call carries the inner op's params.
        object.__setattr__(self, "param_fields", self.inner.param_fields)
        attributes = {k: v.carrier if _packed(v) else v for k, v in self.inner.attributes.items()}
        object.__setattr__(self, "wide", type(self.inner)(**attributes))

    def multiple(self, n_outputs: int) -> bool:
        return self.inner.multiple(n_outputs)

    def infer(self, *args: Any) -> Any:
        return self.inner.infer(*args)

    def decompose(self, *args: Any) -> Any:
        operands = tuple(unpacked(x) if is_tensor(x) else x for x in args[: self.n])
        outputs = eager.apply(self.wide, operands, args[self.n :])
        results = outputs if isinstance(outputs, tuple) else (outputs,)
        packed = tuple(F.pack(y, dtype=d) if d.is_packed else y for y, d in zip(results, self.dtypes, strict=True))
        return packed if isinstance(outputs, tuple) else packed[0]
