"""Mistakes that a kernel finds at a later run of a graph: the error names the user's line."""

import os
import traceback

import numpy as np
import pytest

import paddle

MODES = pytest.mark.parametrize("full_graph", [False, True], ids=["bytecode", "source"])


class Table(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.table = paddle.nn.Embedding(3, 2)

    def forward(self, i):
        return self.table(i) * 2


def item(x, i):
    a = x * 2
    b = a[i]
    return b + 1


def gathered(x, i):
    h = paddle.nn.functional.softmax(x)
    y = paddle.gather(h, i)
    return (y * h.sum()).sum() + paddle.gather(h, i * 0).sum()


def labels(x, i):
    x = x[:2] * 3
    return paddle.nn.functional.cross_entropy(x, i)


def layer(x, i):
    return table(i) + x[:2]


def decided(x, i):
    return paddle.static.nn.cond(x.sum() > 0, lambda: x[i], lambda: x[:2])


table = Table()
LINES = {
    item: "b = a[i]",
    gathered: "y = paddle.gather(h, i)",
    labels: "cross_entropy(x, i)",
    layer: "self.table(i) * 2",
    decided: "x[i], lambda",
}


@MODES
@pytest.mark.parametrize("function", LINES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("learns", [False, True], ids=["plain", "recorded"])
def test_an_index_out_of_range_names_the_line(function, full_graph, learns):
    captured = paddle.jit.to_static(function, full_graph=full_graph)
    x = paddle.ones([3, 2]).detach()
    x.stop_gradient = not learns
    for index in (0, 1, 5, 5):
        i = paddle.to_tensor([index, 0])
        if index < 2:
            np.testing.assert_allclose(captured(x, i).numpy(), function(x, i).numpy(), rtol=1e-6)
            continue
        with pytest.raises(IndexError) as caught:
            captured(x, i)
        text = str(caught.value)
        assert "got 5. The line that needs it:" in text
        assert LINES[function] in text.splitlines()[-1]
        assert text.count(os.path.basename(__file__)) == 1


def test_other_mistakes_that_kernels_find_name_the_line():
    @paddle.jit.to_static
    def root(x):
        return paddle.linalg.cholesky(x) * 2

    root(paddle.eye(2))
    with pytest.raises(ValueError, match=r"positive definite(.|\n)*cholesky"):
        root(-paddle.eye(2))


def test_a_step_that_fails_names_the_line_and_writes_nothing():
    net = Table()
    optimizer = paddle.optimizer.SGD(parameters=net.parameters())

    @paddle.jit.to_static
    def step(i):
        loss = net(i).sum()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return loss

    step(paddle.to_tensor([0, 1]))
    before = net.table.weight.numpy()
    with pytest.raises(IndexError, match=r"self\.table\(i\) \* 2"):
        step(paddle.to_tensor([0, 7]))
    np.testing.assert_array_equal(net.table.weight.numpy(), before)


def test_what_is_printed_is_printed_once(capfd):
    @paddle.jit.to_static(full_graph=True)
    def told(x, i):
        print(x.sum())
        return x[i]

    told(paddle.ones([3]), paddle.to_tensor([0]))
    capfd.readouterr()
    with pytest.raises(IndexError, match=r"return x\[i\]"):
        told(paddle.ones([3]), paddle.to_tensor([4]))
    assert capfd.readouterr().out.count("3.") <= 1


def test_executors_and_predictors_name_the_line(tmp_path):
    prefix = str(tmp_path / "model")
    paddle.enable_static()
    try:
        main, startup = paddle.static.Program(), paddle.static.Program()
        with paddle.static.program_guard(main, startup):
            x, i = paddle.static.data("x", [3, 2]), paddle.static.data("i", [2], "int64")
            h = paddle.static.nn.fc(x, 2)
            y = paddle.gather(h, i)
            out = y + paddle.gather(h, i * 0)
        exe = paddle.static.Executor()
        exe.run(startup)
        feed = {"x": np.ones((3, 2), "float32"), "i": np.array([0, 5])}
        with pytest.raises(IndexError, match=r"line \d+, in test_executors(.|\n)*y = paddle\.gather\(h, i\)$"):
            exe.run(main, feed, [out])
        paddle.static.save_inference_model(prefix, [x, i], [out], exe, program=main)
    finally:
        paddle.disable_static()
    predictor = paddle.inference.create_predictor(paddle.inference.Config(f"{prefix}.json", f"{prefix}.pdiparams"))
    with pytest.raises(IndexError, match=r"y = paddle\.gather\(h, i\)$"):
        predictor.run([paddle.ones([3, 2]), paddle.to_tensor([0, 5])])


def reshaped(x):
    y = x * 2
    return paddle.reshape(y, [7])


def and_more(x):
    y = reshaped(x)
    return y + 1


@MODES
@pytest.mark.parametrize("guarded", [False, True])
def test_the_traceback_of_a_mistake_has_functions_that_were_inlined(guarded, full_graph):
    def outer(x):
        return and_more(x + 1) * 2

    def around(x):
        try:
            return outer(x)
        except ValueError as error:
            return [line.name for line in traceback.extract_tb(error.__traceback__) if line.filename == __file__]

    if guarded and full_graph:
        return  # one graph has no handlers
    captured = paddle.jit.to_static(around if guarded else outer, full_graph=full_graph)
    for _ in range(3):
        if guarded:
            names = captured(paddle.ones([4]))
        else:
            with pytest.raises(ValueError) as caught:
                captured(paddle.ones([4]))
            lines = traceback.extract_tb(caught.value.__traceback__)
            names = [line.name for line in lines if line.filename == __file__]
            assert [line.line for line in lines if line.filename == __file__][-2:] == [
                "y = reshaped(x)", "return paddle.reshape(y, [7])",
            ]  # fmt: skip
        assert names[-3:] == ["outer", "and_more", "reshaped"]


def around(x):
    with paddle.no_grad():
        y = and_more(x)
    return y * 1


def around_again(x):
    y = around(x)
    return y * 2


def handled(x):
    try:
        z = around_again(x) + 1
    finally:
        del x
    return z


def alone(x):
    try:
        y = paddle.reshape(x, [7])
    finally:
        del x
    return y


def known_later(x):
    n = int(x.sum())
    return [1, 2][n] + 1


def through(x):
    return known_later(x) + 1


@pytest.mark.parametrize(
    "function",
    [
        and_more,
        around,
        around_again,
        handled,
        alone,
        lambda x: handled(x + 1) - 1,
        lambda x: through(x) - 1,
        lambda x: [and_more(x) for _ in range(2)],
        lambda x: sum(and_more(x) for _ in range(2)),
    ],
)
def test_the_traceback_of_a_mistake_is_the_eager_one(function):
    def frames():
        with pytest.raises((ValueError, IndexError)) as caught:
            tried(paddle.ones([4]))
        lines = traceback.extract_tb(caught.value.__traceback__)[1:]
        return [(line.name, line.line) for line in lines if line.filename == __file__]

    tried = function
    eager = frames()
    tried = paddle.jit.to_static(function)
    for _ in range(3):
        assert frames() == eager
