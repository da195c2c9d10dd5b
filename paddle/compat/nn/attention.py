"""Multi-head attention with PyTorch's parameters, names in its state and masks."""

from __future__ import annotations

from typing import Any

import paddle
from paddle._public import public
from paddle.compat.nn.functional import common as F
from paddle.compat.nn.linear import Linear
from paddle.nn.initializer import Constant, XavierNormal, XavierUniform
from paddle.nn.layer.layers import Layer
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


@public("paddle.compat.nn")
class MultiheadAttention(Layer):
    """Attention with several heads: each on a linear map of query, key and value; a last one maps what they find.

    Args:
        embed_dim: last dim of the query and of the output; a multiple of ``num_heads``.
        num_heads: number of heads.
        dropout: the probability that a weight is dropped, in training.
        bias: whether the linear maps have biases.
        add_bias_kv: whether a learned key and value are added at the end of the sequence.
        add_zero_attn: whether a key and value of zeros are added.
        kdim: last dim of the key; None: ``embed_dim``.
        vdim: last dim of the value; None: ``embed_dim``.
        batch_first: whether tensors are ``[batch, length, dim]`` instead of ``[length, batch, dim]``.
        device: where the parameters are; None: the current device.
        dtype: that of the parameters; None: the default dtype.

    Shape:
        query: ``[queries, batch, embed_dim]``, or ``[queries, embed_dim]``.
        key: ``[keys, batch, kdim]``, or ``[keys, kdim]``.
        value: ``[keys, batch, vdim]``, or ``[keys, vdim]``.
        output: a pair of the query's shape and of the weights, ``[batch, queries, keys]``, or None.

    Raises:
        ValueError: heads that do not divide ``embed_dim``; in a call, shapes that do not fit.

    Example:
        >>> import paddle
        >>> x = paddle.ones([3, 1, 4])
        >>> out, weights = paddle.compat.nn.MultiheadAttention(4, 2)(x, x, x)
        >>> out.shape == (3, 1, 4), weights.shape == (1, 3, 3)
        (True, True)
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(dtype=paddle.get_default_dtype() if dtype is None else dtype)
        if embed_dim < 1 or num_heads < 1 or embed_dim % num_heads:
            got = f"{embed_dim} and {num_heads}"
            raise op_error(ValueError, "MultiheadAttention", "embed_dim as a multiple of num_heads", got)
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.add_zero_attn = add_zero_attn
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim

        def made(shape: list[int], start: Any) -> Any:
            return self.create_parameter(shape, None, dtype, default_initializer=start, device=device)

        self.in_proj_weight: Any = None
        self.in_proj_bias: Any = None
        self.q_proj_weight: Any = None
        self.k_proj_weight: Any = None
        self.v_proj_weight: Any = None
        self.q_proj_bias: Any = None
        self.k_proj_bias: Any = None
        self.v_proj_bias: Any = None
        if self.kdim == self.vdim == embed_dim:
            self.in_proj_weight = made([3 * embed_dim, embed_dim], XavierUniform())
            self.in_proj_bias = made([3 * embed_dim], Constant(0.0)) if bias else None
        else:
            self.q_proj_weight = made([embed_dim, embed_dim], XavierUniform())
            self.k_proj_weight = made([embed_dim, self.kdim], XavierUniform())
            self.v_proj_weight = made([embed_dim, self.vdim], XavierUniform())
            if bias:
                self.q_proj_bias, self.k_proj_bias, self.v_proj_bias = (
                    made([embed_dim], Constant(0.0)) for _ in range(3)
                )
        self.bias_k: Any = made([1, 1, embed_dim], XavierNormal()) if add_bias_kv else None
        self.bias_v: Any = made([1, 1, embed_dim], XavierNormal()) if add_bias_kv else None
        self.out_proj = Linear(embed_dim, embed_dim, bias, device, dtype)
        if bias:
            zeros = paddle.zeros([embed_dim], dtype=self.out_proj.weight.dtype)
            self.out_proj.bias.set_value(zeros)  # type: ignore[union-attr]

    def _projected(self, query: Tensor, key: Tensor, value: Tensor) -> list[Tensor]:
        """Query, key and value of all heads, ``[batch, length, embed_dim]``."""
        if self.in_proj_weight is not None:
            weights = paddle.split(self.in_proj_weight, 3, 0)
            biases = [None] * 3 if self.in_proj_bias is None else paddle.split(self.in_proj_bias, 3, 0)
        else:
            weights = [self.q_proj_weight, self.k_proj_weight, self.v_proj_weight]
            biases = [self.q_proj_bias, self.k_proj_bias, self.v_proj_bias]
        q, k, v = (F.linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True))
        for learned, zero in ((True, False), (False, True)):
            if (learned and self.bias_k is None) or (zero and not self.add_zero_attn):
                continue
            rows = (
                (self.bias_k, self.bias_v) if learned else (paddle.zeros_like(k[:1, :1]), paddle.zeros_like(v[:1, :1]))
            )
            k, v = (
                paddle.concat([x, row.expand([x.shape[0], 1, self.embed_dim])], 1)
                for x, row in zip((k, v), rows, strict=True)
            )
        return [q, k, v]

    def _mask(self, given: Tensor | None, padding: Tensor | None, causal: bool, q: Tensor, k: Tensor, keys: int) -> Any:
        """The mask that is added to the scores, broadcast to ``[batch, heads, queries, keys]``, or None."""
        batch, queries, more = q.shape[0], q.shape[1], k.shape[1] - keys
        joined = None
        if causal and given is None:
            given = paddle.triu(paddle.ones([queries, keys], "bool"), 1)
        for mask, shape in (
            (
                given,
                None if given is None else [-1, 1, queries, keys] if given.ndim == 2 else [batch, -1, queries, keys],
            ),
            (padding, [batch, 1, 1, keys]),
        ):
            if mask is None:
                continue
            if mask.dtype.is_bool:
                mask = paddle.where(mask, paddle.full([], -float("inf"), q.dtype), paddle.zeros([], q.dtype))
            mask = mask.astype(q.dtype).reshape(shape)
            joined = mask if joined is None else joined + mask
        return joined if joined is None or not more else F.pad(joined, (0, more))

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Output of the heads, and the weights.

        Args:
            query: tensor of the layer's shape.
            key: tensor of the layer's shape.
            value: tensor of the layer's shape.
            key_padding_mask: bool ``[batch, keys]`` (True: not seen), or numbers that are added to the scores.
            need_weights: whether to return the weights.
            attn_mask: the same for each query, ``[queries, keys]`` or ``[batch * heads, queries, keys]``.
            average_attn_weights: whether the weights are the mean over heads.
            is_causal: query i sees keys 0 to i, where there is no ``attn_mask``.

        Returns:
            A pair of tensors, or of a tensor and None.
        """
        single = query.ndim == 2
        if single:
            query, key, value = (x.unsqueeze(0) for x in (query, key, value))
            key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
        elif not self.batch_first:
            query, key, value = (x.transpose([1, 0, 2]) for x in (query, key, value))
        keys = key.shape[1]
        q, k, v = self._projected(query, key, value)
        mask = self._mask(attn_mask, key_padding_mask, is_causal, q, k, keys)
        q, k, v = (x.reshape([x.shape[0], x.shape[1], self.num_heads, self.head_dim]) for x in (q, k, v))
        weights = None
        if need_weights:
            q, k, v = (x.transpose([0, 2, 1, 3]) for x in (q, k, v))
            scores = paddle.matmul(q * self.head_dim**-0.5, k, transpose_y=True)
            weights = paddle.nn.functional.softmax(scores if mask is None else scores + mask, -1)
            weights = paddle.nn.functional.dropout(weights, self.dropout, training=self.training)
            context = paddle.matmul(weights, v).transpose([0, 2, 1, 3])
            weights = weights.mean(1) if average_attn_weights else weights
        else:
            context = paddle.nn.functional.scaled_dot_product_attention(
                q, k, v, mask, self.dropout if self.training else 0.0
            )
        out = self.out_proj(context.reshape([context.shape[0], context.shape[1], self.embed_dim]))
        if single:
            return out.squeeze(0), None if weights is None else weights.squeeze(0)
        return (out if self.batch_first else out.transpose([1, 0, 2])), weights
