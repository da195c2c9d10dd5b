"""Convolutions of float32 images with channels last, and their transposes, as steps."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from umiak.backends.cpu.aot.errors import uncompilable
from umiak.backends.cpu.aot.kernels import Kernels
from umiak.backends.cpu.aot.matmul import Product
from umiak.backends.cpu.aot.memory import Place, scratch, weight
from umiak.backends.cpu.aot.step import Step

NS_PER_TAP = 0.1  # of an element, without a product


def convolution(name: str, x: Place, w: np.ndarray, y: Place, params: Sequence[Any], kernels: Kernels) -> list[Step]:
    """``y[n, *positions, o]`` from ``x[n, *spatial, c]`` by ``w[o, c / groups, *kernel]``: a product whose rows are the
    windows, for each group; or channel by channel."""
    groups, *geometry = params
    if not prod(y.shape):
        return []
    channels, out, taps = x.shape[-1], w.shape[0], prod(w.shape[2:])
    image = _image(x.shape[1:-1], y.shape[1:-1], w.shape[2:], geometry, channels, channels // groups)
    if groups == channels == out:
        refs = {"x": x.ref, "w": (weight(w.reshape(out, taps).T), 0), "out": y.ref}
        return [_rows("depthwise", name, image, image["out"], y, taps, refs)]
    n, taken = out // groups, channels // groups
    plain = taps == 1 and image["stride"] == [1, 1, 1] and not any(image["pad"]) and image["size"] == image["out"]
    steps = []
    for g in range(groups):
        matrix = w.reshape(groups, n, taken, taps)[g].transpose(2, 1, 0).reshape(taps * taken, n)
        a = Place(x.memory, x.dtype, x.shape, x.strides, x.offset + g * taken)
        c = Place(y.memory, y.dtype, y.shape, y.strides, y.offset + g * n)
        product = Product(
            name, a, c, m=prod(y.shape[:-1]), n=n, k=taps * taken, a_row=channels if plain else 0, a_step=1, c_row=out,
            matrix=matrix, image=None if plain else image,
        )  # fmt: skip
        steps.append(product.step(kernels))
    return [s for s in steps if s is not None]


def transposed(name: str, g: Place, w: np.ndarray, x: Place, params: Sequence[Any], kernels: Kernels) -> list[Step]:
    """``x[n, *spatial, c]`` from ``g[n, *positions, o]``: a product gives each place's share for each tap, which are
    then added up where they belong."""
    groups, *geometry = params[:5]
    if groups != 1:
        raise uncompilable("transposed convolutions in one group", f"{name} in {groups}")
    if not prod(x.shape):
        return []
    channels, out, taps = x.shape[-1], w.shape[0], prod(w.shape[2:])
    image = _image(x.shape[1:-1], g.shape[1:-1], w.shape[2:], geometry, channels, channels)
    matrix = w.reshape(out, channels, taps).transpose(0, 2, 1).reshape(out, taps * channels)
    columns = scratch(g.dtype, (*g.shape[:-1], taps * channels))
    product = Product(
        name, g, columns, m=prod(g.shape[:-1]), n=taps * channels, k=out, a_row=out, a_step=1, c_row=taps * channels,
        matrix=matrix,
    )  # fmt: skip
    step = product.step(kernels)
    spread = _rows("spread", name, image, image["size"], x, taps, {"columns": columns.ref, "out": x.ref})
    return [spread] if step is None else [step, spread]


def _image(
    size: Sequence[int], out: Sequence[int], kernel: Sequence[int], geometry: Sequence[Any], channels: int, taken: int
) -> dict[str, Any]:
    """The fields of an ``um_image``: three dims, the first of size 1 where there are fewer."""
    strides, lo, _, dilations = geometry
    lead = 3 - len(size)

    def three(xs: Sequence[int], fill: int) -> list[int]:
        return [fill] * lead + [int(x) for x in xs]

    return {
        "size": three(size, 1), "out": three(out, 1), "kernel": three(kernel, 1), "stride": three(strides, 1),
        "pad": three(lo, 0), "dilation": three(dilations, 1), "channels": channels, "taken": taken,
    }  # fmt: skip


def _rows(
    kind: str, name: str, image: dict[str, Any], sizes: Sequence[int], y: Place, taps: int, refs: dict[str, Any]
) -> Step:
    """A step over the rows of ``y``, an image of ``sizes``."""
    rows = y.shape[0] * sizes[0] * sizes[1]
    return Step(f"um_run_{kind}", f"um_{kind}", name, {}, refs, rows, prod(y.shape) * taps * NS_PER_TAP, image=image)
