"""Attention of the cpu backend against ref and PyTorch: sizes, masks, strides, types, special numbers, threads."""

import itertools

import numpy as np
import pytest
import torch

import paddle
from umiak.backends import base
from umiak.backends.cpu import attention_kernels, gemm_kernel, registry, select_attention
from umiak.backends.ref.evaluate import evaluate
from umiak.compiler import jit
from umiak.compiler.jit import codegen
from umiak.compiler.loop.types import BF16, BOOL, F32, F64
from umiak.compiler.render.target import AVX2, AVX512, NEON, Target
from umiak.core import array, eager
from umiak.core.tensor import Tensor
from umiak.ops import dot_product_attention as ops
from umiak.ops import permute
from umiak.ops import slice as slice_op
from umiak.runtime import parallel

SCALE = 0.3
ROUGH = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 1e-5, "float64": 1e-13}


def rounded_to(x, dtype):
    return array.to_numpy(array.from_numpy(np.asarray(x)).astype(dtype))


def draw(rng, shape, dtype="float32"):
    return rounded_to(rng.standard_normal(shape), dtype)


def operands(b, sq, sk, h, heads, d, e, dtype="float32", seed=0):
    rng = np.random.default_rng(seed)
    return [draw(rng, s, dtype) for s in ((b, sq, h, d), (b, sk, heads, d), (b, sk, heads, e), (b, sq, h, e))]


def wide(x):
    return np.asarray(x).astype(np.float32 if np.asarray(x).dtype.kind == "V" else None).astype(np.float64)


def tensor(x):
    return array.from_numpy(x) if isinstance(x, np.ndarray) else x


def close(got, want, dtype="float32", note=""):
    got, want = wide(array.to_numpy(got) if isinstance(got, Tensor) else got), wide(want)
    scale = np.abs(want[np.isfinite(want)]).max(initial=1)
    np.testing.assert_allclose(got, want, rtol=ROUGH[dtype], atol=ROUGH[dtype] * scale, err_msg=note)


def called(op, inputs, dropout=()):
    """Operands and params of a call: those that are missing are None and those of no dropout."""
    inputs = (*inputs, *[None] * (len(op.inputs) - len(inputs)))
    return inputs, (SCALE, *(dropout or (0.0, 0, 0)))[: len(op.param_fields)]


def run(op, *inputs, dropout=()):
    inputs, params = called(op, inputs, dropout)
    return eager.apply(op, tuple(map(tensor, inputs)), params)


def by_ref(op, *inputs, dropout=()):
    inputs, params = called(op, inputs, dropout)
    return evaluate(op, list(inputs), params)


def compare(q, k, v, g, mask=None, causal=False, dtype="float32", blocks=None, dropout=(), g_lse=None, softcap=0.0):
    """All three ops against ref."""
    grad_of_mask = mask is not None and mask.dtype.kind not in "bi"
    train = ops.AttentionTrain(causal=causal, dropout=bool(dropout), softcap=softcap)
    want = by_ref(train, q, k, v, mask, blocks, dropout=dropout)
    out, lse = run(train, q, k, v, mask, blocks, dropout=dropout)
    close(out, want[0], dtype, "out")
    close(lse, want[1], dtype, "lse")
    if blocks is None and not dropout and not softcap:
        close(run(ops.Attention(causal=causal), q, k, v, mask), want[0], dtype, "without lse")
    op = ops.AttentionGrad(causal=causal, dropout=bool(dropout), with_mask=grad_of_mask, softcap=softcap)
    operands = q, k, v, want[0], want[1], g, mask, blocks, g_lse
    wanted = by_ref(op, *operands, dropout=dropout)
    made = run(op, *operands, dropout=dropout)
    for i, (x, y) in enumerate(zip(made, wanted, strict=True)):
        close(x, y, dtype, f"gradient {i}")


