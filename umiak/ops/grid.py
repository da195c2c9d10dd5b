"""Sampling at positions that a tensor names, and the positions of an affine map (Jaderberg et al., 2015: Spatial
Transformer Networks); weighted sums of neighbours.

Coordinates run from -1 to 1 over each dim. With ``align_corners`` these are the centres of the first and last element,
otherwise the outer edges of these.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.ir import sym as dim
from umiak.ir.meta import Meta
from umiak.ops._common import accept, check_axes, draw, factor_names, in_compute_type, same_dtype, shard_string
from umiak.ops.base import Op, Sample, param, register
from umiak.ops.index import counter
from umiak.ops.movement import require

MODES = ("bilinear", "nearest")
PADDINGS = ("zeros", "border", "reflection")


@register
class GridSample(Op):
    """Values of ``x [N, C, *sizes]`` at the positions ``grid [N, *positions, n]``, for n = 2 or 3 spatial dims.

    The last dim of the grid holds coordinates, that of x's last dim first. ``mode`` says how neighbours are blended
    (``"bilinear"`` in three dims too), ``padding`` what lies outside.
    """

    inputs = ("x", "grid")
    linear = ("x",)
    amp = "deny"
    mode: str = "bilinear"
    padding: str = "zeros"
    align_corners: bool = True

    def infer(self, x, grid):
        accept(self, "f", x, grid)
        dtype, n = same_dtype(self, x, grid), len(x.shape) - 2
        if self.mode not in MODES or self.padding not in PADDINGS:
            self.fail(ValueError, f"a mode of {MODES} and a padding of {PADDINGS}", f"{self.mode} and {self.padding}")
        got = f"{tuple(x.shape)} and {tuple(grid.shape)}"
        if n not in (2, 3) or len(grid.shape) != n + 2:
            self.fail(ValueError, "x [N, C, *sizes] and a grid [N, *positions, n] with n = 2 or 3 sizes", got)
        require(self, (grid.shape[0] == x.shape[0]) & (grid.shape[-1] == n), f"x and a grid [N, *positions, {n}]", got)
        for size in x.shape[2:]:
            require(self, size >= 1, "sizes of 1 or more", got)
        return Meta((x.shape[0], x.shape[1], *grid.shape[1:-1]), dtype)

    def _places(self, grid, axis, size):
        """Return the coordinates of a grid along a dim of ``size`` elements, in elements; shape ``[N, P]``."""
        n = len(grid.shape) - 2
        c = F.slice(grid, axes=(n + 1,), starts=(n - 1 - axis,), sizes=(1,), steps=(1,))
        c = F.reshape(c, shape=(grid.shape[0], dim.product(grid.shape[1:-1])))
        last = dim.to_float(size) - 1
        where = F.mul(F.add(c, 1), last / 2) if self.align_corners else F.sub(F.mul(F.add(c, 1), (last + 1) / 2), 0.5)
        if self.padding == "reflection":
            edge, span = (0.0, last) if self.align_corners else (-0.5, last + 1)
            # A walk to and fro has period 2*span; one element that is its own mirror has none.
            period = dim.maximum(2 * span, 1)
            moved = F.sub(where, edge)
            phase = F.sub(moved, F.mul(F.floor(F.div(moved, period)), period))
            where = F.add(F.sub(span, F.abs(F.sub(span, phase))), edge)
        return where if self.padding == "zeros" else F.clip(where, 0, last)

    @in_compute_type
    def decompose(self, x, grid):
        n, space = x.ndim - 2, x.shape[2:]
        batch, channels, points = x.shape[0], x.shape[1], dim.product(grid.shape[1:-1])
        flat = F.reshape(x, shape=(batch, channels, dim.product(space)))
        neighbours = []  # of each dim: (index, weight) of those that count
        for axis in range(n):
            last = dim.to_float(space[axis]) - 1
            where = self._places(grid, axis, space[axis])
            if self.mode == "nearest":
                near = F.round(where)
                # Always 1, and flat in the grid: its gradient is zeros.
                taps = [(near, F.add(F.mul(near, 0), 1))]
            else:
                low = F.floor(where)
                part = F.sub(where, low)
                taps = [(low, F.sub(1, part)), (F.add(low, 1), part)]
            each = []
            for position, weight in taps:
                inside = F.logical_and(F.ge(position, 0), F.le(position, last))
                # NaN is nowhere: it takes element 0, and stays in the weight of a blend.
                index = F.cast(F.where(inside, position, 0), dtype=dt.int64)
                if self.mode == "nearest":
                    weight = F.where(inside, weight, 0)
                else:
                    weight = F.mul(weight, F.cast(inside, dtype=x.dtype))
                each.append((index, weight))
            neighbours.append(each)
        total: Any = None
        for corner in itertools.product(*neighbours):
            index, weight = corner[0]
            for size, (i, w) in zip(space[1:], corner[1:], strict=True):
                index, weight = F.add(F.mul(index, size), i), F.mul(weight, w)
            index = F.broadcast_to(F.unsqueeze(index, axes=(1,)), shape=(batch, channels, points))
            part = F.mul(F.take_along(flat, index, axis=2), F.unsqueeze(weight, axes=(1,)))
            total = part if total is None else F.add(total, part)
        return F.reshape(total, shape=(batch, channels, *grid.shape[1:-1]))

    def shard(self, x, grid):
        names, n = factor_names(len(x.shape)), len(x.shape) - 2
        positions = [f"p{i}" for i in range(n)]
        replicated = dict.fromkeys((*names[2:], "g"), "replicated")
        return shard_string([names, [names[0], *positions, "g"]], [[*names[:2], *positions]], **replicated)

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        # Away from kinks: no position is half-way or at an element, in whatever convention.
        def grid(*shape: int, dtype: Any = dt.float64) -> Any:
            return (rng.integers(-6, 6, shape) * 0.31 + 0.0713 * rng.random(shape) + 0.02).astype(dtype.numpy)

        for mode, padding, align in itertools.product(MODES, PADDINGS, (True, False)):
            attrs = {"mode": mode, "padding": padding, "align_corners": align}
            some = None if mode == "bilinear" else (0,)
            yield Sample((draw(rng, (2, 2, 3, 4)), grid(2, 2, 3, 2)), attrs, differentiable=some)
        yield Sample((draw(rng, (1, 2, 2, 3, 2)), grid(1, 2, 1, 2, 3)), note="three dims")
        yield Sample((draw(rng, (1, 1, 1, 3)), grid(1, 1, 2, 2)), {"padding": "reflection"}, note="one element")
        yield Sample((draw(rng, (0, 2, 3, 4)), grid(0, 2, 3, 2)), note="0-size")
        yield Sample(
            (draw(rng, (1, 2, 3, 4), dt.float32), grid(1, 2, 3, 2, dtype=dt.float32)), {"align_corners": False}
        )
        yield Sample((draw(rng, (1, 2, 3, 4), dt.bfloat16), grid(1, 2, 3, 2, dtype=dt.bfloat16)), {"padding": "border"})
        far = np.array([[[[np.nan, 0.0], [1e6, -1e6]]]], np.float32)
        yield Sample((draw(rng, (1, 1, 2, 2), dt.float32), far), differentiable=(), note="NaN, far away")


@register
class Blend(Op):
    """Weighted sums of ``taps`` elements along ``axis``: the sum over k of ``x[index[k, j]] * weights[k, j]`` at j.

    ``index`` and ``weights`` are of shape ``[taps, n]``.
    """

    inputs = ("x", "index", "weights")
    linear = ("x",)
    amp = "promote"
    axis: int
    taps: int

    def infer(self, x, index, weights):
        accept(self, "fc", x, weights)
        check_axes(self, (self.axis,), len(x.shape))
        dtype, got = same_dtype(self, x, weights), f"{tuple(index.shape)} and {tuple(weights.shape)}"
        if index.dtype not in (dt.int32, dt.int64):
            self.fail(TypeError, "an index of int32 or int64", index.dtype)
        if len(index.shape) != 2 or len(weights.shape) != 2:
            self.fail(ValueError, "an index and weights [taps, n]", got)
        n = index.shape[1]
        fits = (index.shape[0] == self.taps) & (weights.shape[0] == self.taps) & (weights.shape[1] == n)
        require(self, fits, f"an index and weights [{self.taps}, n]", got)
        return Meta((*x.shape[: self.axis], n, *x.shape[self.axis + 1 :]), dtype)

    @in_compute_type
    def decompose(self, x, index, weights):
        total: Any = None
        for k in range(self.taps):
            places, weight = (
                F.squeeze(F.slice(v, axes=(0,), starts=(k,), sizes=(1,), steps=(1,)), axes=(0,))
                for v in (index, weights)
            )
            if self.axis < x.ndim - 1:
                weight = F.unsqueeze(weight, axes=tuple(range(1, x.ndim - self.axis)))
            part = F.mul(F.take(x, places, axis=self.axis), weight)
            total = part if total is None else F.add(total, part)
        return total

    def shard(self, x, index, weights):
        names = factor_names(len(x.shape))
        replicated = {names[self.axis]: "replicated", "t": "replicated"}
        return shard_string(
            [names, ["t", "j"], ["t", "j"]], [[*names[: self.axis], "j", *names[self.axis + 1 :]]], **replicated
        )

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        index = np.array([[0, 2, 1, 0], [1, 2, 2, 0]])
        for axis, shape in ((0, (3,)), (1, (2, 3)), (1, (2, 3, 2))):
            yield Sample((draw(rng, shape), index, draw(rng, (2, 4))), {"axis": axis, "taps": 2})
        one = index[:1].astype(np.int32)
        yield Sample((draw(rng, (2, 3), dt.float32), one, draw(rng, (1, 4), dt.float32)), {"axis": 1, "taps": 1})
        yield Sample((draw(rng, (3,), dt.complex128), index, draw(rng, (2, 4), dt.complex128)), {"axis": 0, "taps": 2})
        yield Sample((draw(rng, (3,), dt.bfloat16), index, draw(rng, (2, 4), dt.bfloat16)), {"axis": 0, "taps": 2})
        yield Sample((draw(rng, (0, 3)), index, draw(rng, (2, 4))), {"axis": 1, "taps": 2}, note="0-size")


@register
class AffineGrid(Op):
    """For each position of an output of ``sizes``, the coordinates ``theta @ (position, 1)`` to sample at.

    ``theta [N, n, n+1]`` gives ``[N, *sizes, n]``; coordinates are those of the last dim first.
    """

    inputs = ("theta",)
    amp = "deny"
    align_corners: bool = True
    sizes: tuple = param("ints")

    def infer(self, theta, sizes):
        accept(self, "f", theta)
        n, got = len(sizes), f"{tuple(theta.shape)} for {len(sizes)} sizes"
        if n not in (2, 3) or len(theta.shape) != 3:
            self.fail(ValueError, "theta [N, n, n+1] and n = 2 or 3 sizes", got)
        require(self, (theta.shape[1] == n) & (theta.shape[2] == n + 1), f"theta of shape [N, {n}, {n + 1}]", got)
        return Meta((theta.shape[0], *sizes, n), theta.dtype)

    @in_compute_type
    def decompose(self, theta, sizes):
        n, batch = len(sizes), theta.shape[0]
        columns = []
        for axis in reversed(range(n)):
            size = sizes[axis]
            # Centres of elements, from -(size-1) to size-1 in steps of 2.
            ticks = F.cast(F.sub(F.mul(counter(size), 2), size - 1), dtype=theta.dtype)
            line = F.div(ticks, dim.to_float(dim.maximum(size - 1, 1) if self.align_corners else size))
            line = F.unsqueeze(line, axes=tuple(i for i in range(n) if i != axis))
            columns.append(F.broadcast_to(line, shape=tuple(sizes)))
        columns.append(F.full(1, dtype=theta.dtype, shape=tuple(sizes)))
        positions = F.reshape(F.stack(columns, axis=n), shape=(1, dim.product(sizes), n + 1))
        out = F.matmul(positions, F.permute(theta, perm=(0, 2, 1)))
        return F.reshape(out, shape=(batch, *sizes, n))

    def shard(self, theta, sizes):
        # The positions of a part of the grid would depend on where it lies.
        return shard_string([["b", "n", "m"]], [["b", *["1"] * len(sizes), "n"]], n="replicated", m="replicated")

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        for align in (True, False):
            yield Sample((draw(rng, (2, 2, 3)),), {"align_corners": align}, {"sizes": (2, 3)})
            yield Sample((draw(rng, (1, 3, 4)),), {"align_corners": align}, {"sizes": (1, 3, 2)})
        yield Sample((draw(rng, (0, 2, 3), dt.float32),), params={"sizes": (2, 2)}, note="0-size")
        yield Sample((draw(rng, (1, 2, 3), dt.bfloat16),), params={"sizes": (2, 2)})
