"""Runs rendered kernels in this process."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from functools import cache

import llvmlite.binding as llvm
import numpy as np

from umiak.compiler.jit.codegen import LLVM_OPTIONS
from umiak.compiler.loop.tree import IN, OUT, Kernel
from umiak.compiler.render.llvm import render
from umiak.compiler.render.target import AVX2, AVX512, NEON, Target

llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
for option in LLVM_OPTIONS:
    llvm.set_option("x", option)

HOST = Target.host()
# Targets whose code this machine runs.
RUNNABLE = [HOST]
if HOST.avx512:
    # As for processors on which masked stores take long; without what those alone have.
    ours = {"triple": HOST.triple, "data_layout": HOST.data_layout}
    RUNNABLE.append(replace(AVX2, cpu="znver3", features=AVX2.features + ",-sse4a", **ours))

SIGNATURE = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64
)
SCRATCH = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)


@cache
def machine(target: Target, jit: bool) -> llvm.TargetMachine:
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu,
        features=target.features,
        opt=2,
        reloc="pic",
        codemodel="jitdefault" if jit else "default",
        jit=jit,
    )


def assemble(text: str, target: Target) -> str:
    """Assembly; text that LLVM does not accept is an error."""
    module = llvm.parse_assembly(text)
    module.verify()
    return machine(target, False).emit_assembly(module)


class Program:
    """A compiled kernel. ``run`` gives its result code."""

    def __init__(self, kernel: Kernel, target: Target = HOST) -> None:
        self.kernel = kernel
        self.text = render(kernel, target)
        self.module = llvm.parse_assembly(self.text)
        self.module.verify()
        # Each engine owns its machine.
        tm = llvm.Target.from_triple(target.triple).create_target_machine(
            cpu=target.cpu, features=target.features, opt=2, reloc="pic", codemodel="jitdefault", jit=True
        )
        self.engine = llvm.create_mcjit_compiler(self.module, tm)
        self.engine.finalize_object()
        address = self.engine.get_function_address
        self.function = SIGNATURE(address(kernel.name))
        self.sizes = [SCRATCH(address(f"{kernel.name}_{kind}")) for kind in ("local", "global")]

    def prepare(self, arrays, dims=(), words=()):
        """Arguments but the range. ``arrays`` by buffer name; addresses are of their first elements."""
        buffers = [b for b in self.kernel.buffers if b.space in (IN, OUT)]
        for b in buffers:
            assert arrays[b.name].itemsize == b.type.bytes, b
        pointers = (ctypes.c_void_p * max(len(buffers), 1))(*(arrays[b.name].ctypes.data for b in buffers))
        assert len(dims) == self.kernel.dims
        numbers = (ctypes.c_int64 * max(len(dims), 1))(*dims)
        packed = (ctypes.c_uint64 * max(len(words), 1))(
            *(int(np.float64(w).view(np.uint64)) if isinstance(w, float) else w & (2**64 - 1) for w in words)
        )
        areas = []
        for size in self.sizes:
            area = np.zeros(size(numbers) + 64, np.uint8)
            areas.append(area)
        context = (ctypes.c_void_p * 2)(*(-(-a.ctypes.data // 64) * 64 for a in areas))
        self.keep = areas
        return pointers, numbers, packed, context

    def run(self, arrays, dims=(), words=(), cuts=((0, 1),)):
        arguments = self.prepare(arrays, dims, words)
        for lo, hi in cuts:
            code = self.function(*arguments, lo, hi)
            if code:
                return code
        return 0


__all__ = ["AVX2", "AVX512", "HOST", "NEON", "RUNNABLE", "Program", "assemble"]
