"""Sequences behind one another, dropout that a seed fixes, and attention at listed positions, against dense calls."""

import itertools

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from tests.backends.test_attention import close
from umiak.core import storage

FLASH = F.flash_attention
SCALE = 0.35


def draw(rng, *shape, dtype="float32"):
    return paddle.to_tensor(rng.standard_normal(shape), dtype=dtype, stop_gradient=False)


def ends(lengths):
    return paddle.to_tensor(np.cumsum([0, *lengths]).astype(np.int32))


def seen(queries, keys, left, right):
    """Which keys queries see where the last ones stand at one place."""
    distance = np.arange(keys) - (np.arange(queries)[:, None] + keys - queries)
    return ((left < 0) | (distance >= -left)) & ((right < 0) | (distance <= right))


def one_by_one(q, k, v, lengths, key_lengths, window, used=None, key_used=None):
    """Results and log-sum-exps of the sequences, each by a dense call in float64."""
    at, key_at, group = 0, 0, q.shape[1] // k.shape[1]
    used, key_used = used or lengths, key_used or key_lengths
    for n, m, of, key_of in zip(lengths, key_lengths, used, key_used, strict=True):
        part = q[at : at + of].astype("float64")
        keys, values = (
            x[key_at : key_at + key_of].astype("float64").repeat_interleave(group, 1).transpose([1, 0, 2])
            for x in (k, v)
        )
        visible = paddle.to_tensor(seen(of, key_of, *window))
        scores = paddle.where(visible, part.transpose([1, 0, 2]) @ keys.mT * SCALE, -np.inf)
        some = paddle.any(visible, 1)
        weights = paddle.where(some[:, None], F.softmax(paddle.where(some[:, None], scores, 0.0), -1), 0.0)
        yield slice(at, at + of), (weights @ values).transpose([1, 0, 2]), paddle.logsumexp(scores, -1)
        at, key_at = at + n, key_at + m


def agree(call, lengths, key_lengths, heads=(4, 2), window=(-1, -1), dtype="float32", **used):
    """Result and gradients of a call on packed operands against those of its sequences."""
    rng = np.random.default_rng(sum(lengths))
    q = draw(rng, sum(lengths), heads[0], 8, dtype=dtype)
    k, v = (draw(rng, sum(key_lengths), heads[1], n, dtype=dtype) for n in (8, 12))
    g = draw(rng, sum(lengths), heads[0], 12).detach()
    out = call(q, k, v)
    (out * g).sum().backward()
    got = [out, *(x.grad.clone() for x in (q, k, v))]
    for x in (q, k, v):
        x.clear_grad()
    want, total = np.zeros(out.shape), 0
    for rows, part, _ in one_by_one(q, k, v, lengths, key_lengths, window, **used):
        want[rows] = part.numpy()
        total = total + (part * g[rows]).sum()
    total.backward()
    for x, y in zip(got, [want, q.grad, k.grad, v.grad], strict=True):
        close(np.asarray(x.astype("float64").numpy()), np.asarray(y, np.float64), dtype)


LENGTHS = [([3, 0, 7], [5, 1, 4]), ([130, 70], [150, 151]), ([4, 5], [4, 5])]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("lengths", "key_lengths"), LENGTHS)
def test_packed_sequences(lengths, key_lengths, causal, dtype):
    at, key_at = ends(lengths), ends(key_lengths)
    longest, longest_keys = max(lengths), max(key_lengths)

    def call(q, k, v, at=at, key_at=key_at):
        return FLASH.flash_attn_unpadded(q, k, v, at, key_at, longest, longest_keys, SCALE, causal=causal)[0]

    window = (-1, 0 if causal else -1)
    agree(call, lengths, key_lengths, window=window, dtype=dtype)
    if lengths == key_lengths:
        agree(lambda q, k, v: call(q, k, v, at, at), lengths, lengths, window=window, dtype=dtype)


@pytest.mark.parametrize("alike", [True, False])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("window", [(2, 3), (1, -1), (-1, 0), (0, 0)])
def test_windows_of_packed_sequences(window, causal, alike):
    lengths, key_lengths = ([6, 140], [6, 140]) if alike else ([6, 130], [9, 128])
    at = ends(lengths)
    key_at = at if alike else ends(key_lengths)

    def call(q, k, v):
        more = {"softmax_scale": SCALE, "causal": causal, "window_size": window}
        return F.flash_attention_v3_varlen(q, k, v, at, key_at, max(lengths), max(key_lengths), **more)[0]

    agree(call, lengths, key_lengths, window=(window[0], 0 if causal else window[1]))


