"""Images in other sizes, and read at places."""

from __future__ import annotations

from typing import Any

import numpy as np

from paddle.onnx.builder import Builder, Unsayable, Value
from paddle.onnx.rules.convolutions import as_given, channels_first
from paddle.onnx.shapes import (
    arange,
    concat,
    expand,
    known,
    numbers,
    reshape,
    scalar,
    shape,
    slices,
    transpose,
    unsqueeze,
    vector,
)
from paddle.onnx.table import Call, rule

_MODES = {"nearest": "nearest", "bilinear": "linear", "linear": "linear", "trilinear": "linear", "bicubic": "cubic"}


@rule("nearest_interp", "bilinear_interp", "linear_interp", "trilinear_interp", "bicubic_interp", "interp_antialias")
def interpolate(g: Builder, o: Call) -> Value:
    form = o("data_format", o("data_layout", "NCHW"))
    x = channels_first(g, o[0], "NHWC" if form in ("NHWC", "NDHWC", "NWC", "NLC") else form)
    space = x.rank - 2
    method = o("interp_method", o.name.removesuffix("_interp"))
    align = o("align_corners", False)
    if align:
        place = "align_corners"
    elif method == "nearest" or (_MODES[method] == "linear" and o("align_mode", 1) == 1):
        place = "asymmetric"
    else:
        place = "half_pixel"
    rounded = ("round_prefer_ceil" if align else "floor") if method == "nearest" else None
    attributes: dict[str, Any] = {
        "mode": _MODES[method], "coordinate_transformation_mode": place, "nearest_mode": rounded,
        "cubic_coeff_a": -0.75 if method == "bicubic" else None,
    }  # fmt: skip
    if o.name == "interp_antialias":
        # What lies outside of the image has no weight.
        attributes |= {"antialias": 1, "exclude_outside": 1}
    scales, sizes = _target(g, o, x, space)
    blank = g.constant(np.zeros(0, np.float32))
    region = None if g.opset >= 13 else blank
    if sizes is not None:
        y = g.node("Resize", x, region, None if g.opset >= 13 else blank, sizes, **attributes)
    else:
        y = g.node("Resize", x, region, scales, **attributes)
    return as_given(g, known(y, [-1] * x.rank), "NHWC" if form in ("NHWC", "NDHWC", "NWC", "NLC") else form, x.rank)


def _target(g: Builder, o: Call, x: Value, space: int) -> tuple[Value | None, Value | None]:
    """Scales or sizes. Tensors of sizes count before a tensor of scales, that before attributes."""
    out = None
    if o[2] is not None:  # a list of sizes
        out = vector(g, o[2])
    elif o[1] is not None:
        out = vector(g, o[1])
    if out is None:
        factors = o[3]
        if factors is not None:
            wide = g.cast(reshape(g, factors, [-1]), "float32")
            wide = wide if wide.shape == (space,) else expand(g, wide, g.ints([space]))
            return concat(g, [g.constant([1.0, 1.0], "float32"), wide]), None
        said = o("scale", [])
        said = [said] if isinstance(said, float) else said
        sizes = [o("out_d", -1), o("out_h", -1), o("out_w", -1)][3 - space :]
        if said and said[0] > 0:
            said = said * space if len(said) == 1 else said
            return g.constant([1.0, 1.0, *said], "float32"), None
        if min(sizes) <= 0:
            raise Unsayable("sizes or scales of what is interpolated")
        out = g.ints(sizes)
    front = slices(g, shape(g, x), [0], [0], [2])
    return None, concat(g, [front, out])


@rule("grid_sample")
def grid_sample(g: Builder, o: Call) -> Value:
    mode = o("mode", "bilinear")
    if g.opset >= 20:
        mode = "linear" if mode == "bilinear" else mode
    elif o[0].rank != 4:
        raise Unsayable("GridSample in three dimensions", 20)
    corners = int(o("align_corners", True))
    return g.node("GridSample", o[0], o[1], mode=mode, padding_mode=o("padding_mode", "zeros"), align_corners=corners)


@rule("affine_grid")
def affine_grid(g: Builder, o: Call) -> Value:
    theta, target = o[0], o[1] if o[1] is not None else o("output_shape")
    found, corners = numbers(target), o("align_corners", True)
    space = theta.shape[-2] if theta.shape and theta.shape[-2] > 0 else 2
    sizes = vector(g, target)
    lines = []
    for i in range(space):  # from the first axis in space to the last
        n = g.ints([found[2 + i]]) if found is not None else slices(g, sizes, [0], [2 + i], [3 + i])
        count, line = g.cast(n, theta.dtype), g.cast(arange(g, scalar(g, n)), theta.dtype)
        if corners:
            line = line * 2.0 / g.node("Max", count - 1.0, g.constant([1.0], theta.dtype)) - 1.0
        else:
            line = (line * 2.0 + 1.0) / count - 1.0
        lines.append(reshape(g, line, [1] * i + [-1] + [1] * (space - i - 1)))
    area = g.node("Sum", *[v * 0.0 for v in lines])
    # Coordinates as columns x, y (, z), 1: the last axis in space comes first.
    columns = [unsqueeze(g, known(v + area, [-1] * space), [-1]) for v in reversed(lines)]
    columns.append(unsqueeze(g, known(area + 1.0, [-1] * space), [-1]))
    base = unsqueeze(g, known(g.node("Concat", *columns, axis=space), [-1] * (space + 1)), [0])
    flipped = transpose(g, theta, [0, 2, 1])
    for _ in range(space - 1):
        flipped = unsqueeze(g, flipped, [1])
    return g.node("MatMul", base, flipped)
