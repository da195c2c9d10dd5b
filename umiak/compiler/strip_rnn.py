"""Recurrent layers whose weights stay as they are, laid out once in strips as their kernels read them."""

from __future__ import annotations

from typing import Any, ClassVar

from umiak import ops as F
from umiak.compiler.strips import from_strips
from umiak.ir.meta import Meta
from umiak.ops._common import elements
from umiak.ops.base import Op, register
from umiak.ops.recurrent import OPERANDS, metas_of


@register
class StripRnn(Op):
    """``inner``, one direction of a recurrent layer, with ``w_ih`` and ``w_hh`` in strips of (width, block): output
    channels are the rows of all gates.

    Weights of bfloat16 beside an ``x`` of float32 mean products of bfloat16: rows of the input and of the state are
    rounded to it before each; sums, gates and states are float32. Where no kernel does that, nothing but the weights is
    rounded.
    """

    inputs = OPERANDS
    inner: Any
    strip: Any
    elementwise: ClassVar[bool] = False
    vjp = None

    def multiply_adds(self, operands: Any, outs: Any) -> Any:
        x, h0, *_, w_ho, _ = operands
        (steps, batch, features), rows = x.shape, operands[4].shape[0]
        return steps * batch * (rows * (h0.shape[1] + features) + (0 if w_ho is None else elements(w_ho)))

    def infer(self, x: Any, h0: Any, w_ih: Any, w_hh: Any, b_ih: Any, *rest: Any) -> Any:
        rows = b_ih.shape[0]
        weights = Meta((rows, x.shape[2]), x.dtype), Meta((rows, h0.shape[1]), x.dtype)
        return metas_of(self.inner, x, h0, *weights, b_ih, *rest)

    def decompose(self, x: Any, h0: Any, w_ih: Any, w_hh: Any, b_ih: Any, *rest: Any) -> Any:
        wide = [
            F.cast(from_strips(w, b_ih.shape[0], depth), dtype=x.dtype)
            for w, depth in ((w_ih, x.shape[2]), (w_hh, h0.shape[1]))
        ]
        return F.rnn(x, h0, *wide, b_ih, *rest, mode=self.inner.mode, reverse=self.inner.reverse)
