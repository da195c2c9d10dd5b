"""Kernels of the loop IR as modules of a device: rendered, assembled to PTX, loaded. PTX is kept on disk."""

from __future__ import annotations

import hashlib
import threading
import weakref
from collections import deque
from functools import cached_property
from typing import TYPE_CHECKING

from umiak.backends.cuda import targets
from umiak.compiler.jit import codegen, object_cache
from umiak.compiler.loop.tree import Kernel
from umiak.compiler.render import ptx

if TYPE_CHECKING:
    from umiak.backends.cuda.device import Device, Queue

INLINE_SHARED = 48 << 10  # bytes of shared memory of a block that need no permission


class Module:
    """A loaded kernel. When nobody refers to it any more, and no stream runs it, it is unloaded."""

    def __init__(self, modules: Modules, image: str | bytes, name: str) -> None:
        driver = modules.device.enter()
        self.modules = modules
        self.handle = driver.module_load_data(image)
        self.function = driver.module_get_function(self.handle, name)
        self.shared = INLINE_SHARED
        self.used: dict[Queue, int] = {}  # the last ticket of each stream that runs it

    def allow_shared(self, nbytes: int) -> None:
        """Let launches have so much shared memory."""
        if nbytes > self.shared:
            self.modules.device.enter().func_set_max_dynamic_shared_size(self.function, nbytes)
            self.shared = nbytes

    def __del__(self) -> None:
        if hasattr(self, "used"):
            self.modules.retired.append((self.handle, self.used))


class Modules:
    """The modules of one device, each text once."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.lock = threading.Lock()
        self.loaded: weakref.WeakValueDictionary[tuple[str, int], Module] = weakref.WeakValueDictionary()
        self.retired: deque[tuple[int, dict[Queue, int]]] = deque()

    @cached_property
    def target(self) -> tuple[str, int]:
        """Architecture and version of the PTX that the device gets."""
        driver = self.device.driver.driver_get_version()
        arch = targets.architecture(self.device.capability, driver)
        return arch, targets.version(driver, arch)

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
                handle, used = self.retired.popleft()
            except IndexError:  # another thread was first
                return
            if all(queue.poll() >= ticket for queue, ticket in used.items()):
                if self.device.lost is None:
                    self.device.enter().module_unload(handle)
            else:
                self.retired.append((handle, used))

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
