"""Losses of classes, margins and shares; gates, slopes and norms over channels; volumes."""

from __future__ import annotations

from tests.fuzz.programs.draw import Draw, Proposal, Refused
from tests.fuzz.programs.ops.family import Family
from tests.fuzz.programs.ops.losses import classified
from tests.fuzz.programs.ops.pools import image, pooled, transposed
from tests.fuzz.programs.ops.proposals import any_float
from tests.fuzz.programs.ops.scatters import least

family = Family()
op = family.op


def two(d: Draw) -> Proposal:
    x = d.pick(lambda x: all(v[x].shape for v in d.values))
    y = d.like(x)
    if x == y:
        raise Refused
    return Proposal((x, y), {"r": d.choose(("mean", "sum", "none"))})


_ONES = "({1} > 0).astype({1}.dtype).detach()"
_THEIR_ONES = "({1} > 0).double()"
for _name, _ours, _theirs in (
    ("binary_cross_entropy", "F.binary_cross_entropy(F.sigmoid({0}), F.sigmoid({1}).detach(), reduction='{r}')",
     "F.binary_cross_entropy(torch.sigmoid({0}), torch.sigmoid({1}).detach(), reduction='{r}') + 0 * {1}.sum()"),
    ("log_loss", "F.log_loss(F.sigmoid({0}).reshape([-1, 1]), F.sigmoid({1}).reshape([-1, 1]), 0.01)",
     ("(-torch.sigmoid({1}) * torch.log(torch.sigmoid({0}) + 0.01) - (1 - torch.sigmoid({1})) * "
     "torch.log(1.01 - torch.sigmoid({0}))).reshape(-1, 1)")),
    ("sigmoid_focal", f"F.sigmoid_focal_loss({{0}}, {_ONES}, reduction='{{r}}')",
     (f"(lambda p, t, z: (lambda q: q if '{{r}}' == 'none' else q.sum() if '{{r}}' == 'sum' else q.mean())"
     f"((0.25 * t + 0.75 * (1 - t)) * (p + t - 2 * p * t) ** 2 * F.binary_cross_entropy_with_logits(z, t, "
     f"reduction='none')))(torch.sigmoid({{0}}), {_THEIR_ONES}, {{0}})")),
    ("soft_margin_of_labels", f"F.multi_label_soft_margin_loss({{0}}, {_ONES}, reduction='{{r}}')",
     f"F.multilabel_soft_margin_loss({{0}}, {_THEIR_ONES}, reduction='{{r}}')"),
):  # fmt: skip
    op(_name, _ours, _theirs, two, weight=0.3)


def rows_of(d: Draw, count: int) -> Proposal:
    x = d.pick(lambda x: len(d.shape(x)) == 2 and not d.varying(x, 1) and d.shape(x)[1] > 1)
    return Proposal((x, *(d.input(d.sizes(x), d.dtypes[x]) for _ in range(count - 1))), {
        "r": d.choose(("mean", "sum", "none")), "m": d.choose((0.5, 1.0)),
    })  # fmt: skip


op("triplet_margin", "F.triplet_margin_loss({0}, {1}, {2}, {m}, reduction='{r}')",
   "F.triplet_margin_loss({0}, {1}, {2}, {m}, reduction='{r}')", lambda d: rows_of(d, 3), weight=0.4)  # fmt: skip
op("triplet_swapped", "F.triplet_margin_with_distance_loss({0}, {1}, {2}, margin={m}, swap=True, reduction='{r}')",
   "F.triplet_margin_loss({0}, {1}, {2}, {m}, swap=True, reduction='{r}')", lambda d: rows_of(d, 3),
   weight=0.3)  # fmt: skip
