"""Stand-in for Triton: it asks a driver for the same things in the same order, and has no compiler.

Kernels are text of PTX whose bodies are empty.

``jit`` gives a function that is launched by ``kernel[grid](*arguments, **constants)``. Sources that are written for
Triton import against it; their bodies are never run.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from triton import language, runtime

__all__ = ["Kernel", "cdiv", "jit", "language", "runtime"]

_NAMES = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64", "bool": "i1", "uint8": "u8"}
_OPTIONS = {"num_warps": 4, "num_ctas": 1, "launch_cooperative_grid": False, "launch_pdl": False, "shared": 0,
            "global_scratch_size": 0, "global_scratch_align": 1, "profile_scratch_size": 0}  # fmt: skip


def cdiv(x: int, y: int) -> int:
    return -(-x // y)


def type_of(x: Any) -> Any:
    """Triton's name of the type of an argument."""
    if x is None:
        return "constexpr"
    if isinstance(x, tuple):
        return tuple(map(type_of, x))
    if isinstance(x, bool):
        return "i1"
    if isinstance(x, int):
        return "i32" if -(1 << 31) <= x < 1 << 31 else "i64"
    if isinstance(x, float):
        return "fp32"
    if hasattr(x, "block_shape"):
        return "tensordesc<fp32[64]>"
    if hasattr(x, "data_ptr"):
        name = str(x.dtype).rpartition(".")[2]
        return "*" + _NAMES.get(name, name.replace("int", "i"))
    raise TypeError(f"failed to specialize argument of type: {type(x).__name__}")


def count(types: Any) -> int:
    return sum(count(t) if isinstance(t, tuple) else t != "constexpr" for t in types)


class Kernel:
    """A kernel for one signature; it is loaded at its first launch and given back with this."""

    def __init__(self, name: str, signature: dict[str, Any], options: dict[str, Any]) -> None:
        self.metadata = SimpleNamespace(name=name, warp_size=32, **options)
        self.source = SimpleNamespace(signature=signature)
        parameters = [f".param .u64 p{i}" for i in range(count(signature.values()) + 2)]
        self.image = f".visible .entry {name}({', '.join(parameters)}) {{ ret; }}"
        self.module: int | None = None

    def run(self, grid: Any, stream: int, values: Any) -> None:
        driver = runtime.driver.active
        if self.module is None:
            device = driver.get_current_device()
            self.launcher = driver.launcher_cls(self.source, self.metadata)
            assert self.metadata.shared <= driver.utils.get_device_properties(device)["max_shared_mem"]
            self.module, self.function, _, _, threads = driver.utils.load_binary(
                self.metadata.name, self.image, self.metadata.shared, device
            )
            assert self.metadata.num_warps * 32 <= threads
        x, y, z = (*grid, 1, 1)[:3]
        enter, leave = runtime.hooks
        self.launcher(x, y, z, stream, self.function, None, {"name": self.metadata.name}, enter, leave, *values)

    def __del__(self) -> None:
        if getattr(self, "module", None) is not None:
            runtime.driver.active.utils.unload_module(self.module)


class Function:
    """A function with its kernels."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.parameters = inspect.signature(function).parameters
        self.device_caches: dict[Any, Kernel] = {}

    def __getitem__(self, grid: Any) -> Callable[..., Kernel]:
        return lambda *args, **named: self.run(grid, args, named)

    def run(self, grid: Any, args: Any, named: dict[str, Any]) -> Kernel:
        driver = runtime.driver.active
        device = driver.get_current_device()
        stream = driver.get_current_stream(device)
        options = {k: named.pop(k, value) for k, value in _OPTIONS.items()}
        given = {**dict(zip(self.parameters, args, strict=False)), **named}
        given = {k: given[k] for k in self.parameters}
        constant = {k for k, p in self.parameters.items() if "constexpr" in str(p.annotation)}
        signature = {k: "constexpr" if k in constant else type_of(v) for k, v in given.items()}
        key = device, str(signature), str(options)
        if key not in self.device_caches:
            assert driver.get_current_target().backend == "cuda"
            self.device_caches[key] = Kernel(self.function.__name__, signature, options)
        kernel = self.device_caches[key]
        kernel.run(grid(given) if callable(grid) else grid, stream, list(given.values()))
        return kernel


def jit(function: Callable[..., Any]) -> Function:
    return Function(function)
