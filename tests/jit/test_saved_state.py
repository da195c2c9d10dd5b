"""Python state that functions change which branches and loops call: saved models do what eager calls do, or refuse."""

from __future__ import annotations

import bisect
import collections
import contextvars
import functools
import heapq
import importlib
import io
import itertools
import logging
import queue
import random
import threading
import types
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import paddle
from paddle import nn
from paddle.jit.source.errors import ConversionError
from paddle.static import InputSpec

INPUTS = [np.ones([3, 2]), -np.ones([3, 2]), np.arange(10.0).reshape(5, 2) - 3]
COUNT = 0
LOG: list[Any] = []


class Item:
    total = 0

    def __init__(self) -> None:
        self.n, self.last, self.log = 0, None, []

    def hit(self, t: Any) -> Any:
        self.n += 1
        return t

    def keep(self, t: Any) -> Any:
        self.last = t
        return t

    def put(self, t: Any) -> Any:
        self.log.append(t)
        return t

    @classmethod
    def count(cls, t: Any) -> Any:
        cls.total += 1
        return t

    @property
    def drawn(self) -> int:
        self.n += 1
        return self.n

    def __enter__(self) -> Any:
        self.n += 1
        return self

    def __exit__(self, *_: Any) -> None:
        pass


class Slotted:
    __slots__ = ("n",)

    def __init__(self) -> None:
        self.n = 0

    def hit(self, t: Any) -> Any:
        self.n += 1
        return t


# Each makes what a loop or branch calls, and what reads the state behind it.


def cell() -> tuple[Callable, Callable]:
    n = 0

    def hit(t):
        nonlocal n
        n += 1
        return t * 2

    return hit, lambda: n


def of_module() -> tuple[Callable, Callable]:
    global COUNT
    COUNT = 0

    def hit(t):
        global COUNT
        COUNT += 1
        return t

    return hit, lambda: COUNT


def number_in_list() -> tuple[Callable, Callable]:
    n = [[0], 1]

    def hit(t):
        n[0][0] += 1
        return t

    return hit, lambda: n[0][0]


def number_in_dict() -> tuple[Callable, Callable]:
    d = {"n": 0}

    def hit(t):
        d["n"] += 1
        return t

    return hit, lambda: d["n"]


def attribute() -> tuple[Callable, Callable]:
    item = Item()
    return item.hit, lambda: item.n


def slot() -> tuple[Callable, Callable]:
    item = Slotted()
    return item.hit, lambda: item.n


def of_class() -> tuple[Callable, Callable]:
    Item.total = 0
    return Item.count, lambda: Item.total


def of_function() -> tuple[Callable, Callable]:
    def hit(t):
        hit.n += 1
        return t

    hit.n = 0
    return hit, lambda: hit.n


def namespace() -> tuple[Callable, Callable]:
    space = types.SimpleNamespace(n=0)

    def hit(t):
        space.n += 1
        return t

    return hit, lambda: space.n


def default_argument() -> tuple[Callable, Callable]:
    def hit(t, seen=[0]):  # noqa: B006 the mistake that it often is
        seen[0] += 1
        return t * seen[0]

    return hit, lambda: 1


def partial() -> tuple[Callable, Callable]:
    def hit(held, t):
        held[0] += 1
        return t

    held = [0]
    return functools.partial(hit, held), lambda: held[0]


def drawn() -> tuple[Callable, Callable]:
    item = Item()
    return lambda t: t * item.drawn, lambda: item.n


def context() -> tuple[Callable, Callable]:
    item = Item()

    def hit(t):
        with item:
            return t * 3

    return hit, lambda: item.n


def generated_context() -> tuple[Callable, Callable]:
    n = [0]

    @contextmanager
    def counted() -> Iterator[None]:
        n[0] += 1
        yield

    def hit(t):
        with counted():
            return t

    return hit, lambda: n[0]


def in_the_end() -> tuple[Callable, Callable]:
    n = [0]

    def hit(t):
        try:
            return t
        finally:
            n[0] += 1

    return hit, lambda: n[0]


def of_tensor() -> tuple[Callable, Callable]:
    a = paddle.zeros([2])
    a.seen = 0

    def hit(t):
        a.seen += 1
        return t

    return hit, lambda: a.seen


