"""Plans, executed on plain arrays: all that is wanted arrives, every byte is read once, the budget holds."""

import itertools
import random
from collections import deque

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from umiak.checkpoint.box import Box, difference, enclosing
from umiak.checkpoint.data_model import Block, Piece, Stored, TensorInfo
from umiak.checkpoint.plan import Put, Read, children, parent, plan_load, slabs
from umiak.checkpoint.replicas import plan_save
from umiak.checkpoint.sources import Sources, runs


def stored(key, shape, boxes, dtype="float32", files=None):
    blocks = [b if isinstance(b, Block) else Block(key, dtype, shape, Box(*b)) for b in boxes]
    return [Stored(b, files[i] if files else f"f{i}", 0) for i, b in enumerate(blocks)]


def want(key, shape, offset, size, dtype="float32", flat=None):
    return Block(key, dtype, shape, Box(tuple(offset), tuple(size)), flat)


def value(shape):
    return np.arange(1, np.prod(shape, dtype=int) + 1, dtype="float32").reshape(shape)


class Executed:
    """A plan carried out on arrays, rank by rank and wave by wave, with queues between ranks."""

    def __init__(self, plan, wants, values):
        self.plan, self.values = plan, values
        self.read: dict[str, np.ndarray] = {k: np.zeros(v.shape, int) for k, v in values.items()}
        self.out = [[np.zeros(b.size if b.flat else b.box.shape, "float32") for b in own] for own in wants]
        self.wants = wants
        self.sent = 0
        self.held = [{} for _ in wants]
        queues: dict[tuple[int, int], deque] = {}
        waiting = {r: deque(p.steps) for r, p in enumerate(plan.ranks())}
        assert [plan.rank(r) for r in waiting] == plan.ranks()
        while any(waiting.values()):
            moved = False
            for rank, steps in waiting.items():
                while steps:
                    step = steps[0]
                    if isinstance(step, Read):
                        key = step.stored.block.key
                        self.read[key][step.box.slices] += 1
                        data = values[key][step.box.slices]
                    elif queues.get((step.peer, rank)):
                        box, data = queues[step.peer, rank].popleft()
                        assert box == step.box
                    else:
                        break
                    steps.popleft()
                    moved = True
                    self.put(rank, step, data)
                    for to in step.to:
                        queues.setdefault((rank, to), deque()).append((step.box, data))
                        self.sent += data.nbytes
                    if step.to or not isinstance(step, Read):
                        held = self.held[rank]
                        held[step.wave] = held.get(step.wave, 0) + data.nbytes
            assert moved, "the plan does not end"
        assert not any(queues.values())

    def put(self, rank, step, data):
        for p in step.puts:
            block = self.wants[rank][p.want]
            out = self.out[rank][p.want]
            box, at = runs(block)[p.run]
            if block.flat:
                out = out[at : at + box.size].reshape(box.shape)
            moved = data if p.axes is None else data.transpose(p.axes)
            out[p.target.relative_to(box.offset).slices] = moved

    def check(self, expected=None):
        for own, outs in zip(self.wants, self.out):
            for block, out in zip(own, outs):
                whole = (expected or self.values)[block.key][block.box.slices]
                if block.flat:
                    whole = whole.reshape(-1)[slice(*block.flat)]
                np.testing.assert_array_equal(out, whole)


class Swapped:
    """A layout by hand: ``b`` is the transpose of ``a``; ``k`` keeps its value."""

    kept = frozenset({"k"})

    def __init__(self, shape=(6, 4)):
        self.targets = {"b": TensorInfo("b", shape, "float32"), "k": TensorInfo("k", (2,), "float32")}

    def pieces(self, key, box=None):
        return (Piece(box, "a", box.permuted((1, 0)), (1, 0)),)


def grid(shape, cuts):
    """A tensor cut at some places of every axis."""
    axes = [sorted({0, n, *(c for c in cut if 0 < c < n)}) for n, cut in zip(shape, cuts)]
    return [
        Box(tuple(a for a, _ in spans), tuple(b - a for a, b in spans))
        for spans in itertools.product(*(list(zip(a, a[1:])) for a in axes))
    ]


shapes = st.lists(st.integers(1, 6), min_size=0, max_size=3).map(tuple)


