"""Macros that stand for names: ``$LAYER_ID``, ``$LAYER_ID_OFFSET``, ``$EXPERT_ID``, ``NAME[a:b]`` and ``*``.

The result is a list of steps, statements about names that are names. Everything here is said in the direction of
running: a statement run in reverse takes what stands on its right and gives what stands on its left.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence

from umiak.checkpoint.aoa.errors import AOAError, AOASyntaxError, AOAWarning, near
from umiak.checkpoint.aoa.names import NameIndex
from umiak.checkpoint.aoa.syntax import EXPERT, LAYER, OFFSET, STAR, Name, Pattern, Statement, shown

MOST_NAMES = 1 << 20  # in all steps together


class Step:
    """One statement about single names. ``left`` and ``right`` are as in the text, whatever the direction."""

    __slots__ = ("flips", "left", "right", "statement", "values")

    def __init__(
        self,
        statement: Statement,
        left: tuple[str, ...],
        right: tuple[str, ...],
        flips: tuple[bool, ...] | None = None,
        values: tuple[str, ...] = (),
    ) -> None:
        self.statement = statement
        self.left = left
        self.right = right
        self.flips = flips  # which names on the left have ^T; None if none has
        self.values = values

    @property
    def chain(self) -> list[tuple[str, str]]:
        """The statement, each macro's product."""
        s = self.statement
        chain = s.chain
        if self.values:
            named = ", ".join(f"{slot} = {value}" for slot, value in zip(s.slots, self.values))
            chain.append((named, shown(_filled(s, 0, self.values), _filled(s, 1, self.values), s.attrs)))
        if len(self.left) != len(s.left) or len(self.right) != len(s.right):
            flips = self.flips or (False,) * len(self.left)
            left = [str(Name(n, flip)) for n, flip in zip(self.left, flips)]
            chain.append(("names", shown(left, self.right, s.attrs)))
        return chain


def _filled(s: Statement, side: int, values: Sequence[str]) -> list[str]:
    table = dict(zip(s.slots, values))
    out = []
    for name, pattern in zip((s.left, s.right)[side], s.patterns[side]):
        text = pattern.fill([_value(slot, table, side) for slot in pattern.slots])
        out.append(str(Name(text, name.transposed, name.span)))
    return out


def _value(slot: str, table: Mapping[str, str], side: int) -> str:
    """Return the value of a placeholder. Layers are counted as on the left."""
    if slot == OFFSET and side == 1:
        n = int(table[slot]) - 1
        if n < 0:
            raise AOAError(f"{OFFSET} is one less on the right than on the left: layer 0 would become layer -1")
        return str(n)
    return table.get(slot, slot)


