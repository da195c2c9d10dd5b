"""Attention on the device: masks of every family, lengths, heads, types, against its definition in float64."""

from __future__ import annotations

import attention_reference as reference
import numpy as np
import pytest

import paddle
from umiak import ops as F
from umiak.compiler.attention import kernels
from umiak.core.array import from_numpy, host_values
from umiak.core.dtype import convert
from umiak.core.place import Place
from umiak.masks import ColumnMask
from umiak_opencl import backend

TILE = 16
N = 43  # tokens: three tiles, of which the last is not full
FAMILIES = reference.families(N)


@pytest.fixture(autouse=True)
def small_tiles():
    kernels.TILE.set(TILE)
    yield
    kernels.TILE.set(0)


def drawn(*shape, dtype="float32"):
    return np.random.default_rng(shape).standard_normal(shape).astype(dtype)


def on(place, q, k, v, mask=None, *, causal=False, grad=None, grad_lse=None, scale=0.3, blocks=None, **more):
    """Result, log-sum-exp and gradients of query, key and value, as arrays."""
    given = [None if x is None else from_numpy(x, place) for x in (q, k, v, mask, blocks, grad, grad_lse)]
    q, k, v, mask, blocks, grad, grad_lse = given
    out, lse = F.attention_train(q, k, v, mask, blocks, causal=causal, scale=scale, **more)
    results = F.attention_grad(q, k, v, out, lse, grad, mask, blocks, grad_lse, causal=causal, scale=scale, **more)
    names = ("out", "lse", "query", "key", "value")
    return {name: host_values(x).astype(np.float64) for name, x in zip(names, (out, lse, *results[:3]))}


def same(found, expected, tolerance=3e-6):
    for name, x in expected.items():
        np.testing.assert_allclose(found[name], x, rtol=tolerance, atol=tolerance * 10, err_msg=name)


def operands(batch, queries, keys, heads, key_heads, dim, value_dim, dtype="float32"):
    shapes = [(batch, queries, heads, dim), (batch, keys, key_heads, dim), (batch, keys, key_heads, value_dim)]
    q, k, v = (drawn(*s, dtype=dtype) for s in shapes)
    return q, k, v, drawn(batch, queries, heads, value_dim, dtype=dtype)


def test_programs_that_the_driver_optimises(device, optimised):
    q, k, v, _ = operands(1, 5, 5, 1, 1, 4, 4)
    kernels.TILE.set(0)
    found = host_values(F.attention(*(from_numpy(x, device) for x in (q, k, v)), scale=0.3))
    expected = host_values(F.attention(*(from_numpy(x, Place("cpu", 0)) for x in (q, k, v)), scale=0.3))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", FAMILIES)
def test_families(device, opencl, name):
    mask = FAMILIES[name]
    q, k, v, grad = operands(1, N, N, 4, 2, 16, 16)
    grad_lse = drawn(1, 4, N)
    found = on(device, q, k, v, mask.indices, causal=mask.causal, grad=grad, grad_lse=grad_lse)
    grad_lse = np.where(np.isinf(found["lse"]), 0, grad_lse)
    same(found, reference.attention(q, k, v, mask.visible(), 0.3, grad, grad_lse))
    assert opencl.fallbacks() == {}


LENGTHS = [(42, 43, 2, 1), (43, 42, 3, 1), (20, 70, 1, 1), (70, 20, 2, 2), (1, 50, 4, 2), (16, 16, 2, 1)]


@pytest.mark.parametrize(("queries", "keys", "heads", "key_heads"), LENGTHS)
def test_lengths_and_heads_of_causal_attention(device, queries, keys, heads, key_heads):
    """Through a mask by columns that hides nothing, so that all lengths are one text."""
    q, k, v, grad = operands(2, queries, keys, heads, key_heads, 16, 16)
    nothing = np.full((1, 1, keys, 1), queries, np.int32)
    found = on(device, q, k, v, nothing, causal=True, grad=grad, grad_lse=np.zeros((2, heads, queries), np.float32))
    visible = reference.causal(queries, keys)
    same(found, reference.attention(q, k, v, visible, 0.3, grad))
    unseen = ~visible.any(1)
    assert (found["out"][:, unseen] == 0).all() and np.isneginf(found["lse"][..., unseen]).all()
    assert (found["query"][:, unseen] == 0).all()


@pytest.mark.parametrize("mask_heads", [1, 2, 6])
def test_heads_of_a_mask(device, mask_heads):
    q, k, v, grad = operands(2, N, N, 6, 2, 16, 16)
    rng = np.random.default_rng(mask_heads)
    indices = rng.integers(-3, N + 9, (2, mask_heads, N, 4)).astype(np.int32)
    found = on(device, q, k, v, indices, grad=grad, grad_lse=np.zeros((2, 6, N), np.float32))
    visible = ColumnMask(indices, False, N).visible()
    same(found, reference.attention(q, k, v, visible, 0.3, grad))


