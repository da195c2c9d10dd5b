"""Several layers of a transformer with caches, as one layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paddle._public import public
from paddle.framework.dtype import get_default_dtype
from paddle.incubate.nn.functional.multi_transformer import fused_multi_transformer
from paddle.incubate.nn.functional.transformers import need_one_process
from paddle.nn.initializer.initializers import Constant
from paddle.nn.layer.layers import Layer
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


@public("paddle.incubate.nn")
class FusedMultiTransformer(Layer):
    """Layers of a transformer with caches; see :func:`paddle.incubate.nn.functional.fused_multi_transformer`.

    Attributes of parameters are those of each layer if they come as a list or tuple, else of all layers. As in the
    reference,
    a bias is there only where its attributes are given: None and False mean none.

    Args:
        embed_dim: features of input and output.
        num_heads: divides ``embed_dim``.
        dim_feedforward: features between the two linear maps.
        dropout_rate: the probability of dropout, in training.
        activation: "gelu" or "relu", or with a gate "geglu" or "swiglu".
        normalize_before: whether norms come before a part or behind it.
        ln_scale_attrs, ln_bias_attrs: attributes of the norms around attention, ones by default.
        qkv_weight_attrs, qkv_bias_attrs: attributes of the linear maps to query, key and value. The length of a list of
            qkv_weight_attrs is the number of layers.
        linear_weight_attrs, linear_bias_attrs: attributes of the linear maps that join the heads.
        ffn_ln_scale_attrs, ffn_ln_bias_attrs: attributes of the norms around the feed-forward part.
        ffn1_weight_attrs, ffn1_bias_attrs: attributes of its first linear map.
        ffn2_weight_attrs, ffn2_bias_attrs: attributes of its second one.
        epsilon: added to the variance.
        residual_alpha: factor of what is added to a part's result.
        num_layers: the number of layers without a list of qkv_weight_attrs.
        nranks: 1; other processes take no part.
        trans_qkvw: whether embed_dim is the last dim of qkv_weights.
        ring_id: -1.
        norm_type: "layernorm", whose parameters are of float32, or "rmsnorm".
        use_neox_rotary_style: whether a rotation pairs features of both halves; else neighbours.
        gqa_group_size: the number of key heads where they are fewer; -1 for as many as there are heads.

    Shape:
        src: ``[batch, sequence, embed_dim]``.
        attn_mask: ``[batch, 1 or heads, sequence, keys]``.
        caches: a list of ``[2, batch, key_heads, positions, head_dim]``, written in place.
        pre_caches: a list of ``[2, batch, key_heads, prefix, head_dim]``.
        rotary_embs: ``[2, batch, 1, sequence, head_dim]``.
        output: that of src; with caches a pair of it and caches.

    Attributes:
        ln_scales, ln_biases: parameters of the norms around attention, a list with one for each layer; biases may be
            None.
        qkv_weights, qkv_biases: those of the linear maps to query, key and value.
        linear_weights, linear_biases: those of the linear maps that join the heads.
        ffn_ln_scales, ffn_ln_biases: those of the norms around the feed-forward part.
        ffn1_weights, ffn1_biases, ffn2_weights, ffn2_biases: those of its linear maps.

    Raises:
        ValueError: sizes that are not positive or do not divide, lists of attributes of other lengths, several ranks.

    References:
        Vaswani et al., Attention Is All You Need, 2017.

    Example:
        >>> import paddle
        >>> layers = paddle.incubate.nn.FusedMultiTransformer(8, 2, 16, num_layers=2)
        >>> caches = [paddle.zeros([2, 3, 2, 10, 4]) for _ in range(2)]
        >>> y, caches = layers(paddle.randn([3, 5, 8]), caches=caches)
        >>> layers(y[:, -1:], caches=caches, time_step=paddle.to_tensor([5]))[0].shape
        paddle.Size([3, 1, 8])
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dim_feedforward: int,
        dropout_rate: float = 0.0,
        activation: str = "gelu",
        normalize_before: bool = True,
        ln_scale_attrs: Any = None,
        ln_bias_attrs: Any = None,
        qkv_weight_attrs: Any = None,
        qkv_bias_attrs: Any = None,
        linear_weight_attrs: Any = None,
        linear_bias_attrs: Any = None,
        ffn_ln_scale_attrs: Any = None,
        ffn_ln_bias_attrs: Any = None,
        ffn1_weight_attrs: Any = None,
        ffn1_bias_attrs: Any = None,
        ffn2_weight_attrs: Any = None,
        ffn2_bias_attrs: Any = None,
        epsilon: float = 1e-5,
        residual_alpha: float = 1.0,
        num_layers: int = -1,
        nranks: int = 1,
        trans_qkvw: bool = True,
        ring_id: int = -1,
        norm_type: str = "layernorm",
        use_neox_rotary_style: bool = False,
        gqa_group_size: int = -1,
        name: str | None = None,
    ) -> None:
        super().__init__()
        op_name = type(self).__name__
        if embed_dim < 1 or num_heads < 1 or dim_feedforward < 1 or embed_dim % num_heads:
            required = "positive sizes, and an embed_dim that num_heads divides"
            raise op_error(ValueError, op_name, required, f"{embed_dim}, {num_heads} and {dim_feedforward}")
        need_one_process(op_name, ring_id, nranks)
        n = len(qkv_weight_attrs) if isinstance(qkv_weight_attrs, (list, tuple)) else num_layers
        if n < 1:
            raise op_error(ValueError, op_name, "num_layers, or a list of qkv_weight_attrs", n)
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.normalize_before = normalize_before
        self.dropout_rate = dropout_rate
        self.activation = activation
        self.name = name
        self._options: dict[str, Any] = {
            "epsilon": epsilon,
            "residual_alpha": residual_alpha,
            "trans_qkvw": trans_qkvw,
            "norm_type": norm_type,
            "use_neox_rotary_style": use_neox_rotary_style,
            "gqa_group_size": gqa_group_size,
        }
        heads = [3, num_heads] if gqa_group_size <= 0 else [num_heads + 2 * gqa_group_size]
        qkv = [*heads, self.head_dim]
        between = dim_feedforward * (2 if activation.endswith("glu") else 1)
        self._dtype = get_default_dtype()
        norm_dtype = "float32" if norm_type == "layernorm" else self._dtype

        weight = [*qkv, embed_dim] if trans_qkvw else [embed_dim, *qkv]
        # In the order of the reference: names are numbered as parameters are made, and a state dict goes by names.
        kinds: tuple[tuple[str, Any, list[int], bool, Any], ...] = (
            ("ln_scales", ln_scale_attrs, [embed_dim], False, norm_dtype),
            ("ln_biases", ln_bias_attrs, [embed_dim], True, norm_dtype),
            ("qkv_weights", qkv_weight_attrs, weight, False, None),
            ("qkv_biases", qkv_bias_attrs, qkv, True, None),
            ("linear_weights", linear_weight_attrs, [embed_dim, embed_dim], False, None),
            ("linear_biases", linear_bias_attrs, [embed_dim], True, None),
            ("ffn_ln_scales", ffn_ln_scale_attrs, [embed_dim], False, norm_dtype),
            ("ffn_ln_biases", ffn_ln_bias_attrs, [embed_dim], True, norm_dtype),
            ("ffn1_weights", ffn1_weight_attrs, [embed_dim, between], False, None),
            ("ffn1_biases", ffn1_bias_attrs, [between], True, None),
            ("ffn2_weights", ffn2_weight_attrs, [dim_feedforward, embed_dim], False, None),
            ("ffn2_biases", ffn2_bias_attrs, [embed_dim], True, None),
        )
        tensors: dict[str, list[Tensor]] = {kind[0]: [] for kind in kinds}
        for i in range(n):
            for kind, attrs, shape, is_bias, dtype in kinds:
                attr = attrs[i] if isinstance(attrs, (list, tuple)) and len(attrs) == n else attrs
                if isinstance(attr, (list, tuple)):
                    raise op_error(ValueError, op_name, f"attributes of {kind} for {n} layers", len(attr))
                if is_bias and not attr:
                    continue
                first = Constant(1.0) if kind.endswith("scales") else None
                p = self.create_parameter(
                    shape, attr, dtype=dtype or self._dtype, is_bias=is_bias, default_initializer=first
                )
                self._parameters[p.name] = p
                tensors[kind].append(p)
        for kind, every in tensors.items():
            setattr(self, kind, every or None)

    def forward(
        self,
        src: Tensor,
        attn_mask: Tensor | None = None,
        caches: Sequence[Tensor] | None = None,
        pre_caches: Sequence[Tensor] | None = None,
        rotary_embs: Tensor | None = None,
        rotary_emb_dims: int = 0,
        beam_offset: Tensor | None = None,
        seq_lens: Tensor | None = None,
        time_step: Tensor | None = None,
    ) -> Any:
        return fused_multi_transformer(
            src,
            self.ln_scales,
            self.ln_biases,
            self.qkv_weights,
            self.qkv_biases,
            self.linear_weights,
            self.linear_biases,
            self.ffn_ln_scales,
            self.ffn_ln_biases,
            self.ffn1_weights,
            self.ffn1_biases,
            self.ffn2_weights,
            self.ffn2_biases,
            pre_layer_norm=self.normalize_before,
            cache_kvs=caches,
            beam_offset=beam_offset,
            pre_caches=pre_caches,
            seq_lens=seq_lens,
            rotary_embs=rotary_embs,
            time_step=time_step,
            attn_mask=attn_mask,
            dropout_rate=self.dropout_rate,
            rotary_emb_dims=rotary_emb_dims,
            activation=self.activation,
            training=self.training,
            **self._options,
        )
