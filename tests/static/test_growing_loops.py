"""Loops whose tensors change their sizes from iteration to iteration, in static programs: as eager calls have them,
also where the program was saved."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle.inference import Config, create_predictor
from paddle.static.nn import cond, while_loop


def rows(n, x):
    """One row more in each iteration."""
    i = paddle.zeros([], "int64")
    return while_loop(lambda i, t: i < n, lambda i, t: [i + 1, paddle.concat([t, t[-1:] * 2 + x.mean()])], [i, x])


def columns(n, x):
    """Along another axis, from a known size on; the size is read by what follows, and inside."""
    i, t = paddle.zeros([1], "int64"), paddle.zeros([2, 1, 3])

    def step(i, t):
        wide = t.reshape([2, -1]).sum(1) + t.shape[1]
        return i + 1, paddle.concat([t, wide.reshape([2, 1, 1]).expand([2, 1, 3]) + x[0]], 1)

    i, t = while_loop(lambda i, t: i < n, step, [i, t])
    return i, t.reshape([-1]) * t.shape[1], paddle.arange(t.shape[1])


def shrinking(n, x):
    """Until few are left."""
    t = paddle.concat([x, x * 2, x * 3])
    return while_loop(lambda t: t.shape[0] > n + 1, lambda t: [t[1:] + t[0]], [t])


def chosen(n, x):
    """Those that data name, in each iteration."""
    i = paddle.zeros([], "int64")

    def step(i, t):
        return i + 1, paddle.concat([t[t > 0.2], t * 0.5])

    return while_loop(lambda i, t: i < n, step, [i, x.reshape([-1])])


def two(n, x):
    """Two tensors, of which one has the sums of the other; a third keeps its size."""
    i, total = paddle.zeros([], "int64"), paddle.zeros([3])

    def step(i, t, sums, total):
        t = paddle.concat([t, t[:1] + 1.0, x])
        return i + 1, t, t.sum(1), total + t.mean(0)

    return while_loop(lambda i, t, s, u: (i < n) & (s.shape[0] < 9), step, [i, x, x.sum(1), total])


def nested(n, x):
    """A loop that grows what an outer one carries."""
    i = paddle.zeros([], "int64")

    def outer(i, t):
        def inner(j, t):
            return j + 1, paddle.concat([t, t[:1] + j.astype("float32")])

        _, t = while_loop(lambda j, t: j <= i, inner, [paddle.zeros([], "int64"), t])
        return i + 1, t

    return while_loop(lambda i, t: i < n, outer, [i, x])


def branches(n, x):
    """A branch in a loop whose ways leave other sizes, and a loop in a branch."""
    i = paddle.zeros([], "int64")

    def step(i, t):
        return i + 1, cond(i % 2 == 0, lambda: paddle.concat([t, t[:1]]), lambda: t * 2)

    i, t = while_loop(lambda i, t: i < n, step, [i, x])
    return i, cond(n > 1, lambda: rows(n, t)[1], lambda: t)


def decoded(n, x):
    """Greedy decoding: attention over all that there is, until a word comes or there are many."""
    rng = np.random.RandomState(0)
    table, out = (paddle.to_tensor(rng.randn(*s).astype("float32")) for s in ([7, 3], [3, 7]))

    def step(words, done):
        y = paddle.nn.functional.embedding(words, table) + x.sum(0)
        scores = paddle.nn.functional.softmax(paddle.matmul(y, y, transpose_y=True))
        word = paddle.argmax(paddle.matmul(paddle.matmul(scores, y)[:, -1], out), -1, keepdim=True)
        return paddle.concat([words, word], 1), (word == 3).all()

    start = paddle.ones([2, 1], "int64"), paddle.zeros([], "bool")
    return while_loop(lambda w, done: (w.shape[1] <= 3 * n) & ~done, step, list(start))


def written(n, x):
    """What a function writes to from around the loop keeps its size, beside one that grows."""
    i, count = paddle.zeros([], "int64"), paddle.zeros([2])

    def step(i, t):
        count[0] = count[0] + t.shape[0]
        return i + 1, paddle.concat([t, x])

    i, t = while_loop(lambda i, t: i < n, step, [i, x])
    return i, t, count


LOOPS = [rows, columns, shrinking, chosen, two, nested, branches, decoded, written]
XS = np.linspace(-0.4, 0.7, 6, dtype="float32").reshape(2, 3)
NUMBERS = 0, 1, 4


def eager(loop, n):
    with paddle.base.dygraph.guard():
        return [y.numpy() for y in loop(paddle.to_tensor(n), paddle.to_tensor(XS))]


def same(got, expected):
    assert len(got) == len(expected)
    for y, wanted in zip(got, expected, strict=True):
        assert np.shape(y) == wanted.shape
        np.testing.assert_allclose(y, wanted, rtol=1e-5, atol=1e-6)


def recorded(loop):
    n, x = paddle.static.data("n", [], "int64"), paddle.static.data("x", [None, 3])
    return [n, x], [y + 0 for y in loop(n, x)]


@pytest.mark.parametrize("loop", LOOPS)
def test_programs_do_what_eager_calls_do(programs, loop, tmp_path):
    feeds, fetched = recorded(loop)
    exe = paddle.static.Executor()
    expected = {n: eager(loop, n) for n in NUMBERS}
    for n in (*NUMBERS, NUMBERS[0]):
        same(exe.run(feed={"n": np.array(n), "x": XS}, fetch_list=fetched), expected[n])
    prefix = str(tmp_path / "m")
    paddle.static.save_inference_model(prefix, feeds, fetched, exe)
    program, names, results = paddle.static.load_inference_model(prefix, exe)
    for n in NUMBERS:
        same(exe.run(program, feed=dict(zip(names, (np.array(n), XS), strict=True)), fetch_list=results), expected[n])
    with paddle.base.dygraph.guard():
        layer = paddle.jit.load(prefix)
        predictor = create_predictor(Config(prefix + ".json", prefix + ".pdiparams"))
        assert predictor._prepared.tail is None
        for n in NUMBERS:
            given = paddle.to_tensor(n), paddle.to_tensor(XS)
            found = layer(*given)
            same([y.numpy() for y in (found if isinstance(found, list) else [found])], expected[n])
            same([y.numpy() for y in predictor.run(list(given))], expected[n])


class Decoder(paddle.nn.Layer):
    """Words until one that ends, by Python's own loop, which appends to what it attends to."""

    def __init__(self):
        super().__init__()
        self.embedding = paddle.nn.Embedding(7, 4)
        self.attention = paddle.nn.MultiHeadAttention(4, 2)
        self.head = paddle.nn.Linear(4, 7)

    def forward(self, x, most):
        words = paddle.ones([x.shape[0], 1], "int64")
        done = paddle.zeros([x.shape[0]], "bool")
        while words.shape[1] < most and not done.all():
            y = self.embedding(words) + x.unsqueeze(1)
            place = paddle.arange(words.shape[1])
            y = self.attention(y, y, y, (place.unsqueeze(0) <= place.unsqueeze(1)))
            word = self.head(y[:, -1]).argmax(-1)
            done = done | (word == 3)
            words = paddle.concat([words, word.unsqueeze(1)], 1)
        return words


