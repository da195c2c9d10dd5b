"""Loaded code."""

from __future__ import annotations

from umiak.compiler.jit.errors import SymbolError


class Library:
    """The functions of one text, in memory for as long as this object is."""

    __slots__ = ("__weakref__", "_addresses", "_memory", "size")

    def __init__(self, addresses: dict[str, int], memory: object, size: int) -> None:
        self._addresses = addresses
        self._memory = memory  # whose end frees the code
        self.size = size

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._addresses)

    def address(self, name: str) -> int:
        try:
            return self._addresses[name]
        except KeyError:
            raise SymbolError(
                f"[jit] requires a function that the text defines ({', '.join(self._addresses)}), got {name!r}"
            ) from None
