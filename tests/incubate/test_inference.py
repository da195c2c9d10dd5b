"""Functions and layers that are compiled for inference give what they gave before."""

from __future__ import annotations

import copy
import functools
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import paddle
from paddle import nn
from paddle.incubate.jit import inference, is_inference_mode


def close(a, b, **tolerance):
    np.testing.assert_allclose(a.numpy(), b.numpy(), **(tolerance or {"rtol": 1e-5, "atol": 1e-6}))


@pytest.fixture(autouse=True)
def seed():
    paddle.seed(3)


def net():
    layer = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 2))
    layer.eval()
    return layer


def test_a_layer():
    plain, compiled = net(), net()
    compiled.set_state_dict(plain.state_dict())
    assert not is_inference_mode(compiled)
    assert inference(compiled) is compiled
    assert is_inference_mode(compiled)
    for size in (3, 3, 5, 7, 3):
        x = paddle.randn([size, 4])
        y = compiled(x)
        close(y, plain(x))
        assert y.stop_gradient
    (entry,) = compiled.forward.entries
    assert entry.sizes == [[None, 4]]


def test_what_is_compiled_may_be_compiled_again_and_saved(tmp_path):
    """A layer, twice, with an argument that is given by name; a method of one, twice; and either inside of a model."""

    class Chosen(nn.Layer):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, pair, doubled):
            y = self.inner(pair[0]) + pair[1]
            return y * 2 if doubled else y

        def inner(self, x):
            return self.linear(x)

    x, layer = paddle.randn([3, 4]), Chosen()
    wanted = layer([x, x], doubled=True)
    layer.inner = inference(inference(layer.inner))
    for _ in range(3):
        close(layer([x, x], doubled=True), wanted)
    inference(inference(layer))
    for _ in range(3):
        close(layer([x, x], doubled=True), wanted)
        close(layer([x, x], False) * 2, wanted)
    paddle.jit.save(layer, str(tmp_path / "m"), [[paddle.static.InputSpec([None, 4])] * 2, True])
    close(paddle.jit.load(str(tmp_path / "m"))(x, x), wanted)


def test_a_function_with_all_kinds_of_arguments():
    layer, calls = net(), []

    def plain(pair, scale, flags=(True,)):
        a, b = pair["a"], pair["b"]
        y = layer(a) * scale
        if flags[0]:
            y = y + b
        return {"y": y, "kind": "sum", "parts": [y.sum(), b]}

    @inference
    def f(pair, scale, flags=(True,)):
        calls.append(scale)
        return plain(pair, scale, flags)

    def compare(*args, **kwargs):
        got, want = f(*args, **kwargs), plain(*args, **kwargs)
        assert got["kind"] == "sum"
        close(got["y"], want["y"])
        for a, b in zip(got["parts"], want["parts"], strict=True):
            close(a, b)

    pair = {"a": paddle.randn([3, 4]), "b": paddle.randn([3, 2])}
    for _ in range(3):
        compare(pair, 2.0)
        compare(pair, 3.0, flags=(False,))
    before = len(calls)
    compare(pair, scale=2.0)
    assert len(calls) == before  # it was compiled


@pytest.mark.parametrize(
    "values",
    [(1, 1.0, True), (0.0, -0.0), (np.ones(2, "int64"), np.full(2, 2)), (np.float32(2), 2.0, np.int64(2))],
    ids=["numbers", "zeros", "arrays", "scalars"],
)
def test_arguments_that_are_no_tensors_choose_the_program(values):
    """Equal ones of other types do not, and neither does an array that has changed since."""
    calls = []

    def plain(x, k):
        return 1 / (x * k)

    def counted(x, k):
        calls.append(k)
        return plain(x, k)

    compiled = inference(counted)
    for k in [*values, *values]:
        got, wanted = compiled(paddle.to_tensor([2, 4]), k), plain(paddle.to_tensor([2, 4]), k)
        assert got.dtype is wanted.dtype
        np.testing.assert_array_equal(got, wanted)
    count = len(calls)
    compiled(paddle.to_tensor([2, 4]), values[0])
    assert len(calls) == count == 2 * len(values)  # a call, and a recording
    if isinstance(values[0], np.ndarray):
        values[0][:] = 5
        np.testing.assert_allclose(compiled(paddle.to_tensor([2, 4]), values[0]), [0.1, 0.05])


