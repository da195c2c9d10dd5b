"""Convolution, channels first, in one to three spatial dims: the forward op and its two transposes.

The three are one trilinear form T(x, w, g) read three ways, so each one's derivatives are the other two and every order
of derivative exists. Strides, pads, dilations and groups are params.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.ir import sym as dim
from umiak.ir.meta import Meta
from umiak.ops._common import accept, draw, elements, same_dtype, same_shape, shard_string
from umiak.ops.base import Op, Sample, param, register
from umiak.ops.movement import require


class Convolution(Op):
    """Base of the forward op and its two transposes.

    Shapes: x ``[n, c, *spatial]``, w ``[o, c/groups, *kernel]``, g ``[n, o, *positions]``.
    """

    amp = "allow"
    nd: int
    groups: int = param("int", 1)
    strides: tuple = param("ints")  # type: ignore[misc]  # a param here; the rule of views elsewhere
    pads_lo: tuple = param("ints")
    pads_hi: tuple = param("ints")
    dilations: tuple = param("ints")

    def check(self, *metas, groups, geometry):
        """Refuse ranks, dtypes and params that do not belong together; the common dtype."""
        if self.nd not in (1, 2, 3):
            self.fail(ValueError, "one to three spatial dims", self.nd)
        accept(self, "f", *metas)
        dtype = same_dtype(self, *metas)
        for m in metas:
            if len(m.shape) != self.nd + 2:
                self.fail(ValueError, f"operands of rank {self.nd + 2}", tuple(m.shape))
        named = (("stride", 1), ("padding", 0), ("padding", 0), ("dilation", 1))
        for (name, least), values in zip(named, geometry, strict=True):
            if len(values) != self.nd:
                self.fail(ValueError, f"{self.nd} numbers for {name}", tuple(values))
            for v in values:
                require(self, v >= least, f"{name} of {least} or more", tuple(values))
        require(self, groups >= 1, "at least one group", groups)
        return dtype

    def positions(self, spatial, kernel, geometry):
        """Return the number of kernel positions along each spatial dim."""
        out = []
        for n, k, stride, lo, hi, dilation in zip(spatial, kernel, *geometry, strict=True):
            reach = dilation * (k - 1) + 1
            room = n + lo + hi
            require(
                self,
                (k >= 1) & (reach <= room),
                f"a kernel that fits a padded dim of {room}",
                f"{k} with dilation {dilation}",
            )
            out.append((room - reach) // stride + 1)
        return tuple(out)

    def channels(self, c, w, groups):
        """Refuse weights that do not fit ``c`` input channels."""
        got = f"{c} channels, weight {tuple(w)} and {groups} groups"
        require(self, c == w[1] * groups, "input channels == w.shape[1] * groups", got)
        require(self, w[0] % groups == 0, "w.shape[0] to be a multiple of groups", got)

    def factors(self, groups, summed):
        """Factors of x, w and g, and what becomes of those that a result lacks: ``summed`` is one that is reduced.

        Channels are split only where there is one group: a shard of them would hold other groups. Spatial dims stay
        whole.
        """
        space, kernel = [f"s{i}" for i in range(self.nd)], [f"k{i}" for i in range(self.nd)]
        marks = dict.fromkeys((*space, *kernel), "replicated")
        if dim.same(groups, 1):
            return ["n", "c", *space], ["o", "c", *kernel], ["n", "o", *["1"] * self.nd], {summed: "sum", **marks}
        marks |= dict.fromkeys(("c", "d", "o"), "replicated") | ({summed: "sum"} if summed == "n" else {})
        return ["n", "c", *space], ["o", "d", *kernel], ["n", "o", *["1"] * self.nd], marks


def _geometry(params: Any) -> dict:
    """The params that all three readings share, by name."""
    return {k: getattr(params, k) for k in ("groups", "strides", "pads_lo", "pads_hi", "dilations")}


def _case(rng, nd, x, w, groups=1, strides=1, lo=0, hi=0, dilations=1, dtype=dt.float64):
    """Arrays x, w and g of a convolution, and its params."""
    wide = {
        k: (v,) * nd if isinstance(v, int) else v
        for k, v in (("strides", strides), ("lo", lo), ("hi", hi), ("dilations", dilations))
    }
    params = {
        "groups": groups,
        "strides": wide["strides"],
        "pads_lo": wide["lo"],
        "pads_hi": wide["hi"],
        "dilations": wide["dilations"],
    }
    dims = zip(x[2:], w[2:], *list(params.values())[1:], strict=True)
    out = tuple((n + a + b - d * (k - 1) - 1) // s + 1 for n, k, s, a, b, d in dims)
    return draw(rng, x, dtype), draw(rng, w, dtype), draw(rng, (x[0], w[0], *out), dtype), params


def _cases(rng):
    yield _case(rng, 2, (2, 2, 4, 5), (3, 2, 3, 2), lo=1, hi=(0, 1))
    yield _case(rng, 2, (1, 4, 6, 5), (4, 2, 2, 3), groups=2, strides=(2, 1), dilations=(2, 1))
    yield _case(rng, 1, (2, 3, 7), (3, 1, 3), groups=3, strides=3, lo=2, hi=2)
    yield _case(rng, 3, (1, 2, 3, 3, 2), (2, 2, 2, 2, 2), hi=1)
    yield _case(rng, 2, (0, 2, 3, 3), (3, 2, 2, 2))
    yield _case(rng, 2, (2, 2, 4, 4), (2, 2, 3, 3), lo=1, hi=1, dtype=dt.float32)
    yield _case(rng, 1, (1, 2, 4), (2, 2, 2), dtype=dt.bfloat16)


@register
class Conv(Convolution):
    """Cross-correlation of ``x`` with the kernels ``w``."""

    inputs = ("x", "w")
    linear = ("x", "w")

    def multiply_adds(self, operands, outs):
        return elements(outs[0]) * math.prod(operands[1].shape[1:])

    def infer(self, x, w, groups, *geometry):
        dtype = self.check(x, w, groups=groups, geometry=geometry)
        self.channels(x.shape[1], w.shape, groups)
        return Meta((x.shape[0], w.shape[0], *self.positions(x.shape[2:], w.shape[2:], geometry)), dtype)

    def vjp(self, s, g):
        (x, w), geometry = s.inputs, _geometry(s.params)
        gx = F.conv_input_grad(g, w, nd=self.nd, **geometry, sizes=tuple(x.shape[2:]))
        return gx, F.conv_weight_grad(x, g, nd=self.nd, **geometry, sizes=tuple(w.shape[2:]))

    def shard(self, x, w, groups, *geometry):
        fx, fw, fg, marks = self.factors(groups, "c")
        return shard_string([fx, fw], [fg], **marks)

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        for x, w, _, params in _cases(rng):
            yield Sample((x, w), {"nd": x.ndim - 2}, params)


@register
class ConvInputGrad(Convolution):
    """The transpose of :class:`Conv` in its input: what ``g`` sends back through ``w`` to an input of spatial
    ``sizes``.
    """

    inputs = ("g", "w")
    linear = ("g", "w")
    sizes: tuple = param("ints")

    def multiply_adds(self, operands, outs):
        g, w = operands
        return elements(g) * math.prod(w.shape[1:])

    def infer(self, g, w, groups, *geometry_and_sizes):
        *geometry, sizes = geometry_and_sizes
        dtype = self.check(g, w, groups=groups, geometry=geometry)
        if len(sizes) != self.nd:
            self.fail(ValueError, f"{self.nd} sizes", tuple(sizes))
        got = f"{tuple(g.shape)} and {tuple(w.shape)}"
        require(self, g.shape[1] == w.shape[0], "g.shape[1] == w.shape[0]", got)
        self.channels(w.shape[1] * groups, w.shape, groups)
        same_shape(
            self, g.shape[2:], self.positions(sizes, w.shape[2:], geometry), "g of the size that the convolution gives"
        )
        return Meta((g.shape[0], w.shape[1] * groups, *sizes), dtype)

    def vjp(self, s, c):
        (g, w), geometry = s.inputs, _geometry(s.params)
        return F.conv(c, w, nd=self.nd, **geometry), F.conv_weight_grad(
            c, g, nd=self.nd, **geometry, sizes=tuple(w.shape[2:])
        )

    def shard(self, g, w, groups, *geometry_and_sizes):
        fx, fw, fg, marks = self.factors(groups, "o")
        return shard_string([fg, fw], [[*fx[:2], *["1"] * self.nd]], **marks)

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        for x, w, g, params in _cases(rng):
            yield Sample((g, w), {"nd": x.ndim - 2}, {**params, "sizes": x.shape[2:]})


@register
class ConvWeightGrad(Convolution):
    """The transpose of :class:`Conv` in its kernels, of spatial ``sizes``."""

    inputs = ("x", "g")
    linear = ("x", "g")
    sizes: tuple = param("ints")

    def multiply_adds(self, operands, outs):
        return elements(operands[1]) * math.prod(outs[0].shape[1:])

    def infer(self, x, g, groups, *geometry_and_sizes):
        *geometry, sizes = geometry_and_sizes
        dtype = self.check(x, g, groups=groups, geometry=geometry)
        if len(sizes) != self.nd:
            self.fail(ValueError, f"{self.nd} sizes", tuple(sizes))
        got = f"{tuple(x.shape)} and {tuple(g.shape)}"
        require(self, x.shape[0] == g.shape[0], "x.shape[0] == g.shape[0]", got)
        require(self, x.shape[1] % groups == 0, "channels that are a multiple of groups", got)
        weight = (g.shape[1], x.shape[1] // groups, *sizes)
        require(self, g.shape[1] % groups == 0, "output channels that are a multiple of groups", got)
        same_shape(
            self, g.shape[2:], self.positions(x.shape[2:], sizes, geometry), "g of the size that the convolution gives"
        )
        return Meta(weight, dtype)

    def vjp(self, s, c):
        (x, g), geometry = s.inputs, _geometry(s.params)
        return F.conv_input_grad(g, c, nd=self.nd, **geometry, sizes=tuple(x.shape[2:])), F.conv(
            x, c, nd=self.nd, **geometry
        )

    def shard(self, x, g, groups, *geometry_and_sizes):
        fx, fw, fg, marks = self.factors(groups, "n")
        return shard_string([fx, fg], [[*fw[:2], *["1"] * self.nd]], **marks)

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        for x, w, g, params in _cases(rng):
            yield Sample((x, g), {"nd": x.ndim - 2}, {**params, "sizes": w.shape[2:]})


@register
class ConvTranspose(Convolution):
    """Transposed convolution: ``x`` ``[n, c, *spatial]`` spread by kernels ``w`` ``[c, o/groups, *kernel]``.

    ``extra`` elements are added at the high end of each spatial dim of the result, which a stride leaves open.
    """

    inputs = ("x", "w")
    linear = ("x", "w")
    extra: tuple = param("ints")

    def multiply_adds(self, operands, outs):
        # Per result, what the reference framework counts of the layer: its input channels per group and all taps,
        # whatever the stride. The convolution that this is computed with has its own count.
        x, w = operands
        groups = outs[0].shape[1] // w.shape[1]
        return elements(outs[0]) * (x.shape[1] // groups) * math.prod(w.shape[2:])

    def _sizes(self, x, w, geometry, extra):
        dims = zip(x.shape[2:], w.shape[2:], *geometry, extra, strict=True)
        return tuple((n - 1) * s - lo - hi + d * (k - 1) + 1 + e for n, k, s, lo, hi, d, e in dims)

    def infer(self, x, w, groups, *geometry_and_extra):
        *geometry, extra = geometry_and_extra
        dtype = self.check(x, w, groups=groups, geometry=geometry)
        if len(extra) != self.nd:
            self.fail(ValueError, f"{self.nd} extra sizes", tuple(extra))
        got = f"{tuple(x.shape)} and {tuple(w.shape)} in {groups} groups"
        require(self, x.shape[1] == w.shape[0], "x.shape[1] == w.shape[0]", got)
        require(self, w.shape[0] % groups == 0, "channels that are a multiple of groups", got)
        for e, stride in zip(extra, geometry[0], strict=True):
            require(self, (e >= 0) & (e < stride), "extra sizes below the stride", tuple(extra))
        sizes = self._sizes(x, w, geometry, extra)
        for n in sizes:
            require(self, n >= 1, "pads that leave at least one element", f"a result of {sizes}")
        return Meta((x.shape[0], w.shape[1] * groups, *sizes), dtype)

    def decompose(self, x, w, groups, strides, pads_lo, pads_hi, dilations, extra):
        geometry = (strides, pads_lo, pads_hi, dilations)
        return F.conv_input_grad(x, w, self.nd, groups, *geometry, self._sizes(x, w, geometry, extra))

    def shard(self, x, w, groups, *geometry_and_extra):
        fx, fw, fg, marks = self.factors(groups, "o")
        return shard_string([["n", "o", *fx[2:]], fw], [[*fx[:2], *["1"] * self.nd]], **marks)

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        def case(nd, x, w, extra=0, dtype=dt.float64, **geometry):
            _, _, _, params = _case(rng, nd, (1, 1, *(9,) * nd), (1, 1, *(1,) * nd), **geometry)
            return Sample((draw(rng, x, dtype), draw(rng, w, dtype)), {"nd": nd}, {**params, "extra": (extra,) * nd})

        yield case(2, (2, 3, 3, 2), (3, 2, 3, 2), strides=2, lo=1, extra=1)
        yield case(1, (1, 4, 3), (4, 2, 2), groups=2, dilations=2)
        yield case(3, (1, 2, 2, 2, 1), (2, 1, 2, 1, 2))
        yield case(2, (0, 2, 2, 2), (2, 1, 2, 2))
        yield case(1, (1, 2, 3), (2, 1, 2), dtype=dt.float32, strides=2)
