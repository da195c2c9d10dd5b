"""Layers that hold other layers or parameters in order or by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from paddle._public import also, public
from paddle.framework.parameter import Parameter
from paddle.nn.layer.layers import Layer
from umiak.core.direct import in_order
from umiak.util.arguments import several
from umiak.util.errors import op_error


def _position(owner: Layer, index: int, size: int, extra: int = 0) -> int:
    """A position counted from the front. ``extra`` positions past the end are allowed (for insertion)."""
    if not -size <= index < size + extra:
        raise IndexError(f"[{type(owner).__name__}] requires a position among {size} elements, got {index}")
    return index + size if index < 0 else index


def _named_items(owner: Layer, items: Any) -> Iterable[tuple[str, Any]]:
    if hasattr(items, "items"):
        return items.items()
    op_name, required = type(owner).__name__, "a dict or a list of pairs (name, value)"
    pairs = several(op_name, required, items)
    for pair in pairs:
        if len(several(op_name, required, pair)) != 2:
            raise op_error(ValueError, op_name, required, f"a list with {pair!r}")
    return pairs


_CALL = Layer.__call__


def one_by_one(layers: dict[str, Layer], x: Any) -> Any:
    """Do what ``in_order`` does, for who follows what it calls."""
    for layer in layers.values():
        x = layer(x)
    return x


@public("paddle.nn")
class Sequential(Layer):
    """Layers that are called one after another, each on the output of the one before.

    Args:
        *layers: layers, which are numbered from 0, or ``(name, layer)`` pairs; or one list of these; or one dict of
            layers by name.

    Shape:
        input: anything that the first layer takes as its only argument.
        output: whatever the last layer returns; without layers, the input.

    Raises:
        TypeError: a value that is not a layer.
        IndexError: ``net[i]`` beyond the last layer.

    Example:
        >>> import paddle
        >>> net = paddle.nn.Sequential(paddle.nn.Linear(4, 3), paddle.nn.ReLU())
        >>> net(paddle.ones([2, 4])).shape
        paddle.Size([2, 3])
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
        return list(self._sub_layers)[_position(self, index, len(self._sub_layers))]

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
        """Add a layer at the end.

        Args:
            module: the layer; its name is its position.

        Returns:
            The container itself.
        """
        at = len(self)
        while str(at) in self._sub_layers:  # a layer before it has been taken out, and names stay
            at += 1
        self.add_sublayer(str(at), module)
        return self

    def insert(self, index: int, module: Layer) -> Sequential:
        """Put a layer before a position; later layers move up, and all are named by their positions.

        Args:
            index: from ``-len(self)`` to ``len(self)``.
            module: the layer.

        Returns:
            The container itself.

        Raises:
            TypeError: module is not a layer.
            IndexError: index is out of range.
        """
        if not isinstance(module, Layer):
            raise TypeError(f"[Sequential.insert] requires a Layer, got {type(module).__name__}")
        layers = list(self)
        layers.insert(_position(self, index, len(layers), extra=1), module)
        self._sub_layers.clear()
        self._sub_layers.update((str(i), layer) for i, layer in enumerate(layers))
        return self

    def extend(self, sequential: Iterable[Layer]) -> Sequential:
        """Add layers at the end.

        Args:
            sequential: an iterable of layers.

        Returns:
            The container itself.
        """
        for layer in sequential:
            self.append(layer)
        return self


