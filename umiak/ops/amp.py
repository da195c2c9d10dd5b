"""Mixed precision as an op: an op together with the casts of its operands, so that a plan has them inside."""

from __future__ import annotations

from typing import Any, ClassVar

from umiak import ops as F
from umiak.core import dispatch
from umiak.ir.meta import Meta
from umiak.ops.base import Op, register


@register
class WithCasts(Op):
    """``inner`` on operands cast to ``dtypes`` (None leaves an operand as it is). Made by the planner under ``auto_cast``."""

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
        return tuple(F.cast(x, dtype=d) if d is not None else x for x, d in zip(args[: self.n], self.dtypes, strict=True)) + tuple(
            args[self.n :]
        )

    def infer(self, *args: Any) -> Any:
        return self.inner.infer(*self._metas(args))

    def decompose(self, *args: Any) -> Any:
        cast = self._cast(args)
        return self.inner(*cast) if not self.inner.inputs[-1].startswith("*") else dispatch.apply(self.inner, cast[: self.n], cast[self.n :])

    def forward_train(self, needs: Any, *args: Any) -> Any:
        cast = self._cast(args)
        if self.inner.forward_train is None:
            return self.decompose(*args), ()
        return self.inner.forward_train(needs, *cast)

    def vjp(self, s: Any, *grads: Any) -> tuple:
        from umiak.autodiff import rules

        cast = self._cast(s.inputs)
        residuals = s.residuals if self.inner.forward_train is not None else None
        made = rules.vjp(self.inner, cast, s.outputs, residuals, tuple(s.params), grads, s.needs)
        return tuple(
            F.cast(g, dtype=x.dtype) if g is not None and g.dtype is not x.dtype else g for g, x in zip(made, s.inputs, strict=True)
        )
