"""Pooling, transposed convolutions, shuffles of pixels, grids; losses that are drawn nowhere else."""

from __future__ import annotations

from collections.abc import Callable

from tests.fuzz.programs.draw import Draw, Proposal
from tests.fuzz.programs.ops.family import Family

family = Family()
op = family.op


def image(d: Draw, rank: int) -> str:
    """Some images ``[n, channels, …]``, of earlier values rather."""
    fits = [
        x
        for x in d.names()
        if len(d.shape(x)) == rank
        and all(min(v[x].shape) > 0 and min(v[x].shape[2:]) > 1 for v in d.values)
        and not any(d.varying(x, a) for a in range(1, rank))
    ]
    if fits and d.chance(0.6):
        return d.choose(fits)
    return d.input([d.choose(("n", 1, 2)), d.choose((2, 4)), *(d.integer(2, 4) for _ in range(rank - 2))])


def pooled(rank: int) -> Callable[[Draw], Proposal]:
    def propose(d: Draw) -> Proposal:
        size, up = d.integer(1, 2), d.chance(0.3)
        # A last window that lies in the padding alone is none to PyTorch.
        padding = 0 if up else d.integer(0, size // 2)
        return Proposal((image(d, rank),), {
            "k": size, "s": d.integer(1, size), "p": padding, "up": up, "to": d.integer(1, 3),
        })  # fmt: skip

    return propose


for _rank, _dims in ((3, 1), (4, 2)):
    op(
        f"avg_pool_{_dims}d",
        f"F.avg_pool{_dims}d({{0}}, {{k}}, {{s}}, {{p}}, ceil_mode={{up}}, exclusive=False)",
        f"F.avg_pool{_dims}d({{0}}, {{k}}, {{s}}, {{p}}, {{up}}, True)",
        pooled(_rank),
        weight=0.6,
    )
    op(
        f"max_pool_{_dims}d",
        f"F.max_pool{_dims}d({{0}}, {{k}}, {{s}}, {{p}}, ceil_mode={{up}})",
        f"F.max_pool{_dims}d({{0}}, {{k}}, {{s}}, {{p}}, 1, {{up}})",
        pooled(_rank),
        weight=0.6,
    )
    for _kind in ("avg", "max"):
        op(
            f"adaptive_{_kind}_pool{_dims}d",
            f"F.adaptive_{_kind}_pool{_dims}d({{0}}, {{to}})",
            f"F.adaptive_{_kind}_pool{_dims}d({{0}}, {{to}})",
            pooled(_rank),
            weight=0.4,
        )


def transposed(rank: int) -> Callable[[Draw], Proposal]:
    def propose(d: Draw) -> Proposal:
        x = image(d, rank)
        groups = d.choose((1, 2)) if d.shape(x)[1] % 2 == 0 else 1
        sizes = [d.integer(1, 3) for _ in range(rank - 2)]
        weight = d.input([d.shape(x)[1], d.integer(1, 2), *sizes], d.dtypes[x])
        p = d.integer(0, min(sizes) // 2)
        return Proposal((x, weight), {"s": d.integer(1, 2), "p": p, "g": groups})

    return propose


for _rank, _dims in ((3, 1), (4, 2)):
    op(
        f"conv{_dims}d_transpose",
        f"F.conv{_dims}d_transpose({{0}}, {{1}}, None, {{s}}, {{p}}, groups={{g}})",
        f"F.conv_transpose{_dims}d({{0}}, {{1}}, None, {{s}}, {{p}}, 0, {{g}})",
        transposed(_rank),
        weight=0.6,
    )


def shuffled(d: Draw) -> Proposal:
    x = d.input([d.integer(1, 2), 4, 2, d.choose((2, 4))])
    return Proposal((x,), {})


op("pixel_shuffle", "F.pixel_shuffle({0}, 2)", "F.pixel_shuffle({0}, 2)", shuffled, weight=0.4)
op("pixel_unshuffle", "F.pixel_unshuffle({0}, 2)", "F.pixel_unshuffle({0}, 2)", shuffled, weight=0.3)
op("channel_shuffle", "F.channel_shuffle({0}, 2)", "F.channel_shuffle({0}, 2)", shuffled, weight=0.3)


def gridded(d: Draw) -> Proposal:
    x = d.input([2, d.integer(1, 2), 3, 4], d.floating if d.floating not in ("float16", "bfloat16") else "float32")
    grid = d.input([2, d.integer(1, 3), 2, 2], d.dtypes[x])
    return Proposal((x, grid), {"pad": d.choose(("zeros", "border", "reflection")), "align": d.chance(0.5)})


op(
    "grid_sample",
    "F.grid_sample({0}, paddle.tanh({1}) * 0.9, padding_mode='{pad}', align_corners={align})",
    "F.grid_sample({0}, torch.tanh({1}) * 0.9, padding_mode='{pad}', align_corners={align})",
    gridded,
    weight=0.5,
)


def squares(d: Draw) -> Proposal:
    x = d.input([d.choose(("n", 2)), 2, 4, d.integer(3, 4)])
    return Proposal((x,), {"k": d.integer(1, 3), "s": d.integer(1, 2)})


op("unfold_images", "F.unfold({0}, {k}, {s})", "F.unfold({0}, {k}, stride={s})", squares, weight=0.5)
op(
    "fold",
    "F.fold(F.unfold({0}, {k}, {s}), {0}.shape[2:], {k}, strides={s})",
    "F.fold(F.unfold({0}, {k}, stride={s}), {0}.shape[2:], {k}, stride={s})",
    squares,
    weight=0.4,
)


def reduced_pair(d: Draw) -> Proposal:
    x = d.pick()
    y = d.beside(x, lambda y: y != x and all(v[y].shape == v[x].shape for v in d.values), d.sizes(x))
    return Proposal((x, y), {"r": d.choose(("mean", "sum", "none")), "m": d.choose((0.0, 0.5))})


_SIGNS = "paddle.where({1} > 0, paddle.ones_like({1}), -paddle.ones_like({1})).detach()"
_THEIR_SIGNS = "torch.where({1} > 0, 1.0, -1.0)"
for _name, _ours, _theirs in (
    ("margin_ranking", f"F.margin_ranking_loss({{0}}, {{1}}, {_SIGNS}, {{m}}, '{{r}}')",
     f"F.margin_ranking_loss({{0}}, {{1}}, {_THEIR_SIGNS}, {{m}}, reduction='{{r}}')"),
    ("hinge_embedding", f"F.hinge_embedding_loss({{0}}, {_SIGNS}, reduction='{{r}}')",
     f"F.hinge_embedding_loss({{0}}, {_THEIR_SIGNS}, reduction='{{r}}')"),
    ("soft_margin", f"F.soft_margin_loss({{0}}, {_SIGNS}, '{{r}}')",
     f"F.soft_margin_loss({{0}}, {_THEIR_SIGNS}, reduction='{{r}}')"),
    ("gaussian_nll", "F.gaussian_nll_loss({0}, {1}, {1} * {1} + 0.5, reduction='{r}')",
     "F.gaussian_nll_loss({0}, {1}, {1} * {1} + 0.5, reduction='{r}')"),
    ("poisson_nll", "F.poisson_nll_loss({0}, {1} * {1}, reduction='{r}')",
     "F.poisson_nll_loss({0}, {1} * {1}, reduction='{r}')"),
    ("square_error", "F.square_error_cost({0}, {1})", "({0} - {1}) ** 2"),
    ("pairwise_distance", "F.pairwise_distance({0}[..., None], {1}[..., None] + 3.0)",
     "F.pairwise_distance({0}[..., None], {1}[..., None] + 3.0)"),
):  # fmt: skip
    op(_name, _ours, _theirs, reduced_pair, weight=0.3)