def written_tensor() -> tuple[Callable, Callable]:
    held = Item()

    def hit(t):
        if held.last is None:
            return t
        held.last[0] = held.last[0] + 1
        return t

    def total():
        return held.last.sum()

    hit.start = lambda: held.keep(paddle.zeros([2]))
    return hit, total


def of_thread() -> tuple[Callable, Callable]:
    local = threading.local()
    local.n = 0

    def hit(t):
        local.n += 1
        return t

    return hit, lambda: local.n


def of_library_layer() -> tuple[Callable, Callable]:
    layer = nn.Identity()
    layer.n = 0

    def hit(t):
        layer.n += 1
        return t

    return hit, lambda: layer.n


def weakly_keyed() -> tuple[Callable, Callable]:
    item = Item()
    seen = weakref.WeakKeyDictionary({item: 0})

    def hit(t):
        seen[item] += 1
        return t

    return hit, lambda: seen[item]


STATES = [
    of_thread, of_library_layer, weakly_keyed, cell, of_module, number_in_list, number_in_dict, attribute, slot,
    of_class, of_function, namespace, default_argument,
    partial, drawn, context, generated_context, in_the_end, of_tensor, written_tensor,
]  # fmt: skip


def start(hit: Callable) -> None:
    getattr(hit, "start", lambda: None)()


def rows(state: Callable) -> Callable:
    hit, total = state()

    def f(x):
        start(hit)
        y = x.sum() * 0
        for t in x:
            y = y + hit(t.sum())
        return y + total()

    return f


def left_rows(state: Callable) -> Callable:
    hit, total = state()

    def f(x):
        start(hit)
        y = x.sum() * 0
        for t in x:
            if t.sum() < -3:
                continue
            y = y + hit(t.sum())
            if y > 4:
                break
        return y + total()

    return f


def counted(state: Callable) -> Callable:
    hit, total = state()

    def f(x):
        start(hit)
        i, y = paddle.zeros([], "int64"), x.sum() * 0
        while i < x[-1, -1].abs().astype("int64") + 2:
            y, i = y + hit(x.sum()), i + 1
        return y + total()

    return f


def nested(state: Callable) -> Callable:
    hit, total = state()

    def f(x):
        start(hit)
        return x.sum() * 0 + sum([hit(t.sum()) for t in x if t.sum() > 0 for _ in x]) + total()

    return f


def one_way(state: Callable) -> Callable:
    hit, total = state()

    def f(x):
        start(hit)
        if x.sum() > 0:
            x = hit(x)
        return x + total()

    return f


def operand(state: Callable) -> Callable:
    hit, total = state()

    def f(x):
        start(hit)
        y = x * 2 if x.sum() > 0 and hit(x).sum() < 100 else x
        return y + total()

    return f


def by_size(state: Callable) -> Callable:
    hit, total = state()

    def f(x):
        start(hit)
        if x.shape[0] > 4:
            x = hit(x)
        return x + total()

    return f


STATEMENTS = [rows, left_rows, counted, nested, one_way, operand, by_size]


def saved(f: Any, folder: Any, shape: list[int | None]) -> Any:
    spec = [InputSpec(shape, "float32", "x")]
    paddle.jit.save(f, str(folder / "model"), input_spec=spec)
    return paddle.jit.load(str(folder / "model"))


def check(make: Callable, folder: Any, shape: list[int | None]) -> None:
    model = saved(make(), folder, shape)
    for x in INPUTS:
        if shape[0] in (None, len(x)):
            x = paddle.to_tensor(x, "float32")
            np.testing.assert_allclose(model(x).numpy(), make()(x).numpy(), rtol=1e-5)


@pytest.mark.parametrize("statement", STATEMENTS)
@pytest.mark.parametrize("state", STATES)
def test_state_is_that_of_eager_calls(state, statement, tmp_path):
    check(lambda: statement(state), tmp_path, [None, 2])


@pytest.mark.parametrize("statement", [left_rows, one_way])
@pytest.mark.parametrize("state", STATES)
def test_state_where_sizes_are_known(state, statement, tmp_path):
    check(lambda: statement(state), tmp_path, [3, 2])


# --- lists that grow


