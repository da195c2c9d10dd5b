"""Elements at indices, and choices between elements."""

from __future__ import annotations

from paddle.onnx.builder import Builder, Value
from paddle.onnx.rules.reductions import scanned
from paddle.onnx.shapes import arange, concat, expand, known, reduce, reshape, scalar, shape, size, unsqueeze
from paddle.onnx.table import Call, rule


@rule("gather")
def gather(g: Builder, o: Call) -> Value:
    x, index, (axis,) = o[0], o[1], o.ints(2, "axis", 0)
    if index.rank == 2:
        index = reshape(g, index, [-1])
    return g.node("Gather", x, index, axis=axis % x.rank)


@rule("gather_nd")
def gather_nd(g: Builder, o: Call) -> Value:
    x, index = o[0], g.cast(o[1], "int64")
    if index.shape and index.shape[-1] == 0:
        return expand(g, x, concat(g, [shape(g, index), g.ints([])]) if index.rank > 1 else shape(g, x))
    return g.node("GatherND", x, index)


@rule("index_select")
def index_select(g: Builder, o: Call) -> Value:
    return g.node("Gather", o[0], o[1], axis=o("axis", 0) % o[0].rank)


@rule("index_select_strided")
def index_select_strided(g: Builder, o: Call) -> Value:
    return g.node("Gather", o[0], g.constant(o("index"), "int64"), axis=o("axis", 0) % o[0].rank)


@rule("index_sample")
def index_sample(g: Builder, o: Call) -> Value:
    return g.node("GatherElements", o[0], o[1], axis=1)


@rule("take_along_axis")
def take_along_axis(g: Builder, o: Call) -> Value:
    return g.node("GatherElements", o[0], o[1], axis=o("axis", 0) % o[0].rank)


@rule("embedding", "sparse_weight_embedding")
def embedding(g: Builder, o: Call) -> Value:
    ids, table, padding = o[0], o[1], o("padding_idx", -1)
    y = g.node("Gather", table, ids, axis=0)
    if padding == -1:
        return y
    if padding < 0:
        padding += table.shape[0]
    return g.node("Where", unsqueeze(g, g.node("Equal", ids, padding), [-1]), g.constant(0, table.dtype), y)


@rule("one_hot")
def one_hot(g: Builder, o: Call) -> Value:
    depth = o[1] if o[1] is not None else g.constant(o("num_classes", o("depth")), "int64")
    dtype = "float32"
    y = g.node(
        "OneHot", g.cast(o[0], "int64"), reshape(g, g.cast(depth, "int64"), [1]), g.constant([0, 1], dtype), axis=-1
    )
    return Value(g, y.name, dtype)


@rule("masked_select")
def masked_select(g: Builder, o: Call) -> Value:
    x, mask = o[0], o[1]
    if x.shape != mask.shape or (x.shape and -1 in x.shape):
        together = shape(g, g.node("Where", mask, x, x))
        x, mask = expand(g, x, together), expand(g, mask, together)
    return known(g.node("Compress", reshape(g, x, [-1]), reshape(g, mask, [-1]), axis=0), [-1])


@rule("masked_fill")
def masked_fill(g: Builder, o: Call) -> Value:
    return g.node("Where", o[1], g.cast(o[2], o[0].dtype), o[0])


@rule("where")
def where(g: Builder, o: Call) -> Value:
    return g.node("Where", g.cast(o[0], "bool"), o[1], o[2])


@rule("multiplex")
def multiplex(g: Builder, o: Call) -> Value:
    xs, index = o[0], reshape(g, g.cast(o[1], "int64"), [-1, 1])
    rows = unsqueeze(g, arange(g, scalar(g, size(g, xs[0], 0))), [1])
    together = concat(g, [unsqueeze(g, x, [0]) for x in xs])
    return g.node("GatherND", together, g.node("Concat", index, rows, axis=1))


@rule("sequence_mask")
def sequence_mask(g: Builder, o: Call) -> Value:
    x = o[0]
    most = o.number(1, "max_len", o("maxlen", -1))
    if not isinstance(most, Value) and most < 0:
        most = reduce(g, "Max", x, None)
    end = scalar(g, g.cast(most, "int64")) if isinstance(most, Value) else g.constant(most, "int64")
    line = g.cast(arange(g, end), x.dtype)
    return g.cast(line < unsqueeze(g, x, [-1]), o("out_dtype", "int64"))


@rule("shard_index")
def shard_index(g: Builder, o: Call) -> Value:
    x = o[0]
    part = -(-o("index_num") // o("nshards"))
    here = g.node("Equal", x / part, o("shard_id"))
    return g.node("Where", here, g.node("Mod", x, part), o("ignore_value", -1))


@rule("gather_tree")
def gather_tree(g: Builder, o: Call) -> Value:
    ids, parents = o[0], o[1]
    # From the last step back: each beam's parent says where its sequence was one step before.
    last = g.cast(arange(g, scalar(g, size(g, ids, 2))), ids.dtype)
    start = expand(g, last, concat(g, [size(g, ids, 1), size(g, ids, 2)]))
    inputs = [Value(g, g.fresh("state"), ids.dtype, (-1, -1)) for _ in range(3)]
    with g.graph(inputs) as body:
        beam, step, parent = inputs
        given = g.node("GatherElements", step, beam, axis=1)
        onward = g.node("GatherElements", parent, beam, axis=1)
    return scanned(g, body, [start], [ids, parents], [onward], [given], 0, reverse=True)[-1]