SIZES = [  # batch, queries, keys, heads, key heads, dim, value dim
    (1, 1, 1, 1, 1, 1, 1),
    (2, 3, 3, 2, 2, 4, 4),
    (0, 4, 4, 1, 1, 4, 4),
    (2, 0, 5, 2, 1, 4, 4),
    (1, 5, 5, 1, 1, 0, 3),
    (1, 33, 33, 2, 2, 16, 16),
    (2, 7, 50, 4, 2, 5, 3),
    (1, 50, 7, 3, 3, 40, 24),
    (1, 113, 112, 1, 1, 17, 33),
    (1, 1, 300, 8, 2, 64, 64),
    (3, 4, 520, 4, 4, 20, 7),
    (1, 130, 257, 6, 2, 72, 80),
    (2, 48, 70, 3, 1, 32, 48),
    (1, 300, 160, 1, 1, 32, 32),
]


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_sizes(size, causal, dtype):
    compare(*operands(*size, dtype), causal=causal, dtype=dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize(("dim", "value_dim"), [(1, 1), (8, 8), (16, 40), (33, 16), (72, 72)])
def test_one_query_by_one_or_together(dim, value_dim, dtype):
    """Queries from which on they are computed together depend on the dims; results do not."""
    q, k, v, _ = operands(2, 18, 20, 2, 1, dim, value_dim, dtype)
    mask = draw(np.random.default_rng(1), (18, 20), dtype)
    for given in (None, mask):
        want = by_ref(ops.Attention(), q, k, v, given)
        for n in range(1, 19):
            got = run(ops.Attention(), q[:, :n], k, v, None if given is None else given[:n])
            close(got, wide(want[0])[:, :n], dtype, f"{n} queries")


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize(("queries", "group"), [(1, 1), (3, 1), (2, 2), (5, 1), (3, 3), (11, 1), (4, 3), (13, 1)])
def test_few_queries_of_a_key_head(queries, group, dtype):
    """One by one, as rows and in strips, with all that changes scores, and keys that end within a vector."""
    rng = np.random.default_rng(queries)
    lse = np.float64 if dtype == "float64" else np.float32
    for keys, dim, value_dim in ((1, 3, 5), (8, 16, 16), (21, 40, 9)):
        q, k, v, g = operands(2, queries, keys, 2 * group, 2, dim, value_dim, dtype)
        added = draw(rng, (2, 1, queries, keys), dtype)
        compare(q, k, v, g, causal=True, dtype=dtype)
        compare(q, k, v, g, mask=rng.random((2 * group, queries, keys)) < 0.5, dtype=dtype)
        compare(q, k, v, g, mask=added, causal=True, dtype=dtype)
        g_lse = rng.standard_normal((2, 2 * group, queries)).astype(lse)
        compare(q, k, v, g, mask=wide(added) > 0, softcap=0.7, dtype=dtype, g_lse=g_lse)
        want = by_ref(ops.AttentionTrain(), q, k, v, added)
        for x, y in zip(*(f(ops.AttentionGrad(), q, k, v, *want, g, added) for f in (run, by_ref)), strict=True):
            close(x, y, dtype, "gradient beside a mask")
        columns = rng.integers(0, queries + 1, (2, 2 * group, keys, 4)).astype(np.int32)
        blocks = np.ones((2, 2 * group, 1, 1), np.int32)
        blocks[1, 0] = 0
        compare(q, k, v, g, mask=columns, blocks=blocks, dtype=dtype)
        compare(q, k, v, g, mask=columns[..., :2], causal=True, dtype=dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("size", [SIZES[i] for i in (3, 6, 8, 9, 11, 13)])
def test_capped_scores(size, dtype):
    """In strips and one by one, with each kind of mask, dropout, and a gradient of the log-sum-exp."""
    b, sq, sk, h, heads, *_ = size
    rng = np.random.default_rng(2)
    given = operands(*size, dtype)
    g_lse = rng.standard_normal((b, h, sq)).astype(np.float64 if dtype == "float64" else np.float32)
    columns = rng.integers(-9, sq + 9, (b, heads, sk, 2)).astype(np.int32)
    compare(*given, causal=True, dtype=dtype, softcap=0.7)
    compare(*given, mask=columns, causal=True, dtype=dtype, softcap=2.0)
    compare(*given, mask=rng.random((b, h, sq, sk)) < 0.6, dtype=dtype, softcap=0.3, dropout=(0.3, 5, 8))
    if sq <= sk:
        compare(*given, causal=True, dtype=dtype, softcap=1.5, g_lse=g_lse)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-6), ("float64", 1e-14)])
