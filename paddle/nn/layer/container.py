"""Layers that hold other layers or parameters in order or by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from paddle._public import also, public
from paddle.framework.parameter import Parameter
from paddle.nn.layer.layers import Layer
from umiak.core.direct import in_order


def _position(index: int, size: int, extra: int = 0) -> int:
    """A position counted from the front. ``extra`` positions past the end are allowed (for insertion)."""
    if not -size <= index < size + extra:
        raise IndexError(f"index {index} is out of range for {size} elements")
    return index + size if index < 0 else index


def _named_items(items: Any) -> Iterable[tuple[str, Any]]:
    return items.items() if hasattr(items, "items") else items


_CALL = Layer.__call__


@public("paddle.nn")
class Sequential(Layer):
    """Layers called one after another.

    Args:
        *layers: layers, or ``(name, layer)`` pairs, or one list of layers or dict of them.

    Example:
        >>> import paddle
        >>> net = paddle.nn.Sequential(paddle.nn.Linear(4, 3), paddle.nn.ReLU())
        >>> net(paddle.ones([2, 4])).shape
        [2, 3]
        >>> net[-1]
        ReLU()
    """

    def __init__(self, *layers: Any) -> None:
        super().__init__()
        if len(layers) == 1 and isinstance(layers[0], Mapping):
            layers = tuple(layers[0].items())
        elif len(layers) == 1 and isinstance(layers[0], list):
            layers = tuple(layers[0])
        for i, layer in enumerate(layers):
            if isinstance(layer, (tuple, list)):
                self.add_sublayer(*layer)
            else:
                self.add_sublayer(str(i), layer)

    def forward(self, input: Any) -> Any:
        return in_order(self._sub_layers, _CALL, input)

    def _key(self, index: int | str) -> str:
        if isinstance(index, str):
            return index
        return list(self._sub_layers)[_position(index, len(self._sub_layers))]

    def __getitem__(self, index: int | slice | str) -> Any:
        if isinstance(index, slice):
            return type(self)(*list(self._sub_layers.items())[index])
        return self._sub_layers[self._key(index)]

    def __setitem__(self, index: int | str, layer: Layer) -> None:
        self.add_sublayer(self._key(index) if not isinstance(index, str) else index, layer)

    def __delitem__(self, index: int | str) -> None:
        del self._sub_layers[self._key(index)]

    def __len__(self) -> int:
        return len(self._sub_layers)

    def __iter__(self) -> Iterator[Layer]:
        return iter(list(self._sub_layers.values()))

    def append(self, module: Layer) -> Sequential:
        """Add a layer at the end."""
        self.add_sublayer(str(len(self)), module)
        return self

    def insert(self, index: int, module: Layer) -> Sequential:
        """Put a layer before position ``index``; later layers move up."""
        if not isinstance(module, Layer):
            raise TypeError(f"[Sequential.insert] requires a Layer, got {type(module).__name__}")
        layers = list(self)
        layers.insert(_position(index, len(layers), extra=1), module)
        self._sub_layers.clear()
        self._sub_layers.update((str(i), layer) for i, layer in enumerate(layers))
        return self

    def extend(self, sequential: Iterable[Layer]) -> Sequential:
        """Add layers at the end."""
        for layer in sequential:
            self.append(layer)
        return self


@public("paddle.nn")
class LayerList(Layer):
    """A list of layers whose parameters count as the owner's. It is not called itself.

    Args:
        sublayers: an iterable of layers.

    Example:
        >>> import paddle
        >>> blocks = paddle.nn.LayerList([paddle.nn.Linear(4, 4) for _ in range(3)])
        >>> len(blocks), len(blocks[1:])
        (3, 2)
    """

    def __init__(self, sublayers: Iterable[Layer] | None = None) -> None:
        super().__init__()
        for layer in sublayers or ():
            self.append(layer)

    def _renumber(self, layers: Iterable[Layer]) -> None:
        layers = list(layers)
        self._sub_layers.clear()
        self._sub_layers.update((str(i), layer) for i, layer in enumerate(layers))

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self)[index])
        return self._sub_layers[str(_position(index, len(self)))]

    def __setitem__(self, index: int, layer: Layer) -> None:
        self.add_sublayer(str(_position(index, len(self))), layer)

    def __delitem__(self, index: int | slice) -> None:
        layers = list(self)
        del layers[index if isinstance(index, slice) else _position(index, len(layers))]
        self._renumber(layers)

    def __len__(self) -> int:
        return len(self._sub_layers)

    def __iter__(self) -> Iterator[Layer]:
        return iter(list(self._sub_layers.values()))

    def append(self, sublayer: Layer) -> LayerList:
        """Add a layer at the end."""
        self.add_sublayer(str(len(self)), sublayer)
        return self

    def insert(self, index: int, sublayer: Layer) -> None:
        """Put a layer before position ``index``."""
        if not isinstance(sublayer, Layer):
            raise TypeError(f"[LayerList.insert] requires a Layer, got {type(sublayer).__name__}")
        layers = list(self)
        layers.insert(_position(index, len(layers), extra=1), sublayer)
        self._renumber(layers)

    def extend(self, sublayers: Iterable[Layer]) -> LayerList:
        """Add layers at the end."""
        for layer in sublayers:
            self.append(layer)
        return self

    def pop(self, key: int = -1) -> Layer:
        """Take the layer at position ``key`` out and return it."""
        layer = self[key]
        del self[key]
        return layer


ModuleList = also(LayerList, "ModuleList", "paddle.nn")


@public("paddle.nn")
class LayerDict(Layer):
    """Layers by name, in order of insertion.

    Args:
        sublayers: a mapping or an iterable of ``(name, layer)`` pairs.

    Example:
        >>> import paddle
        >>> heads = paddle.nn.LayerDict({"a": paddle.nn.Linear(2, 3), "b": paddle.nn.Linear(2, 4)})
        >>> heads["b"](paddle.ones([1, 2])).shape
        [1, 4]
    """

    def __init__(self, sublayers: Any = None) -> None:
        super().__init__()
        if sublayers is not None:
            self.update(sublayers)

    def __getitem__(self, key: str) -> Layer:
        return self._sub_layers[key]

    def __setitem__(self, key: str, sublayer: Layer) -> None:
        self.add_sublayer(key, sublayer)

    def __delitem__(self, key: str) -> None:
        del self._sub_layers[key]

    def __len__(self) -> int:
        return len(self._sub_layers)

    def __iter__(self) -> Iterator[str]:
        return iter(self._sub_layers)

    def __contains__(self, key: str) -> bool:
        return key in self._sub_layers

    def clear(self) -> None:
        """Take out all layers."""
        self._sub_layers.clear()

    def pop(self, key: str) -> Layer:
        """Take the layer ``key`` out and return it."""
        return self._sub_layers.pop(key)

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._sub_layers.keys()

    def items(self) -> Iterable[tuple[str, Layer]]:
        """The ``(name, layer)`` pairs."""
        return self._sub_layers.items()

    def values(self) -> Iterable[Layer]:
        """The layers."""
        return self._sub_layers.values()

    def update(self, sublayers: Any) -> None:
        """Add the layers of a mapping or of an iterable of pairs; equal names are replaced."""
        for key, layer in _named_items(sublayers):
            self.add_sublayer(key, layer)


ModuleDict = also(LayerDict, "ModuleDict", "paddle.nn")


@public("paddle.nn")
class ParameterList(Layer):
    """A list of parameters that count as the owner's.

    Args:
        parameters: an iterable of parameters.

    Example:
        >>> import paddle
        >>> scales = paddle.nn.ParameterList([paddle.create_parameter([2], "float32") for _ in range(3)])
        >>> len(scales), scales[0].shape
        (3, [2])
    """

    def __init__(self, parameters: Iterable[Parameter] | None = None) -> None:
        super().__init__()
        for p in parameters or ():
            self.append(p)

    def __getitem__(self, idx: int | slice) -> Any:
        if isinstance(idx, slice):
            return type(self)(list(self)[idx])
        return self._parameters[str(_position(idx, len(self)))]

    def __setitem__(self, idx: int, parameter: Parameter) -> None:
        setattr(self, str(_position(idx, len(self))), parameter)

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[Parameter]:
        return iter(list(self._parameters.values()))

    def append(self, parameter: Parameter) -> ParameterList:
        """Add a parameter at the end."""
        self.add_parameter(str(len(self)), parameter)
        return self

    def extend(self, parameters: Iterable[Parameter]) -> ParameterList:
        """Add parameters at the end."""
        for p in parameters:
            self.append(p)
        return self


@public("paddle.nn")
class ParameterDict(Layer):
    """Parameters by name, in order of insertion.

    Args:
        parameters: a mapping or an iterable of ``(name, parameter)`` pairs.
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Parameter:
        return self._parameters[key]

    def __setitem__(self, key: str, parameter: Parameter) -> None:
        self.add_parameter(key, parameter)

    def __delitem__(self, key: str) -> None:
        del self._parameters[key]

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[str]:
        return iter(self._parameters)

    def __contains__(self, key: str) -> bool:
        return key in self._parameters

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._parameters.keys()

    def items(self) -> Iterable[tuple[str, Parameter]]:
        """The ``(name, parameter)`` pairs."""
        return self._parameters.items()

    def values(self) -> Iterable[Parameter]:
        """The parameters."""
        return self._parameters.values()

    def update(self, parameters: Any) -> None:
        """Add the parameters of a mapping or of an iterable of pairs; equal names are replaced."""
        for key, p in _named_items(parameters):
            self.add_parameter(key, p)
