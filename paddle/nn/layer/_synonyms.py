"""Attributes of layers that have two names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from paddle.nn.layer.layers import Layer


class Synonym:
    """An attribute that is another one of the same layer, read and written."""

    def __init__(self, of: str) -> None:
        self._of = of

    def __get__(self, layer: Layer | None, owner: type | None = None) -> Any:
        return self if layer is None else getattr(layer, self._of)

    def __set__(self, layer: Layer, value: Any) -> None:
        setattr(layer, self._of, value)
