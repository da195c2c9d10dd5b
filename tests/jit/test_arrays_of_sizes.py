"""NumPy's arrays of sizes: part of a graph, and of a saved program, where sizes are open."""

import numpy as np
import pytest

import paddle
from paddle.static import InputSpec


def total(x):
    return x * float(np.array(x.shape).sum())


def products(x):
    return x * int(np.cumprod(x.shape)[-1]) + np.cumsum(x.shape)[0]


def counts(x):
    return x * np.size(x) + np.ndim(x) + np.size(x.shape)


def halves(x):
    half = np.asarray(x.shape) // 2
    return x.reshape([int(half[0]) * 2, 2, -1])


def backwards(x):
    return x.reshape(np.array(x.shape)[::-1])


def extremes(x):
    return x * np.max(x.shape) + np.min(x.shape) + np.array(x.shape).max()


def narrow(x):
    return x / paddle.to_tensor(np.array(x.shape, dtype="float32")).sum()


def tensors(x):
    return paddle.to_tensor(np.array(x.shape) / 2), paddle.to_tensor(np.asarray(x.shape, dtype=np.int32))


def joined(x):
    return paddle.full(np.concatenate([x.shape, [2]]), 1.5), paddle.full(np.append(x.shape, 1) + 1, 2)


def chosen(x):
    n = np.array(x.shape)
    return paddle.to_tensor(np.where(n > 4, n, 0)), paddle.to_tensor(np.clip(n, 2, 5))


def written(x):
    n = np.array(x.shape)
    n[0] += 3
    last = n[::-1]
    last[0] = 9
    return x * int(n.sum())


def branches(x):
    n = np.array(x.shape)
    if n.max() > 5:
        return x * 2
    return x + 1


def rounded(x):
    return x * np.ceil(x.shape[0] / 3) + np.sqrt(x.shape[0]) + np.float32(x.shape[0])


def indexed(x):
    return x[np.array([0, x.shape[0] - 1])]


def looped(x):
    k = 0
    for n in np.array(x.shape):
        k = k + n
    return x * k


PROGRAMS = (
    total, products, counts, halves, backwards, extremes, narrow, tensors, joined, chosen, written, branches, rounded,
    indexed, looped,
)  # fmt: skip


def agree(got, want):
    assert type(got) is type(want)
    if not isinstance(want, (list, tuple)):
        got, want = [got], [want]
    for a, b in zip(got, want, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-6)


def given(n):
    return paddle.arange(n * 4, dtype="float32").reshape([n, 4])


@pytest.mark.parametrize("full_graph", [False, True])
@pytest.mark.parametrize("f", PROGRAMS)
def test_arrays_of_sizes_are_a_part_of_the_graph(f, full_graph):
    captured = paddle.jit.to_static(f, full_graph=full_graph)
    for n in (4, 6, 8, 4):
        agree(captured(given(n)), f(given(n)))
    assert not captured.graph_breaks and not captured.fallbacks


@pytest.mark.parametrize("f", PROGRAMS)
def test_arrays_of_open_sizes_are_saved(f, tmp_path):
    path = str(tmp_path / "m")
    paddle.jit.save(paddle.jit.to_static(f, input_spec=[InputSpec([None, 4], "float32")], full_graph=True), path)
    loaded = paddle.jit.load(path)
    for n in (2, 4, 8, 6):
        got, want = loaded(given(n)), f(given(n))
        agree(tuple(got) if isinstance(want, tuple) else got, want)


def results(x):
    n = np.array(x.shape)
    return n, n[0] + 1, x * 2


def test_arrays_are_results():
    captured = paddle.jit.to_static(results)
    for n in (4, 6, 8):
        array, number, y = captured(given(n))
        assert isinstance(array, np.ndarray) and array.dtype == np.int64 and array.tolist() == [n, 4]
        assert number == n + 1 and y.shape == [n, 4]
    assert not captured.graph_breaks


def kept(x):
    n = np.array(x.shape)
    m = n[::-1]
    scale = float(x.sum().numpy())
    m[0] = 7
    return x * int(n.sum()) * scale


def test_arrays_that_share_memory_do_so_behind_a_break():
    captured = paddle.jit.to_static(kept)
    for n in (4, 6, 8):
        np.testing.assert_allclose(captured(given(n)).numpy(), kept(given(n)).numpy(), rtol=1e-6)


def outside(x, n):
    return x * int(np.cumsum(n)[-1])


def test_arrays_from_outside_may_differ():
    captured = paddle.jit.to_static(outside)
    for k in (1, 2, 3):
        want = outside(given(4), np.array([k, k]))
        np.testing.assert_allclose(captured(given(4), np.array([k, k])).numpy(), want.numpy())


