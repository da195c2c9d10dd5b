"""Sizes that data decide in functions that are one graph: numbers that the program reads when it runs."""

from __future__ import annotations

import re

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from paddle.distributed.fleet.utils import recompute
from paddle.jit import to_static
from paddle.jit.source.errors import ConversionError
from umiak.runtime.capture import CaptureError

WIDTH = 3
RNG = np.random.default_rng(7)
SOME = RNG.standard_normal((4, WIDTH)).astype("float32")
# Twice two sizes of the input, so that all later calls are served by what is there; none and all are chosen, too.
CALLS = [SOME, -SOME, -np.abs(SOME), np.abs(SOME)]
CALLS += [RNG.standard_normal((n, WIDTH)).astype("float32") for n in (6, 9, 5, 7)]


def rows_of_a_mask(x):
    return x[x[:, 0] > 0].exp().sum(0)


def elements_of_masks(x):
    y = x * 2
    return y[y > 0.1].square().sum() * paddle.masked_select(y, y < -0.5).sum()


def places(x):
    at = paddle.nonzero(x > 0)
    return paddle.gather_nd(x * x, at).sum() + at.shape[0]


def places_by_dim(x):
    i, j = paddle.where(x > 0)
    return (x[i.flatten(), j.flatten()] ** 3).sum(), i, j


def distinct(x):
    values, at, counts = paddle.unique((x * 2).round(), return_inverse=True, return_counts=True)
    return values, at, counts, (values.sum() + x.square()).sum()


def distinct_in_a_row(x):
    values, counts = paddle.unique_consecutive((x > 0).astype("int32"), return_counts=True)
    return values, counts, x.square().sum()


def an_int_of_a_tensor(x):
    n = int((x > 0).sum())
    return (x.flatten()[:n] ** 2).sum(), paddle.zeros([n, 4]) + x.sum(), paddle.arange(n)


def an_item(x):
    n = (x > 0).sum().item()
    return x.flatten()[n:], paddle.full([n, 2], 3.0), paddle.ones([n * 2]).reshape([n, 2])


def a_tensor_as_a_size(x):
    n = (x > 0).sum()
    parts = paddle.split(x.flatten().square(), [n, -1])
    return *parts, F.pad(x, [0, 0, n, 0]), x[:1].expand([n, WIDTH]).sum(), x.flatten().tensor_split([n, 10])[0]


def counts_of_numbers(x):
    ids = (x[:, :2] > 0).astype("int64").sum(1)
    return paddle.bincount(ids), F.one_hot(ids, -1), F.sequence_mask(ids), paddle.geometric.segment_sum(x, ids.sort())


def rows_repeated(x):
    each = paddle.repeat_interleave(x, (x[:, :2] > 0).astype("int64").sum(1), axis=0)
    n = (x > 0).sum()
    return each.square().sum(0), x.repeat_interleave(n, axis=1), paddle.repeat_interleave(x * 2, int(n + 1))


def size_as_a_number(x):
    kept = x[x > 0]
    return kept.shape[0], len(kept) + 1, {"shape": kept.shape}, kept.sum() / (kept.shape[0] + 1)


def ways(x):
    kept = x[x > 0]
    if kept.shape[0] > 3:
        return kept.square().mean()
    return x.sum()


def within_ways(x):
    if x.sum() > 0:
        y = x[x > 0].square().sum()
    else:
        y = x[x < 0].exp().sum() * 2
    return y * y


def numbers_of_ways(x):
    n, sizes = 1, [2, 3]
    if x.sum() > 0:
        n = x[x > 0].shape[0] * 2
        sizes[0] = n + 1
    elif x.max() > 0:
        n = x[x < 0].shape[0] if x[0, 0] > 0 else x[x > 0].shape[0]
    return paddle.full([n], 2.0) * x.sum(), paddle.zeros(sizes)


def within_a_loop(x):
    i, total = paddle.zeros([], "int64"), paddle.zeros([])
    while i < 3:
        total = total + (x[i][x[i] > 0] ** 2).sum()
        i += 1
    return total


def shrinking(x):
    rest = x.flatten()
    while rest.shape[0] > 2:
        rest = rest[rest > rest.mean()]
    return rest.sum()


def over_rows(x):
    kept, total = x[x[:, 0] > 0], x[0] * 2
    for i in range(kept.shape[0]):
        total = total * 0.5 + kept[i] * i
    return total


