"""Mixed precision inside plans: an op together with the casts of its operands, and which casts a mode asks for.

The lists of ops are the ops' own ``amp`` properties, so there is nothing to keep in step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from umiak import ops as F
from umiak.core import eager
from umiak.core.dtype import DType, float32, from_id
from umiak.ir.meta import Meta
from umiak.ops.base import Op, register

LOW = ("float16", "bfloat16")

# Custom lists by id (the id is part of the plan modes): names forced to low precision, names kept at full precision,
# and what becomes of ops that neither these nor the ops themselves decide on: "promote" (the widest operand decides),
# "allow" or "deny".
Lists = tuple[frozenset, frozenset, str]
CUSTOM: list[Lists] = [(frozenset(), frozenset(), "promote")]


def custom_lists(white: frozenset, black: frozenset, rest: str = "promote") -> int:
    """The id of a pair of custom lists, and of a rule for what stands on none."""
    lists = (white, black, rest)
    if lists not in CUSTOM:
        CUSTOM.append(lists)
    return CUSTOM.index(lists)


def with_casts(op: Op, metas: Sequence[Meta | None], level: int, dtype_id: int, custom: int) -> Op:
    """The op itself, or the op with casts that the mode asks for."""
    if op.view or op.amp == "keep":
        return op
    low = from_id(dtype_id)
    full = float32
    white, black, rest = CUSTOM[custom]
    kind = "allow" if op.name in white else "deny" if op.name in black else rest if op.amp == "promote" else op.amp
    floats = [m.dtype for m in metas if m is not None and m.dtype is not None and m.dtype.name in ("float32", *LOW)]
    if not floats:
        return op
    target: DType | None
    if kind == "allow":
        target = low
    elif kind == "deny":
        target = full
    elif len(set(floats)) > 1:
        target = full  # mixed operands go to the wider type
    else:
        return op
    casts = tuple(
        target if m is not None and m.dtype is not None and m.dtype in floats and m.dtype is not target else None
        for m in metas
    )
    return WithCasts(inner=op, dtypes=casts) if any(casts) else op


@register
class WithCasts(Op):
    """``inner`` on operands cast to ``dtypes`` (None leaves an operand as it is).

    The planner puts it in the place of ``inner`` under ``auto_cast``.
    """

    inputs = ("*xs",)
    inner: Any
    dtypes: Any
    elementwise: ClassVar[bool] = False

    def bind(self) -> None:
        self._bind(len(self.inner.inputs), tuple(p.kind for p in self.inner.param_fields.values()))
        object.__setattr__(self, "n", len(self.dtypes))
        # A recorded call carries the inner op's params.
        object.__setattr__(self, "param_fields", self.inner.param_fields)

    def multiple(self, n_outputs: int) -> bool:
        return self.inner.multiple(n_outputs)

    def _metas(self, args: tuple) -> tuple:
        return tuple(
            Meta(m.shape, d) if d is not None and m is not None and m.weak is None else m
            for m, d in zip(args[: self.n], self.dtypes, strict=True)
        ) + tuple(args[self.n :])

    def _cast(self, args: tuple) -> tuple:
        return tuple(
            F.cast(x, dtype=d) if d is not None else x for x, d in zip(args[: self.n], self.dtypes, strict=True)
        ) + tuple(args[self.n :])

    def infer(self, *args: Any) -> Any:
        return self.inner.infer(*self._metas(args))

    def decompose(self, *args: Any) -> Any:
        cast = self._cast(args)
        return (
            self.inner(*cast)
            if not self.inner.inputs[-1].startswith("*")
            else eager.apply(self.inner, cast[: self.n], cast[self.n :])
        )

    def forward_train(self, needs: Any, *args: Any) -> Any:
        cast = self._cast(args)
        if self.inner.forward_train is None:
            return self.decompose(*args), ()
        return self.inner.forward_train(needs, *cast)

    def vjp(self, s: Any, *grads: Any) -> tuple:
        from umiak.autodiff import graph  # with the first gradient

        cast = self._cast(s.inputs)
        residuals = s.residuals if self.inner.forward_train is not None else None
        gradients = graph.vjp(self.inner, cast, s.outputs, residuals, tuple(s.params), grads, s.needs)
        return tuple(
            F.cast(g, dtype=x.dtype) if g is not None and g.dtype is not x.dtype else g
            for g, x in zip(gradients, s.inputs, strict=True)
        )
