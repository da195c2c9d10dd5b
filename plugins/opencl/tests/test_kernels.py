"""Kernels against the host's: those that the loop IR gives, and those that are written for the device."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from umiak import ops as F
from umiak.compiler.render import opencl
from umiak.core import array, generator
from umiak.core import dtype as dt
from umiak.core.array import from_numpy
from umiak.core.place import Place

CPU = Place("cpu", 0)


def both(device, function, *arrays):
    """What a function of tensors gives on the host, and on the device."""
    found = []
    for place in (CPU, device):
        paddle.set_device(place.name)
        y = function(*(from_numpy(a, place) for a in arrays))
        assert y.place is place
        found.append(array.host_values(y))
    return found


def normals(*shape, dtype=np.float32):
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(dtype)


NESTS = {
    "fused": (lambda x: F.logistic(F.mul(x, 2.0)), (normals(7, 33),)),
    "sum": (lambda x: F.sum(x, axes=(1,)), (normals(5, 300),)),
    "columns": (lambda x: F.sum(x, axes=(0,)), (normals(300, 40),)),
    "long": (lambda x: F.sum(x, axes=(0,)), (normals(200_000),)),
    "softmax": (lambda x: F.softmax(x, axis=1), (normals(6, 130),)),
    "transposed": (lambda x: F.add(F.permute(x, perm=(1, 0)), 1.0), (normals(70, 65),)),
    "scan": (lambda x: F.cumsum(x, axis=1), (normals(3, 200, dtype=np.float64),)),
    "bfloat16": (lambda x: F.cast(F.exp(F.cast(x, dtype=dt.bfloat16)), dtype=dt.float32), (normals(100),)),
}


@pytest.mark.parametrize("name", NESTS)
def test_nests(device, opencl, name):
    function, arrays = NESTS[name]
    expected, found = both(device, function, *arrays)
    np.testing.assert_allclose(found, expected, rtol=3e-5, atol=3e-5)
    assert opencl.fallbacks() == {}


@pytest.mark.parametrize("name", ["columns", "scan", "softmax", "transposed"])
def test_nests_that_the_driver_optimises(device, optimised, name):
    function, arrays = NESTS[name]
    expected, found = both(device, function, *arrays)
    np.testing.assert_allclose(found, expected, rtol=3e-5, atol=3e-5)


def test_writes_that_stay_come_behind_blocks_with_barriers(device, monkeypatch):
    """Nothing else that the driver keeps need be there before the next barrier."""
    texts, render = [], opencl.render
    monkeypatch.setattr(opencl, "render", lambda *args, **kwargs: texts.append(render(*args, **kwargs)) or texts[-1])
    F.cumsum(from_numpy(normals(3, 4, 211), device), axis=2)
    assert texts
    ended = 0
    for text in texts:
        lines, open_blocks = [line.strip() for line in text.splitlines()], []
        for at, line in enumerate(lines):
            if line.endswith("{"):
                open_blocks.append(False)
            elif line.startswith("barrier("):
                open_blocks = [True] * len(open_blocks)
            elif line == "}" and open_blocks.pop() and open_blocks:
                assert lines[at + 1].startswith("{ volatile "), text
                ended += 1
    assert ended


def test_updates_of_one_element_come_in_order(device):
    rows, at = normals(50, 3), np.random.default_rng(0).integers(0, 4, 50)
    expected, found = both(device, lambda x, i: F.take(x, i, axis=0), rows, at)
    np.testing.assert_array_equal(found, expected)
    table = paddle.to_tensor(normals(4, 3), stop_gradient=False)
    paddle.nn.functional.embedding(paddle.to_tensor(at), table).sum().backward()
    assert table.grad.place is device
    np.testing.assert_array_equal(table.grad.numpy()[:, 0], np.bincount(at, minlength=4))


def test_random_numbers_write_no_kernel_anew(device, monkeypatch):
    """Each draw has integers of its own, and the text of the last one."""
    paddle.uniform([31])

    def render(*args, **kwargs):
        raise AssertionError("a kernel was written anew")

    monkeypatch.setattr(opencl, "render", render)
    x, y = paddle.uniform([31]), paddle.uniform([31])
    assert x.place is device and not np.array_equal(x.numpy(), y.numpy())


def test_random_bits_are_those_of_the_host(device):
    for make in (lambda: paddle.uniform([257]), lambda: paddle.randint(0, 1000, [257])):
        found = []
        for place in (CPU, device):
            paddle.set_device(place.name)
            generator.seed_all(7)
            x = make()
            assert x.place is place
            found.append(x.numpy())
        np.testing.assert_array_equal(found[0], found[1])


def test_results_are_written_wherever_they_lie(device):
    x = paddle.to_tensor(np.zeros((4, 6), np.float32))
    x[1::2, ::-2] = paddle.to_tensor(normals(2, 3)) * 2
    expected = np.zeros((4, 6), np.float32)
    expected[1::2, ::-2] = normals(2, 3) * 2
    np.testing.assert_allclose(x.numpy(), expected)


PRODUCTS = {
    "small": ((5, 7), (7, 9), {}),
    "ends": ((37, 70), (70, 65), {}),
    "columns": ((70, 20), (70, 65), {"transpose_x": True}),
    "rows": ((37, 8), (65, 8), {"transpose_y": True}),
    "batches": ((2, 1, 19, 8), (3, 33, 8), {"transpose_y": True}),
    "nothing": ((4, 0), (0, 3), {}),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.complex64])
@pytest.mark.parametrize("name", PRODUCTS)
def test_products(device, opencl, name, dtype):
    a, b, flags = PRODUCTS[name]
    x, y = (np.round(normals(*s, dtype=np.float64) * 8).astype(dtype) for s in (a, b))
    if dtype is np.complex64:
        y = y * 1j + 1
    expected, found = both(device, lambda x, y: F.matmul(x, y, **flags), x, y)
    np.testing.assert_array_equal(found, expected)  # whole numbers: nothing is rounded
    assert opencl.fallbacks() == {}


def test_products_of_narrow_floats_round_once(device):
    def product(x, y):
        return F.cast(F.matmul(*(F.cast(z, dtype=dt.bfloat16) for z in (x, y))), dtype=dt.float32)

    expected, found = both(device, product, normals(20, 40), normals(40, 30))
    np.testing.assert_allclose(found, expected, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("options", [{}, {"stride": 2, "padding": 1}, {"groups": 2, "dilation": 2, "padding": [0, 3]}])
def test_convolutions_and_their_gradients(device, opencl, options):
    x, w = normals(3, 4, 9, 8), normals(6, 4 // options.get("groups", 1), 3, 2)
    found = []
    for place in (CPU, device):
        paddle.set_device(place.name)
        image, kernels = (paddle.to_tensor(a, stop_gradient=False) for a in (x, w))
        y = paddle.nn.functional.conv2d(image, kernels, **options)
        (y * y).sum().backward()
        found.append([t.numpy() for t in (y, image.grad, kernels.grad)])
    for a, b in zip(*found):
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-4)
    assert opencl.fallbacks() == {}


def test_what_runs_on_the_host_is_said_once_and_counted(device, opencl, caplog):
    x = paddle.to_tensor(np.ones((2, 3), np.complex64))
    for _ in range(2):
        y = x * (1 + 2j)  # no symbol stands for a complex number
    assert y.place is device
    np.testing.assert_array_equal(y.numpy(), np.full((2, 3), 1 + 2j))
    assert opencl.fallbacks() == {"mul": 2}
    assert [r.getMessage() for r in caplog.records] == ["[mul] runs on the host: opencl:0 has no kernel for it"]
    opencl.reset_fallbacks()
    assert opencl.fallbacks() == {}
