"""Arguments of settings: lists of names, and what switches something on or off."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from umiak.util.errors import op_error


def _names(op_name: str, what: str, given: Any) -> list[str]:
    """A list of texts. One text is none: its letters would be taken for names.

    Raises:
        TypeError: something else.
    """
    found: list[Any] = list(given) if isinstance(given, Iterable) and not isinstance(given, (str, bytes)) else [None]
    if not all(isinstance(x, str) for x in found):
        hint = f"Write [{given!r}]." if isinstance(given, str) else ""
        raise op_error(TypeError, op_name, f"a list or set of {what}", repr(given), hint)
    return found


def _switch(op_name: str, given: Any) -> bool:
    """The value of a switch. Texts as ``"False"`` are true to Python.

    Raises:
        TypeError: something that is no bool.
    """
    if not isinstance(given, (bool, int, np.bool_)):
        raise op_error(TypeError, op_name, "True or False", repr(given))
    return bool(given)
