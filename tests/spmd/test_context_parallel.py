"""Context parallelism: over MPI and on virtual ranks; plans, balance, layouts and costs without ranks."""

from __future__ import annotations

import doctest
import importlib
import itertools
from pathlib import Path

import numpy as np
import pytest

from tests.spmd.context_parallel_checks import families
from tests.support.ranks import assert_passes, checks, simulate
from umiak import masks
from umiak.masks import Tile
from umiak.masks.bounds import bounded_tiles, cuts
from umiak.spmd import context_parallel
from umiak.spmd.context_parallel import Layout, Link, TileTimes, assign
from umiak.spmd.context_parallel.part import prefetched

MODULE = "tests.spmd.context_parallel_checks"
every = pytest.mark.parametrize("name", checks(MODULE), ids=lambda name: name.removeprefix("check_"))


@every
def test_processes(name):
    assert_passes(2, MODULE, name)


@pytest.mark.slow
@every
def test_four_processes(name):
    assert_passes(4, MODULE, name)


# Two processes run all checks in the quick suite; four virtual ranks those in which more ranks mean something else.
QUICK = {"check_random_masks", "check_hidden_keys_are_never_sent", "check_refusals", "check_queries_that_see_nothing"}


@pytest.mark.parametrize(
    ("name", "ranks"),
    [
        pytest.param(name, ranks, marks=() if ranks == 4 and name in QUICK else pytest.mark.slow)
        for name in checks(MODULE, virtual=True)
        for ranks in (1, 3, 4)
    ],
)
def test_virtual_ranks(name, ranks):
    simulate(ranks, MODULE, name)


# --- balance ---------------------------------------------------------------------------------------------------------


def least(weights, ranks):
    """The largest load of the best assignment, by trying all."""
    each, best = len(weights) // ranks, np.inf

    def extend(left, largest):
        nonlocal best
        if not left:
            best = min(best, largest)
            return
        for others in itertools.combinations(left[1:], each - 1):
            load = weights[left[0]] + sum(weights[i] for i in others)
            if max(largest, load) < best:
                extend([i for i in left[1:] if i not in others], max(largest, load))

    extend(list(range(len(weights))), 0.0)
    return best


def test_few_chunks_are_assigned_as_well_as_can_be(rng):
    for ranks, each in ((1, 3), (2, 2), (2, 5), (3, 3), (4, 2), (5, 2)):
        for weights in (rng.integers(0, 9, ranks * each).astype(float), rng.exponential(size=ranks * each)):
            result = assign(weights, ranks)
            assert result.optimal and result.gap == 0
            assert max(result.loads) == pytest.approx(least(weights.tolist(), ranks))
            assert context_parallel.balance.lower_bound(weights, ranks) <= max(result.loads) * (1 + 1e-12)


def test_the_search_is_complete_up_to_its_limit(rng):
    """Weights that are nearly alike are the hardest."""
    weights = rng.uniform(0.9, 1.0, context_parallel.balance.EXACT)
    assert assign(weights, 4).optimal


@pytest.mark.parametrize(("ranks", "each"), [(8, 4), (16, 16), (32, 4)])
def test_many_chunks_are_within_the_gap_that_is_said(rng, ranks, each):
    weights = rng.exponential(size=ranks * each)
    result = assign(weights, ranks)
    assert sorted(c for chunks in result.chunks for c in chunks) == list(range(ranks * each))
    assert all(len(chunks) == each and sorted(chunks) == list(chunks) for chunks in result.chunks)
    np.testing.assert_allclose(result.loads, [weights[list(c)].sum() for c in result.chunks])
    assert max(result.loads) <= result.bound * (1 + result.gap) * (1 + 1e-12)
    assert result.gap <= 0.02
    assert assign(weights, ranks).chunks == result.chunks


def test_one_chunk_that_outweighs_all_is_no_gap():
    result = assign([100.0, 1, 1, 1, 1, 1] * 4, 6)
    assert result.gap == 0, "four heavy chunks on four ranks"


