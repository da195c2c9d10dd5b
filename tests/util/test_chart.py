"""Charts: round numbers at the axes, a path for each curve, gaps where there is no number."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET

import pytest

from umiak.util.chart import COLOURS, HEIGHT, LEFT, TOP, WIDTH, chart, ticks

NAMESPACE = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0, 10, [0, 2, 4, 6, 8, 10]), (1.9, 5.6, [1, 2, 3, 4, 5, 6]), (-0.1, 0.11, [-0.1, -0.05, 0, 0.05, 0.1, 0.15])],
)
def test_ticks_are_round_and_enclose(low, high, expected):
    assert ticks(low, high) == pytest.approx(expected)


def test_ticks_of_one_number():
    assert ticks(3.0, 3.0)[0] <= 3.0 <= ticks(3.0, 3.0)[-1]


def test_curves_lie_where_their_numbers_are():
    curve = [(0, 0.0), (5, 10.0), (6, math.nan), (8, 5.0), (10, 0.0)]
    root = ET.fromstring(chart({"a & b": [curve], "other": [[(0, 10.0), (10, 10.0)]]}, "steps", "loss"))
    first, second = (
        [p.get("d") for p in root.iter(f"{NAMESPACE}path") if p.get("stroke") == c and " h" not in p.get("d")]
        for c in COLOURS[:2]
    )
    bottom, right = TOP + HEIGHT, LEFT + WIDTH
    middle, gap = LEFT + WIDTH / 2, LEFT + 0.8 * WIDTH
    assert first == [
        f"M{LEFT:.1f} {bottom:.1f} L{middle:.1f} {TOP:.1f} M{gap:.1f} {TOP + HEIGHT / 2:.1f} L{right:.1f} {bottom:.1f}"
    ]
    assert second == [f"M{LEFT:.1f} {TOP:.1f} L{right:.1f} {TOP:.1f}"]
    assert {"a & b", "other", "steps", "loss", "10"} <= {t.text for t in root.iter(f"{NAMESPACE}text")}
