"""Checked arguments of transforms: sizes, borders, values of channels."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from umiak.util.errors import op_error

PADDING_MODES = ("constant", "edge", "reflect", "symmetric")


def pair(size: Any, op: str, arg_name: str = "size") -> tuple[int, int]:
    """Height and width of an int or of two."""
    values = (size, size) if isinstance(size, numbers.Integral) else size
    if isinstance(values, Sequence) and not isinstance(values, str) and len(values) == 1:
        values = (values[0], values[0])
    if isinstance(values, str) or not isinstance(values, Sequence) or len(values) != 2:
        raise op_error(ValueError, op, f"an int or (height, width) for {arg_name}", repr(size))
    height, width = (int(v) for v in values)
    if height < 1 or width < 1:
        raise op_error(ValueError, op, f"a {arg_name} of at least 1 pixel", repr(size))
    return height, width


def resized(height: int, width: int, size: Any, op: str) -> tuple[int, int]:
    """Size of a resized image; an int is the smaller edge, and the larger follows."""
    if not isinstance(size, numbers.Integral):
        if isinstance(size, str) or not isinstance(size, Sequence) or len(size) not in (1, 2):
            raise op_error(TypeError, op, "an int or (height, width) for size", repr(size))
        return pair(size, op)
    edge = pair(size, op)[0]
    if not height or not width:
        raise op_error(ValueError, op, "an image of at least 1 pixel", (height, width))
    if width < height:
        return max(1, int(edge * height / width)), edge
    return edge, max(1, int(edge * width / height))


def borders(padding: Any, op: str) -> tuple[int, int, int, int]:
    """Left, top, right and bottom of an int, of (left and right, top and bottom), or of four."""
    if isinstance(padding, numbers.Integral):
        return (int(padding),) * 4
    if isinstance(padding, str) or not isinstance(padding, (Sequence, np.ndarray)) or len(padding) not in (2, 4):
        raise op_error(ValueError, op, "an int or a list of 2 or 4 ints for padding", repr(padding))
    left, top, right, bottom = (int(v) for v in (padding if len(padding) == 4 else (*padding, *padding)))
    return left, top, right, bottom


def one_of(value: Any, known: Sequence[str], op: str, arg_name: str) -> str:
    """The value, if it is one of those known."""
    if value not in known:
        raise op_error(ValueError, op, f"a {arg_name} of {', '.join(map(repr, known))}", repr(value))
    return value


def per_channel(fill: Any, channels: int, op: str) -> tuple[float, ...]:
    """A number for each channel, of one number or of as many."""
    values: Any = (fill,) * channels if isinstance(fill, (int, float, np.number)) else tuple(fill)
    if len(values) == 1:
        values = values * channels
    if len(values) != channels:
        raise op_error(ValueError, op, f"a number or {channels} for fill", repr(fill))
    return values
