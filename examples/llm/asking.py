"""Bodies of ``POST /v1/completions`` and ``/v1/chat/completions`` to requests of the engine, checked field by field."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from continuations import Beams, Request, Sampled
from loading import Loaded
from sampling import Sampling
from templates import NoPrompt

PROMPT = {"prompt": "a text, or a list of tokens"}
MESSAGES = {
    "messages": "each with a role and a content, which is a text or a list of parts of the type text",
    "max_completion_tokens": "the newer name of max_tokens",
}
COMMON = {
    "model": "ignored: a server has one",
    "max_tokens": "tokens that are written at most; 64, or as many as the prompt leaves of the model's context",
    "temperature": "0: the likeliest token each time; 1",
    "top_k": "of the likeliest tokens; 0: all",
    "top_p": "of the fewest tokens with this probability together; 1",
    "seed": "of what is drawn; 0",
    "stop": "a text, or up to 8, that ends the writing",
    "stream": "tokens as they are written; false",
    "beams": "texts that beam search keeps, 1: no search",
    "length_penalty": "of beam search: power of the length that divides scores; 1",
}
USUAL_TOKENS = 64  # that are written where a request does not say how many
MOST_STOPS = 8
ROLES = ("system", "user", "assistant")


class Malformed(ValueError):
    """A body that is no request."""


@dataclass
class Ask:
    """A request, the strings that end it, and whether tokens are sent as they come."""

    request: Request
    stops: tuple[str, ...]
    stream: bool


def parse(body: bytes, loaded: Loaded) -> Ask:
    """Read a body with a prompt.

    Raises:
        Malformed: no JSON object, an unknown field, or a value of another type or outside its range.
    """
    table = _read(body, PROMPT | COMMON)
    return _ask(table, _prompt(table, loaded), loaded, loaded.config.eos)


def parse_chat(body: bytes, loaded: Loaded) -> Ask:
    """Read a body with messages, of which the model's template makes a prompt.

    Raises:
        Malformed: as for ``parse``, or a template that is missing, refuses the messages or fails.
        RuntimeError: the template could not be run.
    """
    table = _read(body, MESSAGES | COMMON)
    if "max_completion_tokens" in table:
        if "max_tokens" in table:
            raise Malformed("'max_tokens' or 'max_completion_tokens' is required, got both")
        _whole(table, "max_completion_tokens", 1, 1)
        table["max_tokens"] = table.pop("max_completion_tokens")
    try:
        prompt = loaded.chats.encode(_messages(table.get("messages")))
    except NoPrompt as error:
        raise Malformed(str(error)) from None
    end = loaded.tokenizer.token_to_id(loaded.template.names.get("eos_token", ""))
    stops = loaded.config.eos if end is None else (*loaded.config.eos, end)
    return _ask(table, prompt, loaded, stops)


def _read(body: bytes, fields: dict[str, str]) -> dict[str, Any]:
    try:
        table = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"a body in JSON is required: {error}") from None
    if not isinstance(table, dict):
        raise Malformed(f"a JSON object is required, got {type(table).__name__}")
    if unknown := sorted(table.keys() - fields.keys()):
        raise Malformed(f"fields of {list(fields)} are required, got {unknown[0][:100]!r}")
    return table


def _ask(table: dict[str, Any], prompt: list[int], loaded: Loaded, eos: tuple[int, ...]) -> Ask:
    beams = _whole(table, "beams", 1, 1)
    sampling = Sampling(
        _number(table, "temperature", 0.0 if beams > 1 else 1.0, 0, 100), _whole(table, "top_k", 0, 0),
        _number(table, "top_p", 1.0, 0, 1), _whole(table, "seed", 0, 0),
    )  # fmt: skip
    if sampling.top_p == 0:
        raise Malformed("'top_p' above 0 is required, got 0")
    room = loaded.config.max_position_embeddings - len(prompt)
    common = prompt, _whole(table, "max_tokens", max(1, min(USUAL_TOKENS, room)), 1), eos
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
        _characters(prompt, "prompt")
        return loaded.tokenizer.encode(prompt).ids
    if isinstance(prompt, list) and all(type(t) is int for t in prompt):
        return prompt
    raise Malformed(f"'prompt' as a text or a list of tokens is required, got {prompt!r}"[:200])


def _characters(text: str, name: str) -> None:
    if any("\ud800" <= c <= "\udfff" for c in text):
        raise Malformed(f"'{name}' of characters is required, got half of a surrogate pair")


def _messages(value: Any) -> list[dict[str, str]]:
    if not isinstance(value, list) or not value:
        raise Malformed(f"'messages' as a list of 1 or more is required, got {value!r}"[:200])
    return [_message(message, f"messages[{i}]") for i, message in enumerate(value)]


def _message(value: Any, name: str) -> dict[str, str]:
    if not isinstance(value, dict) or value.keys() != {"role", "content"}:
        raise Malformed(f"'{name}' as an object of 'role' and 'content' is required, got {value!r}"[:200])
    role, content = value["role"], value["content"]
    if role not in ROLES:
        raise Malformed(f"'{name}.role' as one of {list(ROLES)} is required, got {role!r}"[:200])
    if isinstance(content, list) and content and all(_is_text_part(part) for part in content):
        content = "".join(part["text"] for part in content)
    if not isinstance(content, str):
        required = "a text, or a list of objects of 'type', which is 'text', and 'text'"
        raise Malformed(f"'{name}.content' as {required}, is required, got {content!r}"[:300])
    _characters(content, f"{name}.content")
    return {"role": role, "content": content}


def _is_text_part(part: Any) -> bool:
    return (
        isinstance(part, dict) and part.keys() == {"type", "text"} and part["type"] == "text"
        and isinstance(part["text"], str)
    )  # fmt: skip


def _stops(value: Any) -> tuple[str, ...]:
    stops = [] if value is None else [value] if isinstance(value, str) else value
    if not isinstance(stops, list) or len(stops) > MOST_STOPS or not all(isinstance(s, str) and s for s in stops):
        raise Malformed(f"'stop' as a text or up to {MOST_STOPS} is required, got {value!r}"[:200])
    return tuple(stops)
