"""DLPack with JAX, both ways. JAX is not among what ``umiak[test]`` installs; where it is there, all of this runs."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import paddle

jax = pytest.importorskip("jax", reason="jax is not installed: pip install jax")
jnp = jax.numpy

DTYPES = (
    "bool int8 int16 int32 int64 uint8 float16 bfloat16 float32 float64 complex64 complex128 float8_e4m3fn float8_e5m2"
).split()


@pytest.fixture(autouse=True)
def wide_types():
    """Without this JAX makes 32 bits of 64."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def values(shape, dtype):
    return jnp.asarray(np.arange(np.prod(shape, dtype=int)).reshape(shape)).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(2, 3), (), (0, 3)], ids=str)
def test_there_and_back(dtype, shape):
    a = values(shape, dtype)
    x = paddle.from_dlpack(a)
    b = jax.dlpack.from_dlpack(x)
    assert (x.dtype.name, tuple(x.shape)) == (dtype, shape) == (str(b.dtype), b.shape)
    np.testing.assert_array_equal(np.asarray(b), np.asarray(a))
    assert x.astype("complex128").tolist() == np.asarray(a).astype(complex).tolist()
    if a.size:
        assert a.unsafe_buffer_pointer() == x.data_ptr() == b.unsafe_buffer_pointer()


def test_strides():
    x = paddle.arange(6, dtype="float32").reshape([2, 3])
    assert jax.dlpack.from_dlpack(x.T).tolist() == x.T.tolist()
    assert jax.dlpack.from_dlpack(x[1:]).tolist() == x[1:].tolist()
    y = paddle.from_dlpack(jnp.arange(6.0).reshape(2, 3).T)
    assert y.tolist() == [[0, 3], [1, 4], [2, 5]]


def test_memory_lives_as_long_as_either_side_needs_it():
    x = paddle.arange(4, dtype="float32")
    s = x.storage
    b = jax.dlpack.from_dlpack(x)
    del x
    gc.collect()
    assert s.pins == 1 and b.tolist() == [0, 1, 2, 3]
    del b
    gc.collect()
    assert s.pins == 0
    y = paddle.from_dlpack(jnp.arange(4.0) * 2)
    gc.collect()
    assert y.tolist() == [0, 2, 4, 6]


def test_copies():
    a = jnp.arange(3.0)
    x = paddle.from_dlpack(a, copy=True)
    x[0] = 9.0
    assert a.tolist() == [0, 1, 2] and x.data_ptr() != a.unsafe_buffer_pointer()


def test_what_is_refused():
    w = paddle.create_parameter([3], "float32")
    with pytest.raises(BufferError, match="stop_gradient=True"):
        jax.dlpack.from_dlpack(w)
    assert jax.dlpack.from_dlpack(w.detach()).shape == (3,)


def test_a_jitted_function_computes_with_our_memory():
    x = paddle.linspace(0, 1, 5)
    y = paddle.from_dlpack(jax.jit(lambda a: jnp.sin(a) * 2)(jax.dlpack.from_dlpack(x)))
    np.testing.assert_allclose(y.numpy(), 2 * np.sin(x.numpy()), rtol=1e-6)
