"""Lists whose length a loop or branch on tensors or open sizes decides: as eager calls have them, in captured functions
with their gradients, and in models that are saved."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import paddle
from paddle.inference import Config, create_predictor
from paddle.jit.source.errors import ConversionError

X = np.linspace(-1, 1, 12, dtype="float32").reshape(4, 3)


def rows(x, n):
    outs = []
    for i in range(x.shape[0]):
        outs.append(paddle.tanh(x[i]) + n)
    return paddle.stack(outs), paddle.concat(outs)


def slices(x, n):
    outs = []
    for i in range(x.shape[0]):
        outs.append(x[i : i + 1] * 2 + n)
    return paddle.concat(outs)


def last(x, n):
    outs, i = [x[0]], paddle.zeros([], "int64")
    while i < n:
        outs.append(paddle.sin(outs[-1] + outs[0]) + x.mean(0))
        i = i + 1
    return paddle.stack(outs, 1), outs[-1], len(outs) + 0 * x.sum()


def popped(x, n):
    stack, i = [x.sum(0)], paddle.zeros([], "int64")
    while i < n:
        y = stack.pop()
        stack.append(paddle.tanh(y))
        stack.extend([y * 0.5, y + i])
        stack[0] = stack[0] * 0.5
        i = i + 1
    y = stack.pop()
    stack.insert(0, y)
    stack.reverse()
    return paddle.stack(stack), y


def chosen(x, n):
    outs = [x[0]]
    if n > 1:
        outs.append(x[1])
        outs.append(x[0] * 2)
    for i in range(n):
        if i % 2 == 0:
            outs.append(x[0] + i)
    return paddle.concat(outs), paddle.add_n(outs), sum(outs)


def gone_over(x, n):
    outs, total = [x[0] * 2], x.sum(0)
    for i in range(n):
        outs.append(total * 0.5)
        total = paddle.tanh(total) + i
    for k, y in enumerate(outs):
        total = total * 0.5 + y * k
    while outs:
        total = total + outs.pop()
    return total


def nested(x, n):
    outs = [x[0]]
    for i in range(n):
        inner = [x[1]]
        for j in range(i):
            inner.append(inner[-1] * 0.5 + j)
            outs.append(paddle.stack(inner).sum(0))
    return paddle.stack(outs)


class Holder:
    def __init__(self, y):
        self.held = [y]


def held(x, n):
    """By another function, of an object, in a dict."""
    holder, those = Holder(x[0]), {"a": [x[1]]}

    def add(items, y):
        items.append(y)

    for i in range(n):
        add(holder.held, x.mean(0) * i)
        those["a"].append(holder.held[-1] + 1.0)
    return paddle.stack(holder.held), paddle.concat(those["a"] + [x[2]])


def numbers(x, n):
    lengths = [1]
    for i in range(n):
        lengths.append(i * 2)
    return paddle.stack(lengths) if isinstance(lengths[0], paddle.Tensor) else paddle.to_tensor(lengths)


def array(x, n):
    """Arrays of the static programs' functions are lists in other code."""
    a = paddle.tensor.create_array("float32")
    for i in range(n + 1):
        paddle.tensor.array_write(paddle.tanh(x[0]) + i, i, a)
    paddle.tensor.array_write(paddle.tensor.array_read(a, n) * 2, paddle.zeros([], "int64"), a)
    return paddle.stack(a)


def by_class(x, n):
    outs = [x[0]]
    for i in range(n):
        list.append(outs, paddle.tanh(x[1]) * i)
        list.extend(outs, (outs[-1] + 1.0, x[0]))
        operator.setitem(outs, 0, outs[0] * 0.5)
        list.pop(outs)
    return paddle.stack(outs)


def by_slices(x, n):
    outs = [x[0], x[1]]
    for i in range(n):
        outs[len(outs) :] = [outs[-1] * 0.5, x[2] + i]
        outs[:1] = (outs[0] + 1.0,)
        outs[1:-1] = outs[1:-1]
        del outs[-1:]
        outs[-9:0] = [x[0]]
    return paddle.stack(outs), outs[-1]


def by_sums(x, n):
    """A name has another list each time; the one that it had before stays as it was."""
    outs = first = [x[0]]
    i = paddle.zeros([], "int64")
    while i < n:
        outs = outs + [paddle.tanh(x[1]) + i]  # noqa: RUF005
        i = i + 1
    if n > 2:
        outs = [x[2], *outs, x[1]] * 2
    for _ in range(n):
        outs = (outs + [x[0]])[-3:]  # noqa: RUF005
    return paddle.stack(outs), paddle.stack(first)


def by_copies(x, n):
    outs, i = [x[0]], paddle.zeros([], "int64")
    while i < n:
        more = outs.copy() if n > 2 else list(outs)
        more.append(outs[-1] * 0.5 + i)
        outs = more
        i = i + 1
    return paddle.concat(outs)


FUNCTIONS = [
    rows, slices, last, popped, chosen, gone_over, nested, held, array, by_class, by_slices, by_sums, by_copies,
]  # fmt: skip


def listed(ys):
    return list(ys) if isinstance(ys, (list, tuple)) else [ys]