@st.composite
def layouts(draw):
    """Some tensors, stored in some cut or as parts of a flattening, wanted in other cuts by some ranks."""
    seed = draw(st.integers(0, 10**6))
    r = random.Random(seed)
    files, values, wants = [], {}, [[] for _ in range(r.randint(1, 5))]
    savers = r.randint(1, 4)
    for i in range(r.randint(1, 3)):
        shape = tuple(r.randint(1, 6) for _ in range(r.randint(0, 3)))
        key = f"t{i}"
        values[key] = value(shape)
        for box in grid(shape, [[r.randint(0, n) for _ in range(r.randint(0, 2))] for n in shape]):
            if r.random() < 0.4 and box.shape:
                edges = sorted({0, box.size, r.randint(0, box.size), r.randint(0, box.size)})
                blocks = [Block(key, "float32", shape, box, (a, b)) for a, b in zip(edges, edges[1:])]
            else:
                blocks = [Block(key, "float32", shape, box)]
            for b in blocks:
                files.extend(Stored(b, f"f{f}", 0) for f in r.sample(range(savers), r.randint(1, savers)))
        for own in wants:
            if r.random() < 0.8:
                cut = grid(shape, [[r.randint(0, n)] for n in shape])
                box = r.choice([Box.full(shape), *cut])
                if r.random() < 0.3 and box.shape:
                    a = r.randint(0, box.size - 1)
                    own.append(Block(key, "float32", shape, box, (a, r.randint(a + 1, box.size))))
                else:
                    own.append(Block(key, "float32", shape, box))
    return wants, files, values, r


@given(layouts(), st.sampled_from(["none", "sends", "auto"]))
def test_any_layout_arrives(case, exchange):
    wants, files, values, r = case
    done = Executed(plan_load(wants, files, exchange=exchange, budget=16 * 16), wants, values)
    done.check()
    if exchange == "sends":
        assert max(int(a.max(initial=0)) for a in done.read.values()) <= 1


@given(layouts())
def test_files_that_only_some_ranks_see(case):
    wants, files, values, r = case
    names = sorted({s.file for s in files})
    readable = [frozenset(r.sample(names, r.randint(0, len(names)))) for _ in wants]
    lost = set(names) - frozenset().union(*readable)
    readable[0] |= lost
    plan = plan_load(wants, files, readable=readable)
    Executed(plan, wants, values).check()
    for rank in range(len(wants)):
        assert all(s.stored.file in readable[rank] for s in plan.rank(rank).steps if isinstance(s, Read))


def test_the_same_plan_every_time():
    shape = (8, 8)
    files = stored("w", shape, [((0, 0), (4, 8)), ((4, 0), (4, 8))])
    wants = [[want("w", shape, (0, 2 * r), (8, 2))] for r in range(4)]
    plans = [plan_load(wants, files, exchange="sends") for _ in range(2)]
    assert plans[0] == plans[1]


def test_rows_to_columns_read_in_place():
    shape = (4, 6)
    files = stored("w", shape, [((0, 0), (2, 6)), ((2, 0), (2, 6))])
    wants = [[want("w", shape, (0, 3 * r), (4, 3))] for r in range(2)]
    plan = plan_load(wants, files)
    assert plan.exchange == "none"
    steps = plan.rank(1).steps
    assert [s.box for s in steps] == [Box((0, 3), (2, 3)), Box((2, 3), (2, 3))]
    assert steps[1].puts == (Put(0, 0, Box((2, 3), (2, 3)), None, ()),)


def test_a_replicated_tensor_is_read_once_and_by_all():
    shape = (1024, 16)
    files = stored("w", shape, [((0, 0), shape)])
    wants = [[want("w", shape, (0, 0), shape)] for _ in range(4)]
    plan = plan_load(wants, files, budget=16 * 4096)
    assert plan.exchange == "sends"
    assert [p.bytes_read for p in plan.ranks()] == [16384] * 4
    done = Executed(plan, wants, {"w": value(shape)})
    done.check()
    assert done.sent == 3 * 65536


def test_ranks_of_one_host_read_for_themselves():
    shape = (8, 8)
    files = stored("w", shape, [((0, 0), shape)])
    wants = [[want("w", shape, (0, 0), shape)] for _ in range(4)]
    assert plan_load(wants, files, hosts="aaaa").exchange == "none"
    assert plan_load(wants, files, hosts="aabb").exchange == "none"
    assert plan_load(wants, files, hosts="abcc").exchange == "sends"


@pytest.mark.parametrize("budget", [1 << 12, 1 << 13])
def test_waves_keep_to_the_budget(budget):
    files = stored("a", (64, 60), [((16 * i, 0), (16, 60)) for i in range(4)])
    # All is transposed: what is received is held first.
    wants = [[want("b", (60, 64), (0, 0), (40 if r % 2 else 60, 64))] for r in range(6)]
    layout = Swapped((60, 64))
    a = value((64, 60))
    done = Executed(plan_load(wants, files, layout=layout, exchange="sends", budget=budget), wants, {"a": a})
    done.check({"b": a.T})
    assert max(max(held.values()) for held in done.held) <= budget
    assert max(len(held) for held in done.held) > 1


def test_what_goes_straight_to_its_place_takes_no_budget():
    shape = (64, 64)
    files = stored("w", shape, [((0, 0), shape)])
    wants = [[want("w", shape, (0, 0), shape)] for _ in range(3)]
    plan = plan_load(wants, files, exchange="sends", budget=1 << 12)
    assert {s.wave for p in plan.ranks() for s in p.steps} == {0}


