"""Products, layers, windows."""

from __future__ import annotations

from collections.abc import Callable

from tests.fuzz.programs.draw import Draw, Proposal, Refused
from tests.fuzz.programs.ops.family import Family

family = Family()
op = family.op


def product(d: Draw) -> Proposal:
    x = d.rank(1, 2, 3)
    inner = d.size(x, -1)

    def fits(y: str) -> bool:
        shape = d.shape(y)
        at = -2 if len(shape) > 1 else -1
        return 0 < len(shape) < 4 and all(v[y].shape[at] == v[x].shape[-1] for v in d.values)

    shape = [inner] if d.chance(0.2) else [inner, d.integer(1, 4)]
    return Proposal((x, d.beside(x, fits, shape)), {})


def vectors(d: Draw) -> Proposal:
    x = d.rank(1)
    return Proposal((x, d.like(x)), {})


def any_vectors(d: Draw) -> Proposal:
    x = d.rank(1)
    return Proposal((x, d.beside(x, lambda y: len(d.shape(y)) == 1, [2])), {})


def square_of(*ranks: int) -> Callable[[Draw], Proposal]:
    def propose(d: Draw) -> Proposal:
        x = d.pick(lambda x: len(d.shape(x)) in ranks and all(v[x].shape[-1] == v[x].shape[-2] for v in d.values))
        return Proposal((x, d.like(x), d.like(x)), {"b": d.number()})

    return propose


op("matmul", "paddle.matmul({0}, {1})", "torch.matmul({0}, {1})", product, weight=1.5, refused=True)
op("at", "{0} @ {1}", "{0} @ {1}", product, weight=0.5, refused=True)
op(
    "gram",
    "paddle.matmul({0}, {0}, transpose_y=True)",
    "{0} @ {0}.mT",
    lambda d: Proposal((d.rank(2, 3),), {}),
    weight=0.6,
)
op("dot", "paddle.dot({0}, {1})", "torch.dot({0}, {1})", vectors, weight=0.7)
op("outer", "paddle.outer({0}, {1})", "torch.outer({0}, {1})", any_vectors, weight=0.5)
op(
    "inner",
    "paddle.inner({0}, {1})",
    "torch.inner({0}, {1})",
    lambda d: Proposal((x := d.rank(1, 2), d.like(x)), {}),
    weight=0.4,
)
op(
    "kron",
    "paddle.kron({0}, {1})",
    "torch.kron({0}, {1})",
    lambda d: Proposal((x := d.rank(1, 2), d.like(x)), {}),
    weight=0.3,
)
op("bmm", "paddle.bmm({0}, {1})", "torch.bmm({0}, {1})", square_of(3), weight=0.4, dtype=lambda *d: d[0])
op("mm", "paddle.mm({0}, {1})", "torch.mm({0}, {1})", square_of(2), weight=0.3)
op(
    "addmm",
    "paddle.addmm({0}, {1}, {2}, beta={b}, alpha=0.5)",
    "torch.addmm({0}, {1}, {2}, beta={b}, alpha=0.5)",
    square_of(2),
    weight=0.6,
)
op(
    "baddbmm",
    "paddle.baddbmm({0}, {1}, {2}, beta={b})",
    "torch.baddbmm({0}, {1}, {2}, beta={b})",
    square_of(3),
    weight=0.3,
)
EINSUMS = {
    2: ("ij,ij->i", "ij,kj->ik", "ij,ij->", "ij,ij->ji"),
    3: ("bij,bij->bi", "bij,bkj->bik"),
    1: ("i,i->", "i,j->ij"),
}
op(
    "einsum",
    "paddle.einsum('{eq}', {0}, {1})",
    "torch.einsum('{eq}', {0}, {1})",
    lambda d: Proposal((x := d.rank(1, 2, 3), d.like(x)), {"eq": d.choose(EINSUMS[len(d.shape(x))])}),
    weight=0.8,
)
op(
    "tensordot",
    "paddle.tensordot({0}, {1}, [[0], [0]])",
    "torch.tensordot({0}, {1}, ([0], [0]))",
    lambda d: Proposal((x := d.rank(1, 2), d.like(x)), {}),
    weight=0.3,
)
op(
    "vecdot",
    "paddle.linalg.vecdot({0}, {1})",
    "torch.linalg.vecdot({0}, {1})",
    lambda d: Proposal((x := d.rank(1, 2, 3), d.like(x)), {}),
    weight=0.2,
)


def layer(d: Draw) -> Proposal:
    x = d.pick(lambda x: len(d.shape(x)) in (2, 3) and not d.varying(x, -1) and d.shape(x)[-1] > 0)
    n, m = d.shape(x)[-1], d.integer(1, 4)
    return Proposal((x, d.input([n, m], dtype=d.dtypes[x]), d.input([m], dtype=d.dtypes[x])), {})


op("linear", "F.linear({0}, {1}, {2})", "{0} @ {1} + {2}", layer, weight=1.2)


def low_bit_layer(d: Draw) -> Proposal:
    x = d.pick(
        lambda x: len(d.shape(x)) in (2, 3) and not d.varying(x, -1) and d.shape(x)[-1] > 0 and d.dtypes[x] == "float32"
    )
    rows, n = d.integer(1, 3), d.shape(x)[-1]
    weight = d.input([rows, n], dtype="int32")
    return Proposal((x, weight, d.input([rows], dtype="float32"), d.input([2 * rows], dtype="float32")), {})


