"""Packages that ``umiak[test]`` installs. Tests that need one fail where it is missing, rather than be skipped."""

from __future__ import annotations

from importlib import import_module, metadata
from typing import Any

import pytest
from packaging.requirements import Requirement


def belongs(distribution: str) -> bool:
    """Return whether ``umiak[test]`` has a distribution on machines like this one."""
    return any(
        r.name == distribution and (r.marker is None or r.marker.evaluate({"extra": "test"}))
        for r in map(Requirement, metadata.requires("umiak") or ())
    )


def module(name: str, distribution: str) -> Any:
    """A module of a distribution, at the beginning of a file or in a fixture; a skip where no machine like this has it.

    Raises ImportError where ``umiak[test]`` has the distribution, but it is not installed.
    """
    if not belongs(distribution):
        pytest.skip(f"umiak[test] has no {distribution} for such machines", allow_module_level=True)
    return import_module(name)
