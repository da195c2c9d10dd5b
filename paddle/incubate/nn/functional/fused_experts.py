"""A layer of experts in one call: scores, the experts of each token, and the weighted sum of what they make."""

from __future__ import annotations

from functools import reduce
from typing import Any

import paddle
from paddle._public import need_tensor, public
from paddle.incubate.nn.functional.activations import fused_bias_act
from paddle.incubate.nn.functional.expert_dispatch import moe_combine
from paddle.nn.functional._expert_places import queues, rows_at
from paddle.nn.quant import weight_only_linear
from paddle.tensor._args import create_on
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.context import capture_of, current
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.ops.promotion import cast
from umiak.util.errors import op_error

_OP = "fused_moe"
_BITS = {"None": None, "weight_only_int8": "int8", "weight_only_int4": "int4"}


@public("paddle.incubate.nn.functional", usual=False)
def fused_moe(
    x: Tensor,
    gate_weight: Tensor,
    ffn1_weight: Tensor,
    ffn2_weight: Tensor,
    ffn1_bias: Tensor | None = None,
    ffn1_scale: Tensor | None = None,
    ffn2_bias: Tensor | None = None,
    ffn2_scale: Tensor | None = None,
    quant_method: str = "None",
    moe_topk: int = 2,
    norm_topk_prob: bool = True,
    group_moe: bool = False,
) -> Tensor:
    """Mixture of experts: each token goes to the experts of the largest probabilities, which are feed-forward layers
    with SwiGLU between their matrices. PaddlePaddle had it up to 3.2.

    Eager calls compute the tokens of each expert. How many these are depends on data, so programs compute all tokens by
    all experts, and count those that were chosen.

    Args:
        x: floating tensor ``[batch, length, H]``.
        gate_weight: floating matrix ``[H, E]``, whose product with x in float32 is the scores, or the scores
            ``[batch, length, E]``.
        ffn1_weight: tensor ``[E, H, 2 F]`` of x's dtype; with a ``quant_method`` what
            :func:`paddle.nn.quant.weight_quantize` makes of each expert's, of any shape with E first.
        ffn2_weight: tensor ``[E, F, H]``, alike.
        ffn1_bias: tensor ``[E, 1, 2 F]`` of x's dtype; None for none.
        ffn1_scale: scales ``[E, 2 F]`` of stored matrices; None without a ``quant_method``.
        ffn2_bias, ffn2_scale: ``[E, 1, H]`` and ``[E, H]``, alike.
        quant_method: ``"None"``, ``"weight_only_int8"`` or ``"weight_only_int4"``.
        moe_topk: experts of a token, 1 to E.
        norm_topk_prob: the probabilities of a token's experts are divided by their sum.
        group_moe: experts are ``moe_topk`` groups of equal size, with probabilities of their own, and a token goes to
            one of each.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: operands that are not floating or of different dtypes.
        ValueError: shapes that do not fit, ``moe_topk`` out of range, groups of unequal sizes, an unknown
            ``quant_method``, or scales without one.

    References:
        Shazeer et al., Outrageously Large Neural Networks: The Sparsely-Gated Mixture-of-Experts Layer, 2017.

    Example:
        >>> import paddle
        >>> from paddle.incubate.nn.functional import fused_moe
        >>> x, gate = paddle.randn([2, 5, 8]), paddle.randn([8, 4])
        >>> fused_moe(x, gate, paddle.randn([4, 8, 32]), paddle.randn([4, 16, 8])).shape
        paddle.Size([2, 5, 8])
    """
    if need_tensor(x, _OP).ndim != 3 or not x.dtype.is_floating:
        raise op_error(ValueError, _OP, "a floating x [batch, length, H]", f"{x.dtype.name} {list(x.shape)}")
    batch, length, width = x.shape
    tokens = F.reshape(x, shape=(batch * length, width))
    scores = _scores(tokens, gate_weight, x.shape)
    experts = _Experts.of(tokens, scores.shape[1], quant_method, ffn1_weight, ffn1_bias, ffn1_scale, ffn2_weight,
                          ffn2_bias, ffn2_scale)  # fmt: skip
    weights, chosen = _chosen(scores, experts.number, moe_topk, group_moe)
    if norm_topk_prob:
        weights = F.div(weights, F.sum(weights, axes=(1,), keepdim=True))
    # Of no tokens no expert is chosen, but all have a gradient.
    together = capture_of() is not None or current().trace or type(tokens.shape[0]) is not int or not tokens.shape[0]
    made = _by_all(tokens, weights, chosen, experts) if together else _by_chosen(tokens, weights, chosen, experts)
    return F.reshape(made, shape=(batch, length, width))


