"""The statements of random programs: for each what it means in ``paddle`` and to the judge, side by side, by family."""

from __future__ import annotations

from dataclasses import replace

from tests.fuzz.programs.ops import (
    algebra,
    binary,
    caches,
    changes,
    comparisons,
    complex_numbers,
    criteria,
    custom,
    dispatch,
    experts,
    functions,
    fused,
    gradients,
    in_place,
    indexing,
    integers,
    joining,
    language,
    losses,
    low_precision,
    masked_attention,
    matmuls,
    norms,
    pages,
    places,
    pools,
    random,
    reductions,
    resizing,
    rows,
    scatters,
    selections,
    spectra,
    transformers,
    unary,
    views,
    writes,
    written_gradients,
)
from tests.fuzz.programs.record import Op

# What a seed draws depends on the order.
FAMILIES = (
    unary.family, binary.family, in_place.family, comparisons.family, views.family, writes.family, indexing.family,
    reductions.family, norms.family, matmuls.family, joining.family, losses.family, gradients.family, random.family,
    resizing.family, rows.family, custom.family, fused.family, masked_attention.family,
    caches.family, experts.family,
)  # fmt: skip

OPS: dict[str, Op] = {}
for _family in FAMILIES:
    assert OPS.keys().isdisjoint(_family.ops)
    OPS |= _family.ops

# Language models, among plain statements that are drawn less often. Results of a random size, and of a user's
# operator, have nothing to do with them.
_MODELS = language.family, transformers.family, pages.family, low_precision.family, dispatch.family
_RARE = {name: replace(op, weight=0.12 * op.weight) for name, op in OPS.items() if not op.tags & {"mask", "users"}}
_MORE = (fused, masked_attention, caches, experts)
LANGUAGE: dict[str, Op] = {
    **_RARE,
    **{name: op for part in _MORE for name, op in part.family.ops.items()},
    **{name: op for part in _MODELS for name, op in part.ops.items()},
}

# What plain programs do not draw, so that their seeds stay what they were, among plain statements that are drawn less
# often.
_NEW = scatters.family, changes.family, selections.family, algebra.family, pools.family
RARE: dict[str, Op] = {
    **{name: replace(op, weight=0.2 * op.weight) for name, op in OPS.items()},
    **{name: op for part in _NEW for name, op in part.ops.items()},
}
_BROAD = integers.family, functions.family, spectra.family, criteria.family
BROAD: dict[str, Op] = {
    **{name: replace(op, weight=0.15 * op.weight) for name, op in OPS.items()},
    **{name: op for part in _BROAD for name, op in part.ops.items()},
}
# Gradients that hooks and functions in Python write to; hooks and gradients within, more often than elsewhere.
WRITTEN: dict[str, Op] = {
    **{name: replace(op, weight=0.3 * op.weight) for name, op in OPS.items()},
    **gradients.family.ops,
    **written_gradients.family.ops,
}
assert len(BROAD) == len(OPS) + sum(len(part.ops) for part in _BROAD)
assert len(RARE) == len(OPS) + sum(len(part.ops) for part in _NEW)

# What means the same of complex numbers as of real ones, to both sides. Dropout, and activations but for sigmoid, take
# no complex numbers.
_ANALYTIC = (
    "exp expm1 sin cos tan tanh sinh cosh asinh atan asin acos atanh acosh sigmoid square sqrt rsqrt log log2 log10 "
    "log1p neg reciprocal"
).split()
_SAME = (
    "clone assign zeros_like full_like add subtract multiply lerp add_n add_scalar from_scalar times over power "
    "scale augmented add_ subtract_ multiply_ copy_ scale_ fill_ zero_ cumsum_ tril_ not_equal where masked_fill "
    "where_above sum mean prod cumsum cumprod tril triu matmul at gram dot outer inner kron bmm mm addmm baddbmm "
    "einsum tensordot linear"
).split()
_NOT_COMPLEX = frozenset("one_hot count gather_along layered masked_scatter masked_scatter_".split())
COMPLEX: dict[str, Op] = {
    **{name: OPS[name] for name in (*_ANALYTIC, *(f"{name}_" for name in _ANALYTIC), *_SAME)},
    **{
        name: op
        for family in (views.family, writes.family, indexing.family, joining.family, gradients.family)
        for name, op in family.ops.items()
        if name not in _NOT_COMPLEX
    },
    **complex_numbers.family.ops,
}

# Positions of sparse tensors are read on the host. Experts are programs of one place so far.
_ANYWHERE = {name: op for name, op in OPS.items() if "host" not in op.tags and name not in experts.family.ops}
PLACED: dict[str, Op] = {name: places.beside_operands(op) for name, op in _ANYWHERE.items()} | places.family.ops

# On ranks: not what has a number of elements that data decide, nor what draws, whose words a run hands out. Shards are
# computed by kernels of `ref`, which has none of users' operators.
SHARDED: dict[str, Op] = {name: op for name, op in _ANYWHERE.items() if not op.tags & {"mask", "random", "users"}}
