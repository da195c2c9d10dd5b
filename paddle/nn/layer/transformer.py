"""Attention and the layers of transformers (Vaswani et al., 2017: Attention Is All You Need)."""

from __future__ import annotations

import copy
import math
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import paddle.nn.functional as F
from paddle._public import public
from paddle.framework.param_attr import ParamAttr
from paddle.nn.functional import attention_call
from paddle.nn.functional.attention_call import attend, dropout_of, weighted_values
from paddle.nn.layer.common import Dropout, Linear
from paddle.nn.layer.container import LayerList
from paddle.nn.layer.layers import Layer
from paddle.nn.layer.norm import LayerNorm
from paddle.tensor._args import create_on
from umiak import ops
from umiak.core import dtype as dt
from umiak.core.context import current
from umiak.core.dtype import convert, from_id
from umiak.core.tensor import Tensor

_HIDDEN = 1e9  # what is taken from the score of a key that a mask of bools or ints hides


def _convert_attention_mask(mask: Tensor | None, dtype: Any) -> Tensor | None:
    """A mask as what is added to scores; hidden keys of a mask of bools or ints (0) lose 1e9."""
    if mask is None:
        return None
    dtype = convert(dtype)
    if mask.dtype.is_floating:
        return mask if mask.dtype is dtype else ops.cast(mask, dtype=dtype)
    wide = dtype.compute
    hidden = ops.mul(ops.sub(ops.cast(mask, dtype=wide), 1.0), _HIDDEN)
    return hidden if wide is dtype else ops.cast(hidden, dtype=dtype)


def _attend(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, scale: float, dropout: attention_call.Dropout
) -> Tensor:
    """Attention without forming weights; operands are ``[batch, sequence, heads, dim]``.

    A mask of bools or ints stays one, so that tiles of hidden keys are skipped. A query that it lets see nothing gets
    the mean of all values, which is what adding -1e9 to all of its scores comes to.
    """
    if mask is None or mask.dtype.is_floating:
        return attend(q, k, v, _convert_attention_mask(mask, q.dtype), False, scale, dropout)
    mask = mask if mask.dtype.is_bool else ops.cast(mask, dtype=dt.bool)
    mask = ops.unsqueeze(mask, axes=tuple(range(4 - mask.ndim))) if mask.ndim < 4 else mask
    y = attend(q, k, v, mask, False, scale, dropout)
    seen = ops.permute(ops.any(mask, axes=(3,), keepdim=True), perm=(0, 2, 1, 3))
    return ops.where(seen, y, ops.mean(v, axes=(1,), keepdim=True))


def _attrs(op_name: str, arg_name: str, given: Any, n: int) -> list:
    """One parameter attribute for each of ``n`` parts of a layer, from one for all or a list."""
    if isinstance(given, (list, tuple)):
        if len(given) != n:
            raise ValueError(f"[{op_name}] requires {arg_name} as one attribute or a list of {n}, got {len(given)}")
        return [attr if isinstance(attr, bool) else ParamAttr._to_attr(attr) for attr in given]
    if isinstance(given, str):
        given = ParamAttr(name=given)
    if isinstance(given, ParamAttr) and given.name:
        # No two parts share a name.
        attrs = [copy.copy(given) for _ in range(n)]
        for i, attr in enumerate(attrs):
            attr.name = f"{given.name}_{i}"
        return attrs
    return [given] * n


def _convert_param_attr_to_list(param_attr: Any, n: int) -> list:
    """Parameter attributes of ``n`` parts, for packages whose transformers have parts of their own."""
    attrs = _attrs("_convert_param_attr_to_list", "param_attr", param_attr, n)
    return [attr if attr is False else ParamAttr._to_attr(attr) for attr in attrs]


