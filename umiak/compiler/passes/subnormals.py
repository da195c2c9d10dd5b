"""Weights without subnormal numbers, for which processors have no fast multiplication."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from umiak.compiler.passes.folding import unwritten
from umiak.compiler.passes.registry import register_pass
from umiak.core.array import from_numpy, to_numpy
from umiak.core.tensor import Tensor
from umiak.ir.builder import Builder
from umiak.ir.meta import Meta
from umiak.ir.program import Program, Value

CHUNK = 1 << 16  # numbers that are looked at together, so that they stay in the cache
BITS = {np.dtype(np.float32): np.uint32, np.dtype(np.float64): np.uint64}


@register_pass("flush_subnormals_pass")
def flush_subnormals(program: Program, scope: Callable[[Tensor], Tensor] | None = None) -> None:
    """Put zeros for the subnormal numbers of matrices and kernels of float32 and float64 that products read.

    Weight decay leaves such numbers in channels that have died. A multiplication by one takes a hundred times as long
    on x86, and what it adds to a sum of float32 is less than 1.2e-38 times the other factor.

    ``scope``: gives the values of captured tensors, which must not change from then on; without it nothing is done.
    """
    if scope is None:
        return
    weights = unwritten(program)
    builder = Builder(program)
    flushed: dict[int, Value] = {}

    def without(x: Value) -> Value:
        values = to_numpy(scope(weights[id(x)]))
        if not has_subnormals(values):
            return x
        tiny = np.finfo(values.dtype).tiny
        name = next(n for n in (f"flushed{i}" for i in range(len(program.constants) + 1)) if n not in program.constants)
        program.captured[name] = from_numpy(np.where(np.abs(values) < tiny, 0, values), weights[id(x)].place)
        return builder.input(Meta(tuple(x.meta.shape), x.meta.dtype), constant=name)

    for o in program.ops:
        if getattr(o.op, "amp", None) != "allow":  # what is worth a narrow type is a product
            continue
        for x in o.values:
            if id(x) in weights and id(x) not in flushed and x.meta.ndim > 1 and weights[id(x)].dtype.numpy in BITS:
                flushed[id(x)] = without(x)
        o.operands = tuple(flushed.get(id(x), x) for x in o.operands)


def has_subnormals(x: np.ndarray) -> bool:
    """Return whether any number of an array of float32 or float64 is subnormal."""
    word = BITS[x.dtype]
    sign, least = word(np.iinfo(word).max >> 1), np.finfo(x.dtype).tiny.view(word)
    bits = np.ascontiguousarray(x).reshape(-1).view(word)
    # Less one, zeros are the largest of all words.
    return any(((bits[at : at + CHUNK] & sign) - word(1) < least - word(1)).any() for at in range(0, bits.size, CHUNK))
