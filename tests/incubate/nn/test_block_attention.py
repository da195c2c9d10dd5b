"""Attention over a cache in blocks: against NumPy from scratch, for batches that come and go, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle.incubate.nn.functional import block_multihead_attention
from paddle.static import InputSpec
from tests.support.attended import attended, ints
from umiak.compiler import statistics

TOLERANCE = {"float64": 1e-6, "float32": 1e-5, "float16": 4e-3, "bfloat16": 4e-2}


class Server:
    """A cache with sequences in it, beside all their keys and values from the beginning."""

    def __init__(self, rng, dtype, heads, key_heads, dim, rows, slots, columns, function=block_multihead_attention):
        self.rng, self.dtype, self.heads, self.key_heads, self.dim, self.rows = rng, dtype, heads, key_heads, dim, rows
        self.function = function
        blocks = slots * columns + 2
        self.free = list(rng.permutation(blocks))
        self.table = np.full((slots, columns), -1, np.int32)
        self.caches = [paddle.full([blocks, key_heads, rows, dim], np.nan, dtype) for _ in range(2)]
        self.history = [[np.zeros((0, key_heads, dim))] * 2 for _ in range(slots)]

    def leave(self, slot: int) -> None:
        """A sequence ends; its blocks go back."""
        self.free += [int(b) for b in self.table[slot] if b >= 0]
        self.table[slot] = -1
        self.history[slot] = [np.zeros((0, self.key_heads, self.dim))] * 2

    def step(self, new: list[int], **more) -> float:
        """So many new tokens of each sequence: the largest error of their results."""
        heads, key_heads, dim = self.heads, self.key_heads, self.dim
        before = [len(h[0]) for h in self.history]
        for slot, (n, m) in enumerate(zip(new, before)):
            while n and (self.table[slot] >= 0).sum() * self.rows < n + m:
                self.table[slot, (self.table[slot] >= 0).sum()] = self.free.pop()
        qkv = paddle.to_tensor(self.rng.standard_normal((sum(new), (heads + 2 * key_heads) * dim))).astype(self.dtype)
        x = qkv.astype("float64").numpy().reshape(-1, heads + 2 * key_heads, dim)
        prompts = [n if not m else 0 for n, m in zip(new, before)]
        lengths = ints(prompts), ints(before), ints(new)
        out = self.function(
            qkv, *self.caches, *lengths, None, None, None, None, ints(self.table), block_size=self.rows, **more
        )
        assert out[2] is self.caches[0] and out[3] is self.caches[1]
        got, first, worst = out[0].astype("float64").numpy(), 0, 0.0
        for slot, n in enumerate(new):
            if n:
                own = x[first : first + n]
                parts = own[:, heads : heads + key_heads], own[:, heads + key_heads :]
                self.history[slot] = [np.concatenate(p) for p in zip(self.history[slot], parts)]
                want = attended(own[:, :heads], *self.history[slot])
                worst = max(worst, np.abs(got[first : first + n] - want).max())
                first += n
        return worst


@pytest.mark.parametrize(
    ("dtype", "heads", "key_heads", "dim", "rows"),
    [
        ("float32", 4, 2, 32, 16),
        ("float64", 2, 1, 33, 5),
        ("float16", 4, 4, 16, 8),
        ("bfloat16", 8, 2, 64, 16),
        ("bfloat16", 2, 2, 24, 7),
    ],
)
def test_prompts_and_single_tokens_in_one_call(dtype, heads, key_heads, dim, rows) -> None:
    """Few queries go one by one, many in strips; blocks are in any order, and what no sequence has written is NaN."""
    server = Server(np.random.default_rng(0), dtype, heads, key_heads, dim, rows, 3, 30)
    for new in ([140, 0, 19], [1, 40, 3], [2, 1, 0], [1, 1, 1]):
        assert server.step(new) < TOLERANCE[dtype]


@pytest.mark.parametrize("captured", [False, True])
def test_batches_that_come_and_go(captured) -> None:
    """Sequences begin, grow, end and give their blocks back; captured calls compile for no length."""
    rng = np.random.default_rng(1)
    function = paddle.jit.to_static(block_multihead_attention) if captured else block_multihead_attention
    server = Server(rng, "float32", 4, 2, 8, 4, 4, 6, function)

    def step() -> None:
        new = []
        for slot in range(4):
            length = len(server.history[slot][0])
            if length and (rng.random() < 0.2 or length > 20):
                server.leave(slot)
                length = 0
            new.append(int(rng.choice([0, 1, 3])) if length else int(rng.choice([0, 2, 9])))
        if sum(new) > 1:
            assert server.step(new) < TOLERANCE["float32"]

    for _ in range(8):
        step()

    def made() -> tuple:
        kernels = sum(statistics.total(event) for event in statistics.COUNTS)
        return kernels, len(function._captures()) if captured else 0

    before = made()
    for _ in range(30):
        step()
    assert made() == before


def test_only_new_rows_are_written() -> None:
    """In place, eagerly and captured: no other row changes, and no memory of the size of a cache is asked for."""
    server = Server(np.random.default_rng(2), "float32", 2, 2, 8, 4, 2, 3)
    server.step([3, 6])
    for function in (block_multihead_attention, paddle.jit.to_static(block_multihead_attention)):
        server.function = function
        for _ in range(2):
            before = [c.numpy() for c in server.caches]
            server.step([1, 1])
            where = [(server.table[s, (len(h[0]) - 1) // 4], (len(h[0]) - 1) % 4) for s, h in enumerate(server.history)]
            for cache, old in zip(server.caches, before):
                for block, row in where:
                    old[block, :, row] = cache.numpy()[block, :, row]
                np.testing.assert_array_equal(cache.numpy(), old)


def call(**changes):
    """Two sequences of 2 and 1 new tokens, of which the second has 3 positions before."""
    given = {
        "qkv": paddle.ones([3, 12]),
        "key_cache": paddle.zeros([5, 1, 2, 4]),
        "value_cache": paddle.zeros([5, 1, 2, 4]),
        "encoder": [2, 0],
        "decoder": [0, 3],
        "this_time": [2, 1],
        "tables": [[4, -1], [2, 0]],
        "block_size": 2,
    } | changes
    lengths = [ints(given.pop(name)) for name in ("encoder", "decoder", "this_time")]
    caches = given["key_cache"], given["value_cache"]
    head = [given.pop(name) for name in ("qkv", "key_cache", "value_cache")]
    before = [np.array(c.numpy()) for c in caches]
    try:
        return block_multihead_attention(*head, *lengths, None, None, None, None, ints(given.pop("tables")), **given)
    except Exception:
        for cache, old in zip(caches, before):
            np.testing.assert_array_equal(cache.numpy(), old)
        raise


@pytest.mark.parametrize(
    ("error", "text", "changes"),
    [
        (ValueError, "table with more pages", {"decoder": [0, 4]}),
        (ValueError, "add up to 3 tokens", {"this_time": [2, 2]}),
        (ValueError, "add up to 3 tokens", {"this_time": [1, 1]}),
        (ValueError, "at least 0", {"this_time": [4, -1]}),
        (ValueError, "at least 0", {"decoder": [-1, 3]}),
        (IndexError, "page 5 in sequence 1", {"tables": [[4, -1], [5, 0]]}),
        (IndexError, "page -1 in sequence 1", {"tables": [[4, -1], [2, -1]]}),
        (ValueError, r"page 0 in tables of sequences \[0, 1\]", {"tables": [[0, -1], [2, 0]]}),
        (ValueError, r"page 2 in tables of sequences \[1, 1\]", {"tables": [[4, -1], [2, 2]]}),
        (ValueError, r"page 4 in tables of sequences \[0, 1\]", {"tables": [[4, -1], [4, 0]]}),
        (TypeError, "a cache of their dtype", {"qkv": paddle.ones([3, 12], "float64")}),
        (TypeError, "caches of one dtype", {"value_cache": paddle.zeros([5, 1, 2, 4], "float64")}),
        (TypeError, "four scales", {n: paddle.zeros([5, 1, 2, 4], "uint8") for n in ("key_cache", "value_cache")}),
        (ValueError, "caches of one shape", {"value_cache": paddle.zeros([4, 1, 2, 4])}),
        (ValueError, "block_size=64", {"block_size": 64}),
        (ValueError, r"\* 4 features", {"qkv": paddle.ones([3, 14])}),
        (ValueError, r"rope_emb of shape \[2, 1 or 2, positions, 1, 2\]", {"rope_emb": paddle.ones([2, 1, 8, 1, 4])}),
        (IndexError, "index", {"rope_emb": paddle.ones([2, 1, 3, 1, 2])}),
        (ValueError, "a row for each new token", {"mask": paddle.zeros([1, 1, 1, 4])}),
        (ValueError, "a column for each position", {"tgt_mask": paddle.zeros([1, 1, 1, 3])}),
        (
            ValueError,
            "out_shift with 4 elements",
            {"out_scale": 1.0, "out_shift": paddle.ones([3]), "out_smooth": paddle.ones([4])},
        ),
        (ValueError, "quant_max_bound", {"out_scale": 1.0, "quant_max_bound": 200.0}),
    ],
)
def test_bad_input_is_refused_before_anything_is_written(error, text, changes) -> None:
    with pytest.raises(error, match=text):
        call(**changes)


PREFIX = {name: paddle.ones([2, 1, 2, 4]) for name in ("pre_key_cache", "pre_value_cache")}


@pytest.mark.parametrize(
    "changes",
    [
        {"tables": [[0, 1, 2], [0, 3, 4]], "decoder": [0, 0], "encoder": [2, 1]},  # of two prompts
        {"tables": [[0, 1, 2], [0, 3, 4]], "decoder": [0, 1]},  # of a prompt and a text that goes on
        {"tables": [[1, 1, 2], [0, 3, 4]], "decoder": [0, 1]},  # twice in one table
    ],
)
def test_a_prefix_in_a_block_with_another_use_is_refused_before_anything_is_written(changes) -> None:
    with pytest.raises(ValueError, match=r"blocks of a prefix that nothing else uses|page 1 in tables"):
        call(**PREFIX, **changes)
    call(**PREFIX, **(changes | {"tables": [[1, 2, 9], [0, 3, -4]]}))


@pytest.mark.parametrize("before", [0, 3])
def test_a_sequence_that_rests_may_have_any_table(before) -> None:
    resting = {"encoder": [0, 0], "decoder": [before, 3], "this_time": [0, 1]}
    call(tables=[[9, -3], [2, 0]], qkv=paddle.ones([1, 12]), **resting)


def test_saved_models_do_not_read_what_no_sequence_has_written(tmp_path) -> None:
    """Devices without a kernel compute so too: rows beyond a sequence's end may be NaN, and have a weight of 0."""
    rng = np.random.default_rng(3)
    names = {"qkv": "float32", "keys": "float32", "values": "float32"} | dict.fromkeys(("e", "d", "n", "t"), "int32")
    given = [rng.standard_normal((4, 16)).astype("float32"), *np.full((2, 7, 1, 2, 4), np.nan, "float32")]
    given += [np.array(x, np.int32) for x in ([3, 1], [0, 0], [3, 1], [[4, 1, -1], [2, 0, 3]])]
    specs = [InputSpec([None, *x.shape[1:]], dtype, name) for x, (name, dtype) in zip(given, names.items())]

    def step(qkv, keys, values, encoder, decoder, new, tables):
        lengths = encoder, decoder, new
        return block_multihead_attention(qkv, keys, values, *lengths, None, None, None, None, tables, block_size=2)[0]

    paddle.jit.save(paddle.jit.to_static(step, full_graph=True), str(tmp_path / "step"), input_spec=specs)
    loaded, tensors = paddle.jit.load(str(tmp_path / "step")), [paddle.to_tensor(x) for x in given]
    by_name = dict(zip(names, tensors))
    got = loaded(*(by_name[s.name] for s in loaded._input_spec()))
    want = step(*tensors)
    assert np.isfinite(want.numpy()).all()
    np.testing.assert_allclose(got.numpy(), want.numpy(), atol=1e-6)


