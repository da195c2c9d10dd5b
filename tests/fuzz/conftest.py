"""Fixtures of random programs."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# Helper modules that several folders of tests share are imported by name.
sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from fake import fake  # noqa: F401  the fixture

import paddle
from umiak.compiler.jit import object_cache  # noqa: F401  declares the switch


@pytest.fixture
def slow_kept_nowhere(request: pytest.FixtureRequest) -> Iterator[None]:
    """Kernels of the programs that every run draws are kept on disk; those of the many others are not worth a place."""
    if request.node.get_closest_marker("slow") is None:
        yield
        return
    before = paddle.get_flags("FLAGS_jit_cache")
    paddle.set_flags({"FLAGS_jit_cache": False})
    yield
    paddle.set_flags(before)
