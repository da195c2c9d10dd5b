"""Models that are saved with a size of 0 give what eager calls give: values, and the gradient of each input."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
import paddle.incubate.nn.functional as fused
import paddle.nn.functional as f
from paddle.static import InputSpec

# A function of two tensors, and their shapes. Those of attention are opened in the first dim, too.
CASES = {
    "matmul": (lambda x, y: x @ y, [2, 0], [0, 3]),
    "einsum": (lambda x, y: paddle.einsum("ij,jk->ik", x, y), [2, 0], [0, 3]),
    "outer": (paddle.outer, [0], [3]),
    "expand": (lambda x, y: x.expand([0, 3]) + y, [1, 3], [0, 3]),
    "expand to a new dim": (lambda x, y: x.expand([0, 3]) + y, [3], [0, 3]),
    "where": (lambda x, y: paddle.where(x > 0, x, y), [0, 3], [3]),
    "reshape": (lambda x, y: x.reshape([3, 0]) + y[:, :0], [0, 3], [3, 3]),
    "reshape with other sizes": (lambda x, y: paddle.reshape(x, [5, 0, 2]) + y[:0], [2, 0], [1, 2]),
    "norm": (lambda x, y: fused.fused_rms_norm(x, y, None, 1e-5, 1)[0], [0, 3], [3]),
    "slice": (lambda x, y: x[1:1] + y, [2, 3], [0, 3]),
    "repeated no times": (lambda x, y: paddle.repeat_interleave(x, 0, 0) + y, [2, 3], [3]),
    "no keys": (lambda q, k: f.scaled_dot_product_attention(q, k, k), [2, 4, 2, 8], [2, 0, 2, 8]),
    "no queries": (lambda q, k: f.scaled_dot_product_attention(q, k, k), [2, 0, 2, 8], [2, 4, 2, 8]),
    "flash, no keys": (lambda q, k: f.flash_attention.flash_attention(q, k, k)[0], [2, 4, 2, 8], [2, 0, 2, 8]),
}


def drawn(shapes, rng):
    return [paddle.to_tensor(rng.standard_normal(s).astype("float32"), stop_gradient=False) for s in shapes]


def with_gradients(function, inputs):
    y = function(*inputs)
    return [y, *paddle.grad(y.sum(), inputs)]


OPENED = [case for case in CASES if "keys" in case or "queries" in case]


@pytest.mark.parametrize(("case", "opened"), [*((c, False) for c in CASES), *((c, True) for c in OPENED)])
def test_gradients(case, opened, tmp_path, rng):
    function, *shapes = CASES[case]
    sizes = [[None, *s[1:]] for s in shapes] if opened else shapes
    spec = [InputSpec(s, "float32") for s in sizes]
    paddle.jit.save(paddle.jit.to_static(function, full_graph=True, input_spec=spec), str(tmp_path / "model"))
    model = paddle.jit.load(str(tmp_path / "model"))
    model.train()
    inputs = drawn(shapes, rng)
    for got, expected in zip(with_gradients(model, inputs), with_gradients(function, inputs), strict=True):
        assert got.shape == expected.shape
        np.testing.assert_allclose(got.numpy(), expected.numpy(), rtol=1e-6)


@pytest.mark.parametrize("parts", [[1, 1], [0, 2]])
def test_parts_of_an_open_size(parts, tmp_path):
    """They add up to one size: others are refused when the model runs, as by the eager call."""
    x = paddle.arange(6).reshape([2, 3])
    function = paddle.jit.to_static(
        lambda x: paddle.split(x, parts), full_graph=True, input_spec=[InputSpec([None, 3], "int64")]
    )
    paddle.jit.save(function, str(tmp_path / "model"))
    model = paddle.jit.load(str(tmp_path / "model"))
    for got, expected in zip(model(x), paddle.split(x, parts), strict=True):
        assert got.tolist() == expected.tolist()
    with pytest.raises(ValueError, match=r"\[split\] requires sizes that add up to"):
        model(paddle.ones([4, 3], "int64"))
