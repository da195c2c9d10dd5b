"""What a row of the table is: how it is measured, and when it passes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from measure import Comparison, Settings, Side, Spread, compare


@dataclass(frozen=True)
class Outcome:
    """One measured row, as the table shows it."""

    ours: str
    other: str
    figure: str
    passed: bool


@dataclass(frozen=True)
class Row:
    """A row of the table. ``target`` is what it promises, in words; ``measure`` does the work."""

    name: str
    what: str
    target: str
    measure: Callable[[Settings], Outcome]


ROWS: dict[str, Row] = {}


def add_row(name: str, what: str, target: str, measure: Callable[[Settings], Outcome]) -> None:
    if name in ROWS:
        raise ValueError(f"row {name!r} is there twice")
    ROWS[name] = Row(name, what, target, measure)


def duration(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e6:.2g} µs"


def times(spread: Spread) -> str:
    """A ratio with its quartiles."""
    return f"{spread.median:.3g}× ({spread.low:.3g}–{spread.high:.3g})"


def with_spread(spread: Spread) -> str:
    """A time with half the distance of its quartiles."""
    percent = 50 * (spread.high - spread.low) / spread.median
    return f"{duration(spread.median)} ±{percent:.0f} %"


Pair = tuple[Side, Side]
Maker = Callable[[Settings], Pair]


def faster(name: str, what: str, factor: float, passes: int | None = None) -> Callable[[Maker], None]:
    """A row that passes when PyTorch takes at least ``factor`` times as long. The function makes both sides."""

    def enter(make: Maker) -> None:
        def measure(settings: Settings) -> Outcome:
            c: Comparison = compare(*make(settings), settings, passes)
            return Outcome(with_spread(c.ours), with_spread(c.other), times(c.ratio), c.ratio.median >= factor)

        add_row(name, what, f"PyTorch takes ≥ {factor:g}×", measure)

    return enter


def within(name: str, what: str, factor: float) -> Callable[[Maker], None]:
    """A row that passes when the first side takes at most ``factor`` times as long as our plain path."""

    def enter(make: Maker) -> None:
        def measure(settings: Settings) -> Outcome:
            c = compare(*make(settings), settings)
            inverse = Spread(1 / c.ratio.median, 1 / c.ratio.high, 1 / c.ratio.low)
            return Outcome(with_spread(c.ours), with_spread(c.other), times(inverse), inverse.median <= factor)

        add_row(name, what, f"≤ {factor:g}× our plain path", measure)

    return enter
