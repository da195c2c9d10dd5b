"""From what fails to less that fails in the same way."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

Case = TypeVar("Case")
Wrong = TypeVar("Wrong")
Item = TypeVar("Item")


def shrunk(
    case: Case,
    wrong: Wrong,
    smaller: Callable[[Case], Iterator[Case]],
    fails: Callable[[Case, Wrong], Wrong | None],
    tries: int,
) -> tuple[Case, Wrong]:
    """A case of which nothing can be left out, and what is wrong with it. ``smaller``: cases with something less, those
    with much less first; ``fails``: what is wrong with one of them, None if that is nothing, or something else;
    ``tries``: how many of them are looked at, at most."""
    candidates, position, progress = smaller(case), 0, False
    while tries > 0:
        candidate = next(candidates, None)
        if candidate is None:
            if not progress:
                break
            candidates, position, progress = smaller(case), 0, False
            continue
        tries -= 1
        found = fails(candidate, wrong)
        if found is None:
            position += 1
        else:  # what was needed before is needed still, mostly
            case, wrong, progress = candidate, found, True
            candidates = islice(smaller(case), position, None)
    return case, wrong


def fewer(items: Sequence[Item], first: int = 0) -> Iterator[list[Item]]:
    """The items without some behind the ``first`` ones: without a half, a quarter and so on, and without each. Those at
    the end, which others may want least, go first."""
    size = len(items) - first
    while size > 0:
        size = max(size // 2, 1)
        for end in range(len(items), first, -size):
            yield [*items[: max(first, end - size)], *items[end:]]
        size -= size == 1


def fewer_lines(text: str, first: int = 0) -> Iterator[str]:
    """The text without some lines behind the ``first`` ones."""
    return map("".join, fewer(text.splitlines(keepends=True), first))


def kind_of(text: str) -> str:
    """What failures of one cause have in common: how the line begins that tells what is wrong, without numbers. It is
    one that names the seed, or the second."""
    told = re.findall(r", seed \d+(?:, call \d+)?: (.*)", text)
    if told:
        return re.sub(r"\d+", "", told[-1])[:25]
    return re.sub(r"(Error:|step |in the end|: epoch|: evaluation|, \().*", r"\1", [*text.splitlines(), "", ""][1])


def reduction(
    draw: Callable[[int], Case],
    check: Callable[[int, Counter[str], Sequence[str], Case], str | None],
    smaller: Callable[[Case], Iterator[Case]],
    kind: Callable[[str], Any] = kind_of,
    tries: int = 400,
) -> Callable[..., str]:
    """Return a function of a seed, of what is wrong with its case and of ways, which says what is wrong with a smaller
    case. ``check(seed, tally, only, case)`` says it of a case, and may raise of one that means nothing."""

    def reduced(seed: int, wrong: str, only: Sequence[str], case: Case | None = None, tries: int = tries) -> str:
        def fails(candidate: Case, wrong: str) -> str | None:
            try:
                found = check(seed, Counter(), only, candidate)
            except Exception:
                return None
            return found if found is not None and kind(found) == kind(wrong) else None

        return shrunk(draw(seed) if case is None else case, wrong, smaller, fails, tries)[1]

    return reduced
