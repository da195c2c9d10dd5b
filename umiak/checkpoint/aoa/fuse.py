"""Arrangements of tensors along one axis: concatenations, splits and the fuse macros as one kind of thing.

An *arrangement* of a tensor says, from its first place along the axis to its last, which run of which logical tensor
lies there: q, k and v, gate and up, or the tensors of a concatenation. A statement then takes tensors in some
arrangements and gives tensors in others, and its reverse swaps the two.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from umiak.checkpoint.aoa.blocks import Run
from umiak.checkpoint.aoa.errors import AOAAssertionError, AOAError

Arrangement = tuple[Run, ...]
MOST_RUNS = 1 << 14


def separate(sizes: Sequence[int]) -> tuple[Arrangement, ...]:
    """Each logical tensor is one of its own."""
    return tuple((Run(i, 0, n),) for i, n in enumerate(sizes))


def concatenated(sizes: Sequence[int]) -> Arrangement:
    """One logical tensor after the other."""
    return tuple(Run(i, 0, n) for i, n in enumerate(sizes))


def interleaved(sizes: Sequence[int], times: int) -> Arrangement:
    """The first of ``times`` equal runs of every logical tensor, then the second of every, and so on."""
    if times > MOST_RUNS:
        raise AOAError(f"a fused tensor has at most {MOST_RUNS} groups, got {times}")
    return tuple(Run(i, r * (n // times), n // times) for r in range(times) for i, n in enumerate(sizes))


def rearranged(inputs: Sequence[Arrangement], outputs: Sequence[Arrangement]) -> tuple[tuple[Run, ...], ...]:
    """Each given tensor as runs of taken ones."""
    places: dict[int, list[tuple[int, int, int, int]]] = {}  # logical tensor -> (start, size, tensor, place)
    for number, arrangement in enumerate(inputs):
        at = 0
        for run in arrangement:
            places.setdefault(run.of, []).append((run.start, run.size, number, at))
            at += run.size
    starts = {}
    for of, rows in places.items():
        rows.sort()
        starts[of] = [row[0] for row in rows]
    out = []
    for arrangement in outputs:
        runs: list[Run] = []
        for run in arrangement:
            at, end = run.start, run.start + run.size
            i = bisect_right(starts[run.of], at) - 1
            while at < end:
                start, size, number, place = places[run.of][i]
                stop = min(end, start + size)
                if stop > at:
                    runs.append(Run(number, place + at - start, stop - at))
                    at = stop
                i += 1
        out.append(tuple(runs))
    return tuple(out)


class Fusion:
    """A fuse macro: which logical tensors, how their sizes follow from one another, how they lie in the fused one."""

    def __init__(self, macro: str, attrs: dict[str, int | str | bool]) -> None:
        self.macro = macro
        known = {macro, "axis"}
        if macro == "fused_ffn":
            self.names: tuple[str, ...] = ("gate", "up")
            self.shares: tuple[int, ...] = (1, 1)
        else:
            known |= {"num_heads", "num_key_value_groups"}
            heads, groups = (attrs.get(k, 0) for k in ("num_heads", "num_key_value_groups"))
            assert isinstance(heads, int) and isinstance(groups, int)
            if heads <= 0 or groups <= 0 or heads % groups:
                raise AOAAssertionError(
                    f"{macro} requires num_heads to be a positive multiple of num_key_value_groups, "
                    f"got {attrs.get('num_heads')} and {attrs.get('num_key_value_groups')}"
                )
            self.names = ("q", "k", "v")
            self.shares = (heads, groups, groups)
        others = sorted(set(attrs) - known)
        if others:
            raise AOAError(f"{macro} takes {', '.join(sorted(known - {macro}))}, got {', '.join(others)}")

    def check(self, left: int, right: int) -> None:
        """Refuse numbers of names that the macro does not have."""
        n = len(self.names)
        forms = {(n, 1), (1, n)} | ({(1, 1)} if self.macro != "fused_qkv" else set())
        if (left, right) not in forms:
            names = ", ".join(self.names)
            same = ", or one name -> one name" if self.macro != "fused_qkv" else ""
            raise AOAAssertionError(
                f"{self.macro} is '{names} -> fused' or 'fused -> {names}'{same}; got {left} -> {right} names"
            )

    def sizes_of(self, total: int) -> tuple[int, ...]:
        """The logical tensors' sizes in a fused one of ``total``."""
        unit, rest = divmod(total, sum(self.shares))
        if rest:
            raise AOAAssertionError(
                f"{self.macro} requires a size that {sum(self.shares)} divides ({self._ratio()}), got {total}"
            )
        return tuple(unit * s for s in self.shares)

    def agree(self, sizes: Sequence[int]) -> None:
        """Refuse sizes that could not be told from the fused tensor's alone: then the way back would be lost."""
        unit, rest = divmod(sizes[0], self.shares[0])
        if rest or tuple(unit * s for s in self.shares) != tuple(sizes):
            raise AOAAssertionError(
                f"{self.macro} requires sizes of {', '.join(self.names)} as {self._ratio()}, got {tuple(sizes)}"
            )

    def arranged(self, sizes: Sequence[int], degree: int) -> Arrangement:
        """Return the arrangement of the fused tensor, which ``degree`` ranks split."""
        if self.macro == "fused_qkv":
            return interleaved(sizes, self.shares[1])
        for name, share, size in zip(self.names, self.shares, sizes):
            count = size if self.macro == "fused_ffn" else share
            if count % degree:
                parts = "columns" if self.macro == "fused_ffn" else "heads"
                raise AOAAssertionError(
                    f"{self.macro} cannot give each of {degree} ranks its part of {name}: {count} {parts}"
                )
        return interleaved(sizes, degree)

    def _ratio(self) -> str:
        return ":".join(map(str, self.shares))