def test_blocks_may_be_shared_where_nobody_writes() -> None:
    """Two sequences that begin alike."""
    call(tables=[[1, 3], [1, 0]], encoder=[0, 0], decoder=[2, 2], this_time=[1, 1], qkv=paddle.ones([2, 12]))


@pytest.mark.parametrize("captured", [None, False, True], ids=["eager", "captured", "one graph"])
def test_a_refused_call_leaves_scales_as_they_were(captured) -> None:
    """They are measured from prompts before a cache of bytes is written."""
    function = block_multihead_attention
    if captured is not None:
        function = paddle.jit.to_static(function, full_graph=captured)
    names = [f"cache_{x}_{kind}_scales" for kind in ("quant", "dequant") for x in "kv"]
    scales = {n: paddle.full([2, 1], 3.0) for n in names}
    caches = [paddle.zeros([5, 1, 2, 4], "uint8") for _ in range(2)]

    def step(table):
        lengths = ints([2, 0]), ints([0, 3]), ints([2, 1])
        more = {**scales, "use_dynamic_cachekv_quant": True, "block_size": 2}
        function(paddle.ones([3, 12]), *caches, *lengths, None, None, None, None, ints(table), **more)
        return [x.numpy() for x in (*scales.values(), *caches)]

    before = step([[4, -1], [2, 0]])
    for x in scales.values():
        x.fill_(3.0)
    for table in ([[5, -1], [2, 0]], [[0, -1], [2, 0]]):
        with pytest.raises((IndexError, ValueError), match="page"):
            step(table)
    assert all((x.numpy() == 3.0).all() for x in scales.values())
    for x, y in zip(step([[4, -1], [2, 0]]), before, strict=True):
        np.testing.assert_array_equal(x, y)
