"""The tensors of a transformer's layers, which are all looked at before the first layer runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from paddle._public import need_tensor
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.util.errors import op_error


class Layer(NamedTuple):
    """The tensors of one layer, by the names of their lists."""

    ln_scales: Tensor
    ln_biases: Tensor | None
    qkv_weights: Tensor
    qkv_biases: Tensor | None
    linear_weights: Tensor
    linear_biases: Tensor | None
    ffn_ln_scales: Tensor
    ffn_ln_biases: Tensor | None
    ffn1_weights: Tensor
    ffn1_biases: Tensor | None
    ffn2_weights: Tensor
    ffn2_biases: Tensor | None
    cache_kvs: Tensor | None
    pre_caches: Tensor | None


def layers_of(op_name: str, lists: dict[str, Sequence[Tensor] | None]) -> list[Layer]:
    optional = {"cache_kvs", "pre_caches"} | {name for name in lists if name.endswith("_biases")}
    n = len(lists["qkv_weights"] or ())
    columns: list[list[Any]] = []
    for name, tensors in lists.items():
        if tensors is None and name in optional:
            columns.append([None] * n)
        elif not isinstance(tensors, (list, tuple)) or len(tensors) != n or not n:
            got = type(tensors).__name__ if not isinstance(tensors, (list, tuple)) else len(tensors)
            raise op_error(ValueError, op_name, f"{name} as a list with a tensor for each of {n} layers", got)
        else:
            columns.append([t if t is None and name in optional else need_tensor(t, op_name, name) for t in tensors])
    return [Layer(*row) for row in zip(*columns, strict=True)]


def need_weights(op_name: str, w: Layer, x: Tensor, attended: Any, gated: bool) -> None:
    """Refuse weights of other sizes, or dtypes, than the parts of a layer take.

    Args:
        op_name: the call.
        w: the layer.
        x: tensor ``[batch, sequence, embed]``.
        attended: the features that attention gives.
        gated: whether the feed-forward part halves its features.
    """
    embed, between = x.shape[2], w.ffn1_weights.shape[-1]
    wanted: dict[str, tuple] = {
        "linear_weights": (attended, embed),
        "linear_biases": (embed,),
        "ffn1_weights": (embed, between),
        "ffn1_biases": (between,),
        "ffn2_weights": (between // 2 if gated else between, embed),
        "ffn2_biases": (embed,),
    }
    for name, shape in wanted.items():
        t = getattr(w, name)
        if t is not None and (t.ndim != len(shape) or not all(map(dim.eq, t.shape, shape))):
            raise op_error(ValueError, op_name, f"{name} of shape {list(shape)}", list(t.shape))
    if gated and not dim.eq(between % 2, 0):
        raise op_error(ValueError, op_name, "ffn1_weights with an even number of outputs for a gate", between)
    for name in ("ln_scales", "ln_biases", "ffn_ln_scales", "ffn_ln_biases"):
        t = getattr(w, name)
        if t is not None and not dim.eq(math.prod(t.shape), embed):
            raise op_error(ValueError, op_name, f"{name} of shape [{embed}]", list(t.shape))
        if t is not None and t.dtype not in (x.dtype, dt.float32):
            raise op_error(TypeError, op_name, f"{name} of {x.dtype.name} or float32", t.dtype.name)
    sizes = math.prod(w.qkv_weights.shape) // embed if w.qkv_biases is not None else 0
    if w.qkv_biases is not None and not dim.eq(math.prod(w.qkv_biases.shape), sizes):
        raise op_error(ValueError, op_name, f"qkv_biases with {sizes} elements", list(w.qkv_biases.shape))
    if w.cache_kvs is None:
        return
    for name in (*wanted, "qkv_weights", "qkv_biases"):
        t = getattr(w, name)
        if t is not None and t.dtype is not x.dtype:
            raise op_error(TypeError, op_name, f"{name} of {x.dtype.name}", t.dtype.name)
