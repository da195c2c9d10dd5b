"""What the paths of the server take and give: bodies, choices of an answer, and those of its pieces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from asking import Ask, parse, parse_chat
from loading import Loaded


@dataclass(frozen=True)
class Format:
    """``parse`` reads a body. ``id`` begins the names of answers; ``object`` and ``event`` are what an answer and a
    piece of it call themselves, ``choice`` and ``piece`` the fields of their choices for a text. ``first`` is the
    choice of a piece before the others.
    """

    parse: Callable[[bytes, Loaded], Ask]
    id: str
    object: str
    event: str
    choice: Callable[[str], dict[str, Any]]
    piece: Callable[[str], dict[str, Any]]
    first: dict[str, Any] | None = None

    def answer(self, head: dict[str, Any], choice: dict[str, Any], reason: str | None, event: bool) -> dict[str, Any]:
        """An answer, or an event of it, with one choice."""
        choice = {"index": 0, **choice, "logprobs": None, "finish_reason": reason}
        return {**head, "object": self.event if event else self.object, "choices": [choice]}


COMPLETION = Format(
    parse, "cmpl", "text_completion", "text_completion", lambda text: {"text": text}, lambda text: {"text": text}
)
CHAT = Format(
    parse_chat, "chatcmpl", "chat.completion", "chat.completion.chunk",
    lambda text: {"message": {"role": "assistant", "content": text}},
    lambda text: {"delta": {"content": text} if text else {}},
    {"delta": {"role": "assistant", "content": ""}},
)  # fmt: skip
