"""Contexts of the library that mean nothing to a graph: they neither break nor refuse one."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from paddle.nn.attention import SDPBackend, sdpa_kernel
from paddle.static import InputSpec

ANYWHERE = {
    "name_scope": lambda: paddle.static.name_scope("block"),
    "fp16_guard": paddle.static.amp.fp16_guard,
    "sdpa_kernel": lambda: sdpa_kernel(SDPBackend.MATH),
    "sdp_kernel": lambda: F.sdp_kernel(enable_math=True),
}
IN_ONE_GRAPH = {
    "unique_name": lambda: paddle.utils.unique_name.guard("block_"),
    "device_guard": lambda: paddle.static.device_guard("cpu"),
    "scope_guard": lambda: paddle.static.scope_guard(paddle.static.Scope()),
}


def inside(make):
    def run(x):
        with make():
            y = x * 2
        with make() as it:
            return y + 1, it

    return run


@pytest.mark.parametrize("full_graph", [False, True])
@pytest.mark.parametrize("name", ANYWHERE)
def test_one_graph_either_way(name, full_graph):
    f = paddle.jit.to_static(inside(ANYWHERE[name]), full_graph=full_graph)
    y, it = f(paddle.ones([2]))
    assert (y.tolist(), it) == ([3, 3], None)
    assert (f.get_traced_count(), len(getattr(f, "graph_breaks", []))) == (1, 0)


@pytest.mark.parametrize("full_graph", [False, True])
@pytest.mark.parametrize("name", IN_ONE_GRAPH)
def test_one_graph_where_it_has_to_be(name, full_graph):
    f = paddle.jit.to_static(inside(IN_ONE_GRAPH[name]), full_graph=full_graph)
    y, it = f(paddle.ones([2]))
    assert (y.tolist(), it) == ([3, 3], None)


@pytest.mark.parametrize("name", [*ANYWHERE, *IN_ONE_GRAPH])
def test_saved(name, tmp_path):
    net = paddle.nn.Linear(2, 2)
    make = {**ANYWHERE, **IN_ONE_GRAPH}[name]
    f = paddle.jit.to_static(lambda x: inside(make)(net(x))[0], full_graph=True, input_spec=[InputSpec([None, 2])])
    x = paddle.rand([3, 2])
    paddle.jit.save(f, str(tmp_path / "model"))
    np.testing.assert_allclose(paddle.jit.load(str(tmp_path / "model"))(x).numpy(), f(x).numpy(), rtol=1e-6)


@pytest.mark.parametrize("full_graph", [False, True])
def test_their_errors_are_those_of_eager_calls(full_graph):
    f = paddle.jit.to_static(inside(lambda: paddle.static.name_scope("a/b")), full_graph=full_graph)
    with pytest.raises(ValueError, match="a name without slashes"):
        f(paddle.ones([2]))


def test_names_that_are_made_between_two_graphs():
    def named(x):
        with paddle.utils.unique_name.guard("block_"):
            layer = paddle.nn.Linear(2, 2)
        return layer(x) * 2, layer.weight.name

    assert paddle.jit.to_static(named)(paddle.ones([2]))[1] == named(paddle.ones([2]))[1]