def test_a_decoder_is_saved_as_it_was_written(tmp_path):
    paddle.seed(4)
    layer = Decoder()
    layer.eval()
    specs = [paddle.static.InputSpec([None, 4], "float32", "x"), paddle.static.InputSpec([], "int64", "most")]
    prefix = str(tmp_path / "m")
    paddle.jit.save(layer, prefix, specs)
    again = paddle.jit.load(prefix)
    predictor = create_predictor(Config(prefix + ".json", prefix + ".pdiparams"))
    lengths = set()
    for seed, batch, most in ((0, 1, 1), (1, 2, 6), (2, 3, 9), (3, 1, 12)):
        x = paddle.to_tensor(np.random.RandomState(seed).randn(batch, 4).astype("float32") * 3)
        given = x, paddle.to_tensor(most)
        expected = layer(*given).numpy()
        np.testing.assert_array_equal(again(*given).numpy(), expected)
        np.testing.assert_array_equal(predictor.run(list(given))[0].numpy(), expected)
        lengths.add(expected.shape)
    assert len(lengths) == 4
    assert predictor._prepared.tail is None


def test_what_the_first_size_would_require_is_not_required(programs):
    """A body is recorded over the first size before it is known that it grows."""
    x = paddle.static.data("x", [None, 3])
    i, t = while_loop(
        lambda i, t: i < 2,
        lambda i, t: [i + 1, paddle.concat([t, t[0:1] + t.shape[0]])],
        [paddle.zeros([], "int64"), x],
    )
    main, _ = programs
    assert not any("==" in str(c.condition) for c in main._tracer.scope.checks)
    (found,) = paddle.static.Executor().run(feed={"x": XS}, fetch_list=[t])
    np.testing.assert_allclose(found[2:], XS[:1] + np.array([[2], [3]]), rtol=1e-6)


