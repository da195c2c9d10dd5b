"""Best paths through tags."""

from __future__ import annotations

from paddle.onnx.builder import Builder, Unsayable, Value
from paddle.onnx.rules.reductions import scanned
from paddle.onnx.shapes import (
    INT64,
    arange,
    expand,
    known,
    mixed,
    reduce,
    scalar,
    sizes_of,
    slices,
    squeeze,
    transpose,
    unsqueeze,
)
from paddle.onnx.table import Call, rule


@rule("viterbi_decode")
def viterbi_decode(g: Builder, o: Call) -> tuple[Value, Value]:
    """Scores of the best paths, and their tags, zeros behind their ends."""
    potentials, transitions, lengths = o[0], o[1], g.cast(o[2], "int64")
    batch, _, tags = sizes_of(g, potentials)
    if not isinstance(tags, int):
        raise Unsayable("a known number of tags in viterbi_decode")
    first = squeeze(g, known(slices(g, potentials, [1], [0], [1]), [-1, 1, tags]), [1])
    if o("include_bos_eos_tag", True):
        first = first + slices(g, transitions, [0], [-1], [INT64.max])
    longest = reduce(g, "Max", lengths, [0], True)
    steps_first = transpose(g, known(slices(g, potentials, [1], g.ints([0]), longest), [-1, -1, tags]), [1, 0, 2])
    steps = unsqueeze(g, arange(g, scalar(g, longest)), [1])
    going = g.node("Less", steps, unsqueeze(g, lengths, [0])) & (steps > 0)  # [steps, batch]; the first is behind us
    inputs = [
        Value(g, g.fresh("state"), first.dtype, (-1, tags)), Value(g, g.fresh("state"), first.dtype, (-1, tags)),
        Value(g, g.fresh("state"), "bool", (-1,)),
    ]  # fmt: skip
    stay = expand(g, arange(g, g.constant(tags, "int64")), mixed(g, [batch, tags]))
    with g.graph(inputs) as body:
        score, added, on = inputs
        into = known(unsqueeze(g, score, [2]) + unsqueeze(g, transitions, [0]), [-1, tags, tags])
        source = known(g.node("ArgMax", into, axis=1, keepdims=0), [-1, tags])
        onward = reduce(g, "Max", into, [1]) + added
        column = unsqueeze(g, on, [1])
        score = g.node("Where", column, onward, score)
        source = g.node("Where", column, source, stay)
    score, sources = scanned(g, body, [first], [steps_first, going], [score], [source], 0)
    score = known(score, [-1, tags])
    if o("include_bos_eos_tag", True):
        over = unsqueeze(g, g.node("Greater", lengths, 0), [1])
        score = g.node("Where", over, score + slices(g, transitions, [0], [-2], [-1]), score)
    best = reduce(g, "Max", score, [1])
    last = known(g.node("ArgMax", score, axis=1, keepdims=1), [-1, 1])
    inputs = [Value(g, g.fresh("state"), "int64", (-1, 1)), Value(g, g.fresh("state"), "int64", (-1, tags))]
    with g.graph(inputs) as body:
        at, source = inputs
        before, given = g.node("GatherElements", source, at, axis=1), g.node("Identity", at)
    _, path = scanned(g, body, [last], [known(sources, [-1, -1, tags])], [before], [given], 0, reverse=True)
    path = transpose(g, squeeze(g, known(path, [-1, -1, 1]), [2]), [1, 0])
    places = unsqueeze(g, arange(g, scalar(g, longest)), [0])
    inside = g.node("Less", places, unsqueeze(g, lengths, [1]))
    return best, known(g.node("Where", inside, path, 0), [-1, -1])
