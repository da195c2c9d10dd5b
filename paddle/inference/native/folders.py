"""Folders of this package that are no modules."""

from __future__ import annotations

from pathlib import Path

HEADERS = Path(__file__).parent / "include"
