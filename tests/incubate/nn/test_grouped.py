"""Products of groups of rows, and attention under its fused name."""

import numpy as np
import pytest

import paddle
from paddle.incubate.nn.functional import batched_gemm, fused_dot_product_attention
from paddle.nn.functional import scaled_dot_product_attention


@pytest.mark.parametrize("sizes", [[2, 2], [3, 0, 1], [0, 0], [4], np.array([1, 2]), paddle.to_tensor([2, 1])], ids=str)
def test_groups_of_rows(rng, sizes):
    """With each layout; the gradient of matrices is the product of transposed rows."""
    ends = np.cumsum([int(n) for n in sizes])
    starts, rows, groups = ends - [int(n) for n in sizes], int(ends[-1]), len(ends)
    x, w, g = (rng.standard_normal(shape) for shape in ((rows, 3), (groups, 3, 5), (rows, 5)))
    parts = [slice(a, b) for a, b in zip(starts, ends, strict=True)]
    wanted = np.concatenate([x[p] @ w[i] for i, p in enumerate(parts)])
    grown = np.stack([x[p].T @ g[p] for p in parts])
    ours, matrices, gradient = (paddle.to_tensor(v, stop_gradient=False) for v in (x, w, g))
    y = batched_gemm(ours, matrices, sizes)
    np.testing.assert_allclose(y, wanted, atol=1e-12)
    np.testing.assert_allclose(batched_gemm(ours, matrices.mT, sizes, False, True), wanted, atol=1e-12)
    np.testing.assert_allclose(batched_gemm(ours, gradient, sizes, True), grown, atol=1e-12)
    y.backward(gradient)
    np.testing.assert_allclose(matrices.grad, grown, atol=1e-12)
    np.testing.assert_allclose(ours.grad, batched_gemm(gradient, matrices, sizes, trans_rhs=True), atol=1e-12)


@pytest.mark.parametrize("full_graph", [False, True])
def test_groups_in_graphs_and_files(rng, full_graph, tmp_path):
    x, w = (paddle.to_tensor(rng.standard_normal(shape).astype("float32")) for shape in ((4, 3), (2, 3, 5)))
    spec = [paddle.static.InputSpec(v.shape, v.dtype) for v in (x, w)]
    layer = paddle.jit.to_static(lambda x, w: batched_gemm(x, w, [3, 1]), input_spec=spec, full_graph=full_graph)
    wanted = batched_gemm(x, w, [3, 1])
    np.testing.assert_allclose(layer(x, w), wanted, atol=1e-6)
    paddle.jit.save(layer, str(tmp_path / "m"))
    np.testing.assert_allclose(paddle.jit.load(str(tmp_path / "m"))(x, w), wanted, atol=1e-6)


def test_refused_groups():
    x, w = paddle.ones([4, 3]), paddle.ones([2, 3, 5])
    for error, text, arguments in (
        (ValueError, "add up to the 4 rows of lhs, got 3", (x, w, [2, 1])),
        (ValueError, "0 or more for each group", (x, w, [5, -1])),
        (ValueError, "rhs of 1 groups", (x, w, [4])),
        (ValueError, r"rhs \[groups, n, k\]", (x, w, [2, 2], False, True)),
        (ValueError, "with trans_lhs", (x, w, [2, 2], True)),
        (ValueError, "got both", (x, x, [2, 2], True, True)),
        (TypeError, "of one dtype, got float32 and float64", (x, w.astype("float64"), [2, 2])),
        (TypeError, "a floating lhs, got int64", (x.astype("int64"), w, [2, 2])),
    ):
        with pytest.raises(error, match=text):
            batched_gemm(*arguments)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_attention(rng, dtype):
    q, k, v = (paddle.to_tensor(rng.standard_normal((2, 5, 2, 8))).astype(dtype) for _ in range(3))
    mask = paddle.to_tensor(rng.standard_normal((1, 1, 5, 5))).astype(dtype)
    plain = scaled_dot_product_attention
    assert fused_dot_product_attention(q, k, v).equal_all(plain(q, k, v))
    assert fused_dot_product_attention(q, k, v, mask, 0.0, False).equal_all(plain(q, k, v, mask))
    assert fused_dot_product_attention(q, k, v, None, 0.0, True, 0.5).equal_all(
        plain(q, k, v, is_causal=True, scale=0.5)
    )
    assert fused_dot_product_attention(q, k, v, dropout_p=0.9, training=False).equal_all(plain(q, k, v))
    with pytest.raises(ValueError, match="attn_mask or is_causal, got both"):
        fused_dot_product_attention(q, k, v, mask, is_causal=True)
    with pytest.raises(TypeError, match=f"attn_mask of query's {dtype}, got bool"):
        fused_dot_product_attention(q, k, v, mask > 0)
