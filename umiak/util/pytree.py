"""Nested containers as a flat list of leaves and a structure that puts them back.

Containers are exactly list, tuple, dict, sizes, and namedtuples; ``None`` and everything else is a leaf. Dict keys keep
their insertion order; two dicts with the same keys in different order have different structures. A container that
holds itself is a leaf there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from umiak.util.size import Size


class Structure:
    """The shape of a nest: hashable, comparable. A leaf is the structure without children."""

    __slots__ = ("children", "count", "keys", "kind")

    def __init__(self, kind: type | None, keys: tuple, children: tuple[Structure, ...]) -> None:
        self.kind = kind
        self.keys = keys
        self.children = children
        self.count: int = sum(child.count for child in children) if kind is not None else 1

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Structure):
            return NotImplemented
        return self.kind is other.kind and self.keys == other.keys and self.children == other.children

    def __hash__(self) -> int:
        return hash((self.kind, self.keys, self.children))

    def __repr__(self) -> str:
        if self.kind is None:
            return "*"
        if self.keys:
            return "{" + ", ".join(f"{k!r}: {c!r}" for k, c in zip(self.keys, self.children)) + "}"
        return f"{self.kind.__name__}({', '.join(map(repr, self.children))})"

    def unflatten(self, leaves: Sequence[Any]) -> Any:
        """Put ``leaves`` in the places of this structure."""
        if len(leaves) != self.count:
            raise ValueError(f"requires {self.count} leaves, got {len(leaves)}")
        return self._build(iter(leaves))

    def _build(self, leaves: Any) -> Any:
        if self.kind is None:
            return next(leaves)
        values = [child._build(leaves) for child in self.children]
        if self.kind is dict:
            return dict(zip(self.keys, values))
        if is_namedtuple(self.kind):
            return self.kind(*values)
        return self.kind(values)


LEAF = Structure(None, (), ())


def is_namedtuple(kind: type) -> bool:
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


def flatten(tree: Any) -> tuple[list[Any], Structure]:
    """The leaves of ``tree`` in order, and its structure."""
    leaves: list[Any] = []
    try:
        return leaves, _flatten(tree, leaves)
    except RecursionError:  # which only a container that holds itself needs
        leaves = []
        return leaves, _flatten_within(tree, leaves, ())


def _flatten_within(tree: Any, leaves: list[Any], around: tuple[int, ...]) -> Structure:
    """The same, with a container that is one of those around it as a leaf."""
    kind = type(tree)
    if id(tree) not in around:
        around = (*around, id(tree))
        if kind is dict:
            return Structure(dict, tuple(tree), tuple(_flatten_within(x, leaves, around) for x in tree.values()))
        if kind is list or kind is tuple or kind is Size or is_namedtuple(kind):
            return Structure(kind, (), tuple(_flatten_within(x, leaves, around) for x in tree))
    leaves.append(tree)
    return LEAF


def _flatten(tree: Any, leaves: list[Any]) -> Structure:
    kind = type(tree)
    if kind is dict:
        return Structure(dict, tuple(tree), tuple(_flatten(value, leaves) for value in tree.values()))
    if kind is list or kind is tuple or kind is Size or is_namedtuple(kind):
        return Structure(kind, (), tuple(_flatten(value, leaves) for value in tree))
    leaves.append(tree)
    return LEAF


def leaves(tree: Any) -> list[Any]:
    return flatten(tree)[0]


def map(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """Apply ``function`` to corresponding leaves of trees of one structure."""
    first, structure = flatten(tree)
    rest = []
    for other in others:
        more, its_structure = flatten(other)
        if its_structure != structure:
            raise ValueError(f"requires trees of one structure, got {structure} and {its_structure}")
        rest.append(more)
    return structure.unflatten([function(*leaf) for leaf in zip(first, *rest)])
