"""The backend over the recording driver: one for a process, as its places keep their memory and streams."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from emulation import execute
from recording_driver import RecordingDriver

from umiak import backends
from umiak.backends.cuda import modules
from umiak.backends.cuda.backend import CudaBackend
from umiak.core import stream


@functools.cache
def backend() -> CudaBackend:
    return CudaBackend(RecordingDriver(devices=2, execute=execute))


@contextmanager
def entered() -> Iterator[CudaBackend]:
    """Register the backend. Its modules are the LLVM text that kernels are rendered to.

    With ``UMIAK_TEST_GPU`` in the environment it is the machine's own (``tools/gpu_check.py``).
    """
    if backend() in registered():
        yield backend()
        return
    if "UMIAK_TEST_GPU" in os.environ:
        yield registered()[0]
        return
    if registered():
        pytest.skip("requires a machine without a CUDA device")
    assemble, modules.ptx_of = modules.ptx_of, lambda text, arch, version: text
    backends.register(backend())
    try:
        yield backend()
        for device in backend().devices.values():
            stream.synchronize(device.place.index)
    finally:
        backends.unregister(backend().name)
        modules.ptx_of = assemble


def registered() -> list[backends.Backend]:
    return backends.backends_of("gpu") if "gpu" in backends.device_types() else []
