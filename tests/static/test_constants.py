"""Constants that a program writes to begin anew in every run; what is kept between runs goes on."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle import static
from paddle.nn.initializer import Constant
from paddle.static import Executor, data
from paddle.static.nn import cond, while_loop
from umiak.ir.tracer import DataUnknown

CONSTANTS = {
    "to_tensor": lambda: paddle.to_tensor([1.0]),
    "to_tensor of an array": lambda: paddle.to_tensor(np.ones(1, "float32")),
    "assign": lambda: paddle.assign(np.ones(1, "float32")),
    "assign of a list": lambda: paddle.assign([1.0]),
    "full": lambda: paddle.full([1], 1.0),
}


def _assign(c, x):
    paddle.assign(c + x, c)


def _loop(c, x):
    def body(i):
        paddle.assign(c + x, c)
        return [i + 1]

    while_loop(lambda i: i < 1, body, [paddle.full([1], 0, "int64")])


def _branch(c, x):
    def add():
        paddle.assign(c + x, c)

    cond(x.sum() > 0, add, None)


def _element(c, x):
    c[0] = c[0] + x[0]


def _view(c, x):
    c[0:1].add_(x)


WRITES = (_assign, _loop, _branch, _element, _view, lambda c, x: c.add_(x), lambda c, x: paddle.increment(c))


def _runs(fetched, program=None, count=3):
    feed = {"x": np.ones(1, "float32")}
    return [[float(x[0]) for x in Executor().run(program, feed, fetched)] for _ in range(count)]


@pytest.mark.parametrize("make", CONSTANTS)
def test_a_constant_begins_anew(make, programs):
    x, fetched = data("x", [1]), []
    for write in WRITES:
        c = CONSTANTS[make]()
        before = c * 1
        write(c, x)
        fetched += [before, c, c * 10]
    for program in (static.default_main_program(), static.default_main_program().clone()):
        assert _runs(fetched, program) == [[1.0, 2.0, 20.0] * len(WRITES)] * 3


def test_a_constant_of_a_saved_program_begins_anew(programs, tmp_path):
    c, x = paddle.to_tensor([1.0]), data("x", [1])
    paddle.assign(c + x, c)
    y = c * 2
    _runs([y])
    for first in (False, True):
        executor, path = Executor(), str(tmp_path / f"model{first}")
        static.save_inference_model(path, [x], [y], executor)
        program, _, fetched = static.load_inference_model(path, executor)
        assert _runs(fetched, program) == [[4.0]] * 3


def _parameter():
    return paddle.create_parameter([1], "float32", default_initializer=Constant(1.0))


def _frozen():
    made = _parameter()
    made.stop_gradient = True
    return made


def _buffer():
    layer = paddle.nn.Layer()
    layer.register_buffer("x", paddle.to_tensor([1.0]))
    return layer.x


def _assigned_buffer():
    layer = paddle.nn.Layer()
    layer.register_buffer("x", paddle.to_tensor([5.0]))
    layer.x = paddle.to_tensor([1.0])
    return layer.x


KEPT = {
    "parameter": _frozen, "buffer": _buffer, "an assigned buffer": _assigned_buffer,
    "variable": lambda: static.create_global_var([1], 1.0, "float32", persistable=True),
}  # fmt: skip


@pytest.mark.parametrize("make", KEPT)
def test_what_is_kept_goes_on(make, programs):
    x, kept = data("x", [1]), [KEPT[make]() for _ in WRITES]
    for c, write in zip(kept, WRITES, strict=True):
        write(c, x)
    Executor().run(static.default_startup_program())
    assert _runs(kept) == [[n] * len(WRITES) for n in (2.0, 3.0, 4.0)]


@pytest.mark.parametrize("make", ["to_tensor", "full"])
def test_a_constant_that_is_written_has_a_gradient(make, programs):
    c, x = CONSTANTS[make](), data("x", [1])
    x.stop_gradient = c.stop_gradient = False
    paddle.assign(c * x, c)
    y = c * c * 3
    of_c, of_x = static.gradients(y, [c, x])
    assert _runs([y, of_c, of_x]) == [[3.0, 6.0, 6.0]] * 3


def test_a_parameter_may_be_frozen_while_a_program_is_written(programs):
    w = _parameter()
    y = w * data("x", [1])
    w.stop_gradient = True
    z = w * 2
    assert (y.stop_gradient, z.stop_gradient) == (False, True)


def test_a_constant_of_a_loop_body_begins_anew_in_each_iteration(programs):
    x = data("x", [1])

    def body(i, total):
        n, c, d = paddle.to_tensor([1]), paddle.to_tensor([1.0]), paddle.assign(np.ones(1, "float32"))
        c.add_(x)
        d[0] = d[0] * 3

        def inner(j):
            paddle.assign(c * 2, c)
            return [j + 1]

        while_loop(lambda j: j < 2, inner, [paddle.full([1], 0, "int64")])
        return [i + 1, total + c + d + paddle.ones(n) * float(n)]

    _, total = while_loop(lambda i, _: i < 3, body, [paddle.full([1], 0, "int64"), paddle.zeros([1])])
    assert _runs([total]) == [[3 * (8.0 + 3.0 + 1.0)]] * 3


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_a_constant_that_an_optimizer_updates_is_trained(kind, programs):
    c = paddle.to_tensor([1.0], stop_gradient=False)
    loss = c * c
    getattr(paddle.optimizer, kind)(0.125, parameters=[c]).minimize(loss)
    Executor().run(static.default_startup_program())
    first, second, third = (v for (v,) in _runs([loss]))
    assert first == 1.0 > second > third


def test_constants_of_branches_and_loop_bodies_are_read(programs):
    x = data("x", [1])

    def read(y):
        c, flag = paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(True)
        return y * float(c.numpy()[1]) + (c.numpy().dtype == np.float32) + (1 if flag else 0) + c.tolist()[0]

    branch = cond(x.sum() > 0, lambda: read(x), lambda: x)
    _, loop = while_loop(lambda i, y: i < 2, lambda i, y: [i + 1, read(y)], [paddle.full([1], 0, "int64"), x])
    assert _runs([branch, loop]) == [[5.0, 13.0]] * 3


def test_a_constant_that_a_branch_has_written_to_is_not_read(programs):
    x = data("x", [1])

    def read():
        c = paddle.to_tensor([1.0])
        c.add_(x)
        return x * float(c.numpy()[0])

    with pytest.raises(DataUnknown, match="known only while the program runs"):
        cond(x.sum() > 0, read, lambda: x)
