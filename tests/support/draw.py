"""What `make test` takes of a large family of tests: what names draw, so that it is the same in every run."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import pytest

T = TypeVar("T")


def seed_of(*words: Any) -> int:
    return zlib.crc32("/".join(map(str, words)).encode())


def drawn_order(items: Iterable[T], *words: Any, name: Callable[[T], Any] = str) -> list[T]:
    """The items in an order that their names and ``words`` draw: the first few are a sample."""
    return sorted(items, key=lambda x: seed_of(*words, name(x)))


def sampled(rows: Iterable[Any], count: int, *words: Any) -> list[Any]:
    """The rows as parameters in their order, all but ``count`` of them, which are drawn, marked slow."""
    rows = list(rows)
    quick = drawn_order(range(len(rows)), *words, name=lambda i: rows[i])[:count]
    return [
        pytest.param(*(row if isinstance(row, tuple) else (row,)), marks=[] if i in quick else pytest.mark.slow)
        for i, row in enumerate(rows)
    ]
