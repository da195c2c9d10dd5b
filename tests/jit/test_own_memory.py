"""Results of programs have memory of their own, where those of eager calls have."""

import numpy as np
import pytest

import paddle
from paddle import static

WEIGHT = [[3.0, 4.0, 5.0]]


class Repeated(paddle.autograd.PyLayer):
    @staticmethod
    def forward(ctx, w):
        return w.expand([4, 3])

    @staticmethod
    def backward(ctx, g):
        return g.sum(0, keepdim=True)


def of_a_branch(w):
    return static.nn.cond(w.sum() > 0, lambda: w.expand([4, 3]), lambda: w.expand([4, 3]) * 2)


def written_without_history(w):
    y = w.expand([4, 3]) * 2
    with paddle.no_grad():
        y.copy_(w.expand([4, 3]))
    return y


RESULTS = {
    "layer of Python": lambda w: Repeated.apply(w),
    "branch": of_a_branch,
    "written without history": written_without_history,
    "recomputed": lambda w: paddle.distributed.fleet.utils.recompute(lambda w: w.expand([4, 3]), w),
}


def write_to_each(results, others):
    """Set the first part of each result, which nothing but this part sees."""
    for i, x in enumerate(results):
        rest = [y for j, y in enumerate(results) if j != i] + others
        before, expected = [y.numpy() for y in rest], x.numpy()
        expected[0] = -50.0
        with paddle.no_grad():
            x[0] = -50.0
        np.testing.assert_array_equal(x.numpy(), expected)
        for y, was in zip(rest, before, strict=True):
            np.testing.assert_array_equal(y.numpy(), was)


@pytest.mark.parametrize("mode", ["eager", "captured", "one graph"])
@pytest.mark.parametrize("case", RESULTS)
def test_results_of_captured_functions(case, mode):
    f = RESULTS[case]
    f = f if mode == "eager" else paddle.jit.to_static(f, full_graph=mode == "one graph")
    w = paddle.to_tensor(WEIGHT, stop_gradient=False)
    write_to_each([f(w)], [w])


def family(x, w):
    """Values in the memory of an input, of a parameter, of a constant and of each other."""
    y = x.expand([2, -1, -1])
    return [
        y, y[0], x, x, w, w.T, w.expand([4, 3]), w.expand([1, 3]), w.expand([4, 3])[0], paddle.zeros([3]).expand([2, 3])
    ]  # fmt: skip


@pytest.mark.parametrize("sizes", [[2, 3], [None, 3]])
def test_fetched_tensors(sizes):
    a = np.arange(6, dtype="float32").reshape(2, 3)
    paddle.enable_static()
    try:
        main, startup = static.Program(), static.Program()
        with static.program_guard(main, startup):
            x = static.data("x", sizes, "float32")
            w = static.create_parameter([1, 3], "float32")
            fetched = family(x, w)
        exe = static.Executor()
        exe.run(startup)
        fed = paddle.to_tensor(a)
        before = exe.run(main, {"x": fed}, fetched)
        tensors = exe.run(main, {"x": fed}, fetched, return_numpy=False)
        paddle.disable_static()
        write_to_each(tensors, [fed])
        paddle.enable_static()
        for x, y in zip(exe.run(main, {"x": fed}, fetched), before, strict=True):
            np.testing.assert_array_equal(x, y)
    finally:
        paddle.disable_static()


class Family(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.w = self.create_parameter([1, 3])

    def forward(self, x):
        return family(x * 1, self.w)


def test_outputs_of_predictors(tmp_path):
    spec = static.InputSpec([None, 3], "float32")
    paddle.jit.save(Family(), str(tmp_path / "model"), input_spec=[spec])
    config = paddle.inference.Config(str(tmp_path / "model.json"), str(tmp_path / "model.pdiparams"))
    predictor = paddle.inference.create_predictor(config)
    x = paddle.to_tensor(np.arange(6, dtype="float32").reshape(2, 3))
    before = [y.numpy() for y in predictor.run([x])]
    for _ in range(2):
        outputs = predictor.run([x])
        for y, was in zip(outputs, before, strict=True):
            np.testing.assert_array_equal(y.numpy(), was)
        write_to_each(outputs, [x])
