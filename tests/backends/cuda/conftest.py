"""The backend over the recording driver, whose kernels run on the processor."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import paddle
from umiak.core import stream
from umiak.core.place import Place

# Helper modules of these tests, the emulator, and the samples of ops as cases.
TESTS = Path(__file__).parents[2]
for folder in (Path(__file__).parent, TESTS / "compiler", TESTS / "support"):
    sys.path.insert(0, str(folder))


@pytest.fixture(scope="module")
def cuda() -> Iterator[Any]:
    """The backend of ``gpu``."""
    from recorded_backend import entered

    with entered() as backend:
        yield backend


@pytest.fixture
def device(cuda: Any) -> Iterator[Place]:
    """The first device, as default place of a test."""
    former = paddle.get_device()
    place = Place("gpu", 0)
    cuda.host.clear()
    paddle.set_device("gpu:0")
    yield place
    stream.synchronize(place.index)
    paddle.set_device(former)