@pytest.mark.parametrize(
    ("weights", "ranks", "message"),
    [
        ([1.0, 2], 3, r"\[assign\] requires a vector of weights, a multiple of 3 ranks"),
        ([], 1, r"a multiple of 1 ranks"),
        ([1.0, -1], 2, r"finite weights of 0 at least, got \[-1.0\]"),
        ([1.0, np.nan], 2, r"finite weights"),
    ],
)
def test_wrong_weights_are_refused(weights, ranks, message):
    with pytest.raises(ValueError, match=message):
        assign(weights, ranks)


# --- tiles -----------------------------------------------------------------------------------------------------------


def test_bounded_classes_are_conservative(rng):
    """SKIP and FULL are so; for intervals that are the same within a tile they are exact."""
    for columns, causal in ((1, True), (2, True), (2, False), (4, False)):
        for _ in range(20):
            n = int(rng.integers(2, 300))
            indices = rng.integers(-3, n + 3, (2, 2, n, columns)).astype(np.int32)
            mask = masks.ColumnMask(indices, causal, n)
            edges = np.unique(np.append(rng.integers(0, n, 4), (0, n)))
            kinds, seen = bounded_tiles(mask, edges, edges), mask.visible()
            for (b, h, i, k), kind in np.ndenumerate(kinds):
                part = seen[b, h, edges[i] : edges[i + 1], edges[k] : edges[k + 1]]
                assert kind == Tile.PARTIAL or kind == (Tile.FULL if part.all() else Tile.SKIP), (causal, columns)
                assert not (kind == Tile.SKIP and part.any())


@pytest.mark.parametrize("name", families(96))
def test_bounded_classes_of_families_skip_what_is_hidden(name):
    n = 640
    mask = families(n)[name]
    edges = cuts(n, n)
    result, exact = bounded_tiles(mask, edges, edges), mask.tiles()
    assert ((result == Tile.SKIP) <= (exact == Tile.SKIP)).all()
    assert (result == Tile.SKIP).sum() >= 0.9 * (exact == Tile.SKIP).sum()


def test_cuts_stay_within_chunks():
    assert cuts(400, 200).tolist() == [0, 128, 200, 328, 400]
    assert cuts(6, 2).tolist() == [0, 2, 4, 6]


# --- layouts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", families(96))
def test_local_masks_are_parts_of_the_whole(name, rng):
    mask = families(96)[name]
    seen = mask.visible()
    for ranks, each in ((1, 1), (2, 3), (4, 2), (3, 8)):
        chunks = np.sort(rng.permutation(ranks * each).reshape(ranks, each), 1)
        layout = Layout(mask, chunks)
        at = [context_parallel.layout.positions(c, layout.length) for c in chunks]
        for rank, source in itertools.product(range(ranks), repeat=2):
            needed = layout.needed(rank, source)
            for c in set(chunks[source]) - set(needed):
                assert not seen[:, :, at[rank]][..., c * layout.length : (c + 1) * layout.length].any()
            for sources in ((source,), tuple(range(ranks))):
                block = layout.block(rank, sources)
                first, last = (c * layout.length for c in block.queries)
                keys = context_parallel.layout.positions(np.array(block.keys, int), layout.length)
                outside = np.delete(at[rank], np.arange(first, last))
                assert not seen[:, :, outside][..., keys].any()
                if last:
                    local = masks.ColumnMask(layout.local_mask(rank, block), False, last - first)
                    np.testing.assert_array_equal(local.visible(), seen[:, :, at[rank][first:last]][..., keys])


# --- plans -----------------------------------------------------------------------------------------------------------


