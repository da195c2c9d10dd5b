"""Requirements of a model as nodes that fail: ONNX has no assertions.

A vector of one zero goes through a ``Reshape`` for each condition. Its size is 0, which stands for the size that is
there, while the condition holds; otherwise it is -2, which no ``Reshape`` takes. The node has the condition in its
name, which runtimes show in their error. Results read the zero, so no pass takes these nodes away.
"""

from __future__ import annotations

from paddle.onnx.builder import Builder, Value
from paddle.onnx.shapes import concat, known, reshape, shape, slices


def require(g: Builder, flag: Value, text: str) -> None:
    """Let the innermost graph fail where a flag is false."""
    if flag.constant is not None and flag.constant.all():
        return
    if flag.constant is not None:  # refused with the model if it were a constant there: only random numbers are none
        size = g.cast(known(g.node("RandomUniform", shape=[1], low=-2.0, high=-2.0, made="float32"), [1]), "int64")
    else:
        size = reshape(g, (g.cast(g.cast(flag, "bool"), "int64") - 1) * 2, [1])
    graph = g.graphs[-1]
    zero = g.ints([0]) if graph.zero is None else graph.zero
    graph.zero = known(g.node("Reshape", zero, size), [1])
    graph.nodes[-1].name += f": {text}"


def require_all_of(g: Builder, zero: Value) -> None:
    """Let the innermost graph fail where an inner one does that gives its zero."""
    graph = g.graphs[-1]
    graph.zero = known(zero if graph.zero is None else graph.zero + zero, [1])


def behind(g: Builder, y: Value) -> Value:
    """The value, which is not given unless all holds that the innermost graph requires."""
    zero = g.graphs[-1].zero
    if zero is None:
        return y
    sizes = slices(g, concat(g, [shape(g, y), zero]), [0], [0], zero - 1)
    return known(g.node("Reshape", y, sizes), y.shape)