def same(found, wanted):
    assert len(found) == len(wanted)
    for y, z in zip(found, wanted, strict=True):
        np.testing.assert_allclose(y.numpy().reshape(z.shape), z.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_captured_functions_do_what_eager_calls_do(function):
    captured = paddle.jit.to_static(function, full_graph=True)
    for n, count in ((2, 4), (0, 3), (5, 3), (3, 4)):
        given = [paddle.to_tensor(X[:count], stop_gradient=False) for _ in range(2)]
        wanted, found = (listed(f(x, paddle.to_tensor(n))) for f, x in zip((function, captured), given, strict=True))
        same(found, wanted)
        for ys in (wanted, found):
            sum((paddle.tanh(y) * y).sum() for y in ys if not y.stop_gradient).backward()
        np.testing.assert_allclose(given[1].grad.numpy(), given[0].grad.numpy(), rtol=1e-4, atol=1e-5)
    assert not captured.fallbacks


@pytest.mark.parametrize("function", FUNCTIONS)
def test_models_do_what_functions_do(function, tmp_path):
    prefix = str(tmp_path / "m")
    specs = [paddle.static.InputSpec([None, 3], "float32", "x"), paddle.static.InputSpec([], "int64", "n")]
    paddle.jit.save(function, prefix, specs)
    loaded = paddle.jit.load(prefix)
    predictor = create_predictor(Config(prefix + ".json", prefix + ".pdiparams"))
    assert predictor._prepared.tail is None
    for n, count in ((2, 4), (0, 3), (5, 3)):
        given = [paddle.to_tensor(X[:count]), paddle.to_tensor(n)]
        wanted = listed(function(*given))
        same(listed(loaded(*given)), wanted)
        same(predictor.run(given), wanted)


def test_a_list_of_numbers_becomes_one_of_tensors():
    captured = paddle.jit.to_static(numbers, full_graph=True)
    for n in (2, 0, 5):
        assert captured(None, paddle.to_tensor(n)).tolist() == [1, *(2 * i for i in range(n))]


def test_a_list_is_a_result_of_a_captured_function():
    @paddle.jit.to_static(full_graph=True)
    def parts(x, n):
        outs = []
        for i in range(n):
            outs.append(x * i)
        return outs

    x = paddle.to_tensor(X, stop_gradient=False)
    for n in (2, 0, 3):
        found = parts(x, paddle.to_tensor(n))
        assert type(found) is list and len(found) == n
        same(found, [x * i for i in range(n)])


def test_what_cannot_be_is_refused_with_the_line(tmp_path):
    specs = [paddle.static.InputSpec([None, 3], "float32", "x"), paddle.static.InputSpec([], "int64", "n")]

    def mixed(x, n):
        outs = [x[0]]
        for i in range(n):
            outs.append((x[0], i))
        return paddle.stack(outs)

    def other_shapes(x, n):
        outs = [x[0]]
        for _ in range(n):
            outs.append(x[:2])
        return paddle.concat(outs)

    def counted_by_python(x, n):
        outs = [x[0]]
        for i in range(n):
            outs.append(x[0] * i)
        return [y + 1 for y in outs]

    def of_tuples(x, n):
        outs = (x[0],)
        for _ in range(n):
            outs = (*outs, x[1])
        return paddle.stack(outs)

    def of_two_kinds(x, n):
        outs = [x[0]] if n > 2 else (x[1],)
        return outs[0]

    for function, match in (
        (of_tuples, "Make it of one kind on all ways, .* a list may grow"), (of_two_kinds, "Make it of one kind"),
        (mixed, "one shape and dtype"), (other_shapes, "one shape.*'outs'"),
    ):  # fmt: skip
        with pytest.raises((ConversionError, TypeError), match=match) as error:
            paddle.jit.save(function, str(tmp_path / "m"), specs)
        assert any(entry.path.name == "test_growing_lists.py" for entry in error.traceback[1:])
    with pytest.raises(ValueError, match=r"got a list whose length .*Return paddle\.stack of it"):
        paddle.jit.save(counted_by_python, str(tmp_path / "m"), specs)

    outside = [paddle.ones([3])]

    @paddle.jit.to_static(full_graph=True)
    def from_outside(x, n):
        for i in range(n):
            outside.append(x[0] * i)
        return paddle.stack(outside)

    with pytest.raises(Exception, match="made in the function itself"):
        from_outside(paddle.to_tensor(X), paddle.to_tensor(2))
    assert len(outside) == 1


def test_lists_of_data_in_loops_on_sizes_that_are_known_to_run(tmp_path):
    """A first iteration that surely runs is no reason to take the others for known."""

    def f(x):
        rows = []
        for i in range(x.shape[0]):
            if x[i, 0] < 0:
                continue
            rows.append(x[i] * i)
        rows.append(x[0])
        return paddle.stack(rows)

    path = str(tmp_path / "m")
    spec = [paddle.static.InputSpec([None, None], "float32", "x")]
    paddle.jit.save(paddle.jit.to_static(f, input_spec=spec, full_graph=True), path)
    predictor = paddle.inference.create_predictor(paddle.inference.Config(path + ".json", path + ".pdiparams"))
    for n in (1, 2, 5):
        x = paddle.to_tensor(np.cos(np.arange(n * 3)).astype("float32").reshape(n, 3))
        for got in (paddle.jit.load(path)(x), *predictor.run([x])):
            np.testing.assert_allclose(got.numpy(), f(x).numpy(), rtol=1e-6)
    paddle.enable_static()
    try:
        executor = paddle.static.Executor()
        program, names, fetched = paddle.static.load_inference_model(path, executor)
        (got,) = executor.run(program, {names[0]: x.numpy()}, fetched)
    finally:
        paddle.disable_static()
    np.testing.assert_allclose(got, f(x).numpy(), rtol=1e-6)
