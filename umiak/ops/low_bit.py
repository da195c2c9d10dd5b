"""Products by weights of 8 or 4 bits, ``[outputs, inputs]``, with a scale for each output or group of inputs.

Of 4 bits two outputs share a byte, ``[outputs / 2, inputs]``: output 2j in the low half of row j, output 2j + 1 in the
high half. Scales are ``[outputs]``, or ``[inputs / group_size, outputs]``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.ir.meta import Meta
from umiak.ops._common import accept, cast_to, draw, elements, shard_string
from umiak.ops.base import Op, Sample, register
from umiak.ops.movement import require


def unpacked(weight: Any) -> Any:
    """Numbers of 4 bits, a row for each output, as int32."""
    rows, inputs = weight.shape
    wide = F.cast(weight, dtype=dt.int32)
    low = (wide & 15) - (wide & 8) * 2  # the sign of 4 bits is extended
    both = F.concat((F.unsqueeze(low, (1,)), F.unsqueeze(wide >> 4, (1,))), axis=1)
    return F.reshape(both, (2 * rows, inputs))


def restored(weight: Any, scale: Any, bits: int, group_size: int, dtype: Any) -> Any:
    """The weight ``[inputs, outputs]`` of its numbers and scales, multiplied in float32 at least."""
    q = unpacked(weight) if bits == 4 else weight
    outputs, inputs = q.shape
    wide = dt.float64 if dtype is dt.float64 else dt.float32
    numbers = F.cast(F.permute(q, (1, 0)), dtype=wide)
    if group_size == -1:
        return F.cast(numbers * F.cast(scale, dtype=wide), dtype=dtype)
    groups = inputs // group_size
    values = F.reshape(numbers, (groups, group_size, outputs)) * F.reshape(
        F.cast(scale, dtype=wide), (groups, 1, outputs)
    )
    return F.cast(F.reshape(values, (inputs, outputs)), dtype=dtype)


class LowBitOp(Op):
    """Base of products by weights of few bits: the operands that they accept."""

    amp = "keep"

    def multiply_adds(self, operands, outs):
        return elements(outs[0]) * operands[0].shape[1]

    def product(self, x: Meta, weight: Meta, scale: Meta, bits: int, group_size: int) -> Meta:
        accept(self, "f", x, scale)
        if weight.dtype is not dt.int8:
            self.fail(TypeError, "a weight of int8", weight.dtype.name if weight.dtype else "a number")
        got = f"{tuple(x.shape)}, {tuple(weight.shape)} and {tuple(scale.shape)}"
        grouped = group_size != -1
        if (len(x.shape), len(weight.shape), len(scale.shape)) != (2, 2, 2 if grouped else 1):
            scales = "scales [inputs / group_size, outputs]" if grouped else "scales [outputs]"
            self.fail(ValueError, f"x [rows, inputs], a weight [outputs, inputs] and {scales}", got)
        outputs = weight.shape[0] * (2 if bits == 4 else 1)
        require(self, x.shape[1] == weight.shape[1], "x.shape[1] == weight.shape[1]", got)
        require(self, scale.shape[-1] == outputs, "a scale for each output", got)
        if grouped:
            require(self, scale.shape[0] * group_size == x.shape[1], "a row of scales for each group of inputs", got)
        return Meta((x.shape[0], outputs), x.dtype)


def samples_of(rng: Any, rows: int, inputs: int, outputs: int, bits: int, group: int, dtype: Any) -> tuple:
    """x, a weight and its scales."""
    weight = rng.integers(-128, 128, (outputs // 2 if bits == 4 else outputs, inputs)).astype(np.int8)
    scales = (outputs,) if group == -1 else (inputs // group, outputs)
    return draw(rng, (rows, inputs), dtype), weight, draw(rng, scales, dtype, 0.01, 0.02)


@register
class WeightOnlyMatmul(LowBitOp):
    """``x @ restored(weight)``: x ``[rows, inputs]`` by a weight of ``bits`` bits."""

    inputs = ("x", "weight", "scale")
    bits: int = 8
    group_size: int = -1

    def infer(self, x, weight, scale):
        return self.product(x, weight, scale, self.bits, self.group_size)

    def decompose(self, x, weight, scale):
        return F.matmul(x, restored(weight, scale, self.bits, self.group_size, x.dtype))

    def vjp(self, s, g):
        x, weight, scale = s.inputs
        dx = F.matmul(g, restored(weight, scale, self.bits, self.group_size, g.dtype), transpose_y=True)
        return dx, None, self.scale_gradient(x, weight, scale, g) if s.needs[2] else None

    def scale_gradient(self, x, weight, scale, g):
        """Sums of the gradient of the restored weight times its numbers."""
        q = unpacked(weight) if self.bits == 4 else weight
        full = cast_to(F.matmul(x, g, transpose_x=True), x.dtype.compute)
        products = full * F.cast(F.permute(q, (1, 0)), dtype=full.dtype)
        if self.group_size != -1:
            outputs, inputs = q.shape
            products = F.reshape(products, (inputs // self.group_size, self.group_size, outputs))
        axis = 0 if self.group_size == -1 else 1
        return cast_to(F.sum(products, axes=(axis,), keepdim=False), scale.dtype)

    def shard(self, x, weight, scale):
        names = ["j"] if self.group_size == -1 else ["g", "j"]
        if self.bits == 4:  # rows of bytes are not outputs
            marks = dict.fromkeys(("h", "j", "k", "g"), "replicated")
            return shard_string([["r", "k"], ["h", "k"], names], [["r", "j"]], **marks)
        return shard_string([["r", "k"], ["j", "k"], names], [["r", "j"]], k="replicated", g="replicated")

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for rows, inputs, outputs, bits, group, dtype, note in (
            (3, 5, 4, 8, -1, dt.float64, ""),
            (2, 5, 4, 4, -1, dt.float64, "two outputs in a byte"),
            (2, 64, 2, 4, 32, dt.float64, "groups"),
            (2, 6, 3, 8, 3, dt.float64, "groups"),
            (1, 70, 18, 8, -1, dt.float32, ""),
            (3, 128, 6, 4, 64, dt.float32, "groups"),
            (20, 24, 6, 4, -1, dt.float32, "many rows"),
            (2, 64, 4, 8, 64, dt.bfloat16, ""),
            (0, 8, 4, 8, -1, dt.float32, "0-size"),
        ):
            operands = samples_of(rng, rows, inputs, outputs, bits, group, dtype)
            yield Sample(operands, {"bits": bits, "group_size": group}, differentiable=(0, 2), note=note)


@register
class Int8Matmul(LowBitOp):
    """x by a weight of 8 bits, x rounded too: each row to multiples of its largest magnitude over 127."""

    inputs = ("x", "weight", "scale")
    vjp = None

    def infer(self, x, weight, scale):
        return self.product(x, weight, scale, 8, -1)

    def decompose(self, x, weight, scale):
        wide = dt.float64 if x.dtype is dt.float64 else dt.float32
        rows = F.cast(x, dtype=wide)
        step = F.max(F.abs(rows), axes=(1,), keepdim=True) / 127.0
        numbers = F.round(rows / F.where(step == 0.0, 1.0, step))
        sums = F.matmul(F.cast(numbers, dtype=dt.int32), F.permute(F.cast(weight, dtype=dt.int32), (1, 0)))
        return F.cast(F.cast(sums, dtype=wide) * step * F.cast(scale, dtype=wide), dtype=x.dtype)

    def shard(self, x, weight, scale):
        return shard_string([["r", "k"], ["j", "k"], ["j"]], [["r", "j"]], k="replicated")

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for rows, inputs, outputs, dtype in (
            (3, 5, 4, dt.float64),
            (2, 70, 18, dt.float32),
            (20, 16, 6, dt.float32),
            (2, 64, 4, dt.bfloat16),
            (2, 0, 4, dt.float64),
            (0, 8, 4, dt.float32),
        ):
            if inputs:
                yield Sample(samples_of(rng, rows, inputs, outputs, 8, -1, dtype))
