"""Texts that several threads parse at a time."""

import ast
import gc
import threading
import time

import pytest

from umiak.util import syntax

TEXT = "".join(f"def f{i}(x):\n    return [[(x + {i}, {{x: -x}})], lambda y: y[x][{i}]]\n" for i in range(60))


@pytest.fixture
def often():
    """Threads take turns wherever memory is asked for, as they do where finalisers of Python run."""
    before = gc.get_threshold()
    gc.set_threshold(100)
    gc.callbacks.append(give_way)
    yield
    gc.callbacks.remove(give_way)
    gc.set_threshold(*before)


def give_way(phase, facts):
    time.sleep(0)


def test_threads(often):
    wanted, found = ast.dump(syntax.parse(TEXT)), []

    def work():
        for _ in range(4):
            found.append(ast.dump(syntax.parse(TEXT)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == [wanted] * 16


def test_depths_that_do_not_match_are_parsed_again(monkeypatch):
    parse, errors = ast.parse, [SystemError("AST constructor recursion depth mismatch (before=57, after=53)")] * 3

    def raising(text):
        if errors:
            raise errors.pop()
        return parse(text)

    monkeypatch.setattr(ast, "parse", raising)
    assert ast.dump(syntax.parse("x + 1")) == ast.dump(parse("x + 1"))
    errors[:] = [SystemError("another")]
    with pytest.raises(SystemError, match="another"):
        syntax.parse("x + 1")
    with pytest.raises(SyntaxError):
        syntax.parse("x +")
