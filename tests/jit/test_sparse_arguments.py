"""Sparse tensors as arguments and results of captured functions: their positions are constants of the programs."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle import sparse
from paddle.jit import to_static
from umiak.runtime.capture import CaptureError

INDICES = [[0, 0, 1], [0, 2, 1]]


def coo(values=(1.0, -2.0, 3.0), indices=INDICES):
    return sparse.sparse_coo_tensor(indices, list(values), [2, 3], stop_gradient=False)


def csr(values=(1.0, -2.0, 3.0)):
    return sparse.sparse_csr_tensor([0, 2, 3], [0, 2, 1], list(values), [2, 3], stop_gradient=False)


def weight():
    return paddle.to_tensor(np.arange(6, dtype="float32").reshape(3, 2), stop_gradient=False)


def net(x, w):
    h = sparse.nn.functional.relu(x)
    return sparse.matmul(h, w), sparse.sin(x), {"doubled": x.values() * 2.0, "parts": [x.shape, x.nnz()]}


def gradients(function, x, w):
    y, z, more = function(x, w)
    (y.sum() + z.to_dense().sum() + more["doubled"].sum()).backward()
    found = [y, z.to_dense(), more["doubled"], x.grad.to_dense(), w.grad]
    return [f.numpy() for f in found], [type(z), more["parts"], z.stop_gradient]


@pytest.mark.parametrize("made", [coo, csr])
def test_values_flow_through_programs(made):
    static = to_static(net)
    for scale in (1.0, 2.0, -0.5):
        values = [scale * v for v in (1.0, -2.0, 3.0)]
        expected, kinds = gradients(net, made(values), weight())
        found, same = gradients(static, made(values), weight())
        assert kinds == same
        for a, b in zip(expected, found, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)
    assert static.get_traced_count() == 2, "one before nnz() is asked for, and one behind it"
    assert static.fallbacks == []


def test_other_positions_are_another_program():
    static = to_static(lambda x: x.to_dense())
    assert static(coo()).tolist() == [[1.0, 0.0, -2.0], [0.0, 3.0, 0.0]]
    assert static(coo(indices=[[1, 1, 0], [0, 2, 1]])).tolist() == [[0.0, 3.0, 0.0], [1.0, 0.0, -2.0]]
    assert static(coo([4.0], [[1], [1]])).tolist() == [[0.0, 0.0, 0.0], [0.0, 4.0, 0.0]]
    assert static(coo([5.0, 6.0, 7.0])).tolist() == [[5.0, 0.0, 6.0], [0.0, 7.0, 0.0]]
    assert static.get_traced_count() == 3


def test_a_tensor_comes_twice_and_with_its_values():
    static, x = to_static(lambda a, b, v: (sparse.add(a, b), v + a.values())), coo()
    for _ in range(2):
        total, values = static(x, x, x.values())
        assert total.to_dense().tolist() == [[2.0, 0.0, -4.0], [0.0, 6.0, 0.0]]
        assert values.tolist() == [2.0, -4.0, 6.0]
    total, _ = static(x, coo(), x.values())
    assert total.to_dense().tolist() == [[2.0, 0.0, -4.0], [0.0, 6.0, 0.0]]


def test_tensors_of_lists_are_made_inside():
    static = to_static(lambda v: sparse.sparse_coo_tensor(INDICES, v, [2, 3], stop_gradient=False))
    rows = to_static(lambda v: sparse.sparse_csr_tensor(np.array([0, 2, 3]), [0, 2, 1], v, [2, 3]))
    for values in ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]):
        dense = [[values[0], 0.0, values[1]], [0.0, values[2], 0.0]]
        assert static(paddle.to_tensor(values)).to_dense().tolist() == dense
        assert rows(paddle.to_tensor(values)).to_dense().tolist() == dense
    values = paddle.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)
    (static(values) * 2.0).to_dense().sum().backward()
    assert values.grad.tolist() == [2.0, 2.0, 2.0]


def test_layers_take_sparse_tensors():
    layer = to_static(sparse.nn.ReLU())
    assert layer(coo()).to_dense().tolist() == [[1.0, 0.0, 0.0], [0.0, 3.0, 0.0]]
    spec = to_static(lambda x: x * 2.0, input_spec=[paddle.static.InputSpec([None, 3])])
    assert spec(coo()).to_dense().tolist() == [[2.0, 0.0, -4.0], [0.0, 6.0, 0.0]]


@pytest.mark.parametrize(
    ("function", "argument"),
    [
        (lambda x: x.to_sparse_coo(2).to_dense(), paddle.ones([2, 3])),
        (lambda x: x.to_sparse_csr().to_dense(), paddle.ones([2, 3])),
        (lambda i: sparse.sparse_coo_tensor(i, [1.0], [2, 2]).to_dense(), paddle.ones([2, 1], "int64")),
        (lambda i: sparse.sparse_csr_tensor([0, 1], i, [1.0], [1, 2]).to_dense(), paddle.ones([1], "int64")),
    ],
)
def test_positions_that_are_data_are_refused(function, argument):
    with pytest.raises(CaptureError, match="Positions are constants there"):
        to_static(function, full_graph=True)(argument)
    assert to_static(function)(argument).tolist() == function(argument).tolist()
