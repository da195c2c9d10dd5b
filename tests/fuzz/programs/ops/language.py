"""Attention of language models: masks by columns and dense ones, capped scores, sequences behind one another."""

from __future__ import annotations

from tests.fuzz.programs.draw import Draw, Proposal, Refused
from tests.fuzz.programs.ops.arguments import Arguments, fixed, heads_of, split
from tests.fuzz.programs.ops.family import Family

family = Family()
op = family.op

SOFTCAPS = (0.0, 0.5, 1.5, 4.0)


def _queries(d: Draw, alike: bool = False) -> tuple[Arguments, int, int | str, int | str, int]:
    """Queries, keys and values; batch, rows of queries and of keys, and key heads."""
    q = heads_of(d)
    a = Arguments(d, q)
    batch, rows, (_, _, heads, dim) = d.size(q, 0), d.size(q, 1), d.shape(q)
    key_heads = split(d, heads)
    keys = rows if alike or d.chance(0.6) else d.choose((1, 3, 5, "n"))
    for _ in range(2):
        a.put(d.beside(q, lambda y: False, [batch, keys, key_heads, dim]))
    return a, batch, rows, keys, key_heads


def column_masks(d: Draw) -> Proposal:
    a, batch, rows, keys, key_heads = _queries(d)
    heads = d.shape(a.operands[0])[2]
    causal = d.chance(0.5)
    mask_heads = d.choose((1, key_heads, heads))
    columns = d.choose((1, 2) if causal else (2, 4))
    a.input([d.choose((1, batch)) if batch == 1 else batch, mask_heads, keys, columns], "int32", fill="index:7")
    a.say(causal=causal)
    if d.chance(0.3):
        a.say(softmax_scale=0.4)
    if rows not in ("n", 0) and keys not in ("n", 0) and d.chance(0.2):
        a.give("block_mask", [batch, mask_heads, 1, 1], dtype="int32", fill="index:2")
    return a.proposal()


op(
    "columns_attention",
    "models.columns_attention({0}, {1}, {2}, {3}, {more})",
    "L.columns_attention({0}, {1}, {2}, {3}, {more})",
    column_masks,
    dtype=lambda q, *others: q,
    weight=1.5,
)


def capped(d: Draw) -> Proposal:
    """With columns, or a mask of bools for each batch and head or for all."""
    a, batch, rows, keys, key_heads = _queries(d)
    heads = d.shape(a.operands[0])[2]
    causal, kind = d.chance(0.5), d.choose(("none", "bool", "columns"))
    given = {"mask": "None", "columns": "None"}
    if kind == "bool":
        shape = [d.choose((1, batch)), d.choose((1, heads)), rows, keys]
        given["mask"] = a.input(shape, "bool", fill="bool")
    elif kind == "columns":
        columns = d.choose((1, 2) if causal else (2, 4))
        shape = [batch, d.choose((1, key_heads, heads)), keys, columns]
        given["columns"] = a.input(shape, "int32", fill="index:7")
    a.say(causal=causal, softcap=d.choose(SOFTCAPS[1:]))
    if d.chance(0.3):
        a.say(scale=0.4)
    mask = given["columns"] if kind == "columns" else given["mask"]
    seen = f"L.seen_in_columns({mask}, {causal}, {{0}}.shape[1])" if kind == "columns" else mask
    return a.proposal(mask=mask, seen=seen)


op(
    "capped_attention",
    "models.capped_attention({0}, {1}, {2}, {mask}, {more})",
    "L.capped_attention({0}, {1}, {2}, {seen}, {more})",
    capped,
    dtype=lambda q, *others: q,
    weight=2,
)


