"""Matrices of 8-bit floats under the reference's names, against NumPy and float64."""

import ml_dtypes
import numpy as np
import pytest

import paddle
import paddle.incubate.nn.functional as F
from tests.fuzz.programs.storage.model import quantised

E4M3 = ml_dtypes.float8_e4m3fn


def matrix(rng, shape, dtype="bfloat16"):
    return paddle.to_tensor((rng.standard_normal(shape) * np.exp(rng.uniform(-3, 3, shape))).astype(np.float32)).astype(
        dtype
    )


def same(found, wanted):
    """Codes or scales, bit for bit."""
    found = found.numpy()
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    np.testing.assert_array_equal(found.astype(np.float32), wanted.astype(np.float32))


# --- a matrix ---


@pytest.mark.parametrize("power_of_two", [False, True])
@pytest.mark.parametrize("method", ["1x128", "128x128"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
@pytest.mark.parametrize("shape", [(256, 384), (5, 130), (129, 1)], ids=str)
def test_quant_blockwise(shape, dtype, method, power_of_two, rng):
    x = matrix(rng, shape, dtype)
    rows = int(method.partition("x")[0])
    wanted = quantised(x.numpy(), rows, power_of_two)
    of_transpose = quantised(np.ascontiguousarray(x.numpy().T), rows, power_of_two)
    for transposed in (False, True):
        found = F.fp8_quant_blockwise(
            x,
            input_transpose=True,
            output_scale_transpose=transposed,
            using_pow2_scale=power_of_two,
            quant_method=method,
        )
        for codes, scale, (of_numpy, scales) in zip(found[::2], found[1::2], (wanted, of_transpose), strict=True):
            same(codes, of_numpy)
            same(scale, scales.T if transposed else scales)
    assert len(F.fp8_quant_blockwise(x, quant_method=method)) == 2
    alone = F.fp8_quant_blockwise(
        x, 0.0, True, False, return_transpose_only=True, using_pow2_scale=power_of_two, quant_method=method
    )
    same(alone[0], of_transpose[0])
    same(alone[1], of_transpose[1])


def test_epsilon_is_the_least_magnitude():
    codes, scale = F.fp8_quant_blockwise(paddle.full([1, 128], 0.5), epsilon=1.0, using_pow2_scale=False)
    assert float(scale) == pytest.approx(1 / 448) and float(codes.astype("float32").max()) == 224


@pytest.mark.parametrize("columns", [128, 300, 512, 1100])
def test_exponents_in_words(columns, rng):
    """Four biased exponents in an int32, that of the first block in the lowest bits."""
    x = matrix(rng, (3, columns))
    codes, words = F.fp8_quant_blockwise(x, output_scale_transpose=False, using_ue8m0_scale=True)
    _, scale = F.fp8_quant_blockwise(x, output_scale_transpose=False)
    assert words.dtype is paddle.int32 and words.shape == [3, -(-columns // 512)]
    exponents = np.zeros((3, 4 * words.shape[1]), np.uint8)
    exponents[:, : scale.shape[1]] = np.frexp(scale.numpy())[1] - 1 + 127
    exponents[:, scale.shape[1] :] = 127  # of blocks that there are not: the factor 1
    found = np.ascontiguousarray(words.numpy()).view(np.uint8)
    np.testing.assert_array_equal(found[:, : scale.shape[1]], exponents[:, : scale.shape[1]])
    same(F.fused_act_dequant(codes, words), F.fused_act_dequant(codes, scale).numpy())


@pytest.mark.parametrize("shape", [(4, 256), (3, 130), (0, 128), (2, 1)], ids=str)
def test_act_dequant(shape, rng):
    codes = paddle.to_tensor(rng.integers(0, 0x7F, shape).astype(np.uint8).view(E4M3))
    scale = np.exp(rng.uniform(-9, 9, (shape[0], -(-shape[1] // 128)))).astype(np.float32)
    wanted = codes.numpy().astype(np.float32) * np.repeat(scale, 128, 1)[:, : shape[1]]
    same(F.fused_act_dequant(codes, paddle.to_tensor(scale)), wanted.astype(ml_dtypes.bfloat16))


@pytest.mark.parametrize(("a_rows", "b_rows"), [(True, True), (True, False), (False, True), (False, False)])
@pytest.mark.parametrize("size", [(128, 256, 384), (5, 130, 3)], ids=str)
def test_gemm_blockwise(size, a_rows, b_rows, rng):
    m, k, n = size
    operands, wide = [], []
    for rows, in_rows in ((m, a_rows), (n, b_rows)):
        x = matrix(rng, (rows, k))
        codes, scale = F.fp8_quant_blockwise(
            x, output_scale_transpose=in_rows, quant_method="1x128" if in_rows else "128x128", using_pow2_scale=False
        )
        operands += [codes, scale]
        s = scale.numpy().astype(np.float64)
        s = s.T if in_rows else np.repeat(s, 128, 0)[:rows]
        wide.append(codes.numpy().astype(np.float64) * np.repeat(s, 128, 1)[:, :k])
    wanted = wide[0] @ wide[1].T
    limit = {"rtol": 1e-5, "atol": 1e-5 * np.abs(wanted).max()}
    y = F.fp8_gemm_blockwise(*operands, "float32", is_a_1d_scaled=a_rows, is_b_1d_scaled=b_rows)
    np.testing.assert_allclose(y.numpy(), wanted, **limit)
    out = paddle.full([m, n], 3.0)
    given = F.fp8_gemm_blockwise(
        *operands, "bfloat16", out, accumulate=True, is_a_1d_scaled=a_rows, is_b_1d_scaled=b_rows
    )
    assert given is out
    np.testing.assert_allclose(out.numpy(), wanted + 3, **limit)
    low = F.fp8_gemm_blockwise(*operands, paddle.bfloat16, is_a_1d_scaled=a_rows, is_b_1d_scaled=b_rows)
    same(low, y.astype("bfloat16").numpy())  # rounded once


# --- matrices of experts ---


@pytest.mark.parametrize("transpose", [True, False])
@pytest.mark.parametrize("shape", [(128, 256), (130, 3)], ids=str)
def test_stack_transpose_quant(shape, transpose, rng):
    weights = [matrix(rng, shape) for _ in range(3)]
    parts = [quantised(np.ascontiguousarray(w.numpy().T if transpose else w.numpy()), 128, False) for w in weights]
    codes, scale = F.fused_stack_transpose_quant(weights, transpose)
    same(codes, np.concatenate([p[0] for p in parts]))
    same(scale, np.concatenate([p[1] for p in parts]))


@pytest.mark.parametrize("power_of_two", [False, True])
@pytest.mark.parametrize("counts", [[128, 0, 256], [384], [3, 200, 181]], ids=str)
def test_transpose_split_quant(counts, power_of_two, rng):
    """Blocks of 128 tokens of a feature, none of two experts; of codes too, which are rounded to bfloat16 between."""
    x = matrix(rng, (384, 130))
    codes, scale = F.fp8_quant_blockwise(x, output_scale_transpose=False, using_pow2_scale=False)
    for tokens, given, scales in ((x, x, None), (F.fused_act_dequant(codes, scale), codes, scale)):
        outs, found = F.fused_transpose_split_quant(given, scales, counts, power_of_two)
        assert len(outs) == len(found) == len(counts)
        for part, out, s in zip(np.split(tokens.numpy(), np.cumsum(counts)[:-1]), outs, found, strict=True):
            wanted = quantised(np.ascontiguousarray(part.T), 1, power_of_two) if len(part) else None
            if wanted is None:
                assert out.shape == [130, 0] and s.shape == [0, 130]
            else:
                same(out, wanted[0])
                same(s, wanted[1].T)
    assert F.fused_transpose_split_quant(paddle.zeros([0, 8]), None, [0, 0]) == ([], [])


def test_transpose_wlch_split_quant(rng):
    """The tokens of an expert lie apart, by rank: it is the other function of them put together."""
    x = matrix(rng, (2, 3, 64, 20))
    counts = [128, 128, 128]
    together = paddle.to_tensor(x.numpy().transpose(1, 0, 2, 3).reshape(-1, 20))
    for found, wanted in zip(
        F.fused_transpose_wlch_split_quant(x, counts, True),
        F.fused_transpose_split_quant(together, None, counts, True),
        strict=True,
    ):
        for a, b in zip(found, wanted, strict=True):
            same(a, b.numpy())


# --- SwiGLU ---


def swiglu(x, prob):
    gate, up = np.split(x.astype(np.float64), 2, -1)
    return gate / (1 + np.exp(-gate)) * up * prob


@pytest.mark.parametrize("power_of_two", [False, True])
@pytest.mark.parametrize("shape", [(4, 3, 512), (7, 260), (0, 8)], ids=str)
def test_weighted_swiglu_act_quant(shape, power_of_two, rng):
    x = matrix(rng, shape)
    for prob in (None, rng.random(shape[:-1]).astype(np.float32)):
        codes, scale = F.fused_weighted_swiglu_act_quant(
            x, None if prob is None else paddle.to_tensor(prob), power_of_two
        )
        y = swiglu(x.numpy(), 1 if prob is None else prob[..., None]).reshape(-1, shape[-1] // 2)
        assert codes.dtype is paddle.float8_e4m3fn and codes.shape == list(y.shape)
        spread = np.repeat(scale.numpy(), 128, 1)[:, : y.shape[1]]
        found = codes.numpy().astype(np.float64) * spread
        assert (np.abs(found - y) <= np.maximum(np.abs(y) * 2.0**-4, spread * 2.0**-10) * 1.001).all()
        if not power_of_two and y.size:
            np.testing.assert_allclose(scale.numpy()[:, 0], np.abs(y[:, :128]).max(1) / 448, rtol=1e-5)


@pytest.mark.parametrize("shape", [(3, 4, 12), (5, 2)], ids=str)
def test_swiglu_weighted_bwd(shape, rng):
    """The gradients that autograd gives, in float32 throughout."""
    x, g = matrix(rng, shape), matrix(rng, (*shape[:-1], shape[-1] // 2))
    prob = paddle.to_tensor(rng.random((*shape[:-1], 1)).astype(np.float32))
    wide, weight = x.astype("float32"), prob.clone()
    wide.stop_gradient = weight.stop_gradient = False
    y = paddle.nn.functional.swiglu(wide) * weight
    y.backward(g.astype("float32"))
    to_x, to_prob, value = F.fused_swiglu_weighted_bwd(x, g, prob)
    for found, wanted in ((to_x, wide.grad), (to_prob, weight.grad), (value, y)):
        wanted = wanted.detach()
        assert found.shape == wanted.shape
        limit = 2.0**-8 if found.dtype is paddle.bfloat16 else 1e-5
        np.testing.assert_allclose(found.astype("float32").numpy(), wanted.numpy(), rtol=limit, atol=1e-6)
    assert (to_x.dtype, to_prob.dtype, value.dtype) == (paddle.bfloat16, paddle.float32, paddle.bfloat16)


# --- dispatch ---


def dispatched(x, scores, bias, k, capacity, pad):
    """The documented rules, a token at a time."""
    n, experts = scores.shape
    chosen = np.argsort(-(scores + bias), axis=1, kind="stable")[:, :k]
    weights = np.take_along_axis(scores, chosen, 1)
    counts = np.bincount(chosen.ravel(), minlength=experts)
    offset = np.cumsum(counts)
    places = experts * capacity if pad else n * k
    token, index, used = np.full(places, -1), np.zeros((k, n), np.int32), np.zeros(experts, int)
    for t, i in [(t, i) for i in range(k) for t in range(n)] if pad else np.ndindex(n, k):
        e = chosen[t, i]
        if used[e] >= capacity:
            weights[t, i] = 0
        else:
            index[i, t] = used[e] + (e * capacity if pad else offset[e] - counts[e])
            token[index[i, t]] = t
        used[e] += 1
    codes, scale = quantised(x, 1, True)
    out = np.where(token[:, None] >= 0, codes[token].astype(np.float32), 0).astype(E4M3)
    return out, np.where(token[:, None] >= 0, scale[token], np.float32(1)), weights, index, offset, chosen


@pytest.mark.parametrize("captured", [False, True])
@pytest.mark.parametrize("pad", [False, True])
@pytest.mark.parametrize(("k", "capacity"), [(1, 100), (2, 3), (4, 1)])
def test_moe_gate_dispatch_and_quant(k, capacity, pad, captured, rng):
    x = matrix(rng, (9, 200))
    scores = rng.permutation(36).reshape(9, 4).astype(np.float32) / 36
    bias = np.array([0, 0.3, 0, -0.2], np.float32)
    dispatch = F.moe_gate_dispatch_and_quant
    dispatch = paddle.jit.to_static(dispatch) if captured else dispatch
    found = dispatch(x, paddle.to_tensor(scores), paddle.to_tensor(bias), k, capacity, pad, True)
    for tensor, wanted in zip(found, dispatched(x.numpy(), scores, bias, k, capacity, pad), strict=True):
        np.testing.assert_array_equal(tensor.astype("float64").numpy(), wanted.astype(np.float64))
    assert [t.dtype.name for t in found] == ["float8_e4m3fn", "float32", "float32", "int32", "int64", "int32"]


# --- matmul into 16 bits ---


@pytest.mark.parametrize("act", ["identity", "relu", "gelu"])
@pytest.mark.parametrize(("tx", "ty"), [(False, False), (True, False), (False, True), (True, True)])
def test_fp8_fp8_half_gemm_fused(tx, ty, act, rng):
    batch = (2,) if act == "relu" else ()
    x, y = rng.standard_normal((*batch, 4, 48)), rng.standard_normal((*batch, 48, 5))
    x, y = x.astype(E4M3).astype(np.float32), y.astype(ml_dtypes.float8_e5m2).astype(np.float32)
    bias = rng.standard_normal(5).astype(np.float16)
    a = paddle.to_tensor(np.ascontiguousarray(x.swapaxes(-1, -2)) if tx else x).astype("float8_e4m3fn")
    b = paddle.to_tensor(np.ascontiguousarray(y.swapaxes(-1, -2)) if ty else y).astype("float8_e5m2")
    with paddle.amp.auto_cast(dtype="bfloat16"):
        found = paddle.linalg.fp8_fp8_half_gemm_fused(a, b, tx, ty, paddle.to_tensor(bias), 0.25, "float16", act)
    z = 0.25 * x.astype(np.float64) @ y + bias
    wanted = {
        "identity": z, "relu": np.maximum(z, 0),
        "gelu": 0.5 * z * (1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3))),
    }[act]  # fmt: skip
    assert found.dtype is paddle.float16
    np.testing.assert_allclose(found.astype("float64").numpy(), wanted, rtol=2.0**-11, atol=1e-6 * np.abs(wanted).max())


# --- what all have in common ---


def test_captured_and_without_gradients(rng):
    """One graph for several sizes; results have no history, whatever the operands want."""

    @paddle.jit.to_static
    def both(x):
        codes, scale = F.fp8_quant_blockwise(x, output_scale_transpose=False)
        return F.fused_act_dequant(codes, scale), *F.fused_weighted_swiglu_act_quant(x)

    for rows in (4, 6):
        x = matrix(rng, (rows, 384))
        x.stop_gradient = False
        codes, scale = F.fp8_quant_blockwise(x, output_scale_transpose=False)
        assert codes.stop_gradient and scale.stop_gradient
        wanted = F.fused_act_dequant(codes, scale), *F.fused_weighted_swiglu_act_quant(x)
        for a, b in zip(both(x), wanted, strict=True):
            assert a.stop_gradient
            same(a, b.numpy())


X, ROWS = paddle.ones([4, 256]), paddle.ones([2, 4])
CODES = X.astype("float8_e4m3fn")
SCORES = paddle.ones([4, 3])


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: F.fp8_quant_blockwise(CODES), TypeError, "x of bfloat16, float16 or float32, got float8_e4m3fn"),
        (lambda: F.fp8_quant_blockwise(X[0]), ValueError, r"x of 2 dims, got \[256\]"),
        (lambda: F.fp8_quant_blockwise(X, quant_method="64x64"), ValueError, "a quant_method of"),
        (lambda: F.fp8_quant_blockwise(X, output_type="e5m2"), ValueError, "the output_type 'e4m3'"),
        (lambda: F.fp8_quant_blockwise(X, return_transpose_only=True), ValueError, "input_transpose=True"),
        (lambda: F.fp8_quant_blockwise(X, epsilon=-1.0), ValueError, "an epsilon of 0 or above, got -1"),
        (lambda: F.fused_act_dequant(X, ROWS), TypeError, "x of float8_e4m3fn or float8_e5m2, got float32"),
        (lambda: F.fused_act_dequant(CODES, ROWS), ValueError, r"x_scale of shape \[4, 2\], got \[2, 4\]"),
        (lambda: F.fused_act_dequant(CODES, ROWS.T.astype("float64")), TypeError, "x_scale of float32 or int32"),
        (lambda: F.fused_act_dequant(CODES, ROWS.T.astype("int32")), ValueError, r"x_scale of shape \[4, 1\]"),
        (lambda: F.fp8_gemm_blockwise(CODES, ROWS, CODES, ROWS.T, "float32"), ValueError, r"b_decode_scale of shape"),
        (lambda: F.fp8_gemm_blockwise(CODES, ROWS, CODES, ROWS, "float64"), TypeError, "a result of"),
        (lambda: F.fp8_gemm_blockwise(CODES, ROWS, CODES, ROWS, "float32", bias=X), AssertionError, "no bias"),
        (lambda: F.fp8_gemm_blockwise(CODES, ROWS, CODES, ROWS, "float32", X), AssertionError, "out of shape"),
        (lambda: F.fp8_gemm_blockwise(CODES, ROWS, CODES, ROWS, "float32", accumulate=True), ValueError, "out with"),
        (lambda: F.fp8_gemm_blockwise(CODES, ROWS, CODES[:, :128], ROWS[:1], "float32"), ValueError, "a.shape"),
        (lambda: F.fused_stack_transpose_quant(X), TypeError, "a list of matrices"),
        (lambda: F.fused_stack_transpose_quant([]), ValueError, "a list of matrices"),
        (lambda: F.fused_stack_transpose_quant([X, X[:2]]), ValueError, r"x\[1\] of float32 \[4, 256\], as x\[0\] is"),
        (lambda: F.fused_transpose_split_quant(X, None, [4, 4]), ValueError, "4 in all"),
        (lambda: F.fused_transpose_split_quant(X, None, [5, -1]), ValueError, "of 0 or above"),
        (lambda: F.fused_transpose_split_quant(X, ROWS.T, [4]), ValueError, "input_scales of None"),
        (lambda: F.fused_transpose_split_quant(CODES, None, [4]), TypeError, "input_scales of codes"),
        (lambda: F.fused_transpose_wlch_split_quant(X, [4]), ValueError, "x of 4 dims"),
        (lambda: F.fused_weighted_swiglu_act_quant(X[:, :3]), ValueError, "an even last dim"),
        (lambda: F.fused_weighted_swiglu_act_quant(X, paddle.ones([3])), ValueError, "prob of 4 elements"),
        (lambda: F.fused_weighted_swiglu_act_quant(X, paddle.ones([4], "bfloat16")), TypeError, "prob of float32"),
        (lambda: F.fused_swiglu_weighted_bwd(X, X, paddle.ones([4])), ValueError, r"do2_s of shape \[4, 128\]"),
        (lambda: F.fused_swiglu_weighted_bwd(X, X.astype("bfloat16"), paddle.ones([4])), TypeError, "o1's dtype"),
        (lambda: F.moe_gate_dispatch_and_quant(X, X, None, 0, 1, True, True), ValueError, "k from 1 to 256"),
        (lambda: F.moe_gate_dispatch_and_quant(X, SCORES, None, 1, 0, True, True), ValueError, "a capacity of 1"),
        (lambda: F.moe_gate_dispatch_and_quant(X, SCORES[:2], None, 1, 1, True, True), ValueError, "gate_logits of"),
        (lambda: F.moe_gate_dispatch_and_quant(X, SCORES, X[0], 1, 1, True, True), ValueError, "a corr_bias of"),
        (lambda: paddle.linalg.fp8_fp8_half_gemm_fused(X, CODES), TypeError, "x of float8_e4m3fn or float8_e5m2"),
        (lambda: paddle.linalg.fp8_fp8_half_gemm_fused(CODES, CODES[0]), ValueError, "of one rank"),
        (lambda: paddle.linalg.fp8_fp8_half_gemm_fused(CODES, CODES), ValueError, "x.shape"),
        (lambda: paddle.linalg.fp8_fp8_half_gemm_fused(CODES, CODES.T, act="tanh"), ValueError, "an act of"),
        (lambda: paddle.linalg.fp8_fp8_half_gemm_fused(CODES, CODES.T, output_dtype="float32"), ValueError, "output_d"),
        (lambda: paddle.linalg.fp8_fp8_half_gemm_fused(CODES, CODES.T, bias=X[0, :4]), TypeError, "a bias of"),
    ],
)  # fmt: skip
def test_mistakes(call, kind, words):
    with pytest.raises(kind, match=words):
        call()
