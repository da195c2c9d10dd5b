"""Errors of the AOA language: each is an AOAError and the built-in type that the kind of mistake calls for."""

from __future__ import annotations

import difflib
import heapq
from collections.abc import Iterable, Sequence


class AOAError(ValueError):
    """A mistake in statements, or statements that do not fit the tensors.

    ``problem`` is the message alone, ``chain`` the way there as (stage, text) pairs: the statement as it was written,
    each thing that was made of it. ``str`` shows both, the chain in a box.
    """

    def __init__(self, problem: str, chain: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(problem, tuple(chain))
        self.problem = problem
        self.chain = tuple(chain)

    def __str__(self) -> str:
        return f"{boxed(self.chain)}\n{self.problem}" if self.chain else self.problem


class AOAAssertionError(AOAError, AssertionError):
    """Something that a statement claims does not hold: counts, divisibility, dtypes."""


class AOASyntaxError(AOAError, SyntaxError):
    """A statement that cannot be read, or one with an empty side."""


class AOAKeyError(AOAError, KeyError):
    """A wanted tensor that nothing gives."""


class AOAIndexError(AOAError, IndexError):
    """An axis that the tensor does not have."""


class AOATypeError(AOAError, TypeError):
    """An attribute's value of the wrong kind."""


class AOACharacterError(AOAError, RuntimeError):
    """A character that has no meaning."""


class AOAWarning(UserWarning):
    """A statement with placeholders that matches no tensor."""


WIDTH = 110
# The most that an error shows of a long statement.
SHOWN = 330
# Comparing names takes the product of their lengths.
LONGEST_COMPARED = 200


def boxed(chain: Iterable[tuple[str, str]]) -> str:
    """The stages one under the other, in a frame."""
    rows: list[str] = []
    for depth, (stage, text) in enumerate(chain):
        if len(text) > SHOWN:
            text = f"{text[: SHOWN - 30]} … {text[-27:]}"
        lead = f"{'   ' * max(depth - 1, 0)}{'└─ ' if depth else ''}{stage}: "
        room = max(WIDTH - len(lead), 20)
        parts = [text[i : i + room] for i in range(0, len(text), room)] or [""]
        rows.append(lead + parts[0])
        rows += [" " * len(lead) + part for part in parts[1:]]
    width = max(map(len, rows))
    rule = "─" * (width + 2)
    return "\n".join(["", f"┌{rule}┐", *(f"│ {row:<{width}} │" for row in rows), f"└{rule}┘"])


def near(name: str, names: Iterable[str]) -> str:
    """ "Did you mean …?", or nothing. Only the names of the most similar length and words are compared in full."""
    if len(name) > LONGEST_COMPARED:
        return ""
    names = [n for n in names if len(n) <= LONGEST_COMPARED]
    words = set(name.split("."))
    likely = heapq.nlargest(
        500, dict.fromkeys(names), key=lambda n: (len(words & set(n.split("."))), -abs(len(n) - len(name)))
    )
    close = difflib.get_close_matches(name, likely, n=3, cutoff=0.6)
    return f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