# Of 4 bits a byte holds two outputs, the even one in its low half.
_HALVES = "torch.stack([({1}.int() & 15 ^ 8) - 8, {1}.int() >> 4], 1).reshape(-1, {1}.shape[1])"
op(
    "int8_linear",
    "paddle.nn.quant.weight_only_linear({0}, {1}.astype('int8'), None, {2})",
    "{0} @ ({1} * {2}[:, None]).mT",
    low_bit_layer,
    weight=0.3,
)
op(
    "int4_linear",
    "paddle.nn.quant.weight_only_linear({0}, {1}.astype('int8'), None, {3}, 'int4')",
    f"{{0}} @ ({_HALVES} * {{3}}[:, None]).mT",
    low_bit_layer,
    weight=0.3,
)


def convolution(n: int) -> Callable[[Draw], Proposal]:
    def propose(d: Draw) -> Proposal:
        x = d.pick(lambda x: len(d.shape(x)) == n + 2 and not any(d.varying(x, a) for a in range(1, n + 2)))
        c = d.shape(x)[1]
        if not c or min(d.shape(x)[2:]) < 2:
            raise Refused
        w = d.input([d.integer(1, 3), c, *[2] * n], dtype=d.dtypes[x])
        return Proposal((x, w), {"stride": d.integer(1, 2), "pad": d.integer(0, 1)})

    return propose


op(
    "conv1d",
    "F.conv1d({0}, {1}, None, {stride}, {pad})",
    "F.conv1d({0}, {1}, None, {stride}, {pad})",
    convolution(1),
    weight=0.5,
)
op(
    "conv2d",
    "F.conv2d({0}, {1}, None, {stride}, {pad})",
    "F.conv2d({0}, {1}, None, {stride}, {pad})",
    convolution(2),
    weight=0.5,
)
op("avg_pool1d", "F.avg_pool1d({0}, 2, 1)", "F.avg_pool1d({0}, 2, 1)", lambda d: Proposal((d.rank(3),), {}), weight=0.2)
op("max_pool2d", "F.max_pool2d({0}, 2, 1)", "F.max_pool2d({0}, 2, 1)", lambda d: Proposal((d.rank(4),), {}), weight=0.3)


def sequences(d: Draw) -> Proposal:
    """Three values ``[batch, tokens, dim]``, for attention of one head."""
    x = d.rank(3)
    if any(0 in v[x].shape for v in d.values):
        raise Refused
    return Proposal((x, d.like(x), d.like(x)), {"before": d.integer(0, 3), "after": d.integer(0, 2)})


_HEADS = "{0}.unsqueeze(2), {1}.unsqueeze(2), {2}.unsqueeze(2)"
_OFFSET = "torch.arange({0}.shape[1])[:, None] - torch.arange({0}.shape[1])"
op(
    "attention",
    f"F.scaled_dot_product_attention({_HEADS}, is_causal=True).squeeze(2)",
    "F.scaled_dot_product_attention({0}, {1}, {2}, is_causal=True)",
    sequences,
    weight=0.5,
)
_BY_HEADS = "{0}.transpose(0, 1), {1}.transpose(0, 1), {2}.transpose(0, 1)"
op(
    "attention_without_batch",  # of tokens by heads by dim
    "F.scaled_dot_product_attention({0}, {1}, {2}, is_causal=True)",
    f"F.scaled_dot_product_attention({_BY_HEADS}, is_causal=True).transpose(0, 1)",
    sequences,
    weight=0.3,
)
op(
    "window_attention",
    f"F.flashmask_attention({_HEADS}, window_size=({{before}}, {{after}})).squeeze(2)",
    f"F.scaled_dot_product_attention({{0}}, {{1}}, {{2}}, ({_OFFSET} <= {{before}}) & ({_OFFSET} >= -{{after}}))",
    sequences,
    weight=0.5,
)
op(
    "causal_window_attention",
    f"F.flashmask_attention({_HEADS}, causal=True, window_size={{before}}).squeeze(2)",
    f"F.scaled_dot_product_attention({{0}}, {{1}}, {{2}}, ({_OFFSET} <= {{before}}) & ({_OFFSET} >= 0))",
    sequences,
    weight=0.5,
)


def packed(d: Draw) -> Proposal:
    """Three values ``[tokens, dim]`` of two sequences that follow each other, the second from row ``at`` on."""
    x = d.rank(2)
    rows = min(v[x].shape[0] for v in d.values)
    if rows < 2 or any(v[x].shape[1] == 0 for v in d.values):
        raise Refused
    return Proposal((x, d.like(x), d.like(x)), {"at": d.integer(1, rows - 1), "before": d.integer(0, 2)})


_PACKED = "{0}.unsqueeze(1), {1}.unsqueeze(1), {2}.unsqueeze(1)"
_ENDS = "paddle.to_tensor([0, {at}, {0}.shape[0]], dtype='int32')"
_SECOND = "(torch.arange({0}.shape[0]) >= {at})"
_SAME = f"({_SECOND}[:, None] == {_SECOND})"
_BACK = "(torch.arange({0}.shape[0])[:, None] - torch.arange({0}.shape[0]))"
op(
    "packed_attention",
    f"F.flash_attention.flash_attn_unpadded({_PACKED}, (ends := {_ENDS}), ends, 64, 64, 0.5, causal=True)[0]"
    ".squeeze(1)",
    f"F.scaled_dot_product_attention({{0}}, {{1}}, {{2}}, {_SAME} & ({_BACK} >= 0), scale=0.5)",
    packed,
    weight=0.5,
)
op(
    "packed_window_attention",
    f"F.flash_attention_v3_varlen({_PACKED}, {_ENDS}, {_ENDS}, 64, 64, softmax_scale=0.5, "
    "window_size=({before}, 1))[0].squeeze(1)",
    f"F.scaled_dot_product_attention({{0}}, {{1}}, {{2}}, {_SAME} & ({_BACK} >= -1) & ({_BACK} <= {{before}}), "
    "scale=0.5)",
    packed,
    weight=0.4,
)