def own_list(x):
    log = []

    def hit(t):
        log.append(t.sum())
        return t * 2

    return sum([hit(t) for t in x]) * len(log)


def list_of_object(x):
    item, y = Item(), x.sum() * 0
    for t in x:
        y = y + item.put(t.sum())
    return y * len(item.log) + sum(item.log)


def taken(x):
    stack, y = [1, 2, 3, 4, 5, 6], x.sum() * 0

    def take(t):
        return t * stack.pop()

    for t in x:
        y = y + take(t.sum())
    return y * len(stack)


def one_more(x):
    log = []

    def hit(t):
        log.append(1.0)
        return t * 2

    y = hit(x) if x.sum() > 0 else x
    return y * (len(log) + 1)


@pytest.mark.parametrize("f", [own_list, list_of_object, taken, one_more])
def test_lists_that_called_functions_change_are_arrays(f, tmp_path):
    check(lambda: f, tmp_path, [None, 2])


# --- layers


class Counting(nn.Layer):
    def __init__(self):
        super().__init__()
        self.calls, self.last = 0, None
        self.register_buffer("seen", paddle.zeros([]))

    def forward(self, t):
        self.calls += 1
        self.seen = self.seen + 1
        self.last = t * 2
        return t + self.calls


class Around(nn.Layer):
    def __init__(self):
        super().__init__()
        self.inner = Counting()

    def forward(self, x):
        y = x.sum() * 0
        for t in x:
            y = y + self.inner(t.sum())
        if y > 3:
            y = self.inner(y)
        return y * self.inner.calls + self.inner.seen


@pytest.mark.parametrize("shape", [[None, 2], [3, 2]], ids=["open", "declared"])
def test_attributes_and_buffers_of_layers_inside(shape, tmp_path):
    check(Around, tmp_path, shape)


def test_layers_are_what_they_were_when_a_model_was_saved(tmp_path):
    layer = Around()
    seen = layer.inner.seen
    saved(layer, tmp_path, [None, 2])
    inner = layer.inner
    assert inner.calls == 0 and inner.last is None and inner.seen is seen and list(inner._buffers) == ["seen"]


def test_an_attribute_that_was_none_is_none_again(tmp_path):
    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.kept = None

        def forward(self, x):
            self.kept = x * 2
            return self.kept

    net = Net()
    saved(net, tmp_path, [None, 2])
    assert net.kept is None


def test_variables_of_modules_and_objects_hold_no_tensors_of_the_program(tmp_path):
    global COUNT
    COUNT = 0
    LOG.clear()
    item = Item()

    def hit(t):
        global COUNT
        COUNT += 1
        LOG.append(t)
        return item.keep(t)

    def f(x):
        y = x.sum() * 0
        for t in x:
            y = y + hit(t.sum())
        return y * COUNT

    saved(f, tmp_path, [None, 2])
    assert COUNT == 0 and item.last is None and LOG == []


# --- values that one way has, or no iteration


def is_none(x, item):
    return x * 2 if item.last is None else x * 3


def is_equal(x, item):
    return x * 2 if item.last == 7 else x * 3


def is_kind(x, item):
    return x * 2 if isinstance(item.last, int) else x * 3


def is_true(x, item):
    return x * 2 if item.last else x * 3


def computed(x, item):
    return x + item.last


@pytest.mark.parametrize("reads", [is_none, is_equal, is_kind, is_true, computed])
def test_a_value_without_one_structure_is_refused_where_it_is_read(reads, tmp_path):
    def f(x):
        item = Item()
        item.last = "text"
        if x.sum() > 0:
            item.keep(x)
        return reads(x, item)

    with pytest.raises(
        ConversionError, match=r"requires '?item\.last'? to have one structure.*test_saved_state.py:\d+"
    ):
        saved(f, tmp_path, [None, 2])


def test_a_value_without_one_structure_may_be_left_where_nothing_reads_it(tmp_path):
    def f(x):
        item = Item()
        if x.sum() > 0:
            x = item.keep(x * 2)
        return x

    check(lambda: f, tmp_path, [None, 2])