def test_bytes_are_balanced_not_files():
    names = [f"t{i}" for i in range(8)]
    sizes = [70, 10, 10, 10, 10, 10, 10, 10]
    files = [s for n, k in zip(names, sizes) for s in stored(n, (k, 10), [((0, 0), (k, 10))], files=["f"])]
    wants = [[want(n, (k, 10), (0, 0), (k, 10)) for n, k in zip(names, sizes)] for _ in range(2)]
    plan = plan_load(wants, files, exchange="sends")
    assert [p.bytes_read for p in plan.ranks()] == [2800, 2800]


@pytest.mark.parametrize("exchange", ["none", "sends"])
def test_a_layout_is_followed(exchange):
    files = stored("a", (4, 6), [((0, 0), (2, 6)), ((2, 0), (2, 6))])
    wants = [[want("b", (6, 4), (r, 0), (3, 4)), want("k", (2,), (0,), (2,))] for r in (0, 1, 3)]
    a = value((4, 6))
    done = Executed(plan_load(wants, files, layout=Swapped(), exchange=exchange), wants, {"a": a})
    for own in done.out:
        np.testing.assert_array_equal(own[1], 0)
    wants = [own[:1] for own in wants]
    Executed(plan_load(wants, files, layout=Swapped(), exchange=exchange), wants, {"a": a}).check({"b": a.T})


def test_values_are_cast_to_the_wanted_dtype():
    files = stored("w", (4,), [((0,), (4,))], "bfloat16")
    (step,) = plan_load([[want("w", (4,), (0,), (4,))]], files).rank(0).steps
    assert step.puts[0].casts == ("float32",)


@pytest.mark.parametrize(("there", "asked"), [("float32", "int64"), ("int64", "int32"), ("int64", "float32")])
def test_casts_that_lose_are_refused(there, asked):
    files = stored("w", (4,), [((0,), (4,))], there)
    with pytest.raises(TypeError, match=rf"requires 'w' of a dtype that {there} .* got {asked}"):
        plan_load([[want("w", (4,), (0,), (4,), asked)]], files)


def test_missing_names_are_one_error():
    files = stored("layer.weight", (4,), [((0,), (4,))])
    wants = [[want("layer.wieght", (4,), (0,), (4,))], [want("other", (4,), (0,), (4,))]]
    with pytest.raises(KeyError, match=r"got 2 that are not: 'layer.wieght' \(there is 'layer.weight'\), 'other'"):
        plan_load(wants, files)


def test_another_global_shape_is_refused():
    files = stored("w", (4, 6), [((0, 0), (4, 6))])
    with pytest.raises(ValueError, match=r"'w' that is stored, \[4, 6\], got \[2, 6\] on rank 0"):
        plan_load([[want("w", (2, 6), (0, 0), (2, 6))]], files)
    wants = [[want("w", (4, 6), (0, 0), (4, 6))], [want("w", (4, 7), (0, 0), (4, 7))]]
    with pytest.raises(ValueError, match=r"on all ranks, got \[4, 6\] on rank 0 and \[4, 7\] on rank 1"):
        plan_load(wants, files)


def test_elements_that_nothing_holds_are_named():
    files = stored("w", (4, 6), [((0, 0), (2, 6)), ((2, 0), (1, 6))])
    text = r"'w' that rank 0 wants, got none for \[3, 0\]:\[4, 6\]. There are the blocks \[0, 0\]:\[2, 6\], \[2, 0\]"
    with pytest.raises(ValueError, match=text):
        plan_load([[want("w", (4, 6), (0, 0), (4, 6))]], files)
    flat = [Block("w", "float32", (4, 6), Box((0, 0), (4, 6)), (0, 20))]
    with pytest.raises(ValueError, match=r"got none for \[3, 2\]:\[4, 6\]"):
        plan_load([[want("w", (4, 6), (0, 0), (4, 6))]], stored("w", (4, 6), flat))


def test_a_file_that_no_rank_sees():
    files = stored("w", (4,), [((0,), (4,))])
    with pytest.raises(FileNotFoundError, match="requires 'f0', which holds 'w', on some rank"):
        plan_load([[want("w", (4,), (0,), (4,))]], files, readable=[frozenset()])
    with pytest.raises(FileNotFoundError, match="on rank 1"):
        plan_load(
            [[want("w", (4,), (0,), (4,))]] * 2, files, readable=[frozenset({"f0"}), frozenset()], exchange="none"
        )


