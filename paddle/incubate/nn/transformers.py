"""The layers of a transformer's encoder, under the names of fused operators."""

from __future__ import annotations

from typing import Any

from paddle._public import public
from paddle.framework.mode import in_dynamic_mode
from paddle.incubate.nn.functional.transformers import (
    fused_feedforward,
    fused_multi_head_attention,
    need_one_process,
)
from paddle.nn.initializer.initializers import Constant
from paddle.nn.layer.layers import Layer
from paddle.nn.layer.transformer import _convert_attention_mask, _convert_param_attr_to_list
from paddle.tensor.logic import allclose
from umiak.core.context import no_grad_guard
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.util.errors import op_error


@public("paddle.incubate.nn")
class FusedMultiHeadAttention(Layer):
    """Self-attention with its residual connection and norm; see
    :func:`paddle.incubate.nn.functional.fused_multi_head_attention`.

    Args:
        embed_dim: features of input and output.
        num_heads: divides ``embed_dim``.
        dropout_rate: the probability of dropout behind the last linear map, in training.
        attn_dropout_rate: the probability that a weight of attention is dropped, in training.
        kdim: accepted; None or ``embed_dim``.
        vdim: accepted; None or ``embed_dim``.
        normalize_before: True normalises the input, False the output.
        need_weights: False; weights are not returned.
        qkv_weight_attr: attributes of the weight of query, key and value, Xavier-uniform by default.
        qkv_bias_attr: attributes of its bias, zeros by default; False for none.
        linear_weight_attr: attributes of the weight that joins the heads.
        linear_bias_attr: attributes of its bias; False for none.
        pre_ln_scale_attr: attributes of the factors of the norm before, ones by default.
        pre_ln_bias_attr: attributes of its bias, zeros by default; False for none.
        ln_scale_attr: attributes of the factors of the norm behind.
        ln_bias_attr: attributes of its bias; False for none.
        epsilon: added to the variance.
        nranks: 1; other processes take no part.
        ring_id: -1.
        transpose_qkv_wb: whether qkv_weight is ``[embed_dim, 3 * embed_dim]`` and qkv_bias ``[3 * embed_dim]``.

    Shape:
        query: ``[batch, sequence, embed_dim]``, of the weights' dtype.
        key: that of query; equal to the query, or None.
        value: the same.
        attn_mask: broadcasts to ``[batch, heads, sequence, sequence]``.
        cache: ``[2, batch, heads, length, head_dim]``, or None.
        output: that of query; with a cache, a pair of it and the grown cache.

    Attributes:
        qkv_weight: ``[3, num_heads, head_dim, embed_dim]``, or a matrix.
        qkv_bias: ``[3, num_heads, head_dim]``, or a vector, or None.
        linear_weight: ``[embed_dim, embed_dim]``.
        linear_bias: ``[embed_dim]``, or None.
        pre_ln_scale, pre_ln_bias: those of the norm before; None without one.
        ln_scale, ln_bias: those of the norm behind; None without one.

    Raises:
        ValueError: sizes that are not positive or do not divide, weights that are wanted, several ranks; in a call, a
            key or value that differs from the query, or shapes that do not fit.

    References:
        Vaswani et al., Attention Is All You Need, 2017.

    Example:
        >>> import paddle
        >>> layer = paddle.incubate.nn.FusedMultiHeadAttention(8, 2)
        >>> layer(paddle.rand([2, 4, 8])).shape
        paddle.Size([2, 4, 8])
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout_rate: float = 0.5,
        attn_dropout_rate: float = 0.5,
        kdim: int | None = None,
        vdim: int | None = None,
        normalize_before: bool = False,
        need_weights: bool = False,
        qkv_weight_attr: Any = None,
        qkv_bias_attr: Any = None,
        linear_weight_attr: Any = None,
        linear_bias_attr: Any = None,
        pre_ln_scale_attr: Any = None,
        pre_ln_bias_attr: Any = None,
        ln_scale_attr: Any = None,
        ln_bias_attr: Any = None,
        epsilon: float = 1e-5,
        nranks: int = 1,
        ring_id: int = -1,
        transpose_qkv_wb: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__()
        op_name = type(self).__name__
        if embed_dim < 1 or num_heads < 1 or embed_dim % num_heads:
            required = "a positive embed_dim that num_heads divides"
            raise op_error(ValueError, op_name, required, f"{embed_dim} and {num_heads}")
        if kdim not in (None, embed_dim) or vdim not in (None, embed_dim):
            raise op_error(ValueError, op_name, f"kdim and vdim of {embed_dim} or None", f"{kdim} and {vdim}")
        if need_weights:
            raise op_error(ValueError, op_name, "need_weights False: no weights are formed", need_weights)
        need_one_process(op_name, ring_id, nranks)
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.kdim = kdim
        self.vdim = vdim
        self.normalize_before = normalize_before
        self.need_weights = need_weights
        self.transpose_qkv_wb = transpose_qkv_wb
        self.dropout_rate = dropout_rate
        self.attn_dropout_rate = attn_dropout_rate
        self.name = name
        self._epsilon = epsilon
        if transpose_qkv_wb:
            weight_shape, bias_shape = [embed_dim, 3 * embed_dim], [3 * embed_dim]
        else:
            bias_shape = [3, num_heads, self.head_dim]
            weight_shape = [*bias_shape, embed_dim]
        self.qkv_weight = self.create_parameter(weight_shape, qkv_weight_attr)
        self.qkv_bias = self.create_parameter(bias_shape, qkv_bias_attr, is_bias=True)
        self.linear_weight = self.create_parameter([embed_dim, embed_dim], linear_weight_attr)
        self.linear_bias = self.create_parameter([embed_dim], linear_bias_attr, is_bias=True)
        before = _norm_parameters(self, embed_dim, pre_ln_scale_attr, pre_ln_bias_attr, normalize_before)
        self.pre_ln_scale, self.pre_ln_bias = before
        self.ln_scale, self.ln_bias = _norm_parameters(
            self, embed_dim, ln_scale_attr, ln_bias_attr, not normalize_before
        )

    def forward(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        attn_mask: Tensor | None = None,
        cache: Tensor | None = None,
    ) -> Any:
        for arg_name, v in (("key", key), ("value", value)):
            if v is not None and v is not query and not _equal(v, query):
                required = f"{arg_name} None or equal to the query: this is self-attention"
                raise op_error(ValueError, type(self).__name__, required, "another tensor")
        return fused_multi_head_attention(
            query,
            self.qkv_weight,
            self.linear_weight,
            self.normalize_before,
            self.pre_ln_scale,
            self.pre_ln_bias,
            self.ln_scale,
            self.ln_bias,
            self._epsilon,
            self.qkv_bias,
            self.linear_bias,
            cache,
            _convert_attention_mask(attn_mask, query.dtype),
            self.dropout_rate,
            self.attn_dropout_rate,
            self._epsilon,
            self.training,
            num_heads=self.num_heads,
            transpose_qkv_wb=self.transpose_qkv_wb,
        )

    def extra_repr(self) -> str:
        names = ("embed_dim", "num_heads", "dropout_rate", "attn_dropout_rate", "_epsilon", "kdim", "vdim")
        return _listed(self, *names, "normalize_before", "need_weights")


def _equal(x: Any, y: Tensor) -> bool:
    """True of two tensors with the same numbers, NaN included; static programs know of none."""
    if not in_dynamic_mode() or not isinstance(x, Tensor) or x.dtype is not y.dtype:
        return False
    if x.ndim != y.ndim or not all(map(dim.same, x.shape, y.shape)):
        return False
    with no_grad_guard():
        return bool(allclose(x, y, 0.0, 0.0, equal_nan=True))


@public("paddle.incubate.nn")
class FusedFeedForward(Layer):
    """Feed-forward part of a transformer's layer; see :func:`paddle.incubate.nn.functional.fused_feedforward`.

    Args:
        d_model: features of input and output.
        dim_feedforward: features between the two linear maps.
        dropout_rate: the probability of dropout behind the second linear map, in training.
        epsilon: added to the variance.
        activation: ``"relu"`` or ``"gelu"``.
        act_dropout_rate: the probability of dropout behind the activation; None for ``dropout_rate``.
        normalize_before: True normalises the input, False the output.
        linear1_weight_attr: attributes of the first weight, Xavier-uniform by default.
        linear1_bias_attr: attributes of its bias, zeros by default; False for none.
        linear2_weight_attr: attributes of the second weight.
        linear2_bias_attr: attributes of its bias; False for none.
        ln1_scale_attr: attributes of the factors of the norm before, ones by default.
        ln1_bias_attr: attributes of its bias, zeros by default; False for none.
        ln2_scale_attr: attributes of the factors of the norm behind.
        ln2_bias_attr: attributes of its bias; False for none.
        nranks: 1; other processes take no part.
        ring_id: -1.

    Shape:
        src: ``[*, d_model]``, of the weights' dtype.
        cache: accepted; this part keeps nothing.
        output: that of src.

    Raises:
        ValueError: sizes that are not positive, several ranks; in a call, an unknown activation or shapes that do not
            fit.

    References:
        Vaswani et al., Attention Is All You Need, 2017.

    Example:
        >>> import paddle
        >>> paddle.incubate.nn.FusedFeedForward(8, 16)(paddle.rand([1, 3, 8])).shape
        paddle.Size([1, 3, 8])
    """

    def __init__(
        self,
        d_model: int,
        dim_feedforward: int,
        dropout_rate: float = 0.1,
        epsilon: float = 1e-05,
        activation: str = "relu",
        act_dropout_rate: float | None = None,
        normalize_before: bool = False,
        linear1_weight_attr: Any = None,
        linear1_bias_attr: Any = None,
        linear2_weight_attr: Any = None,
        linear2_bias_attr: Any = None,
        ln1_scale_attr: Any = None,
        ln1_bias_attr: Any = None,
        ln2_scale_attr: Any = None,
        ln2_bias_attr: Any = None,
        nranks: int = 1,
        ring_id: int = -1,
        name: str | None = None,
    ) -> None:
        super().__init__()
        op_name = type(self).__name__
        if d_model < 1 or dim_feedforward < 1:
            required = "a positive d_model and dim_feedforward"
            raise op_error(ValueError, op_name, required, f"{d_model} and {dim_feedforward}")
        need_one_process(op_name, ring_id, nranks)
        self._d_model = d_model
        self._dim_feedforward = dim_feedforward
        self._dropout_rate = dropout_rate
        self._act_dropout_rate = dropout_rate if act_dropout_rate is None else act_dropout_rate
        self._act_method = activation
        self._normalize_before = normalize_before
        self._epsilon = epsilon
        self.name = name
        self._linear1_weight = self.create_parameter([d_model, dim_feedforward], linear1_weight_attr)
        self._linear1_bias = self.create_parameter([dim_feedforward], linear1_bias_attr, is_bias=True)
        self._linear2_weight = self.create_parameter([dim_feedforward, d_model], linear2_weight_attr)
        self._linear2_bias = self.create_parameter([d_model], linear2_bias_attr, is_bias=True)
        before = _norm_parameters(self, d_model, ln1_scale_attr, ln1_bias_attr, normalize_before)
        self._ln1_scale, self._ln1_bias = before
        behind = _norm_parameters(self, d_model, ln2_scale_attr, ln2_bias_attr, not normalize_before)
        self._ln2_scale, self._ln2_bias = behind

    def forward(self, src: Tensor, cache: Tensor | None = None) -> Tensor:
        return fused_feedforward(
            src,
            self._linear1_weight,
            self._linear2_weight,
            self._linear1_bias,
            self._linear2_bias,
            self._ln1_scale,
            self._ln1_bias,
            self._ln2_scale,
            self._ln2_bias,
            self._act_dropout_rate,
            self._dropout_rate,
            self._act_method,
            self._epsilon,
            self._epsilon,
            self._normalize_before,
            self.training,
        )

    def extra_repr(self) -> str:
        names = ("_d_model", "_dim_feedforward", "_dropout_rate", "_epsilon")
        return _listed(self, *names, "_act_method", "_act_dropout_rate", "_normalize_before")


@public("paddle.incubate.nn")
class FusedTransformerEncoderLayer(Layer):
    """Self-attention, then the feed-forward part, each with a residual connection and a norm.

    Args:
        d_model: features of input and output.
        nhead: heads of attention; divides ``d_model``.
        dim_feedforward: features between the two linear maps.
        dropout_rate: the probability of dropout before each residual connection, in training.
        activation: ``"relu"`` or ``"gelu"``.
        attn_dropout_rate: the probability that a weight of attention is dropped; None for ``dropout_rate``.
        act_dropout_rate: the probability of dropout behind the activation; None for ``dropout_rate``.
        normalize_before: True normalises the input of each part, False its output.
        weight_attr: attributes of all weights, or a list of those of attention and of the feed-forward part.
        bias_attr: the same of the biases; False for none.

    Shape:
        src: ``[batch, sequence, d_model]``, of the weights' dtype.
        src_mask: broadcasts to ``[batch, heads, sequence, sequence]``; bools or integers that are True or 1 where a
            query may see a key, or numbers that are added to the scores.
        cache: ``[2, batch, heads, length, head_dim]``, or None.
        output: that of src; with a cache, a pair of it and the grown cache.

    Raises:
        ValueError: sizes that are not positive or do not divide; in a call, shapes that do not fit.

    References:
        Vaswani et al., Attention Is All You Need, 2017.

    Example:
        >>> import paddle
        >>> layer = paddle.incubate.nn.FusedTransformerEncoderLayer(8, 2, 16)
        >>> layer(paddle.rand([2, 4, 8]), paddle.ones([4, 4], "bool").tril()).shape
        paddle.Size([2, 4, 8])
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int,
        dropout_rate: float = 0.1,
        activation: str = "relu",
        attn_dropout_rate: float | None = None,
        act_dropout_rate: float | None = None,
        normalize_before: bool = False,
        weight_attr: Any = None,
        bias_attr: Any = None,
    ) -> None:
        # Stacks of layers make their copies from this.
        config = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        super().__init__()
        self._config = config
        self.normalize_before = normalize_before
        weights, biases = _convert_param_attr_to_list(weight_attr, 2), _convert_param_attr_to_list(bias_attr, 2)
        self.fused_attn = FusedMultiHeadAttention(
            d_model,
            nhead,
            dropout_rate,
            dropout_rate if attn_dropout_rate is None else attn_dropout_rate,
            normalize_before=normalize_before,
            qkv_weight_attr=weights[0],
            qkv_bias_attr=biases[0],
            linear_weight_attr=weights[0],
            linear_bias_attr=biases[0],
            pre_ln_scale_attr=weights[0],
            pre_ln_bias_attr=biases[0],
            ln_scale_attr=weights[0],
            ln_bias_attr=biases[0],
        )
        self.ffn = FusedFeedForward(
            d_model,
            dim_feedforward,
            dropout_rate,
            activation=activation,
            act_dropout_rate=act_dropout_rate,
            normalize_before=normalize_before,
            linear1_weight_attr=weights[1],
            linear1_bias_attr=biases[1],
            linear2_weight_attr=weights[1],
            linear2_bias_attr=biases[1],
        )

    def forward(self, src: Tensor, src_mask: Tensor | None = None, cache: Tensor | None = None) -> Any:
        attended = self.fused_attn(src, attn_mask=src_mask, cache=cache)
        if cache is None:
            return self.ffn(attended)
        return self.ffn(attended[0]), attended[1]


def _norm_parameters(layer: Layer, size: int, scale_attr: Any, bias_attr: Any, there: bool) -> tuple[Any, Any]:
    """Factors and bias of a norm, None where there is no such norm."""
    if not there:
        return None, None
    scale = layer.create_parameter([size], scale_attr, default_initializer=Constant(1.0))
    return scale, layer.create_parameter([size], bias_attr, is_bias=True)


def _listed(layer: Any, *names: str) -> str:
    """Attributes as they stand in the text of a layer."""
    keys = {"_act_method": "activation"}
    parts = [f"{keys.get(name, name.lstrip('_'))}={getattr(layer, name)}" for name in names]
    return ", ".join([*parts, f"dtype={layer._dtype}", *([f"name={layer.name}"] if layer.name else [])])
