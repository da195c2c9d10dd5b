"""Attention whose results are multiplied by gates, as models of proteins use it."""

from __future__ import annotations

from typing import Any

from paddle._public import need_tensor, public
from paddle.nn.functional.attention import scaled_dot_product_attention
from paddle.tensor.splitting import unbind
from umiak import ops as F
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.ops.promotion import cast
from umiak.util.errors import op_error

_OP = "fused_gate_attention"


@public("paddle.incubate.nn.functional", usual=False)
def fused_gate_attention(
    query: Tensor,
    key: Tensor | None = None,
    query_weight: Tensor | None = None,
    key_weight: Tensor | None = None,
    value_weight: Tensor | None = None,
    qkv_weight: Tensor | None = None,
    gate_linear_weight: Tensor | None = None,
    gate_linear_bias: Tensor | None = None,
    out_linear_weight: Tensor | None = None,
    out_linear_bias: Tensor | None = None,
    nonbatched_bias: Tensor | None = None,
    attn_mask: Tensor | None = None,
    has_gating: bool = True,
    merge_qkv: bool = True,
    use_flash_attn: bool = False,
) -> Tensor:
    """Gated attention within each row of a table: linear maps to queries, keys and values, attention of each head, a
    gate for each of its results, which is the sigmoid of one more linear map of query, and a linear map that joins
    the heads.

    Args:
        query: floating tensor ``[batch, rows, sequence, q_dim]``.
        key: tensor ``[batch, rows, keys, kv_dim]`` of query's dtype, what keys and values come from; with
            ``merge_qkv`` they come from query, and key is not looked at.
        query_weight: tensor ``[q_dim, heads, head_dim]``, without ``merge_qkv``.
        key_weight, value_weight: tensors ``[kv_dim, heads, head_dim]``, without ``merge_qkv``.
        qkv_weight: tensor ``[3, heads, head_dim, q_dim]``, with ``merge_qkv``.
        gate_linear_weight: tensor ``[q_dim, heads, head_dim]``, with ``has_gating``.
        gate_linear_bias: tensor ``[heads, head_dim]``, with ``has_gating``; None for zeros.
        out_linear_weight: tensor ``[heads, head_dim, out_dim]``.
        out_linear_bias: tensor ``[out_dim]``; None for zeros.
        nonbatched_bias: floating tensor that is added to the scores, the same for all rows: ``[batch, 1, heads,
            sequence, keys]`` or a shape that broadcasts to it; None for none.
        attn_mask: floating tensor that is added to the scores as well, ``[batch, rows, 1, 1, keys]`` or a shape that
            broadcasts to ``[batch, rows, heads, sequence, keys]``; None for none.
        has_gating: whether results are multiplied by gates.
        merge_qkv: whether one weight gives queries, keys and values.
        use_flash_attn: accepted; there is one implementation.

    Returns:
        Tensor ``[batch, rows, sequence, out_dim]`` of query's dtype. Scores are multiplied by ``head_dim ** -0.5``
        before anything is added.

    Raises:
        TypeError: query or what is added to scores is not floating, or dtypes differ.
        ValueError: a weight is missing, or shapes do not fit.

    Note:
        Scores are not kept. What is added to them is, for every row, if ``nonbatched_bias`` is given and batch is
        not 1 or there is an ``attn_mask`` beside it.

    References:
        Jumper et al., Highly accurate protein structure prediction with AlphaFold, 2021.

    Example:
        >>> import paddle
        >>> from paddle.incubate.nn.functional import fused_gate_attention
        >>> x, qkv, gate, out = (paddle.ones(n) for n in ([1, 2, 3, 8], [3, 2, 4, 8], [8, 2, 4], [2, 4, 8]))
        >>> fused_gate_attention(x, qkv_weight=qkv, gate_linear_weight=gate, out_linear_weight=out).shape
        paddle.Size([1, 2, 3, 8])
    """
    if not need_tensor(query, _OP, "query").dtype.is_floating:
        raise op_error(TypeError, _OP, "a floating query", query.dtype.name)
    if query.ndim != 4:
        raise op_error(ValueError, _OP, "query of shape [batch, rows, sequence, q_dim]", list(query.shape))
    if merge_qkv:
        q, k, v = _merged(query, qkv_weight)
    else:
        q, k, v = _separate(query, key, query_weight, key_weight, value_weight)
    batch, rows, sequence, _ = query.shape
    heads, head_dim, keys = q.shape[2], q.shape[3], k.shape[1]
    added = _added(nonbatched_bias, attn_mask, query, (batch, rows, heads, sequence, keys))
    attended = scaled_dot_product_attention(q, k, v, added, 0.0, False, scale=head_dim**-0.5)
    attended = F.reshape(attended, shape=(batch, rows, sequence, heads * head_dim))
    if has_gating:
        weight = _weight("gate_linear_weight", gate_linear_weight, (query.shape[3], heads, head_dim))
        bias = gate_linear_bias
        if bias is not None:
            bias = F.reshape(_weight("gate_linear_bias", bias, (heads, head_dim)), shape=(heads * head_dim,))
        attended = F.mul(
            attended, F.logistic(F.linear(query, F.reshape(weight, shape=(query.shape[3], heads * head_dim)), bias))
        )
    weight = _weight("out_linear_weight", out_linear_weight, (heads, head_dim, None))
    return F.linear(attended, F.reshape(weight, shape=(heads * head_dim, weight.shape[2])), out_linear_bias)


