"""Arguments that are checked alike in many places: collections, and names of files."""

from __future__ import annotations

import os
from operator import index
from typing import Any

from umiak.util.errors import OperandError, op_error


def several(op: str, required: str, given: Any, kind: type | tuple[type, ...] = object) -> list[Any]:
    """The items of a collection, which are of a kind. A text is refused as anything without items is: of ``"weight"``
    each letter would count as one.

    Raises:
        TypeError: something else.
    """
    if isinstance(given, (str, bytes)):
        raise op_error(TypeError, op, required, repr(given))
    try:
        items = iter(given)
    except TypeError:
        raise op_error(TypeError, op, required, type(given).__name__) from None
    found = list(items)
    for x in found:
        if not isinstance(x, kind):
            shown = repr(x) if isinstance(x, (str, type)) else f"of type {type(x).__name__}"
            raise op_error(TypeError, op, required, f"an item {shown}")
    return found


def file_name(op: str, required: str, path: Any) -> str:
    """The name of a file, which is given as a text, a path or, as to functions of ``os``, in bytes.

    Raises:
        OperandError: something else.
    """
    try:
        return os.fsdecode(path)
    except TypeError:
        raise op_error(OperandError, op, required, type(path).__name__) from None


def sizes_of(op: str, shape: Any) -> tuple[int, ...]:
    """The sizes of a tensor that is to be made: ints of at least 0, or one int.

    Raises:
        TypeError: something else.
        ValueError: a negative size.
    """
    try:
        sizes = tuple(map(index, shape if hasattr(shape, "__iter__") and not isinstance(shape, str) else (shape,)))
    except TypeError:
        raise op_error(TypeError, op, "a shape of ints", repr(shape)) from None
    if any(n < 0 for n in sizes):
        raise op_error(ValueError, op, "a shape of sizes that are known", list(sizes))
    return sizes