def test_rows_that_are_not_used_and_what_lies_beyond_the_longest():
    lengths, key_lengths, used, key_used = [4, 5], [6, 6], [2, 4], [3, 5]
    numbers = {"seqused_q": used, "seqused_k": key_used}

    def call(q, k, v):
        words = {name: paddle.to_tensor(x, dtype="int32") for name, x in numbers.items()}
        more = {"softmax_scale": SCALE, "causal": True}
        return F.flash_attention_v3_varlen(q, k, v, ends(lengths), ends(key_lengths), 5, 6, **words, **more)[0]

    agree(call, lengths, key_lengths, window=(-1, 0), used=used, key_used=key_used)

    def cut(q, k, v):
        return FLASH.flash_attn_unpadded(q, k, v, ends([3, 5]), ends([3, 5]), 4, 4, SCALE)[0]

    agree(cut, [3, 5], [3, 5], used=[3, 4], key_used=[3, 4])


@pytest.mark.parametrize("causal", [True, False])
def test_padded_sequences(causal):
    """Rows that only pad may hold anything."""
    rng = np.random.default_rng(0)
    qkv = rng.standard_normal((3 * 6, 4, 2, 8)).astype(np.float32)
    lengths, filled = [4, 6, 1], qkv.copy()
    for i, n in enumerate(lengths):
        filled[6 * i + n : 6 * i + 6] = np.nan
    x, at = paddle.to_tensor(filled), ends(lengths)
    out, _ = F.flash_attn_varlen_qkvpacked(x, at, at, 6, 6, SCALE, causal=causal)
    for i, n in enumerate(lengths):
        part = paddle.to_tensor(qkv[None, 6 * i : 6 * i + n])
        q = part[:, :, :2].reshape([1, n, 4, 8])
        want = F.scaled_dot_product_attention(q, part[:, :, 2], part[:, :, 3], is_causal=causal, scale=SCALE)
        close(out[6 * i : 6 * i + n].numpy(), want[0].numpy())
        assert (out[6 * i + n : 6 * i + 6].numpy() == 0).all()


def test_log_sum_exp_of_packed_sequences_and_its_gradient():
    lengths, key_lengths = [5, 3], [4, 6]
    rng = np.random.default_rng(0)
    q, k, v = draw(rng, 8, 4, 8), draw(rng, 10, 2, 8), draw(rng, 10, 2, 12)
    g, g_lse = draw(rng, 8, 4, 12).detach(), draw(rng, 4, 8).detach()
    words = {"softmax_scale": SCALE, "causal": False}
    out, lse = F.flash_attention_v3_varlen(q, k, v, ends(lengths), ends(key_lengths), 5, 6, **words)
    ((out * g).sum() + (lse * g_lse).sum()).backward()
    got = [x.grad.numpy().copy() for x in (q, k, v)]
    for x in (q, k, v):
        x.clear_grad()
    total = 0
    for rows, part, sums in one_by_one(q, k, v, lengths, key_lengths, (-1, -1)):
        close(lse[:, rows].numpy(), sums.numpy())
        total = total + (part * g[rows]).sum() + (sums * g_lse[:, rows]).sum()
    total.backward()
    for x, y in zip(got, (q, k, v), strict=True):
        close(x, y.grad.numpy())


def test_capped_scores():
    """Each sequence by formulas, and with gradients of results and log-sum-exp."""
    rng = np.random.default_rng(0)
    q, k, v = (draw(rng, 5, 2, 8) for _ in range(3))
    for x in (q, k, v):
        x.stop_gradient = False
    g, g_lse = draw(rng, 5, 2, 8), draw(rng, 2, 5)
    out, lse = F.flash_attention_v3_varlen(q, k, v, ends([2, 3]), ends([2, 3]), 3, 3, softcap=1.5, causal=True)
    got = paddle.grad((out * g).sum() + (lse * g_lse).sum(), [q, k, v])
    total = 0
    for at, n in ((0, 2), (2, 3)):
        part = [x[at : at + n].transpose([1, 0, 2]) for x in (q, k, v)]
        scores = paddle.tanh(part[0] @ part[1].mT * 8**-0.5 / 1.5) * 1.5
        scores = paddle.where(paddle.to_tensor(np.tri(n, dtype=bool)), scores, -np.inf)
        close(out[at : at + n].numpy(), (F.softmax(scores, -1) @ part[2]).transpose([1, 0, 2]).numpy())
        close(lse[:, at : at + n].numpy(), paddle.logsumexp(scores, -1).numpy())
        result = (F.softmax(scores, -1) @ part[2]).transpose([1, 0, 2])
        total = total + (result * g[at : at + n]).sum()
        total = total + (paddle.logsumexp(scores, -1) * g_lse[:, at : at + n]).sum()
    for x, y in zip(got, paddle.grad(total, [q, k, v]), strict=True):
        close(x.numpy(), y.numpy())


