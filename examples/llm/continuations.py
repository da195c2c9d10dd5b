"""Texts that are being written: one token at a time, or the best of several beams."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from paging import Pool, Table
from sampling import Sampling, choose, log_softmax

LIKELIEST = Sampling()


class Text:
    """Tokens, of which the first ``table.length`` are in the cache; ``logits`` of the next one once all of them are."""

    def __init__(self, tokens: Sequence[int], table: Table) -> None:
        self.tokens, self.table = list(tokens), table
        self.logits: np.ndarray | None = None

    @property
    def pending(self) -> int:
        """Return how many tokens are not in the cache yet."""
        return len(self.tokens) - self.table.length

    def extended(self, token: int, table: Table) -> Text:
        return Text([*self.tokens, token], table)


class Request(ABC):
    """A prompt to be continued by ``most`` tokens at most. ``told(tokens, reason)`` is called with each piece, and with
    the reason at the end: ``"stop"`` after one of the ``stops`` (which is not passed on), ``"length"``, ``"cancelled"``
    or an error.
    """

    def __init__(
        self, prompt: Sequence[int], most: int, stops: Sequence[int] = (),
        told: Callable[[list[int], Any], None] = lambda tokens, reason: None,
    ) -> None:  # fmt: skip
        self.prompt, self.most, self.stops, self.told = list(prompt), most, frozenset(stops), told
        self.output: list[int] = []
        self.reason: Any = None
        self.cancelled = False
        self.texts: list[Text] = []

    beams = 1

    def start(self, pool: Pool) -> None:
        self.texts = [Text(self.prompt, Table(pool))]

    def cancel(self) -> None:
        """Ask for its end: the engine drops it before its next step."""
        self.cancelled = True

    def release(self) -> None:
        """Give all blocks back. Texts stay; they are recomputed if the request goes on."""
        for text in self.texts:
            text.table.clear()
            text.logits = None

    def finish(self, reason: Any) -> None:
        self.reason = reason
        self.release()
        self.told([], reason)

    @abstractmethod
    def advance(self) -> None:
        """Decide what comes next, once all texts have logits."""

    def _tell(self, tokens: list[int]) -> None:
        self.output += tokens
        self.told(tokens, None)


class Sampled(Request):
    """One text, token by token."""

    def __init__(self, *args: Any, sampling: Sampling = LIKELIEST, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.sampling = sampling
        self._rng = np.random.default_rng(sampling.seed)

    def advance(self) -> None:
        (text,) = self.texts
        token = choose(text.logits, self.sampling, self._rng)
        text.logits = None
        if token in self.stops:
            self.finish("stop")
            return
        text.tokens.append(token)
        self._tell([token])
        if len(self.output) == self.most:
            self.finish("length")


class Beams(Request):
    """The likeliest text that beam search finds, with its score: the sum of logarithms of probabilities, divided by the
    number of tokens to the power of ``penalty``. It is passed on as a whole.
    """

    def __init__(self, *args: Any, beams: int = 4, penalty: float = 1.0, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.beams, self.penalty = beams, penalty
        self.score = float("nan")
        self._sums = [0.0]
        self._complete: list[tuple[float, list[int], str]] = []

    def advance(self) -> None:
        known = len(self.texts[0].tokens) - len(self.prompt)
        sums = np.stack([total + log_softmax(text.logits) for total, text in zip(self._sums, self.texts)])
        # Of twice as many candidates as beams, so many at least do not end, where one token ends a text.
        count = min(self.beams * (1 + len(self.stops)), sums.size)
        best = np.argpartition(-sums.reshape(-1), count - 1)[:count]
        best = best[np.argsort(-sums.reshape(-1)[best], kind="stable")]
        texts: list[Text] = []
        totals: list[float] = []
        for flat in best:
            at, token = divmod(int(flat), sums.shape[1])
            if token in self.stops:
                self._end(float(sums.flat[flat]), known + 1, self.texts[at].tokens, "stop")
            elif len(texts) < self.beams:
                texts.append(self.texts[at].extended(token, self.texts[at].table.fork()))
                totals.append(float(sums.flat[flat]))
        for text in self.texts:
            text.table.clear()
        self.texts, self._sums = texts, totals
        if known + 1 == self.most:
            for text, total in zip(texts, totals):
                self._end(total, self.most, text.tokens, "length")
        elif totals and (not self._complete or self._reachable(totals[0], known + 1) > self._complete[0][0]):
            return
        self.score, tokens, reason = self._complete[0]
        self._tell(tokens[len(self.prompt) :])
        self.finish(reason)

    def _end(self, total: float, count: int, tokens: list[int], reason: str) -> None:
        self._complete.append((total / count**self.penalty, tokens, reason))
        self._complete.sort(key=lambda x: -x[0])

    def _reachable(self, total: float, count: int) -> float:
        """Return the best score that a text of this sum may still get: sums only fall, and the divisor may grow."""
        return total / (self.most if self.penalty > 0 else count) ** self.penalty
