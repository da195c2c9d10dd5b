"""Docstrings as their sources have them."""

from __future__ import annotations

import re


def indented(docstring: str | None) -> str:
    """The docstring with lines after the first indented by four, as in the source: Python 3.13 takes that away."""
    docstring = docstring or ""
    return re.sub(r"\n(?!\n)", "\n    ", docstring) if re.search(r"\n\S", docstring) else docstring