@public("paddle.nn")
class MultiHeadAttention(Layer):
    """Attention of several heads, each over a part of the features.

    ``softmax(q @ k^T / sqrt(head_dim) + mask) @ v`` per head, where q, k and v are linear maps of query, key and value;
    a last linear map joins the heads. Unless weights are returned or dropped, scores are never stored.

    Args:
        embed_dim: features of query and result.
        num_heads: divides ``embed_dim``.
        dropout: the probability that an attention weight is dropped in training.
        kdim: features of the key; None: ``embed_dim``.
        vdim: features of the value; None: ``embed_dim``.
        need_weights: return the weights ``[batch, heads, queries, keys]`` too.
        weight_attr: attributes of the weights of the four linear maps, Xavier-uniform by default.
        bias_attr: attributes of their biases, zeros by default; False for none.

    Shape:
        query: ``[batch, queries, embed_dim]``, of the weights' dtype.
        key: ``[batch, keys, kdim]``; None for the query.
        value: ``[batch, keys, vdim]``; None for the query.
        attn_mask: broadcasts to ``[batch, heads, queries, keys]``; see :meth:`forward`.
        output: ``[batch, queries, embed_dim]``, in a tuple with the weights and the new cache where these are wanted.

    Raises:
        ValueError: sizes that are not positive or do not divide; in a call, shapes that do not fit.
        TypeError: in a call, operands of another dtype than the weights'.

    References:
        Vaswani et al., 2017: Attention Is All You Need.

    Example:
        >>> import paddle
        >>> attention = paddle.nn.MultiHeadAttention(8, 2)
        >>> x = paddle.rand([4, 5, 8])
        >>> attention(x).shape
        paddle.Size([4, 5, 8])
        >>> y, cache = attention(x[:, :1], cache=attention.gen_cache(x))
        >>> cache.k.shape
        paddle.Size([4, 2, 1, 4])
    """

    Cache = namedtuple("Cache", ["k", "v"])
    StaticCache = namedtuple("StaticCache", ["k", "v"])

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        kdim: int | None = None,
        vdim: int | None = None,
        need_weights: bool = False,
        weight_attr: Any = None,
        bias_attr: Any = None,
    ) -> None:
        super().__init__()
        if embed_dim < 1 or num_heads < 1 or embed_dim % num_heads:
            raise ValueError(
                f"[MultiHeadAttention] requires a positive embed_dim that num_heads divides, "
                f"got {embed_dim} and {num_heads}"
            )
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self.num_heads = num_heads
        self.dropout = dropout
        self.need_weights = need_weights
        self.head_dim = embed_dim // num_heads
        self._scale = 1.0 / math.sqrt(self.head_dim)
        self.q_proj = Linear(embed_dim, embed_dim, weight_attr, bias_attr)
        self.k_proj = Linear(self.kdim, embed_dim, weight_attr, bias_attr)
        self.v_proj = Linear(self.vdim, embed_dim, weight_attr, bias_attr)
        self.out_proj = Linear(embed_dim, embed_dim, weight_attr, bias_attr)

    def _heads(self, x: Tensor) -> Tensor:
        """``[batch, sequence, features]`` as ``[batch, sequence, heads, head_dim]``."""
        b, s, _ = x.shape
        return ops.reshape(x, shape=(b, s, self.num_heads, self.head_dim))

    def compute_kv(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Apply the linear maps of key and value.

        Args:
            key: ``[batch, keys, kdim]``.
            value: ``[batch, keys, vdim]``.

        Returns:
            A pair of tensors ``[batch, heads, keys, head_dim]``.
        """
        k, v = self._heads(self.k_proj(key)), self._heads(self.v_proj(value))
        return ops.permute(k, perm=(0, 2, 1, 3)), ops.permute(v, perm=(0, 2, 1, 3))

    def gen_cache(self, key: Tensor, value: Tensor | None = None, type: Any = Cache) -> Any:
        """Make a cache for :meth:`forward`.

        Args:
            key: what a ``StaticCache`` is computed from; otherwise its batch size and dtype count.
            value: with ``type=Cache``, ``key`` and ``value`` are the cache themselves; None begins an empty one.
            type: ``MultiHeadAttention.Cache``, which grows by the keys of each call, or
                ``MultiHeadAttention.StaticCache``: keys and values computed once, as for the memory of a decoder.

        Returns:
            A ``Cache`` or ``StaticCache``: named tuples of k and v, ``[batch, heads, keys, head_dim]`` each.

        Raises:
            ValueError: a static cache without value.
        """
        if type is self.StaticCache:
            if value is None:
                raise ValueError("[MultiHeadAttention.gen_cache] requires a value for a StaticCache, got None")
            return self.StaticCache(*self.compute_kv(key, value))
        if value is not None:
            return self.Cache(key, value)
        shape = (key.shape[0], self.num_heads, 0, self.head_dim)
        return self.Cache(*(create_on(key.place, ops.full, 0.0, key.dtype, shape) for _ in range(2)))

    def forward(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        attn_mask: Tensor | None = None,
        cache: Any = None,
    ) -> Any:
        """Attend from each query to all keys.

        Args:
            query: ``[batch, queries, embed_dim]``.
            key: ``[batch, keys, kdim]``, by default the query.
            value: ``[batch, keys, vdim]``, by default the query.
            attn_mask: broadcasts to ``[batch, heads, queries, keys]``; added to the scores, or bools or ints that are
                True or 1 where a query may see a key (a query that may see none weights all keys equally).
            cache: from :meth:`gen_cache` or the call before. The keys and values of this call are appended to those of
                a ``Cache``; a ``StaticCache`` is used in place of them.

        Returns:
            ``[batch, queries, embed_dim]``, or a tuple of it, the weights if ``need_weights``, and the new cache if
            there was one.

        Raises:
            ValueError: a query that is not of rank 3, or shapes that do not fit.
        """
        if query.ndim != 3:
            raise ValueError(
                f"[MultiHeadAttention] requires a query [batch, queries, {self.embed_dim}], got {list(query.shape)}"
            )
        key, value = query if key is None else key, query if value is None else value
        if type(self)._prepare_qkv is not _PREPARED or type(self).compute_kv is not _COMPUTED:
            q, k, v, *caches = self._prepare_qkv(query, key, value, cache)
            cache = caches[0] if caches else None
            # The op wants heads after positions: views, not copies.
            q, k, v = (ops.permute(x, perm=(0, 2, 1, 3)) for x in (q, k, v))
        elif cache is None:
            q, k, v = (self._heads(x) for x in (self.q_proj(query), self.k_proj(key), self.v_proj(value)))
        else:
            q = self._heads(self.q_proj(query))
            cache = self._extended(cache, key, value)
            k, v = ops.permute(cache.k, perm=(0, 2, 1, 3)), ops.permute(cache.v, perm=(0, 2, 1, 3))
        weights = None
        drops = dropout_of("MultiHeadAttention", self.dropout, self.training)
        if self.need_weights:
            mask = _convert_attention_mask(attn_mask, q.dtype)
            y, weights = weighted_values(q, k, v, mask, self._scale, drops)
        else:
            y = _attend(q, k, v, attn_mask, self._scale, drops)
        b, s, h, d = y.shape
        out = self.out_proj(ops.reshape(y, shape=(b, s, h * d)))
        if cache is None:
            return (out, weights) if self.need_weights else out
        return (out, weights, cache) if self.need_weights else (out, cache)

    def _prepare_qkv(self, query: Tensor, key: Tensor, value: Tensor, cache: Any = None) -> tuple:
        """Return heads of query, key and value, ``[batch, heads, positions, head_dim]``, and the new cache if there is
        one. Classes and programs that change how these are made, by rotations for one, replace it or ``compute_kv``.
        """
        q = ops.permute(self._heads(self.q_proj(query)), perm=(0, 2, 1, 3))
        if cache is None:
            return (q, *self.compute_kv(key, value))
        cache = self._extended(cache, key, value)
        return q, cache.k, cache.v, cache

    def _extended(self, cache: Any, key: Tensor, value: Tensor) -> Any:
        """Return the keys and values of this call: a static cache as it is, another with the new ones appended."""
        if isinstance(cache, self.StaticCache):
            return cache
        new = self.compute_kv(key, value)
        return self.Cache(*(ops.concat([old, n], axis=2) for old, n in zip(cache, new, strict=True)))


# What `forward` leaves out where nobody has replaced it.
_PREPARED, _COMPUTED = MultiHeadAttention._prepare_qkv, MultiHeadAttention.compute_kv


def _activation(op_name: str, name: str) -> Callable:
    function = getattr(F, name, None) if isinstance(name, str) else None
    if function is None:
        raise ValueError(
            f"[{op_name}] requires the name of a function of paddle.nn.functional as activation, got {name!r}"
        )
    return function


class _TransformerLayer(Layer):
    """Base of encoder and decoder layers: the feed-forward part, and residual connections around each part."""

    parts = 2  # attentions and the feed-forward part; each has an attribute for its parameters and a norm

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int,
        dropout: float = 0.1,
        activation: str = "relu",
        attn_dropout: float | None = None,
        act_dropout: float | None = None,
        normalize_before: bool = False,
        weight_attr: Any = None,
        bias_attr: Any = None,
        layer_norm_eps: float = 1e-5,
    ) -> None:
        # The copies in a stack are made from this.
        config = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        super().__init__()
        self._config = config
        op_name = type(self).__name__
        if d_model < 1 or nhead < 1 or dim_feedforward < 1:
            raise ValueError(f"[{op_name}] requires positive sizes, got {d_model}, {nhead} and {dim_feedforward}")
        attn_dropout = dropout if attn_dropout is None else attn_dropout
        act_dropout = dropout if act_dropout is None else act_dropout
        self.normalize_before = normalize_before
        n = self.parts
        weights, biases = _attrs(op_name, "weight_attr", weight_attr, n), _attrs(op_name, "bias_attr", bias_attr, n)
        for i, name in enumerate(("self_attn", "cross_attn")[: n - 1]):
            attention = MultiHeadAttention(
                d_model, nhead, dropout=attn_dropout, weight_attr=weights[i], bias_attr=biases[i]
            )
            setattr(self, name, attention)
        self.linear1 = Linear(d_model, dim_feedforward, weights[-1], biases[-1])
        self.dropout = Dropout(act_dropout)
        self.linear2 = Linear(dim_feedforward, d_model, weights[-1], biases[-1])
        for i in range(1, n + 1):
            setattr(self, f"norm{i}", LayerNorm(d_model, layer_norm_eps))
        for i in range(1, n + 1):
            setattr(self, f"dropout{i}", Dropout(dropout))
        self.activation = _activation(op_name, activation)

    def _residual_block(self, i: int, part: Callable, x: Tensor) -> Tensor:
        """Residual connection around ``part``, with dropout and norm number ``i``, which comes before or after."""
        norm, dropout = getattr(self, f"norm{i}"), getattr(self, f"dropout{i}")
        if self.normalize_before:
            return x + dropout(part(norm(x)))
        return norm(x + dropout(part(x)))

    def _feed_forward(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


@public("paddle.nn")
class TransformerEncoderLayer(_TransformerLayer):
    """Self-attention, then two linear maps with an activation between, each with a residual connection and a norm.

    Args:
        d_model: features of input and output.
        nhead: heads of attention; divides ``d_model``.
        dim_feedforward: features between the two linear maps.
        dropout: the probability of dropout before each residual connection.
        activation: the name of a function of ``paddle.nn.functional``.
        attn_dropout: dropout of attention weights; None: ``dropout``.
        act_dropout: dropout after the activation; None: ``dropout``.
        normalize_before: normalise the input of each part rather than its sum with the residual.
        weight_attr: attributes of the weights of linear maps: one, or a list of one for the attention and one for the
            other two maps.
        bias_attr: attributes of their biases, the same; False for none.
        layer_norm_eps: epsilon of the norms.

    Shape:
        src: ``[batch, sequence, d_model]``, of the weights' dtype.
        src_mask: broadcasts to ``[batch, nhead, sequence, sequence]``, as in :meth:`MultiHeadAttention.forward`.
        output: the shape of src; with a cache, a pair of it and the new cache.

    Raises:
        ValueError: sizes that do not fit, an unknown activation, or lists of another length.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.TransformerEncoderLayer(8, 2, 16)
        >>> layer(paddle.rand([4, 5, 8])).shape
        paddle.Size([4, 5, 8])
    """

    self_attn: MultiHeadAttention

    def forward(self, src: Tensor, src_mask: Tensor | None = None, cache: Any = None) -> Any:
        """Apply the layer.

        Args:
            src: ``[batch, sequence, d_model]``.
            src_mask: as in :meth:`MultiHeadAttention.forward`.
            cache: keys and values of earlier positions, from :meth:`gen_cache` or the call before; None for none.

        Returns:
            A tensor of the shape of src; with a cache, a pair of it and the new cache.
        """
        caches = []

        def attend(x: Tensor) -> Tensor:
            if cache is None:
                return self.self_attn(x, x, x, src_mask)
            y, grown = self.self_attn(x, x, x, src_mask, cache)
            caches.append(grown)
            return y

        y = self._residual_block(2, self._feed_forward, self._residual_block(1, attend, src))
        return y if cache is None else (y, *caches)

    def gen_cache(self, src: Tensor) -> Any:
        """Make an empty cache.

        Args:
            src: a tensor whose batch size and dtype later inputs have.

        Returns:
            A ``MultiHeadAttention.Cache``.
        """
        return self.self_attn.gen_cache(src, type=MultiHeadAttention.Cache)


@public("paddle.nn")
class TransformerDecoderLayer(_TransformerLayer):
    """Self-attention, attention to a memory, and a feed-forward part, each with a residual connection and a norm.

    Args:
        d_model: features of input, memory and output.
        nhead: heads of attention; divides ``d_model``.
        dim_feedforward: features between the two linear maps.
        dropout: the probability of dropout before each residual connection.
        activation: the name of a function of ``paddle.nn.functional``.
        attn_dropout: dropout of attention weights; None: ``dropout``.
        act_dropout: dropout after the activation; None: ``dropout``.
        normalize_before: normalise the input of each part rather than its sum with the residual.
        weight_attr: attributes of the weights of linear maps: one, or a list of three: for self-attention, for
            attention to the memory, and for the feed-forward part.
        bias_attr: attributes of their biases, the same; False for none.
        layer_norm_eps: epsilon of the norms.

    Shape:
        tgt: ``[batch, targets, d_model]``, of the weights' dtype.
        memory: ``[batch, sources, d_model]``.
        tgt_mask: broadcasts to ``[batch, nhead, targets, targets]``, as in :meth:`MultiHeadAttention.forward`.
        memory_mask: broadcasts to ``[batch, nhead, targets, sources]``.
        output: the shape of tgt; with a cache, a pair of it and the new cache.

    Raises:
        ValueError: sizes that do not fit, an unknown activation, or lists of another length.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.TransformerDecoderLayer(8, 2, 16)
        >>> layer(paddle.rand([4, 5, 8]), paddle.rand([4, 7, 8])).shape
        paddle.Size([4, 5, 8])
    """

    parts = 3
    self_attn: MultiHeadAttention
    cross_attn: MultiHeadAttention

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        cache: Any = None,
    ) -> Any:
        """Apply the layer.

        Args:
            tgt: ``[batch, targets, d_model]``.
            memory: ``[batch, sources, d_model]``, the output of an encoder.
            tgt_mask: which targets a target may see, as in :meth:`MultiHeadAttention.forward`.
            memory_mask: which sources a target may see.
            cache: keys and values of earlier targets, from :meth:`gen_cache` or the call before; None for none.

        Returns:
            A tensor of the shape of tgt; with a cache, a pair of it and the new cache.
        """
        caches = []

        def attend(x: Tensor) -> Tensor:
            if cache is None:
                return self.self_attn(x, x, x, tgt_mask)
            y, grown = self.self_attn(x, x, x, tgt_mask, cache[0])
            caches.append(grown)
            return y

        def attend_to_memory(x: Tensor) -> Tensor:
            if cache is None:
                return self.cross_attn(x, memory, memory, memory_mask)
            y, kept = self.cross_attn(x, memory, memory, memory_mask, cache[1])
            caches.append(kept)
            return y

        y = self._residual_block(2, attend_to_memory, self._residual_block(1, attend, tgt))
        y = self._residual_block(3, self._feed_forward, y)
        return y if cache is None else (y, tuple(caches))

    def gen_cache(self, memory: Tensor) -> Any:
        """Make a pair of caches: an empty one for self-attention, and the keys and values of the memory.

        Args:
            memory: ``[batch, sources, d_model]``, the output of an encoder.

        Returns:
            A pair of a ``MultiHeadAttention.Cache`` and a ``MultiHeadAttention.StaticCache``.
        """
        growing = self.self_attn.gen_cache(memory, type=MultiHeadAttention.Cache)
        return growing, self.cross_attn.gen_cache(memory, memory, type=MultiHeadAttention.StaticCache)


class _Stack(Layer):
    """Stack of layers of one class, and optionally a norm after the last."""

    def __init__(self, layer: Any, num_layers: int, norm: Layer | None) -> None:
        super().__init__()
        if num_layers < 1:
            raise ValueError(f"[{type(self).__name__}] requires at least one layer, got {num_layers}")
        # The others are new layers of the same settings, with first values of their own.
        self.layers = LayerList([layer, *(type(layer)(**layer._config) for _ in range(num_layers - 1))])
        self.num_layers = num_layers
        self.norm = norm

    def _run(self, x: Tensor, more: tuple, cache: Any) -> Any:
        caches = []
        for i, layer in enumerate(self.layers):
            if cache is None:
                x = layer(x, *more)
            else:
                x, grown = layer(x, *more, cache[i])
                caches.append(grown)
        if self.norm is not None:
            x = self.norm(x)
        return x if cache is None else (x, caches)


@public("paddle.nn")
class TransformerEncoder(_Stack):
    """Stack of encoder layers.

    Args:
        encoder_layer: the first layer; the others are new ones of the same settings, with first values of their own.
        num_layers: how many, 1 or more.
        norm: a layer that normalises the result; None for none.

    Shape:
        src: ``[batch, sequence, d_model]``.
        src_mask: as in :meth:`MultiHeadAttention.forward`.
        output: the shape of src; with a list of caches, a pair of it and the new list.

    Raises:
        ValueError: fewer than one layer.

    Example:
        >>> import paddle
        >>> encoder = paddle.nn.TransformerEncoder(paddle.nn.TransformerEncoderLayer(8, 2, 16), 2)
        >>> encoder(paddle.rand([4, 5, 8])).shape
        paddle.Size([4, 5, 8])
    """

    def __init__(self, encoder_layer: Any, num_layers: int, norm: Layer | None = None) -> None:
        super().__init__(encoder_layer, num_layers, norm)

    def forward(self, src: Tensor, src_mask: Tensor | None = None, cache: Any = None) -> Any:
        """Apply the layers, then the norm.

        Args:
            src: ``[batch, sequence, d_model]``.
            src_mask: of all layers, as in :meth:`MultiHeadAttention.forward`.
            cache: keys and values of earlier positions, from :meth:`gen_cache` or the call before; None for none.

        Returns:
            A tensor of the shape of src; with caches, a pair of it and the list of new ones.
        """
        return self._run(src, (src_mask,), cache)

    def gen_cache(self, src: Tensor) -> list:
        """Make empty caches.

        Args:
            src: a tensor whose batch size and dtype later inputs have.

        Returns:
            A list of one ``MultiHeadAttention.Cache`` for each layer.
        """
        return [layer.gen_cache(src) for layer in self.layers]


@public("paddle.nn")
class TransformerDecoder(_Stack):
    """Stack of decoder layers.

    Args:
        decoder_layer: the first layer; the others are new ones of the same settings, with first values of their own.
        num_layers: how many, 1 or more.
        norm: a layer that normalises the result; None for none.

    Shape:
        tgt: ``[batch, targets, d_model]``.
        memory: ``[batch, sources, d_model]``.
        tgt_mask: as in :meth:`MultiHeadAttention.forward`.
        memory_mask: the same, for the memory.
        output: the shape of tgt; with a list of caches, a pair of it and the new list.

    Raises:
        ValueError: fewer than one layer.

    Example:
        >>> import paddle
        >>> decoder = paddle.nn.TransformerDecoder(paddle.nn.TransformerDecoderLayer(8, 2, 16), 2)
        >>> memory = paddle.rand([4, 7, 8])
        >>> y, cache = decoder(paddle.rand([4, 1, 8]), memory, cache=decoder.gen_cache(memory))
        >>> y.shape
        paddle.Size([4, 1, 8])
    """

    def __init__(self, decoder_layer: Any, num_layers: int, norm: Layer | None = None) -> None:
        super().__init__(decoder_layer, num_layers, norm)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        cache: Any = None,
    ) -> Any:
        """Apply the layers, then the norm.

        Args:
            tgt: ``[batch, targets, d_model]``.
            memory: ``[batch, sources, d_model]``, the output of an encoder.
            tgt_mask: which targets a target may see, in all layers, as in :meth:`MultiHeadAttention.forward`.
            memory_mask: which sources a target may see, in all layers.
            cache: keys and values of earlier targets, from :meth:`gen_cache` or the call before; None for none.

        Returns:
            A tensor of the shape of tgt; with caches, a pair of it and the list of new ones.
        """
        return self._run(tgt, (memory, tgt_mask, memory_mask), cache)

    def gen_cache(self, memory: Tensor, do_zip: bool = False) -> list:
        """Make a pair of caches for each layer; see :meth:`TransformerDecoderLayer.gen_cache`.

        Args:
            memory: ``[batch, sources, d_model]``, the output of an encoder.
            do_zip: give the tuple of all first caches and that of all second ones instead.

        Returns:
            A list of pairs, or of two tuples.
        """
        caches = [layer.gen_cache(memory) for layer in self.layers]
        return list(zip(*caches, strict=True)) if do_zip else caches


@public("paddle.nn")
class Transformer(Layer):
    """Encoder and decoder, each with a norm at its end.

    Args:
        d_model: features of inputs and output.
        nhead: heads of attention; divides ``d_model``.
        num_encoder_layers: how many layers the encoder has.
        num_decoder_layers: how many layers the decoder has.
        dim_feedforward: features between the two linear maps of a layer.
        dropout: the probability of dropout before each residual connection.
        activation: the name of a function of ``paddle.nn.functional``.
        attn_dropout: dropout of attention weights; None: ``dropout``.
        act_dropout: dropout after the activation; None: ``dropout``.
        normalize_before: normalise the input of each part rather than its sum with the residual.
        weight_attr: attributes of the weights of linear maps: one for all; or a list of three as in
            :class:`TransformerDecoderLayer`, of which the encoder takes the first and the last; or a list of two, where
            attention to the memory shares the first; or a list of one.
        bias_attr: attributes of their biases, the same; False for none.
        custom_encoder: a layer to take as the encoder; None: one of the settings above.
        custom_decoder: a layer to take as the decoder; None: one of the settings above.

    Shape:
        src: ``[batch, sources, d_model]``, of the weights' dtype.
        tgt: ``[batch, targets, d_model]``.
        src_mask: broadcasts to ``[batch, nhead, sources, sources]``, as in :meth:`MultiHeadAttention.forward`.
        tgt_mask: broadcasts to ``[batch, nhead, targets, targets]``.
        memory_mask: broadcasts to ``[batch, nhead, targets, sources]``.
        output: the shape of tgt.

    Raises:
        ValueError: sizes that do not fit, an unknown activation, or lists of another length.

    References:
        Vaswani et al., 2017: Attention Is All You Need.

    Example:
        >>> import paddle
        >>> model = paddle.nn.Transformer(8, 2, 1, 1, 16)
        >>> mask = model.generate_square_subsequent_mask(5)
        >>> model(paddle.rand([4, 7, 8]), paddle.rand([4, 5, 8]), tgt_mask=mask).shape
        paddle.Size([4, 5, 8])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str = "relu",
        attn_dropout: float | None = None,
        act_dropout: float | None = None,
        normalize_before: bool = False,
        weight_attr: Any = None,
        bias_attr: Any = None,
        custom_encoder: Layer | None = None,
        custom_decoder: Layer | None = None,
    ) -> None:
        super().__init__()
        settings = (d_model, nhead, dim_feedforward, dropout, activation, attn_dropout, act_dropout, normalize_before)
        weights, biases = (self._parts(w, a) for w, a in (("weight_attr", weight_attr), ("bias_attr", bias_attr)))
        if custom_encoder is not None:
            self.encoder = custom_encoder
        else:
            first = TransformerEncoderLayer(*settings, [weights[0], weights[-1]], [biases[0], biases[-1]])
            self.encoder = TransformerEncoder(first, num_encoder_layers, LayerNorm(d_model))
        if custom_decoder is not None:
            self.decoder = custom_decoder
        else:
            second = TransformerDecoderLayer(*settings, weights, biases)
            self.decoder = TransformerDecoder(second, num_decoder_layers, LayerNorm(d_model))
        self.d_model = d_model
        self.nhead = nhead

    @staticmethod
    def _parts(arg_name: str, given: Any) -> list:
        if isinstance(given, (list, tuple)) and len(given) in (1, 2):
            given = [given[0], given[0], given[-1]]
        return _attrs("Transformer", arg_name, given, 3)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
    ) -> Tensor:
        """Encode the sources, and decode the targets with what that gives.

        Args:
            src: ``[batch, sources, d_model]``.
            tgt: ``[batch, targets, d_model]``.
            src_mask: which sources a source may see, as in :meth:`MultiHeadAttention.forward`.
            tgt_mask: which targets a target may see.
            memory_mask: which sources a target may see.

        Returns:
            A tensor of the shape of tgt.
        """
        memory = self.encoder(src, src_mask=src_mask)
        return self.decoder(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask)

    def generate_square_subsequent_mask(self, length: int) -> Tensor:
        """Make a mask in which targets see themselves and earlier ones.

        Args:
            length: how many targets there are.

        Returns:
            ``[length, length]`` of the default dtype: 0 where a target may see another, -inf elsewhere.
        """
        dtype: Any = from_id(current().state.default_dtype)
        return ops.triu(ops.full(-math.inf, dtype=dtype, shape=(length, length)), diagonal=1)
