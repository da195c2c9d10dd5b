"""Masks that programs spell out become masks by columns: values and gradients as of the scores, which are not made."""

from __future__ import annotations

import gc
import operator

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from paddle.distributed.fleet.utils import recompute
from umiak.compiler.passes import attention as fusions
from umiak.ir.passes import merge_common, remove_dead
from umiak.runtime import capture, captured_function, control, program_tracer

N, HIDDEN = 72, float("-inf")
LENGTHS = [20, 31, 21]


def ids(*lengths):
    return np.repeat(np.arange(len(lengths)), lengths)


def begins(*lengths):
    return np.repeat(np.cumsum(lengths) - lengths, lengths)


def at(*data):
    """Places of queries and keys, and vectors at both."""
    n = data[0].shape[-1] if data else N
    i, j = paddle.arange(n).unsqueeze(1), paddle.arange(n).unsqueeze(0)
    return (i, j, *((x[i], x[j]) for x in data))


# --- the twelve families, as mask functions, broadcast comparisons, triangles


def causal():
    return paddle.tril(paddle.ones([N, N], dtype="bool"))


def sliding_window():
    i, j = at()
    return (i >= j) & (i - j <= 9)


def two_sided_window():
    i, j = paddle.meshgrid(paddle.arange(N), paddle.arange(N))
    return (i - j).abs() <= 7


def causal_document(document):
    i, j, (own, other) = at(document)
    return (i >= j) & (own == other)


def causal_document_by_triangle(document):
    return paddle.tril(document.unsqueeze(0) == document.unsqueeze(1))


def document(document):
    return document.unsqueeze(-1) == document.unsqueeze(-2)


def shared_question(group, answer):
    i, j, (g, h), (a, b) = at(group, answer)
    return (i >= j) & (g == h) & ((b == 0) | (a == b))


def global_sliding():
    i, j = at()
    return (i < 4) | (j < 4) | ((i - j <= 8) & (j - i <= 5))


def causal_blockwise(document):
    i, j, (own, other) = at(document)
    return (i >= j) & ((own == other) | (own == document.max()))


def prefix():
    i, j = at()
    return paddle.logical_or(j < 13, j <= i)


def prefix_document(document, begin, length):
    i, j, (own, other), (_, first) = at(document, begin)
    return (own == other) & ((i >= j) | (j - first < length[other]))


def qk_sparse(begin, end):
    i, j, (_, first), (_, last) = at(begin, end)
    return (i >= j) & ~((i >= first) & (i < last))


def qk_sparse_by_flags(span):
    i, j, (own, other) = at(span)
    return (i >= j) & ~(own & other)


def hash_sparse(bucket):
    i, j = at()
    return (i >= j) & (bucket[:, :, None] == bucket[:, None, :])


def random_eviction(gone):
    i, j, (_, last) = at(gone)
    return (i >= j) & (i < last)


SPAN = np.isin(np.arange(N), np.arange(30, 45))
FAMILIES = {
    causal: (),
    sliding_window: (),
    two_sided_window: (),
    causal_document: (ids(*LENGTHS),),
    causal_document_by_triangle: (ids(*LENGTHS)[::-1].copy(),),
    document: (np.array([5, 1, 3])[ids(*LENGTHS)],),
    shared_question: (ids(40, 32), np.concatenate([ids(20, 10, 10), ids(16, 8, 8)])),
    global_sliding: (),
    causal_blockwise: (ids(*LENGTHS),),
    prefix: (),
    prefix_document: (ids(*LENGTHS), begins(*LENGTHS), np.array([3, 9, 6])),
    qk_sparse: (np.where(SPAN, np.arange(N), N), np.where(SPAN, 45, N)),
    qk_sparse_by_flags: (SPAN,),
    hash_sparse: (np.stack([ids(30, 42), ids(50, 22)]),),
    random_eviction: (np.minimum(np.arange(N) + 1 + np.random.default_rng(3).integers(0, 30, N), N),),
}


# --- spellings of attention


def scores(q, k):
    return paddle.matmul(q, k, transpose_y=True) * 0.25


def added(q, k, v, mask):
    return F.softmax(scores(q, k) + paddle.where(mask, 0.0, HIDDEN), axis=-1) @ v


