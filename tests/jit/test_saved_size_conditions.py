"""Branches and loops on open sizes are saved with both ways, which every form of the file takes as eager calls do."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from typing import Any

import numpy as np
import pytest

import paddle
from paddle import nn
from paddle.inference.compile import compile_model
from paddle.jit.source.errors import ConversionError
from paddle.static import InputSpec
from tests.fuzz.size_conditions import called, forms
from tests.support.native_libraries import Native

ROWS = (1, 2, 3, 4, 5, 8)
WAYS = ("loaded", "again", "predicted", "executed", "exported", "source", "bytecode")


def by_statement(x, y):
    if x.shape[0] > 3:
        z = x * 2
    else:
        z = x + 1
    return z + y.sum()


def by_remainder(x, y):
    if paddle.shape(x)[0] % 2:
        x = paddle.concat([x, paddle.zeros([1, 4])])
    return x.reshape([-1, 2, 4]).sum(1) + y.sum()


def by_expression(x, y):
    return (x * 2 if 1 < x.shape[0] < 5 and not (y.shape[1] == 2 or y.shape[0] == 7) else x[:1]) + y.sum()


def by_number(x, y):
    n, scale, odd = 3, 0.5, False
    if x.shape[0] < 3:
        n, scale = x.shape[0], 2.0
    if x.shape[0] % 2 == 1:
        odd = True
    return x[:n] * scale + (y.sum() if odd else y.mean())


def taken_apart(x, y):
    """In its way a size is a number, of which functions make so many results."""
    if x.shape[0] == 3:
        a, b, c = x.unbind(0)
        return a + b * c + y.sum()
    if x.shape[0] == 2:
        return sum(x[i] * i for i in range(x.shape[0])) + y.mean()
    return x.sum(0) + y.sum()


def early_return(x, y):
    if x.shape[0] > 3:
        return x.sum(0) * y.sum()
    z = x + y.mean()
    if x.shape[0] == 2:
        return z[1]
    return z[0]


def other_sizes(x, y):
    if x.shape[0] > 3:
        x = x[:3]
    elif x.shape[0] in (1, 3):
        x = x.tile([2, 1])
    return paddle.concat([x, x * 2]) + y.sum()


def one_way_needs_a_size(x, y):
    """What one way requires of sizes it requires there alone."""
    if x.shape[0] % 2 == 0:
        return x.reshape([-1, 8]).sum(1) + y.sum()
    return x.sum(1) + y.sum()


def equal_sizes(x, y):
    if x.shape[0] == y.shape[0]:
        return (x.sum(1) + y.sum(1)).sum()
    return x.sum() - y.sum()


def equal_shapes(x, y):
    return x + y if x.shape == y.shape else x * y.sum()


def a_known_size_there(x, y):
    if x.shape[0] == 4:
        return (x + paddle.eye(4)).sum(0) + y.sum()
    return x.sum(0) + y.sum()


def nested(x, y):
    if x.shape[0] > 1:
        if x.shape[0] > 3:
            z = x[:3].sum(0)
        else:
            z = x[1] * 3
    else:
        z = x.mean(0)
    return z + y.sum()


def with_data(x, y):
    return x * 2 if x.shape[0] > 3 and x.sum() > 0 else x + y.sum()


def numbers_as_flags(x, y):
    """Of a logical operator that is a test nothing but its truth is asked."""
    if (x.shape[0] % 3 and x.sum() > 0) or not (y.shape[1] % 4 or x.shape[0] > 4):
        return x * 2 + y.sum()
    return x + y.sum()


def halved(x, y):
    while x.shape[0] > 3:
        x = x[::2]
    return x + y.sum()


def counted(x, y):
    n, s = x.shape[0], y.sum()
    while n > 1:
        n, s = n // 2, s + 1
    return x.sum(0) * s


def left_early(x, y):
    s = paddle.zeros([4])
    for i in range(x.shape[0]):
        if i >= y.shape[1]:
            break
        if i == 1 and x.shape[0] > 3:
            continue
        s = s * 0.5 + x[i]
    return s


def left_by_size(x, y):
    s = y.sum()
    for i in range(5):
        if i >= x.shape[0]:
            break
        s = s + x[i].sum()
    return s


class Shortened(nn.Layer):
    def forward(self, x):
        if x.shape[0] > 3:
            x = x[:3] * 2
        return x + 1


class Layers(nn.Layer):
    """Layers inside of the library's, hooks, attributes."""

    def __init__(self):
        super().__init__()
        self.seen = 0
        self.inner = nn.Sequential(nn.ReLU(), Shortened())
        self.hooked = nn.Tanh()
        self.hooked.register_forward_post_hook(lambda layer, xs, y: y[:2] if y.shape[0] == 3 else y)

    def forward(self, x, y):
        self.seen = 2
        if x.shape[0] > 4:
            self.seen = 3
        return self.hooked(self.inner(x)) * self.seen + y.sum()


