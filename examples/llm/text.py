"""Texts to tokens and back, by ``tokenizer.json``."""

from __future__ import annotations

from pathlib import Path

from config import LONGEST_FILE, BadModel
from tokenizers import Tokenizer

UNFINISHED = "\ufffd"  # stands for bytes that are no character yet


def read_tokenizer(folder: Path, vocabulary: int) -> Tokenizer:
    """Read ``tokenizer.json``.

    Raises:
        BadModel: no such file, one that is not of this format, or more tokens than the model has rows for.
    """
    path = folder / "tokenizer.json"
    try:
        if path.stat().st_size > LONGEST_FILE:
            raise BadModel(path, f"a file of {LONGEST_FILE} bytes at most", f"{path.stat().st_size} bytes")
        tokenizer = Tokenizer.from_file(str(path))
    except BadModel:
        raise
    except Exception as error:  # the package raises plain exceptions
        raise BadModel(path, "a tokenizer that can be read", str(error)) from None
    largest = max(tokenizer.get_vocab(with_added_tokens=True).values(), default=-1)
    if largest >= vocabulary:
        raise BadModel(path, f"tokens below the vocab_size {vocabulary} of config.json", largest)
    return tokenizer


class Stream:
    """Text of tokens that come one by one. A character may span tokens: it is held back until it is complete.

    With ``stops``, what may be the beginning of one of these strings is held back too; ``stopped`` tells that one came,
    and nothing is passed on from there.
    """

    def __init__(self, tokenizer: Tokenizer, stops: tuple[str, ...] = ()) -> None:
        self.tokenizer, self.stops = tokenizer, stops
        self.stopped = False
        self._tokens: list[int] = []
        self._begin = self._end = 0  # tokens [begin, end) are passed on, and decide about spaces of what follows
        self._held = ""

    def add(self, tokens: list[int]) -> str:
        """Return the text that these tokens complete."""
        self._tokens += tokens
        before = self.tokenizer.decode(self._tokens[self._begin : self._end])
        after = self.tokenizer.decode(self._tokens[self._begin :])
        if after.endswith(UNFINISHED):
            return ""
        self._begin, self._end = self._end, len(self._tokens)
        return self._pass(after[len(before) :])

    def finish(self) -> str:
        """Return what was held back."""
        before = self.tokenizer.decode(self._tokens[self._begin : self._end])
        text = self._pass(self.tokenizer.decode(self._tokens[self._begin :])[len(before) :])
        text, self._held = text + self._held, ""
        return "" if self.stopped and not text else text

    def _pass(self, text: str) -> str:
        if self.stopped:
            return ""
        text = self._held + text
        ends = [at for at in (text.find(s) for s in self.stops) if at >= 0]
        if ends:
            self.stopped, self._held = True, ""
            return text[: min(ends)]
        # The longest end of the text that a stop begins with.
        keep = max((n for s in self.stops for n in range(1, len(s)) if text.endswith(s[:n])), default=0)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]
