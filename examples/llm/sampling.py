"""The next token from logits: the likeliest, or one drawn by temperature, top-k and top-p."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Sampling:
    """``temperature`` 0: the likeliest token. ``top_k`` 0: of all tokens. ``top_p``: of the fewest likeliest ones that
    have this probability together. Two requests with one ``seed`` draw the same random numbers, whatever runs beside
    them.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """Logarithms of probabilities, float64."""
    x = logits.astype(np.float64)
    x -= x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def probabilities(logits: np.ndarray, how: Sampling) -> tuple[np.ndarray, np.ndarray]:
    """The tokens that may be drawn, likeliest first, and their probabilities."""
    count = min(how.top_k or logits.size, logits.size)
    if count < logits.size:
        tokens = np.argpartition(-logits, count - 1)[:count]
    else:
        tokens = np.arange(logits.size)
    tokens = tokens[np.lexsort((tokens, -logits[tokens]))]  # of equally likely ones the first, as for argmax
    p = np.exp(log_softmax(logits[tokens] / how.temperature))
    kept = int(np.searchsorted(np.cumsum(p), how.top_p)) + 1 if how.top_p < 1 else len(p)
    return tokens[:kept], p[:kept] / p[:kept].sum()


def choose(logits: np.ndarray, how: Sampling, rng: np.random.Generator) -> int:
    """Return a token for logits [vocab_size]."""
    if how.temperature == 0:
        return int(logits.argmax())
    tokens, p = probabilities(logits, how)
    return int(tokens[min(np.searchsorted(np.cumsum(p), rng.random(), side="right"), len(p) - 1)])