class Expander:
    """Expands statements in the order in which they run.

    ``sources`` and ``targets`` are names; ``targets`` is None where it is not known what is wanted. ``spare`` are names
    of parameters of which only optimizer states are there.
    """

    def __init__(
        self, sources: Iterable[str], targets: Iterable[str] | None, spare: Iterable[str] = (), reverse: bool = False
    ) -> None:
        self.reverse = reverse
        self._sources = (sources, spare)
        self._targets = targets
        self._indexes: dict[str, NameIndex] = {}
        self._made = NameIndex()
        self._waiting: list[str] = []
        self._named_so_far = 0

    def _index(self, which: str) -> NameIndex:
        if which not in self._indexes:
            names = {"sources": self._sources[0], "spare": self._sources[1], "targets": self._targets or ()}[which]
            self._indexes[which] = NameIndex(names)
        return self._indexes[which]

    def _match_taken(self, pattern: Pattern) -> list[tuple[str, ...]]:
        """Among the sources; failing that, among what the steps before have made."""
        matches = self._index("sources").match(pattern) or self._index("spare").match(pattern)
        if not matches:
            for name in self._waiting:
                self._made.add(name)
            self._waiting.clear()
            matches = self._made.match(pattern)
        return matches

    def expand(self, statements: Sequence[Statement]) -> list[Step]:
        """The steps in the order of the text."""
        out: list[list[Step]] = []
        for s in reversed(statements) if self.reverse else statements:
            try:
                steps = self._steps(s)
            except AOAError as error:
                raise type(error)(error.problem, error.chain or s.chain) from None
            for step in steps:
                self._waiting += step.left if self.reverse else step.right
            out.append(steps)
        return [step for steps in (reversed(out) if self.reverse else out) for step in steps]

    def _steps(self, s: Statement) -> list[Step]:
        if s.plain:
            flips = tuple(n.transposed for n in s.left)
            left, right = (tuple(n.text for n in side) for side in (s.left, s.right))
            return [Step(s, left, right, flips if any(flips) else None)]
        if not s.slots:
            return [self._named(s, ())]
        ids = self._ids(s)
        if ids is None:
            return []
        times = math.prod(map(len, ids))
        if times > MOST_NAMES:
            raise AOAError(f"statements stand for at most {MOST_NAMES} names, this one for {times} statements")
        return [self._named(s, values) for values in _product(s.slots, ids)]

    def _ids(self, s: Statement) -> list[list[str]] | None:
        """For each placeholder what it stands for, ascending; None if no name matches."""
        taken, given = (1, 0) if self.reverse else (0, 1)
        sides = (s.left, s.right)
        tries = [(taken, i) for i, n in enumerate(sides[taken]) if not n.void]
        # With nothing taken ('_ -> b') what is wanted says it.
        tries += [(given, i) for i, n in enumerate(sides[given]) if not n.void and sides[taken][0].void]
        for side, i in tries:
            pattern = s.patterns[side][i]
            span = sides[side][i].span
            if span:
                pattern = Pattern((*pattern.parts[:-1], f"{pattern.parts[-1]}_{span[0]}"), pattern.slots)
            rows = self._match_taken(pattern) if side == taken else self._index("targets").match(pattern)
            ids = [_one(pattern.slots, row) for row in rows]
            tables = [t for t in ids if t is not None]
            if tables:
                columns = []
                for slot in s.slots:
                    numbers = {t[slot] for t in tables}
                    if slot == OFFSET and side == 1:
                        numbers = {str(int(n) + 1) for n in numbers}
                    columns.append(sorted(numbers, key=int))
                return columns
        if not any(n.void for n in s.left + s.right):
            first = str(sides[taken][0])
            warnings.warn(
                f"[aoa] statement {s.number} is left out: no tensor matches {first}; the statement is {s.text!r}",
                AOAWarning,
                stacklevel=2,
            )
        return None

    def _named(self, s: Statement, values: tuple[str, ...]) -> Step:
        table = dict(zip(s.slots, values))
        sides: list[tuple[str, ...]] = []
        flips: list[bool] = []
        for side in (0, 1):
            names: list[str] = []
            for name, pattern in zip((s.left, s.right)[side], s.patterns[side]):
                filled = [_value(slot, table, side) for slot in pattern.slots]
                ends = [f"_{i}" for i in range(*name.span)] if name.span else [""]
                for end in ends:
                    if STAR in pattern.slots:
                        names += self._starred(s, pattern, filled, end, side)
                    else:
                        names.append(pattern.fill(filled) + end)
                if side == 0:
                    flips += [name.transposed] * (len(names) - len(flips))
            sides.append(tuple(names))
            self._named_so_far += len(names)
            if self._named_so_far > MOST_NAMES:
                raise AOAError(f"statements stand for at most {MOST_NAMES} names")
        return Step(s, sides[0], sides[1], tuple(flips) if any(flips) else None, values)

    def _starred(self, s: Statement, pattern: Pattern, filled: list[str], end: str, side: int) -> list[str]:
        at = pattern.slots.index(STAR)
        head = Pattern(pattern.parts[: at + 1], pattern.slots[:at]).fill(filled[:at])
        tail = Pattern(pattern.parts[at + 1 :], pattern.slots[at + 1 :]).fill(filled[at + 1 :]) + end
        star = Pattern((head, tail), (STAR,))
        if (side == 0) != self.reverse:
            rows, where = self._match_taken(star), "source"
        elif self._targets is None:
            direction = "reversed, " if self.reverse else ""
            raise AOASyntaxError(
                f"{head}*{tail} counts the wanted tensors of that name, and it is not said which are wanted: "
                f"{direction}this statement needs the targets"
            )
        else:
            rows, where = self._index("targets").match(star), "target"
        if not rows:
            known = (self._sources[0] if where == "source" else self._targets) or ()
            raise AOASyntaxError(
                f"no {where} has a name like {head}*{tail} (a number for *).{near(head + '0' + tail, known)}"
            )
        return [head + n + tail for n in sorted((r[0] for r in rows), key=int)]


def _one(slots: Sequence[str], row: Sequence[str]) -> dict[str, str] | None:
    """Numbers by placeholder; None if a placeholder that stands twice has two values."""
    table: dict[str, str] = {}
    for slot, number in zip(slots, row):
        if table.setdefault(slot, number) != number and slot != STAR:
            return None
    return table


def _product(slots: Sequence[str], ids: list[list[str]]) -> Iterable[tuple[str, ...]]:
    """All combinations, layers counting fastest."""
    order = sorted(range(len(slots)), key=lambda i: (EXPERT, LAYER, OFFSET).index(slots[i]))
    combos: list[dict[int, str]] = [{}]
    for i in order:
        combos = [{**c, i: value} for c in combos for value in ids[i]]
    return [tuple(c[i] for i in range(len(slots))) for c in combos]