op("cosine_embedding",
   "F.cosine_embedding_loss({0}, {1}, ({0}[:, 0] > 0).astype('int64') * 2 - 1, {m} * 0.25, '{r}')",
   "(lambda c, same: (lambda q: q if '{r}' == 'none' else q.sum() if '{r}' == 'sum' else q.mean())"
   "(torch.where(same, 1 - c, torch.relu(c - {m} * 0.25))))(({0} * {1}).sum(1) / torch.sqrt((({0} ** 2).sum(1) + 1e-8)"
   " * (({1} ** 2).sum(1) + 1e-8)), {0}[:, 0] > 0)",
   lambda d: rows_of(d, 2), weight=0.3)  # fmt: skip


def of_classes(d: Draw) -> Proposal:
    found = classified(d)
    least(d, found.operands[0], 0)  # PyTorch leaves memory as it was where there are no rows
    return Proposal(found.operands, {**found.attributes, "p": d.choose((1, 2)), "m": d.choose((0.5, 1.0))})


for _name, _ours, _theirs in (
    ("multi_margin", "F.multi_margin_loss({0}, {1}, {p}, {m}, reduction='{r}')",
     "F.multi_margin_loss({0}, {1}, {p}, {m}, reduction='{r}')"),
    ("multi_label_margin", ("F.multi_label_margin_loss({0}, F.pad({1}[:, None], [0, 0, 0, {0}.shape[1] - 1], "
     "value=-1), "
     "'{r}')"), "F.multilabel_margin_loss({0}, F.pad({1}[:, None], [0, {0}.shape[1] - 1], value=-1), reduction='{r}')"),
    ("softmax_with_cross_entropy", "F.softmax_with_cross_entropy({0}, {1}[:, None])",
     "F.cross_entropy({0}, {1}, reduction='none')[:, None]"),
    ("default_cross_entropy", "F.cross_entropy({0}, {1})", "F.cross_entropy({0}, {1})"),
    ("dice", "F.dice_loss(F.softmax({0}, -1), {1}[:, None])",
     ("(lambda p, t: (1 - 2 * (p * t).sum(1) / (p.sum(1) + t.sum(1) + 1e-5)).mean())"
     "(torch.softmax({0}, -1), F.one_hot({1}, {0}.shape[1]).double())")),
):  # fmt: skip
    op(_name, _ours, _theirs, of_classes, dtype=lambda x, i: x, weight=0.3, tags="labels")


def npair(d: Draw) -> Proposal:
    x, y = rows_of(d, 2).operands
    return Proposal((x, y, d.input([d.size(x, 0)], "int64", "index:3")), {})


op(
    "npair",
    "F.npair_loss({0}, {1}, {2}, 0.01)",
    "(lambda same: F.cross_entropy({0} @ {1}.T, same / same.sum(1, keepdim=True)) + 0.0025 * "
    "(({0} ** 2).sum(1).mean() + ({1} ** 2).sum(1).mean()))(({2}[:, None] == {2}[None]).double())",
    npair,
    dtype=lambda x, y, i: x,
    weight=0.3,
)

# --- gates, slopes, channels


def halves(d: Draw) -> Proposal:
    x = d.pick(lambda x: any(n % 2 == 0 and n and not d.varying(x, a) for a, n in enumerate(d.shape(x))))
    axes = [a for a, n in enumerate(d.shape(x)) if n % 2 == 0 and n and not d.varying(x, a)]
    return Proposal((x,), {"axis": d.choose(axes) - (len(d.shape(x)) if d.chance(0.3) else 0)})


op("glu", "F.glu({0}, {axis})", "F.glu({0}, {axis})", halves, weight=0.4)


def channels(d: Draw) -> Proposal:
    x = image(d, 4)
    return Proposal((x, d.input([d.choose((1, d.shape(x)[1]))], d.dtypes[x])), {"n": d.choose((2, 3))})


def even(d: Draw) -> str:
    x = image(d, 4)
    if d.shape(x)[1] % 2:
        raise Refused
    return x


op("maxout", "F.maxout({0}, 2)", "torch.maximum({0}[:, 0::2], {0}[:, 1::2])",
   lambda d: Proposal((even(d),), {}), weight=0.3)  # fmt: skip
