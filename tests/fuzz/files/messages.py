"""Damage to what protobuf messages mean: other values, names, types, operators and blocks."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from paddle.static.formats.legacy.program import PROGRAM
from paddle.static.formats.legacy.protobuf import decode, encode
from paddle.static.formats.legacy.table import TABLE
from tests.fuzz.files import mutate as m
from umiak.ir.serialise import FormatError

TYPES = sorted(TABLE)
NUMBERS = (0, 1, 2, 3, 5, 7, 8, 13, 255, -1, -2, 1 << 20, (1 << 31) - 1, -(1 << 31), (1 << 62), -(1 << 63))
REALS = (0.0, -0.0, 1.5, -1.0, 1e30, float("inf"), float("nan"))
TEXTS = ("", "x", "@EMPTY@", "relu", "sum", "NHWC", "y" * 3000, "../x", "\0", "é")


def rearrange(r: random.Random, value: list[Any]) -> None:
    """Leave an element of a list out, repeat one, many times too, or reverse the list. In place."""
    at = r.randrange(len(value))
    kind = r.randrange(4)
    if kind == 0:
        del value[at]
    elif kind == 1:
        value.insert(at, value[r.randrange(len(value))])
    elif kind == 2:
        value.reverse()
    else:
        value[at:at] = [value[at]] * r.choice((2, 30, 2000))


def places(message: dict[str, Any]) -> list[tuple[Any, Any]]:
    """All lists and objects of a message, with the key of each value in them."""
    out: list[tuple[Any, Any]] = []
    rest: list[Any] = [message]
    while rest:
        x = rest.pop()
        for key, value in list(x.items() if isinstance(x, dict) else enumerate(x)):
            out.append((x, key))
            if isinstance(value, (dict, list)):
                rest.append(value)
    return out


def other(r: random.Random, value: Any) -> Any:
    """A value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return r.choice((*NUMBERS, value + 1, value - 1))
    if isinstance(value, float):
        return r.choice(REALS)
    return r.choice((*TEXTS, value + "_"))


def fields(r: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """A few fields with other values, or values from elsewhere; items left out, twice or in another order."""
    try:
        message = decode(data, PROGRAM, "a program")
    except FormatError:
        return m.flip(r, data, others)
    for _ in range(r.choice((1, 1, 2, 4))):
        everywhere = places(message)
        x, key = r.choice(everywhere)
        value = x[key]
        if isinstance(value, (str, int, float)):
            same = [y[k] for y, k in r.sample(everywhere, min(len(everywhere), 40)) if type(y[k]) is type(value)]
            x[key] = r.choice((other(r, value), r.choice([*same, value])))
            if key == "type" and isinstance(value, str) and r.random() < 0.7:
                x[key] = r.choice(TYPES)
        elif isinstance(value, list) and value:
            rearrange(r, value)
        elif isinstance(x, dict) and value is not None:
            x[key] = None
    try:
        return encode(message, PROGRAM)[: 2 * m.LARGEST]
    except UnicodeEncodeError:
        return data
