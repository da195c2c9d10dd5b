"""Columns of deformable convolutions (Dai et al., 2017; Zhu et al., 2019): images sampled at shifted positions.

Images have channels last, ``x [N, H, W, C]``: a sample is a vector of channels. Tap k of position p lies at
``p*strides - pads + k*dilations`` and is shifted by ``offset [N, groups*taps*2, rows, columns]`` (y, then x); the value
there, bilinear with zeros around the image, is multiplied by ``mask [N, groups*taps, rows, columns]``. Each of
``groups`` parts of the channels has offsets and masks of its own.

Columns are linear in x; :class:`DeformableSpread` is the transpose. :class:`DeformableSlopes` gives the gradients of
offsets and masks; the three are one form in x and g, read three ways. Further derivatives come from the compositions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.ir import sym as dim
from umiak.ir.meta import Meta
from umiak.ops._common import accept, draw, in_compute_type, same_dtype, with_local_shape
from umiak.ops.base import Op, Sample, param, register
from umiak.ops.movement import require


class Deformable(Op):
    """Base: the geometry, and the neighbours of each sample."""

    amp = "promote"
    unbatched = -1  # the place of an operand whose first dim is not that of the images
    kernel: tuple = param("ints")
    groups: int = param("int")
    strides: tuple = param("ints")  # type: ignore[misc]  # a param, not the rule of a view
    pads: tuple = param("ints")
    dilations: tuple = param("ints")

    def check(self, x_shape: Any, offset: Any, mask: Any, geometry: tuple, *others: Any) -> tuple[Any, Any]:
        """The dtype and the number of positions."""
        kernel, groups, strides, pads, dilations = geometry
        accept(self, "f", offset, mask, *others)
        dtype = same_dtype(self, offset, mask, *others)
        for m in (offset, mask):
            if m is not None and len(m.shape) != 4:
                self.fail(ValueError, "offsets and masks of rank 4", tuple(m.shape))
        if len(x_shape) != 4 or not all(len(v) == 2 for v in (kernel, strides, pads, dilations)):
            self.fail(ValueError, "images of rank 4, and two numbers for each of the geometry", tuple(x_shape))
        require(self, groups >= 1, "at least one deformable group", groups)
        require(self, x_shape[3] % groups == 0, f"channels in multiples of {groups}", tuple(x_shape))
        taps = groups * kernel[0] * kernel[1]
        n, rows, columns = offset.shape[0], offset.shape[2], offset.shape[3]
        require(
            self,
            (n == x_shape[0]) & (offset.shape[1] == 2 * taps),
            f"offsets [{x_shape[0]}, {2 * taps}, rows, columns]",
            tuple(offset.shape),
        )
        if mask is not None:
            fits = (mask.shape[0] == n) & (mask.shape[1] == taps)
            fits = fits & (mask.shape[2] == rows) & (mask.shape[3] == columns)
            require(self, fits, f"a mask ({n}, {taps}, {rows}, {columns})", tuple(mask.shape))
        return dtype, (n, rows * columns, kernel[0] * kernel[1], x_shape[3])

    def corners(self, shape: tuple, offset: Any, mask: Any, geometry: tuple) -> Iterator[tuple]:
        """Of each of four neighbours: flat index of its vector ``[N, positions*taps*groups]``, weight, and derivatives
        of the weight with respect to y and x; the mask is not in them. Then the mask ``[N, positions*taps*groups, 1]``.
        """
        kernel, groups, strides, pads, dilations = geometry
        n, height, width, _ = shape
        rows, columns = offset.shape[2], offset.shape[3]
        taps = kernel[0] * kernel[1]
        count = rows * columns * taps * groups

        def grid(size: Any, axis: int, step: Any) -> Any:
            line = F.mul(F.iota(0, 1, dtype=offset.dtype, size=size), step)
            return F.unsqueeze(line, axes=tuple(i for i in range(6) if i != axis))

        # Images and groups are one dim here, since models in files have operators over six dims at most.
        split = F.reshape(offset, shape=(n * groups, kernel[0], kernel[1], 2, rows, columns))
        positions = []
        for axis, size in ((0, height), (1, width)):
            shift = F.slice(split, axes=(3,), starts=(axis,), sizes=(1,), steps=(1,))
            base = F.add(
                grid((rows, columns)[axis], 4 + axis, strides[axis]), grid(kernel[axis], 1 + axis, dilations[axis])
            )
            at = F.add(F.sub(base, pads[axis]), shift)
            # [N, rows, columns, taps, groups], as columns lie
            at = F.reshape(F.squeeze(at, axes=(3,)), shape=(n, groups, *kernel, rows, columns))
            at = F.permute(at, perm=(0, 4, 5, 2, 3, 1))
            positions.append((F.reshape(at, shape=(n, count)), size))
        inside = None
        for at, size in positions:
            here = F.logical_and(F.gt(at, -1), F.lt(at, size))
            inside = here if inside is None else F.logical_and(inside, here)
        parts = []
        for at, size in positions:
            at = F.where(inside, at, 0)
            low = F.floor(at)
            parts.append((F.cast(low, dtype=dt.int64), F.sub(at, low), size))
        (y0, fy, _), (x0, fx, _) = parts
        for down in (0, 1):
            for right in (0, 1):
                row, column = F.add(y0, down), F.add(x0, right)
                there = F.logical_and(
                    F.logical_and(F.ge(row, 0), F.lt(row, height)), F.logical_and(F.ge(column, 0), F.lt(column, width))
                )
                there = F.logical_and(inside, there)
                index = F.where(there, F.add(F.mul(row, width), column), 0)
                wy, wx = fy if down else F.sub(1, fy), fx if right else F.sub(1, fx)
                slopes = (wx if down else F.neg(wx), wy if right else F.neg(wy))
                yield index, *(F.where(there, v, 0) for v in (F.mul(wy, wx), *slopes))
        if mask is None:
            return
        m = F.permute(F.reshape(mask, shape=(n, groups, taps, rows, columns)), perm=(0, 3, 4, 2, 1))
        yield (F.reshape(m, shape=(n, count, 1)),)

    @staticmethod
    def vectors(index: Any, groups: Any, shape: tuple) -> Any:
        """Indices of the vectors of groups among all: images, elements, groups."""
        n, height, width, channels = shape
        count = index.shape[1]
        image = F.unsqueeze(F.mul(F.iota(0, 1, dtype=dt.int64, size=n), height * width), axes=(1,))
        group = F.unsqueeze(F.remainder(F.iota(0, 1, dtype=dt.int64, size=count), groups), axes=(0,))
        return F.reshape(F.add(F.mul(F.add(index, image), groups), group), shape=(n * count,))

    def shard(self, *operands):
        present = list(operands[: len(self.inputs)])
        names = [
            [f"{chr(97 + i)}0" if i == self.unbatched else "n", *(f"{chr(97 + i)}{j}" for j in range(1, len(m.shape)))]
            if m is not None
            else []
            for i, m in enumerate(present)
        ]
        outs = self.shard_outputs(names, present)
        marks = {v: "replicated" for own in (*names, *outs) for v in own if v != "n"}
        text = f"{', '.join(map(' '.join, names))} -> {', '.join(map(' '.join, outs))}"
        return text + " ; " + " ".join(f"{k}={v}" for k, v in marks.items())


def _geometry(params: Any) -> tuple:
    return tuple(params.kernel), params.groups, tuple(params.strides), tuple(params.pads), tuple(params.dilations)


def _flat(x: Any, groups: Any) -> Any:
    """``[N, ..., C]`` as vectors of groups."""
    channels = x.shape[-1] // groups
    return F.reshape(x, shape=(dim.product(x.shape[:-1]) * groups, channels))


@register
class DeformableColumns(Deformable):
    """Samples ``[N, positions, taps, C]``."""

    inputs = ("x", "offset", "mask?")
    linear = ("x",)

    def infer(self, x, offset, mask, *geometry):
        dtype, shape = self.check(x.shape, offset, mask, geometry, x)
        return Meta(shape, dtype)

    def shard_outputs(self, names, metas):
        return [["n", "p", "k", "c"]]

    @in_compute_type
    def decompose(self, x, offset, mask, *geometry):
        groups, shape = geometry[1], tuple(x.shape)
        kernel, positions = geometry[0], offset.shape[2] * offset.shape[3]
        values, total, flat = list(self.corners(shape, offset, mask, geometry)), None, _flat(x, groups)
        n = shape[0]
        for index, weight, *_ in values[:4]:
            part = F.take(flat, self.vectors(index, groups, shape), axis=0)
            part = F.reshape(part, shape=(n, index.shape[1], shape[3] // groups))
            part = F.mul(part, F.unsqueeze(weight, axes=(2,)))
            total = part if total is None else F.add(total, part)
        if mask is not None:
            total = F.mul(total, values[4][0])
        return F.reshape(total, shape=(n, positions, kernel[0] * kernel[1], shape[3]))

    def vjp(self, s, g):
        x, offset, mask = s.inputs
        geometry = _geometry(s.params)
        gx = F.deformable_spread(g, offset, mask, *geometry, tuple(x.shape)) if s.needs[0] else None
        if not any(s.needs[1:]):
            return gx, None, None
        slopes = F.deformable_slopes(x, g, offset, mask, *geometry)
        return (gx, slopes, None) if mask is None else (gx, *slopes)

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        for x, _, offset, mask, params in _cases(rng):
            yield Sample((x, offset, mask), params=params)


@register
class DeformableConv(Deformable):
    """Kernels ``weight [M, C / parts, *kernel]`` over samples of images ``[N, C, H, W]``: ``[N, M, rows, columns]``.

    Each of ``parts`` parts of the channels has kernels of its own.
    """

    inputs = ("x", "offset", "weight", "mask?")
    unbatched = 2
    parts: int = 1

    def infer(self, x, offset, weight, mask, *geometry):
        if len(x.shape) != 4 or len(weight.shape) != 4:
            self.fail(ValueError, "images and kernels of rank 4", (tuple(x.shape), tuple(weight.shape)))
        n, channels, *image = x.shape
        dtype, _ = self.check((n, *image, channels), offset, mask, geometry, x, weight)
        require(self, self.parts >= 1, "at least one part", self.parts)
        fits = (channels == weight.shape[1] * self.parts) & (weight.shape[0] % self.parts == 0)
        require(self, fits, f"channels and kernels in {self.parts} equal parts", (tuple(x.shape), tuple(weight.shape)))
        for size, expected in zip(weight.shape[2:], geometry[0], strict=True):
            require(self, size == expected, f"kernels of {tuple(geometry[0])}", tuple(weight.shape))
        return Meta((n, weight.shape[0], *offset.shape[2:]), dtype)

    def shard_outputs(self, names, metas):
        return [["n", "m", "p", "q"]]

    @in_compute_type
    def decompose(self, x, offset, weight, mask, *geometry):
        last = F.copy(F.permute(x, perm=(0, 2, 3, 1)))
        samples = F.deformable_columns(last, offset, mask, *geometry)
        channels, own = samples.shape[3] // self.parts, weight.shape[0] // self.parts
        results = []
        for i in range(self.parts):
            part, kernels = samples, weight
            if self.parts > 1:
                part = F.slice(samples, axes=(3,), starts=(i * channels,), sizes=(channels,), steps=(1,))
                kernels = F.slice(weight, axes=(0,), starts=(i * own,), sizes=(own,), steps=(1,))
            results.append(_product(part, kernels))
        y = results[0] if self.parts == 1 else F.concat(results, axis=1)
        return F.reshape(y, shape=(x.shape[0], weight.shape[0], offset.shape[2], offset.shape[3]))

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        for x, _, offset, mask, params in _cases(rng):
            channels = x.shape[3]
            parts = 1 if channels == 2 else channels // 2 if channels % 2 == 0 else channels
            weight = draw(rng, (2 * parts, channels // parts, *params["kernel"]), dt.convert(x.dtype))
            images = x.transpose(0, 3, 1, 2).copy()
            yield Sample((images, offset, weight, mask), attrs={"parts": parts}, params=params)


def _product(samples: Any, weight: Any) -> Any:
    """Kernels times samples, for one part of the channels: ``[N, M, positions]``."""
    n, positions, taps, channels = samples.shape
    kernels = F.reshape(F.permute(weight, perm=(0, 2, 3, 1)), shape=(weight.shape[0], taps * channels))
    return F.matmul(kernels, F.reshape(samples, shape=(n, positions, taps * channels)), transpose_y=True)


@register
class DeformableSpread(Deformable):
    """The transpose of :class:`DeformableColumns`: ``g [N, positions, taps, C]`` into images of sizes ``shape``."""

    inputs = ("g", "offset", "mask?")
    linear = ("g",)
    on_shard = with_local_shape
    shape: tuple = param("ints")

    def infer(self, g, offset, mask, *params):
        *geometry, shape = params
        dtype, expected = self.check(shape, offset, mask, tuple(geometry), g)
        _check_columns(self, g, expected)
        return Meta(tuple(shape), dtype)

    def shard_outputs(self, names, metas):
        return [["n", "h", "w", "c"]]

    @in_compute_type
    def decompose(self, g, offset, mask, *params):
        *geometry, shape = params
        groups, shape = geometry[1], tuple(shape)
        values = list(self.corners(shape, offset, mask, tuple(geometry)))
        n, count, own = shape[0], values[0][0].shape[1], shape[3] // groups
        g = F.reshape(g, shape=(n, count, own))
        if mask is not None:
            g = F.mul(g, values[4][0])
        total = F.full(0, dtype=g.dtype, shape=(n * shape[1] * shape[2] * groups, own))
        for index, weight, *_ in values[:4]:
            rows = F.reshape(F.mul(g, F.unsqueeze(weight, axes=(2,))), shape=(n * count, own))
            total = F.put(total, self.vectors(index, groups, shape), rows, axis=0, mode="add")
        return F.reshape(total, shape=shape)

    def vjp(self, s, gx):
        g, offset, mask = s.inputs
        geometry = _geometry(s.params)
        gg = F.deformable_columns(gx, offset, mask, *geometry) if s.needs[0] else None
        if not any(s.needs[1:]):
            return gg, None, None
        slopes = F.deformable_slopes(gx, g, offset, mask, *geometry)
        return (gg, slopes, None) if mask is None else (gg, *slopes)

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        for x, g, offset, mask, params in _cases(rng):
            yield Sample((g, offset, mask), params={**params, "shape": x.shape})


@register
class DeformableSlopes(Deformable):
    """Gradients of the offsets, and of the mask where there is one, from images and gradients ``g`` of columns."""

    inputs = ("x", "g", "offset", "mask?")
    linear = (("x",), ("g",))

    def infer(self, x, g, offset, mask, *geometry):
        dtype, expected = self.check(x.shape, offset, mask, geometry, x, g)
        _check_columns(self, g, expected)
        slopes = Meta(tuple(offset.shape), dtype)
        return slopes if mask is None else (slopes, Meta(tuple(mask.shape), dtype))

    def shard_outputs(self, names, metas):
        return [[*names[2]]] if metas[3] is None else [[*names[2]], [*names[3]]]

    @in_compute_type
    def decompose(self, x, g, offset, mask, *geometry):
        kernel, groups = geometry[:2]
        shape = tuple(x.shape)
        n, own = shape[0], shape[3] // groups
        values, flat = list(self.corners(shape, offset, mask, geometry)), _flat(x, groups)
        count = values[0][0].shape[1]
        g = F.reshape(g, shape=(n, count, own))
        sums = [None, None, None]
        for index, *weights in values[:4]:
            part = F.reshape(F.take(flat, self.vectors(index, groups, shape), axis=0), shape=(n, count, own))
            dot = F.sum(F.mul(part, g), axes=(2,))
            for i, w in enumerate(weights):
                term = F.mul(dot, w)
                sums[i] = term if sums[i] is None else F.add(sums[i], term)
        rows, columns = offset.shape[2], offset.shape[3]

        def back(v: Any) -> Any:
            """``[N, positions*taps*groups]`` as ``[N, groups, taps, rows, columns]``."""
            v = F.reshape(v, shape=(n, rows, columns, kernel[0] * kernel[1], groups))
            return F.permute(v, perm=(0, 4, 3, 1, 2))

        slopes = [F.mul(v, F.squeeze(values[4][0], axes=(2,))) if mask is not None else v for v in sums[1:]]
        of_offset = F.reshape(F.stack([back(v) for v in slopes], axis=3), shape=tuple(offset.shape))
        return of_offset if mask is None else (of_offset, F.reshape(back(sums[0]), shape=tuple(mask.shape)))

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        for x, g, offset, mask, params in _cases(rng):
            yield Sample((x, g, offset, mask), params=params)


def _check_columns(op: Op, g: Any, expected: tuple) -> None:
    if len(g.shape) != 4:
        op.fail(ValueError, f"g {expected}", tuple(g.shape))
    for n, m in zip(g.shape, expected, strict=True):
        require(op, n == m, f"g {expected}", tuple(g.shape))


def _cases(rng: Any) -> Iterator[tuple]:
    """Images, gradients of columns, offsets, masks and geometries; no sample lies at an element, where slopes jump."""
    rows: tuple[tuple, ...] = (
        ((2, 4, 5, 4), (2, 3), 2, (1, 1), (1, 1), (1, 1), True, dt.float64),
        ((1, 5, 4, 2), (2, 2), 1, (2, 1), (0, 1), (1, 2), False, dt.float64),
        ((1, 3, 3, 3), (1, 1), 3, (1, 2), (0, 0), (1, 1), True, dt.float32),
        ((1, 3, 4, 2), (2, 2), 1, (1, 1), (0, 0), (1, 1), False, dt.bfloat16),
        ((0, 3, 4, 2), (2, 2), 1, (1, 1), (0, 0), (1, 1), True, dt.float32),
    )
    for shape, kernel, groups, strides, pads, dilations, masked, dtype in rows:
        space = [
            (n + 2 * p - (d * (k - 1) + 1)) // t + 1
            for n, p, d, k, t in zip(shape[1:3], pads, dilations, kernel, strides, strict=True)
        ]
        taps = groups * kernel[0] * kernel[1]
        offset = rng.integers(-2, 2, (shape[0], 2 * taps, *space)) + rng.uniform(0.2, 0.8, (shape[0], 2 * taps, *space))
        mask = draw(rng, (shape[0], taps, *space), dtype) if masked else None
        g = draw(rng, (shape[0], space[0] * space[1], kernel[0] * kernel[1], shape[3]), dtype)
        params = {"kernel": kernel, "groups": groups, "strides": strides, "pads": pads, "dilations": dilations}
        yield draw(rng, shape, dtype), g, offset.astype(dtype.numpy), mask, params