class _Experts:
    """The matrices of all experts, checked."""

    def __init__(self, number: int, first: tuple[Any, ...], second: tuple[Any, ...], bits: str | None) -> None:
        self.number, self.first, self.second, self.bits = number, first, second, bits

    @staticmethod
    def of(x: Tensor, n: Any, method: str, w1: Any, b1: Any, s1: Any, w2: Any, b2: Any, s2: Any) -> _Experts:
        if method not in _BITS:
            raise op_error(ValueError, _OP, f"a quant_method of {tuple(_BITS)}", repr(method))
        if type(n) is not int:
            raise op_error(ValueError, _OP, "a known number of experts", n)
        bits, width = _BITS[method], x.shape[1]
        if bits is None:
            if s1 is not None or s2 is not None:
                raise op_error(ValueError, _OP, "scales beside a quant_method", "scales alone")
            inner = _shaped("ffn1_weight", w1, (n, width, None), x.dtype).shape[2]
            if not dim.eq(inner % 2, 0):
                raise op_error(ValueError, _OP, "ffn1_weight of two halves [E, H, 2 F]", list(w1.shape))
            _shaped("ffn2_weight", w2, (n, inner // 2, width), x.dtype)
        else:
            inner = _shaped("ffn1_scale", s1, (n, None), None).shape[1]
            _shaped("ffn2_scale", s2, (n, width), None)
            w1 = _stored("ffn1_weight", w1, (n, inner, width), bits)
            w2 = _stored("ffn2_weight", w2, (n, width, inner // 2), bits)
        for name, bias, m in (("ffn1_bias", b1, inner), ("ffn2_bias", b2, width)):
            if bias is not None:
                _shaped(name, bias, (n, 1, m), x.dtype)
        return _Experts(n, (w1, b1, s1), (w2, b2, s2), bits)

    def __call__(self, e: int, x: Tensor) -> Tensor:
        """The results of expert ``e`` for rows."""
        return self._linear(e, fused_bias_act(self._linear(e, x, *self.first), act_method="swiglu"), *self.second)

    def _linear(self, e: int, x: Tensor, weight: Tensor, bias: Tensor | None, scale: Tensor | None) -> Tensor:
        offset = None if bias is None else bias[e, 0]
        if scale is not None:
            return weight_only_linear(x, weight[e], offset, scale[e], self.bits)
        y = F.matmul(x, weight[e])
        return y if offset is None else F.add(y, offset)


def _shaped(name: str, x: Any, shape: tuple[Any, ...], dtype: Any) -> Tensor:
    got = need_tensor(x, _OP, name).shape
    if len(got) != len(shape) or not all(n is None or dim.eq(m, n) for m, n in zip(got, shape)):
        required = ", ".join("…" if n is None else str(n) for n in shape)
        raise op_error(ValueError, _OP, f"{name} of shape [{required}]", list(got))
    if dtype is not None and x.dtype is not dtype:
        raise op_error(TypeError, _OP, f"{name} of {dtype.name}, as x", x.dtype.name)
    return x


def _stored(name: str, x: Any, shape: tuple[Any, ...], bits: str) -> Tensor:
    """Stored matrices ``[E, outputs, inputs]``, two outputs in a byte of 4 bits."""
    n, outputs, inputs = shape
    rows = outputs // 2 if bits == "int4" else outputs
    if need_tensor(x, _OP, name).dtype is not dt.int8 or not dim.eq(x.size, n * rows * inputs):
        required = f"{name} of int8 with the numbers of {[n, rows, inputs]}"
        raise op_error(ValueError, _OP, required, f"{x.dtype.name} {list(x.shape)}")
    return F.reshape(x, shape=(n, rows, inputs))


def _scores(tokens: Tensor, gate: Tensor, shape: Any) -> Tensor:
    """The scores of experts, float32 ``[tokens, E]``."""
    if need_tensor(gate, _OP, "gate_weight").ndim == 2:
        _shaped("gate_weight", gate, (shape[2], None), None)
        return F.matmul(cast(tokens, dt.float32), cast(gate, dt.float32))
    _shaped("gate_weight", gate, (*shape[:2], None), None)
    return cast(F.reshape(gate, shape=(tokens.shape[0], gate.shape[2])), dt.float32)


def _chosen(scores: Tensor, experts: int, k: int, grouped: bool) -> tuple[Tensor, Tensor]:
    """Probabilities of the experts of each token, and which these are, ``[tokens, k]``."""
    if not 1 <= k <= experts:
        raise op_error(ValueError, _OP, f"moe_topk from 1 to {experts}, the experts", k)
    if not grouped:
        weights, chosen = paddle.topk(paddle.nn.functional.softmax(scores, axis=-1), k, axis=1)
        return weights, chosen
    if experts % k:
        raise op_error(ValueError, _OP, f"{k} groups of equal size", f"{experts} experts")
    groups = F.reshape(scores, shape=(scores.shape[0], k, experts // k))
    best, number = paddle.topk(paddle.nn.functional.softmax(groups, axis=-1), 1, axis=2)
    first = F.mul(create_on(scores.place, F.iota, 0, 1, dt.int64, k), experts // k)
    return F.squeeze(best, axes=(2,)), F.add(F.squeeze(number, axes=(2,)), first)


def _by_chosen(tokens: Tensor, weights: Tensor, chosen: Tensor, experts: _Experts) -> Tensor:
    n, k = chosen.shape
    asked = F.reshape(chosen, shape=(n * k,))
    queued = queues(asked, experts.number)
    place = queued.position(asked)
    request = create_on(place.place, F.iota, 0, 1, dt.int64, n * k)
    rows = F.take(tokens, rows_at(place, n * k, F.floor_div(request, k), n), axis=0)
    parts, start = [], 0
    for e, count in enumerate(queued.counts.tolist()):
        if count:
            parts.append(experts(e, rows[start : start + count]))
        start += count
    return moe_combine(F.concat(parts, axis=0), weights, F.reshape(place, shape=(n, k)))


def _by_all(tokens: Tensor, weights: Tensor, chosen: Tensor, experts: _Experts) -> Tensor:
    wide = tokens.dtype.compute
    parts = []
    for e in range(experts.number):
        weight = F.sum(F.where(F.eq(chosen, e), cast(weights, wide), 0.0), axes=(1,), keepdim=True)
        parts.append(F.mul(cast(experts(e, tokens), wide), weight))
    return cast(reduce(F.add, parts), tokens.dtype)
