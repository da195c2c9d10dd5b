"""Random functions with values that are None on one way, against the same as they are written:
``python -m tests.fuzz.nones 0 300`` runs those of 300 seeds.

A seed gives a function of rows ``x``: names, items of lists and dicts, attributes and results of functions that data or
sizes leave None or a vector, in branches, conditional expressions and loops; all are asked whether they are None where
they are read. Each is called as one graph, saved, loaded, run by a predictor and by ONNX Runtime, as
:mod:`tests.fuzz.data_sizes` does it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tests.fuzz import data_sizes
from tests.fuzz.data_sizes import WAYS
from tests.fuzz.lines import Lines
from tests.fuzz.seeds import run_seeds
from tests.fuzz.shrink import fewer_lines, reduction

HEAD = """\
import paddle


class Held:
    def __init__(self):
        self.value = None


def picked(v, limit):
    return v * 0.5 if v.sum() > limit else None


def found(v, limit):
    if v.max() > limit:
        return paddle.tanh(v)


def function(x):
    held = Held()
    cache = {"a": None, "b": None}
    slots = [None, None]
"""
PLACES = "cache['a']", "cache['b']", "slots[0]", "slots[1]", "held.value"


class Text(Lines):
    """A function as it is written. ``vectors``: expressions of shape ``[4]``; ``maybe``: places that hold one, or
    None."""

    def __init__(self, seed: int) -> None:
        super().__init__("nones", seed)
        self.vectors, self.maybe = ["x.sum(0)", "x.mean(0)"], self.r.sample(PLACES, 2)

    def vector(self) -> str:
        r, v, w = self.r, self.r.choice(self.vectors[-4:]), self.r.choice(self.vectors)
        return r.choice((f"paddle.tanh({v})", f"{v} * {r.choice((0.5, -0.25))}", f"{v} * 0.5 + paddle.sin({w})"))

    def condition(self) -> str:
        r = self.r
        of_data = f"{r.choice(self.vectors)}.sum() > {r.choice((-0.5, 0.1, 0.8))}"
        return r.choice((of_data, of_data, "x.shape[0] > 3"))

    def place(self) -> str:
        return self.r.choice(self.maybe)

    def maybe_line(self) -> None:
        """A place holds None, or a vector."""
        r = self.r
        name = self.name("m") if r.random() < 0.6 and self.depth == 1 else self.place()
        kind = r.randrange(5)
        if kind == 0:
            ways = [self.vector(), "None"]
            r.shuffle(ways)
            self.line(f"{name} = {ways[0]} if {self.condition()} else {ways[1]}")
        elif kind == 1:
            self.line(f"{name} = {r.choice(('picked', 'found'))}({r.choice(self.vectors)}, {r.choice((-0.2, 0.3))})")
        elif kind == 2 and name not in self.maybe:
            self.line(f"{name} = None")
            self.line(f"if {self.condition()}:")
            self.line(f"    {name} = {self.vector()}")
        else:
            self.line(f"if {self.condition()}:")
            self.line(f"    {name} = {self.vector()}")
            self.line("else:")
            self.line(f"    {name} = {r.choice(('None', 'None', self.vector()))}")
        if name not in self.maybe:
            self.maybe.append(name)

    def read_line(self) -> None:
        """A vector of a place, if it holds one."""
        r, m, name = self.r, self.place(), self.name()
        kind = r.randrange(4)
        if kind == 0:
            self.line(f"{name} = {m} if {m} is not None else {self.vector()}")
        elif kind == 1:
            self.line(f"{name} = {self.vector()} if {m} is None else paddle.tanh({m}) + {self.vector()}")
        elif kind == 2:
            self.line(f"if {m} is None:")
            self.line(f"    {m} = {self.vector()}")
            self.line(f"{name} = {m} * 0.5")
        else:
            self.line(f"{name} = {self.vector()}")
            test = r.choice((f"{m} is not None and {m}.sum() > {r.choice((-0.3, 0.4))}", f"not ({m} is None)"))
            self.line(f"if {test}:")
            self.line(f"    {name} = {name} + {m}")
        self.vectors.append(name)

    def loop(self) -> None:
        r, m, name = self.r, self.place(), self.name()
        self.line(f"{name} = {self.vector()}")
        self.vectors.append(name)
        kind = r.randrange(3)
        if kind == 0:
            self.line("for i in range(x.shape[0]):")
            self.line(f"    if {m} is None:")
            self.line(f"        {m} = x[i] * 0.5")
            if r.random() < 0.5:
                self.line("    else:")
                self.line(f"        {m} = paddle.tanh({m} + x[i])")
            self.line(f"    {name} = {name} * 0.5 + {m}")
        elif kind == 1:
            index = self.name("i")
            self.line(f"{index} = 0")
            self.line(f"while {index} < 3 and {m} is not None and {m}.sum() < {r.choice((0.5, 4.0))}:")
            self.line(f"    {m} = {r.choice((f'{m} + 0.25', f'{m} + 0.25 if {m}.max() < 1.0 else None'))}")
            self.line(f"    {index} += 1")
        else:
            self.line("for row in x:")
            self.line(f"    if row.sum() > {r.choice((-0.3, 0.3))}:")
            self.line(f"        {m} = {r.choice(('row * 0.5', 'None', f'row if {m} is None else {m} * 0.5 + row'))}")

    def text(self) -> str:
        for _ in range(self.r.randint(3, 6)):
            self.r.choice((self.maybe_line, self.maybe_line, self.read_line, self.read_line, self.loop))()
        for _ in range(2):
            self.read_line()
        self.line(f"return {', '.join(self.vectors[-3:])}")
        return "\n".join([HEAD.rstrip("\n"), *self.lines, ""])


def written(seed: int) -> str:
    """The function of a seed."""
    return Text(seed).text()


def check(
    seed: int, tally: Counter[str] | None = None, only: Sequence[str] = WAYS, text: str | None = None
) -> str | None:
    """What is wrong; None if nothing is."""
    return data_sizes.check(seed, tally, only, written(seed) if text is None else text)


reduced = reduction(written, check, lambda text: fewer_lines(text, HEAD.count("\n")))


if __name__ == "__main__":
    run_seeds(__doc__, WAYS, check, reduced)
