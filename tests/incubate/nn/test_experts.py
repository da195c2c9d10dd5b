"""Tokens sent to experts and back, against loops over tokens."""

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from paddle.incubate.nn import functional as I
from paddle.nn.functional._expert_places import queues

N, H, E, K, CAPACITY = 7, 3, 4, 2, 2


def gate(rng, bias=False):
    """Scores without ties, and a bias that changes choices."""
    scores = rng.permutation(N * E).reshape(N, E).astype("float32") / (N * E)
    return scores, rng.standard_normal(E).astype("float32") if bias else None


def dispatched(x, scores, bias, use_pad):
    """The results of ``moe_gate_dispatch``, token by token."""
    n = len(x)
    chosen = np.argsort(-(scores if bias is None else scores + bias), 1, kind="stable")[:, :K]
    weights, place = np.take_along_axis(scores, chosen, 1).copy(), np.zeros((K, n), int)
    offsets = np.cumsum(np.bincount(chosen.ravel(), minlength=E))
    y = np.zeros((E * CAPACITY if use_pad else n * K, *x.shape[1:]), x.dtype)
    order = [(i, k) for k in range(K) for i in range(n)] if use_pad else [(i, k) for i in range(n) for k in range(K)]
    asked = [0] * E
    for i, k in order:
        e = chosen[i, k]
        at, asked[e] = asked[e], asked[e] + 1
        if at >= CAPACITY:
            weights[i, k] = 0
            continue
        place[k, i] = at + (e * CAPACITY if use_pad else (offsets[e - 1] if e else 0))
        y[place[k, i]] = x[i]
    return y, weights, place, offsets, chosen


def test_a_program_dispatches_any_number_of_tokens(rng):
    """Of static mode, where the number is not declared, and as a model that was saved; none among them."""
    paddle.enable_static()
    try:
        program = paddle.static.Program()
        with paddle.static.program_guard(program):
            given = [paddle.static.data("x", [None, H], "float32"), paddle.static.data("scores", [None, E], "float32")]
            results = I.moe_gate_dispatch(*given, None, K, CAPACITY, True)
    finally:
        paddle.disable_static()
    for n in (N, 1, 0, 3):
        x, scores = rng.standard_normal((n, H)).astype("float32"), gate(rng)[0][:n]
        found = paddle.static.Executor().run(program, {"x": x, "scores": scores}, list(results))
        for a, b in zip(found, dispatched(x, scores, None, True), strict=True):
            np.testing.assert_allclose(a, b)


DISPATCH_DTYPES = ["float32", "int32", "int64", "int64", "int32"]


@pytest.mark.parametrize("use_pad", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_dispatch(rng, use_pad, bias):
    x = rng.standard_normal((N, H)).astype("float32")
    scores, bias = gate(rng, bias)
    expected = dispatched(x, scores, bias, use_pad)
    operands = [paddle.to_tensor(x), paddle.to_tensor(scores), None if bias is None else paddle.to_tensor(bias)]

    def call(*operands):
        return I.moe_gate_dispatch(*operands, K, CAPACITY, use_pad)

    for found in (call(*operands), paddle.jit.to_static(call)(*operands)):
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a.numpy(), b)
        assert [v.dtype.name for v in found[1:]] == ["float32", "int32", "int64", "int32"]
    assert (expected[1] == 0).any()  # some are dropped


@pytest.mark.parametrize("dtype", ["bool", "bfloat16", "float64", "complex64", "int8"])
def test_dispatch_of_any_dtype_and_layout(rng, dtype):
    whole = paddle.to_tensor(rng.integers(0, 2, (H, 2 * N))).astype(dtype)
    x = whole.T[::2]  # columns lie apart
    scores, _ = gate(rng)
    y = I.moe_gate_dispatch(x, paddle.to_tensor(scores), None, K, CAPACITY, True)[0]
    assert y.dtype.name == dtype
    kept = dispatched(np.arange(1, N + 1), scores, None, True)[0]
    for row, token in zip(y, kept, strict=True):
        assert (row == (x[int(token) - 1] if token else paddle.zeros([H], dtype))).all()


