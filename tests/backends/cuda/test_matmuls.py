"""Matmuls and convolutions by kernels of the loop IR against the host's."""

from __future__ import annotations

import numpy as np
import pytest
from test_kernels import both, normals

import paddle
from umiak import ops as F
from umiak.backends.cuda.providers import gemm
from umiak.core import dtype as dt

SHAPES = {
    "small": ((5, 7), (7, 9), {}),
    "ends": ((37, 70), (70, 65), {}),
    "columns": ((70, 20), (70, 65), {"transpose_x": True}),
    "rows": ((37, 8), (65, 8), {"transpose_y": True}),
    "batches": ((2, 1, 9, 8), (3, 13, 8), {"transpose_y": True}),
    "one row": ((1, 8), (8, 5), {}),
    "nothing": ((4, 0), (0, 3), {}),
}


@pytest.fixture(autouse=True)
def loop():
    """Kernels of the loop IR, whatever is installed."""
    former = gemm.FLAG.value
    gemm.FLAG.set("loop")
    yield
    gemm.FLAG.set(former)


MOST = [pytest.param(t, marks=pytest.mark.slow) for t in (np.float64, np.int64, np.complex64)]


@pytest.mark.parametrize("dtype", [np.float32, np.int8, *MOST])
@pytest.mark.parametrize("name", SHAPES)
def test_matmuls(device, cuda, name, dtype):
    a, b, flags = SHAPES[name]
    x, y = (np.round(normals(*s, dtype=np.float64) * 8).astype(dtype) for s in (a, b))
    if dtype is np.complex64:
        y = y * 1j + 1
    expected, got = both(device, lambda x, y: F.matmul(x, y, **flags), x, y)
    np.testing.assert_array_equal(got, expected)  # whole numbers: nothing is rounded
    assert cuda.host.read() == {}


def launched(cuda, before):
    return [name for name, *_ in cuda.driver.launched[before:]]


def test_matmuls_of_narrow_floats_run_on_tiles_and_round_once(device, cuda):
    def product(x, y):
        return F.cast(F.matmul(*(F.cast(z, dtype=dt.bfloat16) for z in (x, y))), dtype=dt.float32)

    before = len(cuda.driver.launched)
    expected, got = both(device, product, normals(20, 40), normals(40, 30))
    np.testing.assert_allclose(got, expected, rtol=1e-2, atol=1e-2)
    assert "tile_matmul_0_bfloat16_64_d8_x2_1" in launched(cuda, before)


def test_large_tiles_are_those_of_four_warps(device, cuda, monkeypatch):
    """On a device of compute capability 9.0."""
    monkeypatch.setattr(cuda.device(device), "units", 1)

    def product(x, y):
        return F.cast(F.matmul(*(F.cast(z, dtype=dt.bfloat16) for z in (x, y)), transpose_y=True), dtype=dt.float32)

    before = len(cuda.driver.launched)
    expected, got = both(device, product, normals(65, 72), normals(66, 72))
    np.testing.assert_allclose(got, expected, rtol=1e-2, atol=1e-2)
    assert "tile_matmul_0_bfloat16_128x128_d8_d8_1" in launched(cuda, before)


@pytest.mark.parametrize("step", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_what_follows_a_matmul_of_narrow_floats_is_part_of_its_launch(device, cuda, step):
    """Captured: an operand that neither rows nor columns of are dense is copied first."""

    def layer(x, weight, bias, residual):
        y = paddle.nn.functional.linear(x.astype("bfloat16")[:, ::step], weight.astype("bfloat16"),
                                        bias.astype("bfloat16"))  # fmt: skip
        return (paddle.nn.functional.silu(y) + residual.astype("bfloat16")).astype("float32")

    given = (normals(12, 24 * step), normals(24, 40), normals(40), normals(12, 40))
    before = len(cuda.driver.launched)
    expected, got = both(device, paddle.jit.to_static(layer), *given)
    np.testing.assert_allclose(got, expected, rtol=2e-2, atol=2e-2)
    (name,) = (x for x in launched(cuda, before) if x.startswith("tile_matmul"))
    assert name.endswith("_bias_silu_add")


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, marks=pytest.mark.slow),
        pytest.param({"stride": 2, "padding": 1}, marks=pytest.mark.slow),
        {"groups": 2, "dilation": 2, "padding": [0, 3], "stride": [1, 2]},
    ],
)
def test_convolutions_and_their_gradients(device, cuda, options):
    x, w = normals(3, 4, 9, 8), normals(6, 4 // options.get("groups", 1), 3, 2)
    results = []
    for place in ("cpu", device.name):
        paddle.set_device(place)
        image, kernels = (paddle.to_tensor(a, stop_gradient=False) for a in (x, w))
        y = paddle.nn.functional.conv2d(image, kernels, **options)
        (y * y).sum().backward()
        results.append([t.numpy() for t in (y, image.grad, kernels.grad)])
    for a, b in zip(*results):
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-4)
    assert cuda.host.read() == {}
