"""Every test can fail: it asserts something, what it asserts can be false, and nothing catches the failure."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.garbage import without_collections
from tests.support.vacuous import Checker, Module

TESTS = Path(__file__).parents[1]


def test_tests_can_fail():
    checker = Checker.of_folder(TESTS)
    assert sum(m.stem.startswith("test_") for m in checker.modules) > 100
    with without_collections():  # a million nodes stay all the while
        found = checker.findings()
    assert not found, "\n".join(map(str, found))


HELPERS = """
def same(a, b):
    assert a == b

def twice(f):
    f()
    f()

TABLE = {"one": lambda a: same(a, 1)}
"""

FINE = {
    "assert": "def test_x(): assert f() == 1",
    "raises": "def test_x():\n with pytest.raises(ValueError): f()",
    "numpy": "def test_x(): np.testing.assert_array_equal(f(), 1)",
    "a process": "def test_x(): subprocess.run(['true'], check=True)",
    "helper": "from helpers import same\ndef test_x(): same(f(), 1)",
    "helper by another name": "from helpers import same as alike\ndef test_x(): alike(f(), 1)",
    "helper of a module": "import helpers\ndef test_x(): helpers.same(f(), 1)",
    "helper of a folder's module": "from tests.support import helpers\ndef test_x(): helpers.same(f(), 1)",
    "table of helpers": "from helpers import TABLE\n@pytest.mark.parametrize('f', TABLE)\ndef test_x(f): TABLE[f](1)",
    "work handed over": "from helpers import same, twice\ndef test_x(): twice(lambda: same(f(), 1))",
    "fixture": "@pytest.fixture(name='check')\ndef made(): return f\ndef f(x): assert x\ndef test_x(check): check(1)",
    "counted": "def test_x():\n for x in f():\n  try: g(x)\n  except Exception: count += 1\n assert count == 3",
    "noted": "def test_x():\n try: f()\n except Exception as e: error = e\n assert error",
    "narrow": "def test_x():\n try: f()\n except KeyError: pass\n assert g()",
    "lower bound": "def test_x(): assert 1 <= len(f())",
    "two calls": "def test_x(): assert f() == f()",
    "never": "def test_x(): assert False, 'not reached'",
}

WRONG = {
    "def test_x(): f()": "asserts nothing",
    "from helpers import twice\ndef test_x(): twice(f)": "asserts nothing",
    "def test_x(): log.same(f(), 1)": "asserts nothing",
    "class TestX:\n def test_x(self): f()": "asserts nothing",
    "def test_x(): assert True": "a constant",
    "def test_x(): assert (f() == 1, 'one')": "a tuple",
    "def test_x(): assert f() or True": "a constant",
    "def test_x(): assert f() and 1": "a constant",
    "def test_x(): assert (x > 0 for x in f())": "an object that is always true",
    "def test_x(): assert lambda: f()": "an object that is always true",
    "def test_x(): assert f'{f()}'": "a text",
    "def test_x(): assert x.a == x.a": "with itself",
    "def test_x(): assert 0 <= x <= x": "with itself",
    "def test_x(): assert len(f()) >= 0": "holds of every length",
    "def test_x(): assert 0 <= len(f()) <= 9": "holds of every length",
    "def test_x(): assert all([])": "about nothing",
    "def test_x(): assert isinstance(f(), object)": "holds of everything",
    "def test_x(): np.testing.assert_array_equal(x, x)": "with itself",
    "def test_x():\n try: f()\n except: pass\n assert x": "swallows every exception",
    "def test_x():\n for x in f():\n  try: g(x)\n  except Exception: continue\n assert x": "swallows every exception",
    "def test_x():\n try:\n  assert f()\n except (KeyError, AssertionError): return": "its own assertion",
    "def test_x():\n with contextlib.suppress(Exception): f()\n assert x": "suppresses every exception",
    "def test_x():\n with pytest.raises(Exception): f()": "accepts any Exception",
    "@pytest.mark.parametrize('x', [])\ndef test_x(x): assert x": "parametrised over nothing",
    "def test_x():\n for x in (): assert x": "loops over nothing",
}


def findings(text):
    return Checker([Module.parse("helpers.py", HELPERS), Module.parse("test_x.py", text)]).findings()


@pytest.mark.parametrize("what", FINE)
def test_what_can_fail_is_accepted(what):
    assert not findings(FINE[what])


@pytest.mark.parametrize("text", WRONG)
def test_what_cannot_fail_is_found(text):
    assert WRONG[text] in "\n".join(map(str, findings(text)))
