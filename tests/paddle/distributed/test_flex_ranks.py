"""Several ranks save and others load: any layout into any other, files that not everyone sees, errors on all ranks."""

from __future__ import annotations

import os
import random
import shutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import paddle
from paddle.distributed import ShardedWeight, load_merged_state_dict, load_state_dict, save_state_dict, shard_weight
from paddle.distributed.flex_checkpoint.dcp.load_state_dict import merge_sharded_state_dict
from paddle.distributed.flex_checkpoint.dcp.metadata import LocalTensorIndex, LocalTensorMetadata, read_metadata
from umiak import comm
from umiak.checkpoint.commit import open_checkpoint
from umiak.checkpoint.manifest import nbytes

OPAQUE = np.arange(8 * 12, dtype="float32").reshape(8, 12)


def block(key, whole, offset, shape, flat=None, fill=True):
    """A block of an array as a weight; of zeros to be loaded into."""
    part = whole[tuple(slice(o, o + n) for o, n in zip(offset, shape))]
    if flat is not None:
        part = part.reshape(-1)[flat[0] : flat[1]]
    values = paddle.to_tensor(part.copy() if fill else np.zeros_like(part))
    return ShardedWeight(key, values, shape, whole.shape, offset, flat is not None, flat and slice(*flat))


def rows(rank, n):
    return (8 // n * rank, 0), (8 // n, 12)


def columns(rank, n):
    return (0, 12 // n * rank), (8, 12 // n)


def grid(rank, n):
    return (4 * (rank // 2), 6 * (rank % 2)), (4, 6)


def whole(rank, n):
    return (0, 0), (8, 12)


CHANGES = [
    (rows, 2, whole, 1),
    (whole, 1, rows, 2),
    (rows, 4, columns, 3),
    (columns, 2, rows, 2),
    (grid, 4, columns, 4),
    (columns, 4, grid, 4),
    (whole, 3, whole, 5),
]


@pytest.mark.parametrize("method", ["broadcast", "send_recv"])
@pytest.mark.parametrize(("before", "n", "after", "m"), CHANGES, ids=lambda x: getattr(x, "__name__", x))
def test_one_layout_into_another(tmp_path, before, n, after, m, method):
    def save():
        r = comm.world().rank
        save_state_dict({"w": block("w", OPAQUE, *before(r, n))}, tmp_path)

    def load():
        r = comm.world().rank
        w = block("w", OPAQUE, *after(r, m), fill=False)
        load_state_dict({"w": w}, tmp_path, comm_method=method)
        np.testing.assert_array_equal(w.local_tensor.numpy(), OPAQUE[w.block.box.slices])

    comm.simulate(save, n)
    comm.simulate(load, m)


def cuts(r, shape, count):
    """Blocks that make up a tensor, some of them as parts of their flattening, given out to ranks, some twice."""
    parts = [((0,) * len(shape), shape)]
    for _ in range(r.randint(0, 3)):
        offset, size = parts.pop(r.randrange(len(parts)))
        axis = r.randrange(len(shape)) if shape else None
        if axis is None or size[axis] < 2:
            parts.append((offset, size))
            continue
        at = r.randint(1, size[axis] - 1)
        second = tuple(o + at if i == axis else o for i, o in enumerate(offset))
        parts.append((offset, tuple(at if i == axis else n for i, n in enumerate(size))))
        parts.append((second, tuple(n - at if i == axis else n for i, n in enumerate(size))))
    ranks = [[] for _ in range(count)]
    for offset, size in parts:
        n = int(np.prod(size))
        edges = sorted({0, n, r.randint(0, n)}) if r.random() < 0.5 and shape else None
        flats = list(zip(edges, edges[1:])) if edges else [None]
        for flat in flats:
            for rank in r.sample(range(count), r.randint(1, count)):
                ranks[rank].append((offset, size, flat))
    return ranks


@settings(max_examples=25)
@given(st.integers(0, 10**9))
def test_any_layout_into_any_other(tmp_path_factory, seed):
    r = random.Random(seed)
    folder = tmp_path_factory.mktemp("any")
    savers, loaders = r.randint(1, 5), r.randint(1, 5)
    tensors = {}
    for i in range(r.randint(1, 3)):
        shape = tuple(r.randint(1, 5) for _ in range(r.randint(0, 4)))
        tensors[f"t{i}"] = np.arange(np.prod(shape), dtype="float32").reshape(shape)
    saved = {k: cuts(r, a.shape, savers) for k, a in tensors.items()}
    wanted = {k: cuts(r, a.shape, loaders) for k, a in tensors.items()}
    method, safetensors, replicas = r.choice(["broadcast", "send_recv"]), r.random() < 0.5, r.random() < 0.3

    def state(layout, fill):
        rank = comm.world().rank
        return {
            f"{k}/{i}": block(k, a, offset, size, flat, fill)
            for k, a in tensors.items()
            for i, (offset, size, flat) in enumerate(layout[k][rank])
        }

    def save():
        save_state_dict(state(saved, True), folder, safetensors=safetensors, save_replicas=replicas)

    def load():
        into, expected = state(wanted, False), state(wanted, True)
        load_state_dict(into, folder, comm_method=method)
        for name, w in into.items():
            np.testing.assert_array_equal(w.local_tensor.numpy(), expected[name].local_tensor.numpy())

    comm.simulate(save, savers)
    comm.simulate(load, loaders)
    merged = load_merged_state_dict(folder)
    for k, a in tensors.items():
        np.testing.assert_array_equal(merged[k].numpy(), a)


def test_replicas_are_stored_once_and_shared_out(tmp_path):
    def save(uid, **kwargs):
        r = comm.world().rank
        replicated = {k: block(k, np.ones((n,), "float32"), (0,), (n,)) for k, n in (("b", 12), ("c", 100))}
        save_state_dict({"w": block("w", OPAQUE, *rows(r, 2)), **replicated}, tmp_path, unique_id=uid, **kwargs)

    comm.simulate(lambda: save(0), 2)
    comm.simulate(lambda: save(1, save_replicas=True), 2)
    once, twice = open_checkpoint(tmp_path, 0), open_checkpoint(tmp_path, 1)
    assert {s.file: [] for s in once.stored} == {"0_0.distcp": [], "1_0.distcp": []}
    assert [len(once.blocks(k)) for k in "wbc"] == [2, 1, 1]
    assert [len(twice.blocks(k)) for k in "wbc"] == [2, 2, 2]
    assert sorted(s.replica for s in twice.blocks("c")) == [0, 1]
    found = read_metadata(tmp_path, 1)
    assert found.state_dict_metadata["w"] == [
        LocalTensorMetadata((4 * r, 0), (4, 12), "float32", (8, 12)) for r in range(2)
    ]
    assert found.storage_metadata[LocalTensorIndex("c", (0,), replica_id=1, local_shape=(100,))] == "1_1.distcp"
    assert found.flat_mapping == {"w": ("w",), "b": ("b",), "c": ("c",)}


def test_a_large_replica_is_written_by_all(tmp_path):
    big = np.arange(1 << 23, dtype="float32").reshape(1 << 11, -1)  # 32 MiB

    def save():
        save_state_dict({"w": paddle.to_tensor(big)}, tmp_path)

    comm.simulate(save, 2)
    manifest = open_checkpoint(tmp_path)
    sizes = {s.file: nbytes(s.block) for s in manifest.stored}
    assert sizes == {"0_0.distcp": 16 << 20, "1_0.distcp": 16 << 20}
    assert manifest.infos["w"].parts == (manifest.infos["w"].parts[0],)  # of the model, not of the files
    np.testing.assert_array_equal(load_merged_state_dict(tmp_path)["w"].numpy(), big)


@pytest.mark.parametrize("kind", ["ours", "theirs"])
def test_every_rank_sees_other_files(tmp_path, kind):
    """As where each host has a disk of its own."""

    def save():
        r = comm.world().rank
        save_state_dict({"w": block("w", OPAQUE, *rows(r, 4)), "b": paddle_weight("b", r)}, tmp_path / "all")

    def paddle_weight(key, r):
        return block(key, np.arange(4, dtype="float32"), (0,), (4,))

    if kind == "ours":
        comm.simulate(save, 4)
    else:
        from safetensors.numpy import save_file

        (tmp_path / "all").mkdir()
        for i in range(4):
            save_file({f"w{i}": OPAQUE[2 * i : 2 * i + 2]}, tmp_path / "all" / f"model-{i}.safetensors")
    names = sorted(os.listdir(tmp_path / "all"))
    for i, name in enumerate(names):
        folder = tmp_path / f"disk{i % 3}"
        folder.mkdir(exist_ok=True)
        shutil.copy(tmp_path / "all" / name, folder)

    def load():
        r = comm.world().rank
        folder = tmp_path / f"disk{r}"  # that of the last rank is not there at all
        if kind == "ours":
            w = block("w", OPAQUE, *columns(r, 4), fill=False)
            load_state_dict({"w": w}, folder)
            np.testing.assert_array_equal(w.local_tensor.numpy(), OPAQUE[w.block.box.slices])
        else:
            into = {f"w{i}": paddle.zeros([2, 12]) for i in range(4)}
            load_state_dict(into, folder, safetensors=True)
            np.testing.assert_array_equal(np.concatenate([t.numpy() for t in into.values()]), OPAQUE)

    comm.simulate(load, 4)


def test_folders_of_their_own_to_save(tmp_path):
    def save():
        r = comm.world().rank
        save_state_dict({"w": block("w", OPAQUE, *rows(r, 2))}, tmp_path / str(r))

    def load():
        w = paddle.zeros([8, 12])
        load_state_dict({"w": w}, tmp_path / str(comm.world().rank))
        np.testing.assert_array_equal(w.numpy(), OPAQUE)

    comm.simulate(save, 2)
    comm.simulate(load, 2)
    os.unlink(tmp_path / "1" / "1_0.distcp")
    with pytest.raises(ValueError, match=r"file '1_0.distcp' of checkpoint 0, \d+ bytes, got no such file on any rank"):
        comm.simulate(load, 2)


def told(what, n):
    """The errors that ranks get."""

    def work():
        try:
            what()
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return None

    return comm.simulate(work, n)


def test_every_rank_gets_the_error_of_the_plan(tmp_path):
    comm.simulate(lambda: save_state_dict({"w": paddle.to_tensor(OPAQUE)}, tmp_path), 1)

    def load():
        load_state_dict({"w" if comm.world().rank else "v": paddle.zeros([8, 12])}, tmp_path)

    errors = told(load, 3)
    assert all(e.startswith("KeyError") and "'v'" in e for e in errors)


def test_every_rank_hears_of_a_rank_that_cannot_read(tmp_path):
    comm.simulate(lambda: save_state_dict({"w": block("w", OPAQUE, *rows(comm.world().rank, 2))}, tmp_path), 2)
    for name in ("0_0.distcp", "1_0.distcp"):
        os.truncate(tmp_path / name, 10) if name[0] == "0" else None
    errors = told(lambda: load_state_dict({"w": paddle.zeros([8, 12])}, tmp_path, comm_method="send_recv"), 3)
    assert all("0_0.distcp" in e for e in errors)


def test_savers_that_disagree(tmp_path):
    errors = told(lambda: save_state_dict({"w": paddle.zeros([2])}, tmp_path, unique_id=comm.world().rank), 2)
    assert all("one unique_id on all ranks, got [0, 1]" in e for e in errors)
    errors = told(lambda: save_state_dict({"w": paddle.zeros([2 + comm.world().rank])}, tmp_path), 2)
    assert all("[2] on rank 0" in e and "[3] on rank 1" in e for e in errors)
    save_state_dict({"w": paddle.zeros([2])}, tmp_path, unique_id=4)
    errors = told(lambda: save_state_dict({"w": paddle.zeros([2])}, tmp_path, unique_id=4), 2)
    assert all(e.startswith("FileExistsError") for e in errors)


def test_ranks_save_in_the_background(tmp_path):
    def save():
        r = comm.world().rank
        handle = save_state_dict({"w": block("w", OPAQUE, *rows(r, 2))}, tmp_path, async_save=True)
        return handle.wait(120)

    assert comm.simulate(save, 2) == [0, 0]
    np.testing.assert_array_equal(load_merged_state_dict(tmp_path)["w"].numpy(), OPAQUE)


def test_a_group_of_some_ranks(tmp_path):
    def work():
        pair = paddle.distributed.new_group([2, 0])
        if pair.rank < 0:
            return
        w = block("w", OPAQUE, *rows(pair.rank, 2))
        save_state_dict({"w": w}, tmp_path, process_group=pair, coordinator_rank=1)
        into = shard_weight("w", paddle.zeros([8, 6]), 1, pair)
        load_state_dict({"w": into}, tmp_path, process_group=pair)
        np.testing.assert_array_equal(into.local_tensor.numpy(), OPAQUE[into.block.box.slices])

    comm.simulate(work, 3)


def test_statements_over_ranks(tmp_path):
    """Example 18 and a fused pair: what ranks want decides how the fused tensor is split."""
    save_state_dict({"g": paddle.to_tensor(OPAQUE), "u": paddle.to_tensor(-OPAQUE)}, tmp_path)

    def load():
        r = comm.world().rank
        w = ShardedWeight("gu", paddle.zeros([12, 8]), (12, 8), (12, 16), (0, 8 * r))
        config = {"aoa_statements": ["g^T, u^T -> gu, fused_ffn"]}
        load_state_dict({"gu": w}, tmp_path, aoa_config=config, comm_method="send_recv")
        half = OPAQUE.T[:, 4 * r : 4 * r + 4]
        np.testing.assert_array_equal(w.local_tensor.numpy(), np.concatenate([half, -half], 1))

    comm.simulate(load, 2)


def test_ranks_export_a_part_each(tmp_path):
    state = {f"t{i}": paddle.full([i + 1], float(i)) for i in range(5)}
    save_state_dict(state, tmp_path / "in")
    comm.simulate(lambda: merge_sharded_state_dict(tmp_path / "in", tmp_path / "out"), 2)
    names = [f"model-0000{i}-of-00002.safetensors" for i in (1, 2)]
    assert sorted(os.listdir(tmp_path / "out")) == [*names, "model.safetensors.index.json"]
    assert len(open_checkpoint(tmp_path / "out").stored) == 5
    comm.simulate(lambda: merge_sharded_state_dict(tmp_path / "in", tmp_path / "few", prefix="t3"), 3)
    assert len(os.listdir(tmp_path / "few")) == 2
    errors = told(lambda: merge_sharded_state_dict(tmp_path / "in", tmp_path / "out", unique_id=9), 2)
    assert all("9" in e for e in errors)


# --- whole tensors out of memory -------------------------------------------------------------------------------------


class Columns(paddle.nn.Layer):
    """A layer of which each rank of a group holds some columns."""

    def __init__(self, group):
        super().__init__()
        n = 12 // group.size
        self.group = group
        self.weight = self.create_parameter([8, n])
        self.scale = self.create_parameter([3])
        with paddle.no_grad():
            self.weight.set_value(paddle.to_tensor(OPAQUE[:, n * group.rank : n * group.rank + n].copy()))
            self.scale.set_value(paddle.arange(3, dtype="float32"))

    def sharded_state_dict(self, structured_name_prefix=""):
        out = super().sharded_state_dict(structured_name_prefix)
        key = structured_name_prefix + "weight"
        return {**out, key: shard_weight(key, self.weight, 1, self.group)}


@pytest.mark.parametrize("threshold", [1, 1 << 30])
def test_full_merges_what_ranks_hold(threshold):
    def work():
        layer = paddle.nn.Sequential(Columns(comm.world()))
        found = dict(layer.full(memory_growth_threshold=threshold))
        assert list(found) == ["0.scale", "0.weight"]
        np.testing.assert_array_equal(found["0.weight"].numpy(), OPAQUE)
        assert found["0.scale"].tolist() == [0, 1, 2]
        config = {"aoa_statements": ["0.weight^T -> w", "0.scale -> _", "w -> w, dtype='bfloat16'"]}
        ((name, w),) = layer.full(config)
        assert (name, w.dtype) == ("w", paddle.bfloat16)
        np.testing.assert_array_equal(w.astype("float32").numpy(), OPAQUE.T)

    comm.simulate(work, 3)


def test_full_over_groups_that_cross():
    def work():
        r = comm.world().rank
        lines = [comm.new([0, 1]), comm.new([2, 3]), comm.new([0, 2]), comm.new([1, 3])]
        h, v = (g for g in lines if g is not None)
        layer = Columns(comm.world())
        parts = [dict(layer.full(h_group=h, v_group=v, num_splits=2, shard_idx=i)) for i in range(2)]
        assert [list(p) for p in parts] == [["scale"], ["weight"]]
        np.testing.assert_array_equal(parts[1]["weight"].numpy(), OPAQUE)
        with pytest.raises(ValueError, match="h_group and v_group together"):
            next(layer.full(h_group=h))
        return r

    assert comm.simulate(work, 4) == [0, 1, 2, 3]
