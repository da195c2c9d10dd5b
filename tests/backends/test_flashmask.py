"""Attention with masks by columns: against ref, bit by bit against a dense mask, and its gradients."""

import itertools

import numpy as np
import pytest

import paddle
from tests.backends.test_attention import SCALE, by_ref, close, compare, draw, operands, run, wide
from tests.support.attention_reference import attention
from tests.support.draw import sampled
from umiak import masks
from umiak.core import array
from umiak.ops import dot_product_attention as ops

FORMS = [(True, 1), (True, 2), (False, 2), (False, 4)]


def families(n):
    """All families, for ``n`` tokens."""
    third = n // 3
    lengths = [third, n - 2 * third, third]
    rng = np.random.default_rng(n)
    key = np.arange(n)
    return {
        "full": masks.full(n),
        "causal": masks.causal(n),
        "sliding window": masks.sliding_window(n, n // 5),
        "two-sided window": masks.sliding_window(n, n // 5, n // 7),
        "causal document": masks.causal_document(lengths),
        "document": masks.document(lengths),
        "shared question": masks.share_question([(third, [n - 2 * third, third])]),
        "global and sliding": masks.global_sliding(n, n // 10, n // 5, n // 7),
        "causal blockwise": masks.causal_blockwise(lengths),
        "prefix": masks.prefix(n, n // 2),
        "prefix document": masks.prefix_document(lengths, [third // 2] * 3),
        "QK-sparse": masks.qk_sparse(n, [(third, third)]),
        "random eviction": masks.random_eviction(np.minimum(key + 1 + rng.integers(0, n, n), n)),
    }


@pytest.mark.parametrize("name", families(30))
@pytest.mark.parametrize(("n", "dtype"), [(150, "float32"), (400, "bfloat16")])
def test_families(name, n, dtype):
    mask = families(n)[name]
    compare(*operands(1, n, n, 2, 1, 16, 24, dtype), mask=mask.indices, causal=mask.causal, dtype=dtype)


@pytest.mark.parametrize(("causal", "columns"), FORMS)
@pytest.mark.parametrize("heads", [(4, 2, 1), (4, 2, 2), (4, 2, 4), (6, 1, 6), (3, 3, 3)])
@pytest.mark.parametrize(("queries", "keys"), [(130, 257), (257, 130), (129, 128), (3, 300), (1, 40), (300, 3)])
def test_any_indices(causal, columns, heads, queries, keys):
    """Also those that are out of range, of intervals that overlap or are empty, and rows that see nothing."""
    h, key_heads, mask_heads = heads
    rng = np.random.default_rng(queries + columns)
    indices = rng.integers(-20, queries + 20, (2, mask_heads, keys, columns)).astype(np.int32)
    compare(*operands(2, queries, keys, h, key_heads, 8, 12), mask=indices, causal=causal)


HEADS = itertools.product(
    ["causal document", "prefix document"], [16, 80, 192, 256, 320], ["float32", "bfloat16", "float16"]
)


@pytest.mark.parametrize(("name", "dim", "dtype"), sampled(HEADS, 10, "heads"))
def test_head_sizes_against_float64(name, dim, dtype):
    """Results and gradients, of one key more than queries and of one less."""
    n = 131
    mask = families(n)[name]
    for keys in (n - 1, n + 1):
        rows = np.resize(mask.indices, (1, 1, keys, mask.indices.shape[3]))
        q, k, v, g = operands(1, n, keys, 2, 1, dim, dim, dtype)
        exact = [wide(x) for x in (q, k, v, g)]
        want = by_ref(ops.AttentionTrain(causal=mask.causal), *exact[:3], rows)
        wanted = by_ref(ops.AttentionGrad(causal=mask.causal), *exact[:3], *want, exact[3], rows)
        out, lse = run(ops.AttentionTrain(causal=mask.causal), q, k, v, rows)
        made = run(ops.AttentionGrad(causal=mask.causal), q, k, v, out, lse, g, rows)
        for x, y in zip([out, *made], [want[0], *wanted], strict=True):
            close(x, y, dtype)


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("n", "dtype"),
    [
        (4096, "float32"),
        (4224, "bfloat16"),
        pytest.param(16383, "bfloat16", marks=SLOW),
        pytest.param(16384, "float32", marks=SLOW),
        pytest.param(16385, "float32", marks=SLOW),
    ],
)
def test_long_sequences_are_their_documents(n, dtype):
    """Results, log-sum-exps and gradients of three query heads on one key head, each document by its definition."""
    rng = np.random.default_rng(n)
    lengths = np.diff(np.unique([0, n, *rng.integers(1, n, n // 300)]))
    mask = masks.causal_document(lengths.tolist())
    q, k, v, g = operands(1, n, n, 3, 1, 16, 16, dtype)
    out, lse = run(ops.AttentionTrain(causal=True), q, k, v, mask.indices)
    made = run(ops.AttentionGrad(causal=True), q, k, v, out, lse, g, mask.indices)
    got = {"lse": lse} | dict(zip(("out", "query", "key", "value"), (out, *made), strict=True))
    exact = [wide(x) for x in (q, k, v, g)]
    parts = []
    for begin, length in zip(np.cumsum(lengths) - lengths, lengths, strict=True):
        q_, k_, v_, g_ = (x[:, begin : begin + length] for x in exact)
        parts.append(attention(q_, k_, v_, np.tri(length, dtype=bool), SCALE, g_))
    for name, x in got.items():
        want = np.concatenate([part[name] for part in parts], 2 if name == "lse" else 1)
        close(x, want, dtype)


def dense_of(mask, queries, heads, causal):
    named = masks.ColumnMask(mask, causal, queries)
    return np.repeat(masks.ColumnMask.visible(named), heads // mask.shape[1], axis=1)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("name", families(30))
def test_bits_of_the_kernel_with_a_dense_mask(name, dtype):
    n = 300
    mask = families(n)[name]
    q, k, v, g = operands(1, n, n, 2, 2, 32, 32, dtype)
    dense = dense_of(mask.indices, n, 2, mask.causal)
    same = [np.asarray(array.to_numpy(x)) for x in run(ops.AttentionTrain(causal=mask.causal), q, k, v, mask.indices)]
    want = [np.asarray(array.to_numpy(x)) for x in run(ops.AttentionTrain(causal=mask.causal), q, k, v, dense)]
    for x, y in zip(same, want, strict=True):
        np.testing.assert_array_equal(x.view(np.uint8), y.view(np.uint8))
    grad = ops.AttentionGrad(causal=mask.causal)
    same = run(grad, q, k, v, *want, g, mask.indices)
    want = run(grad, q, k, v, *want, g, dense)
    for x, y in zip(same, want, strict=True):
        np.testing.assert_array_equal(*(np.asarray(array.to_numpy(t)).view(np.uint8) for t in (x, y)))


def at_every_edge(rng, causal, columns, queries, keys):
    """Columns of a mask for each query, and each key, at which hiding may begin or end; of some, one key is other."""
    begin = np.arange(queries + 1).repeat(2)
    end = rng.integers(0, queries + 1, begin.size)
    begin[1::2], end[1::2] = end[1::2], begin[1::2]  # an edge is a begin, then an end
    intervals = np.stack([begin, end], 1)
    if columns == 1:
        intervals = intervals[:, :1]
    elif columns == 4:
        other = rng.integers(0, queries + 1, intervals.shape)
        intervals = np.concatenate([np.hstack([intervals, other]), np.hstack([other, intervals])])
    indices = np.broadcast_to(intervals[:, None], (len(intervals), keys, columns)).copy()
    entry = np.arange(len(intervals))
    indices[entry, rng.choice([0, 127, 128, keys - 1], entry.size) % keys] += rng.integers(-1, 2, intervals.shape)
    cut, key = np.arange(keys + 1)[:, None], np.arange(keys)
    never, always = {1: ([queries], [0]), 2: ([queries] * 2, [0, queries]), 4: ([0] * 4, [0, queries, 0, 0])}[columns]
    if not causal and columns == 2:
        never = [queries, 0]
    hidden = np.concatenate([key < cut, key >= cut])
    indices = np.concatenate([indices, np.where(hidden[..., None], always, never)])
    return indices[:, None].astype(np.int32)


@pytest.mark.parametrize(("causal", "columns"), FORMS)
@pytest.mark.parametrize("heads", [(1, 1, 1), (3, 1, 1), (3, 1, 3)])
@pytest.mark.parametrize(("queries", "keys"), [(66, 140), (140, 66), (5, 140)])
def test_every_edge_of_what_is_hidden(causal, columns, heads, queries, keys):
    """A query more or less, and a key, where strips and tiles begin and end: the bits of a dense mask."""
    h, key_heads, mask_heads = heads
    indices = at_every_edge(np.random.default_rng(columns), causal, columns, queries, keys)
    indices = np.concatenate([np.roll(indices, i, axis=0) for i in range(mask_heads)], axis=1)
    q, k, v, g = operands(len(indices), queries, keys, h, key_heads, 4, 4)
    dense = dense_of(indices, queries, h, causal)
    train, grad = ops.AttentionTrain(causal=causal), ops.AttentionGrad(causal=causal)
    same, want = run(train, q, k, v, indices), run(train, q, k, v, dense)
    same, want = ([*x, *run(grad, q, k, v, *want, g, mask)] for x, mask in ((same, indices), (want, dense)))
    for x, y in zip(same, want, strict=True):
        np.testing.assert_array_equal(*(np.asarray(array.to_numpy(t)).view(np.uint8) for t in (x, y)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_mask_of_one_sequence_is_that_of_all(dtype):
    """Each of several sequences has the bits that it has alone; also of queries that see nothing, which are zeros."""
    batch, n = 5, 300
    indices = masks.prefix_document([130, 150, 20], [5, 129, 0]).indices.copy()
    indices[:, :, 140:150], indices[:, :, :, 1] = 0, np.maximum(indices[:, :, :, 1], 3)
    q, k, v, g = operands(batch, n, n, 3, 1, 8, 8, dtype)
    train, grad = ops.AttentionTrain(causal=False), ops.AttentionGrad(causal=False)

    def of(*x):
        out = run(train, *x[:3], indices)
        return [array.to_numpy(t) for t in (*out, *run(grad, *x[:3], *out, x[3], indices))]

    together = of(q, k, v, g)
    out, lse, query = together[:3]
    assert not out[:, :3].any() and not query[:, :3].any() and np.isneginf(lse[..., :3]).all()
    for b in range(batch):
        for x, y in zip(of(*(t[b : b + 1] for t in (q, k, v, g))), together, strict=True):
            np.testing.assert_array_equal(x[0], y[b])


def drawn_blocks(rng, batch, heads, queries, keys):
    shape = (batch, heads, -(-queries // ops.BLOCK), -(-keys // ops.BLOCK))
    return (rng.random(shape) < 0.6).astype(np.int32)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(("causal", "columns"), FORMS)
@pytest.mark.parametrize("heads", [(2, 1, 1), (4, 2, 1), (4, 2, 2), (6, 2, 6)])
@pytest.mark.parametrize(("queries", "keys"), [(130, 257), (300, 129), (200, 120), (3, 300)])
def test_blocks(causal, columns, heads, queries, keys, dtype):
    """Blocks of 128 × 128 hidden on top of indices; little work is one part, which holds several blocks."""
    h, key_heads, mask_heads = heads
    rng = np.random.default_rng(queries + columns + h)
    indices = rng.integers(-20, queries + 20, (1, mask_heads, keys, columns)).astype(np.int32)
    blocks = drawn_blocks(rng, 1, mask_heads, queries, keys)
    q, k, v, g = operands(1, queries, keys, h, key_heads, 8, 12, dtype)
    compare(q, k, v, g, mask=indices, causal=causal, blocks=blocks, dtype=dtype)
    dense = dense_of(indices, queries, h, causal)
    shown = blocks.repeat(128, 2).repeat(128, 3)[:, :, :queries, :keys] != 0
    dense = dense & np.repeat(shown, h // mask_heads, axis=1)
    train = ops.AttentionTrain(causal=causal)
    same, want = run(train, q, k, v, indices, blocks), run(train, q, k, v, dense)
    grad = ops.AttentionGrad(causal=causal)
    same = [*same, *run(grad, q, k, v, *want, g, indices, blocks)]
    want = [*want, *run(grad, q, k, v, *want, g, dense)]
    for x, y in zip(same, want, strict=True):
        np.testing.assert_array_equal(*(np.asarray(array.to_numpy(t)).view(np.uint8) for t in (x, y)))


@pytest.mark.parametrize("threads", [1, 2], indirect=True)
@pytest.mark.parametrize(("causal", "columns"), FORMS)
@pytest.mark.parametrize("heads", [(1, 1, 1), (4, 2, 2), (3, 1, 1)])
def test_bits_where_keys_are_hidden_from_most_queries(heads, causal, columns, threads):
    """Keys that no query of a part sees are left out of the matmuls, which no bit shows."""
    h, key_heads, mask_heads = heads
    queries, keys = 700, 650
    rng = np.random.default_rng(columns + h)
    first = rng.integers(0, 300, (2, mask_heads, keys, 1))
    ends = {1: [], 2: [rng.integers(500, 750, first.shape)], 4: [first + 200, first + 210, first + 400]}[columns]
    if not causal and columns == 2:
        ends = [rng.integers(0, 200, first.shape)]  # from the first query on
    indices = np.concatenate([first, *ends], -1).astype(np.int32)
    q, k, v, _ = operands(2, queries, keys, h, key_heads, 16, 24)
    dense = dense_of(indices, queries, h, causal)
    same, want = (run(ops.AttentionTrain(causal=causal), q, k, v, mask) for mask in (indices, dense))
    for x, y in zip(same, want, strict=True):
        np.testing.assert_array_equal(*(np.asarray(array.to_numpy(t)).view(np.uint8) for t in (x, y)))


@pytest.mark.parametrize("name", ["causal_document", "document"])
def test_gradients_of_queries_that_do_not_see_the_first_keys(name):
    """With many heads a part of the gradient has all keys of one, over 1,024 of them in several goes."""
    n = 1300
    mask = getattr(masks, name)([1100, 200])
    q, k, v, g = operands(8, n, n, 2, 1, 4, 4)
    dense = dense_of(mask.indices, n, 2, mask.causal)
    out, lse = run(ops.AttentionTrain(causal=mask.causal), q, k, v, dense)
    made = (run(ops.AttentionGrad(causal=mask.causal), q, k, v, out, lse, g, x) for x in (mask.indices, dense))
    for x, y in zip(*made, strict=True):
        np.testing.assert_array_equal(*(np.asarray(array.to_numpy(t)).view(np.uint8) for t in (x, y)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_keys_that_no_query_of_a_part_sees_are_not_multiplied(dtype):
    """Every second key is hidden from query 20 on; whatever it holds, results from the next part on are finite."""
    n, part = 1100, 16 * 64
    q, k, v, _ = operands(1, n, n, 1, 1, 16, 16, dtype)
    indices = np.full((1, 1, n, 1), n, np.int32)
    indices[:, :, :part:2] = 20
    v[:, :part:2] = np.inf
    out = np.asarray(array.to_numpy(run(ops.AttentionTrain(causal=True), q, k, v, indices)[0]))
    assert np.isfinite(out[:, part:]).all()


@pytest.mark.parametrize("form", ["indices", "dense"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_ends_of_a_tile_that_no_query_sees_are_not_multiplied(dtype, form):
    """Whatever is there, in whole steps of 32."""
    n, shown = 200, slice(70, 91)
    q, k, v, _ = operands(1, n, n, 2, 1, 16, 16, dtype)
    indices = np.zeros((1, 1, n, 1), np.int32)
    indices[:, :, shown] = n
    dense = np.zeros((1, 2, n, n), bool)
    dense[..., shown] = True
    mask, causal = (indices, True) if form == "indices" else (dense & np.tri(n, dtype=bool), False)
    want = run(ops.AttentionTrain(causal=causal), q, k, v, mask)
    k[:, :64], k[:, 96:], v[:, :64], v[:, 96:] = np.inf, np.nan, np.nan, np.inf
    for x, y in zip(run(ops.AttentionTrain(causal=causal), q, k, v, mask), want, strict=True):
        np.testing.assert_array_equal(array.to_numpy(x), array.to_numpy(y))


@pytest.mark.parametrize("heads", [1, 2, 6])
def test_dropped_blocks_are_not_multiplied(heads):
    """What is in a block that no query sees does not matter, whatever it is."""
    q, k, v, g = operands(1, 384, 256, 6, 2, 8, 8)
    indices = np.zeros((1, heads, 256, 2), np.int32) + np.array([384, 0], np.int32)
    blocks = np.ones((1, heads, 3, 2), np.int32)
    blocks[..., 1] = 0
    want = run(ops.AttentionTrain(), q, k, v, indices, blocks)
    k[:, 128:], v[:, 128:] = np.inf, np.nan
    got = run(ops.AttentionTrain(), q, k, v, indices, blocks)
    grads = run(ops.AttentionGrad(), q, k, v, *got, g, indices, blocks)
    close(got[0], array.to_numpy(want[0]))
    for x in grads:
        assert np.isfinite(array.to_numpy(x)).all()


DROPPED = (0.3, -1234567890123, 2**33 + 8)  # p, seed, offset


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64", "float16"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("sizes", [(2, 130, 257, 2, 1, 16, 24), (1, 70, 3, 6, 2, 8, 9), (1, 1, 300, 3, 3, 33, 5)])
def test_dropout(sizes, causal, dtype):
    """The weights that the words of the random stream say, with masks and without, forwards and backwards."""
    b, queries, keys, h, key_heads, *_ = sizes
    rng = np.random.default_rng(queries)
    q, k, v, g = operands(*sizes, dtype)
    compare(q, k, v, g, causal=causal, dtype=dtype, dropout=DROPPED)
    indices = rng.integers(-20, queries + 20, (b, key_heads, keys, 2)).astype(np.int32)
    blocks = drawn_blocks(rng, b, key_heads, queries, keys)
    compare(q, k, v, g, mask=indices, causal=causal, blocks=blocks, dtype=dtype, dropout=DROPPED)
    added = draw(rng, (h, queries, keys), dtype)
    compare(q, k, v, g, mask=added, causal=causal, dtype=dtype, dropout=DROPPED)


@pytest.mark.parametrize("mask_heads", [1, 3])
@pytest.mark.parametrize("hidden", [37, 131, 70])
def test_dropout_behind_keys_that_nobody_sees(hidden, mask_heads):
    """Random numbers belong to places, wherever the keys of a tile that are multiplied begin."""
    n = 200
    indices = np.full((1, mask_heads, n, 1), n, np.int32)
    for head in range(mask_heads):
        indices[:, head, : hidden + head] = 0
    compare(*operands(1, n, n, 3, 1, 8, 8), mask=indices, causal=True, dropout=DROPPED)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
@pytest.mark.parametrize("heads", [(2, 2), (3, 1)])
@pytest.mark.parametrize("n", [5, 140])
def test_gradient_of_the_log_sum_exp(n, heads, dtype):
    lse = draw(np.random.default_rng(n), (2, heads[0], n), "float64" if dtype == "float64" else "float32")
    compare(*operands(2, n, n + 1, *heads, 16, 8, dtype), causal=True, dtype=dtype, g_lse=lse)


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_dropout_of_nothing_and_of_everything(p):
    q, k, v, g = operands(1, 40, 40, 2, 2, 8, 8)
    compare(q, k, v, g, causal=True, dropout=(p, 5, 0))


def test_dropped_bits_do_not_depend_on_threads(threads):
    q, k, v, g = operands(1, 250, 250, 4, 2, 16, 16)
    compare(q, k, v, g, mask=masks.causal_document([50, 125, 75]).indices, causal=True, dropout=DROPPED)


def test_threads_do_not_matter(threads):
    n = 500
    mask = masks.causal_document([100, 250, 150])
    q, k, v, g = operands(1, n, n, 2, 2, 32, 32)
    compare(q, k, v, g, mask=mask.indices, causal=True)


def test_numbers_that_no_query_sees_do_not_matter():
    """Skipped tiles are not multiplied."""
    q, k, v, _ = operands(1, 256, 256, 1, 1, 16, 16)
    mask = masks.document([128, 128])
    want = run(ops.Attention(causal=False), q, k, v, mask.indices)
    k[:, 128:], v[:, 128:] = np.inf, np.nan
    got = run(ops.Attention(causal=False), q, k, v, mask.indices)
    close(array.to_numpy(got)[:, :128], array.to_numpy(want)[:, :128])


def call(mask, *inputs, **words):
    x = [paddle.to_tensor(t, stop_gradient=False) for t in inputs]
    return x, paddle.nn.functional.flashmask_attention(*x, paddle.to_tensor(mask.indices), causal=mask.causal, **words)


@pytest.mark.parametrize("name", families(30))
def test_public_function_is_attention_with_the_dense_mask(name):
    n = 40
    mask = families(n)[name]
    inputs = [draw(np.random.default_rng(i), (2, n, 2, 8)) for i in range(3)]
    x, out = call(mask, *inputs)
    out.square().sum().backward()
    y = [paddle.to_tensor(t, stop_gradient=False) for t in inputs]
    dense = paddle.to_tensor(mask.visible())
    want = paddle.nn.functional.scaled_dot_product_attention(*y, dense)
    want.square().sum().backward()
    close(out.numpy(), want.numpy())
    for a, b in zip(x, y, strict=True):
        close(a.grad.numpy(), b.grad.numpy())


def test_log_sum_exp_has_padded_rows_and_a_gradient():
    n = 40
    mask = masks.causal_document([15, 25])
    inputs = [draw(np.random.default_rng(i), (1, n, 2, 8)) for i in range(3)]
    x, (out, lse) = call(mask, *inputs, return_softmax_lse=True)
    assert lse.shape == [1, 2, 128]
    assert np.isposinf(lse.numpy()[:, :, n:]).all()
    y = [paddle.to_tensor(t, stop_gradient=False) for t in inputs]
    q, k, _ = (t.transpose([0, 2, 1, 3]) for t in y)
    scores = paddle.where(paddle.to_tensor(mask.visible()), q @ k.mT * 8**-0.5, -np.inf)
    want = paddle.logsumexp(scores, 3)
    close(lse.numpy()[:, :, :n], want.numpy())
    weights = paddle.arange(n, dtype="float32")
    (out.sum() + (lse[:, :, :n] * weights).sum()).backward()
    other = paddle.nn.functional.scaled_dot_product_attention(*y, paddle.to_tensor(mask.visible()))
    (other.sum() + (want * weights).sum()).backward()
    for a, b in zip(x, y, strict=True):
        close(a.grad.numpy(), b.grad.numpy())


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("size", [3, np.int64(3), (4, 2), [4, 2]])
def test_window(causal, size):
    before, after = size if isinstance(size, (tuple, list)) else (size, size)
    x = paddle.to_tensor(draw(np.random.default_rng(0), (1, 20, 2, 8)))
    got = paddle.nn.functional.flashmask_attention(x, x, x, causal=causal, window_size=size)
    mask = masks.sliding_window(20, before, None if causal else after)
    close(got.numpy(), call(mask, *[x.numpy()] * 3)[1].numpy())


def test_captured_at_two_lengths():
    fn = paddle.jit.to_static(lambda q, rows: paddle.nn.functional.flashmask_attention(q, q, q, rows, causal=True))
    for lengths in ([5, 7], [9, 11, 3], [20, 30]):
        mask = masks.causal_document(lengths)
        x = paddle.to_tensor(draw(np.random.default_rng(0), (1, sum(lengths), 2, 8)))
        rows = paddle.to_tensor(mask.indices)
        want = paddle.nn.functional.flashmask_attention(x, x, x, rows, causal=True)
        close(fn(x, rows).numpy(), want.numpy())


class Attention(paddle.nn.Layer):
    def forward(self, q, rows):
        return paddle.nn.functional.flashmask_attention(q, q, q, rows, causal=True, return_softmax_lse=True)


def test_saved_with_its_log_sum_exp_for_any_length(tmp_path):
    spec = [paddle.static.InputSpec([None, None, 2, 8]), paddle.static.InputSpec([None, 1, None, 1], "int32")]
    paddle.jit.save(Attention(), str(tmp_path / "attention"), spec)
    again = paddle.jit.load(str(tmp_path / "attention"))
    for lengths in ([5, 7], [100, 28], [90, 50]):
        x = paddle.to_tensor(draw(np.random.default_rng(0), (1, sum(lengths), 2, 8)))
        rows = paddle.to_tensor(masks.causal_document(lengths).indices)
        for got, want in zip(again(x, rows), Attention()(x, rows), strict=True):
            close(got.numpy(), want.numpy())


INDICES = {"startend_row_indices": np.full((1, 1, 4, 1), 4, np.int32)}


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        (
            {"startend_row_indices": np.zeros((1, 1, 4, 1), np.int64)},
            TypeError,
            r"startend_row_indices of int32, got int64",
        ),
        (
            {"startend_row_indices": np.zeros((1, 1, 4, 4), np.int32)},
            ValueError,
            r"of shape \[batch 1, heads 1 or 2, keys 4, columns 1 or 2\]",
        ),
        (
            {"startend_row_indices": np.zeros((1, 3, 4, 1), np.int32)},
            ValueError,
            r"of shape \[batch 1, heads 1 or 2, keys 4, columns 1 or 2\], got \(1, 3, 4, 1\)",
        ),
        ({"startend_row_indices": np.zeros((1, 1, 5, 1), np.int32)}, ValueError, r"a mask of int32 of shape"),
        ({"startend_row_indices": np.zeros((1, 4, 1), np.int32)}, ValueError, r"a mask of int32 of shape"),
        (
            {"startend_row_indices": np.zeros((1, 1, 4, 1), np.int32), "window_size": 2},
            ValueError,
            "indices or window_size",
        ),
        ({"window_size": (-1, 2)}, ValueError, "a window of 0 keys at least"),
        ({"window_size": (1, 2, 3)}, ValueError, r"a window of one number or two, got \(1, 2, 3\)"),
        ({"window_size": 2.5}, TypeError, "window_size"),
        ({"fixed_seed_offset": np.zeros(3, np.int64)}, ValueError, "two integers, a seed and an offset"),
        ({"fixed_seed_offset": np.zeros(2)}, ValueError, "two integers, a seed and an offset"),
        ({"rng_name": "nobody"}, ValueError, "a name that set_random_seed_generator was given"),
        ({"dropout": 1.5}, ValueError, "dropout between 0 and 1"),
        ({"block_mask": np.ones((1, 1, 1, 1), np.int32)}, ValueError, "indices beside block_mask"),
        ({"block_mask": np.ones((1, 1, 1, 1), np.int32), "window_size": 2}, ValueError, "indices beside block_mask"),
        ({**INDICES, "block_mask": np.ones((1, 1, 1, 1), np.int64)}, TypeError, "a mask by blocks of int32"),
        ({**INDICES, "block_mask": np.ones((1, 1, 1, 2), np.int32)}, ValueError, r"by blocks of shape \[1, 1, 1, 1\]"),
        ({**INDICES, "block_mask": np.ones((1, 2, 1, 1), np.int32)}, ValueError, r"by blocks of shape \[1, 1, 1, 1\]"),
        ({**INDICES, "block_mask": np.ones((1, 1, 1), np.int32)}, ValueError, r"by blocks of shape \[1, 1, 1, 1\]"),
    ],
)
def test_refusals(words, error, message):
    x = paddle.ones([1, 4, 2, 8])
    words = {k: paddle.to_tensor(v) if isinstance(v, np.ndarray) else v for k, v in words.items()}
    with pytest.raises(error, match=message):
        paddle.nn.functional.flashmask_attention(x, x, x, causal=True, **words)