@pytest.mark.parametrize("value", [3, 2.5, "x"])
def test_getattr_with_a_default_and_hasattr_see_what_one_way_sets(value, tmp_path):
    def read(x):
        item = Item()
        if x.sum() > 0:
            item.other = x * 2 if value == "x" else value
        return x * getattr(item, "other", x if value == "x" else 1)

    def asked(x):
        item = Item()
        if x.sum() > 0:
            item.other = value
        return x * 2 if hasattr(item, "other") else x * 3

    def known(x):
        return x * getattr(Item(), "n", 5) + getattr(Item(), "none", 5) + hasattr(x, "none")

    for f in (read, asked, known):
        check(lambda f=f: f, tmp_path, [None, 2])


# --- caches


class Cached(nn.Layer):
    @functools.cached_property
    def scale(self):
        return paddle.full([2], 3.0)


@functools.lru_cache(None)
def table(n):
    return paddle.full([n], 3.0)


class OfProperty(Cached):
    def mask(self):
        return self.scale


class OfFunction(Cached):
    def mask(self):
        return table(2)


class OfMethod(Cached):
    @functools.lru_cache(None)  # noqa: B019 as people write
    def mask(self):
        return paddle.full([2], 3.0)


def in_branch(self, x):
    if x.sum() > 0:
        x = x * self.mask()
    return x + self.mask()


def in_loop(self, x):
    y = x.sum(0) * 0
    for t in x:
        y = y + t * self.mask()
    return y + self.mask()


@pytest.mark.parametrize("forward", [in_branch, in_loop])
@pytest.mark.parametrize("kind", [OfProperty, OfFunction, OfMethod])
def test_caches_of_functools_keep_nothing_of_a_branch_loop_or_program(kind, forward, tmp_path):
    made = type("Made", (kind,), {"forward": forward})
    table.cache_clear()
    layer = made()
    model = saved(layer, tmp_path, [None, 2])
    for x in INPUTS:
        x = paddle.to_tensor(x, "float32")
        np.testing.assert_allclose(model(x).numpy(), layer(x).numpy())


def test_a_function_with_a_cache_is_called_once_for_what_is_no_tensor(tmp_path):
    calls = []

    @functools.lru_cache(None)
    def factor(n):
        calls.append(n)
        return n * 2.0

    def f(x):
        for _ in x:
            x = x * factor(1) / factor(1)
        return x * factor(1)

    factor(1)
    check(lambda: f, tmp_path, [None, 2])
    assert calls == [1]


def test_loggers_have_caches_that_are_none_of_the_model(tmp_path):
    log = logging.getLogger(__name__)

    def f(x):
        if x.sum() > 0:
            log.debug("positive")
            x = x * 2
        for _ in x:
            log.debug("a row")
        return x

    check(lambda: f, tmp_path, [None, 2])


def test_variables_of_installed_packages_are_none_of_the_model(tmp_path, monkeypatch):
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "installed_for_a_test.py").write_text(
        "SEEN = {}\n\ndef backend(x):\n    return SEEN.setdefault(type(x), len(SEEN))\n"
    )
    monkeypatch.syspath_prepend(folder)
    backend = importlib.import_module("installed_for_a_test").backend

    def f(x):
        if x.sum() > 0:
            x = x * (backend(x) + 2)
        return x

    model = saved(f, tmp_path, [None, 2])
    x = paddle.ones([3, 2])
    np.testing.assert_array_equal(model(x).numpy(), x.numpy() * 2)


def test_a_write_to_the_dict_of_a_layer_is_seen(tmp_path):
    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.n = 0

        def hit(self, x):
            vars(self)["n"] += 1
            return x

        def forward(self, x):
            y = x.sum() * 0
            for t in x:
                y = y + self.hit(t.sum())
            return y * self.n

    check(Net, tmp_path, [None, 2])


# --- what is refused


@pytest.mark.parametrize("change", [heapq.heappush, bisect.insort, bisect.insort_left])
def test_functions_that_order_a_list_name_what_orders_tensors(change, tmp_path):
    def f(x):
        items = []
        for t in x:
            change(items, t.sum())
        return items[0]

    name = f"{change.__module__.lstrip('_')}.{change.__name__}"
    with pytest.raises(TypeError, match=rf"\[{name}\] requires a list .* Append to the list, and call paddle.sort"):
        saved(f, tmp_path, [None, 2])