def filled(q, k, v, mask):
    return F.softmax(scores(q, k).masked_fill(~mask, HIDDEN), axis=-1) @ v


def chosen(q, k, v, mask):
    return F.softmax(paddle.where(mask, scores(q, k), paddle.to_tensor(HIDDEN)), axis=-1) @ v


def penalised(q, k, v, mask):
    return F.softmax(scores(q, k) + (1.0 - mask.astype("float32")) * -1e9, axis=-1) @ v


def given(q, k, v, mask):
    q, k, v = (x.transpose([0, 2, 1, 3]) for x in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, mask).transpose([0, 2, 1, 3])


def quotient(q, k, v, mask):
    return F.softmax(q @ k.mT / 4.0 + paddle.where(mask, 0.0, HIDDEN), axis=-1) @ v


def both_scaled(q, k, v, mask):
    return F.softmax((q * 0.5) @ (k * 0.5).mT + paddle.log(mask.astype("float32")), axis=-1) @ v


def einsum(q, k, v, mask):
    s = paddle.einsum("bhqd,bhkd->bhqk", q, k) * 0.25
    return paddle.einsum("bhqk,bhkd->bhqd", F.softmax(s.masked_fill(~mask, HIDDEN), axis=-1), v)


def einsum_by_position(q, k, v, mask):
    q, k, v = (x.transpose([0, 2, 1, 3]) for x in (q, k, v))
    s = paddle.einsum("bqhd,bkhd->bhqk", q, k) * 0.25 + paddle.where(mask, 0.0, HIDDEN)
    return paddle.einsum("bhqk,bkhd->bqhd", F.softmax(s, axis=-1), v).transpose([0, 2, 1, 3])


def einsum_ellipsis(q, k, v, mask):
    s = paddle.einsum("...qd,...kd->...qk", q, k) * 0.25 + paddle.where(mask, 0.0, HIDDEN)
    return paddle.einsum("...qk,...kd->...qd", F.softmax(s, axis=-1), v)


def batched(q, k, v, mask):
    q, k, v = (x.reshape([4, N, 16]) for x in (q, k, v))
    s = paddle.bmm(q, k.transpose([0, 2, 1])) * 0.25
    return paddle.bmm(F.softmax(s + paddle.where(mask, 0.0, HIDDEN), axis=-1), v).reshape([2, 2, N, 16])


def repeated_heads(q, k, v, mask):
    return added(q, *(x[:, :1].repeat_interleave(2, axis=1) for x in (k, v)), mask)


def expanded_heads(q, k, v, mask):
    k, v = (x[:, :1].unsqueeze(2).expand([2, 1, 2, N, 16]).reshape([2, 2, N, 16]) for x in (k, v))
    return added(q, k, v, mask)


def wide_softmax(q, k, v, mask):
    s = (scores(q, k) + paddle.where(mask, 0.0, HIDDEN)).astype("float64")
    return F.softmax(s, axis=-1).astype("float32") @ v


def without_dropout(q, k, v, mask):
    return F.dropout(F.softmax(scores(q, k) + paddle.where(mask, 0.0, HIDDEN), axis=-1), 0.0) @ v


SPELLINGS = [added, filled, penalised, given, chosen]
OTHERS = [
    quotient, both_scaled, einsum, einsum_by_position, einsum_ellipsis, batched, repeated_heads, expanded_heads,
    wide_softmax, without_dropout,
]  # fmt: skip


# --- what is counted


@pytest.fixture
def programs(monkeypatch):
    """The programs that were looked at for attention, after that."""
    seen = []
    fuse = fusions.fuse_plain_attention

    def noted(program, *args, **kwargs):
        count = fuse(program, *args, **kwargs)
        seen.append((count, program.copy()))
        return count

    for module in (capture, captured_function, program_tracer):
        monkeypatch.setattr(module, "fuse_plain_attention", noted)
    return seen


@pytest.fixture
def branches(monkeypatch):
    """Which branch each run took: True where the columns are the mask."""
    taken = []
    holds = control.holds
    monkeypatch.setattr(control, "holds", lambda flag: taken.append(holds(flag)) or taken[-1])
    return taken


