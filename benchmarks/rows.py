"""Rows of the tables: how they are measured, and when they pass."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from measure import Comparison, Settings, Side, Spread, compare


@dataclass(frozen=True)
class Outcome:
    """One measured row, as the table shows it; ``ratio``, the other side's time ÷ ours, enters the mean of its section
    and what is compared with another day (baseline.py)."""

    ours: str
    other: str
    figure: str
    passed: bool
    ratio: float | None = None


@dataclass(frozen=True)
class Row:
    """A row of a table. ``target`` is what it promises, in words; ``measure`` does the work."""

    name: str
    what: str
    target: str
    measure: Callable[[Settings], Outcome]
    section: str


@dataclass(frozen=True)
class Section:
    """A table of README.md. ``mean``: what the geometric mean of its ratios must reach. ``below``: only rows with a
    smaller ratio are shown there, for a table of hundreds.
    """

    name: str
    title: str
    mean: float | None = None
    figure: str = "ratio"  # heading of the last column of figures
    below: float | None = None

    def verdict(self, outcomes: Sequence[Outcome]) -> tuple[str, bool]:
        """The mean over all rows, in words, and whether it is reached."""
        ratios = [o.ratio for o in outcomes if o.ratio is not None]
        if self.mean is None or not ratios:
            return "", True
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        passed = mean >= self.mean
        word = "pass" if passed else "**miss**"
        text = f"Geometric mean of {len(ratios)} ratios {mean:.3g}× (target ≥ {self.mean:g}×: {word})"
        return f"{text}, lowest {min(ratios):.3g}×.", passed


SECTIONS: dict[str, Section] = {}
ROWS: dict[str, Row] = {}


def add_section(
    name: str, title: str, mean: float | None = None, figure: str = "ratio", below: float | None = None
) -> str:
    SECTIONS[name] = Section(name, title, mean, figure, below)
    return name


DISPATCH = add_section("dispatch", "Calls, on the `null` device", figure="ratio, or growth")


def add_row(name: str, what: str, target: str, measure: Callable[[Settings], Outcome], section: str = DISPATCH) -> None:
    if name in ROWS:
        raise ValueError(f"row {name!r} is there twice")
    ROWS[name] = Row(name, what, target, measure, section)


def duration(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e6:.2g} µs"


def times(spread: Spread) -> str:
    """A ratio with its quartiles."""
    if spread.low == spread.high:
        return f"{spread.median:.3g}×"
    return f"{spread.median:.3g}× ({spread.low:.3g}–{spread.high:.3g})"


def with_spread(spread: Spread) -> str:
    """A time with half the distance of its quartiles."""
    if spread.low == spread.high:
        return duration(spread.median)
    percent = 50 * (spread.high - spread.low) / spread.median
    return f"{duration(spread.median)} ±{percent:.0f} %"


Pair = tuple[Side, Side]
Maker = Callable[[Settings], Pair]


def faster(
    name: str, what: str, factor: float, passes: int | None = None, section: str = DISPATCH, peer: str = "PyTorch"
) -> Callable[[Maker], None]:
    """A row that passes when the peer takes at least ``factor`` times as long. The function makes both sides."""

    def enter(make: Maker) -> None:
        def measure(settings: Settings) -> Outcome:
            c: Comparison = compare(*make(settings), settings, passes)
            passed = c.ratio.median >= factor
            return Outcome(with_spread(c.ours), with_spread(c.other), times(c.ratio), passed, c.ratio.median)

        add_row(name, what, f"{peer} takes ≥ {factor:g}×", measure, section)

    return enter


def within(name: str, what: str, factor: float, section: str = DISPATCH) -> Callable[[Maker], None]:
    """A row that passes when the first side takes at most ``factor`` times as long as our plain path."""

    def enter(make: Maker) -> None:
        def measure(settings: Settings) -> Outcome:
            c = compare(*make(settings), settings)
            inverse = Spread(1 / c.ratio.median, 1 / c.ratio.high, 1 / c.ratio.low)
            passed = inverse.median <= factor
            return Outcome(with_spread(c.ours), with_spread(c.other), times(inverse), passed, c.ratio.median)

        add_row(name, what, f"≤ {factor:g}× our plain path", measure, section)

    return enter
