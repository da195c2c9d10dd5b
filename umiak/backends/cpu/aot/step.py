"""A step of a compiled model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from umiak.backends.cpu.aot.memory import Memory, Ref


@dataclass
class Step:
    """A function of the runtime (``run``), and the struct of type ``kind`` that it gets: ``text`` of its fields in C,
    places in memory (``refs``), and of what is done to images their ``image``.

    Its range of ``count`` is divided among threads; it takes about ``work`` ns, and each of them ``local`` bytes of
    scratch. ``pointers``: further places, in order.
    """

    run: str
    kind: str
    name: str
    text: dict[str, str]
    refs: dict[str, Ref]
    count: int
    work: float
    local: int = 0
    image: dict[str, Any] | None = None
    pointers: tuple[Ref, ...] = ()
    arrays: dict[str, list[int]] = field(default_factory=dict)  # fields that point to integers

    @property
    def memories(self) -> list[Memory]:
        return [m for m, _ in (*self.refs.values(), *self.pointers)]


def numbers(values: Mapping[str, int]) -> dict[str, str]:
    return {name: str(int(x)) for name, x in values.items()}


def struct(xs: Iterable[int]) -> str:
    """Integers as the initialiser of an array."""
    return "{" + ", ".join(str(int(x)) for x in xs) + "}"
