"""``as_strided`` is a view of a tensor's memory; NumPy says of which elements. What is a copy, and what is not."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F

# Sizes, strides and offset among 12 elements, of which none is seen twice.
APART = {
    "rows": ([2, 3], [6, 2], 0),
    "columns first": ([3, 2], [1, 4], 1),
    "backwards": ([2, 4], [5, -1], 3),
    "one element": ([1, 1], [40, 7], 5),
    "no dims": ([], [], 4),
    "nothing": ([2, 0], [3, 1], 0),
}
SHARED = {"windows": ([4, 3], [2, 1], 1), "repeated": ([2, 3, 2], [0, 2, 0], 4), "diagonal": ([3, 3], [1, 2], 0)}
OF = {
    "itself": lambda y: y,
    "a slice": lambda y: y[1:, ::2],
    "its transpose": lambda y: y.T,
    "another shape": lambda y: y.reshape([2, 6])[:, 1:],
}
N = 12


def places(sizes, strides, offset):
    return offset + sum(
        (np.arange(n).reshape([-1] + [1] * (len(sizes) - i - 1)) * s for i, (n, s) in enumerate(zip(sizes, strides))),
        np.zeros(sizes, int),
    )


@pytest.mark.parametrize("captured", [False, True], ids=["eager", "captured"])
@pytest.mark.parametrize(("name", "of"), zip([*APART, *SHARED], itertools.cycle(OF)))
def test_elements_and_gradients(name, of, captured):
    shown = {**APART, **SHARED}[name]
    at = places(*shown)

    def f(x):
        y = x * 2.0
        view = paddle.as_strided(OF[of](y), *shown)
        return view * 1.0, (view * view).sum()

    x = paddle.arange(1, N + 1, dtype="float64").reshape([3, 4])
    x.stop_gradient = False
    view, loss = (paddle.jit.to_static(f) if captured else f)(x)
    np.testing.assert_array_equal(view.numpy(), 2.0 * x.numpy().reshape(-1)[at])
    loss.backward()
    times = np.bincount(at.reshape(-1), minlength=N)
    np.testing.assert_allclose(x.grad.numpy().reshape(-1), 8.0 * x.numpy().reshape(-1) * times)


@pytest.mark.parametrize("captured", [False, True], ids=["eager", "captured"])
@pytest.mark.parametrize("name", APART)
def test_writes_reach_the_memory(name, captured):
    at = places(*APART[name])

    def f(x):
        y = x * 1.0
        other = y.reshape([-1])
        paddle.as_strided(y[1:], *APART[name]).scale_(3.0)
        return y, (other * other).sum()

    x = paddle.arange(1, N + 1, dtype="float64").reshape([3, 4])
    x.stop_gradient = False
    y, loss = (paddle.jit.to_static(f) if captured else f)(x)
    factor = np.ones(N)
    factor[at] = 3.0
    np.testing.assert_array_equal(y.numpy().reshape(-1), factor * np.arange(1, N + 1))
    loss.backward()
    np.testing.assert_allclose(x.grad.numpy().reshape(-1), 2 * factor**2 * np.arange(1, N + 1))


def test_a_tensor_is_set_to_strided_memory():
    source = paddle.arange(6)
    x = paddle.zeros([1], "int64").set_(source, [2, 2], [3, 1], 1)
    source[1] = 9
    assert x.tolist() == [[9, 2], [4, 5]]


def test_what_leads_outside_is_refused():
    x = paddle.arange(N)
    for sizes, strides, offset in (([2], [N], 0), ([2], [-1], 0), ([1], [1], N), ([2], [1], -1)):
        with pytest.raises(ValueError, match="places within 12 elements"):
            paddle.as_strided(x[2:], sizes, strides, offset)


# As the reference framework has it: written to, these leave their operand as it was, or do not.
COPIES = {
    "dropout in evaluation": lambda x: F.dropout(x, 0.5, training=False),
    "the layer in evaluation": lambda x: paddle.nn.Dropout(0.5).eval()(x),
    "expand": lambda x: x.expand([2, 3]),
    "expand by rows": lambda x: x[:1].expand([2, 3]),
    "expand by a new dim": lambda x: x.expand([2, 2, 3]),
    "expand_as, repeated": lambda x: x[:, :1].expand_as(x),
    "broadcast_to, repeated": lambda x: paddle.broadcast_to(x[0], [4, 3]),
    "broadcast_tensors, repeated": lambda x: paddle.broadcast_tensors([x[:, :1], x])[0],
    "expand by dims of 1": lambda x: x.expand([1, 1, -1, 3]),
    "expand_as": lambda x: x.expand_as(x),
    "broadcast_to": lambda x: paddle.broadcast_to(x, [2, 3]),
    "broadcast_tensors": lambda x: paddle.broadcast_tensors([x, x])[0],
    "half a turn": lambda x: paddle.rot90(x, 2),
    "alpha_dropout of nothing": lambda x: F.alpha_dropout(x, 0.0),
}
SAME = {
    "dropout of nothing": lambda x: F.dropout(x, 0.0),
    "dropout along axes": lambda x: F.dropout(x, 0.5, axis=0, training=False),
    "dropout in place": lambda x: F.dropout(x, 0.5, training=False, inplace=True),
    "no turn": lambda x: paddle.rot90(x, -4),
    "detached": lambda x: x.detach(),
}


@pytest.mark.parametrize("captured", [False, True], ids=["eager", "captured"])
@pytest.mark.parametrize("name", [*COPIES, *SAME])
def test_a_result_is_written_to(name, captured):
    function = {**COPIES, **SAME}[name]

    def f(x):
        y = function(x)
        y.add_(paddle.ones_like(y))
        return y

    x = paddle.zeros([2, 3])
    y = (paddle.jit.to_static(f) if captured else f)(x)
    assert (y.numpy() == 1.0).all()
    assert (x.numpy() == (name in SAME)).all()


REPEATED = [name for name in COPIES if name.startswith(("expand", "broadcast"))]


@pytest.mark.parametrize("mode", ["eager", "captured", "one graph"])
@pytest.mark.parametrize("name", REPEATED)
def test_parts_of_repeated_elements_are_written_to(name, mode):
    """Neither the operand nor other elements see it, nor do repeated elements what is written to the operand later."""

    def f(x):
        x = x * 1.0
        y = COPIES[name](x)
        seen = y[0]
        y[0] = 5.0
        x.add_(paddle.ones_like(x))
        return y, seen, x

    a = np.arange(6.0, dtype="float32").reshape(2, 3)
    x = paddle.to_tensor(a, stop_gradient=False)
    want = COPIES[name](paddle.to_tensor(a)).numpy().copy()
    times = COPIES[name](paddle.to_tensor(np.arange(6).reshape(2, 3))).numpy()
    want[0] = 5.0
    y, seen, later = (f if mode == "eager" else paddle.jit.to_static(f, full_graph=mode == "one graph"))(x)
    np.testing.assert_array_equal(y.numpy(), want)
    np.testing.assert_array_equal(seen.numpy(), want[0])
    np.testing.assert_array_equal(later.numpy(), a + 1)
    y.sum().backward()
    counts = np.bincount(times[1:].reshape(-1), minlength=6).reshape(2, 3)
    np.testing.assert_array_equal(np.zeros((2, 3)) if x.grad is None else x.grad.numpy(), counts)


# Of no dims, with whether what is written to the result is seen in the operand: that of PaddlePaddle, as above.
NO_DIMS = {
    "flatten": (paddle.flatten, False),
    "ravel": (paddle.ravel, False),
    "atleast_1d": (paddle.atleast_1d, False),
    "atleast_2d": (paddle.atleast_2d, False),
    "atleast_3d": (paddle.atleast_3d, False),
    "reshape": (lambda x: x.reshape([1]), True),
    "unsqueeze": (lambda x: x.unsqueeze(0), True),
}


@pytest.mark.parametrize("captured", [False, True], ids=["eager", "captured"])
@pytest.mark.parametrize("name", NO_DIMS)
def test_a_result_of_no_dims_is_written_to(name, captured):
    function, shares = NO_DIMS[name]

    def f(x):
        y = function(x)
        y.add_(paddle.ones_like(y))
        return y

    x = paddle.zeros([])
    y = (paddle.jit.to_static(f) if captured else f)(x)
    assert y.numpy().reshape([]) == 1 and x.item() == shares


def test_split_with_sizes_gives_views():
    x = paddle.zeros([5, 2])
    first, second = x.split_with_sizes([2, 3])
    second.add_(paddle.ones([3, 2]))
    assert first.shape == [2, 2] and x.sum(1).tolist() == [0, 0, 2, 2, 2]
    assert [p.shape[1] for p in x.split_with_sizes([1, 1], -1)] == [1, 1]
