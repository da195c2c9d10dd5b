"""Properties of CPUs that the LLVM renderer uses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

from umiak.compiler.loop.functions.narrow import ROUND_BF16

_X86_LAYOUT = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
_ARM_LAYOUT = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i8:8:32-i16:16:32-i64:64-i128:128-n32:64-S128-Fn32"
_AVX512 = ("avx512f", "avx512bw", "avx512dq", "avx512vl")
_AVX2 = ("avx2", "fma", "f16c")


@dataclass(frozen=True)
class Target:
    """One kind of CPU. ``features`` as LLVM writes them: ``"+avx2,-avx512f"``."""

    triple: str
    data_layout: str
    cpu: str
    features: str
    vector_bits: int

    @cached_property
    def has(self) -> frozenset[str]:
        """The features that are on."""
        return frozenset(f[1:] for f in self.features.split(",") if f.startswith("+"))

    @cached_property
    def x86(self) -> bool:
        return self.triple.startswith("x86_64")

    @cached_property
    def avx512(self) -> bool:
        return self.has.issuperset(_AVX512)

    @property
    def registers(self) -> int:
        """Vector registers."""
        return 16 if self.x86 and not self.avx512 else 32

    @cached_property
    def plain_bits(self) -> int:
        """Vectors of loops that do little but load and store. Zen 4 runs 512 bits in two halves, and its caches and
        memory then give a tenth less (measured on sums and adds of all sizes)."""
        return min(self.vector_bits, 256) if self.cpu == "znver4" else self.vector_bits

    @property
    def slow_gathers(self) -> bool:
        """Return whether loads one by one take less time than a gather (Zen, measured: two thirds)."""
        return self.cpu.startswith("znver")

    @property
    def slow_masked_stores(self) -> bool:
        """Return whether a vector is stored under a mask in several times the time of a plain store (Zen 3 without mask
        registers, measured: 13 cycles beside 1.5, whatever the mask)."""
        return self.cpu.startswith("znver") and not self.avx512

    @cached_property
    def maskable(self) -> frozenset[int]:
        """Bits of elements that are loaded and stored under a mask in one instruction."""
        if self.avx512:
            return frozenset((8, 16, 32, 64))
        return frozenset((32, 64)) if "avx2" in self.has else frozenset()

    @cached_property
    def native(self) -> frozenset[str]:
        """Operations that are rendered as they are: casts of storage types that the CPU converts to and from f32,
        random words, powers of two."""
        natives = {"philox"}
        if not self.x86 or "f16c" in self.has:
            natives.add("f16")
        if self.avx512:
            natives.update(("denormal", "ldexp"))
            if "avx512bf16" in self.has:
                natives.add(ROUND_BF16)
        return frozenset(natives)

    @classmethod
    def of(cls, triple: str, data_layout: str, cpu: str, features: str) -> Target:
        """The CPU with the widest vectors that its features allow."""
        on = {f[1:] for f in features.split(",") if f.startswith("+")}
        bits = 512 if on.issuperset(_AVX512) else 256 if "avx2" in on else 128
        return cls(triple, data_layout, cpu, features, bits)

    @classmethod
    @cache
    def host(cls) -> Target:
        """The CPU that this process runs on."""
        from umiak.compiler import jit

        processor = jit.host()
        return cls.of(processor.triple, processor.layout, processor.cpu, processor.features)


def _features(*names: str) -> str:
    return ",".join("+" + n for n in names)


AVX512 = Target("x86_64-unknown-linux-gnu", _X86_LAYOUT, "x86-64-v4", _features(*_AVX2, *_AVX512), 512)
AVX2 = Target("x86_64-unknown-linux-gnu", _X86_LAYOUT, "x86-64-v3", _features(*_AVX2), 256)
NEON = Target("aarch64-unknown-linux-gnu", _ARM_LAYOUT, "generic", _features("neon"), 128)