def test_sizes_that_may_be_equal_are_required_to_be(programs):
    """Two batches, which a loop adds: no tensor grows, and the loop has a gradient."""
    x, y = paddle.static.data("x", [None, 3]), paddle.static.data("y", [None, 3])
    x.stop_gradient = False
    _, t = while_loop(lambda i, t: i < 2, lambda i, t: [i + 1, paddle.tanh(t + y)], [paddle.zeros([], "int64"), x])
    (g,) = paddle.static.gradients(t.sum(), [x])
    exe = paddle.static.Executor()
    found = exe.run(feed={"x": XS, "y": XS}, fetch_list=[t, g])
    assert [r.shape for r in found] == [(2, 3)] * 2
    with pytest.raises(ValueError, match="x_0"):
        exe.run(feed={"x": XS[:1], "y": XS}, fetch_list=[t])


def loss(ys):
    """A number that depends on all results that have a history."""
    return sum((paddle.tanh(y) * y).sum() for y in ys if y.dtype in (paddle.float32, paddle.float64))


def eager_gradients(loop, n, order):
    with paddle.base.dygraph.guard():
        x = paddle.to_tensor(XS.astype("float64"), stop_gradient=False)
        y = loss(loop(paddle.to_tensor(n), x))
        found = []
        for _ in range(order):
            if y.stop_gradient:
                return [*found, np.zeros_like(XS)]
            (g,) = paddle.grad(y, [x], create_graph=True, allow_unused=True)
            found.append(np.zeros_like(XS) if g is None else g.numpy())
            if g is None:
                break
            y = (g * g).sum()
        return found


@pytest.mark.parametrize("loop", [x for x in LOOPS if x is not decoded])
def test_gradients_are_those_of_eager_calls(programs, loop):
    before = paddle.get_default_dtype()
    paddle.set_default_dtype("float64")
    try:
        n, x = paddle.static.data("n", [], "int64"), paddle.static.data("x", [None, 3], "float64")
        x.stop_gradient = False
        y, fetched = loss(loop(n, x)), []
        for _ in range(2):
            (g,) = paddle.static.gradients(y, [x])
            fetched.append(g)
            y = (g * g).sum()
        exe = paddle.static.Executor()
        for number in (*NUMBERS, NUMBERS[0]):
            found = exe.run(feed={"n": np.array(number), "x": XS.astype("float64")}, fetch_list=fetched)
            for g, wanted in zip(found, eager_gradients(loop, number, 2), strict=False):
                np.testing.assert_allclose(g, wanted, rtol=1e-9, atol=1e-9)
    finally:
        paddle.set_default_dtype(before)


def test_a_network_is_trained_through_a_loop(programs):
    """Weights outside of the loop, dropout inside, and steps of an optimizer."""
    main, startup = programs
    paddle.seed(3)
    x, label = paddle.static.data("x", [None, 3]), paddle.static.data("label", [None, 2])
    cell, head = paddle.nn.Linear(3, 3), paddle.nn.Linear(3, 2)
    n = paddle.static.data("n", [], "int64")

    def step(i, t):
        return i + 1, paddle.concat([t, paddle.tanh(cell(t).mean(0, keepdim=True))])

    _, t = while_loop(lambda i, t: i < n, step, [paddle.zeros([], "int64"), x])
    cost = ((head(t).mean(0) - label) ** 2).mean()
    paddle.optimizer.SGD(0.3).minimize(cost)
    exe = paddle.static.Executor()
    exe.run(startup)
    fed = {"x": XS, "label": np.array([[0.5, -0.5]], "float32")}
    costs = [float(exe.run(main, feed={**fed, "n": np.array(k % 4)}, fetch_list=[cost])[0]) for k in range(24)]
    assert np.mean(costs[-4:]) < np.mean(costs[:4]) / 4