# --- dropout -------------------------------------------------------------------------------------------------------


def test_dropout_is_what_the_seed_says():
    """Calls with weights and without drop the same; a seed gives the same anew."""
    rng = np.random.default_rng(0)
    q, k, v = draw(rng, 2, 40, 4, 8), draw(rng, 2, 50, 2, 8), draw(rng, 2, 50, 2, 8)
    fixed = paddle.to_tensor([7, 16])
    out, weights = FLASH.flash_attention(q, k, v, 0.4, return_softmax=True, fixed_seed_offset=fixed)
    gradients = paddle.grad(out.square().sum(), [q, k, v])
    other, drawn = F.flashmask_attention(q, k, v, dropout=0.4, return_seed_offset=True, fixed_seed_offset=fixed)
    assert drawn.tolist() == [7, 16]
    close(other.numpy(), out.numpy())
    for x, y in zip(paddle.grad(other.square().sum(), [q, k, v]), gradients, strict=True):
        close(x.numpy(), y.numpy())
    dropped = (weights.numpy() == 0).mean()
    assert abs(dropped - 0.4) < 5 * (0.4 * 0.6 / weights.numel().item()) ** 0.5


def test_share_of_dropped_weights_and_their_mean():
    """Of 2**18 weights of equal scores as many are dropped as is likely, and the mean of results stays."""
    n, p = 512, 0.25
    zero, one = paddle.zeros([1, n, 1, 8]), paddle.eye(n).reshape([1, n, 1, n])
    paddle.seed(11)
    out = F.flashmask_attention(zero, zero, one, dropout=p)[0, :, 0].numpy() * n * (1 - p)
    kept = out > 0.5
    close(out, kept.astype(np.float32))
    sigma = (p * (1 - p)) ** 0.5
    assert abs(kept.mean() - (1 - p)) < 4 * sigma / n
    for axis in (0, 1):  # neither rows nor columns are alike
        assert 0.5 < kept.mean(axis).std() / (sigma / n**0.5) < 1.5
    assert abs(np.corrcoef(kept[:-1].ravel(), kept[1:].ravel())[0, 1]) < 5 / n


def test_streams_of_dropout():
    x = draw(np.random.default_rng(0), 1, 20, 1, 8)

    def call(**words):
        return F.flashmask_attention(x, x, x, dropout=0.5, return_seed_offset=True, **words)

    paddle.seed(3)
    (first, place), (second, other) = call(), call()
    assert place.tolist() == [3, 0]
    assert other.tolist() == [3, 20 * 20]
    assert not np.array_equal(first.numpy(), second.numpy())
    again, _ = call(fixed_seed_offset=other)
    np.testing.assert_array_equal(again.numpy(), second.numpy())
    paddle.framework.random.set_random_seed_generator("of_attention", 3)
    np.testing.assert_array_equal(call(rng_name="of_attention")[0].numpy(), first.numpy())
    assert paddle.get_rng_state()[0].state == (3, 2 * 20 * 20)
    assert call(training=False)[1].tolist() == [0, 0]


@pytest.mark.parametrize("captured", [False, True])
def test_dropout_of_all_forms(captured):
    """Every call draws anew and what it drops is what its gradient drops."""
    rng = np.random.default_rng(0)
    x, at = rng.standard_normal((6, 2, 8)).astype(np.float32), ends([2, 4])
    qkv = np.stack([x, x, np.ones_like(x)], 1)
    calls = {
        "sdpa": lambda t: F.scaled_dot_product_attention(t[None, :, 0], t[None, :, 1], t[None, :, 2], dropout_p=0.5),
        "qkvpacked": lambda t: F.flash_attn_qkvpacked(t[None], 0.5)[0],
        "unpadded": lambda t: FLASH.flash_attn_unpadded(t[:, 0], t[:, 1], t[:, 2], at, at, 4, 4, 1.0, 0.5)[0],
        "varlen": lambda t: F.flash_attn_varlen_qkvpacked(t, at, at, 4, 4, 1.0, 0.5, varlen_padded=False)[0],
        "compat": lambda t: paddle.compat.nn.functional.scaled_dot_product_attention(
            *(t[None, :, i].transpose([0, 2, 1, 3]) for i in range(3)), dropout_p=0.5
        ),
    }
    for call in calls.values():
        fn = paddle.jit.to_static(call) if captured else call
        t = paddle.to_tensor(qkv, stop_gradient=False)
        paddle.seed(5)
        out = fn(t)
        (gradient,) = paddle.grad(out.sum(), [t])
        # A result of values of 1 is the sum of its weights, and so is the sum of the gradient of values.
        assert out.sum().item() == pytest.approx(gradient[:, 2].sum().item(), rel=1e-5)
        assert np.unique(out.numpy().round(4)).size > 2
        assert not np.array_equal(fn(t).numpy(), out.numpy())
        paddle.seed(5)
        np.testing.assert_array_equal(fn(t).numpy(), out.numpy())