def test_stored_blocks_must_agree():
    a, b = stored("w", (4,), [((0,), (2,))]), stored("w", (5,), [((2,), (2,))])
    with pytest.raises(ValueError, match="one shape and dtype"):
        Sources(a + b)
    with pytest.raises(ValueError, match="within their tensor"):
        Sources(stored("w", (4,), [((2,), (3,))]))


@given(shapes, st.randoms(use_true_random=False))
def test_difference_is_what_is_left(shape, r):
    box = Box.full(shape)
    start = [r.randint(0, n - 1) for n in shape]
    hole = Box(tuple(start), tuple(r.randint(1, n - s) for n, s in zip(shape, start)))
    seen = np.zeros(shape, int)
    for b in (hole, *difference(box, hole)):
        seen[b.slices] += 1
        assert b.size
    assert (seen == 1).all()


@given(shapes.filter(len), st.randoms(use_true_random=False), st.integers(1, 40))
def test_slabs_are_contiguous_and_small(shape, r, limit):
    flat = np.arange(np.prod(shape)).reshape(shape)
    found = [flat[b.slices].reshape(-1) for b in slabs(Box.full(shape), limit)]
    assert all(len(part) <= limit for part in found)
    np.testing.assert_array_equal(np.concatenate(found), flat.reshape(-1))


@given(st.integers(1, 40))
def test_a_tree_reaches_everyone_once(n):
    reached = [0]
    for i in reached:
        for j in children(i, n):
            assert parent(j) == i
            reached.append(j)
    assert sorted(reached) == list(range(n))
    depth = {0: 0}
    for i in reached[1:]:
        depth[i] = depth[parent(i)] + 1
    assert max(depth.values()) <= (n - 1).bit_length()


# --- saving ----------------------------------------------------------------------------------------------------------


def test_replicas_are_written_once_and_balanced_by_bytes():
    blocks = [
        [want("w", (4, 6), (2 * r, 0), (2, 6)), want("b", (6,), (0,), (6,)), want("c", (100,), (0,), (100,))]
        for r in range(2)
    ]
    saves = plan_save(blocks)
    assert [[s.block.key for s in own] for own in saves] == [["w", "c"], ["w", "b"]]
    assert plan_save(blocks) == saves


def test_many_replicas_are_balanced():
    sizes = [7, 5, 5, 3, 3, 2, 2, 2, 1]
    blocks = [[want(f"t{i}", (n,), (0,), (n,)) for i, n in enumerate(sizes)] for _ in range(3)]
    saves = plan_save(blocks)
    assert sorted(sum(s.block.size for s in own) for own in saves) == [10, 10, 10]


def test_a_large_replica_is_shared_out():
    blocks = [[want("w", (10, 4), (0, 0), (10, 4))] for _ in range(4)]
    saves = plan_save(blocks, split=32)
    assert [s.block.box for own in saves for s in own] == [
        Box((0, 0), (2, 4)),
        Box((2, 0), (3, 4)),
        Box((5, 0), (2, 4)),
        Box((7, 0), (3, 4)),
    ]
    assert [len(own) for own in plan_save(blocks, split=None)] == [1, 0, 0, 0]


def test_kept_replicas_are_counted():
    blocks = [[want("w", (4,), (0,), (4,))] for _ in range(3)]
    assert [s.replica for own in plan_save(blocks, replicas=True) for s in own] == [0, 1, 2]


def test_empty_ranges_are_not_written_and_empty_tensors_are():
    blocks = [[want("w", (4,), (0,), (4,), flat=(2, 2)), want("e", (0, 3), (0, 0), (0, 3))]]
    assert [s.block.key for s in plan_save(blocks)[0]] == ["e"]


def test_savers_must_agree():
    blocks = [[want("w", (4,), (0,), (4,))], [want("w", (4,), (0,), (4,), "bfloat16")]]
    with pytest.raises(ValueError, match=r"got float32 \[4\] on rank 0 and bfloat16 \[4\] on rank 1"):
        plan_save(blocks)


@given(layouts())
def test_what_is_saved_is_all_there_is(case):
    wants, files, values, r = case
    ranks: list[list[Block]] = [[], [], []]
    for s in files:
        for own in r.sample(ranks, r.randint(1, 3)):
            if s.block not in own:
                own.append(s.block)
    saved = [Stored(s.block, f"f{rank}", 0) for rank, own in enumerate(plan_save(ranks, split=8)) for s in own]
    Executed(plan_load(wants, saved), wants, values).check()


def test_the_enclosing_box_of_rank_three():
    # Worked by hand: elements 1 to 14 of (2, 3, 4) reach from row (0, 0) to row (1, 0).
    assert enclosing((2, 3, 4), 1, 14) == Box((0, 0, 0), (2, 3, 4))
    assert enclosing((2, 3, 4), 13, 22) == Box((1, 0, 0), (1, 3, 4))
    assert enclosing((2, 3, 4), 17, 19) == Box((1, 1, 1), (1, 1, 2))
