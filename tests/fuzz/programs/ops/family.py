"""A family of statements: each names an op, what it means in ``paddle`` and what it means to the judge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.fuzz.programs.draw import Draw, Proposal
from tests.fuzz.programs.record import Op


class Family:
    """The ops of one file, by name, in the order in which they are drawn."""

    def __init__(self) -> None:
        self.ops: dict[str, Op] = {}

    def op(
        self, name: str, ours: str, judge: str, propose: Callable[[Draw], Proposal], form: str = "compute", **kw: Any
    ) -> None:
        assert name not in self.ops, name
        kw["tags"] = frozenset(kw.get("tags", "").split())
        self.ops[name] = Op(name, ours, judge, form, propose, **kw)