def test_weights_are_those_of_tiles():
    mask, times = families(640)["causal document"], TileTimes(1.0, 1.5, 0.125, 0.25)
    kinds = mask.tiles()
    cost = np.array([0.125, 1.5, 1.0])
    np.testing.assert_allclose(times.chunk_weights(mask, 128), cost[kinds].sum((0, 1, 3)) + 0.25)
    np.testing.assert_allclose(times.chunk_weights(mask, 640), cost[kinds].sum() + 0.25 * 5)
    both = masks.ColumnMask(np.concatenate([mask.indices] * 2), True, 640)
    np.testing.assert_allclose(times.chunk_weights(both, 128), 2 * times.chunk_weights(mask, 128))
    assert times.chunk_weights(mask, 100 * 32 // 100).sum() > 0, "chunks smaller than a tile"


def test_a_plan_takes_as_many_chunks_as_balance_needs():
    mask = masks.causal_document([3000, 500, 4692])
    result = context_parallel.plan(mask, 4)
    assert result.imbalance <= 0.03 and result.chunk_length >= 128
    assert context_parallel.plan(mask, 4, chunks=2).imbalance >= result.imbalance
    assert context_parallel.plan(masks.causal(1024), 4).chunks.shape == (4, 2)
    dual = context_parallel.dual_chunk(mask, 4)
    assert dual.chunks.tolist() == [[0, 7], [1, 6], [2, 5], [3, 4]]
    assert dual.imbalance > 0.15


def test_parts_and_wholes():
    plan = context_parallel.plan(masks.causal_document([20, 44]), 4, chunks=2)
    x = np.arange(2 * 64 * 3).reshape(2, 64, 3)
    parts = [plan.part(x, r) for r in range(4)]
    np.testing.assert_array_equal(plan.join(parts), x)
    np.testing.assert_array_equal(plan.join([plan.part(x[0], r, axis=0) for r in range(4)], 0), x[0])
    np.testing.assert_array_equal(x[:, plan.positions(2)], parts[2])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: context_parallel.plan(m, 7), r"\[plan\] requires a length that is a multiple of 7, got 100.*Pad"),
        (lambda m: context_parallel.plan(m, 2, chunks=3), r"\[plan\] requires a number of chunks .* 50 tokens, got 3"),
        (lambda m: context_parallel.plan(m, 0), r"\[plan\] requires a length"),
        (lambda m: context_parallel.dual_chunk(m, 8), r"a length that is a multiple of 16, got 100"),
        (lambda m: context_parallel.plan(masks.ColumnMask(m.indices, True, 90), 2), r"90 queries and 100 keys"),
        (lambda m: context_parallel.plan(m, 2).part(np.zeros((1, 99)), 0), r"100 tokens along axis 1, got 99"),
        (lambda m: context_parallel.plan(m, 2).positions(2), r"a rank from 0 to 1, got 2"),
        (lambda m: context_parallel.plan(m, 2).join([1]), r"parts of 2 ranks, got 1"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call(masks.causal(100))


# --- pictures --------------------------------------------------------------------------------------------------------


def test_a_picture_shows_tiles_and_loads():
    plan = context_parallel.plan(masks.document([64, 64]), 2, chunks=1)
    text = plan.svg("two documents")
    assert text.startswith("<svg") and "two documents" in text and "0.0% over the mean" in text
    # The page, the ground of the mask, a box of each document, and a bar of each rank.
    assert text.count("<rect") == 1 + 1 + 2 + 2


PICTURE = Path(__file__).parents[2] / "docs" / "guide" / "pictures" / "context-parallel.svg"


def test_the_picture_of_the_guide_is_up_to_date():
    assert PICTURE.read_text() == context_parallel.svg(shown())


def shown():
    """Plans of the guide's picture; ``PICTURE.write_text(context_parallel.svg(shown()))`` draws it anew."""
    mask = masks.causal_document([2600, 700, 1500, 3392])
    return {"dual chunks": context_parallel.dual_chunk(mask, 4), "balanced": context_parallel.plan(mask, 4)}


@pytest.mark.parametrize("name", ["balance", "plans", "sharded_attention", "simulation", "workload"])
def test_examples(name):
    result = doctest.testmod(importlib.import_module(f"umiak.spmd.context_parallel.{name}"))
    assert result.attempted and not result.failed


# --- costs -----------------------------------------------------------------------------------------------------------

HEADS = {"heads": 8, "key_heads": 2, "dim": 128}
TIMES = TileTimes(2.06e-4, 2.09e-4, 3e-6, 0.0)  # of a Xeon
INSTANT = Link(0.0, 1e30)


def published(tokens, least, most, sample):
    """Documents of a length as the FlashMask benchmarks have them: so many, cut anywhere."""
    draw = np.random.default_rng((sample, tokens))
    cut = np.sort(draw.choice(np.arange(1, tokens), int(draw.integers(least, most + 1)) - 1, replace=False))
    return np.diff([0, *cut, tokens]).tolist()


def test_one_rank_takes_what_its_tiles_take():
    mask = families(640)["causal document"]
    plan = context_parallel.plan(mask, 1, chunks=1)
    step = context_parallel.simulate(plan, TileTimes(1.0, 2.0, 0.5, 0.25), Link(), **HEADS)
    kinds = mask.tiles()
    expected = np.array([0.5, 2.0, 1.0])[kinds].sum() + 0.25 * 5
    assert [step.seconds, *step.computing] == pytest.approx([8 * expected] * 2)
    assert step.sent.tolist() == [0]


def test_a_step_takes_what_the_busiest_rank_computes_or_the_links_take(rng):
    mask = masks.causal_document(published(4096, 3, 5, 0))
    plan = context_parallel.plan(mask, 8)
    quick, slow = (
        context_parallel.simulate(plan, TIMES, INSTANT, **HEADS),
        context_parallel.simulate(plan, TIMES, Link(0.0, 1e6), **HEADS),
    )
    assert quick.computing.max() <= quick.seconds <= 1.5 * quick.computing.max()
    assert slow.seconds >= slow.sent.max() / 1e6
    dual = context_parallel.simulate(context_parallel.dual_chunk(mask, 8), TIMES, INSTANT, send_all=True, **HEADS)
    own = 2 * 512 * 2 * 128 * 4
    assert (dual.sent == 3 * 7 * own).all()


def test_causal_attention_alone_is_balanced_by_dual_chunks_too():
    mask = masks.causal(4096)
    assert context_parallel.dual_chunk(mask, 8).imbalance == pytest.approx(0, abs=1e-9)
    assert context_parallel.plan(mask, 8).imbalance <= 0.03


@pytest.mark.parametrize(
    ("tokens", "documents", "ranks"),
    [(32768, (10, 14), 8), pytest.param(131072, (11, 15), 16, marks=pytest.mark.slow)],
)
def test_published_documents_are_balanced_and_beat_dual_chunks(tokens, documents, ranks):
    ratios = []
    for sample in range(5):
        mask = masks.causal_document(published(tokens, *documents, sample))
        plan = context_parallel.plan(mask, ranks, times=TIMES)
        assert plan.imbalance <= 0.03
        dual = context_parallel.dual_chunk(mask, ranks, times=TIMES)
        ours = context_parallel.simulate(plan, TIMES, Link(), itemsize=2, **HEADS)
        ratios.append(
            context_parallel.simulate(dual, TIMES, Link(), itemsize=2, send_all=True, **HEADS).seconds / ours.seconds
        )
    assert np.exp(np.mean(np.log(ratios))) >= 1.8


def test_as_many_steps_are_under_way_as_the_limit_allows_for(rng):
    assert prefetched([0, 1, 1, 1, 1, 1], 2) == [3, 3, 4, 5, 6, 6]
    assert prefetched([0, 0, 0, 5, 0], 1) == [3, 3, 4, 5, 5]
    for _ in range(20):
        sizes, limit = rng.integers(0, 4, int(rng.integers(1, 12))).tolist(), int(rng.integers(0, 8))
        until = prefetched(sizes, limit)
        for step, end in enumerate(until):
            assert min(step + 2, len(sizes)) <= end <= len(sizes)
            assert end == min(step + 2, len(sizes)) or sum(sizes[step:end]) <= limit
        assert until == sorted(until)


@pytest.mark.slow  # the docstring's example is quick
def test_measured_times_are_those_of_tiles():
    times = context_parallel.measure_tile_times(heads=1, dim=16, length=512, repeats=1)
    assert times.full > 0 and min(times.partial, times.skip, times.rows) >= 0
