"""The backend, entered for the time of these tests. Where ``umiak[test]`` has PoCL, they fail without it."""

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

# Helper modules of these tests, and the samples of ops as cases, which the engine's own tests have.
for folder in (Path(__file__).parent, Path(__file__).parents[3] / "tests" / "support"):
    sys.path.insert(0, str(folder))

import extras  # noqa: E402
from seeding import seed_by_name  # noqa: E402


@pytest.fixture(autouse=True)
def seed(request: pytest.FixtureRequest) -> int:
    """Seed every generator from the test's name, as in the engine's own tests."""
    return seed_by_name(request.node.nodeid)


@pytest.fixture(scope="module")
def opencl() -> Iterator[Any]:
    """The backend of ``opencl``, with a device at least."""
    plugin = extras.module("umiak_opencl", "pyopencl")
    # Another platform may be one that checks all that is done, and takes its time.
    paddle.set_flags({"FLAGS_opencl_platform": "Portable Computing Language"})
    if not plugin.backend.device_count():
        if extras.belongs("pocl-binary-distribution"):
            pytest.fail("requires PoCL, which pocl-binary-distribution has: install umiak[test]")
        pytest.skip("requires PoCL, which umiak[test] has for Linux on x86-64")
    # Drivers take most of the time of these tests to optimise kernels that run for microseconds.
    paddle.set_flags({"FLAGS_opencl_options": "-cl-opt-disable"})
    installed = plugin.backend.name in backends.device_types()
    backends.register(plugin.backend)
    yield plugin
    for device in plugin.backend.devices.values():
        stream.synchronize(device.place.index)
    paddle.set_flags({"FLAGS_opencl_options": ""})
    if not installed:
        backends.unregister(plugin.backend.name)


@pytest.fixture
def device(opencl: Any) -> Iterator[Place]:
    """The first device, as default place of a test."""
    former = paddle.get_device()
    place = Place("opencl", 0)
    opencl.reset_fallbacks()
    paddle.set_device(place.name)
    yield place
    stream.synchronize(place.index)
    paddle.set_device(former)


@pytest.fixture
def optimised(opencl: Any) -> Iterator[None]:
    """Programs are compiled as users have them, in three times the time."""
    options = paddle.get_flags("FLAGS_opencl_options")
    paddle.set_flags({"FLAGS_opencl_options": ""})
    yield
    paddle.set_flags(options)
