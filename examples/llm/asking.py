"""Bodies of ``POST /v1/completions``: checked field by field, to a request of the engine."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from continuations import Beams, Request, Sampled
from loading import Loaded
from sampling import Sampling

FIELDS = {
    "model": "ignored: a server has one",
    "prompt": "a text, or a list of tokens",
    "max_tokens": "tokens that are written at most; 64",
    "temperature": "0: the likeliest token each time; 1",
    "top_k": "of the likeliest tokens; 0: all",
    "top_p": "of the fewest tokens with this probability together; 1",
    "seed": "of what is drawn; 0",
    "stop": "a text, or up to 8, that ends the writing",
    "stream": "tokens as they are written; false",
    "beams": "texts that beam search keeps, 1: no search",
    "length_penalty": "of beam search: power of the length that divides scores; 1",
}
MOST_STOPS = 8


class Malformed(ValueError):
    """A body that is no request."""


@dataclass
class Ask:
    """A request, the strings that end it, and whether tokens are sent as they come."""

    request: Request
    stops: tuple[str, ...]
    stream: bool


def parse(body: bytes, loaded: Loaded) -> Ask:
    """Read a body.

    Raises:
        Malformed: no JSON object, an unknown field, or a value of another type or outside its range.
    """
    try:
        table = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"a body in JSON is required: {error}") from None
    if not isinstance(table, dict):
        raise Malformed(f"a JSON object is required, got {type(table).__name__}")
    if unknown := sorted(table.keys() - FIELDS.keys()):
        raise Malformed(f"fields of {list(FIELDS)} are required, got {unknown[0][:100]!r}")
    beams = _whole(table, "beams", 1, 1)
    sampling = Sampling(
        _number(table, "temperature", 0.0 if beams > 1 else 1.0, 0, 100), _whole(table, "top_k", 0, 0),
        _number(table, "top_p", 1.0, 0, 1), _whole(table, "seed", 0, 0),
    )  # fmt: skip
    if sampling.top_p == 0:
        raise Malformed("'top_p' above 0 is required, got 0")
    common = _prompt(table, loaded), _whole(table, "max_tokens", 64, 1), loaded.config.eos
    if beams > 1:
        if sampling != Sampling(seed=sampling.seed):
            raise Malformed("'beams' without 'temperature', 'top_k' and 'top_p' is required, got both")
        request: Request = Beams(*common, beams=beams, penalty=_number(table, "length_penalty", 1.0, -10, 10))
    elif "length_penalty" in table:
        raise Malformed("'length_penalty' with 'beams' above 1 is required, got it alone")
    else:
        request = Sampled(*common, sampling=sampling)
    stream = table.get("stream", False)
    if type(stream) is not bool:
        raise Malformed(f"'stream' as true or false is required, got {stream!r}"[:200])
    return Ask(request, _stops(table.get("stop")), stream)


def _whole(table: dict[str, Any], name: str, default: int, least: int) -> int:
    value = table.get(name, default)
    if type(value) is not int or not least <= value < 1 << 63:
        raise Malformed(f"'{name}' as an integer from {least} is required, got {value!r}"[:200])
    return value


def _number(table: dict[str, Any], name: str, default: float, least: float, most: float) -> float:
    value = table.get(name, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
        raise Malformed(f"'{name}' as a number from {least} to {most} is required, got {value!r}"[:200])
    return float(value)


def _prompt(table: dict[str, Any], loaded: Loaded) -> list[int]:
    prompt = table.get("prompt")
    if isinstance(prompt, str):
        if any("\ud800" <= c <= "\udfff" for c in prompt):
            raise Malformed("'prompt' of characters is required, got half of a surrogate pair")
        return loaded.tokenizer.encode(prompt).ids
    if isinstance(prompt, list) and all(type(t) is int for t in prompt):
        return prompt
    raise Malformed(f"'prompt' as a text or a list of tokens is required, got {prompt!r}"[:200])


def _stops(value: Any) -> tuple[str, ...]:
    stops = [] if value is None else [value] if isinstance(value, str) else value
    if not isinstance(stops, list) or len(stops) > MOST_STOPS or not all(isinstance(s, str) and s for s in stops):
        raise Malformed(f"'stop' as a text or up to {MOST_STOPS} is required, got {value!r}"[:200])
    return tuple(stops)
