"""Losses."""

from __future__ import annotations

from tests.fuzz.programs.draw import Draw, Proposal, Refused
from tests.fuzz.programs.ops.family import Family

family = Family()
op = family.op


def like_pair(d: Draw) -> Proposal:
    return Proposal((x := d.pick(), d.like(x)), {"r": d.choose(("mean", "sum", "none"))})


def unaveraged_pair(d: Draw) -> Proposal:
    """PyTorch warns of the mean of a divergence."""
    return Proposal((x := d.pick(), d.like(x)), {"r": d.choose(("none", "sum"))})


for _name in ("mse_loss", "l1_loss", "smooth_l1_loss", "kl_div"):
    op(
        _name,
        f"F.{_name}({{0}}, {{1}}, reduction='{{r}}')",
        f"F.{_name}({{0}}, {{1}}, reduction='{{r}}')",
        like_pair if _name != "kl_div" else unaveraged_pair,
        weight=0.4,
    )
op(
    "kl_of_log_softmax",
    "F.kl_div(F.log_softmax({0}, -1), F.softmax({1}, -1), reduction='{r}')",
    "F.kl_div(F.log_softmax({0}, -1), F.softmax({1}, -1), reduction='{r}')",
    lambda d: Proposal((x := d.rank(1, 2, 3), d.like(x)), {"r": d.choose(("none", "sum"))}),
    weight=0.4,
)
op(
    "bce_with_logits",
    "F.binary_cross_entropy_with_logits({0}, F.sigmoid({1}), reduction='{r}')",
    "F.binary_cross_entropy_with_logits({0}, F.sigmoid({1}), reduction='{r}')",
    like_pair,
    weight=0.3,
)


def compared(d: Draw) -> Proposal:
    """Two values: of one with itself the derivatives cancel, and what is left is the rounding of large numbers."""
    x = d.rank(1, 2, 3)
    y = d.like(x)
    if x == y:
        raise Refused
    return Proposal((x, y), {"axis": d.axis(x)})


op(
    "cosine_similarity",
    "F.cosine_similarity({0}, {1}, axis={axis})",
    "F.cosine_similarity({0}, {1}, dim={axis})",
    compared,
    weight=0.3,
)


def classified(d: Draw) -> Proposal:
    x = d.pick(lambda x: len(d.shape(x)) == 2 and not d.varying(x, 1) and d.shape(x)[1] > 1)
    label = d.input([d.size(x, 0)], "int64", f"index:{d.shape(x)[1]}")
    return Proposal((x, label), {"r": d.choose(("mean", "sum", "none"))})


op(
    "cross_entropy",
    "F.cross_entropy({0}, {1}, reduction='{r}')",
    "F.cross_entropy({0}, {1}, reduction='{r}')",
    classified,
    dtype=lambda x, i: x,
    weight=0.6,
    tags="labels",
)


def ignoring(d: Draw) -> Proposal:
    """Rows of one class do not count, or of none; what counts is smoothed in some."""
    x, label = classified(d).operands
    r = d.choose(("mean", "sum", "none"))
    # With smoothing, single losses have a last axis of 1, as in the reference.
    smooth = 0.0 if r == "none" else d.choose((0.0, 0.125))
    return Proposal((x, label), {"r": r, "ignored": d.choose((-100, 0, 0, 1)), "smooth": smooth})


def weighed(d: Draw) -> Proposal:
    x, label = classified(d).operands
    return Proposal((x, label, d.input([d.shape(x)[1]], d.dtypes[x])), {
        "r": d.choose(("mean", "sum", "none")),
        "ignored": d.choose((-100, -100, 0)),
    })  # fmt: skip


def shares(d: Draw) -> Proposal:
    x = d.pick(lambda x: len(d.shape(x)) == 2 and not d.varying(x, 1) and d.shape(x)[1] > 1)
    return Proposal((x, d.like(x)), {"r": d.choose(("mean", "sum"))})


op(
    "cross_entropy_ignoring",
    "F.cross_entropy({0}, {1}, reduction='{r}', ignore_index={ignored}, label_smoothing={smooth})",
    "F.cross_entropy({0}, {1}, reduction='{r}', ignore_index={ignored}, label_smoothing={smooth})",
    ignoring,
    dtype=lambda x, i: x,
    weight=0.4,
    tags="labels",
)
op(
    "cross_entropy_weighed",
    "F.cross_entropy({0}, {1}, F.sigmoid({2}), reduction='{r}', ignore_index={ignored})",
    "F.cross_entropy({0}, {1}, F.sigmoid({2}), reduction='{r}', ignore_index={ignored})",
    weighed,
    dtype=lambda x, i, w: x,
    weight=0.3,
    tags="labels",
)
op(
    "cross_entropy_of_shares",
    "F.cross_entropy({0}, F.softmax({1}, -1), soft_label=True, reduction='{r}')",
    "F.cross_entropy({0}, F.softmax({1}, -1), reduction='{r}')",
    shares,
    weight=0.3,
)
op(
    "nll_ignoring",
    "F.nll_loss(F.log_softmax({0}, -1), {1}, reduction='{r}', ignore_index={ignored})",
    "F.nll_loss(F.log_softmax({0}, -1), {1}, reduction='{r}', ignore_index={ignored})",
    lambda d: Proposal(
        classified(d).operands, {"r": d.choose(("mean", "sum", "none")), "ignored": d.choose((-100, 0))}
    ),
    dtype=lambda x, i: x,
    weight=0.2,
    tags="labels",
)
