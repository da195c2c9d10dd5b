"""Syntax trees of texts, for several threads at a time; names that texts may have."""

from __future__ import annotations

import ast
import keyword
from typing import Any

MOST_PARSES = 100


def is_keyword_name(name: Any) -> bool:
    """Return whether a call may give an argument of this name as ``name=x``."""
    return isinstance(name, str) and name.isidentifier() and not keyword.iskeyword(name) and name != "__debug__"


def parse(text: str) -> ast.Module:
    """Return the syntax tree of ``text``, as ``ast.parse``.

    CPython 3.11 counts the depth of trees for all threads together (gh-106905): where one thread goes on inside of
    another one's call, either gets a SystemError, and nothing else has happened. No lock keeps other code from it.
    """
    for _ in range(MOST_PARSES):
        try:
            return ast.parse(text)
        except SystemError as error:
            if "recursion depth" not in str(error):
                raise
    return ast.parse(text)
