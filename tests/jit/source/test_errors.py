"""What cannot be rewritten, or fails while it is traced or run, is told with the user's line."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest

import paddle
from paddle.jit.source.convert import convert
from paddle.jit.source.errors import ConversionError
from umiak.runtime.capture import CaptureError

HERE = Path(__file__)
LINES = HERE.read_text().splitlines()


def line_of(text: str) -> int:
    """The line of this file that ends with a mark."""
    (found,) = (i for i, line in enumerate(LINES, 1) if line.endswith(f"# {text}"))
    return found


def static(function):
    return paddle.jit.to_static(function, full_graph=True)


UP, DOWN = paddle.ones([2]), -paddle.ones([2])


def raised(kind, function, *args):
    with pytest.raises(kind) as caught:
        static(function)(*args)
    return caught.value


def last_line(error: BaseException) -> tuple[str, int, str]:
    frame = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == str(HERE)][-1]
    return frame.name, frame.lineno or 0, frame.line or ""


def test_a_name_that_one_way_assigns_is_missing_where_the_program_took_the_other():
    def f(x):
        if x.sum() > 0:  # only one way
            y = x * 2
        z = x + 1
        return y * z  # reads it

    assert static(f)(UP).tolist() == [4.0, 4.0]
    error = raised(UnboundLocalError, f, DOWN)
    assert f"'y' has no value: the statement at {HERE}:{line_of('only one way')}" in str(error)
    assert last_line(error)[:2] == ("f", line_of("reads it"))


def test_a_name_that_a_loop_without_iterations_assigns():
    def f(x, n):
        for _ in range(n):
            y = x * 2
        return y

    assert static(f)(UP, paddle.to_tensor(2)).tolist() == [2.0, 2.0]
    assert "'y' has no value" in str(raised(UnboundLocalError, f, UP, paddle.to_tensor(0)))


def test_a_name_without_a_value_is_python_s_error():
    def f(x, k):
        if k:
            y = x
        if x.sum() > 0:
            x = x * 2
        return y + x  # never assigned

    error = raised((NameError, UnboundLocalError), f, UP, False)
    assert "'y'" in str(error)
    assert last_line(error)[1] == line_of("never assigned")


def test_values_that_do_not_go_together():
    def f(x):
        if x.sum() > 0:  # two types
            y = x
        else:
            y = "text"
        x = x + 1
        return y  # of two types

    error = raised(ConversionError, f, UP)
    assert f"{HERE}:{line_of('two types')}" in str(error) and f"{HERE}:{line_of('of two types')}" in str(error)
    assert "'y'" in str(error) and "'text'" in str(error)


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        (lambda x: x, lambda x: (x, x), "tuple"),
        (lambda x: x, lambda x: x.reshape([2, 1]), "[2, 1]"),
        (lambda x: x, lambda x: x.astype("float64"), "float64"),
        (lambda x: 1, lambda x: "one", "'one'"),
    ],
    ids=["tuple", "shape", "dtype", "text"],
)
def test_returns_that_do_not_go_together(a, b, said):
    def f(x):
        if x.sum() > 0:  # returns
            return a(x)
        return b(x)

    error = raised(ConversionError, f, UP)
    assert said in str(error) and f"{HERE}:{line_of('returns')}" in str(error) and "return value" in str(error)


def test_lists_of_items_that_do_not_go_together():
    def branch(x):
        out = []
        if x.sum() > 0:  # a branch appends
            out.append((x, x))
        return out

    def loop(x, n):
        out = [x.sum()]
        for _ in range(n):  # a loop appends
            out.append(x)
        return out

    error = raised(ConversionError, branch, UP)
    assert "one shape and dtype" in str(error) and f":{line_of('a branch appends')}" in str(error)
    error = raised(ConversionError, loop, UP, paddle.to_tensor(2))
    assert "in 'out'" in str(error) and f":{line_of('a loop appends')}" in str(error)


def test_dicts_of_different_keys():
    def f(x):
        d = {"a": x}
        if x.sum() > 0:
            d["b"] = x
        return d

    assert "the same keys in 'd'" in str(raised(ConversionError, f, UP))


def test_dims_that_a_loop_adds():
    def f(x):
        while x.sum() < 10:  # more dims
            x = paddle.stack([x, x])
        return x  # has more dims

    assert "[2, 2]" in str(raised(ConversionError, f, UP))


def test_a_condition_of_several_elements():
    def f(x):
        if x > 0:  # two elements
            return x
        return -x

    error = raised(ConversionError, f, UP)
    assert "[2]" in str(error) and f":{line_of('two elements')}" in str(error)


def test_conditions_that_python_decides():
    def in_comprehension(x):
        return {i: v for i, v in enumerate(x) if v > 0}  # comprehension

    def in_case(x):
        match x:
            case v if v.sum() > 0:  # case
                return v

    for f, mark in ((in_comprehension, "comprehension"), (in_case, "case")):
        assert f":{line_of(mark)}" in str(raised(ConversionError, f, UP))


def test_an_assertion_fails_when_the_program_runs():
    def f(x):
        y = x * 2
        assert y.sum() > 0, "positive"  # asserts
        assert y.shape[0] == 2
        return y

    g = static(f)
    assert g(UP).tolist() == [2.0, 2.0]
    for _ in range(2):
        with pytest.raises(AssertionError, match=r"^positive$") as caught:
            g(DOWN)
        assert last_line(caught.value)[:2] == ("f", line_of("asserts"))
    assert g(UP).tolist() == [2.0, 2.0]


def test_an_assertion_in_a_loop_and_a_branch():
    def f(x, n):
        for i in range(n):
            if x.sum() > 0:
                assert i < 2
        return x

    g = static(f)
    g(UP, paddle.to_tensor(2))
    g(DOWN, paddle.to_tensor(5))
    with pytest.raises(AssertionError):
        g(UP, paddle.to_tensor(3))


def test_an_error_that_a_branch_raises():
    def check(x):
        if x.max() > 100:
            raise ValueError("too large", 100)  # raises

    def f(x):
        if x.sum() > 0:
            check(x)
        return x

    g = static(f)
    assert g(UP).tolist() == [1.0, 1.0]
    with pytest.raises(ValueError) as caught:
        g(UP * 200)
    assert caught.value.args == ("too large", 100)
    assert last_line(caught.value)[:2] == ("check", line_of("raises"))
    assert g(DOWN * 200).tolist() == [-200.0, -200.0]


def own(x):
    class Mine(Exception):
        pass

    if x.sum() > 0:
        raise Mine("x")  # mine
    return x


def caught(x):
    try:
        if x.sum() > 0:
            raise ValueError("x")  # caught
    except ValueError:
        x = x + 1
    return x


@pytest.mark.parametrize("f", [own, caught])
def test_exceptions_that_a_run_as_it_was_written_raises(f):
    g = static(f)
    assert g(DOWN).tolist() == [-1.0, -1.0]
    if f is caught:
        assert g(UP).tolist() == [2.0, 2.0]
    else:
        with pytest.raises(Exception, match="x") as shown:
            g(UP)
        assert type(shown.value).__name__ == "Mine" and last_line(shown.value)[1] == line_of("mine")
    assert not g.fallbacks


@pytest.mark.parametrize(("f", "said"), [(own, r"of Mine\('x'\)"), (caught, "inside of try")])
def test_exceptions_that_a_saved_program_cannot_raise(f, said, tmp_path):
    with pytest.raises(ConversionError, match=f"{said} at {HERE}"):
        paddle.jit.save(static(f), str(tmp_path / "f"), input_spec=[paddle.static.InputSpec([2])])


def test_a_loop_that_an_exception_alone_ends():
    def f(x):
        try:
            while True:
                x = x * 2
                if x.sum() > 100:
                    raise StopIteration
        except StopIteration:
            return x
        return -x

    assert static(f)(UP).tolist() == [64.0, 64.0]


def test_an_error_that_is_always_raised_is_python_s():
    def f(x):
        if x.sum() > 0:
            x = x * 2
        raise KeyError("always")  # always

    error = raised(KeyError, f, UP)
    assert last_line(error)[1] == line_of("always")


def test_the_traceback_has_the_user_s_frames_alone():
    def inner(v):
        return v + undefined_name  # noqa: F821  # fails

    def f(x):
        if x.sum() > 0:
            for _ in range(3):
                if x.max() > 0:
                    x = inner(x)
        return x

    error = raised(NameError, f, UP)
    frames = traceback.extract_tb(error.__traceback__)
    assert last_line(error)[1] == line_of("fails")
    between = frames[[f.name for f in frames].index("f") :]
    assert {f.filename for f in between} == {str(HERE)}
    assert [f.name for f in between][-1] == "inner" and {f.name for f in between} == {"f", "inner"}


def test_functions_without_source():
    space: dict = {}
    exec("def made(x):\n    return x * 2\ndef branches(x):\n    return x if x.sum() > 0 else -x", space)
    assert static(space["made"])(UP).tolist() == [2.0, 2.0]
    with pytest.raises(CaptureError, match=r"a branch depends on the data of a tensor \(.* in branches\)"):
        static(space["branches"])(UP)

    def calls(x):
        if x.sum() > 0:
            x = x + 1
        return made(x)

    made = space["made"]
    assert static(calls)(UP).tolist() == [4.0, 4.0]


def test_generators_are_not_rewritten():
    def f(x):
        yield x

    assert convert(f) is f
    with pytest.raises(ConversionError, match="generator"):
        static(f).code  # noqa: B018


def test_recursion_on_data(tmp_path):
    def f(x):
        if x.sum() > 100:
            return x
        return f(x * 2)

    assert static(f)(UP).tolist() == [64.0, 64.0]
    with pytest.raises(CaptureError, match="recursion"):
        paddle.jit.save(static(f), str(tmp_path / "f"), input_spec=[paddle.static.InputSpec([2])])


def test_changes_on_one_way_of_what_cannot_be_put_back():
    def numbers():
        yield 1
        yield 2

    def f(x):
        those = numbers()
        if x.sum() > 0:
            x = x * next(those)
        return x

    assert "a change of Generator.position" in str(raised(CaptureError, f, UP))


@pytest.mark.parametrize("other", [(), (1,)], ids=["one way", "other counts"])
def test_iterators_go_on_as_far_on_both_ways(other):
    def f(x):
        those = iter([1, 2, 3])
        if x.sum() > 0:
            x = x * next(those)
        else:
            for _ in (*other, *other):
                x = x + next(those)
        return x

    assert "as many items taken from an iterator ('those')" in str(raised(CaptureError, f, UP))


def test_sets_hold_the_same_on_both_ways():
    def f(x):
        names = {"a"}
        if x.sum() > 0:
            names.add("b")
        return x

    assert "the same items in the set" in str(raised(CaptureError, f, UP))


def test_state_is_changed_at_every_call():
    kept = {"n": 0}

    def f(x, those):
        kept["n"] += 1
        those.append(kept["n"])
        return x * kept["n"]

    g, those = static(f), []
    assert [g(UP, those).tolist() for _ in range(3)] == [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]
    assert kept == {"n": 3} and those == [1, 2, 3]


def test_numbers_of_a_layer_do_not_become_buffers():
    class Counted(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.calls = 0

        def forward(self, x):
            if x.sum() > 0:
                self.calls = self.calls + 1
            return x

    layer = Counted()
    with pytest.raises(ConversionError, match=r"got self\.calls, a number"):
        static(layer)(UP)
    assert layer.calls == 0 and not layer.buffers()
