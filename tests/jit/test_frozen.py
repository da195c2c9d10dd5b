"""Programs as lists of launches: from the second run of a size on they give what the calls give, errors included."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle.jit import to_static
from umiak.core.launches import time_launches
from umiak.ops import REGISTRY
from umiak.util import pytree


def randn(*shape):
    return paddle.randn(list(shape))


def model(width=8):
    paddle.seed(3)
    return nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 3))


def frozen_of(static):
    """How many launches each frozen form of a captured function has."""
    return [n for c in static._captures() for n in c._executor.binding().frozen()]


FUNCTIONS = {
    "layers": lambda m, x: m(x),
    "a view of a result": lambda m, x: m(x).reshape([-1, 1]).transpose([1, 0]),
    "parts of a result": lambda m, x: paddle.split(m(x), 3, axis=1),
    "one result twice": lambda m, x: (lambda y: (y, y, y * 2.0))(m(x)),
    "reductions": lambda m, x: (F.softmax(m(x), -1).max(), m(x).sum(0), m(x).mean()),
    "another dtype": lambda m, x: m(x).astype("float64").cumsum(0).astype("float32"),
    "indices": lambda m, x: (m(x).argmax(-1), paddle.topk(m(x), 2)[0]),
    "numbers made of sizes": lambda m, x: m(x) * x.shape[0] + paddle.arange(x.shape[0]).astype("float32").unsqueeze(1),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_many_runs_of_several_sizes(name):
    m = model()
    static = to_static(lambda x: FUNCTIONS[name](m, x))
    with paddle.no_grad():
        kept = []
        for n in (4, 4, 4, 6, 6, 6, 4, 5, 6, 5, 4):
            x = randn(n, 8)
            found, expected = static(x), FUNCTIONS[name](m, x)
            found, expected = pytree.leaves(found), pytree.leaves(expected)
            for a, b in zip(found, expected, strict=True):
                assert a.dtype is b.dtype
                np.testing.assert_allclose(a.numpy(), b.numpy(), 1e-5, 1e-5)
            kept.append([(a, a.numpy()) for a in found])
        for pairs in kept:  # results are tensors of their own
            for a, value in pairs:
                np.testing.assert_array_equal(a.numpy(), value)


def test_a_training_step_is_launches():
    m, other = model(), model()
    found = []
    for net, wrap in ((m, to_static), (other, lambda f: f)):
        optimizer = paddle.optimizer.AdamW(0.01, parameters=net.parameters())

        def step(x, net=net, optimizer=optimizer):
            loss = (net(x) ** 2).mean()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad(set_to_zero=False)
            return loss

        run = wrap(step)
        paddle.seed(5)
        found.append([float(run(randn(4, 8))) for _ in range(8)])
        if wrap is to_static:
            (launches,) = frozen_of(run)
            assert launches > 10
    np.testing.assert_allclose(*found, 1e-4)
    for p, q in zip(m.parameters(), other.parameters(), strict=True):
        np.testing.assert_allclose(p.numpy(), q.numpy(), 1e-4, 1e-5)


def test_a_launch_that_fails_says_it_in_the_words_of_the_op():
    table, m = randn(5, 8), model()
    static = to_static(lambda i: m(F.embedding(i, table)))
    good, bad = paddle.to_tensor([0, 4, 2]), paddle.to_tensor([0, 9, 2])
    with paddle.no_grad():
        for _ in range(4):
            static(good)
        for function in (lambda i: m(F.embedding(i, table)), static, static):
            with pytest.raises((IndexError, ValueError), match="9"):
                function(bad)
        np.testing.assert_allclose(static(good).numpy(), m(F.embedding(good, table)).numpy(), 1e-5)


def test_what_is_not_as_it_was_recorded():
    m = model()
    static = to_static(lambda x: m(x))
    with paddle.no_grad():
        for _ in range(4):
            static(randn(4, 8))
        wide = randn(4, 16)
        for x in (wide[:, ::2], randn(8, 4).t(), randn(5, 8)[1:]):
            np.testing.assert_allclose(static(x).numpy(), m(x).numpy(), 1e-5, 1e-6)
        REGISTRY["matmul"](False, False).clear()  # its plans are made again
        x = randn(4, 8)
        for _ in range(3):
            np.testing.assert_allclose(static(x).numpy(), m(x).numpy(), 1e-5, 1e-6)
        seen = []

        class Timer:
            def start(self):
                return None

            def stop(self, token, seconds, plan, operands, outputs, dims):
                seen.append(plan)

        time_launches(Timer())
        try:
            static(x)
        finally:
            time_launches(None)
        assert seen


def test_a_thread_needs_more_memory_while_another_runs():
    """All sizes have one block of scratch memory, which may not move under a run."""
    w = paddle.randn([256, 256]) / 16.0

    def many(x):
        for _ in range(20):
            x = paddle.tanh(x @ w)
        return x

    rows = (512, 768, 1024, 1280, 1536, 1792)
    xs = {n: randn(n, 256) for n in rows}
    expected = {n: many(x).numpy() for n, x in xs.items()}
    spec = [paddle.static.InputSpec([None, 256], "float32")]
    for _ in range(2):
        static = to_static(many, spec, full_graph=True)

        def check(n, static=static):
            with paddle.no_grad():
                np.testing.assert_allclose(static(xs[n]).numpy(), expected[n], 1e-4, 1e-4)

        for _ in range(3):
            check(rows[0])
        assert len(frozen_of(static)) == 1
        failed, over = [], threading.Event()

        def work(check=check, failed=failed, over=over):
            try:
                while not over.is_set():
                    check(rows[0])
            except AssertionError as error:
                failed.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        try:
            for n in rows[1:]:
                check(n)
                check(n)
        finally:
            over.set()
            thread.join()
        assert not failed
        assert len(frozen_of(static)) > 1


def test_several_threads():
    m = model(64)
    static = to_static(lambda x: m(x))
    xs = [randn(16, 64) for _ in range(4)]
    with paddle.no_grad():
        expected = [m(x).numpy() for x in xs]
        for _ in range(3):
            static(xs[0])
    failed = []

    def work(i):
        with paddle.no_grad():
            for _ in range(50):
                if not np.allclose(static(xs[i]).numpy(), expected[i], 1e-4, 1e-5):
                    failed.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failed


# --- what captured tensors may do between runs -----------------------------------------------------------------------


def written(m):
    m[0].weight.set_value(m[0].weight * 2.0)


def moved(m):
    m[0].weight.storage.relocate()


def offloaded(m):
    m[0].weight.storage.offload()


def transposed(m):
    with paddle.no_grad():
        m[0].weight.transpose_([1, 0])


def scaled(m):
    with paddle.no_grad():
        m[0].weight.scale_(0.5)


def frozen_parameter(m):
    m[0].weight.stop_gradient = not m[0].weight.stop_gradient


def a_gradient(m):
    w = m[2].weight
    w.grad = None if w.grad is not None else paddle.ones_like(w)


BETWEEN = [written, moved, offloaded, transposed, scaled, frozen_parameter, a_gradient]


@pytest.mark.parametrize("change", BETWEEN, ids=lambda f: f.__name__)
@pytest.mark.parametrize("train", [False, True], ids=["inference", "step"])
def test_captured_tensors_that_change_between_runs(change, train):
    """Runs that found everything as before look at it again."""
    found = []
    for wrap in (to_static, lambda f: f):
        m = model()
        optimizer = paddle.optimizer.AdamW(0.01, parameters=m.parameters())

        def step(x, m=m, optimizer=optimizer):
            y = m(x)
            if train:
                loss = (y**2).mean()
                loss.backward()
                optimizer.step()
                optimizer.clear_grad(set_to_zero=False)
            return y.detach()

        run = wrap(step)
        paddle.seed(1)
        values = []
        for i in range(12):
            if i in (5, 6, 10):
                change(m)
            with paddle.set_grad_enabled(train):
                values.append(run(randn(4, 8)).numpy())
        found.append([*values, *(p.numpy() for p in m.parameters())])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, 1e-4, 1e-5)


def trained():
    """A model, and a captured step of AdamW that has run a few times."""
    m = model()
    optimizer = paddle.optimizer.AdamW(0.01, parameters=m.parameters())

    @to_static
    def step(x):
        m(x).mean().backward()
        optimizer.step()
        optimizer.clear_grad()

    for _ in range(4):
        step(randn(4, 8))
    return m, step


def test_writes_are_counted():
    """By the version of what is written to, so that a gradient that was recorded before is refused."""
    m, step = trained()
    before = [p.inplace_version for p in m.parameters()]
    step(randn(4, 8))
    assert [p.inplace_version for p in m.parameters()] == [v + 1 for v in before]
    loss = m(randn(4, 8)).mean()
    step(randn(4, 8))
    with pytest.raises(RuntimeError, match="modified in place"):
        loss.backward()


def test_the_rate_of_a_parameter_is_read_at_every_run():
    m, other = model(), model()
    for net, wrap in ((m, to_static), (other, lambda f: f)):
        optimizer = paddle.optimizer.SGD(0.1, parameters=net.parameters())

        def step(x, net=net, optimizer=optimizer):
            net(x).mean().backward()
            optimizer.step()
            optimizer.clear_grad()

        run = wrap(step)
        paddle.seed(2)
        for i in range(8):
            net[0].weight.optimize_attr["learning_rate"] = 1.0 if i < 5 else 0.25 * i
            run(randn(4, 8))
    for p, q in zip(m.parameters(), other.parameters(), strict=True):
        np.testing.assert_allclose(p.numpy(), q.numpy(), 1e-5, 1e-6)


def test_a_copy_where_strides_allow_no_view_is_a_launch():
    m = nn.Sequential(nn.Linear(8, 64), nn.Linear(8, 64))
    static = to_static(lambda x: m[1](m[0](x).transpose([1, 0]).reshape([-1, 8])).transpose([1, 0]).reshape([-1]))
    with paddle.no_grad():
        for n in (16, 16, 16, 16, 24, 24, 24, 16):
            x = randn(n, 8)
            y = m[1](paddle.to_tensor(np.ascontiguousarray(m[0](x).numpy().T).reshape(-1, 8)))
            np.testing.assert_allclose(static(x).numpy(), y.numpy().T.reshape(-1), 1e-5, 1e-5)
    assert frozen_of(static)


def test_updates_of_small_layers_are_made_in_place():
    """Nothing is copied in the end: what a run writes to lies where it was, and was made there."""
    m, step = trained()
    (binding,) = [c._executor.binding() for c in step._captures()]
    assert binding.copies() == [0]
    # Forward, its loss, then of each layer a kernel for the gradient of its input and one for each update.
    assert binding.frozen()[0] <= 5 * 3
