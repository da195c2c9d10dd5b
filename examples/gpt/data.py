"""Text in, batches of token ids out: the corpus, a small byte-pair tokenizer, and an order of windows that can be
resumed.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

import numpy as np

PIECES = re.compile(rb" ?[A-Za-z]+| ?[0-9]+|\n[\n ]*| +(?= )| ?[^A-Za-z0-9\s]+|\s")


def corpus(path: str | None = None) -> bytes:
    """The text of ``path``, or the language reference that every Python installation carries."""
    if path is not None:
        with open(path, "rb") as f:
            return f.read()
    from pydoc_data.topics import topics

    return "\n\n".join(topics[k] for k in sorted(topics)).encode()


class Tokenizer:
    """Byte-pair encoding. ``merges[i]`` is the pair of tokens that token ``256 + i`` stands for; tokens below 256 are
    bytes.
    """

    def __init__(self, merges: Iterable[tuple[int, int]]) -> None:
        self.merges = [tuple(m) for m in merges]
        self.rank = {pair: 256 + i for i, pair in enumerate(self.merges)}
        self.bytes = [bytes([i]) for i in range(256)]
        for a, b in self.merges:
            self.bytes.append(self.bytes[a] + self.bytes[b])
        self._cache: dict[bytes, list[int]] = {}

    @classmethod
    def train(cls, text: bytes, vocab_size: int) -> Tokenizer:
        """Merge the most frequent pair of neighbours until there are ``vocab_size`` tokens."""
        pieces = Counter(PIECES.findall(text))
        words = [list(p) for p in pieces]
        counts = list(pieces.values())
        pairs: Counter[tuple[int, int]] = Counter()
        where: dict[tuple[int, int], set[int]] = defaultdict(set)
        for i, word in enumerate(words):
            for pair in zip(word, word[1:], strict=False):
                pairs[pair] += counts[i]
                where[pair].add(i)
        merges: list[tuple[int, int]] = []
        while len(merges) < vocab_size - 256:
            # Ties go to the smallest pair, so that the result does not depend on the order of dicts.
            best = max(pairs, key=lambda p: (pairs[p], -p[0], -p[1]), default=None)
            if best is None or pairs[best] < 2:
                break
            merges.append(best)
            for i in list(where[best]):
                for pair in zip(words[i], words[i][1:], strict=False):
                    pairs[pair] -= counts[i]
                words[i] = _merge(words[i], best, 255 + len(merges))
                for pair in zip(words[i], words[i][1:], strict=False):
                    pairs[pair] += counts[i]
                    where[pair].add(i)
            del pairs[best], where[best]
        return cls(merges)

    @property
    def vocab_size(self) -> int:
        return 256 + len(self.merges)

    def encode(self, text: bytes) -> list[int]:
        """The tokens of a text."""
        out: list[int] = []
        for piece in PIECES.findall(text):
            found = self._cache.get(piece)
            if found is None:
                found = self._cache[piece] = self._encode_piece(piece)
            out += found
        return out

    def _encode_piece(self, piece: bytes) -> list[int]:
        ids = list(piece)
        while len(ids) > 1:
            first = min(zip(ids, ids[1:], strict=False), key=lambda p: self.rank.get(p, 1 << 30))
            if first not in self.rank:
                break
            ids = _merge(ids, first, self.rank[first])
        return ids

    def decode(self, ids: Iterable[int]) -> str:
        """The text of tokens; bytes that are not UTF-8 show as �."""
        return b"".join(self.bytes[i] for i in ids).decode(errors="replace")


def _merge(ids: list[int], pair: tuple[int, int], new: int) -> list[int]:
    out, i = [], 0
    while i < len(ids):
        if i + 1 < len(ids) and (ids[i], ids[i + 1]) == pair:
            out.append(new)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return out


def unigram_entropy(tokens: np.ndarray) -> float:
    """The loss (nats per token) of a model that knows only how frequent each token is."""
    p = np.bincount(tokens) / len(tokens)
    p = p[p > 0]
    return float(-(p * np.log(p)).sum())


class Batches:
    """Endless batches of windows, every window once per epoch, in an order that depends on seed and epoch alone.

    ``state`` is the position; setting it continues exactly there.
    """

    def __init__(self, tokens: np.ndarray, context: int, batch: int, seed: int) -> None:
        self.tokens = tokens
        self.context = context
        self.batch = batch
        self.seed = seed
        self.starts = np.arange(0, len(tokens) - context - 1, context)
        if len(self.starts) < batch:
            raise ValueError(
                f"the text gives {len(self.starts)} windows of {context} tokens: too few for a batch of {batch}"
            )
        self.epoch, self.position = 0, 0
        self._order = self._shuffled()

    def _shuffled(self) -> np.ndarray:
        rng = np.random.default_rng((self.seed, self.epoch))
        # The windows begin elsewhere in every epoch.
        return rng.permutation(self.starts) + rng.integers(0, len(self.tokens) - self.context - self.starts[-1])

    @property
    def state(self) -> dict[str, int]:
        return {"epoch": self.epoch, "position": self.position}

    @state.setter
    def state(self, state: dict[str, int]) -> None:
        self.epoch, self.position = int(state["epoch"]), int(state["position"])
        self._order = self._shuffled()

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        while True:
            if self.position + self.batch > len(self._order):
                self.epoch, self.position = self.epoch + 1, 0
                self._order = self._shuffled()
            starts = self._order[self.position : self.position + self.batch]
            windows = self.tokens[starts[:, None] + np.arange(self.context + 1)]
            self.position += self.batch
            yield windows[:, :-1], windows[:, 1:]
