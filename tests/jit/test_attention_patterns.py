"""Attention that is spelt out in a captured function runs as one operation, with the values and gradients of calls."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F

NEVER = float("-inf")


@pytest.fixture
def rng():
    return np.random.default_rng(2)


def tensors(rng, *shapes, dtype="float32"):
    made = [paddle.to_tensor(rng.standard_normal(s).astype("float32")).astype(dtype) for s in shapes]
    for x in made:
        x.stop_gradient = False
    return made


def attention(q, k, v):
    return paddle.matmul(F.softmax(paddle.matmul(q, k, transpose_y=True) * 8**-0.5, axis=-1), v)


def gradients(f, xs):
    for x in xs:
        x.clear_gradient()
    y = f(*xs)
    (y * y).sum().backward()
    return [y.numpy(), *(x.grad.numpy() for x in xs)]


SHAPES = [(2, 3, 40, 8), (2, 3, 48, 8), (2, 3, 48, 6)]


@pytest.fixture
def fusions(monkeypatch):
    """The numbers of fusions in each program that is made."""
    from umiak.runtime import capture, captured_function

    counts = []
    fuse = capture.fuse_plain_attention

    def counted(*args, **kwargs):
        counts.append(fuse(*args, **kwargs))
        return counts[-1]

    for module in (capture, captured_function):
        monkeypatch.setattr(module, "fuse_plain_attention", counted)
    return counts


@pytest.mark.parametrize("shapes", [SHAPES, [s[1:] for s in SHAPES]], ids=["heads", "one head"])
def test_gradients_outside(rng, fusions, shapes):
    xs = tensors(rng, *shapes)
    expected = gradients(attention, xs)
    captured = paddle.jit.to_static(attention)
    for _ in range(3):
        for a, b in zip(gradients(captured, xs), expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)
    assert sum(fusions) == 1


def test_gradients_inside(rng, fusions):
    xs = tensors(rng, *SHAPES)

    def step(q, k, v):
        y = attention(q, k, v)
        loss = (y * y).sum()
        return [y, *paddle.grad(loss, [q, k, v])]

    expected = [x.numpy() for x in step(*xs)]
    captured = paddle.jit.to_static(step)
    for _ in range(3):
        for a, b in zip(captured(*xs), expected, strict=True):
            np.testing.assert_allclose(a.numpy(), b, rtol=2e-5, atol=2e-5)
    assert sum(fusions) == 1


def test_second_derivatives(rng, fusions):
    xs = tensors(rng, *SHAPES)

    def twice(q, k, v):
        y = attention(q, k, v)
        (g,) = paddle.grad((y * y).sum(), [q], create_graph=True)
        return paddle.grad((g * g).sum(), [q, v])

    expected = [x.numpy() for x in twice(*xs)]
    for a, b in zip(paddle.jit.to_static(twice)(*xs), expected, strict=True):
        np.testing.assert_allclose(a.numpy(), b, rtol=1e-3, atol=1e-4)
    assert sum(fusions) == 1


@pytest.mark.parametrize(
    "f",
    [
        lambda q, k, v: (lambda p: (paddle.matmul(p, v), p))(F.softmax(paddle.matmul(q, k, transpose_y=True))),
        lambda q, k, v: (lambda p: (lambda y: (y, *paddle.grad((y * y).sum(), [p])))(paddle.matmul(p, v)))(
            F.softmax(paddle.matmul(q, k, transpose_y=True))
        ),
        lambda q, k, v: (paddle.matmul(F.softmax(paddle.matmul(q, k, transpose_y=True)).detach(), v),),
    ],
    ids=["weights are a result", "a gradient with respect to weights", "detached weights"],
)
def test_what_is_seen_in_between_stays(rng, fusions, f):
    xs = tensors(rng, *SHAPES)
    expected = [x.numpy() for x in f(*xs)]
    found = paddle.jit.to_static(f)(*xs)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a.numpy(), b, rtol=2e-5, atol=2e-5)
    assert sum(fusions) == 0


def test_weights_that_are_read_behind_the_gradient(rng):
    """They were part of a fused call, and are computed once more."""
    xs = tensors(rng, *SHAPES)

    def f(q, k, v):
        p = F.softmax(paddle.matmul(q, k, transpose_y=True))
        y = paddle.matmul(p, v)
        return [*paddle.grad((y * y).sum(), [q, k, v]), p.max()]

    expected = [x.numpy() for x in f(*xs)]
    for a, b in zip(paddle.jit.to_static(f)(*xs), expected, strict=True):
        np.testing.assert_allclose(a.numpy(), b, rtol=2e-5, atol=2e-5)


def test_varying_lengths(rng):
    captured = paddle.jit.to_static(attention)
    for n in (40, 50, 60, 70):
        xs = tensors(rng, (2, 3, n, 8), (2, 3, n, 8), (2, 3, n, 8))
        expected = gradients(attention, xs)
        for a, b in zip(gradients(captured, xs), expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)


def test_mixed_precision(rng, fusions):
    xs = tensors(rng, *SHAPES)

    def low(q, k, v):
        with paddle.amp.auto_cast(dtype="bfloat16"):
            return attention(q, k, v).astype("float32")

    expected = gradients(attention, xs)
    for a, b in zip(gradients(paddle.jit.to_static(low), xs), expected, strict=True):
        np.testing.assert_allclose(a, b, atol=0.06 * max(1, float(np.abs(b).max())))
    assert sum(fusions) == 1


def test_recomputed_attention(rng):
    from paddle.distributed.fleet.utils import recompute

    xs = tensors(rng, *SHAPES)
    expected = gradients(attention, xs)
    captured = paddle.jit.to_static(lambda q, k, v: recompute(attention, q, k, v))
    for a, b in zip(gradients(captured, xs), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("of_maxima", [True, False])
@pytest.mark.parametrize("of_sums", [True, False])
def test_a_query_that_sees_nothing_is_what_the_softmax_says(of_maxima, of_sums):
    """With guards of both it is 0, and NaN with one or none."""

    def call(q, k, v, mask):
        scores = paddle.matmul(q, k, transpose_y=True) + mask
        top = scores.max(-1, keepdim=True)
        weights = paddle.exp(scores - (paddle.where(top == NEVER, 0.0, top) if of_maxima else top))
        total = weights.sum(-1, keepdim=True)
        return paddle.matmul(weights / (paddle.where(total == 0, 1.0, total) if of_sums else total), v)

    q, k, v = (paddle.randn([2, 3, 40, 8]) for _ in range(3))
    mask = np.zeros((40, 40), "float32")
    mask[3] = NEVER
    found = paddle.jit.to_static(call)(q, k, v, paddle.to_tensor(mask)).numpy()
    np.testing.assert_allclose(found, call(q, k, v, paddle.to_tensor(mask)).numpy(), rtol=1e-4, atol=1e-5)
    assert np.isnan(found[:, :, 3]).all() != (of_maxima and of_sums)