def test_capped_scores_keep_their_digits(dtype, tolerance):
    """The log-sum-exp over one key is its score: of any size, infinite ones too."""
    scores = np.float64([1e-30, -1e-7, 1e-3, -0.1, 0.3, 0.9, -3, 20, -200, 3e4, 1e30, -1e30])
    q = (scores.reshape(1, -1, 1, 1) / SCALE).astype(dtype)
    one = np.ones((1, 1, 1, 1), dtype)
    for some in (q, np.tile(q, (1, 9, 1, 1))):
        lse = wide(array.to_numpy(run(ops.AttentionTrain(softcap=2.0), some, one, one)[1])).ravel()
        exact = 2 * np.tanh(some.astype(np.float64).ravel() * np.dtype(dtype).type(SCALE) / 2)
        np.testing.assert_allclose(lse, exact, rtol=tolerance)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_weights_are_relative_to_the_largest_capped_score(dtype, causal):
    """Also where scores are hundreds before they are capped, beside which all weights would be 0."""
    q, k, v, g = operands(1, 150, 150, 2, 1, 16, 16, dtype)
    compare(8 * q, 8 * k, v, g, causal=causal, dtype=dtype, softcap=2.0)


def test_an_added_mask_has_no_capped_scores():
    q, k, v, _ = operands(1, 3, 3, 1, 1, 4, 4)
    with pytest.raises(TypeError, match="a mask of bool or int32 where scores are capped, got float32"):
        run(ops.AttentionTrain(softcap=1.0), q, k, v, np.zeros((3, 3), np.float32))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("size", [(1, 40, 50, 4, 2, 24, 24), (2, 1, 300, 4, 2, 33, 17)])
def test_narrow_types(size, dtype):
    compare(*operands(*size, dtype), causal=True, dtype=dtype)
    rng = np.random.default_rng(1)
    b, sq, sk, h = size[:4]
    compare(*operands(*size, dtype), mask=draw(rng, (b, 1, sq, sk), dtype), dtype=dtype)


@pytest.mark.parametrize("scale", [0.3, -0.3, 0.0])
@pytest.mark.parametrize("dim", [2, 32, 34, 70, 128])
@pytest.mark.parametrize("first", [0, 1, 2])
def test_bfloat16_scores_are_those_of_float32(first, dim, scale):
    """Products of its pairs lose nothing of queries and keys, wherever rows begin; weights are pairs at best."""
    whole = operands(2, 70, 150, 4, 2, dim + first, dim + first, "bfloat16")
    low = [slice_op(tensor(x), axes=(3,), starts=(first,), sizes=(dim,), steps=(1,)) for x in whole]
    full = [x.astype("float32") for x in low]

    def apply(op, *inputs):
        return eager.apply(op, called(op, inputs)[0], (scale, 0.0, 0, 0))

    out, lse = apply(ops.AttentionTrain(causal=True), *full[:3], None)
    made, made_lse = apply(ops.AttentionTrain(causal=True), *low[:3], None)
    close(made_lse, array.to_numpy(lse), "float32")
    close(made, array.to_numpy(out), "bfloat16")
    given = [array.from_numpy(array.to_numpy(made)), made_lse]  # the gradients of one result
    wanted = apply(ops.AttentionGrad(causal=True), *full[:3], given[0].astype("float32"), lse, full[3], None)
    for x, y in zip(apply(ops.AttentionGrad(causal=True), *low[:3], *given, low[3], None), wanted, strict=True):
        close(x, array.to_numpy(y), "bfloat16")


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("length", "dim", "spread"), [(256, 32, 1.0), (131, 64, 1.0), (70, 34, 3.0), (300, 16, 2.0)])
def test_bfloat16_is_as_near_to_float64_as_the_peer(length, dim, spread, causal):
    x = [wide(v) * spread for v in operands(2, length, length, 3, 3, dim, dim, "bfloat16")]
    low = [rounded_to(v, "bfloat16") for v in x]

    def peer(dtype):
        q, k, v, g = (torch.tensor(wide(m)).transpose(1, 2).to(dtype) for m in low)
        leaves = [m.requires_grad_() for m in (q, k, v)]
        out = torch.nn.functional.scaled_dot_product_attention(*leaves, is_causal=causal, scale=SCALE)
        out.backward(g)
        return [m.detach().double().transpose(1, 2).numpy() for m in (out, *(m.grad for m in leaves))]

    out, lse = run(ops.AttentionTrain(causal=causal), *low[:3], None)
    ours = [out, *run(ops.AttentionGrad(causal=causal), *low[:3], out, lse, low[3], None)]
    for got, other, want in zip(ours, peer(torch.bfloat16), peer(torch.float64), strict=True):
        errors = [np.sqrt(np.mean((m - want) ** 2)) for m in (wide(array.to_numpy(got)), other)]
        assert errors[0] <= 1.05 * errors[1], errors


