"""Normalisations with statistics."""

from __future__ import annotations

from tests.fuzz.programs.draw import Draw, Proposal
from tests.fuzz.programs.ops.family import Family

family = Family()
op = family.op


def normed(d: Draw) -> Proposal:
    x = d.pick(lambda x: len(d.shape(x)) > 1 and not d.varying(x, -1) and d.shape(x)[-1] > 1)
    n = d.shape(x)[-1]
    return Proposal((x, d.input([n], dtype=d.dtypes[x]), d.input([n], dtype=d.dtypes[x])), {"n": n})


op(
    "layer_norm",
    "F.layer_norm({0}, [{n}], {1}, {2}, 1e-2)",
    "F.layer_norm({0}, [{n}], {1}, {2}, 1e-2)",
    normed,
    weight=0.5,
)


def channels(d: Draw) -> Proposal:
    """Of at least one element: of none there is nothing to compare."""
    x = d.pick(
        lambda x: len(d.shape(x)) in (2, 3, 4) and not d.varying(x, 1) and all(0 not in v[x].shape for v in d.values)
    )
    n = d.shape(x)[1]
    names = [d.input([n], dtype=d.dtypes[x]) for _ in range(2)]
    names += [d.input([n], dtype=d.dtypes[x], grad=False), d.input([n], dtype=d.dtypes[x], fill="positive", grad=False)]
    return Proposal((x, *names), {})


op(
    "batch_norm",
    "F.batch_norm({0}, {3}.clone(), {4}.clone(), {1}, {2}, training=True, epsilon=1e-2)",
    "F.batch_norm({0}, None, None, {1}, {2}, training=True, eps=1e-2)",
    channels,
    weight=0.3,
    tags="norm",
)
op(
    "batch_norm_eval",
    "F.batch_norm({0}, {3}, {4}, {1}, {2}, epsilon=1e-2)",
    "F.batch_norm({0}, {3}, {4}, {1}, {2}, eps=1e-2)",
    channels,
    weight=0.2,
    tags="norm",
)
op(
    "group_norm",
    "F.group_norm({0}, 1, 1e-2, {1}, {2})",
    "F.group_norm({0}, 1, {1}, {2}, 1e-2)",
    channels,
    weight=0.3,
    tags="norm",
)
op(
    "instance_norm",
    "F.instance_norm({0}, weight={1}, bias={2}, eps=1e-2)",
    "F.instance_norm({0}, weight={1}, bias={2}, eps=1e-2)",
    channels,
    weight=0.2,
    tags="norm",
)
