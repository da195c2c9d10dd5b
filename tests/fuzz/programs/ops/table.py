"""The statements of random programs: for each what it means in ``paddle`` and to the judge, side by side, by family."""

from __future__ import annotations

from tests.fuzz.programs.ops import (
    binary,
    comparisons,
    gradients,
    in_place,
    indexing,
    joining,
    losses,
    norms,
    products,
    random,
    reductions,
    unary,
    views,
    writes,
)
from tests.fuzz.programs.record import Op

# What a seed draws depends on the order.
FAMILIES = (
    unary.family, binary.family, in_place.family, comparisons.family, views.family, writes.family, indexing.family,
    reductions.family, norms.family, products.family, joining.family, losses.family, gradients.family, random.family,
)  # fmt: skip

OPS: dict[str, Op] = {}
for _family in FAMILIES:
    assert OPS.keys().isdisjoint(_family.ops)
    OPS |= _family.ops
