"""What a rewritten function keeps, which functions are rewritten, and what shows it."""

from __future__ import annotations

import inspect
import logging
import math
import re
import sys
import warnings

import numpy as np
import pytest

import paddle
from paddle.jit import ignored
from paddle.jit.source.convert import convert
from tests.jit.source import programs
from umiak.core.context import current
from umiak.runtime.capture import CaptureError


def static(function, **kwargs):
    return paddle.jit.to_static(function, full_graph=True, **kwargs)


UP, DOWN = paddle.ones([2]), -paddle.ones([2])


def test_a_rewritten_function_keeps_what_it_had():
    k = 2

    def f(x: int, n=3, *rest, scale=k, **more) -> float:
        """What it does."""
        nonlocal k
        k = x
        return x + n

    f.mark = "mine"
    g = convert(f)
    assert (g.__name__, g.__qualname__, g.__module__, g.__doc__) == (
        f.__name__,
        f.__qualname__,
        f.__module__,
        f.__doc__,
    )
    assert g.__defaults__ == f.__defaults__ and g.__kwdefaults__ == f.__kwdefaults__
    assert g.__annotations__ == f.__annotations__ and g.__globals__ is f.__globals__ and g.mark == "mine"
    assert inspect.signature(g) == inspect.signature(f)
    assert g.__code__.co_filename == f.__code__.co_filename and g.__code__.co_name == "f"
    assert g(5) == 8 and k == 5  # the same cell
    assert convert(g) is g
    assert convert(f).__code__ is g.__code__  # once for a code object


def test_lambdas_of_one_line():
    a, b, c = (lambda x: x * 2 if x.sum() > 0 else x), (lambda x: x * 3 if x.sum() > 0 else x), (lambda: 7)
    assert static(a)(UP).tolist() == [2.0, 2.0]
    assert static(b)(UP).tolist() == [3.0, 3.0]
    assert convert(c)() == 7


def test_the_text_shows_the_helpers():
    text = static(programs.if_else).code
    assert text.startswith("def if_else(x):") and "jst.if_(" in text and "nonlocal y" in text
    compile(text, "text", "exec")


def test_levels_of_what_is_shown(capsys):
    def f(x):
        return x if x.sum() > 0 else -x

    def g(x):
        return x + 1 if x.sum() > 0 else -x

    def h(x):
        return x + 2 if x.sum() > 0 else -x

    try:
        paddle.jit.set_code_level(100, also_to_stdout=True)
        static(f)(UP)
        final = capsys.readouterr().out
        paddle.jit.set_code_level(1, also_to_stdout=True)
        paddle.jit.set_verbosity(1, True)
        static(g)(UP)
        stages = capsys.readouterr().out
        paddle.jit.set_code_level(-1)
        paddle.jit.set_verbosity(0)
        static(h)(UP)
        assert capsys.readouterr().out == ""
    finally:
        paddle.jit.set_code_level(-1)
        paddle.jit.set_verbosity(0)
    assert "f: the final text" in final and "jst.choose(" in final and final.count("---") == 2
    assert stages.count("g: ") == 2 and "x + 1 if x.sum() > 0 else -x" in stages and "is rewritten" in stages
    with pytest.raises(TypeError, match="an int as level"):
        paddle.jit.set_code_level("all")
    with pytest.raises(TypeError, match="a bool"):
        paddle.jit.set_verbosity(1, 2)


def test_what_is_printed_while_the_program_runs(capsys):
    def f(x, n):
        print("once")
        for i in range(n):
            if x.sum() > 0:
                print("positive", i, sep="-", end=";\n")
        print({"x": [x]}, "end")
        return x

    g = static(f)
    g(UP, paddle.to_tensor(2))
    out = capsys.readouterr().out
    assert out.startswith("once\n") and out.count("positive-Tensor(shape=[], dtype=int64") == 2
    assert "       1);" in out and "{'x': [Tensor(shape=[2]" in out and out.endswith("[1., 1.])]} end\n")
    g(UP, paddle.to_tensor(1))
    g(DOWN, paddle.to_tensor(3))
    out = capsys.readouterr().out
    assert out.count("positive") == 1 and out.count("once\n") == out.count("end\n") == 2


