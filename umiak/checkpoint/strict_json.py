"""JSON from files that may be damaged or hostile: parsed strictly, nothing repeated, nothing of the wrong type."""

from __future__ import annotations

import json
import math
import reprlib
from typing import Any

from umiak.checkpoint.errors import CheckpointError
from umiak.util.errors import op_error

MOST_AXES = 32
MOST_ELEMENTS = 1 << 60
LONGEST_KEY = 4096


def fail(where: str, required: str, got: Any) -> Exception:
    """The error of a file ``where`` something else stands than what is required. Long values are cut."""
    text = got if isinstance(got, str) else reprlib.repr(got)
    return op_error(CheckpointError, "checkpoint", required[:400], f"{text[:200]} in {where}")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"the key {key[:200]!r} twice")
            seen.add(key)
    return out


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name}, which JSON has not")


def parse(text: bytes, where: str) -> Any:
    """The value of a JSON text.

    Raises:
        CheckpointError: text that is not strict JSON in UTF-8, repeats a key in an object or nests too deeply.
    """
    try:
        return json.loads(text.decode(), object_pairs_hook=_once, parse_constant=_no_constant)
    except RecursionError:
        raise fail(where, "JSON of moderate depth", "a deeply nested value") from None
    except ValueError as error:
        raise fail(where, "JSON", str(error)) from None


def dumps(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def integer(value: Any, field: str, where: str, least: int = 0) -> int:
    if type(value) is not int or not least <= value < 1 << 63:
        raise fail(where, f"{field} as an integer from {least}", value)
    return value


def string(value: Any, field: str, where: str, longest: int = LONGEST_KEY) -> str:
    if not isinstance(value, str) or len(value) > longest:
        raise fail(where, f"{field} as a string of at most {longest} characters", value)
    return value


def sizes(value: Any, field: str, where: str) -> tuple[int, ...]:
    """A list of sizes or offsets."""
    if not isinstance(value, list) or len(value) > MOST_AXES:
        raise fail(where, f"{field} as a list of at most {MOST_AXES} integers", value)
    for n in value:
        if type(n) is not int or not 0 <= n < MOST_ELEMENTS:
            raise fail(where, f"{field} as a list of integers from 0 to 2**60", value)
    return tuple(value)


def shape(value: Any, field: str, where: str) -> tuple[int, ...]:
    out = sizes(value, field, where)
    if math.prod(out) > MOST_ELEMENTS:
        raise fail(where, f"{field} with at most 2**60 elements", value)
    return out


def object_fields(value: Any, fields: tuple[str, ...], field: str, where: str) -> list[Any]:
    """The values of an object with exactly these fields."""
    if not isinstance(value, dict) or set(value) != set(fields):
        raise fail(where, f"{field} as an object with the fields {', '.join(fields)}", value)
    return [value[name] for name in fields]


def row(value: Any, length: int, field: str, where: str) -> list[Any]:
    if not isinstance(value, list) or len(value) != length:
        raise fail(where, f"{field} as a list of {length} values", value)
    return value
