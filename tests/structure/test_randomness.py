"""What a test draws does not depend on the tests before it: each run gives workers other ones."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.support.syntax import Syntax

TESTS = Path(__file__).parents[1]
MADE = re.compile(r"^(\w+) = (?:\w+\.)*(?:default_rng|RandomState|Random)\([^()]*\)$", re.MULTILINE)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def names_read(syntax: Syntax, node: ast.AST) -> set[str]:
    return {n.id for n in syntax.walk(node) if isinstance(n, ast.Name)}


def late_draws(text: str, helpers: bool = False) -> list[str]:
    """Generators of a module that tests draw from. ``helpers``: functions of the module are for tests of others, too.

    A function that nothing but the module itself calls, when it is imported, draws the same each time.
    """
    if not MADE.search(text):
        return []
    syntax = Syntax(text)
    assigned = [n for n in syntax.tree.body if isinstance(n, ast.Assign)]
    generators = {made[1] for n in assigned if (made := MADE.search(ast.unparse(n)))}
    functions = [n for n in syntax.nodes if isinstance(n, FUNCTIONS)]
    reads = {f: names_read(syntax, f) for f in functions}
    called = set().union(*reads.values())
    late = [
        f
        for f in functions
        if helpers or isinstance(f, ast.Lambda) or f.decorator_list or f.name.startswith("test_") or f.name in called
    ]
    return sorted(set().union(*(reads[f] & generators for f in late)))


def test_generators_of_modules_are_for_what_modules_draw():
    found = {
        str(path.relative_to(TESTS)): names
        for path in sorted(TESTS.rglob("*.py"))
        if (names := late_draws(path.read_text(encoding="utf-8"), "support" in path.parts))
    }
    assert not found, "draw from numpy.random, which is seeded for each test, or from the fixture rng"


MODULE = "RNG = np.random.default_rng(3)\nX = RNG.normal(size=3)\ndef of(*shape): return RNG.normal(size=shape)\n"


@pytest.mark.parametrize(
    ("rest", "found"),
    [
        ("Y = of(3)", []),
        ("def test_x(rng): assert f(rng.normal(), X)", []),
        ("def test_x(): assert f(RNG.normal())", ["RNG"]),
        ("def test_x(): assert f(of(3))", ["RNG"]),
        ("CASES = {'a': lambda: RNG.normal()}", ["RNG"]),
        ("@pytest.fixture\ndef x(): return RNG.normal()", ["RNG"]),
    ],
)
def test_draws_that_depend_on_others_are_found(rest, found):
    assert late_draws(MODULE + rest) == found