class OfADict:
    def __call__(self, x, y):
        held = {"rows": x}
        if x.shape[0] > 3:
            held["rows"] = x[:2]
            held["count"] = 2
        else:
            held["count"] = x.shape[0]
        return held["rows"][: held["count"]] * held["count"] + y.sum()


def divided(x, y):
    """Divisors are 0 where a way is not taken, in numbers that it leaves and in what it requires."""
    n, parts, z = x.shape[0] - 1, 0, x.sum()
    if n > 0:
        parts = 6 // n
        if y.shape[0] % n == 0:
            z = z + y.reshape([n, -1]).sum(0).max()
    if x.shape[0] > 3 and (x.shape[0] + 4) % (x.shape[0] // 4) == 0:
        z = z * 2
    return z + parts


def refused_on_one_way(x, y):
    """What sizes a way on data refuses is none of the other way's business."""
    if x[0, 0] > 1e6:
        if x.shape[0] == 3:
            raise ValueError("three rows")
        assert x.shape[0] != 2, "two rows"
        return x * 2 + y.sum()
    while x.sum() > 1e6:
        assert x.shape[0] != 1
        x = x / 2
    return x + y.sum()


def shapes_of_numbers(x, y):
    if x.shape == [1, 4] or y.shape[1:] == [2]:
        return x * 2 + y.sum()
    if tuple(x.shape) == (3, 4) or list(x.shape) != [5, 4]:
        return x * 3 + y.sum()
    return x + y.sum()


FUNCTIONS = [
    by_statement, by_remainder, by_expression, by_number, taken_apart, early_return, other_sizes,
    one_way_needs_a_size, equal_sizes, equal_shapes, a_known_size_there, nested, with_data, numbers_as_flags,
    halved, counted, left_early, left_by_size, divided, refused_on_one_way, shapes_of_numbers,
]  # fmt: skip


def arrays(rows: int) -> list[np.ndarray]:
    rng = np.random.default_rng(rows)
    return [rng.standard_normal(s).astype("float32") for s in ((rows, 4), (3, 4 if rows != 5 else 2))]


def operators(path: str) -> list[str]:
    """The operators of a saved program."""

    def walk(x: Any) -> Any:
        if isinstance(x, dict):
            if isinstance(x.get("#"), str):
                yield x["#"].split(".")[-1]
            x = list(x.values())
        if isinstance(x, list):
            for item in x:
                yield from walk(item)

    with open(path + ".json") as file:
        return list(walk(json.load(file)))


SPECS = [InputSpec([None, 4], "float32", "x"), InputSpec([None, None], "float32", "y")]


@pytest.mark.parametrize(
    "function", [*FUNCTIONS, Layers(), OfADict().__call__], ids=lambda f: getattr(f, "__name__", type(f).__name__)
)
def test_each_form_takes_both_ways(function):
    for at, run in forms(function, WAYS, 2, Counter()):
        for rows in ROWS:
            given = arrays(rows)
            (wanted,), (found,) = called(function, given), called(run, given)
            assert found.shape == wanted.shape, (at, rows)
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5, err_msg=f"{at}, {rows} rows")


# --- what is known is no branch of the program -----------------------------------------------------------------------


def declared(x, y):
    if x.shape[1] > 3 and len(x.shape) == 2:
        return x * 2 + y.sum()
    return None


def declared_in_a_tensor(x, y):
    return x * 2 + y.sum() if paddle.shape(x)[1] % 4 == 0 else None


def below_what_there_is(x, y):
    return x * 2 + y.sum() if x.shape[0] >= 0 else None


def known_from_before(x, y):
    assert x.shape[0] > 4
    return x * 2 + y.sum() if x.shape[0] > 2 else None


def known_on_this_way(x, y):
    """Of three branches one is left."""
    if x.shape[0] > 4:
        z = x * 2 if x.shape[0] > 2 else None
        z = z + 1 if x.shape[0] != 3 else None
    else:
        z = x
    return z + y.sum()


def of_numbers(x, y):
    """Numbers that a size chooses need none."""
    n = 2 if x.shape[0] > 3 else x.shape[0]
    return x[:n] * n + y.sum()


def of_the_library(x, y):
    """Code of the library asks for sizes, too."""
    z = paddle.concat([x, x[:1]]).reshape([-1, 2, 2]).mean(0)
    return paddle.nn.functional.softmax(z).expand([3, 2, 2]) + y.sum()