def listed(x):
    kept = x[x[:, 0] > 0]
    return sum([kept[i] * i for i in range(kept.shape[0])]) + x[0], [row.sum() for row in kept]


def written_by_masks(x):
    y = x * 3
    y[y > 1] = y[y > 1] * y[y > 1]
    y[paddle.nonzero(y[:, 0] < 0).flatten()] = 0.5
    return y


def hard_examples(x):
    """A loss as detectors have it."""
    score = x.flatten()
    positive, negative = paddle.nonzero(score > 0.5).flatten(), paddle.nonzero(score <= 0.5).flatten()
    k = paddle.minimum(paddle.to_tensor(negative.shape[0]), paddle.to_tensor(3))
    hard = paddle.topk(paddle.gather(score, negative), int(k))[0]
    return F.softplus(-score[positive]).sum() / (positive.shape[0] + 1) + F.softplus(hard).sum()


FAMILIES = [
    rows_of_a_mask, elements_of_masks, places, places_by_dim, distinct, distinct_in_a_row, an_int_of_a_tensor, an_item,
    a_tensor_as_a_size, counts_of_numbers, rows_repeated, size_as_a_number, ways, within_ways, numbers_of_ways,
    within_a_loop, shrinking, over_rows, listed, written_by_masks, hard_examples,
]  # fmt: skip


def values(results):
    found = paddle.utils.flatten(results)
    return [x.numpy() if isinstance(x, paddle.Tensor) else np.asarray(x) for x in found]


def same(found, wanted):
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=1e-5)
        assert a.shape == b.shape


def with_gradients(function, x, twice):
    """Results, and the gradient of a sum over them, or of the square of that; asked for twice."""
    given = paddle.to_tensor(x, stop_gradient=False)
    results = function(given)
    ys = [y for y in paddle.utils.flatten(results) if isinstance(y, paddle.Tensor) and not y.stop_gradient]
    loss = sum((y * y).sum() for y in ys)
    if twice:
        (g,) = paddle.grad(loss, [given], create_graph=True)
        loss = loss + (g * g).sum()
    loss.backward(retain_graph=True)
    first = given.grad.numpy()
    loss.backward()
    return [*values(results), first, given.grad.numpy()]


@pytest.mark.parametrize("function", FAMILIES, ids=lambda f: f.__name__)
def test_families(function):
    graph = to_static(function, full_graph=True)
    with paddle.no_grad():
        for x in CALLS:
            same(values(graph(paddle.to_tensor(x))), values(function(paddle.to_tensor(x))))
    assert graph.get_traced_count() == 2  # for the first size, and for any
    if function is size_as_a_number:
        return
    for number, x in enumerate(CALLS):
        same(with_gradients(graph, x, number % 2 == 1), with_gradients(function, x, number % 2 == 1))
    assert graph.get_traced_count() == 3  # with a gradient
    assert graph.fallbacks == graph.graph_breaks == []


def test_all_calls_are_one_program():
    graph = to_static(elements_of_masks, full_graph=True)
    for x in CALLS[:4]:
        graph(paddle.to_tensor(x))
    (captured,) = graph._captures()
    assert sum(o.name == "read_number" for o in captured.program.ops) == 2


def test_what_only_computes_is_not_read():
    """A number that is no size stays a tensor: the program is one call in C."""

    def function(x):
        n = (x > 0).sum()
        return x * n.item() + int(n), x[n - 1]

    graph = to_static(function, full_graph=True)
    for x in ([1.0, -1.0], [2.0, 3.0]):
        same(values(graph(paddle.to_tensor(x))), values(function(paddle.to_tensor(x))))
    (captured,) = graph._captures()
    assert not any(o.name == "read_number" for o in captured.program.walk())


class Detector(paddle.nn.Layer):
    def __init__(self, form):
        super().__init__()
        self.form = form
        self.a, self.b = paddle.nn.Linear(4, 8), paddle.nn.Linear(8, 3)
        self.drop = paddle.nn.Dropout(0.3)

    def features(self, x):
        return F.relu(self.a(x))

    def loss(self, x, labels):
        h = recompute(self.features, x) if self.form == "recompute" else self.features(x)
        y = self.b(self.drop(h))
        at = paddle.nonzero(labels >= 0).flatten()
        rest = y[labels < 0]
        return F.cross_entropy(y[at], labels[at]) + rest.square().sum() / (rest.shape[0] + 1)

    def forward(self, x, labels):
        with paddle.amp.auto_cast(self.form == "amp", dtype="bfloat16"):
            return self.loss(x, labels)