def test_gradients_of_dispatch_and_combination(rng):
    """A token's gradient is the sum of those of its places; dropped choices have none. Differences of first order."""
    scores, _ = gate(rng)
    x = paddle.to_tensor(rng.standard_normal((N, H)), stop_gradient=False)
    logits = paddle.to_tensor(scores, stop_gradient=False)
    y, weights, place, _, expert = I.moe_gate_dispatch(x, logits, None, K, CAPACITY, True)
    cotangent = paddle.to_tensor(rng.standard_normal(y.shape))
    gx, glogits = paddle.grad([(y * cotangent).sum(), (weights * weights).sum()], [x, logits])
    expected, expected_logits = np.zeros((N, H)), np.zeros((N, E))
    for i in range(N):
        for k in range(K):
            if weights[i, k]:
                expected[i] += cotangent[int(place[k, i])].numpy()
                expected_logits[i, int(expert[i, k])] = 2 * float(weights[i, k])
    np.testing.assert_allclose(gx.numpy(), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(glogits.numpy(), expected_logits, rtol=1e-6)

    y, weights = y.detach(), weights.astype("float64").detach()
    y.stop_gradient = weights.stop_gradient = False
    z = I.moe_combine(y, weights, place.T)
    rows = y.numpy()[place.numpy().T]
    np.testing.assert_allclose(z.numpy(), np.einsum("nkh,nk->nh", rows, weights.numpy()), rtol=1e-12)
    back = rng.standard_normal(z.shape)
    gy, gweights = paddle.grad(z, [y, weights], paddle.to_tensor(back))
    expected = np.zeros(y.shape)
    np.add.at(expected, place.numpy().T, weights.numpy()[..., None] * back[:, None])
    np.testing.assert_allclose(gy.numpy(), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(gweights.numpy(), np.einsum("nkh,nh->nk", rows, back), rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_combination_of_weighted_rows_leaves_dropped_tokens_out(rng, dtype):
    """A place of a dropped token means nothing, whatever is there: neither its row nor its gradient counts."""
    weights = rng.uniform(0.1, 1, (N, K)) * (rng.random((N, K)) < 0.6)
    weights[0] = 1e-12, 0.0  # below the epsilon; a token without any expert
    places = rng.integers(1, 9, (N, K)) * (weights > 1e-9)
    x = rng.integers(-8, 8, (9, H)).astype("float64")
    rows = paddle.to_tensor(x).astype(dtype)
    rows[0] = float("nan")
    rows.stop_gradient = False
    operands = paddle.to_tensor(weights.astype("float32")), paddle.to_tensor(places.astype("int32"))
    expected = (x[places] * (weights > 1e-9)[..., None]).sum(1)
    call = lambda rows, *operands: I.moe_combine_no_weight(rows, *operands, epsilon=1e-9)  # noqa: E731
    y = call(rows, *operands)
    assert y.dtype.name == dtype
    for found in (y, paddle.jit.to_static(call)(rows, *operands)):
        np.testing.assert_array_equal(found.astype("float64").numpy(), expected)
    back = rng.integers(-3, 3, y.shape).astype("float64")
    (gradient,) = paddle.grad(y, rows, paddle.to_tensor(back).astype(dtype))
    of_rows = np.zeros_like(x)
    np.add.at(of_rows, places, (weights > 1e-9)[..., None] * back[:, None])
    np.testing.assert_array_equal(gradient.astype("float64").numpy(), of_rows)


def test_permuted_places_go_by_local_expert(rng):
    scores, _ = gate(rng)
    x, logits = paddle.to_tensor(rng.standard_normal((N, H)).astype("float32")), paddle.to_tensor(scores)
    plain = I.moe_gate_dispatch(x, logits, None, K, CAPACITY, True)
    found = I.moe_gate_dispatch_permute(x, logits, None, K, CAPACITY, 2)
    assert found[0].shape == [2, 2, CAPACITY, H]
    for e in range(E):
        np.testing.assert_array_equal(found[0][e % 2, e // 2].numpy(), plain[0].reshape([E, CAPACITY, H])[e].numpy())
    for a, b in zip(found[1:], plain[1:], strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_a_saved_model_keeps_as_many_rows_as_tokens_are_taken(rng, tmp_path):
    class Part(paddle.nn.Layer):
        def forward(self, x, weights, chosen):
            return I.moe_gate_dispatch_partial_nosoftmaxtopk(
                x, weights, chosen, K, CAPACITY, E, False, 1, 3, reverse_token_drop=True
            )

    shapes = (H, "float32"), (K, "float32"), (K, "int32")
    spec = [paddle.static.InputSpec([None, n], dtype) for n, dtype in shapes]
    paddle.jit.save(Part(), str(tmp_path / "m"), input_spec=spec)
    loaded = paddle.jit.load(str(tmp_path / "m"))
    for n, first in ((N, 0), (1, 1), (3, 2), (1, 3)):
        x, weights = rng.standard_normal((n, H)).astype("float32"), rng.random((n, K)).astype("float32")
        chosen = np.stack([np.full(n, first), (first + 1 + np.arange(n) % 2) % E], 1).astype("int32")
        given = [paddle.to_tensor(v) for v in (x, weights, chosen)]
        for found, wanted in zip(loaded(*given), Part()(*given), strict=True):
            assert found.shape == wanted.shape
            np.testing.assert_array_equal(found.numpy(), wanted.numpy())


def partial(x, weights, chosen, first, last, capacity, use_pad, reverse):
    """The results of ``moe_gate_dispatch_partial_nosoftmaxtopk``, expert by expert."""
    n, k = chosen.shape
    kept, place, rows, local = np.zeros_like(weights), np.zeros((k, n), int), [], np.zeros(E, int)
    for e in range(first, last):
        asking = [(i, j) for j in range(k) for i in range(n) if chosen[i, j] == e]
        taken = sorted((asking[::-1] if reverse else asking)[:capacity])
        local[e] = len(asking) if use_pad else len(taken)
        for at, (i, j) in enumerate(taken):
            kept[i, j] = weights[i, j]
            place[j, i] = (e - first) * capacity + at if use_pad else len(rows) + at
        rows += [i for i, _ in taken] + [n] * (capacity - len(taken) if use_pad else 0)
    padded = np.concatenate([x, np.zeros_like(x[:1])])
    return padded[rows], kept, place, np.array(rows, int), np.bincount(chosen.ravel(), minlength=E), local


@pytest.mark.parametrize(("use_pad", "reverse"), [(True, False), (False, False), (False, True)])
@pytest.mark.parametrize(("first", "last"), [(0, 4), (1, 3), (3, 4)])
def test_dispatch_to_some_experts(rng, use_pad, reverse, first, last):
    x, weights = rng.standard_normal((N, H)), rng.uniform(0.1, 1, (N, K)).astype("float32")
    chosen = np.stack([rng.permutation(E)[:K] for _ in range(N)])
    ours = [paddle.to_tensor(x, stop_gradient=False), paddle.to_tensor(weights, stop_gradient=False)]
    found = I.moe_gate_dispatch_partial_nosoftmaxtopk(
        *ours, paddle.to_tensor(chosen.astype("int32")), K, CAPACITY, E, use_pad, first, last, reverse
    )
    expected = partial(x, weights, chosen, first, last, CAPACITY, use_pad, reverse)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a.numpy(), b)
    assert [v.dtype.name for v in found] == ["float64", "float32", "int32", "int32", "int64", "int64"]
    gx, gweights = paddle.grad([found[0].sum(), found[1].sum()], ours)
    times = np.bincount(expected[3], minlength=N + 1)[:N]
    np.testing.assert_array_equal(gx.numpy(), np.repeat(times[:, None], H, 1))
    np.testing.assert_array_equal(gweights.numpy(), expected[1] > 0)


def test_experts_that_nobody_asks_for():
    x, weights, chosen = paddle.ones([3, H]), paddle.ones([3, 1]), paddle.zeros([3, 1], "int32")
    y, kept, place, tokens, _, local = I.moe_gate_dispatch_partial_nosoftmaxtopk(
        x, weights, chosen, 1, 2, E, False, 2, 3, False
    )
    assert (y.shape, tokens.shape, local.tolist()) == ([0, H], [0], [0] * E)
    assert not kept.any() and not place.any()


def test_no_tokens():
    x, logits = paddle.ones([0, H]), paddle.ones([0, E])
    y, weights, place, offset, expert = I.moe_gate_dispatch(x, logits, None, K, CAPACITY, True)
    assert (y.shape, y.sum().item(), offset.tolist()) == ([E * CAPACITY, H], 0.0, [0] * E)
    assert (weights.shape, place.shape, expert.shape) == ([0, K], [K, 0], [0, K])


def test_numbers_of_places_are_64_bits():
    """Positions in queues, and places of experts of any capacity, are computed beyond 2³¹."""
    requested = paddle.to_tensor([3, 1, 3], "int64")
    queued = queues(requested, 4)
    assert (queued.rank.tolist(), queued.counts.tolist()) == ([0, 0, 1], [0, 1, 0, 2])
    assert queued.position(requested).tolist() == [1, 0, 2]
    assert (requested * 2**33 + queued.rank).tolist() == [3 * 2**33, 2**33, 3 * 2**33 + 1]
    with pytest.raises(ValueError, match=r"requires at most 2147483647 places, .* got 4 experts of capacity 536870912"):
        I.moe_gate_dispatch(paddle.ones([1, 1]), paddle.ones([1, 4]), None, 1, 2**29, True)
    # Without padding a capacity is only a bound.
    assert I.moe_gate_dispatch(paddle.ones([2, 1]), paddle.ones([2, 4]), None, 1, 2**40, False)[0].shape == [2, 1]


ROUTES = np.array([[-1, 0, 2], [1, -1, -1], [-1, -1, -1], [0, 1, 2]], "int32")
COUNTS = [2, 2, 2]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "bool", "float8_e4m3fn", "complex64"])
@pytest.mark.parametrize("alignment", [1, 4])
def test_permutation(rng, dtype, alignment):
    x = paddle.to_tensor(rng.integers(0, 2, (4, H)).astype("float32")).astype(dtype)
    weights = rng.uniform(0.1, 1, ROUTES.shape).astype("float32")
    scale = rng.uniform(0.1, 1, (4, 2)).astype("float32")
    rows, place, prob, scales, experts = F.moe_permute(
        x,
        paddle.to_tensor(scale),
        paddle.to_tensor(ROUTES),
        paddle.to_tensor(weights),
        3,
        COUNTS,
        alignment,
        return_expert_indices=True,
        override_buffer_size=14,
    )
    assert (rows.dtype.name, rows.shape, place.dtype.name, experts.dtype.name) == (dtype, [14, H], "int32", "int32")
    step = -(-2 // alignment) * alignment
    table = np.full((4, 3), -1)
    wide, plain = rows.astype("complex64").numpy(), x.astype("complex64").numpy()
    seen = np.zeros(14, bool)
    for e in range(3):
        for at, (i, j) in enumerate((i, j) for i in range(4) for j in range(3) if ROUTES[i, j] == e):
            row = table[i, e] = e * step + at
            np.testing.assert_array_equal(wide[row], plain[i])
            np.testing.assert_array_equal(scales[row].numpy(), scale[i])
            assert (prob[row].item(), experts[row].item()) == (weights[i, j], e)
            seen[row] = True
    np.testing.assert_array_equal(place.numpy(), table)
    assert not wide[~seen].any() and not prob.numpy()[~seen].any() and not scales.numpy()[~seen].any()
    assert (experts.numpy()[~seen] == -1).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_permutation_and_back(rng, weighted):
    """Each token comes back as often as it has experts, or by their weights; gradients are those of that sum."""
    weights = rng.uniform(0.1, 1, ROUTES.shape)
    operands = [paddle.to_tensor(v, stop_gradient=False) for v in (rng.standard_normal((4, H)), weights)]
    routes = paddle.to_tensor(ROUTES)

    def there_and_back(x, weights):
        rows, place, prob, _ = F.moe_permute(x, None, routes, weights, 3, COUNTS, 4)
        return F.moe_unpermute(rows, place, routes, prob, 4, 3, using_weighted_combine=weighted)

    factor = (weights if weighted else np.ones_like(weights)) * (ROUTES >= 0)
    for call in (there_and_back, paddle.jit.to_static(there_and_back)):
        y, prob = call(*operands)
        np.testing.assert_allclose(y.numpy(), operands[0].numpy() * factor.sum(1, keepdims=True), rtol=1e-12)
        np.testing.assert_array_equal(prob.numpy(), weights * (ROUTES >= 0))
        gx, gweights = paddle.grad([y.sum(), (prob * 2).sum()], operands)
        np.testing.assert_allclose(gx.numpy(), np.repeat(factor.sum(1, keepdims=True), H, 1), rtol=1e-12)
        by_weight = operands[0].numpy().sum(1, keepdims=True) if weighted else 0
        np.testing.assert_allclose(gweights.numpy(), (2 + by_weight) * (ROUTES >= 0), rtol=1e-10)


def test_rows_are_not_copied_on_demand():
    x, routes = paddle.ones([4, H]), paddle.to_tensor(ROUTES)
    rows, place, prob, scales = F.moe_permute(x, None, routes, paddle.ones([4, 3]), 3, COUNTS, 2, do_gather=False)
    assert (rows.shape, prob.shape, scales.shape, int((place >= 0).sum())) == ([0, H], [6], [6, 0], 6)


@pytest.mark.parametrize("captured", [False, True])
@pytest.mark.parametrize("place", [3, -1])
def test_places_out_of_range_are_refused(captured, place):
    """None counts from the end. The place of a dropped token means nothing."""
    x, weights, place = paddle.ones([3, H]), paddle.ones([1, 1]), paddle.to_tensor([[place]])
    for function in (I.moe_combine, I.moe_combine_no_weight):
        call = paddle.jit.to_static(function) if captured else function
        with pytest.raises(IndexError, match=rf"requires an index from 0 to 2, got {int(place)}"):
            call(x, weights, place).numpy()
    call = paddle.jit.to_static(I.moe_combine_no_weight) if captured else I.moe_combine_no_weight
    np.testing.assert_array_equal(call(x, weights * 0.0, place).numpy(), np.zeros([1, H]))


@pytest.mark.parametrize(("row", "expert"), [(2, 1), (9, 1), (0, 2)])
def test_rows_and_experts_that_are_not_there_are_refused(row, expert):
    given = paddle.to_tensor([[-1, row]], "int32"), paddle.to_tensor([[expert]], "int32"), paddle.ones([2])
    with pytest.raises(IndexError, match=r"\[moe_unpermute\] requires an index"):
        F.moe_unpermute(paddle.ones([2, H]), *given, 1, 2)[0].numpy()


def test_refusals():
    x, logits = paddle.ones([3, H]), paddle.ones([3, E])
    with pytest.raises(ValueError, match=r"\[moe_gate_dispatch\] requires k from 1 to 4, the experts, got 5"):
        I.moe_gate_dispatch(x, logits, None, 5, 1, True)
    with pytest.raises(TypeError, match=r"\[moe_gate_dispatch\] requires gate_logits of float32, got float64"):
        I.moe_gate_dispatch(x, logits.astype("float64"), None, 1, 1, True)
    with pytest.raises(ValueError, match=r"requires gate_logits of shape \[3, \*\], got \[2, 4\]"):
        I.moe_gate_dispatch(x, logits[:2], None, 1, 1, True)
    with pytest.raises(ValueError, match=r"\[moe_gate_dispatch_permute\] requires a world_size that divides the 4"):
        I.moe_gate_dispatch_permute(x, logits, None, 1, 1, 3)
    some = I.moe_gate_dispatch_partial_nosoftmaxtopk
    chosen = paddle.zeros([3, 1], "int32")
    with pytest.raises(ValueError, match=r"requires use_pad False with reverse_token_drop, got True"):
        some(x, paddle.ones([3, 1]), chosen, 1, 2, E, True, 0, 1, True)
    with pytest.raises(ValueError, match=r"requires 0 <= expert_start_index < expert_end_index <= 4, got 2 and 2"):
        some(x, paddle.ones([3, 1]), chosen, 1, 2, E, True, 2, 2, False)
    one = paddle.to_tensor([[0]])
    with pytest.raises(TypeError, match=r"\[moe_combine_no_weight\] requires a floating combine_weight, got int64"):
        I.moe_combine_no_weight(x, one, one)
    with pytest.raises(ValueError, match=r"requires combine_weight and scatter_index of one shape \[tokens, k\], got"):
        I.moe_combine_no_weight(x, paddle.ones([1, 2]), one)
    with pytest.raises(ValueError, match=r"requires an epsilon of 0 or more, got -1"):
        I.moe_combine_no_weight(x, paddle.ones([1, 1]), one, epsilon=-1)
    routes, ones = paddle.to_tensor(ROUTES), paddle.ones([4, 3])
    with pytest.raises(ValueError, match=r"requires tokens_per_expert as in expert_routemap_topk, \[2, 2, 2\], got"):
        F.moe_permute(paddle.ones([4, H]), None, routes, ones, 3, [2, 1, 2], 1)
    with pytest.raises(ValueError, match=r"requires experts up to 2 in expert_routemap_topk, negative for none, got 9"):
        F.moe_permute(paddle.ones([4, H]), None, paddle.full([4, 3], 9, "int32"), ones, 3, COUNTS, 1)
    with pytest.raises(ValueError, match=r"requires override_buffer_size of 6 or above, got 5"):
        F.moe_permute(paddle.ones([4, H]), None, routes, ones, 3, COUNTS, 1, override_buffer_size=5)
    with pytest.raises(ValueError, match=r"requires zipped_expertwise_rowmap of shape \[4, 2\], got \[4, 3\]"):
        F.moe_unpermute(paddle.ones([6, H]), routes, routes, paddle.ones([6]), 4, 2)
