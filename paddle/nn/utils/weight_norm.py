"""Weight normalisation: a weight as a direction times a length (Salimans and Kingma, 2016)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from paddle._public import public
from paddle.framework.param_attr import ParamAttr
from paddle.framework.parameter import Parameter
from paddle.nn.layer.layers import Layer
from umiak import ops as F
from umiak.core.inplace import assign
from umiak.core.tensor import Tensor


def _lengths(v: Tensor, dim: int) -> Tensor:
    """The norms over all dims but ``dim`` (over all for -1), with these dims as 1."""
    return F.vector_norm(v, axes=tuple(i for i in range(v.ndim) if i != dim), keepdim=True)


class _WeightNorm:
    """A hook that computes ``g * v / |v|`` before each call."""

    def __init__(self, name: str, dim: int) -> None:
        self.name = name
        self.dim = dim

    def weight(self, layer: Layer) -> Tensor:
        v, g = getattr(layer, self.name + "_v"), getattr(layer, self.name + "_g")
        shape = tuple(v.shape[i] if i == self.dim else 1 for i in range(v.ndim))
        return F.mul(v, F.div(F.reshape(g, shape=shape), _lengths(v, self.dim)))

    def __call__(self, layer: Layer, inputs: Any) -> None:
        object.__setattr__(layer, self.name, self.weight(layer))


def _parameter(shape: Sequence[int], value: Callable[[], Tensor], like: Parameter, name: str) -> Parameter:
    """A parameter that begins with ``value()``, which static mode records in the startup program."""
    attr = ParamAttr(trainable=like.trainable)
    return Parameter.create(shape, like.dtype, name, attr, lambda p: assign(p, value()), like.place)


@public("paddle.nn.utils")
def weight_norm(layer: Layer, name: str = "weight", dim: int | None = 0) -> Layer:
    """Replace a parameter by its direction ``name_v`` and its lengths ``name_g``, which are trained instead.

    The weight is ``g * v / |v|``, computed before each call of the layer.

    Args:
        layer: changed in place.
        name: the parameter's name in the layer.
        dim: norms are taken over all dims but this one, so that there is a length for each of its places; None or
            -1: one length for the whole. Below -1 it counts from the end.

    Returns:
        The layer.

    Raises:
        RuntimeError: the parameter has weight norm already.
        KeyError: the layer has no such parameter.
        ValueError: the parameter has no such dim.

    References:
        Salimans and Kingma, 2016: Weight Normalization.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.utils.weight_norm(paddle.nn.Linear(2, 3), dim=1)
        >>> sorted(layer.state_dict())
        ['bias', 'weight_g', 'weight_v']
        >>> layer.weight_g.shape
        paddle.Size([3])
    """
    if any(isinstance(h, _WeightNorm) and h.name == name for h in layer._forward_pre_hooks.values()):
        raise RuntimeError(f"[weight_norm] requires a parameter without weight norm, got {name!r} twice")
    weight = layer._parameters.get(name)
    if weight is None:
        raise KeyError(f"[weight_norm] requires the name of a parameter of the layer, got {name!r}")
    if not -weight.ndim <= (dim or 0) < weight.ndim:
        got = f"{name!r} of shape {list(weight.shape)} and dim {dim}"
        raise ValueError(f"[weight_norm] requires one of the parameter's dims, got {got}")
    dim = -1 if dim is None else dim + weight.ndim if dim < -1 else dim
    hook = _WeightNorm(name, dim)
    del layer._parameters[name]
    shape = (weight.shape[dim],) if dim >= 0 else ()
    lengths = _parameter(shape, lambda: F.reshape(_lengths(weight, dim), shape=shape), weight, weight.name + "_g")
    layer.add_parameter(name + "_v", _parameter(weight.shape, lambda: weight, weight, weight.name + "_v"))
    layer.add_parameter(name + "_g", lengths)
    hook(layer, ())
    layer._weight_norm_handle = layer.register_forward_pre_hook(hook)
    return layer


@public("paddle.nn.utils")
def remove_weight_norm(layer: Layer, name: str = "weight") -> Layer:
    """Make one parameter again of those that :func:`weight_norm` made of it.

    Args:
        layer: changed in place.
        name: the parameter's name in the layer.

    Returns:
        The layer.

    Raises:
        ValueError: the parameter has no weight norm.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.utils.weight_norm(paddle.nn.Linear(2, 3))
        >>> sorted(paddle.nn.utils.remove_weight_norm(layer).state_dict())
        ['bias', 'weight']
    """
    for key, hook in list(layer._forward_pre_hooks.items()):
        if isinstance(hook, _WeightNorm) and hook.name == name:
            like = layer._parameters[name + "_v"]
            weight = _parameter(like.shape, partial(hook.weight, layer), like, like.name.removesuffix("_v"))
            del layer._forward_pre_hooks[key], layer._parameters[name + "_v"], layer._parameters[name + "_g"]
            layer.__dict__.pop(name, None)
            layer.add_parameter(name, weight)
            return layer
    raise ValueError(f"[remove_weight_norm] requires a parameter with weight norm, got {name!r} of {layer.full_name()}")
