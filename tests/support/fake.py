"""The fake device of ``fake_device``, installed for a while as a distribution of a third party is: on the path."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from umiak import backends
from umiak.core import stream
from umiak.core.place import Place

FOLDER = Path(__file__).parent / "fake_device"
FAKE = Place("fake", 0)
OTHER = Place("fake", 1)


@contextmanager
def installed() -> Iterator[Any]:
    """The backend, found by its entry point."""
    sys.path.insert(0, str(FOLDER))
    try:
        backends.discover(again=True)
    finally:
        sys.path.remove(str(FOLDER))
    try:
        yield backends.get("fake")
    finally:
        for place in (FAKE, OTHER):
            stream.synchronize(place.index)
        backends.unregister("fake")


@pytest.fixture(scope="module")
def fake() -> Iterator[Any]:
    with installed() as backend:
        yield backend