MASKS = [(), (1,), (260,), (40, 1), (40, 260), (4, 40, 260), (2, 1, 1, 260), (2, 4, 1, 1), (1, 4, 40, 260)]
MASKS += [(2, 4, 40, 260)]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("shape", MASKS)
def test_masks(shape, causal):
    rng = np.random.default_rng(2)
    x = operands(2, 40, 260, 4, 2, 8, 8)
    compare(*x, mask=np.asarray(rng.random(shape) < 0.3), causal=causal)
    compare(*x, mask=draw(rng, shape), causal=causal)


@pytest.mark.parametrize("queries", [2, 40])
def test_masks_of_few_queries_and_of_key_ranges(queries):
    """Whole tiles out of sight, rows that see nothing, sight that begins late."""
    x = operands(1, queries, 600, 2, 1, 8, 8)
    mask = np.zeros((1, 2, queries, 600), bool)
    mask[:, :, ::2, 230:240] = True
    mask[:, 1, :, 599] = True
    compare(*x, mask=mask)
    compare(*x, mask=np.where(mask, np.float32(0), -np.inf).astype(np.float32))
    assert not array.to_numpy(run(ops.Attention(), *x[:3], mask))[0, 1::2, 0].any()


def test_large_and_small_scores():
    """Maxima of tiles far apart, and far from 0."""
    q, k, v, g = operands(1, 40, 300, 1, 1, 16, 16, "float64")
    compare(q * 20, k, v, g, dtype="float64")
    compare(q, k, v, g, mask=np.full((300,), -1000.0), dtype="float64")
    q, k, v, g = operands(1, 40, 300, 1, 1, 16, 16)
    compare(q * 3, k, v, g)


@pytest.mark.parametrize("queries", [1, 33])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite(queries, value):
    """A query with NaN or infinity among its scores gives NaN, others do not, and neither do hidden keys."""
    q, k, v, _ = operands(1, queries, 200, 2, 2, 8, 8)
    q[0, -1, 0, 3] = value
    out, lse = (array.to_numpy(x) for x in run(ops.AttentionTrain(), q, k, v, None))
    assert np.isnan(out[0, -1, 0]).all()
    assert np.isnan(lse[0, 0, -1])
    assert np.isfinite(out[0, -1, 1]).all()
    assert np.isfinite(out[0, :-1]).all()
    q, k, v, _ = operands(1, queries, 200, 2, 2, 8, 8)
    k[0, 17] = np.nan
    hidden = np.arange(200) != 17
    close(run(ops.Attention(), q, k, v, hidden), by_ref(ops.Attention(), q, k, v, hidden)[0])


def strided(x, how):
    """The same numbers in other memory."""
    if how == "heads first":
        return permute(tensor(np.ascontiguousarray(x.transpose(0, 2, 1, 3))), perm=(0, 2, 1, 3))
    if how == "transposed":
        return permute(tensor(x.T.copy()), perm=tuple(range(x.ndim))[::-1])
    apart = np.full((*x.shape[:-1], 2 * x.shape[-1]), np.nan, x.dtype)
    apart[..., ::2] = x
    axis = x.ndim - 1
    return slice_op(tensor(apart), axes=(axis,), starts=(0,), sizes=(x.shape[-1],), steps=(2,))