def masked(d: Draw) -> Proposal:
    """A mask of bools or of numbers, which may have a gradient."""
    a, batch, rows, keys, key_heads = _queries(d)
    heads = d.shape(a.operands[0])[2]
    shape = [d.choose((1, batch)), d.choose((1, heads)), rows, keys]
    if d.chance(0.5):
        mask = a.input(shape, "bool", fill="bool")
        return a.proposal(seen=mask, added="None", mask=mask, g=heads // key_heads)
    mask = a.input(shape)
    return a.proposal(seen="None", added=mask, mask=mask, g=heads // key_heads)


_REPEATED = "{1}.repeat_interleave({g}, 2), {2}.repeat_interleave({g}, 2)"
op(
    "dense_mask_attention",
    f"F.scaled_dot_product_attention({{0}}, {_REPEATED}, attn_mask={{mask}})",
    "L.attend({0}, {1}, {2}, {seen}, {added})[0]",
    masked,
    dtype=lambda q, *others: q,
)


def packed(d: Draw) -> Proposal:
    """Two or three sequences behind one another, with as many keys or others, of which some rows may not count."""
    found = [x for x in d.names() if len(d.shape(x)) == 3 and fixed(d, x, 0, 1, 2) and 0 not in d.shape(x)]
    found = [x for x in found if d.shape(x)[0] < 10 and d.shape(x)[1] < 5]
    q = d.choose(found) if found and d.chance(0.6) else d.input([d.integer(2, 7), d.choose((1, 2, 4)), 2])
    a = Arguments(d, q)
    total, heads, dim = d.shape(q)
    alike = d.chance(0.4)
    ends = [0, *sorted(d.integer(0, total) for _ in range(d.integer(1, 2))), total]
    keys = total if alike else d.integer(1, 8)
    key_ends = ends if alike else [0, *sorted(d.integer(0, keys) for _ in ends[1:-1]), keys]
    for _ in range(2):
        a.put(d.input([keys, split(d, heads) if len(a.operands) == 1 else d.shape(a.operands[1])[1], dim], a.dtype))
    window = d.choose(((-1, -1), (1, 0), (2, 1), (0, -1), (-1, 1)))
    a.say(causal=d.chance(0.5), window=window, softcap=d.choose(SOFTCAPS))
    for name, bounds in (("used", ends), ("key_used", key_ends)):
        if d.chance(0.25):
            a.say(**{name: [d.integer(0, e - s) for s, e in zip(bounds, bounds[1:])]})
    if d.chance(0.3):
        a.say(scale=0.4)
    return a.proposal(ends=ends, key_ends="ends" if alike else key_ends)


op(
    "packed_sequences",
    "(lambda ends: models.packed_attention({0}, {1}, {2}, ends, {key_ends}, {more}))({ends})",
    "(lambda ends: L.packed_attention({0}, {1}, {2}, ends, {key_ends}, {more}))({ends})",
    packed,
    weight=1.5,
)


def alike(d: Draw) -> Proposal:
    a, *_ = _queries(d, alike=True)
    a.say(causal=d.chance(0.5))
    return a.proposal()


op(
    "packed_qkv",
    "models.packed_qkv({0}, {1}, {2}, {more})",
    "L.attend({0}, {1}, {2}, {more})[0]",
    alike,
    weight=0.7,
)


def padded(d: Draw) -> Proposal:
    """``[batch, heads, rows, dim]``, of which the first rows count."""
    a, batch, rows, keys, _ = _queries(d)
    if not isinstance(batch, int) or not isinstance(rows, int) or not isinstance(keys, int):
        raise Refused
    prefix = d.integer(0, keys) if d.chance(0.3) else 0
    lengths = [[d.integer(0, n) for _ in range(batch)] for n in (rows, keys - prefix)]
    a.say(causal=d.chance(0.5), pre_cache_length=prefix)
    if d.chance(0.3):
        a.say(scale=0.4)
    a.give("mask", [d.choose((1, batch)), d.choose((1, d.shape(a.operands[0])[2])), rows, keys], 0.4, grad=False)
    return a.proposal(lengths=lengths[0], key_lengths=lengths[1])


_ROWS = ", ".join(f"{{{i}}}.transpose([0, 2, 1, 3])" for i in range(3))
_JUDGED = ", ".join(f"{{{i}}}.transpose(1, 2)" for i in range(3))
op(
    "padded_sequences",
    f"paddle.incubate.nn.functional.variable_length_memory_efficient_attention({_ROWS}, "
    "paddle.to_tensor({lengths}, dtype='int32'), paddle.to_tensor({key_lengths}, dtype='int32'), {more})",
    f"L.padded_attention({_JUDGED}, {{lengths}}, {{key_lengths}}, {{more}})",
    padded,
    dtype=lambda q, *others: q,
    weight=0.8,
)


def scored(d: Draw) -> Proposal:
    a, _, rows, keys, _ = _queries(d)
    if 0 in (rows, keys):
        raise Refused
    return Proposal(tuple(a.operands[:2]), {})


op(
    "reduced_scores",
    "models.reduced_scores({0}, {1})",
    "L.reduced_scores({0}, {1})",
    scored,
    dtype=lambda *given: "float64" if given[0] == "float64" else "float32",
    weight=0.4,
    tags="cut",
)


# Sizes from which float32 is multiplied in tile registers where a switch says so, and some beside them.
LONG = ((137, 2, 64), (256, 1, 64), (130, 1, 128), (97, 1, 40))


def long(d: Draw) -> Proposal:
    """Inputs of many rows, of which a few of the result are kept."""
    x = d.pick(lambda x: d.dtypes[x] in ("float32", "bfloat16"))
    a = Arguments(d, x)
    rows, heads, dim = d.choose(LONG)
    for h in (heads, 1, 1):
        a.input([1, rows, h, dim])
    causal = d.chance(0.5)
    kind, seen = d.choose(("none", "columns")), "None"
    if kind == "columns":
        mask = a.input([1, 1, rows, 2], "int32", fill=f"index:{rows + 20}")
        seen = f"L.seen_in_columns({mask}, {causal}, {rows})"
    a.say(causal=causal, softcap=d.choose((0.0, 0.0, 2.0)))
    return a.proposal(mask="None" if kind == "none" else mask, seen=seen, step=rows // 3, columns=dim // 2)


_MOVED = "{1} * (1 + 0.1 * {lib}.tanh({0}.sum()))"
op(
    "long_attention",
    f"models.capped_attention({_MOVED.replace('{lib}', 'paddle')}, {{2}}, {{3}}, {{mask}}, {{more}})"
    "[:, ::{step}, :, ::{columns}]",
    f"L.capped_attention({_MOVED.replace('{lib}', 'torch')}, {{2}}, {{3}}, {{seen}}, {{more}})"
    "[:, ::{step}, :, ::{columns}]",
    long,
    dtype=lambda x, *others: x,
    weight=0.4,
)


def long_product(d: Draw) -> Proposal:
    x = d.pick(lambda x: d.dtypes[x] in ("float32", "bfloat16"))
    a = Arguments(d, x)
    rows, terms, columns = d.choose(((64, 192, 96), (130, 70, 130), (192, 192, 192)))
    a.input([rows, terms])
    transposed = d.chance(0.5)
    y = a.input([columns, terms] if transposed else [terms, columns])
    return a.proposal(y=f"{y}.mT" if transposed else y, rows=rows // 3, columns=columns // 3)


op(
    "long_product",
    f"paddle.matmul({_MOVED.replace('{lib}', 'paddle')} * 0.2, {{y}})[::{{rows}}, ::{{columns}}]",
    f"torch.matmul({_MOVED.replace('{lib}', 'torch')} * 0.2, {{y}})[::{{rows}}, ::{{columns}}]",
    long_product,
    dtype=lambda x, *others: x,
    weight=0.3,
)


def listed(d: Draw) -> Proposal:
    """Values ``[batch, heads, rows, dim]`` and the keys that are listed for each row, some of them twice, for some rows
    none; known, or data of the program."""
    found = [x for x in d.names() if len(d.shape(x)) == 4 and fixed(d, x, 0, 1, 2) and 0 not in d.shape(x)]
    found = [x for x in found if d.dtypes[x] in ("float32", "float64")]
    if not found and d.floating not in ("float32", "float64"):
        raise Refused
    q = d.choose(found) if found and d.chance(0.6) else d.input([1, d.choose((1, 2)), 3, d.choose((2, 4))])
    batch, heads, rows, _ = d.shape(q)
    if batch * heads * rows > 24:
        raise Refused
    keys = [
        [[d.integer(0, rows - 1) for _ in range(d.integer(0, 3))] for _ in range(rows)] for _ in range(batch * heads)
    ]
    most = max(1, *(sum(map(len, head)) for head in keys))
    offsets = [[sum(map(len, head[:i])) for i in range(rows + 1)] for head in keys]
    columns = [[k for row in head for k in row] for head in keys]
    columns = [c + [0] * (most - len(c)) for c in columns]
    counts = [[[row.count(j) for j in range(rows)] for row in head] for head in keys]
    unknown = " + ({0}.detach().sum() * 0).astype('int32')" if d.chance(0.5) else ""
    attributes = {
        name: f"paddle.to_tensor({x}, 'int32').reshape([{batch}, {heads}, -1]){unknown}"
        for name, x in (("offsets", offsets), ("columns", columns))
    }
    attributes["counts"] = f"torch.tensor({counts}).reshape([{batch}, {heads}, {rows}, {rows}])"
    return Proposal((q, d.like(q), d.like(q)), attributes)


op(
    "listed_attention",
    "F.sparse_attention({0}, {1}, {2}, {offsets}, {columns})",
    "L.attend(*(x.transpose(1, 2) for x in ({0}, {1}, {2})), seen=({counts} > 0), "
    "added=torch.log({counts}.clamp(min=1).double()))[0].transpose(1, 2)",
    listed,
    dtype=lambda q, *others: q,
    weight=0.6,
)