def test_runs_give_the_same_bits(device):
    mask = FAMILIES["share_question"]
    q, k, v, grad = operands(1, N, N, 4, 2, 16, 16)
    given = {"causal": True, "grad": grad, "grad_lse": drawn(1, 4, N)}
    first, second = (on(device, q, k, v, mask.indices, **given) for _ in range(2))
    for name, x in first.items():
        np.testing.assert_array_equal(x, second[name])


# What has texts of its own, which a driver takes seconds to compile.
@pytest.mark.slow
@pytest.mark.parametrize(("dim", "value_dim"), [(8, 8), (20, 30), (64, 64), (80, 80), (128, 128), (256, 256), (5, 3)])
def test_sizes_of_heads(device, dim, value_dim):
    q, k, v, grad = operands(1, 50, 37, 2, 1, dim, value_dim)
    found = on(device, q, k, v, causal=True, grad=grad, scale=dim**-0.5)
    same(found, reference.attention(q, k, v, reference.causal(50, 37), dim**-0.5, grad))


@pytest.mark.slow
def test_tiles_that_the_memory_of_a_block_does_not_hold(device, monkeypatch):
    q, k, v, grad = operands(1, 20, 37, 2, 1, 12, 12)
    monkeypatch.setattr(backend.device(device), "most_shared", 8192)
    found = on(device, q, k, v, causal=True, grad=grad)
    same(found, reference.attention(q, k, v, reference.causal(20, 37), 0.3, grad))


@pytest.mark.slow
@pytest.mark.parametrize("tile", [64, 32, 8])
def test_sizes_of_tiles(device, tile):
    kernels.TILE.set(tile)
    mask = reference.families(131)["causal_document"]
    q, k, v, grad = operands(1, 131, 131, 4, 2, 16, 16)
    found = on(device, q, k, v, mask.indices, causal=True, grad=grad)
    same(found, reference.attention(q, k, v, mask.visible(), 0.3, grad))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
def test_types(device, dtype):
    q, k, v, grad = operands(1, N, N, 2, 1, 16, 16)
    place = Place("cpu", 0)
    q, k, v, grad = (host_values(F.cast(from_numpy(x, place), dtype=convert(dtype))) for x in (q, k, v, grad))
    found = on(device, q, k, v, causal=True, grad=grad)
    tolerance = {"float64": 1e-13, "float16": 1e-3, "bfloat16": 8e-3}[dtype]
    same(found, reference.attention(q, k, v, reference.causal(N, N), 0.3, grad), tolerance)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["boolean", "added", "blocks", "dropout"])
def test_what_else_hides_scores(device, kind):
    """Against the host, which is tested by itself."""
    q, k, v, grad = operands(2, N, 150, 2, 1, 16, 16)
    rng = np.random.default_rng(0)
    mask, blocks, more = None, None, {}
    if kind == "boolean":
        mask = rng.random((N, 150)) < 0.4
        mask[7] = False
    elif kind == "added":
        mask = np.where(rng.random((2, 1, N, 150)) < 0.3, -np.inf, rng.standard_normal((2, 1, N, 150))).astype(
            "float32"
        )
    elif kind == "blocks":
        mask = np.stack([np.full(150, N), np.zeros(150)], -1).astype(np.int32)[None, None]
        blocks = np.array([[[[0, 1]]]], np.int32)
    else:
        more = {"dropout": True, "p": 0.3, "seed": 5, "offset": 8}
    results = []
    for place in (Place("cpu", 0), device):
        paddle.set_device(place.name)
        results.append(on(place, q, k, v, mask, blocks=blocks, causal=mask is None, grad=grad, **more))
    same(results[1], results[0])


@pytest.mark.slow
def test_public_functions_need_no_host(device, opencl):
    def run():
        q = paddle.to_tensor(drawn(1, N, 4, 16), stop_gradient=False)
        k, v = (paddle.to_tensor(drawn(1, N, 2, 16)) for _ in range(2))
        mask = paddle.to_tensor(FAMILIES["causal_document"].indices)
        out = paddle.nn.functional.flashmask_attention(q, k, v, mask, causal=True)
        plain = paddle.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        (out + plain).sum().backward()
        return out.numpy(), plain.numpy(), q.grad.numpy()

    found = run()
    assert opencl.fallbacks() == {}
    paddle.set_device("cpu")
    for x, y in zip(found, run(), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-5)
