"""Functions that the fuzz net (``tests/fuzz/functions``) has found to differ from eager calls, each reduced."""

from __future__ import annotations

import numpy as np

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
