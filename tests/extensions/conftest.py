"""Operators in C++, compiled once."""

from __future__ import annotations

from types import ModuleType

import pytest

from tests.support.extensions import loaded
from tests.support.fake import fake  # noqa: F401  the fixture


@pytest.fixture(scope="session")
def ops() -> ModuleType:
    """Operators of every kind, and operators by schemas."""
    return loaded("operators", "library")
