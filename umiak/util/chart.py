"""Curves over an axis of numbers, as SVG text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from umiak.util.svg import Canvas, Look, text_width

COLOURS = ("#3d6fb4", "#5aa277", "#e39b3f", "#b4574d", "#8a6bb1", "#4aa7b5", "#c77fa5", "#8d8d54")
WIDTH, HEIGHT = 560, 300  # pixels of the plane
LEFT, TOP = 56, 40
GRID = Look(stroke="#dfe3e8", width=1)
TICKS = 6  # along an axis, about

Curve = Sequence[tuple[float, float]]


def chart(series: Mapping[str, Sequence[Curve]], x_name: str, y_name: str) -> str:
    """Return a picture of curves; those of a series have its colour.

    Args:
        series: by name, in the order of colours, curves of points (x, y); numbers that are not finite end a line.
        x_name, y_name: what the axes count.
    """
    points = [p for curves in series.values() for curve in curves for p in curve if math.isfinite(p[1])]
    (left, right), (low, high) = ((min(values), max(values)) for values in zip(*points, strict=True))
    x_ticks, y_ticks = ticks(left, right), ticks(low, high)
    left, right = min(left, x_ticks[0]), max(right, x_ticks[-1])
    low, high = min(low, y_ticks[0]), max(high, y_ticks[-1])

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            LEFT + WIDTH * (x - left) / ((right - left) or 1.0),
            TOP + HEIGHT * (high - y) / ((high - low) or 1.0),
        )

    canvas = Canvas()
    for y in y_ticks:
        at = place(left, y)[1]
        canvas.path(f"M{LEFT} {at:.1f} H{LEFT + WIDTH}", GRID)
        canvas.text(LEFT - 8 - text_width(f"{y:g}"), at + 4, f"{y:g}")
    for x in x_ticks:
        at = place(x, low)[0]
        canvas.path(f"M{at:.1f} {TOP} V{TOP + HEIGHT}", GRID)
        canvas.text(at - text_width(f"{x:g}") / 2, TOP + HEIGHT + 18, f"{x:g}")
    canvas.text(LEFT, TOP - 24, y_name)
    canvas.text(LEFT + WIDTH - text_width(x_name), TOP + HEIGHT + 36, x_name)
    for n, (name, curves) in enumerate(series.items()):
        look = Look(stroke=COLOURS[n % len(COLOURS)], fill="none", width=1.3)
        for curve in curves:
            canvas.path(_line([place(x, y) if math.isfinite(y) else None for x, y in curve]), look)
        x = LEFT + n * WIDTH / max(len(series), 1)
        canvas.path(f"M{x:.1f} {TOP - 10} h18", Look(stroke=look.stroke, width=3))
        canvas.text(x + 24, TOP - 6, name)
    return canvas.render()


def ticks(low: float, high: float) -> list[float]:
    """Return round numbers around and between two: 1, 2 or 5 times a power of ten apart."""
    span = (high - low) or 1.0
    size = 10.0 ** math.floor(math.log10(span / TICKS))
    step = next(m * size for m in (1, 2, 5, 10) if span / (m * size) <= TICKS)
    first = math.floor(low / step + 1e-9)
    return [round(i * step, 12) for i in range(first, math.ceil(high / step - 1e-9) + 1)]


def _line(points: Sequence[tuple[float, float] | None]) -> str:
    """A path through points; None is a gap."""
    parts, pen = [], "M"
    for point in points:
        if point is None:
            pen = "M"
            continue
        parts.append(f"{pen}{point[0]:.1f} {point[1]:.1f}")
        pen = "L"
    return " ".join(parts)
