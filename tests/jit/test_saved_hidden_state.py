"""What branches and loops of saved models change, and code asks Python for: which names there are, flags of tensors,
the environment, clocks, counts of caches. A model does what eager calls do, or is refused by the line that asks."""

from __future__ import annotations

import datetime
import functools
import os
import time

import numpy as np
import pytest

import paddle
from paddle import nn
from paddle.jit.source.errors import ConversionError
from paddle.static import InputSpec

INPUTS = [np.ones([3, 2]), -np.ones([3, 2]), np.arange(10.0).reshape(5, 2) - 3]


class Item:
    def __init__(self):
        self.a = 1


def saved(f, folder):
    paddle.jit.save(f, str(folder / "model"), input_spec=[InputSpec([None, 2], "float32", "x")])
    return paddle.jit.load(str(folder / "model"))


def by_branch(x, item):
    if x.sum() > 0:
        item.zz = 2


def by_method(x, item):
    def change():
        item.zz = 2

    if x.sum() > 0:
        change()


def by_loop(x, item):
    i = paddle.zeros([])
    while i < x.sum():
        item.zz = 2
        i = i + 1


def in_vars(x, item):
    return x * 2 if "zz" in vars(item) else x


def in_dict(x, item):
    return x * 2 if "zz" not in item.__dict__ else x


def in_getattr(x, item):
    return x * 2 if "zz" in getattr(item, "__dict__") else x  # noqa: B009 the dict is asked for in this way


def got(x, item):
    return x * vars(item).get("zz", 5)


def without_default(x, item):
    return x if vars(item).get("zz") is None else x * 3


def others_are_there(x, item):
    item.__dict__["b"] = 3
    return x * vars(item)["a"] + item.__dict__.get("b") + ("b" in vars(item))


CHANGES = [by_branch, by_method, by_loop]


@pytest.mark.parametrize("make", [Item, nn.Layer])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("asks", [in_vars, in_dict, in_getattr, got, without_default, others_are_there])
def test_a_name_that_one_way_sets_is_asked_for(asks, change, make, tmp_path):
    def f(x):
        item = made()
        change(x, item)
        return asks(x, item)

    def made():
        item = make()
        item.a = 1
        return item

    model = saved(f, tmp_path)
    for x in INPUTS:
        x = paddle.to_tensor(x, "float32")
        np.testing.assert_allclose(model(x).numpy(), f(x).numpy())


def spread(**names):
    return len(names)


def counted(item):
    n = 0
    for _ in vars(item):
        n += 1
    return n


@pytest.mark.parametrize(
    "asks",
    [
        lambda item: len(item.__dict__), lambda item: len(vars(item)), lambda item: len(dict(vars(item))),
        lambda item: sum(vars(item).values()), lambda item: len(sorted(item.__dict__)), counted,
        lambda item: len(list(vars(item).items())), lambda item: spread(**vars(item)), lambda item: len(dir(item)),
        lambda item: "zz" in tuple(vars(item)), lambda item: "zz" in str(item.__dict__), lambda item: "zz" in dir(item),
    ],
)  # fmt: skip
@pytest.mark.parametrize("change", CHANGES)
def test_all_names_are_refused_by_the_line_that_asks(asks, change, tmp_path):
    def f(x):
        item = Item()
        change(x, item)
        return x * asks(item)

    with pytest.raises(ConversionError, match=r"there on all ways for .*state.py:\d+, got 'item.zz'|'Item.zz'"):
        saved(f, tmp_path)


def test_all_names_where_all_ways_set_them(tmp_path):
    def f(x):
        item = Item()
        if x.sum() > 0:
            item.zz = 2
        else:
            item.zz = 3
        return x * len(vars(item)) + vars(item)["zz"]

    model = saved(f, tmp_path)
    for x in INPUTS:
        x = paddle.to_tensor(x, "float32")
        np.testing.assert_allclose(model(x).numpy(), f(x).numpy())


def test_variables_of_a_module(tmp_path):
    def f(x):
        global made_here
        if x.sum() > 0:
            made_here = 2
        return x * 2 if "made_here" in globals() else x

    model = saved(f, tmp_path)
    assert "made_here" not in globals()
    for x in INPUTS:
        x = paddle.to_tensor(x, "float32")
        np.testing.assert_allclose(model(x).numpy(), f(x).numpy())
        globals().pop("made_here", None)


def flag(x):
    y = x * 1.0
    y.stop_gradient = False
    if x.sum() > 0:
        y.stop_gradient = True
    return x * 2 if y.stop_gradient else x


def flag_by_name(x):
    y = paddle.ones([2])
    if x.sum() > 0:
        y.stop_gradient = False
    return x * 2 if getattr(y, "stop_gradient") else x  # noqa: B009 the flag is asked for in this way


def flag_of_loop(x):
    y, i = paddle.ones([2]), paddle.zeros([])
    while i < x.sum():
        y.stop_gradient, i = False, i + 1
    y.stop_gradient = True
    while i < x.sum():
        y.stop_gradient = False
        i = i + 1
    return x * 2 if y.stop_gradient else x


def environment(x):
    if x.sum() > 0:
        os.environ["UMIAK_OF_A_TEST"] = "1"
    return x * 2 if os.environ.get("UMIAK_OF_A_TEST") else x


def clock(x):
    start = time.perf_counter()
    end = time.perf_counter() if x.sum() > 0 else start
    return x * (end - start)


def clock_of_loop(x):
    start, i = 0.0, paddle.zeros([])
    while i < x.sum():
        start, i = start + time.monotonic(), i + 1
    return x * start


def date(x):
    now = datetime.datetime(2020, 1, 1)
    if x.sum() > 0:
        now = datetime.datetime.now()
    return x * now.year


@functools.lru_cache
def one_more(n):
    return n + 1


def hits(x):
    one_more.cache_clear()
    if x.sum() > 0:
        one_more(3)
    return x * one_more.cache_info().misses


def hits_of_loop(x):
    i = paddle.zeros([])
    while i < x.sum():
        one_more(2)
        i = i + 1
    return x * one_more.cache_info().hits


@pytest.mark.parametrize(
    "f", [flag, flag_by_name, flag_of_loop, environment, clock, clock_of_loop, date, hits, hits_of_loop]
)
def test_what_differs_by_the_way_is_refused_by_line(f, tmp_path):
    try:
        with pytest.raises(ConversionError, match=r"test_saved_hidden_state.py:\d+"):
            saved(f, tmp_path)
    finally:
        os.environ.pop("UMIAK_OF_A_TEST", None)


def outside(x):
    y = paddle.ones([2])
    y.stop_gradient = False
    one_more.cache_clear()
    one_more(7)
    n = one_more.cache_info().misses + (not y.stop_gradient)
    n = n + (time.time() > 0)
    if x.sum() > 0:
        x = x * n
    return x + n


def test_what_no_way_changes_is_what_it_is(tmp_path):
    model = saved(outside, tmp_path)
    for x in INPUTS:
        x = paddle.to_tensor(x, "float32")
        np.testing.assert_allclose(model(x).numpy(), outside(x).numpy())


def test_a_flag_of_a_parameter_is_put_back(tmp_path):
    class Frozen(nn.Layer):
        def __init__(self):
            super().__init__()
            self.below = nn.Linear(2, 2)

        def forward(self, x):
            if x.sum() > 0:
                self.below.weight.stop_gradient = True
            return self.below(x)

    layer = Frozen()
    saved(layer, tmp_path)
    assert not layer.below.weight.stop_gradient