def _weight(name: str, weight: Tensor | None, shape: tuple[Any, ...]) -> Tensor:
    """A weight, refused if it is missing or not of the shape; None in a shape is any size."""
    required = f"{name} of shape [{', '.join('*' if n is None else str(n) for n in shape)}]"
    if weight is None:
        raise op_error(ValueError, _OP, required, "None")
    got = need_tensor(weight, _OP, name).shape
    if len(got) != len(shape) or not all(n is None or dim.eq(m, n) for m, n in zip(got, shape, strict=True)):
        raise op_error(ValueError, _OP, required, list(got))
    return weight


def _merged(query: Tensor, weight: Tensor | None) -> list[Tensor]:
    """Queries, keys and values ``[batch * rows, sequence, heads, head_dim]`` from one weight."""
    batch, rows, sequence, n = query.shape
    weight = _weight("qkv_weight, with merge_qkv,", weight, (3, None, None, n))
    _, heads, head_dim, _ = weight.shape
    columns = F.permute(F.reshape(weight, shape=(3 * heads * head_dim, n)), perm=(1, 0))
    shape = (batch * rows, sequence, 3, heads, head_dim)
    return unbind(F.reshape(F.linear(query, columns, None), shape=shape), 2)


def _separate(
    query: Tensor,
    key: Tensor | None,
    query_weight: Tensor | None,
    key_weight: Tensor | None,
    value_weight: Tensor | None,
) -> list[Tensor]:
    """The same from a weight each."""
    batch, rows, _, n = query.shape
    key = _weight("key, without merge_qkv,", key, (batch, rows, None, None))
    first = _weight("query_weight, without merge_qkv,", query_weight, (n, None, None))
    _, heads, head_dim = first.shape
    shape = (key.shape[3], heads, head_dim)
    others = [
        _weight(f"{s}_weight, without merge_qkv,", w, shape) for s, w in (("key", key_weight), ("value", value_weight))
    ]

    def projected(x: Tensor, weight: Tensor) -> Tensor:
        y = F.linear(x, F.reshape(weight, shape=(x.shape[3], heads * head_dim)), None)
        return F.reshape(y, shape=(batch * rows, x.shape[2], heads, head_dim))

    return [projected(query, first), *(projected(key, w) for w in others)]


def _added(bias: Tensor | None, mask: Tensor | None, query: Tensor, full: tuple[Any, ...]) -> Tensor | None:
    """The sum of what is added to scores, as attention takes it; ``full`` is the scores' shape before rows join the
    batch."""
    total = None
    for name, x, shape in (("nonbatched_bias", bias, (full[0], 1, *full[2:])), ("attn_mask", mask, full)):
        if x is None:
            continue
        if not need_tensor(x, _OP, name).dtype.is_floating:
            raise op_error(TypeError, _OP, f"a floating {name}, which is added to scores", x.dtype.name)
        if x.ndim != 5 or not all(dim.one_of(m, 1, n) for m, n in zip(x.shape, shape, strict=True)):
            raise op_error(ValueError, _OP, f"{name} of a shape that broadcasts to {list(shape)}", list(x.shape))
        x = cast(x, query.dtype)
        total = x if total is None else F.add(total, x)
    if total is None:
        return None
    batch, rows, *rest = total.shape
    if not (dim.same(batch, 1) and dim.same(rows, 1)):
        total, batch, rows = F.broadcast_to(total, shape=(*full[:2], *rest)), full[0], full[1]
    return F.reshape(total, shape=(batch * rows, *rest))
