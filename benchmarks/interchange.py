"""Memory handed to other libraries and taken from them: what is measured is the call, as nothing is copied."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from measure import Settings, Side
from rows import Pair, add_section, faster

import paddle

SECTION = add_section("interchange", "Memory of other libraries")
A = np.ones((8, 8), "float32")


def sides(ours: str, theirs: str, **names: Any) -> Pair:
    return (
        Side(ours, {"paddle": paddle, "dlpack": paddle.utils.dlpack, "x": paddle.to_tensor(A), "a": A, **names}),
        Side(theirs, {"torch": torch, "dlpack": torch.utils.dlpack, "x": torch.from_numpy(A.copy()), "a": A, **names}),
    )


@faster("from-dlpack", "`paddle.from_dlpack(x)` of a tensor", 5, section=SECTION)
def from_dlpack(settings: Settings) -> Pair:
    return sides("paddle.from_dlpack(x)", "torch.from_dlpack(x)")


@faster("from-dlpack-array", "`paddle.from_dlpack(a)` of an array of NumPy", 1, section=SECTION)
def from_dlpack_array(settings: Settings) -> Pair:
    return sides("paddle.from_dlpack(a)", "torch.from_dlpack(a)")


@faster("dlpack-round-trip", "a capsule: `from_dlpack(to_dlpack(x))`", 2, section=SECTION)
def round_trip(settings: Settings) -> Pair:
    code = "dlpack.from_dlpack(dlpack.to_dlpack(x))"
    return sides(code, code)


@faster("numpy-round-trip", "`paddle.from_numpy(x.numpy())`", 1, section=SECTION)
def numpy_round_trip(settings: Settings) -> Pair:
    return sides("paddle.from_numpy(x.numpy())", "torch.from_numpy(x.numpy())")


# 445 ns is PyTorch's figure where the target, 250 ns, was set.
@faster("tvm-ffi-call", "an empty function of TVM-FFI with three tensors", 445 / 250, section=SECTION)
def tvm_ffi_call(settings: Settings) -> Pair:
    import tvm_ffi  # `pip install apache-tvm-ffi`; the other rows do without

    return sides("nop(x, x, x)", "nop(x, x, x)", nop=tvm_ffi.get_global_func("testing.nop"))
