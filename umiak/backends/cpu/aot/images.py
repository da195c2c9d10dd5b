"""Convolutions of float32 images with channels last, and their transposes, as steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from umiak.backends.cpu.aot import winograd
from umiak.backends.cpu.aot.epilogue import NOTHING, Epilogue
from umiak.backends.cpu.aot.kernels import Kernels
from umiak.backends.cpu.aot.matmul import Product
from umiak.backends.cpu.aot.memory import Place, place_of, scratch, weight
from umiak.backends.cpu.aot.step import Step

NS_PER_TAP = 0.1  # of an element, without a product
SPREAD_TAPS = (3, 5, 7)  # across, of runtime/depthwise.c
FEWEST_ACROSS = 4
STRUCTS = {"depthwise": "um_depthwise", "depthwise_blocks": "um_depthwise", "spread": "um_spread"}


def convolution(
    name: str, x: Place, w: Place, y: Place, params: Sequence[Any], kernels: Kernels, after: Epilogue = NOTHING
) -> list[Step]:
    """``y[n, *positions, o]`` from ``x[n, *spatial, c]`` by ``w[*kernel, c / groups, o]``: a product whose rows are the
    windows, for each group; or channel by channel."""
    groups, *geometry = params
    if not prod(y.shape):
        return []
    channels, out, taps = x.shape[-1], w.shape[-1], prod(w.shape[:-2])
    image = _image(x.shape[1:-1], y.shape[1:-1], w.shape[:-2], geometry, channels, channels // groups)
    if groups == channels == out:
        kind, w = ("depthwise_blocks", spread) if (spread := _spread(w, image, kernels)) else ("depthwise", w)
        refs = {"x": x.ref, "w": w.ref, "out": y.ref} | after.refs
        return [_rows(kind, name, image, image["out"], y, taps, refs, after.text)]
    if tile := winograd.tile_for(x, w, y, params, kernels):
        return [winograd.step(name, x, w, y, geometry[1], tile, after, kernels)]
    n, taken = out // groups, channels // groups
    plain = taps == 1 and image["stride"] == [1, 1, 1] and not any(image["pad"]) and image["size"] == image["out"]
    steps = []
    for g in range(groups):
        product = Product(
            name, _from(x, g * taken), _from(y, g * n), m=prod(y.shape[:-1]), n=n, k=taps * taken,
            a_row=channels if plain else 0, a_step=1, c_row=out, image=None if plain else image,
            after=after.of_columns(g * n), **_right(w, g * n, taps * taken, n, out),
        )  # fmt: skip
        steps.append(product.step(kernels))
    return [s for s in steps if s is not None]


def transposed(name: str, g: Place, w: Place, x: Place, params: Sequence[Any], kernels: Kernels) -> list[Step]:
    """``x[n, *spatial, c]`` from ``g[n, *positions, o]`` by ``w[o, *kernel, c / groups]``: a product gives each place's
    share for each tap, which are then added up where they belong."""
    groups, *geometry = params[:5]
    if not prod(x.shape):
        return []
    out, channels, taps = w.shape[0], w.shape[-1], prod(w.shape[1:-1])
    image = _image(x.shape[1:-1], g.shape[1:-1], w.shape[1:-1], geometry, x.shape[-1], channels)
    k, n = out // groups, taps * channels
    steps: list[Step | None] = []
    for i in range(groups):
        columns = scratch(g.dtype, (*g.shape[:-1], n))
        product = Product(
            name, _from(g, i * k), columns, m=prod(g.shape[:-1]), n=n, k=k, a_row=out, a_step=1, c_row=n,
            **_right(w, i * k * n, k, n, n),
        )  # fmt: skip
        refs = {"columns": columns.ref, "out": _from(x, i * channels).ref}
        steps += [product.step(kernels), _rows("spread", name, image, image["size"], x, taps, refs, {})]
    return [s for s in steps if s is not None]


def _spread(w: Place, image: dict[str, Any], kernels: Kernels) -> Place | None:
    """``w[*kernel, 1, o]`` as depthwise.h reads it, the taps of a vector of channels side by side; None where rows are
    made place by place."""
    lanes, channels = kernels.processor.lanes, image["channels"]
    one = image["kernel"][0] == image["size"][0] == image["out"][0] == 1 and not image["pad"][0]  # image in depth
    if not one or set(image["dilation"]) != {1} or w.data is None or channels < lanes:
        return None
    if image["kernel"][2] not in SPREAD_TAPS or image["stride"][2] > 2 or image["out"][2] < FEWEST_ACROSS:
        return None
    # The last vector ends with the channels.
    firsts = [min(c, channels - lanes) for c in range(0, channels, lanes)]
    rows = w.data.reshape(-1, channels)
    taps = np.stack([rows[:, c : c + lanes] for c in firsts])
    return place_of(weight(taps), w.dtype, taps.shape)


def _from(x: Place, offset: int) -> Place:
    """A place so many elements further."""
    return Place(x.memory, x.dtype, x.shape, x.strides, x.offset + offset)


def _right(w: Place, offset: int, k: int, n: int, row: int) -> dict[str, Any]:
    """The right operand of a product: ``k`` rows of ``n`` elements, which are ``row`` apart, of a dense place."""
    at = _from(w, offset)
    known = Place(at.memory, at.dtype, (k, n), (row, 1), at.offset).data
    return {"b": at, "b_row": row, "b_step": 1, "matrix": known}


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
    kind: str, name: str, image: dict[str, Any], sizes: Sequence[int], y: Place, taps: int, refs: dict[str, Any],
    text: Mapping[str, str],
) -> Step:  # fmt: skip
    """A step over the rows of ``y``, an image of ``sizes``."""
    rows = y.shape[0] * sizes[0] * sizes[1]
    return Step(
        f"um_run_{kind}", STRUCTS[kind], name, dict(text), refs, rows, prod(y.shape) * taps * NS_PER_TAP, image=image
    )
