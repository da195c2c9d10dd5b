"""What asks for the values of tensors in eager, and does without while a function is captured."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle.jit import to_static
from paddle.nn import functional as F


def same(function, *inputs):
    """Captured as in eager, twice; values, dtypes and whether gradients flow."""
    eager, static = function(*inputs), to_static(function)
    for _ in range(2):
        found = static(*inputs)
        for a, b in zip(paddle.utils.flatten(eager), paddle.utils.flatten(found), strict=True):
            assert a.dtype == b.dtype
            assert a.stop_gradient == b.stop_gradient
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-6, atol=1e-6)


def normal(*shape, dtype="float32"):
    return paddle.to_tensor(np.random.RandomState(0).standard_normal(shape).astype(dtype), stop_gradient=False)


@pytest.mark.parametrize("value", [0.5, [3.0], [1.0, 2.0], [[[4.0, 5.0]]]])
@pytest.mark.parametrize("accumulate", [False, True])
def test_a_mask_of_rows_is_written_to(value, accumulate):
    mask = paddle.to_tensor([True, False, True])

    def put(x, mask):
        y = x * 1.0
        y[mask] = paddle.to_tensor(value)
        return y

    same(put, normal(3, 2), mask)
    same(lambda x, mask: paddle.index_put(x, (mask,), paddle.to_tensor(value), accumulate), normal(3, 2), mask)
    chosen = normal(3, 2).numpy()
    before = chosen.copy()
    chosen[[0, 2]] = np.reshape(value, np.shape(value)[-1:]) + (chosen[[0, 2]] if accumulate else 0)
    found = paddle.index_put(normal(3, 2), (mask,), paddle.to_tensor(value), accumulate)
    np.testing.assert_allclose(found.numpy(), chosen, rtol=1e-6)
    assert (found.numpy()[1] == before[1]).all()


def test_rows_for_each_place_of_a_mask():
    x, mask = paddle.zeros([3, 2]), paddle.to_tensor([True, False, True])
    x[mask] = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])
    assert x.tolist() == [[1.0, 2.0], [0.0, 0.0], [3.0, 4.0]]
    with pytest.raises(ValueError, match="setitem"):
        x[mask] = paddle.zeros([3, 2])


def test_bounds_are_tensors():
    low, high = paddle.to_tensor(-0.1), paddle.to_tensor([0.1], dtype="float64")
    same(lambda x, low, high: paddle.clip(x, low, high), normal(3), low, high)
    same(lambda x, low: paddle.clip(x, low), normal(3), low)


def test_checks_of_values_are_left_out():
    same(lambda x, i: paddle.take(x, i), normal(3, 4), paddle.to_tensor([0, -1, 11]))
    with pytest.raises(IndexError):
        to_static(lambda x, i: paddle.take(x, i))(normal(3, 4), paddle.to_tensor([12]))
    weights = paddle.to_tensor([1, 2, 0, 1])
    same(lambda x, w: paddle.linalg.cov(x, fweights=w), normal(3, 4, dtype="float64"), weights)
    same(lambda x, y: paddle.linalg.lstsq(x, y, driver="gelsd"), normal(4, 3), normal(4, 2))
    same(lambda x: paddle.signal.istft(paddle.signal.stft(x, 16), 16), normal(2, 64))


def test_nothing_flows_through_what_is_drawn_by_parameters():
    chance = paddle.to_tensor([0.2, 0.8], stop_gradient=False)
    for draw in (paddle.bernoulli, paddle.poisson, paddle.standard_gamma):
        assert draw(chance).stop_gradient
        assert to_static(draw)(chance).stop_gradient
    assert not to_static(lambda x: F.dropout(x, 0.5))(chance).stop_gradient


def test_reflections_of_another_number():
    static = to_static(lambda x, tau: paddle.linalg.householder_product(x, tau))
    for n, k in ((4, 3), (5, 4), (6, 5)):
        x, tau = normal(n, k, dtype="float64"), normal(k, dtype="float64")
        expected = paddle.linalg.householder_product(x, tau).numpy()
        np.testing.assert_allclose(static(x, tau).numpy(), expected, rtol=1e-12, atol=1e-12)


def test_norms_of_nothing_are_0():
    nothing = paddle.zeros([3, 0], dtype="float64")
    assert paddle.cdist(nothing, nothing, p=float("inf")).tolist() == [[0.0] * 3] * 3
    assert paddle.dist(nothing, nothing, float("inf")).item() == 0.0
    for p in (float("inf"), -float("inf"), 0, 1, 2.5):
        assert paddle.linalg.vector_norm(nothing, p, axis=1).tolist() == [0.0] * 3
    for p in (None, 2, -2, 1, "fro", "nuc", float("inf")):
        assert paddle.linalg.cond(paddle.zeros([2, 0, 0]), p).tolist() == [0.0, 0.0]
    assert paddle.linalg.matrix_rank(paddle.zeros([2, 0, 4]), atol=0.1, rtol=0.5).tolist() == [0, 0]


def test_no_category_is_refused():
    with pytest.raises(ValueError, match="multinomial"):
        paddle.multinomial(paddle.zeros([2, 0]), 2, replacement=True)


@pytest.mark.parametrize("full_graph", [False, True])
def test_weights_that_cannot_be_drawn_from_are_refused_by_the_run(full_graph):
    draw = to_static(lambda x: paddle.multinomial(x, 2), full_graph=full_graph)
    assert sorted(draw(paddle.to_tensor([1.0, 0.0, 1.0])).tolist()) == [0, 2]
    for weights, message in (
        ([1.0, -1.0, 1.0], "weights of 0 or more"),
        ([1.0, float("nan"), 1.0], "weights of 0 or more"),
        ([0.0, 0.0, 1.0], "2 or more weights above 0"),
    ):
        for call in (draw, lambda x: paddle.multinomial(x, 2)):
            with pytest.raises(ValueError, match=message):
                call(paddle.to_tensor(weights))
    assert sorted(draw(paddle.to_tensor([1.0, 1.0, 0.0])).tolist()) == [0, 1]


def test_data_say_how_many_segments_there_are():
    ids, x = paddle.to_tensor([0, 0, 2]), normal(3, 2)
    for reduce in (paddle.geometric.segment_sum, paddle.incubate.segment_max):
        same(reduce, x, ids)
    same(lambda x, ids: paddle.geometric.send_u_recv(x, paddle.arange(3), ids, "sum", 3), x, ids)


def test_steps_in_memory_are_those_of_dense_arguments():
    static = to_static(lambda x: [x.stride(), x[::2].get_strides(), x.t().stride(0), x.stride(-1)])
    assert static(paddle.ones([4, 3])) == [[3, 1], [6, 1], 1, 1]


def test_seeds_are_set_outside():
    with pytest.raises(paddle.jit.api.CaptureError, match="seed"):
        to_static(lambda: paddle.seed(3) and paddle.rand([2]), full_graph=True)()
    state = paddle.get_rng_state()
    with pytest.raises(paddle.jit.api.CaptureError, match="set_rng_state"):
        to_static(lambda: paddle.set_rng_state(state), full_graph=True)()


def test_states_of_optimizers_are_made_outside():
    def trains(x):
        w = paddle.create_parameter([2], "float32", default_initializer=paddle.nn.initializer.Constant(1.0))
        optimizer = paddle.optimizer.Momentum(0.5, parameters=[w])
        (w * x).sum().backward()
        optimizer.step()
        return w.detach()

    with pytest.raises(paddle.jit.api.CaptureError, match="requires an optimizer that is made outside"):
        to_static(trains, full_graph=True)(paddle.ones([2]))


@pytest.mark.parametrize("clip", [paddle.nn.ClipGradByGlobalNorm, paddle.nn.ClipGradByNorm, paddle.nn.ClipGradByValue])
@pytest.mark.parametrize("stop", [False, True])
def test_clipped_gradients_are_those_of_eager(clip, stop):
    found = []
    for wrap in (lambda f: f, to_static):
        w, g = paddle.create_parameter([2], "float32"), paddle.to_tensor([3.0, 4.0], stop_gradient=stop)
        ((_, clipped),) = wrap(lambda g, w=w: clip(1.0)([(w, g)]))(g)
        found.append((clipped.tolist(), clipped.stop_gradient, g.tolist()))
    assert found[0] == found[1]


def test_results_that_turn_out_to_be_arguments():
    """A composite may give its operand: the result is a tensor of its own, and the argument stays a leaf."""
    for function in (lambda x: paddle.reduce_as(x, paddle.ones([2, 2])), lambda x: paddle.linalg.matrix_power(x, 1)):
        static = to_static(function)
        for _ in range(3):
            x = normal(2, 2)
            y = static(x)
            assert y.data_ptr() != x.data_ptr()
            y.sum().backward()
            assert x.is_leaf
            assert x.grad.tolist() == [[1.0, 1.0]] * 2


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_layer_is_used_twice_in_mixed_precision(dtype):
    layer = paddle.nn.Linear(2, 3)

    def twice(x, y):
        with paddle.amp.auto_cast(dtype=dtype):
            return layer(x) * 2.0, layer(y), layer(x + y)

    static, gradients = to_static(twice), []
    for function in (twice, static, static):
        x, y = normal(4, 2), normal(4, 2)
        layer.clear_gradients()
        results = function(x, y)
        paddle.autograd.backward(list(results), [paddle.ones_like(r) for r in results])
        gradients.append([g.numpy() for g in (x.grad, y.grad, layer.weight.grad, layer.bias.grad)])
    for found in gradients[1:]:
        for a, b in zip(gradients[0], found, strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-2, atol=2e-2)


def test_sizes_of_0_and_tensors_without_dims():
    assert F.prelu(paddle.ones([2, 0, 4]), paddle.ones([0])).shape == [2, 0, 4]
    heads = paddle.ones([2, 4, 3, 0])
    mixed = F.scaled_dot_product_attention(heads, heads, paddle.ones([2, 4, 3, 5]))
    assert mixed.tolist() == paddle.ones([2, 4, 3, 5]).tolist()
    with pytest.raises(ValueError, match=r"\[interpolate\] requires sizes of at least 1"):
        F.interpolate(paddle.ones([2, 3, 0, 5]), size=[4, 5], mode="bilinear")
    with pytest.raises(ValueError, match="at least one category"):
        paddle.distribution.Categorical(paddle.ones([0])).sample([4])
    with pytest.raises(ValueError, match="a label of rank 1 or more"):
        F.label_smooth(paddle.to_tensor(1.0))
    with pytest.raises(ValueError, match="at least one class"):
        F.cross_entropy(paddle.ones([4, 0]), paddle.ones([4, 0]), soft_label=True, label_smoothing=0.2)
    with paddle.no_grad():
        paddle.utils.run_check()
    x = paddle.to_tensor(2.0, stop_gradient=False)
    paddle.softmax(x, -1).backward()
    assert x.grad.item() == 0.0
    assert np.isnan(paddle.softmax(paddle.to_tensor(float("nan")), -1).item())


@pytest.mark.parametrize("axis", [None, 0, -1, [0, 2], []])
@pytest.mark.parametrize("keepdim", [False, True])
def test_sums_of_bools_are_counts(axis, keepdim):
    x = np.random.RandomState(0).rand(3, 4, 5) > 0.5
    expected = x.sum(axis=tuple(axis) or None if isinstance(axis, list) else axis, keepdims=keepdim)
    for total in (paddle.sum, to_static(paddle.sum)):
        found = total(paddle.to_tensor(x), axis, None, keepdim)
        assert found.dtype == paddle.int64
        np.testing.assert_array_equal(found.numpy(), expected)