class Gate(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = paddle.nn.Linear(2, 2)

    def forward(self, x, scale=1):
        if self.training:
            x = x * 2
        if x.sum() > 0:
            return self.linear(x) * scale
        return self.linear(-x)


class Net(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.body = paddle.nn.Sequential(Gate(), paddle.nn.ReLU(), Gate())
        self.gates = paddle.nn.LayerList([Gate(), Gate()])

    def forward(self, x):
        y = self.body(x)
        for gate in self.gates:
            if y.mean() > -100:
                y = gate(y, scale=2)
        return y


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_layers_and_what_is_inside(sign):
    paddle.seed(3)
    net = Net()
    x = paddle.to_tensor(np.array([[0.5, 1.5]], "float32") * sign)
    calls = []
    net.gates[0].register_forward_post_hook(lambda layer, inputs, output: output + 1)
    net.register_forward_pre_hook(lambda layer, inputs: calls.append(1))
    for mode in (net.train, net.eval, net.train):
        mode()
        wanted = net(x)
        wanted.sum().backward()
        gradients = [p.grad.numpy() if p.grad is not None else 0 for p in net.parameters()]
        net.clear_gradients()
        captured = static(net)
        got = captured(x)
        got.sum().backward()
        np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=1e-5)
        for p, g in zip(net.parameters(), gradients, strict=True):
            np.testing.assert_allclose(0 if p.grad is None else p.grad.numpy(), g, rtol=1e-5, atol=1e-6)
        net.clear_gradients()
        net.forward.rollback()


class Counted:
    """A function as a method."""

    def __init__(self, k):
        self.k = k

    @paddle.jit.to_static(full_graph=True)
    def scaled(self, x):
        if x.sum() > 0:
            return x * self.k
        return x

    @staticmethod
    @paddle.jit.to_static(full_graph=True)
    def plain(x):
        return x if x.sum() > 0 else -x


def test_methods():
    assert Counted(3).scaled(UP).tolist() == [3.0, 3.0]
    assert Counted(4).scaled(UP).tolist() == [4.0, 4.0]
    assert Counted(4).scaled(DOWN).tolist() == [-1.0, -1.0]
    assert Counted.plain(DOWN).tolist() == [1.0, 1.0]
    assert static(Counted(5).plain)(UP).tolist() == [1.0, 1.0]


def test_marked_functions_are_called_as_they_are():
    @paddle.jit.not_to_static
    def kept(x):
        return x * (2 if isinstance(x, paddle.Tensor) else 3)

    @paddle.jit.not_to_static
    def branches(x):
        return x if x.sum() > 0 else -x

    def f(x):
        return kept(x) if x.sum() > 0 else kept(-x)

    def g(x):
        return branches(x)

    class Scaled(paddle.nn.Layer):
        factor = 2

        @paddle.jit.not_to_static
        def kept(self, x):
            return x * self.factor

        def forward(self, x):
            return self.kept(x) if x.sum() > 0 else self.kept(-x)

    assert static(f)(DOWN).tolist() == [2.0, 2.0]
    assert static(Scaled())(DOWN).tolist() == [2.0, 2.0]
    with pytest.raises(CaptureError, match=r"a branch depends on the data of a tensor \(.* in branches\)"):
        static(g)(UP)


def test_modules_that_are_ignored(monkeypatch):
    monkeypatch.setitem(current().state.values, ignored.KEY, set())

    def f(x):
        return programs.helper(x) + math.floor(2.5)

    assert static(f)(UP).tolist() == [4.0, 4.0]
    paddle.jit.ignore_module([programs])
    with pytest.raises(CaptureError, match=r"a branch depends on the data of a tensor \(.* in helper\)"):
        static(f)(UP)


def test_captured_functions_inside_are_parts():
    @paddle.jit.to_static(full_graph=True)
    def inner(x):
        return x * 2 if x.sum() > 0 else x

    def f(x):
        return inner(x) + inner(-x)

    assert static(f)(UP).tolist() == [1.0, 1.0]


def test_sizes_that_vary_have_one_program():
    def f(x):
        s = paddle.zeros([])
        for row in x:
            if row.sum() > 0:
                s = s + row.sum()
        for i in range(x.shape[0]):
            s = s * 1.5 + i
        return s

    g = static(f)
    for n in (3, 5, 7, 2, 9):
        x = paddle.to_tensor(np.random.randn(n, 2).astype("float32"), stop_gradient=False)
        y = g(x)
        y.backward()
        got, x.grad = x.grad, None
        wanted = f(x)
        wanted.backward()
        np.testing.assert_allclose(float(y), float(wanted), rtol=1e-5)
        np.testing.assert_allclose(got.numpy(), x.grad.numpy(), rtol=1e-5)
    assert g.get_traced_count() == 2


def test_training_steps():
    def make():
        paddle.seed(1)
        net = Gate()
        opt = paddle.optimizer.Adam(0.1, parameters=net.parameters())

        def step(x):
            y = net(x)
            loss = (y**2).mean()
            if loss > 1.0:
                loss = loss * 0.5
            loss.backward()
            opt.step()
            opt.clear_grad()
            return loss

        return step

    eager, captured = make(), static(make())
    for i in range(6):
        x = paddle.to_tensor(np.array([[1.0, 2.0], [0.5, -1.0]], "float32") * (-1) ** i)
        np.testing.assert_allclose(float(captured(x)), float(eager(x)), rtol=1e-5)


def test_random_numbers_are_those_of_eager_calls():
    def f(x):
        if x.sum() > 0:
            x = x + paddle.rand([2])
        for i in range(paddle.to_tensor(2)):
            x = x * paddle.rand([2]) + i
        return x

    g = static(f)
    for x in (UP, DOWN, UP):
        paddle.seed(5)
        wanted = f(x)
        paddle.seed(5)
        np.testing.assert_allclose(g(x).numpy(), wanted.numpy(), rtol=1e-6)


def test_gradients_of_gradients():
    def f(x, n):
        for _ in range(n):
            x = x * x if x.sum() > 0 else x * 3
        return x.sum()

    for sign in (1.0, -1.0):
        found = []
        for function in (f, static(f)):
            x = paddle.to_tensor([1.1 * sign, 0.7 * sign], stop_gradient=False)
            (g,) = paddle.grad(function(x, paddle.to_tensor(3)), [x], create_graph=True)
            second = paddle.grad(g.sum(), [x], allow_unused=True)[0] if not g.stop_gradient else None
            found.append((g.numpy(), np.zeros(2) if second is None else second.numpy()))
        for a, b in zip(*found, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4)


def test_static_programs_take_rewritten_functions():
    @paddle.jit.to_static(full_graph=True)
    def f(x):
        if x.sum() > 0:
            return x * 2
        n = 0
        while x.sum() < 0:
            x = x + 1
            n += 1
        return x + n

    main, startup = paddle.static.Program(), paddle.static.Program()
    paddle.enable_static()
    try:
        with paddle.static.program_guard(main, startup):
            x = paddle.static.data("x", [None, 2], "float32")
            y = f(x)
            exe = paddle.static.Executor()
            values = [[1.0, 2.0]], [[-1.0, -2.0], [0.0, 1.0]]
            got = [exe.run(main, feed={"x": np.array(v, "float32")}, fetch_list=[y])[0] for v in values]
    finally:
        paddle.disable_static()
    for v, a in zip(values, got, strict=True):
        np.testing.assert_allclose(a, f.dygraph_function(paddle.to_tensor(v)).numpy(), rtol=1e-6)


def test_what_one_way_assigns_the_other_does_not_see():
    def f(x):
        n = 1

        def count():
            nonlocal n
            n += 1

        if x.sum() > 0:
            count()
            n = n + 1
            return x * n
        return x * n

    def g(x):
        m = 0
        if x.sum() > 0:

            def count():
                nonlocal m
                m += 1

            count()
        return x * m

    assert [static(f)(x).tolist() for x in (UP, DOWN)] == [f(x).tolist() for x in (UP, DOWN)]
    assert [static(g)(x).tolist() for x in (UP, DOWN)] == [g(x).tolist() for x in (UP, DOWN)]


def test_warnings_and_logs_are_told_at_every_call(caplog):
    log = logging.getLogger("tests.told")

    def f(x, n):
        warnings.warn("careful", stacklevel=1)
        log.warning("n is %d", n)
        return x * n

    g = static(f)
    for n in (1, 2, 3):
        with pytest.warns(UserWarning, match="careful"):
            assert g(UP, n).tolist() == f_without_words(UP, n)
    assert [r.getMessage() for r in caplog.records if r.name == "tests.told"] == ["n is 1", "n is 2", "n is 3"]


def f_without_words(x, n):
    return (x * n).tolist()


def test_arrays_are_read_at_every_call():
    table = np.array([1.0, 2.0], "float32")

    def f(x, more):
        return x * paddle.to_tensor(table) + more + paddle.to_tensor(np.arange(2, dtype="float32"))

    g = static(f)
    for _ in range(3):
        more = np.array([5.0, 6.0], "float32") * table
        assert g(UP, more).tolist() == f(UP, paddle.to_tensor(more)).tolist()
        table += 1
    assert g.get_traced_count() == 1


def test_attributes_that_a_branch_makes():
    """Of an object from outside: one that both ways set is a result; one that data decide on is refused."""

    class Keeps(paddle.nn.Layer):
        def forward(self, x):
            if x.sum() > 0:
                self.seen = x * 2
            else:
                self.seen = x * 3
            return self.seen + 1

    layer = paddle.jit.to_static(Keeps(), full_graph=True)
    assert (layer(UP).tolist(), layer.seen.tolist()) == ([3.0, 3.0], [2.0, 2.0])
    assert (layer(DOWN).tolist(), layer.seen.tolist()) == ([-2.0, -2.0], [-3.0, -3.0])

    class May(paddle.nn.Layer):
        def forward(self, x):
            if x.sum() > 0:
                self.seen = x * 2
            return x

    layer = paddle.jit.to_static(May(), full_graph=True)
    with pytest.raises(CaptureError, match="'seen' of May has a value on some ways of the statement on a tensor at"):
        layer(UP)
    assert not hasattr(layer, "seen")


def test_a_recursion_on_data_runs_as_it_was_written_however_deep_the_stack_is():
    def depth(n):
        return 0 if n.sum() > 0 else 1 + depth(n + 1)

    def below(levels, call):
        return call() if levels == 0 else below(levels - 1, call)

    for levels in (0, 300):
        captured = paddle.jit.to_static(depth, full_graph=True)
        assert below(levels, lambda: captured(DOWN * 40)) == 41  # noqa: B023  called at once
        assert re.match(r"calls inside of each other, [0-9]+ deep", captured.fallbacks[0])


def test_a_recursion_by_a_number_goes_as_deep_as_python_allows():
    def power(x, n):
        return x if n == 0 else power(x + 1, n - 1)

    captured = paddle.jit.to_static(power, full_graph=True)
    limit = sys.getrecursionlimit()
    assert captured(UP, 300).tolist() == [301.0, 301.0]
    assert not captured.fallbacks and not captured.graph_breaks
    with pytest.raises(RecursionError):
        captured(UP, 2 * limit)
    assert sys.getrecursionlimit() == limit


def test_memory_of_results_is_dense_or_not_in_one_graph():
    def f(x):
        y = (x * 2).transpose([1, 0])
        flags = [(x + 1).is_contiguous(), y.is_contiguous(), y.contiguous().is_contiguous(), y[0].is_contiguous()]
        return [y + int(k) for k in flags], flags

    x = paddle.ones([2, 3])
    (got, flags), (wanted, known) = paddle.jit.to_static(f, full_graph=True)(x), f(x)
    assert flags == known == [True, False, True, False]
    assert [y.tolist() for y in got] == [y.tolist() for y in wanted]


@pytest.mark.parametrize("at", [(0, 1), (12,), (0, 0, 2), (1.0,), (0.0, 1.0, 1.0)])
def test_places_that_item_refuses(at):
    def f(x):
        return (x * 2).item(*at)

    for run in (f, *(paddle.jit.to_static(f, full_graph=full) for full in (False, True))):
        with pytest.raises(TypeError if float in map(type, at) else ValueError, match=r"\[item\]"):
            run(paddle.ones([2, 3, 2]))
