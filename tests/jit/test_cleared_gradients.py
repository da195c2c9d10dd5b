"""Gradients that a captured function clears, with or without anything else of the tensor."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import paddle


def clear(x, w):
    w.clear_grad()
    return x * 2


def clear_and_read(x, w):
    w.clear_grad()
    return w.grad


def clear_an_argument(x, w):
    x.clear_grad()
    return x.grad


def after_backward(x, w):
    (x * w).sum().backward()
    w.clear_grad()
    return w.grad


def before_backward(x, w):
    w.clear_grad()
    (x * w).sum().backward()
    return x.detach()


def clear_and_use(x, w):
    w.clear_grad()
    return w * 2


def remove(x, w):
    w.clear_gradient(False)
    return x * 2


def replace_by_none(x, w):
    w.grad = None
    return x * 2


def states(function: Callable, captured: bool) -> list:
    x, w = (paddle.to_tensor(v, stop_gradient=False) for v in ([4.0, 5.0], [1.0, 2.0]))
    call = paddle.jit.to_static(lambda x: function(x, w)) if captured else lambda x: function(x, w)
    found = []
    for i in range(4):
        (w * float(i + 1)).sum().backward()
        (x * 3.0).sum().backward()
        y = call(x)
        found.append([None if v is None else v.tolist() for v in (y, w.grad, x.grad)])
    return found


@pytest.mark.parametrize(
    "function",
    [
        clear, clear_and_read, clear_an_argument, after_backward, before_backward, clear_and_use, remove,
        replace_by_none,
    ],
)  # fmt: skip
def test_captured_as_eager(function):
    assert states(function, True) == states(function, False)


@pytest.mark.parametrize("full_graph", [False, True])
@pytest.mark.parametrize("set_to_zero", [False, True])
def test_a_step_without_its_backward(set_to_zero, full_graph):
    """The gradients are those of each call, not those of the capture."""

    def weights(captured):
        w = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
        optimizer = paddle.optimizer.SGD(0.5, parameters=[w])

        def step():
            optimizer.step()
            optimizer.clear_grad(set_to_zero)

        run = paddle.jit.to_static(step, full_graph=full_graph) if captured else step
        found = []
        for i in range(4):
            (w * float(i + 1)).sum().backward()
            run()
            found.append([w.tolist(), None if w.grad is None else w.grad.tolist()])
        return found

    assert weights(True) == weights(False)


def test_the_last_of_two_ways_to_clear_counts():
    def both(first):
        w = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
        optimizer = paddle.optimizer.SGD(0.5, parameters=[w])

        def step():
            optimizer.clear_grad(first)
            optimizer.clear_grad(not first)

        (w * 3.0).sum().backward()
        paddle.jit.to_static(step)()
        return None if w.grad is None else w.grad.tolist()

    assert both(True) is None and both(False) is None


def test_rows_that_came_before_are_those_of_each_call():
    def weights(captured):
        paddle.seed(1)
        net = paddle.nn.Embedding(4, 2, sparse=True)
        optimizer = paddle.optimizer.SGD(0.5, parameters=net.parameters())

        def step():
            optimizer.step()
            optimizer.clear_grad(False)

        run = paddle.jit.to_static(step) if captured else step
        for i in range(3):
            (net(paddle.to_tensor([i, i + 1])) * float(i + 1)).sum().backward()
            run()
        return net.weight.tolist()

    assert weights(True) == weights(False)


@pytest.mark.parametrize("full_graph", [False, True])
def test_gradients_that_were_not_there_at_the_capture(full_graph):
    def weights(captured):
        first, second = (paddle.to_tensor([1.0, 2.0], stop_gradient=False) for _ in range(2))
        optimizer = paddle.optimizer.SGD(0.5, parameters=[first, second])

        def step():
            optimizer.step()

        def clear():
            optimizer.clear_grad()

        runs = [paddle.jit.to_static(f, full_graph=full_graph) for f in (step, clear)] if captured else [step, clear]
        found = []
        for i in range(4):
            (first * 2.0).sum().backward()
            if i >= 2:
                (second * 3.0).sum().backward()
            for run in runs:
                run()
            found.append([[x.tolist(), x.grad is None or x.grad.tolist()] for x in (first, second)])
        return found

    assert weights(True) == weights(False)


@pytest.mark.parametrize("full_graph", [False, True])
def test_parameters_in_a_list_are_those_of_the_optimizer(full_graph):
    """The list may have others at the next call: what is in it comes with each call, unless the function knows it."""

    def weights(captured):
        params = [paddle.to_tensor([float(i), 2.0], stop_gradient=False) for i in range(2)]
        optimizer = paddle.optimizer.SGD(0.1, parameters=params)

        def step():
            sum((p * p).sum() for p in params).backward()
            optimizer.step()
            optimizer.clear_grad()

        run = paddle.jit.to_static(step, full_graph=full_graph) if captured else step
        found = []
        for _ in range(3):
            run()
            found.append([p.tolist() for p in params])
        return found

    assert weights(True) == weights(False)
