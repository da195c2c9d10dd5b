"""Random functions from seeds: a module's text with helpers, ``program``, and the arguments of its calls."""

from __future__ import annotations

import ast
import random
from dataclasses import dataclass

from tests.fuzz.functions.definitions import helper, prelude
from tests.fuzz.functions.draw import Draw, Scope
from tests.fuzz.functions.statements import body, results

SETTINGS = {"plain": 0.76, "no_grad": 0.08, "amp": 0.1, "recompute": 0.06}
ROWS = (3, 3, 2, 1, 0, 5)


@dataclass(frozen=True)
class Program:
    """``text`` defines ``program`` and ``call_0``, ``call_1``, …, which make its arguments.

    ``setting``: what is around the calls; ``between``: for each call words of ``BETWEEN``, or nothing at all.
    """

    seed: int
    text: str
    setting: str
    between: tuple[tuple[str, ...], ...] = ()

    def __str__(self) -> str:
        between = f", between calls {self.between}" if self.between else ""
        return f"# seed {self.seed}, setting {self.setting!r}{between}\n{self.text}"


# Parameters: their kind, and what calls give, for a number of rows. ``x`` is the first of all programs.
PARAMETERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "y": ("M", ("t({n}, 4)", "t({n}, 4)", "t({n}, 4, grad=False)", "x", "x.detach()", "x[:]", "x * 1.0")),
    "c": ("M", ("t({n}, 4, grad=False)", "t({n}, 4, grad=False)", "paddle.ones([{n}, 4])")),
    "more": ("A", ("t({m}, 4)", "t({m}, 4, grad=False)", "x", "x[1:]", "t({m} + 1, 4)[:-1]")),
    "v": ("V", ("t(4)", "t(4)", "t(4, grad=False)", "t(2, 4)[1]", "x[0] if {n} else t(4)")),
    "w": ("V", ("t(4)", "v if 'v' in locals() else t(4)", "t(4, grad=False)")),
    "n": ("i", ("0", "1", "2", "3", "5", "-2", "True")),
    "m": ("i", ("0", "1", "4", "7")),
    "f": ("f", ("0.5", "-1.5", "2.0", "0.0", "0.25", "1e-3")),
    "flag": ("b", ("True", "False")),
    "name": ("s", ("'a'", "'k1'", "'zz'")),
    "option": ("N", ("None", "None", "2", "0")),
    "xs": (
        "LM",
        ("[t({n}, 4), t({m}, 4)]", "[t({n}, 4)]", "[]", "[x, x]",
         "[t({n}, 4) for _ in range(3)]", "[x, t({n}, 4)]"),
    ),
    "numbers": ("Li", ("[3, 1, 2]", "[]", "[1]", "[2, 2, 5]", "[4, 0]")),
    "table": ("DM", ("{{'a': t({n}, 4), 'k1': t({n}, 4)}}", "{{'a': x}}", "{{'k1': t({m}, 4), 'a': x}}", "{{}}")),
    "counts": ("Di", ("{{'a': 1, 'k1': 2}}", "{{'a': 3}}", "{{}}")),
    "box": ("O", ("Box(t(4), 1)", "Box(t(4), 3)", "Box(t(4, grad=False))", "SHARED")),
    "pair": ("P", ("Pair(t(4), t())", "Point(t(4), t())", "Point(t(4), t(), 2)", "Pair(t(4), t(grad=False))")),
    "fn": (
        "fn",
        ("paddle.tanh", "lambda a: a * 2", "scaled",
         "functools.partial(scaled, by=3.0)",
         "scaler(0.5)", "SHARED.apply", "Times(2.0)", "NET"),
    ),
    "items": ("G", ("halves(x)", "iter([x, x * 2])")),
}  # fmt: skip


def generate(seed: int) -> Program:
    """The program of a seed."""
    first = Draw(seed, False, False)
    setting = first.weighted(SETTINGS)
    pure = setting == "recompute" or first.chance(0.4)
    d = Draw(seed, pure, reads=setting != "amp" and first.chance(0.75))
    d.random = first.random
    top = prelude(d)
    d.line("\n")
    for _ in range(d.integer(0, 3)):
        helper(d)
    names = d.random.sample(list(PARAMETERS), d.integer(1, 6))
    names = [n for n in PARAMETERS if n in names and not (n == "items" and d.chance(0.6))]
    d.scope = Scope()
    kinds = {"x": "M"} | {n: PARAMETERS[n][0] for n in names}
    defaults = {n: v for n, v in (("f", "0.5"), ("flag", "True"), ("name", "'a'"), ("option", "None")) if d.chance(0.3)}
    heads = ["x", *(n for n in names if n not in defaults), *(f"{n}={defaults[n]}" for n in names if n in defaults)]
    with d.function(f"def program({', '.join(heads)}):", None, kinds):
        d.line("rows = x.shape[0]")
        d.scope.kinds["rows"] = "i"  # not to be bound anew
        body(d, 3, 9)
        d.line(f"return {results(d)}")
    d.line("\n")
    calls(d, names, defaults)
    text = top + "\n" + "\n".join(d.lines)
    return Program(seed, ast.unparse(ast.parse(text)) + "\n", setting, between(seed, setting, d.reads))


# What happens before a call, or in place of what is usual.
BETWEEN = (
    "written",  # the results of the call before are written to
    "no_grad",  # around this call, or not where it is around the others
    "amp",  # the same
    "held",  # the gradients of what this call returns are those of what the next one returns, too
    "onward",  # the first argument is a result of the call before
)


def between(seed: int, setting: str, reads: bool) -> tuple[tuple[str, ...], ...]:
    """Numbers of its own, so that the text does not depend on it. ``reads``: branches on data, which rounding of 16
    bits decides."""
    r = random.Random(f"gap {seed}")
    if setting == "recompute" or r.random() < 0.6:
        return ()
    options = [name for name in BETWEEN if not (reads and name == "amp")]
    return tuple(tuple(name for name in options if r.random() < 0.25) for _ in range(MOST_CALLS))


MOST_CALLS = 6


def calls(d: Draw, names: list[str], defaults: dict[str, str]) -> None:
    """Functions that make arguments: a tuple and a dict. A few alternatives of each recur."""
    few = {n: d.random.sample(PARAMETERS[n][1], min(3, len(PARAMETERS[n][1]))) for n in names}
    rows = d.random.sample(ROWS, 3)
    for k in range(d.integer(4, MOST_CALLS)):
        n, m = d.choose(rows), d.choose((0, 1, 2, 3))
        with d.function(f"def call_{k}(t):", None, {}):
            d.line(f"x = t({n}, 4)" if d.chance(0.9) else f"x = t({n}, 4, grad=False)")
            given = [x for x in names if x not in defaults or d.chance(0.6)]
            for x in given:
                d.line(f"{x} = {d.choose(few[x]).format(n=n, m=m)}")
            named = [x for x in given if x in defaults or d.chance(0.1)]
            # What follows a keyword is one, too.
            first = next((i for i, x in enumerate(given) if x in named), len(given))
            d.line(
                f"return ({', '.join(['x', *given[:first]])},), dict({', '.join(f'{x}={x}' for x in given[first:])})"
            )
