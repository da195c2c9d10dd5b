"""Operators in C++ whose results have sizes that data decide (InferShapeFn gives -1): in programs as in eager calls."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle.static import Executor, InputSpec, Program, data, gradients, load_inference_model, save_inference_model
from paddle.static.nn import cond, while_loop

SIZES = 3, 5, 1, 0, 4


def positive(ops, x):
    y, at = ops.test_positive(x * 2.0)
    return (y * y).sum() + at.astype("float32").sum() * x.mean(), y[1:] * 3


def rows(ops, x):
    y = ops.test_rows_above(x * 0.5, 0.1, 2)
    return (y**3).sum(), y


def numbers_of_the_run(ops, x):
    """An attribute that a run alone knows, and operands whose sizes data have decided."""
    y = ops.test_rows_above(x, -0.5, x.shape[0])
    z = ops.test_rows_above(y, 0.25, 1)
    return (y**2).sum() + z.sum() * y.sum(), z


def branches(ops, x):
    chosen = cond(x.sum() > 0, lambda: (ops.test_positive(x)[0] ** 2).sum(), lambda: x.mean())
    return chosen, chosen * 2


def list_of_inputs(ops, x):
    y = ops.test_joined([x, x * 2], paddle.full([1], 1, "int64") * 1)
    return y.sum() * x.sum(), y


def loops(ops, x):
    def body(i, total):
        return [i + 1, total + ops.test_rows_above(x * (i.astype("float32") + 1), 0.5, 1).sum()]

    _, total = while_loop(lambda i, total: i < 3, body, [paddle.zeros([1], "int64"), paddle.zeros([1])])
    return total.sum(), total * x.sum()


def no_sums_of_sizes(ops, x):
    """Sizes that are known, but are no sums of sizes of the inputs."""
    y = ops.test_pairs(ops.test_rows_above(x, -5.0, 1) * 2.0)
    return (y**2).sum(), ops.test_pairs(x) * 2


FAMILIES = positive, rows, numbers_of_the_run, branches, list_of_inputs, loops, no_sums_of_sizes


@pytest.fixture
def programs():
    paddle.enable_static()
    main = Program()
    with paddle.static.program_guard(main, Program()):
        yield main
    paddle.disable_static()


def array(rng, n):
    return rng.standard_normal((n, 3)).astype("float32")


def eagerly(ops, function, x):
    with paddle.base.dygraph.guard():
        t = paddle.to_tensor(x, stop_gradient=False)
        loss, y = function(ops, t)
        return [v.numpy() for v in (loss, y, paddle.grad(loss, t)[0])]


def same(got, wanted):
    for a, b in zip(got, wanted, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("function", FAMILIES, ids=lambda f: f.__name__)
def test_static_programs(ops, programs, rng, tmp_path, function):
    x = data("x", [None, 3])
    x.stop_gradient = False
    loss, y = function(ops, x)
    exe = Executor()
    save_inference_model(str(tmp_path / "model"), [x], [loss, y], exe, program=programs)
    made = [loss, y, *gradients([loss], [x])]
    arrays = [array(rng, n) for n in SIZES]
    for fed in arrays:
        same(exe.run(programs, {"x": fed}, made), eagerly(ops, function, fed))
    loaded, _, fetched = load_inference_model(str(tmp_path / "model"), exe)
    for fed in arrays:
        same(exe.run(loaded, {"x": fed}, fetched), eagerly(ops, function, fed)[:2])


@pytest.mark.parametrize("function", FAMILIES, ids=lambda f: f.__name__)
def test_one_graph(ops, rng, function):
    graph = paddle.jit.to_static(lambda x: function(ops, x), full_graph=True)
    for n in SIZES:
        x = paddle.to_tensor(array(rng, n), stop_gradient=False)
        loss, y = graph(x)
        same([v.numpy() for v in (loss, y, paddle.grad(loss, x)[0])], eagerly(ops, function, x.numpy()))


@pytest.mark.parametrize("function", FAMILIES, ids=lambda f: f.__name__)
def test_saved_layers_are_trained_on(ops, rng, tmp_path, function):
    class Model(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.inner = paddle.nn.Linear(3, 3)

        def forward(self, x):
            return function(ops, self.inner(x))

    model, path = Model(), str(tmp_path / "model")
    paddle.jit.save(model, path, [InputSpec([None, 3])])
    loaded = paddle.jit.load(path)
    for layer in (model, loaded):
        layer.train()
    for n in SIZES:
        x = paddle.to_tensor(array(rng, n))
        found = []
        for layer in (model, loaded):
            loss, y = layer(x)
            weights = sorted(layer.parameters(), key=lambda w: w.ndim)
            found.append([v.numpy() for v in (loss, y, *paddle.grad(loss, weights))])
        same(*found)


def test_a_program_reads_back_as_it_was_written(ops, programs, rng, tmp_path):
    """Numbers of floats that a run alone knows have no place in files of the reference: these are of our own format."""
    x = data("x", [None, 3])
    y = ops.test_rows_above(x, x.shape[0] * 0.125, x.shape[0])
    exe = Executor()
    with pytest.warns(UserWarning, match="own format"):
        save_inference_model(str(tmp_path / "model"), [x], [y], exe, program=programs)
    assert 'use=\\"open\\"' in next(tmp_path.glob("model*.json")).read_text()
    loaded, _, fetched = load_inference_model(str(tmp_path / "model"), exe)
    for n in SIZES:
        fed = array(rng, n)
        (found,) = exe.run(loaded, {"x": fed}, fetched)
        kept = fed[fed[:, 0] > n * 0.125]
        np.testing.assert_array_equal(found, np.concatenate([kept, np.ones((len(kept), n), "float32")], 1))


def test_what_a_kernel_gives_is_compared_with_its_declaration(ops, programs):
    y = ops.test_otherwise(data("x", [None, 3]))
    assert y.dtype is paddle.float32
    wrong = (
        r"\[cpp::test_otherwise\] requires result 0 to be float32 of shape \[-1, -1\].*got float64 of shape \[2, 3\]"
    )
    with pytest.raises(ValueError, match=wrong):
        Executor().run(programs, {"x": np.ones((2, 3), "float32")}, [y])


def test_no_gradient_flows_through_what_a_kernel_calls(ops, rng):
    """Without a gradient operator there is none, eagerly as in programs."""
    x = paddle.to_tensor(array(rng, 2), stop_gradient=False)
    for _ in range(2):
        assert ops.test_joined([x, x], paddle.to_tensor([1])).stop_gradient
        assert ops.test_functions(paddle.concat([x, x], 1)).stop_gradient


def test_training_in_mixed_precision(ops, rng):
    """A pass over the program asks functions of shapes about its sizes once more."""
    paddle.enable_static()
    main, startup = Program(), Program()
    with paddle.static.program_guard(main, startup), paddle.utils.unique_name.guard():
        kept = ops.test_rows_above(ops.test_join([data("x", [None, 3])] * 2, 0), -0.5, 1)
        loss = (paddle.nn.Linear(4, 2)(kept) ** 2).mean()
        paddle.static.amp.decorate(paddle.optimizer.SGD(0.05), dtype="bfloat16").minimize(loss)
    exe = Executor()
    exe.run(startup)
    fed = {"x": array(rng, 6)}
    losses = [float(exe.run(main, fed, [loss])[0]) for _ in range(5)]
    paddle.disable_static()
    assert losses[-1] < losses[0]