op("prelu", "F.prelu({0}, {1})", "F.prelu({0}, {1})", channels, weight=0.4)
op("local_response_norm", "F.local_response_norm({0}, {n}, 0.5)", "F.local_response_norm({0}, {n}, 0.5)", channels,
   weight=0.3)  # fmt: skip
op("rrelu_of_evaluation", "F.rrelu({0}, 0.125, 0.375, training=False)", "torch.where({0} < 0, 0.25 * {0}, {0})",
   any_float, weight=0.2)  # fmt: skip
for _dims in (1, 2):
    op(f"lp_pool{_dims}d", f"F.lp_pool{_dims}d({{0}}, 2.0, 2, 1)", f"F.lp_pool{_dims}d({{0}}, 2.0, 2, 1)",
       lambda d, n=_dims: Proposal((image(d, n + 2),), {}), weight=0.3)  # fmt: skip
op("upsample", "F.upsample({0}, scale_factor=2, mode='{how}')", "F.interpolate({0}, scale_factor=2, mode='{how}')",
   lambda d: Proposal((image(d, 4),), {"how": d.choose(("nearest", "bilinear"))}), weight=0.3)  # fmt: skip
op("max_unpool2d", "F.max_unpool2d(*F.max_pool2d({0}, 2, 2, return_mask=True), 2, 2, output_size={0}.shape)",
   "F.max_unpool2d(*F.max_pool2d({0}, 2, 2, return_indices=True), 2, 2, output_size={0}.shape)",
   lambda d: Proposal((image(d, 4),), {}), weight=0.3)  # fmt: skip
op("affine_grid", "F.affine_grid({0}, [2, 1, 2, 3], {align})",
   "F.affine_grid({0}, [2, 1, 2, 3], align_corners={align})",
   lambda d: Proposal((d.input([2, 2, 3]),), {"align": d.chance(0.5)}), weight=0.2)  # fmt: skip


def bilinear(d: Draw) -> Proposal:
    x = d.pick(lambda x: len(d.shape(x)) == 2 and not d.varying(x, 1) and d.shape(x)[1] > 0)
    y = d.input([d.size(x, 0), 2], d.dtypes[x])
    return Proposal((x, y, d.input([3, d.shape(x)[1], 2], d.dtypes[x]), d.input([1, 3], d.dtypes[x])), {})


op("bilinear", "F.bilinear({0}, {1}, {2}, {3})", "F.bilinear({0}, {1}, {2}, {3}.reshape(-1))", bilinear, weight=0.3)

# --- volumes


op("avg_pool_3d", "F.avg_pool3d({0}, {k}, {s}, {p}, ceil_mode={up}, exclusive=False)",
   "F.avg_pool3d({0}, {k}, {s}, {p}, {up}, True)", pooled(5), weight=0.4)  # fmt: skip
op("max_pool_3d", "F.max_pool3d({0}, {k}, {s}, {p}, ceil_mode={up})", "F.max_pool3d({0}, {k}, {s}, {p}, 1, {up})",
   pooled(5), weight=0.4)  # fmt: skip
for _kind in ("avg", "max"):
    op(f"adaptive_{_kind}_pool3d", f"F.adaptive_{_kind}_pool3d({{0}}, {{to}})",
       f"F.adaptive_{_kind}_pool3d({{0}}, {{to}})", pooled(5), weight=0.3)  # fmt: skip
op("conv3d_transpose", "F.conv3d_transpose({0}, {1}, None, {s}, {p}, groups={g})",
   "F.conv_transpose3d({0}, {1}, None, {s}, {p}, 0, {g})", transposed(5), weight=0.3)  # fmt: skip


def convolved(d: Draw) -> Proposal:
    x = image(d, 5)
    return Proposal((x, d.input([2, d.shape(x)[1], 1, 2, 1], d.dtypes[x])), {"s": d.integer(1, 2)})


op("conv3d", "F.conv3d({0}, {1}, None, {s}, [0, 1, 0])", "F.conv3d({0}, {1}, None, {s}, (0, 1, 0))", convolved,
   weight=0.4)  # fmt: skip