def test_what_has_no_form_in_sizes_is_refused_by_name(tmp_path):
    def f(x):
        return x * np.log2(x.shape[0])

    with pytest.raises(TypeError, match=r"\[numpy.log2\] requires .* of sizes that are not declared"):
        paddle.jit.save(paddle.jit.to_static(f, input_spec=[InputSpec([None, 4])]), str(tmp_path / "m"))


WITH_THE_NUMBERS = {
    "overflow": lambda n: (n.astype("int8") * 100, np.array(tuple(n), dtype=np.uint8) - 10),
    "division by zero": lambda n: (n // (n[1:] - 4), n / (n - 4), n / (n[:1] - 6)),
    "masks": lambda n: (n[n > 4], ~(n > 4)),
    "bits": lambda n: (n & 3, n | 8, n << 1),
    "other functions": lambda n: (n @ n, np.array(tuple(n), ndmin=2), n.argmax(), np.divmod(n, 2)),
    "floats": lambda n: ((n * 0.5) // 1, n.dtype == np.int64),
}


@pytest.mark.parametrize("full_graph", [False, True])
@pytest.mark.parametrize("name", WITH_THE_NUMBERS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_has_no_form_in_sizes_is_computed_of_the_numbers(name, full_graph):
    def function(x):
        return WITH_THE_NUMBERS[name](np.array(x.shape)), x * 2

    captured = paddle.jit.to_static(function, full_graph=full_graph)
    for n in (4, 5, 6, 8):
        for a, b in zip(captured(given(n))[0], function(given(n))[0], strict=True):
            np.testing.assert_array_equal(a, b)
            assert np.asarray(a).dtype == np.asarray(b).dtype


def test_arrays_are_results_of_saved_models(tmp_path):
    captured = paddle.jit.to_static(results, input_spec=[InputSpec([None, 4])])
    paddle.jit.save(captured, str(tmp_path / "m"))
    model = paddle.jit.load(str(tmp_path / "m"))
    for n in (4, 7):
        array, number, y = model(given(n))
        assert (array.tolist(), int(number), y.shape) == ([n, 4], n + 1, [n, 4])


def written_on_one_way(x):
    n = np.array(x.shape)
    if x.sum() > 0:
        n[0] = 1
    return x * int(n[0])


def written_where_sizes_decide(x):
    n = np.array(x.shape)
    if x.shape[0] > 5:
        n += 1
    return x * int(n[0])


def filled_in_a_loop(x):
    n = np.array(x.shape)
    for row in x:
        n.fill(len(row))
    return x * int(n[0])


@pytest.mark.parametrize("f", [written_on_one_way, written_where_sizes_decide, filled_in_a_loop])
def test_writes_that_may_not_happen_are_refused_in_saved_models(f, tmp_path):
    with pytest.raises(TypeError, match="stay as they are in a branch or loop"):
        paddle.jit.save(paddle.jit.to_static(f, input_spec=[InputSpec([None, 4])]), str(tmp_path / "m"))


@pytest.mark.parametrize("number", [np.array, np.asarray])
def test_an_array_of_a_size_is_an_operand_of_a_tensor(number, tmp_path):
    """0-d, of int64: a floating tensor keeps its dtype, one of int32 becomes int64."""

    def function(x):
        n = number(x.shape[0])
        return x * n, n + x, x.astype("int32") * number(x.shape)[0], x * number(x.shape, dtype="float32")

    paddle.jit.save(paddle.jit.to_static(function, input_spec=[InputSpec([None, 2])]), str(tmp_path / "m"))
    model = paddle.jit.load(str(tmp_path / "m"))
    for n in (1, 3, 2):
        x = paddle.ones([n, 2])
        for y, z in zip(model(x), function(x), strict=True):
            assert (y.dtype, y.shape) == (z.dtype, z.shape)
            np.testing.assert_array_equal(y.numpy(), z.numpy())


@pytest.mark.parametrize(
    "make",
    [
        lambda n: np.arange(n),
        lambda n: np.zeros((n, 2), "float32"),
        lambda n: np.ones(n),
        lambda n: np.full([n], 2.0),
        lambda n: np.linspace(0, 1, num=n),
        lambda n: np.eye(n),
        lambda n: np.zeros(np.array([n, 1])),
    ],
)
def test_arrays_of_an_open_number_of_elements_name_the_function_that_makes_them(make, tmp_path):
    captured = paddle.jit.to_static(lambda x: paddle.to_tensor(make(x.shape[0])), input_spec=[InputSpec([None, 2])])
    with pytest.raises(TypeError, match=r"\[numpy\.\w+\] requires sizes that are declared[^$]*Call paddle\.\w+ of it"):
        paddle.jit.save(captured, str(tmp_path / "m"))
    known = paddle.jit.to_static(lambda x: paddle.to_tensor(make(x.shape[0])), full_graph=True)
    assert known(paddle.ones([3, 2])).shape[0] == 3