@pytest.mark.parametrize(
    ("function", "count"),
    [
        (declared, 0), (declared_in_a_tensor, 0), (below_what_there_is, 0), (known_from_before, 0),
        (known_on_this_way, 1), (of_numbers, 0), (of_the_library, 0), (by_statement, 1),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)  # fmt: skip
def test_only_what_is_open_is_a_branch(function, count, tmp_path):
    path = str(tmp_path / "model")
    paddle.jit.save(function, path, SPECS)
    assert operators(path).count("if") == count
    run = paddle.jit.load(path)
    np.testing.assert_allclose(called(run, arrays(5))[0], called(function, arrays(5))[0], rtol=1e-5)


# --- what is raised, and what cannot be joined -----------------------------------------------------------------------


def asserted(x, y):
    assert x.shape[0] == y.shape[1], "as many rows as columns"
    return x.t() + y


def raised(x, y):
    if x.shape[0] != y.shape[1]:
        raise RuntimeError("as many rows as columns")
    return x.t() + y


@pytest.mark.parametrize("function", [asserted, raised])
def test_sizes_that_the_code_refuses_are_refused_with_its_words(function):
    fits, fails = [np.ones(s, "float32") for s in ((3, 4), (4, 3))], [np.ones(s, "float32") for s in ((3, 4), (4, 2))]
    for at, run in forms(function, ("loaded", "again", "predicted", "executed", "exported"), 2, Counter()):
        np.testing.assert_array_equal(called(run, fits)[0], np.full((4, 3), 2.0))
        with pytest.raises(Exception, match=r"as many rows as columns") as found:
            called(run, fails)
        assert __file__ in str(found.value), at


def two_dtypes(x, y):
    if x.shape[0] > 3:
        z = x.astype("int64")
    else:
        z = x
    return z


def two_ranks(x, y):
    z = x
    if x.shape[0] > 3:
        z = x.sum(0)
    return z


@pytest.mark.parametrize("function", [two_dtypes, two_ranks])
def test_ways_that_do_not_go_together_are_refused_with_the_line(function, tmp_path):
    line = function.__code__.co_firstlineno + (2 if function is two_ranks else 1)
    with pytest.raises(ConversionError, match="to have one structure, shape and dtype on all ways") as found:
        paddle.jit.save(function, str(tmp_path / "model"), SPECS)
    assert f"{__file__}:{line}" in str(found.value).replace(", line ", ":"), str(found.value)


# --- ahead of time, and gradients ------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.parametrize("function", [by_remainder, early_return, other_sizes, nested], ids=lambda f: f.__name__)
def test_a_branch_is_decided_ahead_of_time(function, tmp_path):
    path = str(tmp_path / "model")
    paddle.jit.save(function, path, SPECS)
    sizes = ["x={}x{},y={}x{}".format(*(n for x in arrays(rows) for n in x.shape)) for rows in ROWS]
    p = Native(compile_model(path + ".json", str(tmp_path / "libmodel.so"), sizes=sizes)).create()
    for rows in ROWS:
        np.testing.assert_allclose(p.run(*arrays(rows))[0], called(function, arrays(rows))[0], rtol=1e-5, atol=1e-5)
    p.close()


@pytest.mark.parametrize(
    "function", [by_remainder, by_number, other_sizes, a_known_size_there, nested], ids=lambda f: f.__name__
)
def test_gradients_are_those_of_the_way_that_is_taken(function):
    main = paddle.static.Program()
    paddle.enable_static()
    try:
        with paddle.static.program_guard(main, paddle.static.Program()):
            xs = [paddle.static.data("x", [None, 4]), paddle.static.data("y", [None, None])]
            for x in xs:
                x.stop_gradient = False
            loss = (paddle.jit.to_static(function, full_graph=True)(*xs) ** 2).sum()
            fetched = [loss, *paddle.static.gradients([loss], xs)]
        executor = paddle.static.Executor()
        found = {n: executor.run(main, dict(zip("xy", arrays(n), strict=True)), fetched) for n in ROWS}
    finally:
        paddle.disable_static()
    for rows, (loss, *gradients) in found.items():
        xs = [paddle.to_tensor(x, stop_gradient=False) for x in arrays(rows)]
        wanted = (function(*xs) ** 2).sum()
        wanted.backward()
        for a, b in zip((loss, *gradients), (wanted, *(x.grad for x in xs)), strict=True):
            np.testing.assert_allclose(a, b.numpy(), rtol=1e-4, atol=1e-4, err_msg=f"{rows} rows")
