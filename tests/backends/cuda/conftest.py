"""The backend over the recording driver, whose kernels run on the processor."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import paddle
from umiak import backends
from umiak.core import stream
from umiak.core.place import Place

# Helper modules of these tests, the emulator, and the samples of ops as cases.
TESTS = Path(__file__).parents[2]
for folder in (Path(__file__).parent, TESTS / "compiler", TESTS / "support"):
    sys.path.insert(0, str(folder))


@pytest.fixture(scope="package")
def cuda() -> Iterator[Any]:
    """The backend of ``gpu``; kernels are kept as the LLVM text that they are rendered to."""
    from emulation import execute
    from recording_driver import RecordingDriver

    from umiak.backends.cuda import modules
    from umiak.backends.cuda.backend import CudaBackend

    if "gpu" in backends.device_types():
        pytest.skip("requires a machine without a CUDA device")
    assemble, modules.ptx_of = modules.ptx_of, lambda text, arch, version: text
    backend = backends.register(CudaBackend(RecordingDriver(devices=2, execute=execute)))
    yield backend
    for device in backend.devices.values():
        stream.synchronize(device.place.index)
    backends.unregister(backend.name)
    modules.ptx_of = assemble


@pytest.fixture
def device(cuda: Any) -> Iterator[Place]:
    """The first device, as default place of a test."""
    former = paddle.get_device()
    place = Place("gpu", 0)
    cuda.host.reset()
    paddle.set_device("gpu:0")
    yield place
    stream.synchronize(place.index)
    paddle.set_device(former)
