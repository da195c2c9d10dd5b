"""More parts of values: windows, halves, new dims, elements by number; joined and laid out."""

from __future__ import annotations

import numpy as np

from tests.fuzz.programs.draw import Draw, Proposal, Refused
from tests.fuzz.programs.ops.family import Family
from tests.fuzz.programs.ops.proposals import different, with_axis
from tests.fuzz.programs.ops.scatters import along, least

family = Family()
op = family.op


def windows(d: Draw) -> Proposal:
    x = d.pick(lambda x: bool(d.shape(x)))
    axis = d.axis(x)
    return Proposal((x,), {"axis": axis, "size": d.integer(1, least(d, x, axis)), "step": d.integer(1, 2)})


# NumPy has the new dim last, too.
op(
    "unfold",
    "{0}.unfold({axis}, {size}, {step})",
    "np.moveaxis(np.moveaxis(np.lib.stride_tricks.sliding_window_view({0}, {size}, {axis}), {axis} % {0}.ndim, 0)"
    "[::{step}], 0, {axis} % {0}.ndim)",
    windows,
    "view",
    weight=1.5,
)


def divided(d: Draw) -> Proposal:
    x = d.pick(lambda x: any(n > 0 and not d.varying(x, a) for a, n in enumerate(d.shape(x))))
    axis = d.choose([a for a, n in enumerate(d.shape(x)) if n > 0 and not d.varying(x, a)])
    n = d.shape(x)[axis]
    k = d.choose([k for k in range(1, n + 1) if n % k == 0])
    sizes = ", ".join(f"{{0}}.shape[{a}]" if a != axis else f"{k}, {n // k}" for a in range(len(d.shape(x))))
    return Proposal((x,), {"axis": axis, "sizes": [k, n // k], "all": sizes})


op(
    "unflatten",
    "paddle.unflatten({0}, {axis}, {sizes})",
    "{0}.reshape({all})",
    divided,
    "view",
    weight=0.8,
    tags="unclear",
)


def split(d: Draw) -> Proposal:
    x = d.pick(lambda x: bool(d.shape(x)))
    axis = d.axis(x)
    at = sorted(d.integer(0, least(d, x, axis)) for _ in range(2))
    return Proposal((x,), {"axis": axis, "at": at}, 3)


op(
    "tensor_split",
    "paddle.tensor_split({0}, {at}, {axis})",
    "np.split({0}, {at}, {axis})",
    split,
    "view",
    weight=0.8,
)


def strided(d: Draw) -> Proposal:
    x = d.pick(lambda x: bool(d.shape(x)))
    axis = d.axis(x, fixed=True)
    n = least(d, x, axis)
    a, step = d.integer(0, n - 1), d.integer(1, 2)
    return Proposal((x,), {"axis": axis % len(d.shape(x)), "a": a, "b": d.integer(a + 1, n + 1), "step": step})


op(
    "strided_slice",
    "paddle.strided_slice({0}, [{axis}], [{a}], [{b}], [{step}])",
    "{0}[(slice(None),) * {axis} + (slice({a}, {b}, {step}),)]",
    strided,
    "view",
    weight=0.6,
)


def elements(d: Draw) -> Proposal:
    """Places of several dims, by rows of numbers."""
    x = d.pick(lambda x: bool(d.shape(x)))
    used, count = d.integer(1, min(2, len(d.shape(x)))), d.integer(1, 3)
    where = [[d.integer(0, least(d, x, axis) - 1) for axis in range(used)] for _ in range(count)]
    return Proposal((x,), {"where": where})


op(
    "gather_nd",
    "paddle.gather_nd({0}, paddle.to_tensor({where}))",
    "{0}[tuple(torch.tensor({where}).T)]",
    elements,
    weight=0.6,
)


def samples(d: Draw) -> Proposal:
    x = d.pick(lambda x: len(d.shape(x)) == 2 and d.dtypes[x] not in ("float16", "bfloat16"))
    index = d.input([d.size(x, 0), d.integer(1, 3)], "int64", f"index:{least(d, x, 1)}")
    return Proposal((x, index), {})


op(
    "index_sample",
    "paddle.index_sample({0}, {1})",
    "torch.gather({0}, 1, {1})",
    samples,
    dtype=lambda x, i: x,
    weight=0.5,
)
op(
    "taken_along_axis",
    "paddle.take_along_axis({0}, {1}, {axis})",
    "torch.take_along_dim({0}, {1}, {axis})",
    along(False),
    dtype=lambda x, *others: x,
    weight=0.8,
)


def numbered(d: Draw) -> Proposal:
    x = d.pick(lambda x: all(np.prod(v[x].shape) > 0 for v in d.values))
    count = int(min(np.prod(v[x].shape) for v in d.values))
    return Proposal((x, d.input([2, 2], "int64", f"index:{count}")), {})


op("take_flat", "paddle.take({0}, {1})", "torch.take({0}, {1})", numbered, dtype=lambda x, i: x, weight=0.5)
# Of no quarter turns the result is the operand, in memory that it shares.
op("rot90", "paddle.rot90({0}, {axis}, [0, 1]).clone()", "torch.rot90({0}, {axis}, [0, 1])", with_axis(2), weight=0.4)
op(
    "diag_embed",
    "paddle.diag_embed({0})",
    "torch.diag_embed({0})",
    lambda d: Proposal((d.rank(1, 2),), {}),
    weight=0.4,
)
op(
    "block_diag",
    "paddle.block_diag([{0}, {1}])",
    "torch.block_diag({0}, {1})",
    lambda d: Proposal((x := d.rank(1, 2), d.beside(x, lambda y: len(d.shape(y)) in (1, 2))), {}),
    weight=0.4,
)


def expanded(d: Draw) -> Proposal:
    x = d.rank(0, 1, 2)

    def fits(y: str) -> bool:
        try:
            return all(np.broadcast_shapes(v[x].shape, v[y].shape) == v[y].shape for v in d.values)
        except ValueError:
            return False

    y = d.pick(fits)
    if x == y:
        raise Refused
    return Proposal((x, y), {})


op(
    "expand_as",
    "paddle.expand_as({0}, {1})",
    "{0}.expand_as({1})",
    expanded,
    weight=0.6,
)


def restrided(d: Draw) -> Proposal:
    """Of values that are no views, whose memory is their elements in order; windows may share elements."""

    def fits(x: str) -> bool:
        entire = all(v[x].at.parent is None for v in d.values)
        return entire and not any(d.varying(x, a) for a in range(len(d.shape(x)))) and 0 not in d.shape(x)

    x = d.pick(fits)
    last = int(np.prod(d.shape(x))) - 1
    low = high = d.integer(0, last)
    sizes, strides = [], []
    for _ in range(d.integer(1, 3)):
        size, step = d.integer(1, 4), d.choose((1, 1, 2, 3, -1, 4, 0))
        reach = (size - 1) * step
        if low + min(reach, 0) < 0 or high + max(reach, 0) > last:
            continue
        low, high = low + min(reach, 0), high + max(reach, 0)
        sizes.append(size)
        strides.append(step)
    offset = low - sum(min((n - 1) * s, 0) for n, s in zip(sizes, strides, strict=True))
    return Proposal((x,), {"sizes": sizes, "strides": strides, "offset": offset})


op(
    "as_strided",
    "paddle.as_strided({0}, {sizes}, {strides}, {offset})",
    "strided({0}, {sizes}, {strides}, {offset})",
    restrided,
    "view",
    weight=1.5,
)
op(
    "broadcast_tensors",
    "[t * 1 for t in paddle.broadcast_tensors([{0}, {1}])]",
    "torch.broadcast_tensors({0}, {1})",
    lambda d: different(d)._replace(results=2),
    dtype=None,
    weight=0.4,
)
op(
    "unstacked",
    "paddle.stack(paddle.unstack({0}, {axis})[::-1], {axis})",
    "torch.flip({0}, [{axis}])",
    lambda d: Proposal((x := d.pick(lambda x: bool(d.shape(x))),), {"axis": _some(d, x)}),
    weight=0.3,
)


def _some(d: Draw, x: str) -> int:
    axis = d.axis(x, fixed=True)
    least(d, x, axis)
    return axis
