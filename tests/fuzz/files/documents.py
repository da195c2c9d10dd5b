"""Damage to what JSON documents of programs mean: other values, names, types, operators, operands and regions."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

from paddle.static.formats.operators.table import TABLE
from tests.fuzz.files import mutate as m
from tests.fuzz.files.messages import places, rearrange

OPERATORS = [name.replace("pd_op.", "1.") for name in sorted(TABLE)]
OPERATORS += ["p", "0.combine", "0.split", "1.data", "1.fetch", "1.if", "1.while", "2.yield", "7.relu", "1.none", "1"]
NUMBERS = (0, 1, 2, 3, 5, 8, 64, 255, 4097, -1, -2, 1 << 20, (1 << 31) - 1, 1 << 40, (1 << 63) - 1, -(1 << 63), 10**30)
REALS = (0.0, -0.0, 0.5, 1.5, -1.0, 1e30, 1e308, "NaN", "INF", "-INF")
TEXTS = (
    "",
    "x",
    "NHWC",
    "SAME",
    "max",
    "float32",
    "int64",
    "bfloat16",
    "complex64",
    "0.t_vec",
    "0.t_f32",
    "\0",
    "é",
    "..",
)


def other(r: random.Random, value: Any, key: Any) -> Any:
    """A value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return r.choice((*NUMBERS, value + 1, value - 1))
    if isinstance(value, float):
        return r.choice(REALS)
    if isinstance(value, str) and key == "#" and r.random() < 0.7:
        return r.choice(OPERATORS)
    return r.choice((*TEXTS, f"{value}_"))


def nodes(r: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """A few nodes with other values, or values from elsewhere; items left out, twice or in another order."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return m.flip(r, data, others)
    if not isinstance(document, (dict, list)):
        return m.flip(r, data, others)
    for _ in range(r.choice((1, 1, 2, 4))):
        everywhere = places(document)
        if not everywhere:
            break
        x, key = r.choice(everywhere)
        value = x[key]
        if isinstance(value, (dict, list)) and value and r.random() < 0.6:
            y, k = r.choice(everywhere)
            x[key] = json.loads(json.dumps(y[k])) if r.random() < 0.5 else value
            if isinstance(value, list):
                rearrange(r, value)
        elif isinstance(value, (str, int, float)):
            x[key] = other(r, value, key)
        else:
            x[key] = r.choice((None, [], {}, 0, "x", True))
    return json.dumps(document).encode()[: 2 * m.LARGEST]
