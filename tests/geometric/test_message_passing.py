"""Messages along edges and reductions of segments: gradients of gradients, captures, dtypes and words of errors."""

import numpy as np
import pytest

import paddle
from paddle.geometric import segment_sum, send_u_recv, send_ue_recv, send_uv

SRC, DST = [0, 1, 2, 0, 3], [1, 2, 1, 0, 1]


def graph(n=4, features=3):
    rng = np.random.default_rng(7)
    x = paddle.to_tensor(rng.standard_normal((n, features)), stop_gradient=False)
    y = paddle.to_tensor(rng.uniform(1, 2, (len(SRC), features)), stop_gradient=False)
    return x, y, paddle.to_tensor(SRC), paddle.to_tensor(DST)


def slowly(messages, dst, rows, mode):
    out = np.zeros((rows, *messages.shape[1:]), messages.dtype)
    for k in set(dst):
        out[k] = getattr(messages[np.asarray(dst) == k], mode)(0)
    return out


@pytest.mark.parametrize("mode", ["sum", "mean", "max", "min"])
def test_second_derivatives(mode):
    x, y, src, dst = graph()

    def slope(a, b):
        made = send_ue_recv(a * a, b, src, dst, "mul", mode)
        return paddle.grad((made * made).sum(), [a, b], create_graph=True)

    def total(a, b):
        ga, gb = slope(a, b)
        return (ga * ga).sum() + (gb.cos()).sum()

    found = paddle.grad(total(x, y), [x, y])
    for v, g in zip((x, y), found, strict=True):
        base, step = v.numpy().copy(), 1e-6
        for at in np.ndindex(*base.shape):
            ends = []
            for sign in (1, -1):
                moved = base.copy()
                moved[at] += sign * step
                other = paddle.to_tensor(moved, stop_gradient=False)
                ends.append(float(total(other, y) if v is x else total(x, other)))
            assert g.numpy()[at] == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("mode", ["sum", "mean", "max", "min"])
def test_captured(mode):
    def model(x, y, src, dst):
        received = send_u_recv(x, src, dst, mode, 6)
        both = send_ue_recv(x, y, src, dst, "sub", mode)
        return received, both, send_uv(x, both, src, dst, "div")

    captured = paddle.jit.to_static(model)
    for n in (4, 5, 6):
        args = graph(n)
        for found, expected in zip(captured(*args), model(*args), strict=True):
            np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-12)


def test_gradients_of_a_capture():
    captured = paddle.jit.to_static(lambda x, src, dst: send_u_recv(x * 2, src, dst, "max").sum())
    x, _, src, dst = graph()
    captured(x, src, dst).backward()
    found = x.grad.numpy()
    x.clear_grad()
    send_u_recv(x * 2, src, dst, "max").sum().backward()
    np.testing.assert_array_equal(found, x.grad.numpy())


@pytest.mark.parametrize("mode", ["sum", "mean", "max", "min"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_low_precision_rounds_once(mode, dtype):
    x, _, src, dst = graph(features=5)
    low = x.detach().astype(dtype)
    found = send_u_recv(low, src, dst, mode)
    assert found.dtype.name == dtype
    exact = slowly(low.astype("float64").numpy()[SRC], DST, 4, mode)
    np.testing.assert_array_equal(
        found.astype("float64").numpy(),
        paddle.to_tensor(exact).astype("float32").astype(dtype).astype("float64").numpy(),
    )


def test_infinite_messages_are_no_empty_segments():
    x = paddle.to_tensor([-np.inf, np.inf, 1.0])
    src, dst = paddle.to_tensor([0, 1]), paddle.to_tensor([0, 2])
    assert send_u_recv(x, src, dst, "max").tolist() == [-np.inf, 0, np.inf]
    assert send_u_recv(x, src, dst, "min").tolist() == [-np.inf, 0, np.inf]


def test_strided_operands():
    x, _, src, dst = graph(6, 8)
    part = x.detach()[::2, 1::3]
    np.testing.assert_allclose(
        send_u_recv(part, src % 3, dst, "sum").numpy(), slowly(part.numpy()[np.asarray(SRC) % 3], DST, 3, "sum")
    )


def test_empty_segments_of_nothing():
    assert segment_sum(paddle.zeros([0, 3]), paddle.zeros([0], "int64")).shape == [0, 3]


def test_complex_sums():
    x = paddle.to_tensor([1 + 2j, 3 - 1j, 5j])
    assert send_u_recv(x, *map(paddle.to_tensor, ([0, 1, 2], [1, 1, 0])), "mean").tolist() == [5j, 2 + 0.5j, 0]
    with pytest.raises(TypeError, match=r"\[send_u_recv\] requires a tensor of real numbers, got complex64"):
        send_u_recv(x, *map(paddle.to_tensor, ([0], [1])), "max")


@pytest.mark.parametrize(
    ("src", "dst", "words"),
    [
        ([0, 4], [0, 0], "numbers from 0 to 3, got 4"),
        ([0, -2], [0, 0], "numbers from 0 to 3, got -2"),
        ([0, 1], [0, 7], "numbers from 0 to 3, got 7"),
        ([0, 1], [-1, 2], "numbers from 0 to 3, got -1"),
    ],
)
def test_ends_beyond_the_nodes(src, dst, words):
    x = graph()[0]
    src, dst = paddle.to_tensor(src), paddle.to_tensor(dst)
    with pytest.raises(IndexError, match=rf"\[send_u_recv\] requires {words}"):
        send_u_recv(x, src, dst)
    with pytest.raises(IndexError, match=rf"\[send_uv\] requires {words}"):
        send_uv(x, x, src, dst)


def test_words_of_errors():
    x, y, src, dst = graph()
    with pytest.raises(ValueError, match=r"\[send_ue_recv\] requires features of x and y that broadcast, got"):
        send_ue_recv(x, y[:, :2], src, dst)
    with pytest.raises(TypeError, match=r"\[send_u_recv\] requires integers as src_index, got float64"):
        send_u_recv(x, src.astype("float64"), dst)
    with pytest.raises(ValueError, match=r"\[segment_sum\] requires segment_ids in ascending order"):
        segment_sum(x, paddle.to_tensor([1, 0, 0, 2]))


def test_modules():
    geometric = paddle.geometric
    assert geometric.message_passing.send_u_recv is geometric.send_u_recv
    assert geometric.math.segment_max is geometric.segment_max is paddle.incubate.segment_max
    assert geometric.reindex.reindex_graph is geometric.reindex_graph
    assert geometric.sampling.sample_neighbors is geometric.sample_neighbors
