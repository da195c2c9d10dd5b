"""Spectral normalisation of a layer's weight (Miyato et al., 2018: Spectral Normalization)."""

from __future__ import annotations

from typing import Any

from paddle._public import public
from paddle.nn._ops import random_tensor
from paddle.nn._spectral import matrix_of, power_iteration, scaled, unit
from paddle.nn.layer.common import Linear
from paddle.nn.layer.conv import Conv1DTranspose, Conv2DTranspose, Conv3DTranspose
from paddle.nn.layer.layers import Layer
from umiak import ops as F
from umiak.core.context import no_grad_guard
from umiak.core.inplace import assign
from umiak.core.tensor import Tensor

# Their weights have the input's features in front.
_OUTPUT_SECOND = (Linear, Conv1DTranspose, Conv2DTranspose, Conv3DTranspose)


class _SpectralNorm:
    """A hook that computes the weight before each call, and in training improves the singular vectors first."""

    def __init__(self, name: str, steps: int, eps: float, dim: int) -> None:
        self.name = name
        self.steps = steps
        self.eps = eps
        self.dim = dim

    def weight(self, layer: Layer) -> Tensor:
        weight, u, v = (getattr(layer, self.name + end) for end in ("_orig", "_u", "_v"))
        matrix = matrix_of(weight, self.dim)
        if layer.training:
            better = power_iteration(matrix, u, v, self.steps, self.eps)
            with no_grad_guard():
                for old, new in zip((u, v), better, strict=True):
                    assign(old, new)
            # The buffers change again in the next call, while this one's gradient still needs their values.
            u, v = better
        return scaled(weight, matrix, u, v)

    def __call__(self, layer: Layer, inputs: Any) -> None:
        object.__setattr__(layer, self.name, self.weight(layer))


@public("paddle.nn paddle.nn.utils")
def spectral_norm(
    layer: Layer, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Layer:
    """Divide a parameter by its largest singular value whenever the layer is called.

    The parameter becomes ``name_orig``; the buffers ``name_u`` and ``name_v`` are the singular vectors, which each call
    in training improves by ``n_power_iterations`` steps.

    Args:
        layer: changed in place.
        name: the parameter's name in the layer.
        n_power_iterations: steps of the power iteration in each call, 1 or more.
        eps: added to norms.
        dim: the dim that is the rows of the matrix; None: 1 for linear maps and transposed convolutions, else 0.

    Returns:
        The layer.

    Raises:
        KeyError: the layer has no such parameter.
        ValueError: fewer than one step, a parameter of rank 0 or 1, or a dim that it does not have (from 0).
        RuntimeError: the parameter has spectral norm already.

    References:
        Miyato et al., 2018: Spectral Normalization for Generative Adversarial Networks.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.utils.spectral_norm(paddle.nn.Linear(2, 3))
        >>> sorted(layer.state_dict())
        ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """
    if n_power_iterations < 1:
        raise ValueError(f"[spectral_norm] requires n_power_iterations of 1 or more, got {n_power_iterations}")
    if any(isinstance(h, _SpectralNorm) and h.name == name for h in layer._forward_pre_hooks.values()):
        raise RuntimeError(f"[spectral_norm] requires a parameter without spectral norm, got {name!r} twice")
    weight = layer._parameters.get(name)
    if dim is None:
        dim = 1 if isinstance(layer, _OUTPUT_SECOND) else 0
    if weight is None:
        raise KeyError(f"[spectral_norm] requires the name of a parameter of the layer, got {name!r}")
    if weight.ndim < 2 or not 0 <= dim < weight.ndim:
        got = f"{name!r} of shape {list(weight.shape)} and dim {dim}"
        raise ValueError(f"[spectral_norm] requires a parameter of rank 2 or more and one of its dims, got {got}")
    hook = _SpectralNorm(name, n_power_iterations, eps, dim)
    del layer._parameters[name]
    layer.add_parameter(name + "_orig", weight)
    with no_grad_guard():
        for end, size in zip(("_u", "_v"), matrix_of(weight, dim).shape, strict=True):
            start = random_tensor(F.NormalRandom, (size,), weight.dtype, 0.0, 1.0, place=weight.place)
            layer.register_buffer(name + end, unit(start, eps))
        object.__setattr__(layer, name, F.copy(weight))
    layer.register_forward_pre_hook(hook)
    return layer
