"""Kernels of the loop IR as modules of a device: rendered, assembled to PTX, loaded. PTX is kept on disk."""

from __future__ import annotations

import hashlib
import threading
import weakref
from collections import deque
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from umiak.backends.cuda import targets
from umiak.backends.cuda.driver import FunctionAttribute
from umiak.backends.nest_launches import KernelCache
from umiak.compiler.jit import codegen, object_cache
from umiak.compiler.loop.tree import Kernel
from umiak.compiler.render import ptx
from umiak.compiler.render.spmd import Resources, resources

if TYPE_CHECKING:
    from umiak.backends.cuda.device import Device, Queue

INLINE_SHARED = 48 << 10  # bytes of shared memory of a block, arrays of its kernel included, that need no permission


class Module:
    """A loaded kernel. When nobody refers to it any more, and no stream runs it, it is unloaded."""

    def __init__(self, modules: Modules, image: str | bytes, name: str) -> None:
        driver = modules.device.enter()
        self.modules = modules
        self.handle = driver.module_load_data(image)
        self.function = driver.module_get_function(self.handle, name)
        self.fixed = driver.func_get_attribute(self.function, FunctionAttribute.SHARED_SIZE_BYTES)
        self.shared = INLINE_SHARED - self.fixed

    def allow_shared(self, nbytes: int) -> None:
        """Let launches have so much shared memory beside the ``fixed`` bytes of the kernel's own arrays."""
        if nbytes > self.shared:
            self.modules.device.enter().func_set_max_dynamic_shared_size(self.function, nbytes)
            self.shared = nbytes

    def __del__(self) -> None:
        if hasattr(self, "function"):
            # Launches do not note which streams they go to: what has been handed to any of them may run it.
            queues = [*self.modules.device.queues.values()]
            self.modules.retired.append((self.handle, [(q, q.stream.submitted) for q in queues]))


class Known(NamedTuple):
    """The needs of launches of a kernel, and its module."""

    need: Resources
    module: weakref.ref[Module]


class Modules:
    """The modules of one device, each text once."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.lock = threading.Lock()
        self.loaded: weakref.WeakValueDictionary[tuple[str, int], Module] = weakref.WeakValueDictionary()
        self.known: KernelCache[Known] = KernelCache()  # by threads of a block
        self.retired: deque[tuple[int, list[tuple[Queue, int]]]] = deque()  # with tickets that may run them

    @cached_property
    def target(self) -> tuple[str, int]:
        """Architecture and version of the PTX that the device gets."""
        driver = self.device.driver.driver_get_version()
        arch = targets.architecture(self.device.capability, driver)
        return arch, targets.version(driver, arch)

    def of(self, kernel: Kernel, threads: int) -> tuple[Resources, Module]:
        """The needs of launches of a kernel, and its module; ``threads``: of a block, where the kernel does not say."""
        known = self.known.get(kernel, threads)
        module = None if known is None else known.module()
        if known is not None and module is not None:
            return known.need, module
        need = resources(kernel, threads)
        module = self.load(kernel, need.threads)
        self.known.put(Known(need, weakref.ref(module)), kernel, threads)
        return need, module

    def load(self, kernel: Kernel, threads: int) -> Module:
        """The module of a kernel for blocks of so many threads."""
        arch, version = self.target
        text = ptx.render(kernel, arch, threads)
        self.sweep()
        with self.lock:
            module = self.loaded.get((text, threads))
            if module is None:
                module = self.loaded[text, threads] = Module(self, ptx_of(text, arch, version), kernel.name)
            return module

    def sweep(self) -> None:
        """Unload what nobody refers to and no stream runs."""
        for _ in range(len(self.retired)):
            try:
                handle, tickets = self.retired.popleft()
            except IndexError:  # another thread was first
                return
            if all(queue.poll() >= ticket for queue, ticket in tickets):
                if self.device.lost is None:
                    self.device.enter().module_unload(handle)
            else:
                self.retired.append((handle, tickets))

    def close(self) -> None:
        """Unload what nobody refers to; no stream has work."""
        self.sweep()


def ptx_of(text: str, arch: str, version: int) -> str:
    """PTX of a rendered kernel, from disk where it is there."""
    words = (text, arch, version, ptx.NEWEST_VERSION, codegen.LLVM_OPTIONS)
    key = f"ptx-{hashlib.sha256(repr(words).encode()).hexdigest()}"
    kept = object_cache.get(key)
    if kept is not None:
        return kept.decode()
    image = ptx.assemble(text, arch, version)
    object_cache.put(key, image.encode())
    return image
