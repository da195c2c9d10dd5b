"""What functions of the library require of open sizes, on one way of a branch or loop on data of a saved model: it is
required where the program comes."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from paddle import inference
from paddle.static import InputSpec


def sum_(x):
    return (x + paddle.ones([3, 2])).exp()


def product(x):
    return x.t() @ paddle.ones([4, 1])


def largest(x):
    return paddle.topk(x[:, 0], 4)[0]


def window(x):
    return F.conv1d(x.t().unsqueeze(0), paddle.ones([1, 2, 4]))


def item(x):
    return x[3]


def parts(x):
    return paddle.split(x, 2)[0]


def shape(x):
    return x[:4].reshape([4, -1])


FUNCTIONS = [sum_, product, largest, window, item, parts, shape]


def one_way(f):
    def run(x):
        if x.sum() > 0:
            return f(x).sum()
        return x.sum()

    return run


def inside(f):
    def run(x):
        y = x.sum()
        if x.max() > -5:
            y = y * 2
            if x.sum() > 0 and x.max() > 0:
                y = f(x).sum() + y
        return y

    return run


def looped(f):
    def run(x):
        y, i = x.sum(), paddle.zeros([])
        while i < x.sum():
            y = y + f(x).sum()
            i = i + 4
        return y

    return run


def eager(f, x):
    try:
        return f(x)
    except (ValueError, IndexError):
        return None


@pytest.mark.parametrize("statement", [one_way, inside, looped])
@pytest.mark.parametrize("f", FUNCTIONS)
def test_it_is_required_where_the_way_is_taken(f, statement, tmp_path):
    run = statement(f)
    path = str(tmp_path / "model")
    paddle.jit.save(run, path, input_spec=[InputSpec([None, 2], "float32", "x")])
    model = paddle.jit.load(path)
    predictor = inference.create_predictor(inference.Config(path + ".json", path + ".pdiparams"))
    refused = 0
    for n in (2, 3, 4, 5, 1000):
        for sign in (1.0, -1.0):
            x = paddle.full([n, 2], sign)
            expected = eager(run, x)
            for given in (model, lambda x: predictor.run([x])[0]):
                if expected is None:
                    refused += 1
                    with pytest.raises(ValueError, match=r"assert|program model"):
                        given(x)
                else:
                    np.testing.assert_allclose(given(x).numpy(), expected.numpy(), rtol=1e-5)
    assert refused


def test_outside_of_all_it_is_required_of_all_inputs(tmp_path):
    def run(x):
        y = sum_(x).sum()
        return y * 2 if x.sum() > 0 else y

    paddle.jit.save(run, str(tmp_path / "model"), input_spec=[InputSpec([None, 2], "float32", "x")])
    model = paddle.jit.load(str(tmp_path / "model"))
    with pytest.raises(ValueError, match="do not broadcast"):
        model(-paddle.ones([5, 2]))


def test_gradients_of_a_static_program_whose_way_requires_sizes():
    with paddle.utils.unique_name.guard(), paddle.static.scope_guard(paddle.static.Scope()):
        paddle.enable_static()
        try:
            main, start = paddle.static.Program(), paddle.static.Program()
            with paddle.static.program_guard(main, start):
                x = paddle.static.data("x", [None, 2], "float32")
                x.stop_gradient = False
                y = paddle.static.nn.cond(x.sum() > 0, lambda: sum_(x).sum(), lambda: (x * 3).sum())
                (g,) = paddle.static.gradients([y], [x])
            executor = paddle.static.Executor()
            executor.run(start)
            for n, sign, expected in ((3, 1.0, np.e**2), (3, -1.0, 3.0), (5, -1.0, 3.0)):
                fed = np.full([n, 2], sign, "float32")
                (given,) = executor.run(main, feed={"x": fed}, fetch_list=[g])
                np.testing.assert_allclose(given, np.full([n, 2], expected), rtol=1e-5)
            with pytest.raises(ValueError, match="broadcast"):
                executor.run(main, feed={"x": np.ones([5, 2], "float32")}, fetch_list=[g])
        finally:
            paddle.disable_static()
