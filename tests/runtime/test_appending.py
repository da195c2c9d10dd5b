"""What grows in a loop is copied as often as its memory doubles, and is otherwise what a ``concat`` makes."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle.static import InputSpec
from umiak.runtime import control
from umiak.runtime.appending import appended, room_of
from umiak.runtime.capture import CaptureError

N = 300


def rows(*values):
    return paddle.to_tensor([[float(v), -float(v)] for v in values])


def test_tensors_from_before_keep_their_elements():
    first = appended([rows(1), rows(2)])
    second = appended([first, rows(3)])
    third = appended([second, rows(4, 5)])
    other = appended([second, rows(6)])
    empty = appended([third, rows(7)[:0]])
    wanted = [[1, 2], [1, 2, 3], [1, 2, 3, 4, 5], [1, 2, 3, 6], [1, 2, 3, 4, 5]]
    for y, want in zip((first, second, third, other, empty), wanted, strict=True):
        np.testing.assert_array_equal(y.numpy(), rows(*want).numpy())


def test_the_first_append_takes_no_more_memory_than_it_fills():
    x = appended([rows(1, 2, 3), rows(4)])
    assert x.storage.nbytes == x.numpy().nbytes


def test_with_gradients_it_is_a_concat():
    x = rows(1)
    x.stop_gradient = False
    y = appended([appended([x, rows(2)]), x])
    (y * rows(1, 2, 3)).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [[4.0, -4.0]])
    assert room_of(y) is None


def in_for(x):
    outs = []
    for i in range(x.shape[0]):
        outs.append(x[i] * 2)
    return paddle.stack(outs)


def in_while_on_data(x):
    outs = []
    i = paddle.zeros([], "int64")
    while i < x.shape[0]:
        outs.append(x[i] * 2)
        i += 1
    return paddle.stack(outs)


def in_a_branch(x):
    outs = [x[0] * 0]
    for i in range(x.shape[0]):
        if x[i].sum() > 0:
            outs.append(x[i] * 2)
    return paddle.stack(outs)


def in_two_loops(x):
    outs = []
    for i in range(x.shape[0] // 5):
        for j in range(x.shape[0] // (x.shape[0] // 5)):
            outs.append(x[i * 5 + j] * 2)
    return paddle.concat(outs)


def by_array_write(x):
    def step(i, array):
        return [i + 1, paddle.tensor.array_write(x[i] * 2, i, array)]

    array = paddle.tensor.create_array("float32")
    _, array = paddle.static.nn.while_loop(lambda i, _: i < x.shape[0], step, [paddle.zeros([], "int64"), array])
    return paddle.tensor.manipulation.tensor_array_to_tensor(array, axis=0, use_stack=True)[0]


def by_concat(x):
    y = x[:0]
    for i in range(x.shape[0]):
        y = paddle.concat([y, x[i : i + 1] * 2])
    return y


LOOPS = in_for, in_while_on_data, in_a_branch, in_two_loops, by_array_write, by_concat


@pytest.fixture
def copies(monkeypatch):
    """How often what grows has got other memory."""
    made = []

    def counted(xs):
        y = appended(xs)
        before, now = room_of(xs[0]), room_of(y)
        if before is None or now.buffer is not before.buffer:
            made.append(y.shape[0])
        return y

    monkeypatch.setattr(control, "appended", counted)
    return made


def wanted(loop, x):
    doubled = x.numpy() * 2
    if loop is in_a_branch:
        return np.concatenate([doubled[:1] * 0, doubled[x.numpy().sum(1) > 0]])
    return doubled.reshape(-1) if loop is in_two_loops else doubled


@pytest.mark.parametrize("loop", LOOPS, ids=lambda f: f.__name__)
def test_whole_graphs(loop, copies):
    graph = paddle.jit.to_static(loop, full_graph=True)
    for n in (10, N):
        x = paddle.randn([n, 3])
        del copies[:]
        np.testing.assert_array_equal(graph(x).numpy(), wanted(loop, x))
    assert 2 <= len(copies) <= 2 + np.log2(N)


@pytest.mark.parametrize("loop", LOOPS, ids=lambda f: f.__name__)
def test_predictors_and_executors(loop, copies, tmp_path):
    from paddle import inference

    prefix = str(tmp_path / "model")
    paddle.jit.save(loop, prefix, [InputSpec([None, 3], "float32", name="x")])
    predictor = inference.create_predictor(inference.Config(prefix + ".json", prefix + ".pdiparams"))
    x = paddle.randn([N, 3])
    (y,) = predictor.run([x])
    np.testing.assert_array_equal(y.numpy(), wanted(loop, x))
    assert 2 <= len(copies) <= 2 + np.log2(N)
    del copies[:]
    paddle.enable_static()
    try:
        exe = paddle.static.Executor()
        program, feeds, fetches = paddle.static.load_inference_model(prefix, exe)
        (y,) = exe.run(program, feed={feeds[0]: x.numpy()}, fetch_list=fetches)
    finally:
        paddle.disable_static()
    np.testing.assert_array_equal(y, wanted(loop, x))
    assert 2 <= len(copies) <= 2 + np.log2(N)


@pytest.mark.parametrize("loop", [in_for, in_a_branch, in_two_loops, by_concat], ids=lambda f: f.__name__)
def test_loaded_layers(loop, copies, tmp_path):
    """A loop that grows is no part of a graph that ends elsewhere; the whole program is one."""
    prefix = str(tmp_path / "model")
    paddle.jit.save(loop, prefix, [InputSpec([None, 3], "float32", name="x")])
    layer = paddle.jit.load(prefix)
    for n in (10, 20, N):
        x = paddle.randn([n, 3])
        x.stop_gradient = n == N
        del copies[:]
        y = layer(x)
        np.testing.assert_array_equal(y.numpy(), wanted(loop, x))
        if n != N:
            (y * y).sum().backward()
            reads = wanted(loop, x.detach()) * 2
            reads = reads[1:] if loop is in_a_branch else reads
            np.testing.assert_allclose(x.grad.numpy().sum(), 2 * reads.sum(), rtol=1e-3, atol=1e-3)
    assert 2 <= len(copies) <= 2 + np.log2(N)
    assert not layer.forward.graph_breaks and not layer.forward.fallbacks and layer.forward.get_traced_count()

    def refused(*inputs):
        raise CaptureError("not one graph")

    layer.forward.one_graph = refused
    np.testing.assert_array_equal(layer(x).numpy(), wanted(loop, x))
    assert layer.forward.one_graph is None


@pytest.mark.parametrize("loop", [in_for, in_a_branch, in_two_loops], ids=lambda f: f.__name__)
def test_gradients(loop):
    graph = paddle.jit.to_static(loop, full_graph=True)
    for n in (10, 50):
        x = paddle.randn([n, 3])
        x.stop_gradient = False
        y = graph(x)
        (y * y).sum().backward()
        from_eager = x.detach()
        from_eager.stop_gradient = False
        y = loop(from_eager)
        (y * y).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), from_eager.grad.numpy(), rtol=1e-6)
