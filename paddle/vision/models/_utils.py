"""Helpers of models: numbers of channels of scaled ones, results of layers in between."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from paddle.nn.layer.container import LayerDict
from paddle.nn.layer.layers import Layer
from umiak.util.errors import op_error


def _make_divisible(v: float, divisor: int = 8, min_value: int | None = None) -> int:
    """``v`` rounded to a multiple of ``divisor``, ``min_value`` or more, and at most a tenth below ``v``."""
    rounded = max(min_value or divisor, int(v + divisor / 2) // divisor * divisor)
    return rounded + divisor if rounded < 0.9 * v else rounded


class IntermediateLayerGetter(LayerDict):
    """Layers of a model up to the last that is asked for; called, it gives the results of those.

    The layers are called one after another, each with the result of the one before, in the order in which the model has
    them. Only layers of the model itself can be asked for, not those inside them; those behind the last are left out.

    Args:
        model: a model whose ``forward`` calls its layers in their order.
        return_layers: names of layers, and for each the name of its result.

    Returns:
        Called, an ``OrderedDict`` of results by their names, in the order of the layers.

    Raises:
        ValueError: the model has no layer of a name.

    Example:
        >>> import paddle
        >>> from paddle.vision.models._utils import IntermediateLayerGetter
        >>> from paddle import nn
        >>> model = nn.Sequential(("a", nn.Linear(4, 3)), ("b", nn.ReLU()), ("c", nn.Tanh()))
        >>> results = IntermediateLayerGetter(model, {"a": "low", "b": "high"})(paddle.ones([2, 4]))
        >>> {name: result.shape for name, result in results.items()}
        {'low': paddle.Size([2, 3]), 'high': paddle.Size([2, 3])}
    """

    def __init__(self, model: Layer, return_layers: dict[str, str]) -> None:
        children = dict(model.named_children())
        unknown = [name for name in return_layers if name not in children]
        if unknown:
            raise op_error(
                ValueError, "IntermediateLayerGetter", f"names of {list(children)} for return_layers", unknown
            )
        last = max((i for i, name in enumerate(children) if name in return_layers), default=-1)
        super().__init__(OrderedDict(list(children.items())[: last + 1]))
        self.return_layers = dict(return_layers)

    def forward(self, x: Any) -> OrderedDict:
        results = OrderedDict()
        for name, layer in self.items():
            x = layer(x)
            if name in self.return_layers:
                results[self.return_layers[name]] = x
        return results
