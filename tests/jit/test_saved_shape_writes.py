"""Inputs of recorded programs whose shape or dtype is changed in place: nobody outside has them."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle.static import InputSpec


def wider(x):
    x.unsqueeze_(1)
    return x * 2


def through_another_name(x):
    y = x
    y.reshape_([-1])
    return x + 1


def transposed(x):
    x.transpose_([1, 0])
    return x * 2, x


def cast(x):
    x.cast_("int32")
    return x + 1


def twice(x):
    x.unsqueeze_(0)
    x.flatten_()
    x[0] = 7
    return x


def behind_a_branch(x):
    if x.sum() > 3:
        x = x + 1
    x.unsqueeze_(0)
    if x.sum() > 30:
        y = x * 2
        y.squeeze_(0)
    else:
        y = (x + 1).squeeze(0)
    return x, y


FUNCTIONS = (wider, through_another_name, transposed, cast, twice, behind_a_branch)


def flat(result):
    return [np.asarray(x) for x in paddle.utils.flatten(result)]


def same(got, want):
    assert [(g.shape, g.dtype) for g in got] == [(w.shape, w.dtype) for w in want]
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-6)


def given(rows: int):
    return np.arange(3 * rows, dtype="float32").reshape(rows, 3)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_saved_as_they_run_eagerly(f, tmp_path):
    net = paddle.nn.Layer()
    net.forward = f
    paddle.jit.save(net, str(tmp_path / "model"), input_spec=[InputSpec([None, 3], "float32", "x")])
    loaded = paddle.jit.load(str(tmp_path / "model"))
    for rows in (1, 2, 4):
        x = paddle.to_tensor(given(rows))
        same(flat(loaded(x)), flat(f(x.clone())))
        assert x.shape == [rows, 3]  # the caller's tensor is as it was


def test_in_static_programs():
    main, startup = paddle.static.Program(), paddle.static.Program()
    paddle.enable_static()
    try:
        with paddle.static.program_guard(main, startup):
            x = paddle.static.data("x", [None, 3])
            weight = paddle.static.create_parameter(
                [3, 1], "float32", default_initializer=paddle.nn.initializer.Constant(2.0)
            )
            x.unsqueeze_(1)
            loss = paddle.matmul(x, weight).square().mean()
            paddle.optimizer.SGD(0.01).minimize(loss)
        executor = paddle.static.Executor()
        executor.run(startup)
        losses = [executor.run(main, feed={"x": given(2)}, fetch_list=[loss])[0] for _ in range(2)]
    finally:
        paddle.disable_static()
    sums = given(2).sum(1)
    np.testing.assert_allclose(losses[0], ((2 * sums) ** 2).mean(), rtol=1e-6)
    assert losses[1] < losses[0]


def test_an_argument_of_one_graph_belongs_to_its_caller():
    with pytest.raises(RuntimeError, match="from outside, whose owner would not see it"):
        paddle.jit.to_static(wider, full_graph=True)(paddle.ones([2, 3]))
