"""Messages of a chat to tokens: a template may write special tokens, a message never does.

Where a message has the text of a special token, another character stands for its first one while the template sees it.
What is a special token then is the template's own. It gets a name that nobody can guess, in a copy of the tokenizer
that knows special tokens by these names alone, and the message gets its character back.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable
from typing import Any

from templates import NoPrompt, Template
from tokenizers import Tokenizer

STANDING_IN = range(0xF0000, 0xFFFFE)  # characters of a plane for private use


class Chats:
    """Prompts of a template as tokens of a tokenizer."""

    def __init__(self, tokenizer: Tokenizer, template: Template) -> None:
        self.template = template
        added = tokenizer.get_added_tokens_decoder().values() if template.source is not None else ()
        special = [t.content for t in added if t.special and t.content]
        nonce = secrets.token_hex(16)
        self._names = {text: f"<{nonce}.{i}>" for i, text in enumerate(special)}
        longest = sorted(special, key=len, reverse=True)  # where one begins another
        self._special = re.compile("|".join(map(re.escape, longest))) if longest else None
        # A text within another, and several that overlap, are found as well.
        self._places = re.compile(f"(?={self._special.pattern})") if self._special else None
        self._ends = {c for text in special for c in (text[0], text[-1])}
        self._tokenizer = renamed(tokenizer, self._names) if special else tokenizer

    def encode(self, messages: list[dict[str, str]]) -> list[int]:
        """The tokens of the prompt that asks for the next message.

        Raises:
            NoPrompt: as of ``Template.render``, or a template that makes a special token of pieces of messages.
            RuntimeError: as of ``Template.render``.
        """
        stands, shown = self._standing_in(messages), {}
        if self._special is None or not stands:
            prompt = self.template.render(messages)
        else:
            prompt = self._rendered(messages, lambda text: self._hidden(text, stands))
            every = str.maketrans(stands)
            if self._found(self._rendered(messages, lambda text: text.translate(every))) != self._found(prompt):
                raise NoPrompt("messages of which the chat template makes no special tokens are required, got others")
            shown = str.maketrans({mark: c for c, mark in stands.items()})
        if self._special is not None:
            prompt = self._special.sub(lambda found: self._names[found[0]], prompt)
        # The template writes special tokens itself.
        return self._tokenizer.encode(prompt.translate(shown), add_special_tokens=False).ids

    def _standing_in(self, messages: list[dict[str, str]]) -> dict[str, str]:
        """A character for each end of a special token that is in messages, in none of which it is."""
        there = set().union(*(m["content"] for m in messages))
        chosen: dict[str, str] = {}
        while missing := (self._ends & there) - chosen.keys():
            mark = chr(secrets.choice(STANDING_IN))
            if mark not in there and mark not in chosen.values():
                chosen[missing.pop()] = mark
        return chosen

    def _hidden(self, text: str, stands: dict[str, str]) -> str:
        assert self._places is not None
        characters = list(text)
        for place in self._places.finditer(text):
            characters[place.start()] = stands[text[place.start()]]
        return "".join(characters)

    def _rendered(self, messages: list[dict[str, str]], hidden: Callable[[str], str]) -> str:
        return self.template.render([{**m, "content": hidden(m["content"])} for m in messages])

    def _found(self, prompt: str) -> list[str]:
        assert self._special is not None
        return self._special.findall(prompt)


def renamed(tokenizer: Tokenizer, names: dict[str, str]) -> Tokenizer:
    """A copy that knows tokens by other names: the texts before are text like any other."""
    table = json.loads(tokenizer.to_str())
    model = table["model"]
    vocabulary = model["vocab"]
    if isinstance(vocabulary, dict):
        model["vocab"] = {names.get(text, text): number for text, number in vocabulary.items()}
    else:  # pieces with scores
        model["vocab"] = [[names.get(text, text), score] for text, score in vocabulary]
    if "merges" in model:  # none may lead to a token that has another name
        model["merges"] = [m for m in model["merges"] if names.keys().isdisjoint(_joined(m))]
    if isinstance(model.get("unk_token"), str):
        model["unk_token"] = names.get(model["unk_token"], model["unk_token"])
    for token in table["added_tokens"]:
        token["content"] = names.get(token["content"], token["content"])
    table["post_processor"] = None  # which adds tokens by their names
    copy = Tokenizer.from_str(json.dumps(table))
    for text, name in names.items():
        if copy.token_to_id(name) != tokenizer.token_to_id(text):
            raise ValueError(f"a tokenizer that keeps numbers under other names is required, got one for {text!r}")
    return copy


def _joined(merge: Any) -> set[str]:
    first, second = merge.split(" ", 1) if isinstance(merge, str) else merge
    return {first, second, first + second}
