"""Numbers and arrays that a function takes out of tensors of unknown data: in one graph, tensors without history."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle.jit.source.errors import ConversionError
from paddle.static import InputSpec


def only(x):
    return x.sum().item()


def counted(x):
    return x.item(4)


def at_place(x):
    return x.item(1, 2)


def negative(x):
    return x.item(-1)


def as_float(x):
    return float(x.sum())


def as_int(x):
    return int(x.sum())


def as_bool(x):
    return bool(x.sum() > 3)


def of_one_element(x):
    return x[:1, :1].item()


def among_others(x):
    return [x.mean().item(), x, {"top": x.max().item()}]


def computed_with(x):
    return x * x.max().item() - x.min().item()


def decides(x):
    n = x.sum().item()
    return x * n if n > 3 else x / n


def summed_in_a_loop(x):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i].sum().item()
    return paddle.full([2], 1.0) * total


def by_method(x):
    read = x.max().item
    return read() + 1


def as_array(x):
    return x + paddle.to_tensor(x.numpy()[0] * 2)


def array_decides(x):
    return x * 2 if x.numpy()[0, 0] + x.shape[0] > 1 else x - x.max().numpy()


def array_counts(x):
    rows = paddle.full([1], x.shape[0] - 1, "int32")
    i = 0
    while i < rows.numpy():
        i += 1
        x = x + i
    return x


def array_written(x):
    a = x.numpy()
    a[0] = 7
    x[1] = 5
    return x, paddle.to_tensor(a)


FUNCTIONS = (
    only, counted, at_place, negative, as_float, as_int, as_bool, of_one_element, among_others, computed_with, decides,
    summed_in_a_loop, by_method, as_array, array_decides, array_counts, array_written,
)  # fmt: skip


def flat(result):
    return [np.asarray(x) for x in paddle.utils.flatten(result)]


def tensors(rows: int):
    return paddle.to_tensor(np.arange(3 * rows, dtype="float32").reshape(rows, 3) - 1)


def saved(f, folder):
    spec = [InputSpec([None, 3], "float32")]
    paddle.jit.save(paddle.jit.to_static(f, input_spec=spec, full_graph=True), str(folder / "model"))
    return paddle.jit.load(str(folder / "model"))


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("way", ["captured", "saved"])
def test_numbers_are_those_of_every_call(f, way, tmp_path):
    run = paddle.jit.to_static(f, full_graph=True) if way == "captured" else saved(f, tmp_path)
    for rows in (2, 4, 3):
        x = tensors(rows)
        got, want = flat(run(x.clone())), flat(f(x.clone()))
        assert [g.shape for g in got] == [w.shape for w in want]
        for g, w in zip(got, want, strict=True):
            np.testing.assert_allclose(g, w, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "int32", "uint8", "bool"])
def test_an_item_has_the_dtype_of_its_tensor(dtype):
    y = paddle.jit.to_static(lambda x: x[1, 1].item(), full_graph=True)(paddle.ones([2, 2]).astype(dtype))
    assert y.dtype == getattr(paddle, dtype)
    assert y.shape == []


@pytest.mark.parametrize("f", [only, counted, at_place, as_float, lambda x: x[1, 1].numpy()], ids=lambda f: f.__name__)
def test_a_number_has_no_history(f):
    x = tensors(2)
    x.stop_gradient = False
    y = paddle.jit.to_static(lambda x: x.sum() * f(x), full_graph=True)(x)
    y.backward()
    np.testing.assert_allclose(x.grad.numpy(), np.full((2, 3), f(x)), rtol=1e-6)


@pytest.mark.parametrize(("name", "f"), [("item", lambda x: x.item()), ("float", float), ("int", int)])
def test_several_elements_are_no_number(name, f):
    with pytest.raises(ConversionError, match=rf"requires a tensor with one element for {name}\(\)"):
        paddle.jit.to_static(lambda x: f(x), full_graph=True)(tensors(2))


def test_numbers_break_graphs_where_graphs_may_break():
    assert paddle.jit.to_static(only, full_graph=False)(tensors(2)) == 9.0
