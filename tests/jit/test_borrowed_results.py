"""Results that hold a view of something else because it was written to them: memory of their own, as eagerly."""

import pytest

import paddle


def first_rows(x, w):
    v = x + w
    v[:1] = w
    return v


def everything(x, w):
    v = x + 1
    v[:] = w
    return v


def transposed(x, w):
    v = x + 1
    v[:, :] = w.reshape([4, 1]).t()
    return v


def copied(x, w):
    v = x * 2
    v.copy_(w.unsqueeze(0))
    return v


@pytest.mark.parametrize("full_graph", [False, True])
@pytest.mark.parametrize("function", [first_rows, everything, transposed, copied])
def test_memory_is_apart(function, full_graph):
    captured = paddle.jit.to_static(function, full_graph=full_graph)
    for _ in range(3):
        x, w = paddle.ones([1, 4]), paddle.full([4], 5.0)
        result = captured(x, w)
        assert result.tolist() == [[5.0] * 4]
        result[0, 0] = 9.0
        assert w.tolist() == [5.0] * 4


@pytest.mark.parametrize("full_graph", [False, True])
def test_gradients(full_graph):
    for function in (first_rows, everything, transposed):
        captured = paddle.jit.to_static(function, full_graph=full_graph)
        x, w = paddle.ones([1, 4]), paddle.full([4], 5.0)
        x.stop_gradient = w.stop_gradient = False
        (captured(x, w) * paddle.to_tensor([1.0, 2.0, 3.0, 4.0])).sum().backward()
        assert w.grad.tolist() == [1.0, 2.0, 3.0, 4.0]
        assert x.grad is None or x.grad.tolist() == [[0.0] * 4]


@pytest.mark.parametrize("full_graph", [False, True])
def test_views_stay_views(full_graph):
    captured = paddle.jit.to_static(lambda x: (x[1:], x.reshape([-1])), full_graph=full_graph)
    for _ in range(3):
        x = paddle.zeros([2, 2])
        rows, flat = captured(x)
        flat[3] = 1.0
        assert x.tolist() == [[0.0, 0.0], [0.0, 1.0]] and rows.tolist() == [[0.0, 1.0]]