# --- memory, capture -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [0.0, 0.1])
def test_memory_is_linear_in_length(p):
    """Nothing has as many elements as there are pairs of queries and keys."""
    n = 4096
    x = paddle.zeros([n, 1, 8])
    x.stop_gradient = False
    at = ends([n // 2, n // 4, n // 4])
    memory = storage.allocator(x.place.index)
    before = memory.stats()["requested"]
    memory.reset_peaks()
    out, _ = FLASH.flash_attn_unpadded(x, x, x, at, at, n, n, 1.0, p, causal=True)
    out.sum().backward()
    assert memory.stats()["requested_peak"] - before < n * n // 4


def test_lengths_are_not_compiled_anew():
    fn = paddle.jit.to_static(
        lambda x, at: FLASH.flash_attn_unpadded(x, x, x, at, at, 64, 64, SCALE, causal=True)[0], full_graph=True
    )
    rng = np.random.default_rng(0)
    sizes = [([3, 5], 2), ([7, 2, 4], 2), ([20, 1, 1, 8], 2), ([9], 2)]
    counts = []
    for lengths, heads in sizes:
        x, at = draw(rng, sum(lengths), heads, 8).detach(), ends(lengths)
        want = FLASH.flash_attn_unpadded(x, x, x, at, at, 64, 64, SCALE, causal=True)[0]
        close(fn(x, at).numpy(), want.numpy())
        counts.append(len(fn.program_cache))
    assert counts[1:] == counts[1:2] * 3


# --- listed positions, reduced scores ------------------------------------------------------------------------------


def listed(pattern):
    """Offsets and columns of boolean patterns ``[batch, heads, n, n]`` of equally many positions."""
    *lead, n, _ = pattern.shape
    offsets, columns = np.zeros((*lead, n + 1), np.int32), []
    for at in itertools.product(*map(range, lead)):
        offsets[at][1:] = pattern[at].sum(1).cumsum()
        columns.append(np.nonzero(pattern[at])[1])
    most = max(map(len, columns))
    padded = [np.pad(c, (0, most - len(c))) for c in columns]
    return offsets, np.array(padded, np.int32).reshape(*lead, most)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("masked", [False, True])
def test_listed_positions(masked, dtype):
    rng = np.random.default_rng(0)
    pattern = rng.random((2, 3, 6, 6)) < 0.5
    pattern[0, 0, 2] = False  # a query that sees nothing
    of_keys, of_pairs = rng.random((2, 6)) < 0.8, rng.random((6, 6)) < 0.8
    x = [draw(rng, 2, 3, 6, 4, dtype=dtype) for _ in range(3)]
    more = [paddle.to_tensor(m.astype(dtype)) for m in (of_keys, of_pairs)] if masked else []
    out = F.sparse_attention(*x, *map(paddle.to_tensor, listed(pattern)), *more)
    gradients = paddle.grad(out.square().sum(), x)
    if masked:
        pattern = pattern & of_keys[:, None, None] & of_pairs
    dense = F.scaled_dot_product_attention(*(t.transpose([0, 2, 1, 3]) for t in x), paddle.to_tensor(pattern))
    want = dense.transpose([0, 2, 1, 3])
    close(out.numpy(), want.numpy(), dtype)
    for a, b in zip(gradients, paddle.grad(want.square().sum(), x), strict=True):
        close(a.numpy(), b.numpy(), dtype)


@pytest.mark.parametrize("full_graph", [False, True])
@pytest.mark.parametrize("given", ["all", "positions", "masks"])
def test_listed_positions_of_a_captured_function(given, full_graph):
    """As eager calls, whatever of it is known while it is captured."""
    rng = np.random.default_rng(2)
    pattern = rng.random((2, 2, 5, 5)) < 0.5
    pattern[0, 0, -1] = False
    positions = [paddle.to_tensor(x) for x in listed(pattern)]
    masks = [paddle.to_tensor((rng.random(s) < 0.8).astype("float32")) for s in ((2, 5), (5, 5))]
    x = [draw(rng, 2, 2, 5, 4) for _ in range(3)]

    @paddle.jit.to_static(full_graph=full_graph)
    def attend(q, k, v, positions, masks):
        return F.sparse_attention(q, k, v, *positions, *masks)

    if given != "all":
        kept = positions if given == "masks" else masks

        @paddle.jit.to_static(full_graph=full_graph)
        def attend(q, k, v, positions, masks):
            return F.sparse_attention(q, k, v, *((*kept, *masks) if given == "masks" else (*positions, *kept)))

    for _ in range(2):
        out, want = attend(*x, positions, masks), F.sparse_attention(*x, *positions, *masks)
        close(out.numpy(), want.numpy())
        for a, b in zip(paddle.grad(out.square().sum(), x), paddle.grad(want.square().sum(), x), strict=True):
            close(a.numpy(), b.numpy())
    if given != "masks":
        with pytest.raises(ValueError, match="requires sparse_csr_offset that begins with 0"):
            attend(*x, [positions[0] + 1, positions[1]], masks)


@pytest.mark.parametrize("masked", [False, True])
def test_listed_positions_of_a_saved_model(masked, tmp_path):
    """A key that is listed twice counts twice, as in eager calls; what is listed is looked at when the model runs."""
    layer = paddle.nn.Layer()
    layer.forward = F.sparse_attention
    spec = [([None, 2, None, 4], "float32")] * 3 + [([None, 2, None], "int32")] * 2
    spec += [([None, None], "float32")] * 2 if masked else []
    paddle.jit.save(layer, str(tmp_path / "m"), input_spec=[paddle.static.InputSpec(*s) for s in spec])
    loaded = paddle.jit.load(str(tmp_path / "m"))
    rng = np.random.default_rng(1)
    for batch, n in ((2, 6), (1, 1), (3, 4)):
        pattern = rng.random((batch, 2, n, n)) < 0.5
        pattern[0, 0, -1] = False
        pattern[0, 1, 0] = True
        offsets, columns = listed(pattern)
        columns[0, 1, 0] = n - 1
        x = [draw(rng, batch, 2, n, 4).detach() for _ in range(3)]
        more = [rng.random((batch, n)) < 0.8, rng.random((n, n)) < 0.8] if masked else []
        given = [*x, *map(paddle.to_tensor, (offsets, columns, *(m.astype("float32") for m in more)))]
        close(loaded(*given).numpy(), F.sparse_attention(*given).numpy())
    for at, wrong in ((3, offsets + 1), (3, offsets[..., ::-1].copy()), (4, columns - 9), (4, columns + 9)):
        with pytest.raises(ValueError, match="requires sparse_csr"):
            loaded(*(paddle.to_tensor(wrong) if i == at else t for i, t in enumerate(given)))


def test_reduced_scores_are_wide_under_auto_cast():
    x = draw(np.random.default_rng(0), 2, 3, 2, 8).detach()
    _, lse = F.flashmask_attention(x, x, x, return_softmax_lse=True)
    with paddle.amp.auto_cast(level="O1", dtype="bfloat16"):
        assert FLASH.calc_reduced_attention_scores(x, x, lse).dtype == paddle.float32


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
@pytest.mark.parametrize("sizes", [(130, 200, 4, 2), (3, 2, 1, 1)])
def test_reduced_scores(sizes, dtype):
    queries, keys, heads, key_heads = sizes
    rng = np.random.default_rng(0)
    q, k = draw(rng, 2, queries, heads, 8, dtype=dtype).detach(), draw(rng, 2, keys, key_heads, 8, dtype=dtype).detach()
    _, lse = F.flashmask_attention(q, k, k, return_softmax_lse=True)
    got = FLASH.calc_reduced_attention_scores(q, k, lse)
    wide = [x.astype("float64").transpose([0, 2, 1, 3]) for x in (q, k.repeat_interleave(heads // key_heads, 2))]
    want = F.softmax(wide[0] @ wide[1].mT * 8**-0.5, -1).sum(2, keepdim=True)
    assert got.dtype == (paddle.float64 if dtype == "float64" else paddle.float32)
    close(got.numpy(), want.numpy(), "float64" if dtype == "float64" else "float32")


def test_reduced_scores_of_a_saved_model_count_the_sums_that_are_given(tmp_path):
    q, k = paddle.randn([2, 5, 4, 8]), paddle.randn([2, 6, 2, 8])
    lse = paddle.randn([2, 4, 5]) + 3  # of other keys, too
    specs = [paddle.static.InputSpec([None, *x.shape[1:]], stop_gradient=True) for x in (q, k, lse)]
    scores = paddle.jit.to_static(FLASH.calc_reduced_attention_scores, input_spec=specs, full_graph=True)
    paddle.jit.save(scores, str(tmp_path / "m"))
    got = paddle.jit.load(str(tmp_path / "m"))(q, k, lse)
    close(got.numpy(), FLASH.calc_reduced_attention_scores(q, k, lse).numpy(), "float32")


@pytest.mark.parametrize("layout", ["more queries", "more keys"])
def test_causal_order_from_the_first_key(layout):
    rng = np.random.default_rng(0)
    queries, keys = (140, 60) if layout == "more queries" else (60, 140)
    q, k, v = draw(rng, 1, queries, 2, 8), draw(rng, 1, keys, 2, 8), draw(rng, 1, keys, 2, 8)
    visible = paddle.to_tensor(np.tri(queries, keys, dtype=bool))
    got = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    close(got.numpy(), F.scaled_dot_product_attention(q, k, v, visible).numpy())
    both = F.scaled_dot_product_attention(q, k, v, paddle.ones([queries, keys], dtype="bool"), is_causal=True)
    close(got.numpy(), both.numpy())


@pytest.mark.parametrize("captured", [False, True])
def test_one_sequence_without_a_batch(captured):
    """Masks count from their last dims, as beside a batch of one."""
    rng = np.random.default_rng(1)
    q, k, v, mask = draw(rng, 40, 4, 8), draw(rng, 50, 2, 8), draw(rng, 50, 2, 6), draw(rng, 4, 40, 50)

    def single(q, k, v, mask):
        return F.scaled_dot_product_attention(q, k, v, mask, scale=0.2), F.scaled_dot_product_attention(
            q, k, v, is_causal=True
        )

    run = paddle.jit.to_static(single) if captured else single
    batch = [x.unsqueeze(0) for x in (q, k, v, mask)]
    results = []
    for got in (run(q, k, v, mask), [x.squeeze(0) for x in single(*batch)]):
        results.append([*got, *paddle.grad([sum((x.square().sum() for x in got), paddle.zeros([]))], [q, k, v, mask])])
    for x, y in zip(*results, strict=True):
        close(x.numpy(), y.numpy())


@pytest.mark.parametrize("words", [{}, {"is_causal": True}, {"scale": 0.3}])
def test_no_key_at_all(words):
    q, k = (paddle.ones([2, n, 4, 8]) for n in (3, 0))
    q.stop_gradient = k.stop_gradient = False
    out = F.scaled_dot_product_attention(q, k, k[..., :5], **words)
    out.sum().backward()
    assert out.tolist() == np.zeros([2, 3, 4, 5]).tolist() and q.grad.abs().sum() == 0 and k.grad.shape == [2, 0, 4, 8]


def test_a_mask_counts_beside_causal_order():
    rng = np.random.default_rng(2)
    q, k, v, mask = draw(rng, 1, 9, 2, 8), draw(rng, 1, 9, 2, 8), draw(rng, 1, 9, 2, 8), draw(rng, 9, 9)
    both = paddle.where(paddle.to_tensor(np.tri(9, dtype=bool)), mask, -np.inf)
    got = F.scaled_dot_product_attention(q, k, v, mask, is_causal=True)
    close(got.numpy(), F.scaled_dot_product_attention(q, k, v, both).numpy())


@pytest.mark.parametrize("causal", [False, True])
def test_one_tensor_of_ends_in_operands_of_different_lengths(causal):
    """Rows behind the last sequence count neither as queries nor as keys."""
    rng = np.random.default_rng(5)
    q, k, v = draw(rng, 7, 2, 8), draw(rng, 9, 2, 8), draw(rng, 9, 2, 8)
    ends = paddle.to_tensor([0, 2, 6], dtype="int32")
    got, _ = FLASH.flash_attn_unpadded(q, k, v, ends, ends, 4, 4, SCALE, causal=causal)
    alone, _ = FLASH.flash_attn_unpadded(q[:6], k[:6], v[:6], ends, ends, 4, 4, SCALE, causal=causal)
    close(got.numpy(), np.concatenate([alone.numpy(), np.zeros((1, 2, 8))]))


@pytest.mark.parametrize("far", [40, 2**31, 2**63 - 1])
def test_windows_wider_than_any_sequence(far):
    rng = np.random.default_rng(6)
    x, ends = draw(rng, 7, 2, 8), paddle.to_tensor([0, 3, 7], dtype="int32")
    wide, _ = F.flash_attention_v3_varlen(x, x, x, ends, ends, 4, 4, window_size=(far, far))
    close(wide.numpy(), F.flash_attention_v3_varlen(x, x, x, ends, ends, 4, 4)[0].numpy())
    batch = x.unsqueeze(0)
    close(
        F.flashmask_attention(batch, batch, batch, window_size=far).numpy(), F.flashmask_attention(*[batch] * 3).numpy()
    )


# --- refusals ------------------------------------------------------------------------------------------------------

X, AT = np.ones((4, 2, 8), np.float32), np.array([0, 2, 4], np.int32)


def unpadded(x=X, at=AT, key_at=AT, most=4):
    t = paddle.to_tensor(x)
    return FLASH.flash_attn_unpadded(t, t, t, paddle.to_tensor(at), paddle.to_tensor(key_at), most, 4, SCALE)


def varlen(**words):
    t, at = paddle.to_tensor(X), paddle.to_tensor(AT)
    words = {name: paddle.to_tensor(n, "int32") for name, n in words.items()}
    return F.flash_attention_v3_varlen(t, t, t, at, at, 4, 4, **words)


def sparse(offset=((0, 1, 2),), columns=((0, 1),), x=(1, 1, 2, 4), **words):
    t = paddle.ones(x)
    offset, columns = (paddle.to_tensor(np.array(c)[None]) for c in (offset, columns))
    return F.sparse_attention(t, t, t, offset, columns, **{k: paddle.ones(s) for k, s in words.items()})


WRONG = {
    "ends decrease": (lambda: unpadded(at=np.array([0, 3, 2])), r"cu_seqlens_q that begins with 0 or more, never dec"),
    "ends beyond the rows": (
        lambda: unpadded(key_at=np.array([0, 5])),
        r"cu_seqlens_k .* 4 rows at most, got",
    ),
    "ends before the rows": (lambda: unpadded(at=np.array([-1, 4])), "begins with 0 or more"),
    "ends of floats": (lambda: unpadded(at=np.array([0.0, 4.0])), "cu_seqlens_q as integers"),
    "ends of rank 2": (lambda: unpadded(at=AT[None]), r"cu_seqlens_q as integers \[batch \+ 1\]"),
    "no ends": (lambda: unpadded(at=AT[:0]), r"cu_seqlens_q as integers \[batch \+ 1\]"),
    "a softcap below 0": (
        lambda: F.flash_attention_v3_varlen(
            *[paddle.to_tensor(X)] * 3, *[paddle.to_tensor(AT)] * 2, 4, 4, softcap=-1.0
        ),
        "a softcap of 0 or more, got -1.0",
    ),
    "a window of three": (
        lambda: F.flash_attention_v3_varlen(
            *[paddle.to_tensor(X)] * 3, *[paddle.to_tensor(AT)] * 2, 4, 4, window_size=(1, 2, 3)
        ),
        r"a window_size of two numbers, of keys before and after, got \(1, 2, 3\)",
    ),
    "numbers of sequences": (lambda: unpadded(key_at=AT[[0, 2]]), "cu_seqlens_k of as many sequences, got 2 and 1"),
    "a largest length below 0": (lambda: unpadded(most=-1), "max_seqlen_q of 0 at least, got -1"),
    "more rows in use than there are": (
        lambda: varlen(seqused_k=[2, 3]),
        r"seqused_k from 0 to the lengths .* \[2, 3\]",
    ),
    "fewer rows in use than none": (lambda: varlen(seqused_q=[-1, 2]), r"seqused_q from 0 to the lengths .* \[-1, 2\]"),
    "rows in use of other sequences": (lambda: varlen(seqused_q=[2]), r"seqused_q as integers \[2\]"),
    "rank": (lambda: unpadded(x=X[None]), r"\[total, heads, dim\]"),
    "offsets decrease": (lambda: sparse(offset=((0, 2, 1),)), "begins with 0, never decreases"),
    "offsets beyond": (lambda: sparse(offset=((0, 1, 3),)), "ends with 2 at most"),
    "offsets of a shape": (lambda: sparse(offset=((0, 1),)), r"sparse_csr_offset of shape \[1, 1, 3\]"),
    "columns beyond": (lambda: sparse(columns=((0, 2),)), "sparse_csr_columns from 0 to 1, got 0 to 2"),
    "columns of a shape": (lambda: sparse(columns=(0, 1)), r"sparse_csr_columns of shape \[1, 1, positions\]"),
    "rank of operands": (lambda: sparse(x=(1, 2, 4)), "of one shape"),
    "mask": (lambda: sparse(key_padding_mask=[1, 3]), r"key_padding_mask of shape \[1, 2\]"),
    "pairs": (lambda: sparse(attn_mask=[2, 3]), r"attn_mask of shape \[2, 2\]"),
}


@pytest.mark.parametrize("name", WRONG)
def test_refusals(name):
    call, message = WRONG[name]
    with pytest.raises(ValueError, match=message):
        call()


def test_refusals_of_types():
    with pytest.raises(TypeError, match="a mask of bool or float32, got int32"):
        x = paddle.ones([1, 4, 1, 2])
        F.scaled_dot_product_attention(x, x, x, paddle.zeros([1, 1, 4, 4], dtype="int32"))
    with pytest.raises(TypeError, match="sparse_csr_offset of int32 or int64, got float64"):
        sparse(offset=((0.0, 1.0, 2.0),))
    x = paddle.ones([1, 3, 1, 4])
    x.stop_gradient = False
    with pytest.raises(ValueError, match="as it is for inference"):
        FLASH.calc_reduced_attention_scores(x, x, paddle.ones([1, 1, 128]))
    with pytest.raises(ValueError, match="softmax_lse"):
        FLASH.calc_reduced_attention_scores(x.detach(), x.detach(), paddle.ones([1, 2, 128]))


@pytest.mark.parametrize("heads", [(2, 2), (4, 2)])
@pytest.mark.parametrize("way", ["plain", "weights", "lse", "dropout", "window", "captured"])
def test_queries_without_keys_are_zeros_with_gradients_of_zeros(heads, way):
    q, k, v = (paddle.ones([2, n, h, 8]) for n, h in ((3, heads[0]), (0, heads[1]), (0, heads[1])))
    for x in (q, k, v):
        x.stop_gradient = False
    columns = paddle.zeros([1, 1, 0, 2], "int32")
    calls = {
        "plain": lambda q, k, v: F.flash_attention.flash_attention(q, k, v)[0],
        "weights": lambda q, k, v: F.flash_attention.flash_attention(q, k, v, return_softmax=True)[0],
        "lse": lambda q, k, v: F.flashmask_attention(q, k, v, columns, return_softmax_lse=True),
        "dropout": lambda q, k, v: F.flashmask_attention(q, k, v, columns, dropout=0.5),
        "window": lambda q, k, v: F.flashmask_attention(q, k, v, window_size=2, causal=True),
        "captured": paddle.jit.to_static(lambda q, k, v: F.flash_attention.flash_attention(q, k, v)[0]),
    }
    out = calls[way](q, k, v)
    if way == "lse":
        out, lse = out
        assert (lse[:, :, :3].numpy() == -np.inf).all()
    assert out.shape == [2, 3, heads[0], 8]
    out.sum().backward()
    for x in (out, q.grad, k.grad, v.grad):
        assert not x.any()


@pytest.mark.parametrize("dtype", ["float32", "bool"])
def test_a_mask_of_no_keys(dtype):
    q, k = paddle.ones([2, 3, 2, 8]), paddle.ones([2, 0, 2, 8])
    mask = paddle.zeros([2, 2, 3, 0], dtype)
    mask.stop_gradient = q.stop_gradient = False
    F.scaled_dot_product_attention(q, k, k, mask).sum().backward()
    assert not q.grad.any() and (mask.grad is None) == (dtype == "bool")
    assert dtype == "bool" or mask.grad.shape == mask.shape


def test_weights_of_rows_that_a_sequence_does_not_have_are_zeros():
    x, ends = paddle.ones([3, 1, 4]), paddle.to_tensor([0, 1, 3])
    x.stop_gradient = False
    _, weights = F.flash_attention.flash_attn_unpadded(x, x, x, ends, ends, 2, 2, 0.5, return_softmax=True)
    assert weights[:, 0].tolist() == [[[1.0, 0.0], [0.0, 0.0]], [[0.5, 0.5], [0.5, 0.5]]]


@pytest.mark.parametrize("one_graph", [False, True])
def test_captured_attention_in_plain_code_without_keys(one_graph):
    """The number of queries is open by the second call."""
    plain = paddle.jit.to_static(lambda q, k, v: F.softmax(q @ k.mT, -1) @ v, full_graph=one_graph)
    for queries, keys in ((64, 64), (65, 0), (70, 0), (64, 33)):
        q, k, v = (paddle.ones([2, 2, n, 16]) for n in (queries, keys, keys))
        np.testing.assert_allclose(plain(q, k, v).numpy(), np.full((2, 2, queries, 16), float(keys > 0)), rtol=1e-6)


@pytest.mark.parametrize("one_graph", [False, True])
@pytest.mark.parametrize("f", [FLASH.flash_attention, F.flashmask_attention])
def test_one_graph_takes_the_seed_of_each_run(rng, f, one_graph):
    q, k, v = (paddle.to_tensor(rng.standard_normal((1, 6, 2, 8)), stop_gradient=False) for _ in range(3))

    def call(place):
        out = f(q, k, v, dropout=0.4, causal=True, fixed_seed_offset=place)
        out = out[0] if isinstance(out, tuple) else out
        return [out, *paddle.grad((out * out).sum(), [q, k, v])]

    captured = paddle.jit.to_static(call, full_graph=one_graph)
    for place in ([7, 0], [7, 8], [-3, 2**34]):
        place = paddle.to_tensor(place)
        for x, y in zip(captured(place), call(place), strict=True):
            np.testing.assert_allclose(x.numpy(), y.numpy(), rtol=1e-12)
    assert len(captured._captures()) == 1
    assert one_graph or not captured.graph_breaks
    for function in (call, captured):
        with pytest.raises(ValueError, match="an offset of 0 or more, got -4"):
            function(paddle.to_tensor([7, -4]))
