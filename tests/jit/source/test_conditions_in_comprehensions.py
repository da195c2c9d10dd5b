"""Conditions on open sizes in comprehensions of lists go both ways, those of dicts one: an error says what to write."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import paddle
from paddle.static import InputSpec


def in_a_list(x):
    return x * len([n for n in (1, 2) if n < x.shape[0]])


def in_a_sum(x):
    return x * sum(n for n in (1, 2) if n < x.shape[0])


def in_a_dict(x):
    return x * max({n: n for n in (1, 2) if n <= x.shape[0]})


def as_statements(x):
    rows = 0
    for n in (1, 2):
        if n < x.shape[0]:
            rows += n
    return x * rows


def saved(f, folder):
    spec = [InputSpec([None, 3], "float32", "x")]
    paddle.jit.save(paddle.jit.to_static(f, input_spec=spec, full_graph=True), str(folder / "model"))
    return paddle.jit.load(str(folder / "model"))


def test_the_error_says_what_to_write(tmp_path):
    model = saved(in_a_dict, tmp_path)
    x = paddle.ones([4, 3])
    assert model(x).tolist() == in_a_dict(x).tolist()
    with pytest.raises(ValueError, match=r"(?s)recorded for sizes with 2 <= x_0\. .* as an if statement.*\.py"):
        model(x[:1])


def rows(x):
    return paddle.stack([x[i] * i for i in range(x.shape[0])]).sum(0)


def some_rows(x):
    return sum(r.sum() for r in x if r.sum() > 3) + len([r for r in x if r.mean() > 1])


def nested(x):
    return paddle.stack([x[i] + j for i in range(x.shape[0]) for j in range(3) if i > j or x.shape[0] < 3])


def inside_of_another(x):
    return paddle.stack([paddle.stack([x[i, j] * j for j in range(3)]) for i in range(x.shape[0])])


def quantified(x):
    return x * (2 if any(n > 3 for n in x.shape) else 3) * (5 if all(n > 2 for n in x.shape if n != 3) else 7)


def by_pairs(x):
    items = [r * 2 for r in x]
    products = [a * b for a, b in zip(items, items[::-1])]
    return paddle.stack(products + [a * i for i, a in enumerate(items)])


def last_bound(x):
    scaled = [lambda y: y * k for k in range(x.ndim + 1)]  # noqa: B023
    return sum(f(x) for f in scaled)


def some_lists(x):
    """Ends, places and numbers of lists that grow."""
    items = []
    for i in range(x.shape[0]):
        items.append(x[i] * i)
    last = items.pop()
    back = last * 0
    for row in reversed(items):
        back = back * 0.5 + row
    items.extend([last, back])
    return paddle.stack(items[-2:]), paddle.stack(list(items))


def some_numbers(x):
    items = [i * 3 % 7 for i in range(x.shape[0])]
    found = x * items.index(0) + items.count(3) * (2 if 6 in items else 3) + max(items) - min(items)
    items.remove(0)
    return found + (1 if all(items) else 2) + (4 if any(items) else 8), paddle.to_tensor(sorted(items, reverse=True))


BOTH = (
    in_a_list, in_a_sum, as_statements, rows, some_rows, nested, inside_of_another, quantified, by_pairs, last_bound,
    some_lists, some_numbers,
)  # fmt: skip


@pytest.mark.parametrize("f", BOTH, ids=lambda f: f.__name__)
def test_lists_go_both_ways(f, tmp_path):
    model = saved(f, tmp_path)
    for n in (2, 3, 4, 5, 8):
        x = paddle.arange(n * 3, dtype="float32").reshape([n, 3]) / n
        want, got = f(x), model(x)
        for a, b in zip(got if type(got) is list else [got], want if type(want) is tuple else [want], strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-6)


def test_a_number_that_is_not_in_a_list_is_refused(tmp_path):
    def f(x):
        return x * [i * 2 for i in range(x.shape[0])].index(6)

    model = saved(f, tmp_path)
    assert model(paddle.ones([4, 3])).tolist() == f(paddle.ones([4, 3])).tolist()
    with pytest.raises(ValueError, match=r"is not in list|x not in list"):
        model(paddle.ones([3, 3]))


def stops_at_the_item_that_decides(x):
    asked = []

    def positive(n):
        asked.append(n)
        return 1 / n > 0

    found = any(positive(n) for n in (1, 0) if n < 5), all(not positive(n) for n in (2, 0) if n < 5)
    found += any(positive(n) for n in (3, 0)), any(n > 3 for n in itertools.count())
    found += (any((last := n) > 1 for n in range(5) if n >= 0),)
    return x * len(asked) * sum(found) * last


def own_functions(x):
    def sum(items):
        return next(items) * 10

    return x * sum(i + 2 for i in range(3)) * set(i for i in (4, 5) if i)


def set(items):
    return next(items)


def a_generator_that_ends_early(x):
    items = iter([1, 2])
    try:
        return x * len(list(next(items) for _ in range(3)))  # noqa: C400
    except RuntimeError:
        return x * 7


def of_chosen_rows(x):
    chosen = [r.sum() for r in x if r[0] > 0.5]
    found = any(r.sum() > 8 for r in x if r[0] > 0), all(r.sum() > 1 for r in x if r[0] > 0.5)
    above = [s > 9 for s in chosen]
    return [x * 2 if one else x for one in (*found, any(above))], max(chosen), min(chosen)


def sums(x):
    return sum((r.sum() for r in x), 5.0), sum((r for r in x if r[0] > 0.5), x[0]), sum([r[0] > 0.5 for r in x])


AS_WRITTEN = (stops_at_the_item_that_decides, own_functions, a_generator_that_ends_early, of_chosen_rows, sums)


@pytest.mark.parametrize("f", AS_WRITTEN, ids=lambda f: f.__name__)
def test_what_takes_a_generator_asks_as_much_of_it_as_python_does(f, tmp_path):
    model, one_graph = saved(f, tmp_path), paddle.jit.to_static(f, full_graph=True)
    for n in (3, 4, 5):
        x = paddle.arange(n * 3, dtype="float32").reshape([n, 3]) / n
        want = paddle.utils.flatten(f(x))
        for found in (model(x), one_graph(x)):
            for a, b in zip(paddle.utils.flatten(found), want, strict=True):
                np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-6)


def test_lists_that_grow_are_not_compared(tmp_path):
    def f(x):
        return x * (2 if [i * 2 for i in range(x.shape[0])] == [0, 2] else 3)

    with pytest.raises(TypeError, match="a list whose length is known"):
        saved(f, tmp_path)
    one_graph = paddle.jit.to_static(f, full_graph=True)
    for n in (2, 3):
        assert one_graph(paddle.ones([n, 3])).tolist() == f(paddle.ones([n, 3])).tolist()