def operands(*shape, seed=0):
    rng = np.random.default_rng(seed)
    made = [paddle.to_tensor(rng.standard_normal(shape).astype("float32")) for _ in range(3)]
    for x in made:
        x.stop_gradient = False
    return made


def results(f, xs):
    for x in xs:
        x.clear_gradient()
    y = f(*xs)
    (y * y).sum().backward()
    return [y.numpy(), *(x.grad.numpy() for x in xs if not x.stop_gradient)]


def same(a, b, tolerance=3e-5):
    for x, y in zip(a, b, strict=True):
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance * max(1.0, float(np.abs(y).max())))


def compared(f, xs=None):
    xs = operands(2, 2, N, 16) if xs is None else xs
    expected = results(f, xs)
    found = results(paddle.jit.to_static(f), xs)
    same(found, expected)
    return found, expected


def of_scores(program):
    """The values of queries by keys that are computed whatever the data are, and read."""
    program = remove_dead(program.copy())
    return [r for o in program.ops for r in o.results if tuple(r.meta.shape[-2:]) == (N, N)]


# --- tests


def sampled(functions, quick):
    """Parameters, of which but some are slow."""
    return [pytest.param(f, id=f.__name__, marks=[] if f in quick else pytest.mark.slow) for f in functions]


@pytest.mark.parametrize(
    "family",
    sampled(FAMILIES, {causal, sliding_window, causal_document, shared_question, prefix_document, hash_sparse}),
)
def test_families(family, programs, branches):
    data = [paddle.to_tensor(x) for x in FAMILIES[family]]
    spelling = SPELLINGS[list(FAMILIES).index(family) % len(SPELLINGS)]
    compared(lambda q, k, v: spelling(q, k, v, family(*data)))
    (count, program), *_ = programs
    assert count == 1
    assert not of_scores(program)
    assert all(branches)


@pytest.mark.parametrize("spelling", sampled(OTHERS, {einsum_by_position, batched, expanded_heads}))
def test_spellings(spelling, programs, branches):
    documents = paddle.to_tensor(ids(*LENGTHS))
    compared(lambda q, k, v: spelling(q, k, v, causal_document(documents)))
    assert programs[0][0] == 1
    assert branches
    assert all(branches)


@pytest.mark.parametrize(
    "mask", [causal, lambda: paddle.triu(paddle.ones([N, N]), 1) == 0, lambda: at()[0] - at()[1] > -1]
)
def test_nothing_but_causal_needs_no_columns(mask, programs):
    compared(lambda q, k, v: filled(q, k, v, mask()))
    (program,) = [p for _, p in programs]
    (call,) = [o for o in program.walk() if o.name == "attention"]
    assert call.op.causal
    assert call.operands[3] is None


def first_keys():
    """Keys that every query sees."""
    return at()[1] < 2


def ordered(first, last):
    return paddle.to_tensor(np.linspace(first, last, N).astype("int32"))


@pytest.mark.parametrize(
    "compare", sampled([operator.lt, operator.le, operator.gt, operator.ge], {operator.lt, operator.ge})
)
def test_comparisons_from_either_side(compare, programs, branches):
    """A mask changes at a query, or behind it, whichever side the query stands on."""
    bound = paddle.to_tensor(np.arange(N) * 5 % N)

    def f(q, k, v):
        i, j = at()
        masks = compare(i - j, 3), compare(j - i, 3), compare(-i, 3 - j), compare(bound, i), compare(i, bound)
        return sum(added(q, k, v, m | first_keys()) for m in masks)

    compared(f)
    assert programs[0][0] == 5
    assert all(branches)


