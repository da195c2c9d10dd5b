"""Matmul of matrices of 8 bits whose blocks have scales."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.ir.meta import Meta, identical
from umiak.ops._common import accept, draw, elements, same_shape, shard_string
from umiak.ops.base import Op, Sample, register
from umiak.ops.movement import require

CODES = ("float8_e4m3fn", "float8_e5m2")


@register
class ScaledMatmul(Op):
    """``[M, K]`` codes by ``[K, N]`` codes, each times the scale of its block, and a bias ``[N]``; sums are in float32
    and rounded once.

    Blocks of the left operand are ``rows`` × ``depth``, those of the right one ``depth`` × ``columns``; 0 is all there
    is. Scales are float32, one for each block. ``power_of_two``: they are known to be powers of two. ``parts``: the
    number of blocks along K.

    The products of a block of K are added without scales, and the sum is multiplied with both, as tensor cores do it.
    Codes times scales that are powers of two are exact in bfloat16: then one matmul adds up all of K.
    """

    inputs = ("x", "y", "x_scale", "y_scale", "bias?")
    amp = "keep"
    vjp = None  # whoever trains with codes has gradients of their own (paddle.amp.fp8)
    rows: int
    depth: int
    columns: int
    power_of_two: bool
    parts: int
    dtype: Any

    def multiply_adds(self, operands, outs):
        return elements(outs[0]) * operands[0].shape[1]

    def blocks(self):
        """Return the blocks of both operands."""
        return (self.rows, self.depth), (self.depth, self.columns)

    def infer(self, x, y, x_scale, y_scale, bias):
        for name, m in (("x", x), ("y", y)):
            if m.dtype.name not in CODES:
                self.fail(TypeError, f"{name} of {' or '.join(CODES)}", m.dtype.name)
        for name, m in (("x_scale", x_scale), ("y_scale", y_scale)):
            if m.dtype is not dt.float32:
                self.fail(TypeError, f"{name} of float32", m.dtype.name)
        if not self.dtype.is_floating:
            self.fail(TypeError, "a floating dtype of the result", self.dtype.name)
        if any(len(m.shape) != 2 for m in (x, y, x_scale, y_scale)):
            self.fail(ValueError, "matrices", ", ".join(str(tuple(m.shape)) for m in (x, y, x_scale, y_scale)))
        got = f"{tuple(x.shape)} and {tuple(y.shape)}"
        require(self, x.shape[1] == y.shape[0], "x.shape[1] == y.shape[0]", got)
        for m, scale, block in zip((x, y), (x_scale, y_scale), self.blocks(), strict=True):
            counts = [-(-n // b) if b else 1 for n, b in zip(m.shape, block, strict=True)]
            same_shape(self, tuple(scale.shape), tuple(counts), "a scale for each block")
        if bias is not None:
            accept(self, "f", bias)
            same_shape(self, bias.shape, y.shape[1:], "a bias of the size of the result")
        return Meta((x.shape[0], y.shape[1]), self.dtype)

    def shard(self, x, y, x_scale, y_scale, bias):
        # Rows and columns with scales of their own are independent; blocks of several, and terms, stay together.
        named = {0: "1", 1: "i"}.get(self.rows, "m"), {0: "1", 1: "j"}.get(self.columns, "n")
        block = "p" if self.depth else "1"
        together = dict.fromkeys(("k", "p", "m", "n"), "replicated")
        together.update({f: "replicated" for f, size in (("i", self.rows), ("j", self.columns)) if size > 1})
        operands = [["i", "k"], ["k", "j"], [named[0], block], [block, named[1]], [] if bias is None else ["j"]]
        return shard_string(operands, [["i", "j"]], **together)

    def decompose(self, x, y, x_scale, y_scale, bias):
        sums = self._sums(x, y, x_scale, y_scale)
        return F.cast(sums if bias is None else sums + F.cast(bias, dtype=dt.float32), dtype=self.dtype)

    def _sums(self, x, y, x_scale, y_scale):
        of_x, of_y = self.blocks()
        if self.depth and self.power_of_two:
            return F.widening_matmul(scaled(x, x_scale, of_x, dt.bfloat16), scaled(y, y_scale, of_y, dt.bfloat16))
        wide_x, wide_y = (F.cast(v, dtype=dt.bfloat16) for v in (x, y))
        left, right = x_scale, F.permute(y_scale, (1, 0))
        if not self.depth:
            return self._scaled(F.widening_matmul(wide_x, wide_y), left, right, 0)
        k = x.shape[1]
        total, size = None, self.depth
        for i in range(self.parts):
            width = size if i < self.parts - 1 else k - i * size
            part = F.widening_matmul(
                F.slice(wide_x, (1,), (i * size,), (width,), (1,)), F.slice(wide_y, (0,), (i * size,), (width,), (1,))
            )
            part = self._scaled(part, left, right, i)
            total = part if total is None else total + part
        return F.widening_matmul(wide_x, wide_y) if total is None else total  # K is 0

    def _scaled(self, sums, left, right, part):
        """Sums over a block of K times the scales of their rows and columns."""
        rows, columns = (
            spread(F.slice(s, (1,), (part,), (1,), (1,)), (size, 0), (n, 1))
            for s, size, n in ((left, self.rows, sums.shape[0]), (right, self.columns, sums.shape[1]))
        )
        return sums * rows * F.permute(columns, (1, 0))

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        def case(m, k, n, rows, depth, columns, power_of_two=False, bias=False, note=""):
            parts = -(-k // depth) if depth else 1

            def scale(size, block):
                return -(-size // block) if block else 1

            scales = [rng.integers(-3, 4, s) for s in ((scale(m, rows), parts), (parts, scale(n, columns)))]
            scales = [(2.0**s * (1.0 if power_of_two else 1.1)).astype("float32") for s in scales]
            operands = (draw(rng, (m, k), dt.float8_e4m3fn), draw(rng, (k, n), dt.float8_e5m2), *scales)
            operands = (*operands, draw(rng, (n,), dt.float32) if bias else None)
            static = {
                "rows": rows, "depth": depth, "columns": columns, "power_of_two": power_of_two, "parts": parts,
                "dtype": dt.float32,
            }  # fmt: skip
            return Sample(operands, static, note=note)

        yield case(3, 5, 4, 0, 0, 0)
        yield case(3, 5, 4, 1, 0, 1, bias=True)
        yield case(5, 9, 6, 1, 4, 4)
        yield case(5, 9, 6, 4, 4, 1, True)
        yield case(0, 3, 2, 1, 0, 1, note="0-size")
        yield case(2, 0, 3, 1, 4, 4, note="an empty sum")


def scaled(codes: Any, scale: Any, block: tuple[int, int], dtype: Any) -> Any:
    """Codes times the scales of their blocks (0: all rows or columns), rounded once to ``dtype``."""
    return F.cast(F.cast(codes, dtype=dt.float32) * spread(scale, block, codes.shape), dtype=dtype)


def spread(scale: Any, block: tuple[int, int], shape: Any) -> Any:
    """Scales of blocks as those of rows and columns of a matrix of ``shape``; one that serves all stays one."""
    r, c = scale.shape
    a, b = (max(n, 1) for n in block)
    if a == b == 1:
        return scale
    wide = F.reshape(F.broadcast_to(F.reshape(scale, (r, 1, c, 1)), (r, a, c, b)), (r * a, c * b))
    sizes = tuple(n if size > 1 else count for n, size, count in zip(shape, block, (r, c), strict=True))
    return wide if identical(tuple(wide.shape), sizes) else F.slice(wide, (0, 1), (0, 0), sizes, (1, 1))