@pytest.mark.parametrize("how", ["heads first", "transposed", "apart"])
@pytest.mark.parametrize("queries", [2, 40])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_strides(how, queries, dtype):
    q, k, v, g = operands(2, queries, 130, 4, 2, 24, 40, dtype)
    mask = draw(np.random.default_rng(3), (2, 1, queries, 130), dtype)
    for m in (None, mask, wide(mask) > 0):
        want = by_ref(ops.AttentionTrain(causal=True), q, k, v, m)
        given = [strided(x, how) for x in (q, k, v)]
        masked = None if m is None else strided(m, how)
        out, _ = run(ops.AttentionTrain(causal=True), *given, masked)
        close(out, want[0], dtype)
        wanted = by_ref(ops.AttentionGrad(causal=True), q, k, v, *want, g, m)
        lse = permute(tensor(want[1].T.copy()), perm=(2, 1, 0))
        made = run(ops.AttentionGrad(causal=True), *given, strided(want[0], how), lse, strided(g, how), masked)
        for x, y in zip(made, wanted, strict=True):
            close(x, y, dtype)


def test_heads_of_one_projection():
    """Query, key and value as views of one tensor [batch, sequence, 3, heads, dim]."""
    x = draw(np.random.default_rng(4), (2, 70, 3, 4, 8))
    views = [tensor(x)[:, :, i] for i in range(3)]
    assert not views[0].is_contiguous()
    got = run(ops.Attention(causal=True), *views, None)
    close(got, by_ref(ops.Attention(causal=True), x[:, :, 0], x[:, :, 1], x[:, :, 2], None)[0])


def test_one_plan_for_all_lengths(monkeypatch):
    """A cache of keys grows without a new plan or a new compilation."""
    made = []
    real = select_attention.kernel
    monkeypatch.setitem(registry.KERNELS, ops.Attention, lambda call: made.append(call.op) or real(call))
    base.clear_plans()
    attend = ops.Attention(causal=True)
    for length in (1, 2, 15, 16, 17, 255, 256, 257, 700):
        q, k, v, _ = operands(1, 1, length, 4, 2, 16, 16, seed=length)
        close(run(attend, q, k, v, None), by_ref(attend, q, k, v, None)[0])
    assert made == [attend]


@pytest.mark.parametrize("heads", [1, 3])
def test_a_query_has_the_same_result_in_any_lane(heads):
    q, k, v, _ = operands(1, 150, 150, heads, 1, 20, 20)
    attend = ops.AttentionTrain(causal=True)
    out, lse = map(array.to_numpy, run(attend, q, k, v, None))
    for first in (1, 13, 16, 90):
        some, some_lse = map(array.to_numpy, run(attend, q[:, first:], k, v, None))
        assert some.tobytes() == out[:, first:].tobytes()
        assert some_lse.tobytes() == lse[:, :, first:].tobytes()


def test_what_causal_attention_leaves_out():
    """Keys far from the last that a query sees are not multiplied: their infinities do not reach it."""
    x = operands(1, 200, 200, 1, 1, 32, 32)
    want = [array.to_numpy(t) for t in run(ops.AttentionTrain(causal=True), *x[:3], None)]
    x[2][:, 160:] = np.inf
    out, _ = run(ops.AttentionTrain(causal=True), *x[:3], None)
    assert np.isfinite(array.to_numpy(out)[:, :128]).all()
    grads = run(ops.AttentionGrad(causal=True), *x[:3], *want, x[3], None)
    for t in grads[:2]:
        assert np.isfinite(array.to_numpy(t)[:, :128]).all()


SPLIT = [(1, 300, 300, 1, 1, 32, 32), (2, 200, 1900, 4, 2, 16, 16), (1, 1, 3000, 8, 4, 64, 64)]


