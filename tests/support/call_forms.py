"""Forms of calls, recorded in `tests/data/call_forms.jsonl`: a public function, and the ways to give its arguments."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[1] / "data" / "call_forms.jsonl"
HERE = "@@"  # the place of the call in the text around it


@dataclass
class Target:
    """A call of a public function within a text, and the forms that it takes."""

    path: str
    around: str  # the text, with a mark for the call
    function: str  # text of what is called; the name of a method
    owner: str | None  # of a method: the text of the tensor
    by_position: dict[str, str]  # texts of arguments, by parameters
    by_keyword: dict[str, str]
    keywords: dict[str, str] = field(default_factory=dict)  # other keywords, and the parameters that they stand for
    orders: list[list[str]] = field(default_factory=list)  # parameters by position; the others by keyword
    further: list[str] = field(default_factory=list)  # arguments that change nothing

    @property
    def given(self) -> dict[str, str]:
        return {**self.by_position, **self.by_keyword}

    @property
    def call(self) -> str:
        """The text with the plain call."""
        parts = [*self.by_position.values(), *(f"{k}={v}" for k, v in self.by_keyword.items())]
        owner = "" if self.owner is None else f"{self.owner}."
        return self.around.replace(HERE, f"{owner}{self.function}({', '.join(parts)})")

    def form(self, positional: list[str], keywords: dict[str, str], extra: str = "") -> str:
        """The text with these parameters by position and these by keyword. Arguments are made in the usual order."""
        given = self.given
        letters = {name: f"v{i}" for i, name in enumerate(given)}
        parts = [letters[p] for p in positional]
        pairs = [f"{k!r}: {letters[p]}" for k, p in keywords.items()]
        if pairs:
            parts.append("**{" + ", ".join(pairs) + "}")
        if extra:
            parts.append(extra)
        bound, values, function = list(letters.values()), list(given.values()), self.function
        if self.owner is not None:
            bound, values, function = ["s", *bound], [self.owner, *values], f"s.{function}"
        made = f"(lambda {', '.join(bound)}: {function}({', '.join(parts)}))({', '.join(values)})"
        return self.around.replace(HERE, made)

    def with_keyword(self, parameter: str, keyword: str) -> str:
        """The form with this parameter, and those after it, by keywords."""
        names, positional = list(self.given), list(self.by_position)
        at = positional.index(parameter) if parameter in positional else len(positional)
        return self.form(names[:at], {keyword if name == parameter else name: name for name in names[at:]})

    def in_order(self, order: list[str]) -> str:
        """The form with these parameters by position, the others by keyword."""
        return self.form(order, {name: name for name in self.given if name not in order})

    def with_further(self, extra: str) -> str:
        """The plain form, and one argument more."""
        return self.form(list(self.by_position), {name: name for name in self.by_keyword}, extra)

    def forms(self) -> Iterator[str]:
        """All forms that are recorded."""
        for keyword, parameter in self.keywords.items():
            yield self.with_keyword(parameter, keyword)
        yield from map(self.in_order, self.orders)
        yield from map(self.with_further, self.further)


def read() -> list[Target]:
    """The recorded calls."""
    return [Target(**json.loads(line)) for line in DATA.read_text().splitlines()]


def write(found: list[Target]) -> None:
    """Record calls, without what is empty."""
    rows: list[dict[str, Any]] = [asdict(target) for target in found]
    optional = ("keywords", "orders", "further")
    kept = [{k: v for k, v in row.items() if v or k not in optional} for row in rows]
    DATA.write_text("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in kept))
