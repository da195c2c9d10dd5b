"""NumPy kernels of packing: casts, as arrays have an element per byte anyway."""

from __future__ import annotations

from umiak.backends.ref.registry import kernel
from umiak.ops import packed as ops


@kernel(ops.Unpack, raw=True)
def unpack(op, out, x):
    out[...] = x.astype(out.dtype)


@kernel(ops.Pack, raw=True)
def pack(op, out, x):
    out[...] = x.astype(out.dtype)
