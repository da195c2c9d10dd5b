"""Tensors whose elements are sizes serve as sizes."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.ir.elements import _RULES

# By the name of an op: what makes small tensors of `s`, the sizes [n, 6, 4] of a tensor.
EXPRESSIONS = {
    "full": lambda s: F.full(s[0].item(), dtype=dt.int32, shape=(2,)),
    "iota": lambda s: F.iota(s[0].item(), 2, dtype=dt.int64, size=3),
    "concat": lambda s: F.concat([s, s[:1]], axis=0),
    "stack": lambda s: F.stack([s, s * 2], axis=1),
    "unbind": lambda s: F.unbind(s, axis=0, count=3)[0],
    "slice": lambda s: s[::-2],
    "split": lambda s: F.split(s, axis=0, sections=(1, 2))[1],
    "take": lambda s: F.take(s, paddle.full([2], 1, "int64"), axis=0),
    "flip": lambda s: F.flip(s, axes=(0,)),
    "permute": lambda s: F.permute(F.reshape(s, (1, 3)), perm=(1, 0)),
    "tile": lambda s: F.tile(s, repeats=(2,)),
    "broadcast_to": lambda s: F.broadcast_to(s, shape=(2, 3)),
    "reshape": lambda s: F.reshape(s, (3, 1)),
    "squeeze": lambda s: F.squeeze(s[1:2], axes=(0,)),
    "unsqueeze": lambda s: F.unsqueeze(s, axes=(1,)),
    "copy": lambda s: F.copy(s),
    "cast": lambda s: F.cast(F.cast(s, dtype=dt.float32) * 1.5, dtype=dt.int32),
    "add": lambda s: s + s[0],
    "sub": lambda s: 10 - s,
    "mul": lambda s: s * s,
    "neg": lambda s: -s,
    "div": lambda s: F.cast(F.div(F.cast(s, dtype=dt.float64), 4.0), dtype=dt.int64),
    "floor_div": lambda s: s // s[2:],
    "remainder": lambda s: s % 5,
    "floor": lambda s: F.cast(F.floor(F.cast(s, dtype=dt.float32) * -0.5), dtype=dt.int64),
    "ceil": lambda s: F.cast(F.ceil(F.cast(s, dtype=dt.float32) * 0.5), dtype=dt.int64),
    "abs": lambda s: F.abs(s - 7),
    "maximum": lambda s: F.maximum(s, s[2]),
    "minimum": lambda s: F.minimum(s, s[2]),
    "eq": lambda s: F.cast(s == 4, dtype=dt.int64),
    "ne": lambda s: F.cast(s != 4, dtype=dt.int64),
    "lt": lambda s: F.cast(s < 4, dtype=dt.int64),
    "le": lambda s: F.cast(s <= 4, dtype=dt.int64),
    "gt": lambda s: F.cast(s > 4, dtype=dt.int64),
    "ge": lambda s: F.cast(s >= 4, dtype=dt.int64),
    "logical_and": lambda s: F.cast(F.logical_and(s > 3, s < 5), dtype=dt.int64),
    "logical_or": lambda s: F.cast(F.logical_or(s > 4, s == 4), dtype=dt.int64),
    "logical_not": lambda s: F.cast(F.logical_not(s > 4), dtype=dt.int64),
    "where": lambda s: F.where(s > 4, s, s[2]),
    "sum": lambda s: F.sum(s, axes=(0,)),
    "prod": lambda s: F.prod(s, axes=(0,)),
    "max": lambda s: F.max(s, axes=(0,)),
    "min": lambda s: F.min(s, axes=(0,)),
}  # fmt: skip


def test_every_rule_is_here():
    assert EXPRESSIONS.keys() == _RULES.keys()


def test_elements_are_those_of_the_tensor(programs):
    main, _ = programs
    sizes = paddle.shape(paddle.static.data("x", [None, 6, 4]))
    made = {name: make(sizes) for name, make in EXPRESSIONS.items()}
    # Tensors of the known elements, of which nothing else is read.
    again = {k: [paddle.full([], n, "int64") for n in np.ravel(y.tolist())] for k, y in made.items()}
    exe = paddle.static.Executor()
    for n in (2, 4, 9):
        feed = {"x": np.zeros([n, 6, 4], "float32")}
        found = exe.run(main, feed, [*made.values(), *(x for xs in again.values() for x in xs)])
        elements = iter(found[len(made) :])
        for name, value in zip(made, found, strict=False):
            known = np.reshape([next(elements) for _ in again[name]], value.shape)
            np.testing.assert_array_equal(known, value, err_msg=name)


def test_what_data_decide_is_read_by_the_run(programs):
    main, startup = programs
    x = paddle.static.data("x", [3], "int64")
    count = paddle.static.create_global_var([1], 2, "int64")
    made = [paddle.zeros([n]) for n in (x[0], x[0] + paddle.shape(x)[0], count, (x > 1).astype("int64").sum())]
    assert not any(type(y.shape[0]) is int for y in made)
    exe = paddle.static.Executor()
    exe.run(startup)
    for feed, sizes in (([4, 0, 2], [4, 7, 2, 2]), ([0, 1, 1], [0, 3, 2, 0])):
        assert [y.size for y in exe.run(main, {"x": np.array(feed)}, made)] == sizes
    with pytest.raises(TypeError, match="known only while the program runs"):
        int(x[0])


def test_parts_of_sizes_are_known_beside_data(programs):
    x = paddle.static.data("x", [None], "int64")
    sizes = paddle.concat([paddle.stack([x.sum(), paddle.full([], 5, "int64")]), paddle.shape(x).astype("int64")])
    rows, columns, last = paddle.zeros(sizes).shape
    assert (columns, last) == (5, x.shape[0])
    assert rows is paddle.ones([sizes[0], 2]).shape[0]  # read once


def test_numbers_that_wrap_are_not_known(programs):
    main, _ = programs
    n = paddle.full([1], 2**31 - 1, "int32")
    assert (n - 1).item() == 2**31 - 2
    wrapped = (n + 1).item()
    assert type(wrapped) is not int
    assert paddle.static.Executor().run(main, fetch_list=[paddle.full([], wrapped, "int64")])[0] == -(2**31)


def test_constants_that_the_program_writes_to_are_not_known(programs):
    main, _ = programs
    n = paddle.to_tensor([2])
    assert paddle.zeros([n]).shape == paddle.zeros([n + 0]).shape == [2]
    n.add_(paddle.static.data("x", [1], "int64"))
    made = [paddle.zeros([size]) for size in (n, n + 0)]
    found = paddle.static.Executor().run(main, {"x": np.array([3])}, made)
    assert [y.size for y in found] == [5, 5]


def test_draws_of_a_size_that_nothing_reads_need_no_feed(programs):
    main, _ = programs
    x = paddle.static.data("x", [None, 2])
    paddle.randn([x.shape[0], 2])
    drawn = paddle.randn([2])
    paddle.randn([paddle.shape(x)[0], 3])
    exe = paddle.static.Executor()
    feed = {"x": np.zeros([3, 2], "float32")}
    (first,) = exe.run(main, feed, [drawn])  # behind other draws, whose size is needed
    (second,) = exe.run(main, feed, [drawn])
    assert (first != second).all()
    alone = paddle.static.Program()
    with paddle.static.program_guard(alone):
        x = paddle.static.data("x", [None, 2])
        drawn = paddle.randn([2])
        paddle.randn([x.shape[0], 2])
    (first,), (second,) = (exe.run(alone, fetch_list=[drawn]) for _ in range(2))
    assert (first != second).all()
