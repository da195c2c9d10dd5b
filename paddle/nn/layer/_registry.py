"""The tables of a layer by name (parameters, buffers, sublayers), which are its attributes too."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from paddle.nn.layer.layers import Layer

# How often an attribute of any layer was set: what has looked at layers knows whether to look again.
# Of layers: one number, another object after each change.
CHANGES = [0]


def changes() -> int:
    """A number that grows whenever an attribute, a parameter, a sublayer or a hook of a layer is set or removed."""
    return CHANGES[0]


class Registry(dict):
    """One of a layer's tables by name. Every change is made in the instance ``__dict__`` of the layer too.

    Names are therefore plain attributes (no ``__getattr__``, three times faster in ``forward``), while code that edits
    ``layer._parameters`` directly keeps working. The layer is held weakly: a layer is freed without the cycle
    collector.
    """

    __slots__ = ("_layer",)

    def __init__(self, layer: Layer, items: Mapping[str, Any] | Iterable[tuple[str, Any]] = ()) -> None:
        super().__init__()
        self._layer = weakref.ref(layer)
        self.update(items)

    def _namespace(self) -> dict[str, Any]:
        layer = self._layer()
        return {} if layer is None else layer.__dict__

    def __setitem__(self, name: str, value: Any) -> None:
        CHANGES[0] += 1
        super().__setitem__(name, value)
        self._namespace()[name] = value

    def __delitem__(self, name: str) -> None:
        CHANGES[0] += 1
        super().__delitem__(name)
        self._namespace().pop(name, None)

    def pop(self, name: str, *default: Any) -> Any:
        CHANGES[0] += 1
        if name in self:
            self._namespace().pop(name, None)
        return super().pop(name, *default)

    def popitem(self) -> tuple[str, Any]:
        CHANGES[0] += 1
        name, value = super().popitem()
        self._namespace().pop(name, None)
        return name, value

    def clear(self) -> None:
        for name in list(self):
            del self[name]

    def update(self, *args: Any, **kwargs: Any) -> None:
        for name, value in dict(*args, **kwargs).items():
            self[name] = value

    def setdefault(self, name: str, default: Any = None) -> Any:
        if name not in self:
            self[name] = default
        return self[name]

    def __ior__(self, other: Any) -> Registry:  # type: ignore[misc]
        self.update(other)
        return self

    def __reduce__(self) -> tuple:
        return dict, (dict(self),)


TABLES = ("_parameters", "_buffers", "_sub_layers")
