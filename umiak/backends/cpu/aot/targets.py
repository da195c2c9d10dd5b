"""Processors that models are compiled for, by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from umiak.compiler import jit
from umiak.compiler.jit.target import Target as Machine
from umiak.compiler.render import target as render
from umiak.compiler.render.target import Target
from umiak.util.errors import op_error

# What the C compiler may use for its part, and what is asked of the processor at run time (in the words of
# __builtin_cpu_supports), by the features of LLVM that are there.
_C_OPTIONS = {"avx2": "-mavx2", "fma": "-mfma", "f16c": "-mf16c"} | {f: f"-m{f}" for f in render._AVX512}
_ASKED = ("sse4.2", "avx2", "fma", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512vnni", "avx512bf16")


@dataclass(frozen=True)
class Processor:
    """A processor: what kernels are rendered and compiled for, and what the C compiler is told."""

    name: str
    target: Target

    @property
    def machine(self) -> Machine:
        t = self.target
        return Machine(t.triple, t.cpu, t.features, t.data_layout)

    @property
    def c_options(self) -> list[str]:
        return [option for feature, option in _C_OPTIONS.items() if feature in self.target.has] if self.x86 else []

    @property
    def x86(self) -> bool:
        return self.target.x86

    @property
    def lanes(self) -> int:
        """Of float32 in a vector."""
        return self.target.vector_bits // 32

    @property
    def asked(self) -> tuple[str, ...]:
        """Features that a processor is asked for when a model is loaded."""
        return tuple(f for f in _ASKED if f in self.target.has) if self.x86 else ()

    @property
    def compilers(self) -> tuple[str, ...]:
        """Names of C compilers that may be there."""
        return ("cc", "gcc", "clang") if self.x86 == host_is_x86() else ("aarch64-linux-gnu-gcc",)


def host_is_x86() -> bool:
    return jit.host().triple.startswith("x86_64")


def _host() -> Target:
    return Target.host()


_NAMED: dict[str, Any] = {
    "x86-64": lambda: Target(render.AVX2.triple, render.AVX2.data_layout, "x86-64-v2", "+sse4.2", 128),
    "x86-64-v3": lambda: render.AVX2,
    "x86-64-v4": lambda: render.AVX512,
    "aarch64": lambda: render.NEON,
    "native": _host,
}
NAMES = tuple(_NAMED)


def processor(name: str) -> Processor:
    """The processor of a name."""
    if name not in _NAMED:
        raise op_error(ValueError, "compile", f"a target of {', '.join(NAMES)}", repr(name))
    return Processor(name, _NAMED[name]())