@pytest.mark.parametrize("size", SPLIT)
def test_threads_change_no_bit(size):
    q, k, v, g = operands(*size)
    mask = draw(np.random.default_rng(5), (1, size[3], size[1], 1))
    before = parallel.get_num_threads()
    found = []
    try:
        for count in (1, 2, 3):
            parallel.set_num_threads(count)
            out, lse = run(ops.AttentionTrain(causal=True), q, k, v, None)
            grads = run(ops.AttentionGrad(causal=True), q, k, v, out, lse, g, None)
            more = run(ops.AttentionGrad(with_mask=True), q, k, v, out, lse, g, mask)
            found.append([array.to_numpy(x).tobytes() for x in (out, lse, *grads, *more)])
    finally:
        parallel.set_num_threads(before)
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("heads", "key_heads"), [(2, 2), (4, 2)])
def test_training_as_pytorch(causal, heads, key_heads):
    numbers = operands(2, 150, 150, heads, key_heads, 32, 32)
    ours = [paddle.to_tensor(x, stop_gradient=i == 3) for i, x in enumerate(numbers)]
    theirs = [torch.from_numpy(x.transpose(0, 2, 1, 3).copy()).requires_grad_(i < 3) for i, x in enumerate(numbers)]
    out = paddle.nn.functional.scaled_dot_product_attention(*ours[:3], is_causal=causal)
    out.backward(ours[3])
    want = torch.nn.functional.scaled_dot_product_attention(*theirs[:3], is_causal=causal, enable_gqa=True)
    want.backward(theirs[3])
    close(out, want.detach().numpy().transpose(0, 2, 1, 3))
    for x, y in zip(ours[:3], theirs[:3], strict=True):
        close(x.grad, y.grad.numpy().transpose(0, 2, 1, 3))


# --- other processors ----------------------------------------------------------------------------------------------

SSE = Target.of("x86_64-unknown-linux-gnu", AVX2.data_layout, "x86-64", "+sse2")


@pytest.fixture
def narrower(monkeypatch, request):
    """Kernels as on a processor with shorter vectors, which this one runs too."""
    if not Target.host().has >= request.param.has - {"sse2"}:
        pytest.skip("this processor lacks the features")
    monkeypatch.setattr(attention_kernels, "host", lambda: request.param)
    base.clear_plans()
    yield
    monkeypatch.undo()
    base.clear_plans()


PAIRS = Target.of(AVX512.triple, AVX512.data_layout, AVX512.cpu, f"{AVX512.features},+avx512bf16")


@pytest.mark.parametrize("narrower", [AVX2, SSE, AVX512, PAIRS], indirect=True, ids=["avx2", "sse", "avx512", "pairs"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_shorter_vectors(narrower, dtype):
    rng = np.random.default_rng(6)
    compare(*operands(1, 50, 130, 4, 2, 19, 37, dtype), causal=True, dtype=dtype)
    compare(*operands(1, 3, 270, 1, 1, 21, 9, dtype), causal=True, dtype=dtype)
    compare(*operands(1, 50, 130, 4, 2, 8, 8, dtype), mask=rng.random((50, 130)) < 0.3, dtype=dtype)
    compare(*operands(1, 2, 130, 1, 1, 8, 8, dtype), mask=draw(rng, (2, 130), dtype), dtype=dtype)


@pytest.mark.parametrize(("type", "stored", "mask"), [(F32, F32, BOOL), (F32, BF16, BF16), (F64, F64, F64)])
def test_text_for_arm(type, stored, mask, monkeypatch):
    """LLVM takes the text for a processor that this one is not."""
    texts = []

    class Loaded:
        def address(self, name):
            return 0

    monkeypatch.setattr(attention_kernels.jit, "load", lambda text, names: texts.append((text, names)) or Loaded())
    for make, args in (
        ("shared", ()),
        ("forward", ()),
        ("gradient", (True,)),
        ("capping", ()),
        ("io_functions", (stored,)),
        ("mask_functions", (mask,)),
    ):
        getattr(attention_kernels, make).__wrapped__(NEON, type, *args)
    target = jit.Target(NEON.triple, NEON.cpu, NEON.features, NEON.data_layout)
    for text, names in texts:
        assembly = codegen.assembly(text, target, names[0])
        assert all(f"\n{name}:" in assembly for name in names)


@pytest.mark.parametrize(("target", "type"), list(itertools.product((AVX512, AVX2, SSE, NEON), (F32, F64))))
def test_tiles_fit(target, type):
    """Registers for a tile, a row of b and an element of a; blocks of lanes fill the rows of a panel."""
    tile = gemm_kernel.tile_of(target, type)
    registers = 16 if target in (AVX2, SSE) else 32
    assert tile.rows * tile.vecs + tile.vecs + 1 <= registers
    assert tile.rows <= tile.lanes or tile.rows % tile.lanes == 0
