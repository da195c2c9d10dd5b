"""Models of layers' own methods that change or run other layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paddle.jit.sot.models.attributes import write_attribute
from paddle.jit.sot.models.table import model
from paddle.nn.layer.layers import Layer

if TYPE_CHECKING:
    from paddle.jit.sot.simulator import Simulator


@model(Layer.train)
def _train(sim: Simulator, layer: Layer, mode: Any = True) -> Layer:
    if sim.attribute(layer, "training") is not mode:
        write_attribute(sim, layer, "training", mode, False)
    for inner in sim.attribute(layer, "_sub_layers").values():
        if inner is not None:
            _train(sim, inner, mode)
    return layer
