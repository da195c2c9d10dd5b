"""Fourier transforms and complex numbers, which are pairs of real ones in an added last axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from paddle.onnx.builder import Builder, Value
from paddle.onnx.elements import PARTS
from paddle.onnx.rules.elementwise import paired, parts, real
from paddle.onnx.rules.reductions import elements
from paddle.onnx.rules.reshaping import framed
from paddle.onnx.shapes import INT64, known, size, slices, transpose, unsqueeze
from paddle.onnx.table import Call, rule

_COMPLEX = {v: k for k, v in PARTS.items()}


@rule("as_complex")
def as_complex(g: Builder, o: Call) -> Value:
    x = o[0]
    y = g.node("Identity", x)
    return Value(g, y.name, _COMPLEX[x.dtype], None if x.shape is None else x.shape[:-1])


@rule("as_real")
def as_real(g: Builder, o: Call) -> Value:
    return pairs(g, o[0])


def pairs(g: Builder, x: Value) -> Value:
    """Complex numbers as the pairs that they are."""
    return Value(g, x.name, real(x), None if x.shape is None else (*x.shape, 2))


def _complex(g: Builder, x: Value, rank: int) -> Value:
    return Value(g, x.name, _COMPLEX[x.dtype], (-1,) * rank)


@rule("complex")
def complex_(g: Builder, o: Call) -> Value:
    area = o[0] * 0.0 + o[1] * 0.0
    return paired(g, o[0] + area, o[1] + area, _COMPLEX[o[0].dtype])


@rule("real", "imag")
def real_(g: Builder, o: Call) -> Value:
    return parts(g, o[0])[0 if o.name == "real" else 1]


@rule("conj")
def conj(g: Builder, o: Call) -> Value:
    return conjugated(g, o[0])


def conjugated(g: Builder, x: Value) -> Value:
    """Complex conjugates; real numbers stay."""
    if not x.complex:
        return g.node("Identity", x)
    y = pairs(g, x) * g.constant([1.0, -1.0], real(x))
    return Value(g, y.name, x.dtype, x.shape)


# Of a transform as a matmul: of more its matrix is larger than a model should be.
MOST_POINTS = 1024


def _transformed(
    g: Builder, x: Value, axis: int, inverse: bool, points: int, onesided: bool = False, single: bool = False
) -> Value:
    """The transform of pairs (or of ``single`` real parts) along an axis of ``points`` elements, -1 where these are
    open; its inverse is divided by the length."""
    if g.opset < 17 and 0 < points <= MOST_POINTS:
        return _by_matmul(g, x, axis, inverse, points, onesided, 1 if single else 2)
    flags: dict[str, Any] = {"inverse": int(inverse), "onesided": int(onesided)}
    if g.opset >= 20:
        return g.node("DFT", x, None, g.constant(axis, "int64"), **flags)
    return g.node("DFT", x, axis=axis, **flags)


def _by_matmul(g: Builder, x: Value, axis: int, inverse: bool, points: int, onesided: bool, count: int) -> Value:
    """A transform below the opset that has it: all points times their roots of unity. ``count``: of parts of each."""
    fractions = np.outer(np.arange(points), np.arange(points // 2 + 1 if onesided else points)) % points / points
    angles = 2 * np.pi * fractions * (1 if inverse else -1)
    scale = 1 / points if inverse else 1.0
    of_real = np.stack([np.cos(angles), np.sin(angles)], -1) * scale  # [point, frequency, part]
    of_imaginary = np.stack([-np.sin(angles), np.cos(angles)], -1) * scale
    matrix = np.stack([of_real, of_imaginary][:count], 1).reshape(points * count, -1)
    order = [*(a for a in range(x.rank - 1) if a != axis), axis, x.rank - 1]
    rows = known(transpose(g, x, order), [-1] * x.rank)
    kept = [0] * (x.rank - 2)
    flat = known(g.node("Reshape", rows, g.ints([*kept, points * count])), [-1] * (x.rank - 1))
    made = g.node("MatMul", flat, g.constant(matrix, real(x)))
    y = known(g.node("Reshape", made, g.ints([*kept, fractions.shape[1], 2])), [-1] * x.rank)
    return transpose(g, y, [order.index(a) for a in range(x.rank)])


def _points(x: Value, axis: int) -> int:
    return -1 if x.shape is None else x.shape[axis]


def _scaled(
    g: Builder, o: Call, y: Value, x: Value, axes: list[int], inverse: bool, count: Value | None = None
) -> Value:
    """A transform under the normalisation that is asked for; DFT divides inverse ones by the count."""
    kind, forward = o("normalization", "backward"), o("forward", True)
    plain = (kind == "backward" and not forward) if inverse else (kind == "backward" and forward)
    plain = plain or (kind == "forward" and not forward and not inverse)
    if plain:
        return y
    n = g.cast(elements(g, x, axes) if count is None else count, y.dtype)
    divided = (kind == "backward" and not forward) or (kind == "forward" and forward)
    if kind == "ortho":
        root = g.node("Sqrt", n)
        return y * root if inverse else y / root
    if inverse:  # of what is to be divided it is, else the division is undone
        return y if divided else y * n
    return y / n if divided else y


@rule("fft_c2c")
def fft_c2c(g: Builder, o: Call) -> Value:
    x, inverse = o[0], not o("forward", True)
    axes = [a % x.rank for a in o("axes")]
    y = pairs(g, x)
    for a in axes:
        y = known(_transformed(g, y, a, inverse, _points(x, a)), [-1] * (x.rank + 1))
    return _complex(g, _scaled(g, o, y, x, axes, inverse), x.rank)


@rule("fft_r2c")
def fft_r2c(g: Builder, o: Call) -> Value:
    x, inverse = o[0], not o("forward", True)
    axes, half = [a % x.rank for a in o("axes")], o("onesided", True)
    single = unsqueeze(g, x, [-1])
    points = _points(x, axes[-1])
    y = known(_transformed(g, single, axes[-1], False, points, half, True), [-1] * (x.rank + 1))
    for a in axes[:-1]:
        y = known(_transformed(g, y, a, False, _points(x, a)), [-1] * (x.rank + 1))
    if inverse:  # the inverse of real numbers is the conjugate of their transform
        y = y * g.constant([1.0, -1.0], y.dtype)
    return _complex(g, _scaled(g, o, y, x, axes, False), x.rank)


@rule("stft")
def stft(g: Builder, o: Call) -> Value:
    x, window, length = o[0], o[1], o("n_fft")
    frames = framed(g, x, x.rank - 1, length, o("hop_length")) * window
    single = unsqueeze(g, known(frames, [-1] * (x.rank + 1)), [-1])
    y = _transformed(g, single, x.rank, False, length, o("onesided", True), True)
    if o("normalized", False):
        y = y / length**0.5
    order = [*range(x.rank - 1), x.rank, x.rank - 1, x.rank + 1]  # frequencies before frames
    return _complex(g, transpose(g, known(y, [-1] * (x.rank + 2)), order), x.rank + 1)


@rule("fft_c2r")
def fft_c2r(g: Builder, o: Call) -> Value:
    x, axes = o[0], [a % o[0].rank for a in o("axes")]
    last = axes[-1]
    forward = o("forward", True)
    y = pairs(g, conjugated(g, x) if forward else x)
    length = o("last_dim_size", 0)
    n = g.ints([length]) if length else (size(g, x, last) - 1) * 2
    for a in axes[:-1]:
        y = known(_transformed(g, y, a, True, _points(x, a)), [-1] * (x.rank + 1))
    # The other half are conjugates in reverse.
    half = n / g.ints([2]) + 1
    y = known(slices(g, y, [last], g.ints([0]), half), [-1] * (x.rank + 1))
    rest = slices(g, y, [last], g.ints([1]), (n + 1) / g.ints([2]))
    rest = slices(g, rest, [last], [-1], [INT64.min], [-1]) * g.constant([1.0, -1.0], y.dtype)
    spectrum = known(g.node("Concat", y, rest, axis=last), [-1] * (x.rank + 1))
    points = length or max((_points(x, last) - 1) * 2, -1)
    y = parts(g, known(_transformed(g, spectrum, last, True, points), [-1] * (x.rank + 1)))[0]
    y = known(y, [-1] * x.rank)
    count = n
    for a in axes[:-1]:
        count = count * size(g, x, a)
    count = g.node("Squeeze", count) if g.opset < 13 else g.node("Squeeze", count, g.ints([0]))
    return _scaled(g, o, y, x, axes, True, count)
