"""A line search for the strong Wolfe conditions.

It brackets an interval that holds an acceptable step and shrinks it by cubic interpolation (Nocedal
and Wright, Numerical Optimization, algorithms 3.5 and 3.6; safeguards as in Schmidt's minFunc).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

SUFFICIENT = 1e-4  # c1: how much of the descent that the slope promises there has to be
CURVATURE = 0.9  # c2: how much of the slope may be left


@dataclass(frozen=True)
class Point:
    """A step along the direction: its length, the loss there, the gradient (flat) and its part along the direction."""

    step: float
    loss: float
    grad: Any
    slope: float


def cubic_minimum(a: Point, b: Point, low: float, high: float) -> float:
    """Return the minimizer, within bounds, of the cubic with the losses and derivatives of two points.

    The middle of the bounds where there is no such place.
    """
    left, right = (a, b) if a.step <= b.step else (b, a)
    bend = left.slope + right.slope - 3.0 * (left.loss - right.loss) / (left.step - right.step)
    inside = bend * bend - left.slope * right.slope
    if not inside >= 0.0:
        return (low + high) / 2.0
    root = math.sqrt(inside)
    at = right.step - (right.step - left.step) * ((right.slope + root - bend) / (right.slope - left.slope + 2.0 * root))
    return min(max(at, low), high)


def strong_wolfe(
    probe: Callable[[float], Point],
    start: Point,
    step: float,
    reach: float,
    tolerance: float = 1e-9,
    most: int = 25,
) -> tuple[Point, int]:
    """An acceptable step and how many points were probed.

    Args:
        probe: the point at a step.
        start: the point at step 0; its slope is negative.
        step: tried first.
        reach: the largest element of the direction; intervals where nothing moves more than ``tolerance`` are not
            shrunk further.
        most: probes after the first.
    """

    def too_high(p: Point) -> bool:
        return p.loss > start.loss + SUFFICIENT * p.step * start.slope

    def flat(p: Point) -> bool:
        return abs(p.slope) <= -CURVATURE * start.slope

    before, here, probes = start, probe(step), 1
    ends: list[Point] | None = None
    for i in range(most):
        if too_high(here) or (i > 1 and here.loss >= before.loss):
            ends = [before, here]
        elif flat(here):
            return here, probes
        elif here.slope >= 0:
            ends = [before, here]
        if ends is not None:
            break
        low, high = here.step + 0.01 * (here.step - before.step), here.step * 10.0
        after = probe(cubic_minimum(before, here, low, high))
        before, here, probes = here, after, probes + 1
    else:
        ends = [start, here]

    # `ends[best]` has the lower loss.
    best, stuck = (0 if ends[0].loss <= ends[1].loss else 1), False
    while probes <= most and abs(ends[1].step - ends[0].step) * reach >= tolerance:
        low, high = sorted((ends[0].step, ends[1].step))
        at = cubic_minimum(ends[0], ends[1], low, high)
        margin = 0.1 * (high - low)
        if min(high - at, at - low) < margin:
            # Close to an end twice in a row: move away from it, or the interval hardly shrinks.
            if stuck or at >= high or at <= low:
                at = high - margin if abs(at - high) < abs(at - low) else low + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        new, probes = probe(at), probes + 1
        if too_high(new) or new.loss >= ends[best].loss:
            ends[1 - best] = new
            best = 0 if ends[0].loss <= ends[1].loss else 1
            continue
        done = flat(new)
        if not done and new.slope * (ends[1 - best].step - ends[best].step) >= 0:
            ends[1 - best] = ends[best]
        ends[best] = new
        if done:
            break
    return ends[best], probes
