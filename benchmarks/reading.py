"""The rate at which one thread reads memory: what a product by a matrix that is read once cannot exceed."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable

import paddle
from umiak.compiler import jit
from umiak.compiler.render.target import Target

BYTES = 256 << 20
STREAMS, LINE, SOON = 4, 64, 2048


def text(target: Target) -> str:
    """``read(data, bytes)`` as LLVM text: four places at the same time, each with prefetches 2 KiB before its loads."""
    wide = f'"prefer-vector-width"="{target.vector_bits}" "min-legal-vector-width"="{target.vector_bits}"'
    lines = [
        f'target triple = "{target.triple}"',
        f'target datalayout = "{target.data_layout}"',
        "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)",
        "define i64 @read(ptr %data, i64 %bytes) #0 {",
        f"entry:\n  %part = udiv i64 %bytes, {STREAMS}\n  br label %loop",
        "loop:\n  %at = phi i64 [ 0, %entry ], [ %next, %loop ]",
        *(f"  %s{i} = phi <8 x i64> [ zeroinitializer, %entry ], [ %t{i}, %loop ]" for i in range(STREAMS)),
    ]
    for i in range(STREAMS):
        lines += [
            f"  %o{i} = mul i64 %part, {i}",
            f"  %b{i} = getelementptr i8, ptr %data, i64 %o{i}",
            f"  %p{i} = getelementptr i8, ptr %b{i}, i64 %at",
            f"  %q{i} = getelementptr i8, ptr %p{i}, i64 {SOON}",
            f"  call void @llvm.prefetch.p0(ptr %q{i}, i32 0, i32 3, i32 1)",
            f"  %v{i} = load <8 x i64>, ptr %p{i}, align 8",
            f"  %t{i} = or <8 x i64> %s{i}, %v{i}",
        ]
    lines += [
        f"  %next = add i64 %at, {LINE}\n  %more = icmp ult i64 %next, %part\n  br i1 %more, label %loop, label %end",
        "end:",
        *(f"  %e{i} = extractelement <8 x i64> %t{i}, i64 0" for i in range(STREAMS)),
        "  %x = or i64 %e0, %e1\n  %y = or i64 %e2, %e3\n  %z = or i64 %x, %y\n  ret i64 %z\n}",
        f'attributes #0 = {{ nounwind "target-cpu"="{target.cpu}" "target-features"="{target.features}" {wide} }}\n',
    ]
    return "\n".join(lines)


def reader() -> Callable[[], float]:
    """A function that reads memory of the allocator that tensors come from, and returns bytes per second of processor
    time."""
    library = jit.load(text(Target.host()), ["read"])
    read = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)(library.address("read"))
    memory = paddle.ones([BYTES // 4], "float32")

    def run(_: object = library) -> float:
        begin = time.process_time()
        read(memory.data_ptr(), BYTES)
        return BYTES / (time.process_time() - begin)

    return run
