"""Casts to the formats of 8 bits: every code, everything halfway between two, and what is too large."""

import ml_dtypes
import numpy as np
import pytest
import torch

import paddle

FORMATS = ("float8_e4m3fn", "float8_e5m2")
LARGEST = {"float8_e4m3fn": 448.0, "float8_e5m2": 57344.0}


def codes(name):
    return np.arange(256, dtype=np.uint8).view(getattr(ml_dtypes, name))


def bits(x):
    """The codes of a tensor, all NaNs as one."""
    array = x.numpy()
    return np.where(np.isnan(array.astype(np.float32)), 255, array.view(np.uint8))


def edges(name):
    """All numbers, what lies halfway between two, their neighbours, and what is too large."""
    finite = codes(name).astype(np.float32)
    finite = np.unique(finite[np.isfinite(finite)])
    halfway = np.concatenate([(finite[1:] + finite[:-1]) / 2, [LARGEST[name] * 1.0625, LARGEST[name] * 2, 3e38]])
    values = np.concatenate([finite, halfway, -halfway]).astype(np.float32)
    inf = np.float32(np.inf)
    return np.concatenate([values, np.nextafter(values, inf), np.nextafter(values, -inf), [inf, -inf, np.nan]])


def eager(x, name):
    return x.astype(name)


@paddle.jit.to_static
def captured(x, name):
    return (x * 1.0).astype(name)


@pytest.mark.parametrize("cast", [eager, captured], ids=["eager", "captured"])
@pytest.mark.parametrize("source", ["float32", "bfloat16", "float16", "float64"])
@pytest.mark.parametrize("name", FORMATS)
def test_casts_are_those_of_pytorch(name, source, cast):
    with np.errstate(all="ignore"):
        x = paddle.to_tensor(edges(name).astype(getattr(ml_dtypes, source, None) or source))
    of_torch = torch.from_numpy(x.astype("float64").numpy()).to(getattr(torch, source)).to(getattr(torch, name))
    expected = paddle.to_tensor(of_torch.view(torch.uint8).numpy().view(getattr(ml_dtypes, name)))
    np.testing.assert_array_equal(bits(cast(x, name)), bits(expected))


@pytest.mark.parametrize("name", FORMATS)
def test_all_codes_are_read_exactly_and_return(name):
    x = paddle.to_tensor(codes(name))
    for wide in ("float32", "bfloat16", "float64"):
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(x.astype(wide).astype("float64").numpy(), codes(name).astype(np.float64))
        np.testing.assert_array_equal(bits(x.astype(wide).astype(name)), bits(x))


@pytest.mark.parametrize("cast", [eager, captured], ids=["eager", "captured"])
def test_overflow(cast):
    """The format without infinities saturates; the other one has them. NaN stays NaN."""
    x = paddle.to_tensor([464.0, 465.0, 1e9, np.inf, -np.inf, np.nan])
    np.testing.assert_array_equal(
        cast(x, "float8_e4m3fn").astype("float32").numpy(), [448, 448, 448, 448, -448, np.nan]
    )
    x = paddle.to_tensor([61439.0, 61440.0, -1e9, np.inf, np.nan])
    np.testing.assert_array_equal(
        cast(x, "float8_e5m2").astype("float32").numpy(), [57344, np.inf, -np.inf, np.inf, np.nan]
    )


def test_numbers_of_python_saturate():
    assert paddle.full([2], 1e6, "float8_e4m3fn").astype("float32").tolist() == [448, 448]
    assert paddle.to_tensor([1e6, -1e6], dtype="float8_e4m3fn").astype("float32").tolist() == [448, -448]
    assert paddle.to_tensor([1000, -1000]).astype("float8_e4m3fn").astype("float32").tolist() == [448, -448]