@public("paddle.nn", aliases={"modules": "sublayers"})
class LayerList(Layer):
    """List of layers whose parameters count as the owner's. It is not called itself.

    Args:
        sublayers: an iterable of layers; None: an empty list.

    Raises:
        TypeError: a value that is not a layer.
        IndexError: ``layers[i]`` beyond the last layer.

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
        return self._sub_layers[str(_position(self, index, len(self)))]

    def __setitem__(self, index: int, layer: Layer) -> None:
        self.add_sublayer(str(_position(self, index, len(self))), layer)

    def __delitem__(self, index: int | slice) -> None:
        layers = list(self)
        del layers[index if isinstance(index, slice) else _position(self, index, len(layers))]
        self._renumber(layers)

    def __len__(self) -> int:
        return len(self._sub_layers)

    def __iter__(self) -> Iterator[Layer]:
        return iter(list(self._sub_layers.values()))

    def append(self, sublayer: Layer) -> LayerList:
        """Add a layer at the end.

        Args:
            sublayer: the layer.

        Returns:
            The list itself.
        """
        self.add_sublayer(str(len(self)), sublayer)
        return self

    def insert(self, index: int, sublayer: Layer) -> None:
        """Put a layer before a position; later layers move up.

        Args:
            index: from ``-len(self)`` to ``len(self)``.
            sublayer: the layer.

        Raises:
            TypeError: sublayer is not a layer.
            IndexError: index is out of range.
        """
        if not isinstance(sublayer, Layer):
            raise TypeError(f"[LayerList.insert] requires a Layer, got {type(sublayer).__name__}")
        layers = list(self)
        layers.insert(_position(self, index, len(layers), extra=1), sublayer)
        self._renumber(layers)

    def extend(self, sublayers: Iterable[Layer]) -> LayerList:
        """Add layers at the end.

        Args:
            sublayers: an iterable of layers.

        Returns:
            The list itself.
        """
        for layer in sublayers:
            self.append(layer)
        return self

    def pop(self, key: int = -1) -> Layer:
        """Take a layer out of the list and return it.

        Args:
            key: its position; negative counts from the end.

        Returns:
            The layer.

        Raises:
            IndexError: key is out of range.
        """
        layer = self[key]
        del self[key]
        return layer


ModuleList = also(LayerList, "ModuleList", "paddle.nn")


@public("paddle.nn", aliases={"modules": "sublayers"})
class LayerDict(Layer):
    """Layers by name, in order of insertion, whose parameters count as the owner's. It is not called itself.

    Args:
        sublayers: a mapping or an iterable of ``(name, layer)`` pairs; None: an empty dict.

    Raises:
        TypeError: a value that is not a layer.
        KeyError: ``layers[name]`` for a name that is not there.

    Example:
        >>> import paddle
        >>> heads = paddle.nn.LayerDict({"a": paddle.nn.Linear(2, 3), "b": paddle.nn.Linear(2, 4)})
        >>> heads["b"](paddle.ones([1, 2])).shape
        paddle.Size([1, 4])
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
        """Take a layer out and return it.

        Args:
            key: its name.

        Returns:
            The layer.

        Raises:
            KeyError: there is no layer of this name.
        """
        return self._sub_layers.pop(key)

    def keys(self) -> Iterable[str]:
        """Names of the layers."""
        return self._sub_layers.keys()

    def items(self) -> Iterable[tuple[str, Layer]]:
        """Pairs ``(name, layer)``."""
        return self._sub_layers.items()

    def values(self) -> Iterable[Layer]:
        """Layers in order of insertion."""
        return self._sub_layers.values()

    def update(self, sublayers: Any) -> None:
        """Add layers; those of equal names are replaced.

        Args:
            sublayers: a mapping or an iterable of ``(name, layer)`` pairs.

        Raises:
            TypeError: a value that is not a layer.
        """
        for key, layer in _named_items(self, sublayers):
            self.add_sublayer(key, layer)


ModuleDict = also(LayerDict, "ModuleDict", "paddle.nn")


@public("paddle.nn")
class ParameterList(Layer):
    """List of parameters that count as the owner's. It is not called itself.

    Args:
        parameters: an iterable of parameters; None: an empty list.

    Raises:
        TypeError: a value that is not a parameter.
        IndexError: ``parameters[i]`` beyond the last one.

    Example:
        >>> import paddle
        >>> scales = paddle.nn.ParameterList([paddle.create_parameter([2], "float32") for _ in range(3)])
        >>> len(scales), scales[0].shape
        (3, paddle.Size([2]))
    """

    def __init__(self, parameters: Iterable[Parameter] | None = None) -> None:
        super().__init__()
        for p in parameters or ():
            self.append(p)

    def __getitem__(self, idx: int | slice) -> Any:
        if isinstance(idx, slice):
            return type(self)(list(self)[idx])
        return self._parameters[str(_position(self, idx, len(self)))]

    def __setitem__(self, idx: int, parameter: Parameter) -> None:
        setattr(self, str(_position(self, idx, len(self))), parameter)

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[Parameter]:
        return iter(list(self._parameters.values()))

    def append(self, parameter: Parameter) -> ParameterList:
        """Add a parameter at the end.

        Args:
            parameter: the parameter.

        Returns:
            The list itself.
        """
        self.add_parameter(str(len(self)), parameter)
        return self

    def extend(self, parameters: Iterable[Parameter]) -> ParameterList:
        """Add parameters at the end.

        Args:
            parameters: an iterable of parameters.

        Returns:
            The list itself.
        """
        for p in parameters:
            self.append(p)
        return self


@public("paddle.nn")
class ParameterDict(Layer):
    """Parameters by name, in order of insertion, that count as the owner's. It is not called itself.

    Args:
        parameters: a mapping or an iterable of ``(name, parameter)`` pairs; None: an empty dict.

    Raises:
        TypeError: a value that is not a parameter.
        KeyError: ``parameters[name]`` for a name that is not there.

    Example:
        >>> import paddle
        >>> scales = paddle.nn.ParameterDict({"in": paddle.create_parameter([2], "float32")})
        >>> scales["out"] = paddle.create_parameter([3], "float32")
        >>> list(scales), scales["out"].shape
        (['in', 'out'], paddle.Size([3]))
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
        """Names of the parameters."""
        return self._parameters.keys()

    def items(self) -> Iterable[tuple[str, Parameter]]:
        """Pairs ``(name, parameter)``."""
        return self._parameters.items()

    def values(self) -> Iterable[Parameter]:
        """Parameters in order of insertion."""
        return self._parameters.values()

    def update(self, parameters: Any) -> None:
        """Add parameters; those of equal names are replaced.

        Args:
            parameters: a mapping or an iterable of ``(name, parameter)`` pairs.

        Raises:
            TypeError: a value that is not a parameter.
        """
        for key, p in _named_items(self, parameters):
            self.add_parameter(key, p)
