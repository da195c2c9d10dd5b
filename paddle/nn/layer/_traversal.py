"""Methods of :class:`~paddle.nn.Layer` that walk over it and the layers below: sublayers, parameters, buffers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from paddle._public import other_keywords
from umiak.core.tensor import Tensor

if TYPE_CHECKING:
    from paddle.nn.layer.layers import Layer


def named_sublayers(
    self: Layer,
    prefix: str = "",
    include_self: bool = False,
    layers_set: set | None = None,
    remove_duplicate: bool = True,
) -> Iterator[tuple[str, Layer]]:
    """All layers below this one with their dotted names, parents first."""
    seen = set() if layers_set is None else layers_set
    if include_self:
        if self in seen:
            return
        if remove_duplicate:
            seen.add(self)
        yield prefix, self
    for name, layer in self._sub_layers.items():
        if layer is not None:
            inner = f"{prefix}.{name}" if prefix else name
            yield from layer.named_sublayers(inner, True, seen, remove_duplicate)


def named_modules(
    self: Layer, memo: set | None = None, prefix: str = "", remove_duplicate: bool = True
) -> Iterator[tuple[str, Layer]]:
    """This layer and all below it with their dotted names."""
    return self.named_sublayers(prefix, True, memo, remove_duplicate)


def sublayers(self: Layer, include_self: bool = False) -> list[Layer]:
    """All layers below this one."""
    return [layer for _, layer in self.named_sublayers(include_self=include_self)]


def modules(self: Layer) -> Iterator[Layer]:
    """This layer and all below it."""
    return (layer for _, layer in self.named_sublayers(include_self=True))


def named_children(self: Layer) -> Iterator[tuple[str, Layer]]:
    """The direct sublayers with their names, each layer once."""
    seen = set()
    for name, layer in self._sub_layers.items():
        if layer is not None and layer not in seen:
            seen.add(layer)
            yield name, layer


def children(self: Layer) -> Iterator[Layer]:
    """The direct sublayers."""
    return (layer for _, layer in self.named_children())


def _named_members(
    self: Layer, table: str, prefix: str, include_sublayers: bool, remove_duplicate: bool
) -> Iterator[tuple[str, Any]]:
    seen = set()
    layers = self.named_sublayers(prefix, True, None, remove_duplicate) if include_sublayers else ((prefix, self),)
    for scope, layer in layers:
        for name, member in getattr(layer, table).items():
            if member is None or (remove_duplicate and id(member) in seen):
                continue
            seen.add(id(member))
            yield f"{scope}.{name}" if scope else name, member


@other_keywords(recurse="include_sublayers")
def named_parameters(
    self: Layer, prefix: str = "", include_sublayers: bool = True, remove_duplicate: bool = True
) -> Iterator[tuple[str, Any]]:
    """The parameters with their dotted names; a shared one comes once unless ``remove_duplicate`` is False."""
    return _named_members(self, "_parameters", prefix, include_sublayers, remove_duplicate)


@other_keywords(recurse="include_sublayers")
def parameters(self: Layer, include_sublayers: bool = True) -> list[Any]:
    """The parameters of this layer and of those below it, each once.

    Example:
        >>> import paddle
        >>> [p.shape for p in paddle.nn.Linear(2, 3).parameters()]
        [paddle.Size([2, 3]), paddle.Size([3])]
    """
    return [p for _, p in self.named_parameters(include_sublayers=include_sublayers)]


@other_keywords(recurse="include_sublayers")
def named_buffers(
    self: Layer, prefix: str = "", include_sublayers: bool = True, remove_duplicate: bool = True
) -> Iterator[tuple[str, Tensor]]:
    """The buffers with their dotted names."""
    return _named_members(self, "_buffers", prefix, include_sublayers, remove_duplicate)


@other_keywords(recurse="include_sublayers")
def buffers(self: Layer, include_sublayers: bool = True) -> list[Tensor]:
    """The buffers of this layer and of those below it, each once."""
    return [b for _, b in self.named_buffers(include_sublayers=include_sublayers)]


def apply(self: Layer, fn: Callable[[Layer], Any]) -> Layer:
    """Call ``fn`` on every layer below this one, then on this one. Returns the layer."""
    for layer in self.children():
        layer.apply(fn)
    fn(self)
    return self