def batches():
    rng = np.random.default_rng(5)
    for n in (6, 6, 9, 5, 6):
        labels = rng.integers(-1, 3, n)
        labels[0] = 1
        yield paddle.to_tensor(rng.standard_normal((n, 4)).astype("float32")), paddle.to_tensor(labels)


def trained(form, inside, captured):
    paddle.seed(3)
    layer = Detector(form)
    optimizer = paddle.optimizer.AdamW(0.05, parameters=layer.parameters())

    def step(x, labels):
        loss = layer(x, labels)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return loss

    if captured and inside:
        step = to_static(step, full_graph=True)
    elif captured:
        layer = to_static(layer, full_graph=True)
    losses = [step(*batch).numpy() for batch in batches()]
    return [*losses, *(p.numpy() for p in layer.parameters())]


@pytest.mark.parametrize("inside", [False, True], ids=["outside", "inside"])
@pytest.mark.parametrize("form", ["plain", "amp", "recompute"])
def test_training(form, inside):
    for a, b in zip(trained(form, inside, True), trained(form, inside, False), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-2 if form == "amp" else 1e-4, atol=1e-5)


def test_random_numbers_of_a_size_that_data_decide():
    """A run takes as many words as eager calls do."""

    def function(x):
        n = (x > 0).sum()
        return paddle.rand([n, 2]), F.dropout(x[x > 0], 0.5), paddle.rand([3])

    graph = to_static(function, full_graph=True)
    for x in CALLS:
        found = []
        for f in (graph, function):
            paddle.seed(11)
            found.append(values(f(paddle.to_tensor(x))) + values(paddle.rand([2])))
        same(*found)


@pytest.mark.parametrize("wrong", ["reshaped", "joined", "raised"])
def test_what_does_not_hold_is_the_error_of_eager_calls(wrong):
    """It is raised where everything is as it was before the call, but for what comes before the line."""
    count = paddle.zeros([WIDTH])

    def function(x):
        count.set_value(count + 1)
        kept = x[x > 0]
        if wrong == "raised" and kept.shape[0] == 0:
            raise KeyError("nothing is left")
        return {"reshaped": lambda: kept.reshape([2, -1]), "joined": lambda: kept + x[:2, 0]}.get(wrong, kept.sum)()

    graph = to_static(function, full_graph=True)
    good = paddle.to_tensor([[1.0, -1.0, -1.0], [1.0, -1.0, -1.0]])
    bad = {"reshaped": [[1.0, -1.0, -1.0]], "joined": [[1.0, 1.0, 1.0]] * 2, "raised": [[-1.0] * 3]}[wrong]
    for x in (good, good, good):
        graph(x)
    kind = KeyError if wrong == "raised" else ValueError
    with pytest.raises(kind, match=r"\[reshape\]|\[add\]|nothing is left") as eager:
        function(paddle.to_tensor(bad))
    with pytest.raises(kind, match=re.escape(str(eager.value))):
        graph(paddle.to_tensor(bad))
    assert count.tolist() == [5.0] * WIDTH


def test_data_for_which_the_library_goes_another_way():
    """Such calls run as they were written, and the function says so."""

    def function(x):
        return paddle.median(x[x > 0]), x.sum()

    graph = to_static(function, full_graph=True)
    for x in (SOME, -np.abs(SOME), SOME):
        same(values(graph(paddle.to_tensor(x))), values(function(paddle.to_tensor(x))))
    assert len(graph.fallbacks) == 1 and "recorded for sizes" in graph.fallbacks[0]
    assert graph.get_traced_count() == 1


def in_a_text(x):
    return f"{x[x > 0].shape[0]} of them"


def as_an_index(x):
    return [1, 2, 3][x[x > 0].shape[0]]


@pytest.mark.parametrize("function", [in_a_text, as_an_index], ids=lambda f: f.__name__)
def test_a_number_that_python_needs_is_refused(function):
    graph = to_static(function, full_graph=True)
    with pytest.raises(CaptureError, match=r"Python needs a number here that data decide.*test_data_sizes.py:"):
        graph(paddle.to_tensor(SOME))


def test_ways_of_other_structures_are_refused():
    def function(x):
        kept = x[x > 0]
        return kept if kept.shape[0] > 1 else (kept, kept)

    with pytest.raises(ConversionError, match="one structure"):
        to_static(function, full_graph=True)(paddle.to_tensor(SOME))
