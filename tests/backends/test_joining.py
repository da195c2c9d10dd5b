"""Concat and stack of many tensors: what NumPy gives, for all shapes, axes and layouts, eagerly and captured."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from umiak.backends.cpu.joining import Joining
from umiak.runtime import parallel

MANY = 40


def parts(shape, axis, dtype="float32"):
    """Tensors whose sizes differ along the axis, some of them empty."""
    rng = np.random.default_rng(0)
    made = []
    for i in range(MANY):
        own = [*shape]
        own[axis] = i % 4
        made.append((rng.standard_normal(own) * 10).astype(dtype))
    return made


@pytest.mark.parametrize("dtype", ["float32", "float16", "bool", "complex128", "int8"])
@pytest.mark.parametrize(
    ("shape", "axis"), [([3], 0), ([3, 2], 0), ([3, 2], 1), ([2, 3, 4], 1), ([2, 3, 4], -1), ([0, 3], 1)]
)
def test_concat(shape, axis, dtype):
    arrays = parts(shape, axis, dtype)
    out = paddle.concat([paddle.to_tensor(a) for a in arrays], axis)
    np.testing.assert_array_equal(out.numpy(), np.concatenate(arrays, axis))


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("captured", [False, True])
def test_stack(axis, captured):
    arrays = [np.full((3, 2), i, "int64") for i in range(MANY)]
    tensors = [paddle.to_tensor(a) for a in arrays]
    stack = paddle.jit.to_static(lambda *xs: paddle.stack(xs, axis)) if captured else lambda *xs: paddle.stack(xs, axis)
    np.testing.assert_array_equal(stack(*tensors).numpy(), np.stack(arrays, axis))


def test_layouts_and_gradients():
    """Operands that are not contiguous; each gets its own part of the gradient."""
    leaves = [paddle.full([2, 3], float(i)) for i in range(MANY)]
    for x in leaves:
        x.stop_gradient = False
    out = paddle.concat([x.t() if i % 2 else x.reshape([3, 2]) for i, x in enumerate(leaves)])
    np.testing.assert_array_equal(out.numpy(), np.repeat(np.arange(MANY, dtype="f4"), 6).reshape(-1, 2))
    (out * paddle.arange(MANY * 6, dtype="float32").reshape([-1, 2])).sum().backward()
    np.testing.assert_array_equal(leaves[1].grad.numpy(), [[6, 8, 10], [7, 9, 11]])
    np.testing.assert_array_equal(leaves[2].grad.numpy(), [[12, 13, 14], [15, 16, 17]])


@pytest.mark.parametrize("axis", [0, 1])
def test_threads_share_long_results(axis):
    before = parallel.get_num_threads()
    arrays = [np.random.default_rng(i).standard_normal((64, 300 + i)).astype("f4") for i in range(MANY)]
    arrays = arrays if axis else [np.ascontiguousarray(a.T) for a in arrays]
    shapes = {a.shape[1 - axis] for a in arrays}
    assert len(shapes) == 1
    try:
        for count in (1, 2, 3):
            parallel.set_num_threads(count)
            out = paddle.concat([paddle.to_tensor(a) for a in arrays], axis)
            np.testing.assert_array_equal(out.numpy(), np.concatenate(arrays, axis))
    finally:
        parallel.set_num_threads(before)


def test_a_kernel_refuses_what_it_cannot_be():
    with pytest.raises(ValueError, match=r"\[Joining\] requires operands and their itemsize, got 0 and 4"):
        Joining(0, 4)
