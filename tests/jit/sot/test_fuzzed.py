"""Functions that the fuzz net (``tests/fuzz/functions``) has found to differ from eager calls, each reduced."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F

SEEN: set = set()


def captured(function):
    return paddle.jit.to_static(function)


def test_the_members_of_a_set_from_outside_are_guarded():
    @captured
    def f(x):
        SEEN.add(x.shape[0])

    SEEN.clear()
    for n in (0, 1, 0):
        f(paddle.ones([n, 4]))
    assert SEEN == {0, 1}


def test_draws_that_nobody_reads_move_the_stream_on():
    @captured
    def f(x):
        F.dropout(paddle.ones(x.shape), 0.3)

    def comes_next(function):
        paddle.seed(3)
        function(paddle.ones([3, 4]))
        return paddle.rand([2]).tolist()

    assert comes_next(f) == comes_next(f.dygraph_function)


def test_a_result_keeps_its_history_beside_a_backward_inside():
    @captured
    def f(x):
        (x * 2).sum().backward()
        return x * x

    for _ in range(2):
        x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
        f(x).sum().backward()
        np.testing.assert_array_equal(x.grad.numpy(), [4.0, 6.0])
    assert any("history" in reason for reason in f.graph_breaks)


def test_a_step_whose_results_are_used_up_is_one_graph():
    @captured
    def f(x):
        y = x * 2
        loss = (y * y).sum()
        loss.backward()
        return loss, y

    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    f(x)
    assert not f.graph_breaks


def test_what_no_differentiated_result_depends_on_has_no_gradient():
    @captured
    def f(x, w):
        return x * 2, w * 3, x * w

    for parts, wanted in (((0,), (True, False)), ((1,), (False, True)), ((0, 1), (True, True)), ((2,), (True, True))):
        x, w = (paddle.ones([2]) for _ in range(2))
        x.stop_gradient = w.stop_gradient = False
        results = f(x, w)
        sum(results[i].sum() for i in parts).backward()
        assert (x.grad is not None, w.grad is not None) == wanted


def test_results_that_have_nothing_in_common_have_histories_of_their_own():
    @captured
    def f(x, w):
        y = x.tanh()
        return y.sum(), w.tanh().sum(), y * y

    x, w = (paddle.ones([2]) for _ in range(2))
    x.stop_gradient = w.stop_gradient = False
    a, b, c = f(x, w)
    a.backward()
    b.backward()
    assert x.grad is not None
    assert w.grad is not None
    for y in (a, b, c):
        with pytest.raises(RuntimeError, match="graph that is still there"):
            y.sum().backward()


def test_a_mode_of_gradients_around_a_break_is_left_as_it_was_entered():
    @captured
    def f(x, n):
        with paddle.no_grad():
            k = int(x.sum())
        with paddle.set_grad_enabled(n > 1):
            return x * k * sum(range(n)) + float(x[0])

    for n in (3, 2, 3, 1, 1):
        x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
        assert f(x, n).tolist() == f.dygraph_function(x, n).tolist()
        assert f(x, n).stop_gradient == (n <= 1)
        assert paddle.is_grad_enabled()


def test_what_was_kept_from_an_earlier_call_may_be_used_up():
    kept = []

    @captured
    def f(x):
        y = x * 2
        kept.append(y)
        return y.sum()

    for _ in range(3):
        f(paddle.to_tensor([1.0, 2.0], stop_gradient=False)).backward()
    assert len(kept) == 3


class Counting(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.calls = 0
        self.inner = paddle.nn.Dropout(0.5)

    def forward(self, x):
        self.calls += 1
        return self.inner(x)


def test_modes_of_layers_are_set_at_every_call():
    net = Counting()

    @captured
    def f(x, training):
        net.train(training)
        return net(x)

    x = paddle.ones([64])
    for k, training in enumerate((False, True, True, False, False)):
        assert bool((f(x, training) == 1).all()) is not training
        assert net.calls == k + 1
        assert net.training is net.inner.training is training
        net.train()
    assert not f.graph_breaks
    assert not f.fallbacks


def test_arguments_that_are_one_object_are_changed_together():
    @captured
    def of_lists(a, b):
        a.append(1)
        b.append(2)
        return len(a)

    @captured
    def of_objects(a, b):
        a.n += 1
        b.n += 2
        return a.n, a is b

    made = lambda: SimpleNamespace(n=0)  # noqa: E731
    for _ in range(2):
        assert of_lists([], []) == 1
        assert of_objects(made(), made()) == (1, False)
    one, other = [], made()
    assert of_lists(one, one) == 2
    assert one == [1, 2]
    assert of_objects(other, other) == (3, True)


def test_an_argument_may_be_the_tensor_that_the_function_knows():
    known = paddle.ones([2])

    @captured
    def f(x, y):
        return x is known, y is not known, x is y

    other = paddle.ones([2])
    for x, y in ((other, paddle.ones([2])), (known, other), (other, known), (other, other), (known, known)):
        assert f(x, y) == f.dygraph_function(x, y)


def test_an_error_outside_of_a_graph_reaches_the_handler_of_a_frame_around():
    @captured
    def f(x):
        def added():
            return sum([x, x[:2]], 0)

        try:
            return added()
        except ValueError:
            return x

    x = paddle.ones([5, 4])
    assert f(x) is x


def test_a_closed_generator_is_no_frame_any_more():
    def parts(x):
        try:
            yield x
            yield x * 2
        finally:
            x = None

    @captured
    def f(x):
        generator = parts(x)
        first = next(generator)
        generator.close()
        return int(first.sum()) + 1

    assert f(paddle.ones([2])) == 3


def read(t):
    return t * float(t.sum())


def test_graphs_break_within_functions_that_map_and_filter_call():
    @captured
    def f(x, xs):
        total = x.sum()
        for y in map(lambda t, k: t * int(k.sum()), xs, x):
            total = total + y.sum()
        kept = filter(lambda t: t.sum() > 0, xs)
        first = next(kept)
        rest = list(kept)
        return total, first, len(rest), list(map(read, rest))

    x = paddle.ones([3, 4])
    xs = [paddle.ones([2]), -paddle.ones([2]), paddle.ones([3]) * 2]
    for _ in range(2):
        found, wanted = f(x, xs), f.dygraph_function(x, xs)
        assert float(found[0]) == float(wanted[0])
        assert found[1] is xs[0]
        assert found[2] == wanted[2] == 1
        assert found[3][0].tolist() == wanted[3][0].tolist()
    assert not f.fallbacks


def test_an_attribute_may_come_and_go_within_a_call():
    box = SimpleNamespace(n=1)

    @captured
    def f(x, adds):
        if adds:
            box.note = "note"
        if hasattr(box, "note"):
            del box.note
        return x * box.n

    for adds in (True, True, False, True):
        f(paddle.ones([1]), adds)
        assert not hasattr(box, "note")
    box.note = "given"
    f(paddle.ones([1]), False)
    assert not hasattr(box, "note")


def test_a_mode_is_left_by_an_exception_after_a_break():
    @captured
    def f(x):
        try:
            with paddle.no_grad():
                return [x * 2][int(x.sum())]
        except IndexError:
            return x * 3

    for value in (0.0, 5.0, 0.0, 5.0):
        x = paddle.to_tensor([value], stop_gradient=False)
        assert f(x).tolist() == f.dygraph_function(x).tolist()
        assert paddle.is_grad_enabled()
    assert not f.fallbacks


def a_branch(a, b, k):
    float(b.sum())
    return paddle.static.nn.cond(a.sum() < 1e30, lambda: a * k, lambda: a)


def a_branch_of_branches(a, b, k):
    float(b.sum())

    def one():
        return a * k

    return paddle.static.nn.cond(a.sum() < 1e30, lambda: one() + b, lambda: one())


def a_loop(a, b, k):
    float(b.sum())
    return paddle.static.nn.while_loop(lambda i: i.sum() < k + 0 * a.sum(), lambda i: [i + b], [b * 0])[0] + a


def a_branch_that_sets_a_variable(a, b, k):
    float(b.sum())
    c = a

    def inner():
        nonlocal c
        c = a * k
        return c + 0

    return paddle.static.nn.cond(a.sum() < 1e30, inner, inner) + c


def a_hook(a, b, k):
    y = b * 2
    float(b.sum())
    if not y.stop_gradient:
        y.register_hook(lambda g: g * a)
    return y * k


@pytest.mark.parametrize(
    "function",
    [a_branch, a_branch_of_branches, a_loop, a_branch_that_sets_a_variable, a_hook],
    ids=lambda f: f.__name__,
)
def test_functions_that_the_library_calls_behind_a_break_read_variables_of_this_call(function):
    """They read cells that are those of the frame, and were filled in by the call before the break."""
    f = captured(function)
    for n, (enabled, k) in enumerate([(True, 2), (True, 3), (False, 3), (True, 2)]):
        results = []
        for run in (function, f):
            a, b = (paddle.full([2], float(x)) for x in (n + 1, 1))
            a.stop_gradient = b.stop_gradient = False
            with paddle.set_grad_enabled(enabled):
                y = run(a, b, k)
            if enabled:
                y.sum().backward()
            results.append([y.tolist(), *(None if x.grad is None else x.grad.tolist() for x in (a, b))])
        assert results[0] == results[1]
    assert f.graph_breaks
