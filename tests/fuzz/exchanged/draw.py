"""Cases from seeds: what a function reads, and how that is exchanged between its calls."""

from __future__ import annotations

import random
import re
from typing import NamedTuple

from tests.fuzz.exchanged.kinds import CHANGES, EVERY, HEAD, KINDS, OTHERS

CAUGHT = "(TypeError, ValueError, AttributeError, KeyError, IndexError, ZeroDivisionError, OverflowError)"


class Place(NamedTuple):
    """How a function reads a place, how it is set to ``{v}``, and what it holds as seen from outside."""

    read: str
    write: str
    held: str


PLACES = {
    "parameter": Place("p", "P['p'] = {v}", "P['p']"),
    "parameter with a default": Place("q", "P['q'] = {v}", "P['q']"),
    "keyword": Place("named", "P['named'] = {v}", "P['named']"),
    "item": Place("items[0]", "P['items'] = [{v}, 1]", "P['items'][0]"),
    "item of a dict": Place("table['k']", "P['table'] = {'k': {v}}", "P['table']['k']"),
    "attribute": Place("self.held", "set_own({v})", "MODEL.held"),
    "attribute of the class": Place("self.of_class", "Model.of_class = {v}", "Model.of_class"),
    "global": Place("A", "globals()['A'] = {v}", "A"),
    "item of a global": Place("GLOBALS['k']", "GLOBALS['k'] = {v}", "GLOBALS['k']"),
    "cell": Place("cell", "MODEL.set_cell({v})", "MODEL.of_cell()"),
    "default of a function": Place("helped()", "helped.__defaults__ = ({v},)", "helped()"),
}
FRAME = """

def helped(default=None):
    return default


def model():
    cell = None

    class Model({base}):
        of_class = None

        def {method}(self, x, p, q=0, items=(), table=None, *, named=0):
            found = []
            y = x * 1.0
{body}
            return y, found

        def set_cell(self, value):
            nonlocal cell
            cell = value

        def of_cell(self):
            return cell

    return Model


Model = model()
MODEL = Model()
P = {{"p": None}}


def set_own(value):
    if hasattr(MODEL, "held"):
        del MODEL.held
    MODEL.held = value


"""


class Case(NamedTuple):
    """Statements of a function, and what comes before each of its calls."""

    layer: bool
    statements: tuple[str, ...]
    steps: tuple[str, ...]

    def text(self) -> str:
        """The module. ``step_0``, ``step_1``, … come before the calls."""
        base, method = ("paddle.nn.Layer", "forward") if self.layer else ("object", "program")
        frame = FRAME.format(base=base, method=method, body=_indented(self.statements, 12))
        return HEAD + frame + "\n\n".join(f"def step_{i}():\n{_indented([s], 4)}\n" for i, s in enumerate(self.steps))

    def __str__(self) -> str:
        head = "def forward(self, x, ...):  # of a layer" if self.layer else "def program(self, x, ...):"
        return "\n".join(
            [head, _indented(self.statements, 4), *(f"# call {i}\n{step}" for i, step in enumerate(self.steps))]
        )


def _indented(texts: tuple[str, ...] | list[str], depth: int) -> str:
    return "\n".join(" " * depth + line for text in texts for line in text.split("\n"))


def draw(seed: int) -> Case:
    """The case of a seed."""
    r = random.Random(f"exchanged {seed}")
    places = r.sample(list(PLACES), r.randint(1, 3))
    kinds = {p: KINDS[r.choice(list(KINDS))] for p in places}
    statements = []
    for number in range(r.randint(2, 6)):
        place = r.choice(places)
        text = r.choice(EVERY if r.random() < 0.2 else kinds[place].reads)
        statements.append(_statement(r, text, PLACES[place].read, number))
    values = {}
    for p in places:
        values[p] = [r.choice(kinds[p].values) for _ in range(r.randint(2, 4))] + r.sample(
            OTHERS, r.choice((0, 0, 1, 2))
        )
    steps = ["\n".join(_set(p, r.choice(values[p])) for p in places)]
    for _ in range(r.randint(5, 10)):
        place = r.choice(places)
        if r.random() < 0.15:
            steps.append(f"k = {PLACES[place].held}\ntry:\n    {r.choice(CHANGES)}\nexcept Exception:\n    pass")
        else:
            steps.append(_set(place, r.choice(values[place])))
    return Case(r.random() < 0.5, tuple(statements), tuple(steps))


def _set(place: str, value: str) -> str:
    return PLACES[place].write.replace("{v}", value)


def _statement(r: random.Random, text: str, read: str, number: int) -> str:
    """A statement that reads a place, by a name or where it stands; of some the errors are caught."""
    compound = text.startswith(("for ", "match ", "a, b")) or "f'" in text  # quotes cannot be nested there
    name = f"k{number}" if compound or r.random() < 0.5 else read
    text = re.sub(r"\bk\b", name, text)
    lines = ([] if name == read else [f"{name} = {read}"]) + (
        text.split("\n") if compound or text.startswith("found.") else [f"y = {text}"]
    )
    if r.random() < 0.6:
        caught = [f"except {CAUGHT} as e:", "    found.append(type(e).__name__)"]
        lines = ["try:", *("    " + line for line in lines), *caught]
    return "\n".join(lines)
