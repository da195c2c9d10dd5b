"""Fractional max pooling: windows at positions that a random number moves (Graham, 2014)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.ir import sym as dim
from umiak.ir.meta import Meta
from umiak.ops._common import accept, cast_to, in_compute_type
from umiak.ops.base import Sample, param, register
from umiak.ops.index import counter
from umiak.ops.movement import require
from umiak.ops.window import Windowed, chosen_vjp


@register
class FractionalMaxPool(Windowed):
    """The largest of each of ``counts`` windows, and its flat index over the windowed dims: the first of equals.

    Window i starts at ``floor((i + v)*a) - floor(v*a)``, in float32. With ``overlapping``, windows have the sizes
    ``kernel``, ``a = (size - kernel)/(count - 1)`` and v is ``u``; else a window ends where the next one starts,
    ``a = size/count``, and v is ``u`` times the largest number with which the last window ends at the end. ``u``, one
    number, lies between 0 and 1.
    """

    inputs = ("x", "u")
    dtype: Any = dt.int64
    overlapping: bool = False
    counts: tuple = param("ints")
    kernel: tuple = param("ints")

    def infer(self, x, u, counts, kernel):
        accept(self, "f", x, u)
        if u.shape:
            self.fail(ValueError, "u without dims", tuple(u.shape))
        lead, spatial = self.split(x)
        if len(counts) != self.n or len(kernel) != self.n:
            self.fail(ValueError, f"{self.n} counts and sizes of windows", (tuple(counts), tuple(kernel)))
        for size, count, k in zip(spatial, counts, kernel, strict=True):
            require(self, (count >= 1) & (k >= 1), "counts and windows of 1 or more", (tuple(counts), tuple(kernel)))
            fits = count - 1 + k if self.overlapping else count
            require(self, fits <= size, f"room for {tuple(counts)} windows", tuple(spatial))
        shape = lead + tuple(counts)
        return Meta(shape, x.dtype), Meta(shape, self.dtype)

    def positions(self, size: Any, count: Any, k: Any, u: Any) -> tuple:
        """Positions in each window ``[count, k]`` and whether they are in it."""
        i = F.iota(0, 1, dtype=dt.float32, size=count)
        one = F.full(1, dtype=dt.float32, shape=())
        if self.overlapping:
            a = F.div(F.mul(one, size - k), dim.maximum(count - 1, 1))
            v, longest = u, k
        else:
            a = F.div(F.mul(one, size), count)
            base = size // count
            most = F.minimum(
                F.sub(F.div(F.mul(one, base + 2), a), 1), F.sub(F.div(F.mul(one, size + 1 - base), a), count - 1)
            )
            v, longest = F.mul(u, most), base + 1

        def floored(x: Any) -> Any:
            return F.cast(F.floor(F.mul(x, a)), dtype=dt.int64)

        start = F.sub(floored(F.add(i, v)), floored(v))
        if self.overlapping:
            # Rounding may move a last window out.
            start = F.minimum(start, size - k)
            stop = F.add(start, k)
        else:
            stop = F.minimum(F.sub(floored(F.add(F.add(i, 1), v)), floored(v)), size)
        position = F.add(F.unsqueeze(start, axes=(1,)), counter(longest))
        return F.minimum(position, size - 1), F.lt(position, F.unsqueeze(stop, axes=(1,)))

    @in_compute_type
    def decompose(self, x, u, counts, kernel):
        _, spatial = self.split(x)
        u = cast_to(u, dt.float32)
        values, index, there = x, None, None
        lead = x.ndim - self.n
        widths = []
        for k, (size, count, width) in enumerate(zip(spatial, counts, kernel, strict=True)):
            position, inside = self.positions(size, count, width, u)
            widths.append(position.shape[1])
            values = F.take(values, F.reshape(position, shape=(count * widths[k],)), axis=lead + k)
            # Dims of all windows: count and position of the first dim, of the second, and so on.
            shape = (*(1,) * (2 * k), count, widths[k], *(1,) * (2 * (self.n - 1 - k)))
            position, inside = F.reshape(position, shape=shape), F.reshape(inside, shape=shape)
            index = position if index is None else F.add(F.mul(index, size), position)
            there = inside if there is None else F.logical_and(there, inside)
        window = tuple(m for pair in zip(counts, widths, strict=True) for m in pair)
        order = (*range(0, 2 * self.n, 2), *range(1, 2 * self.n, 2))

        def rows(v: Any, leading: tuple) -> Any:
            """Return ``v``, over counts and widths dim by dim, with the positions of each window along one last dim."""
            v = F.reshape(F.broadcast_to(v, shape=(*leading, *window)), shape=(*leading, *window))
            moved = F.permute(v, perm=(*range(len(leading)), *(len(leading) + i for i in order)))
            return F.reshape(moved, shape=(*leading, *counts, dim.product(widths)))

        leading = tuple(x.shape[:lead])
        values = F.reshape(values, shape=(*leading, *window))
        seen = rows(F.where(there, values, float("-inf")), leading)
        best = F.argmax(seen, axis=seen.ndim - 1, keepdim=True)
        flat = F.broadcast_to(rows(index, ()), shape=tuple(seen.shape))
        chosen = F.squeeze(F.take_along(flat, best, axis=seen.ndim - 1), axes=(seen.ndim - 1,))
        y = F.squeeze(F.take_along(seen, best, axis=seen.ndim - 1), axes=(seen.ndim - 1,))
        return y, F.cast(chosen, dtype=self.dtype)

    def vjp(self, s, g, _):
        return (*chosen_vjp(self, s, g, _), None)

    def shard(self, x, u, *params):
        return super().shard(x).replace(" ->", ",  ->")

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        for shape, counts, kernel, u, dtype in (
            ((2, 3, 7), (3,), (1,), 0.3, dt.float64),
            ((2, 7), (3,), (2,), 0.3, dt.float64),
            ((1, 2, 7, 6), (3, 4), (2, 3), 0.7, dt.float64),
            ((1, 2, 5, 7), (5, 3), (1, 1), 0.7, dt.float32),
            ((1, 4, 3, 5), (2, 3, 2), (1, 1, 1), 0.5, dt.float32),
            ((0, 2, 4), (2,), (1,), 0.5, dt.float32),
            ((2, 7), (3,), (2,), 0.9, dt.bfloat16),
        ):
            x = (rng.permutation(int(np.prod(shape))).reshape(shape) * 0.37 - 3).astype(dtype.numpy)
            for overlapping in (False, True):
                yield Sample(
                    (x, np.array(u, np.float32)),
                    {"n": len(counts), "overlapping": overlapping},
                    {"counts": counts, "kernel": kernel},
                    (0,),
                )
        ties = np.array([[1.0, 1.0, np.nan, -np.inf, -np.inf, 2.0]], np.float32)
        yield Sample((ties, np.array(0.5, np.float32)), {"n": 1}, {"counts": (3,), "kernel": (1,)}, (), "NaN and ties")