@pytest.mark.parametrize(
    "mask",
    [
        lambda: causal_document(paddle.to_tensor(np.arange(N) % 3)),
        lambda: causal_document(paddle.to_tensor(ids(30, 42) + np.eye(1, N, 50, dtype=int)[0])),
        lambda: (at()[0] >= at()[1]) & (at()[1] >= 5),
        lambda: sliding_window() & (at()[0] != paddle.to_tensor(np.arange(N) + 5)),
        lambda: causal() & (paddle.to_tensor(np.sort(np.arange(N) % 5)[::-1].copy() * 2**61) > -(at()[1] + 2**61)),
        lambda: (ordered(2**31 - 2 * N, 2**31 - 2).unsqueeze(1) + 60 * at()[1].astype("int32") > 70) | first_keys(),
        lambda: (paddle.to_tensor(np.arange(N) * 7 % N).unsqueeze(1) <= at()[1]) | first_keys(),
        lambda: (paddle.to_tensor(np.arange(N) // 9 % 2 == 0).unsqueeze(1) & (at()[1] > 7)) | first_keys(),
    ],
    ids=[
        "documents in turn", "a document in two parts", "queries that see nothing", "holes", "sums that do not fit",
        "sums that wrap", "bounds out of order", "flags that change often",
    ],
)  # fmt: skip
def test_what_a_run_finds_to_be_no_columns(mask, branches):
    """Then all is computed as it is written, NaN included, to the last bit."""
    found, expected = compared(lambda q, k, v: added(q, k, v, mask()))
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_array_equal(x, y)
    assert not any(branches)


def test_keys_that_no_query_sees(branches):
    """Padding in the middle is hidden by columns too."""
    compared(lambda q, k, v: added(q, k, v, sliding_window() & paddle.to_tensor(np.arange(N) % 20 != 7)))
    assert branches
    assert all(branches)


@pytest.mark.parametrize("fill", [-1e9, -3e38, -60.0], ids=str)
@pytest.mark.parametrize("form", ["added", "in place"])
def test_finite_fills(fill, form, branches):
    """They are as good as minus infinity where they leave no weight."""
    document = paddle.to_tensor(ids(*LENGTHS))

    def f(q, k, v):
        s, mask = scores(q, k), causal_document(document)
        s = s + paddle.where(mask, 0.0, fill) if form == "added" else paddle.where(mask, s, paddle.full_like(s, fill))
        return F.softmax(s, axis=-1) @ v

    compared(f)
    assert branches
    assert all(taken == (fill < -1e6) for taken in branches)


def test_finite_fills_of_queries_that_see_nothing(branches):
    """They see all keys then."""
    found, expected = compared(lambda q, k, v: penalised(q, k, v, causal() & (at()[1] >= 5)))
    assert np.isfinite(expected[0]).all()
    np.testing.assert_array_equal(found[0], expected[0])
    assert not any(branches)


@pytest.mark.parametrize(
    "f",
    [
        lambda q, k, v: (F.softmax(scores(q, k), axis=-1) * causal().astype("float32")) @ v,
        lambda q, k, v: F.softmax(scores(q, k).masked_fill(~causal(), -1e9), axis=-2) @ v,
        lambda q, k, v: (lambda s: F.softmax(s.masked_fill(~causal(), HIDDEN), axis=-1) @ v + s.mean())(scores(q, k)),
        lambda q, k, v: F.softmax((q @ k.mT + paddle.where(causal(), 0.0, -1e9)) * 0.25, axis=-1) @ v,
        lambda q, k, v: added(q, k, v, causal() & ((at()[0] - at()[1]) % 2 == 0)),
        lambda q, k, v: F.softmax(
            scores(q, k) - (at()[0] - at()[1]).abs().astype("float32") * 0.1 + paddle.where(causal(), 0.0, HIDDEN), -1
        ) @ v,
    ],
    ids=["masked weights", "another axis", "scores read twice", "a scaled mask", "every other key", "distances"],
)  # fmt: skip
def test_what_is_no_mask_by_columns(f, programs):
    compared(f)
    assert not any(count for count, _ in programs)


@pytest.mark.parametrize("shape", [[1], [N], [N, 1]], ids=str)
def test_gradients_of_masks(shape):
    """A bias that is learnt stays one, be it 0."""
    bias = paddle.zeros(shape)
    bias.stop_gradient = False
    q, k, v = operands(2, 2, N, 16)
    compared(
        lambda q, k, v, bias: F.softmax(scores(q, k) + paddle.where(causal(), bias, HIDDEN), axis=-1) @ v,
        [q, k, v, bias],
    )
    assert bias.grad is not None


def test_a_step_with_its_gradients(branches):
    document = paddle.to_tensor(ids(*LENGTHS))

    def step(q, k, v):
        mask = paddle.where(causal_document(document), 0.0, HIDDEN)
        y = q
        for _ in range(2):
            y = F.softmax(scores(y, k) + mask, axis=-1) @ v
        return [y, *paddle.grad((y * y).sum(), [q, k, v])]

    xs = operands(2, 2, N, 16)
    expected = [x.numpy() for x in step(*xs)]
    captured = paddle.jit.to_static(step, full_graph=True)
    for _ in range(2):
        same([x.numpy() for x in captured(*xs)], expected)
    assert branches
    assert all(branches)


def test_columns_are_computed_once(programs):
    document = paddle.to_tensor(ids(*LENGTHS))

    def f(q, k, v):
        mask = causal_document(document)
        return filled(filled(q, k, v, mask), k, v, mask)

    compared(f)
    (count, program) = programs[0]
    assert count == 2
    assert sum(o.name == "scatter_along" for o in merge_common(program).walk()) == 1


def test_recomputed(branches):
    document = paddle.to_tensor(ids(*LENGTHS))
    compared(lambda q, k, v: recompute(lambda *x: added(*x, causal_document(document)), q, k, v))
    assert all(branches)


def test_lengths_do_not_compile_again(programs, branches):
    captured = paddle.jit.to_static(lambda q, k, v, document: added(q, k, v, causal_document(document)))
    for k, n in enumerate((72, 80, 91, 100)):
        xs = [*operands(2, 2, n, 16, seed=k), paddle.to_tensor(ids(20, 30, n - 50))]
        expected = results(lambda q, k, v, document: added(q, k, v, causal_document(document)), xs)
        same(results(captured, xs), expected)
    assert len(programs) == 2  # for sizes as they are, and for any
    assert all(branches)


def test_more_keys_than_queries(branches):
    def f(q, k, v, valid):
        i, j = paddle.arange(N).unsqueeze(1), paddle.arange(N + 9)
        mask = (i + 9 >= j) & (j < valid.unsqueeze([1, 2, 3]))
        return F.softmax(scores(q, k) + paddle.where(mask, 0.0, HIDDEN), axis=-1) @ v

    (q, _, _), (_, k, v) = operands(2, 2, N, 16), operands(2, 2, N + 9, 16)
    valid = paddle.to_tensor([60, 81])
    compared(lambda q, k, v: f(q, k, v, valid), [q, k, v])
    assert all(branches)


def test_few_queries_keep_their_mask(programs):
    """As a mask of one query is no larger than its columns."""
    (q, _, _), (_, k, v) = operands(2, 2, 1, 16), operands(2, 2, 5000, 16)
    length = paddle.to_tensor(4000)
    compared(lambda q, k, v: filled(q, k, v, (paddle.arange(5000) <= length).unsqueeze(0)), [q, k, v])
    assert not any(count for count, _ in programs)


def test_static_programs(programs, branches):
    paddle.enable_static()
    try:
        main = paddle.static.Program()
        with paddle.static.program_guard(main):
            q, k, v = (paddle.static.data(name, [2, 2, N, 16]) for name in "qkv")
            document = paddle.static.data("document", [N], "int64")
            q.stop_gradient = False
            y = filled(q, k, v, causal_document(document))
            (g,) = paddle.static.gradients([(y * y).sum()], [q])
        xs = operands(2, 2, N, 16)
        feed = dict(zip("qkv", (x.numpy() for x in xs), strict=True)) | {"document": ids(*LENGTHS)}
        found = paddle.static.Executor().run(main, feed=feed, fetch_list=[y, g])
    finally:
        paddle.disable_static()
    expected = results(lambda *x: filled(*x, causal_document(paddle.to_tensor(ids(*LENGTHS)))), xs)
    same(found, expected[:2])
    assert branches
    assert all(branches)


@pytest.mark.usefixtures("no_garbage")
def test_memory():
    """Of a step, forward and backward, less than a fraction of one head's scores."""
    n = 1024
    document = paddle.to_tensor(ids(300, 500, 224))
    captured = paddle.jit.to_static(lambda q, k, v: added(q, k, v, causal_document(document)))
    xs = operands(1, 2, n, 16)
    results(captured, xs)
    gc.collect()
    held = paddle.device.memory_allocated("cpu")
    paddle.device.reset_max_memory_allocated("cpu")
    results(captured, xs)
    assert paddle.device.max_memory_allocated("cpu") - held < n * n
