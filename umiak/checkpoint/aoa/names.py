"""Names by their shape: which numbers stand where a pattern has its places, without a look at every name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from umiak.checkpoint.aoa.syntax import Pattern

NUMBER = re.compile(r"[0-9]+|\0")


class _Group:
    """The names that differ in their numbers alone: one row of numbers each, and the rows by any choice of columns."""

    __slots__ = ("by", "rows")

    def __init__(self) -> None:
        self.rows: list[tuple[str, ...]] = []
        self.by: dict[tuple[int, ...], dict[tuple[str, ...], list[tuple[str, ...]]]] = {}

    def add(self, row: tuple[str, ...]) -> None:
        self.rows.append(row)
        for columns, table in self.by.items():
            table.setdefault(tuple(row[c] for c in columns), []).append(row)

    def where(self, fixed: Mapping[int, str]) -> list[tuple[str, ...]]:
        """The rows with these numbers in these columns."""
        columns = tuple(fixed)
        if columns not in self.by:
            table: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
            for row in self.rows:
                table.setdefault(tuple(row[c] for c in columns), []).append(row)
            self.by[columns] = table
        return self.by[columns].get(tuple(fixed.values()), [])


class NameIndex:
    """Names grouped by what is left of them without their numbers. Names can be added."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._groups: dict[str, _Group] = {}
        for name in names:
            self.add(name)

    def add(self, name: str) -> None:
        row = tuple(NUMBER.findall(name))
        if row:  # a name without numbers matches no pattern
            shape = NUMBER.sub("\0", name)
            group = self._groups.get(shape)
            if group is None:
                group = self._groups[shape] = _Group()
            group.add(row)

    def match(self, pattern: Pattern) -> list[tuple[str, ...]]:
        """Return the values that matching names have in the pattern's placeholders."""
        text = "\0".join(pattern.parts)
        group = self._groups.get(NUMBER.sub("\0", text))
        if group is None:
            return []
        row = NUMBER.findall(text)
        free = [i for i, number in enumerate(row) if number == "\0"]
        matches = group.where({i: number for i, number in enumerate(row) if number != "\0"})
        return [tuple(r[i] for i in free) for r in matches]
