"""Loops of a number of steps, for rules that no row of nodes can say."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from paddle.onnx.builder import Builder, Value, graph_proto
from paddle.onnx.shapes import known

Step = Callable[[Value, Sequence[Value]], tuple[Value | None, Sequence[Value]]]


def repeated(g: Builder, most: int | Value, states: Sequence[Value], step: Step) -> tuple[Value, ...]:
    """States after a step has been taken again and again.

    Args:
        g: where the loop is appended.
        most: how many steps are taken at most, a number or a scalar of 64-bit integers.
        states: what the first step begins with. Their types and shapes stay.
        step: of the number of the step and the states, it gives whether there is another step (None: there is) and the
            states after it.

    Returns:
        The states after the last step.
    """
    number, go = Value(g, g.fresh("step"), "int64", ()), Value(g, g.fresh("go"), "bool", ())
    inside = [Value(g, g.fresh("state"), s.dtype, s.shape) for s in states]
    with g.graph([number, go, *inside]) as body:
        again, after = step(number, inside)
        after = [g.cast(y, s.dtype) for y, s in zip(after, states, strict=True)]
        proto = graph_proto(body, g.fresh("body"), [go if again is None else again, *after])
    count = g.constant(most, "int64") if isinstance(most, int) else most
    made = g.node(
        "Loop", count, g.constant(True, "bool"), *states, outputs=len(states), made=states[0].dtype, body=proto
    )
    values = made if isinstance(made, tuple) else (made,)
    return tuple(known(Value(g, v.name, s.dtype), s.shape) for v, s in zip(values, states, strict=True))