def in_threads(work, count=4):
    """Call work(0), work(1), ... at a time; the first error of one is raised."""
    with ThreadPoolExecutor(count) as pool:
        for future in [pool.submit(work, i) for i in range(count)]:
            future.result()


def test_threads_call_one_function():
    """Whichever of them compiles it, each gets what belongs to its arguments."""
    compiled = inference(lambda x, k: {"y": x * k, "k": k})

    def work(i):
        for j in range(8):
            x = np.full([1 + (i + j) % 3, 2], i + j, "float32")
            made = compiled(paddle.to_tensor(x), i % 2)
            assert made["k"] == i % 2
            np.testing.assert_array_equal(made["y"].numpy(), x * (i % 2))

    in_threads(work)


def test_objects_that_are_called_have_no_name_of_their_own():
    class Doubling:
        def __call__(self, x):
            return x * 2

    for function in (Doubling(), functools.partial(lambda k, x: x * k, 2)):
        compiled = inference(function)
        assert [compiled(paddle.ones([1])).tolist() for _ in range(2)] == [[2.0], [2.0]]


def test_copies_have_weights_of_their_own():
    net, x = inference(paddle.nn.Linear(2, 2)), paddle.ones([1, 2])
    before = [net(x) for _ in range(2)][1].tolist()
    other = copy.deepcopy(net)
    with paddle.no_grad():
        other.weight.set_value(paddle.zeros([2, 2]))
    assert [other(x).tolist() for _ in range(2)] == [[[0.0, 0.0]]] * 2
    assert net(x).tolist() == before


def test_a_method():
    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.inner = net()

        def forward(self, x):
            return self.predicted(x) + 1

        @inference()
        def predicted(self, x):
            return self.inner(x)

    a, b = Net(), Net()
    x = paddle.randn([2, 4])
    for _ in range(2):
        for each in (a, b):
            close(each(x), each.inner(x) + 1)


def test_branches_on_data():
    def f(x):
        if x.sum() > 0:
            return x * 2
        return x - 1

    compiled = inference(f)
    for value in (1.0, -1.0, 2.0, -3.0):
        x = paddle.full([2], value)
        close(compiled(x), f(x))


def test_bfloat16():
    plain = net()
    x = paddle.randn([3, 4])
    want = plain(x)
    compiled = inference(plain, precision_mode="bfloat16")
    compiled(x)
    close(compiled(x), want, rtol=0.05, atol=0.05)
    assert not np.array_equal(compiled(x).numpy(), want.numpy())


def test_models_are_kept(tmp_path):
    layer = net()
    x = paddle.randn([3, 4])
    want = layer(x)
    first = inference(lambda x: layer(x), save_model_dir=str(tmp_path))
    first(x)
    assert sorted(p.suffix for p in tmp_path.iterdir()) == [".json", ".pdiparams"]
    other = net()  # with weights of its own, which nothing reads
    second = inference(lambda x: other(x), cache_static_model=True, save_model_dir=str(tmp_path))
    second(x)
    close(second(x), want)


def test_settings_reach_the_predictor(tmp_path, capsys):
    compiled = inference(
        net(), save_model_dir=str(tmp_path), collect_shape=True, switch_ir_debug=True,
        delete_pass_lists=["constant_folding_pass"],
    )  # fmt: skip
    compiled(paddle.randn([3, 4]))
    text = capsys.readouterr().out
    assert "before dead_code_elimination_pass" in text
    assert "constant_folding_pass" not in text
    compiled(paddle.randn([3, 4]))
    del compiled
    import gc

    gc.collect()
    assert any(name.endswith(".shapes") for name in os.listdir(tmp_path))


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"function": 3}, TypeError, "a function or a Layer, got int"),
        ({"function": nn.Linear}, TypeError, "a function or a Layer, got type"),
        ({"precision_mode": "float8"}, ValueError, "a precision of"),
        ({"cache_static_model": True}, ValueError, "save_model_dir, to take models from, got none"),
    ],
)
def test_what_is_refused(options, kind, message):
    with pytest.raises(kind, match=message):
        inference(**options)


def test_tensorrt_is_not_here():
    compiled = inference(net(), with_trt=True)
    with pytest.raises(RuntimeError, match="requires an engine 'tensorrt'"):
        compiled(paddle.randn([3, 4]))


def test_keyword_only_arguments_are_refused():
    def f(x, *, scale):
        return x * scale

    with pytest.raises(ValueError, match="without keyword-only arguments"):
        inference(f)(paddle.ones([2]), scale=2.0)
