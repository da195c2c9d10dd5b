"""Kernels of the loop IR, launched as a driver gets them, against the host's."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import paddle
from umiak import ops as F
from umiak.core import array, generator
from umiak.core import dtype as dt
from umiak.core.array import from_numpy
from umiak.core.place import Place

CPU = Place("cpu", 0)


def both(device, function, *arrays):
    """What a function of tensors gives on the host, and on the device."""
    results = []
    for place in (CPU, device):
        paddle.set_device(place.name)
        y = function(*(from_numpy(a, place) for a in arrays))
        assert y.place is place
        results.append(array.host_values(y))
    return results


def normals(*shape, dtype=np.float32):
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(dtype)


NESTS = {
    "fused": (lambda x: F.logistic(F.mul(x, 2.0)), (normals(7, 33),)),
    "sum": (lambda x: F.sum(x, axes=(1,)), (normals(5, 300),)),
    "columns": (lambda x: F.sum(x, axes=(0,)), (normals(300, 40),)),
    "long": (lambda x: F.sum(x, axes=(0,)), (normals(20_000),)),
    "softmax": (lambda x: F.softmax(x, axis=1), (normals(6, 130),)),
    "transposed": (lambda x: F.add(F.permute(x, perm=(1, 0)), 1.0), (normals(70, 65),)),
    "scan": (lambda x: F.cumsum(x, axis=1), (normals(3, 200, dtype=np.float64),)),
    "bfloat16": (lambda x: F.cast(F.exp(F.cast(x, dtype=dt.bfloat16)), dtype=dt.float32), (normals(100),)),
    "vector": (lambda x: F.matmul(x, F.sum(x, axes=(0,))), (normals(9, 70),)),
}


QUICK = ("fused", "long", "softmax", "transposed", "bfloat16")


@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in NESTS])
def test_nests(device, cuda, name):
    function, arrays = NESTS[name]
    expected, got = both(device, function, *arrays)
    np.testing.assert_allclose(got, expected, rtol=3e-5, atol=3e-5)
    assert cuda.host.read() == {}


def test_updates_of_one_element_come_in_order(device):
    at = np.random.default_rng(0).integers(0, 4, 50)
    table = paddle.to_tensor(normals(4, 3), stop_gradient=False)
    paddle.nn.functional.embedding(paddle.to_tensor(at), table).sum().backward()
    assert table.grad.place is device
    np.testing.assert_array_equal(table.grad.numpy()[:, 0], np.bincount(at, minlength=4))


def test_random_bits_are_those_of_the_host(device):
    for make in (lambda: paddle.uniform([257]), lambda: paddle.randint(0, 1000, [257])):
        results = []
        for place in (CPU, device):
            paddle.set_device(place.name)
            generator.seed_all(7)
            x = make()
            assert x.place is place
            results.append(x.numpy())
        np.testing.assert_array_equal(*results)


def test_results_are_written_wherever_they_lie(device):
    x = paddle.to_tensor(np.zeros((4, 6), np.float32))
    x[1::2, ::-2] = paddle.to_tensor(normals(2, 3)) * 2
    expected = np.zeros((4, 6), np.float32)
    expected[1::2, ::-2] = normals(2, 3) * 2
    np.testing.assert_allclose(x.numpy(), expected)


def test_what_runs_on_the_host_is_said_once_and_counted(device, cuda, caplog):
    x = from_numpy(np.float32([1, 2]), device)
    kernel = cuda.host.kernel(SimpleNamespace(op=F.REGISTRY["add"](), place=device))
    for _ in range(2):
        (y,) = kernel.call((x, x), ())
    assert y.place is device
    assert array.host_values(y).tolist() == [2, 4]
    assert cuda.host.read() == {"add": 2}
    assert [r.getMessage() for r in caplog.records] == ["[add] runs on the host: gpu:0 has no kernel for it"]