def test_a_key_of_one_way_is_refused_with_what_to_do(tmp_path):
    known = {}

    def f(x):
        if x.sum() > 0:
            known["a"] = 1
        return x

    with pytest.raises(ConversionError, match=r"Set the keys before the statement, to None, say; functools.lru_cache"):
        saved(f, tmp_path, [None, 2])


def array():
    a = np.zeros(2)

    def hit():
        a[0] += 1

    return a, hit


def array_of_objects():
    a = np.array([None, 1], object)

    def hit():
        a[0] = 3

    return a, hit


def sequence():
    it = iter([1, 2, 3])
    return it, lambda: next(it)


def generator():
    it = (n for n in range(9))
    return it, lambda: next(it)


def numbered():
    it = enumerate("abc")
    return it, lambda: next(it)


def zipped():
    it = zip([1, 2, 3], [4, 5, 6])
    return it, lambda: next(it)


def mapped():
    it = map(abs, [1, 2, 3])
    return it, lambda: next(it)


def composed(make):
    def made():
        it = make()
        return it, lambda: next(it)

    made.__name__ = make.__name__
    return made


def around():
    it = itertools.cycle([1, 2])
    next(it), next(it), next(it)
    return it


def chained():
    return itertools.chain([1], [2, 3])


def sliced():
    return itertools.islice([1, 2, 3, 4], 3)


def counting():
    return itertools.count(5)


def of_python():
    return None, random.random


def of_numpy():
    return None, np.random.rand


def own_of_python():
    r = random.Random(3)
    return r, r.random


def own_of_numpy():
    r = np.random.default_rng(3)
    return r, r.random


def older_of_numpy():
    r = np.random.RandomState(3)
    return r, r.rand


def one_item():
    s = set()
    return s, lambda: s.add(1)


def one_key():
    d = {}
    return d, lambda: d.update(a=1)


def other_order():
    d = collections.OrderedDict(a=1, b=2)
    return d, lambda: d.move_to_end("a")


def two_ends():
    d = collections.deque([1])
    return d, lambda: d.append(2)


def of_bytes():
    b = bytearray(2)
    return b, lambda: b.append(1)


def of_text():
    s = io.StringIO()
    return s, lambda: s.write("a")


class Own(list):
    pass


def own_kind():
    x = Own()
    return x, lambda: x.append(1)


def waiting():
    q = queue.Queue()
    return q, lambda: q.put(1)


def of_context():
    v = contextvars.ContextVar("v", default=0)
    return v, lambda: v.set(v.get() + 1)


def of_memory():
    m = memoryview(bytearray(2))

    def hit():
        m[0] += 1

    return m, hit


REFUSED = [
    of_context, of_memory, array, array_of_objects, sequence, generator, numbered, zipped, mapped,
    *map(composed, (around, chained, sliced, counting)), of_python, of_numpy, own_of_python, own_of_numpy,
    older_of_numpy, one_item, one_key, other_order, two_ends, of_bytes, of_text, own_kind, waiting,
]  # fmt: skip


PERMANENT = (one_key, other_order)  # as each iteration leaves what the first has left


@pytest.mark.parametrize(
    ("make", "where"),
    [(make, "branch") for make in REFUSED] + [(make, "loop") for make in REFUSED if make not in PERMANENT],
)
def test_a_change_of_what_no_operation_stands_for_is_refused(make, where, tmp_path):
    held, hit = make()

    def branch(x):
        if x.sum() > 0:
            hit()
        return x * 2, held

    def loop(x):
        for _ in x:
            hit()
        return x * 2, held

    random.seed(1)
    np.random.seed(1)
    with pytest.raises(ConversionError, match=r"\[to_static\] requires .* at \S*test_saved_state.py:\d+"):
        saved(branch if where == "branch" else loop, tmp_path, [None, 2])


@pytest.mark.parametrize("make", [around, chained, sliced, counting])
def test_captured_functions_refuse_iterators_that_one_way_advances(make):
    def f(x):
        it = make()
        if x.sum() > 0:
            x = x * next(it)
        return x * next(it)

    with pytest.raises(ConversionError, match="an iterator"):
        paddle.jit.to_static(f, full_graph=True)(paddle.ones([2]))
