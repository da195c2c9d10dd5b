"""Saving and loading in one process: values, names, dtypes, errors, other programs' files."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import paddle
from paddle.distributed import ShardedWeight, load_merged_state_dict, load_state_dict, save_state_dict
from paddle.distributed.flex_checkpoint.dcp.load_state_dict import merge_sharded_state_dict
from paddle.distributed.flex_checkpoint.dcp.save_state_dict import clear_async_save_task_queue
from paddle.distributed.flex_checkpoint.dcp.utils import flatten_state_dict, unflatten_state_dict
from umiak import comm
from umiak.checkpoint.errors import CheckpointError


def tensor(shape, dtype="float32", start=0):
    return paddle.arange(start, start + int(np.prod(shape)), dtype="float32").reshape(shape).astype(dtype)


def equal(a, b):
    np.testing.assert_array_equal(a.astype("float32").numpy(), b.astype("float32").numpy())


@pytest.mark.parametrize("safetensors", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64", "bool", "float8_e4m3fn", "float8_e5m2fnuz", "int4"])
def test_values_come_back(tmp_path, dtype, safetensors):
    if safetensors and dtype == "int4":
        with pytest.raises(TypeError, match="The native format has all dtypes"):
            save_state_dict({"a": tensor((2,), dtype)}, tmp_path, safetensors=True)
        return
    state = {"a": tensor((3, 4), dtype), "b": tensor((), dtype, 1), "c": tensor((0, 2), dtype)}
    into = {k: paddle.zeros(t.shape, "float32").astype(dtype) for k, t in state.items()}
    save_state_dict(state, tmp_path, safetensors=safetensors)
    load_state_dict(into, tmp_path)
    for key, t in state.items():
        assert into[key].dtype == t.dtype
        equal(into[key], t)


@pytest.mark.parametrize("safetensors", [False, True])
def test_damaged_values_are_found(tmp_path, safetensors):
    """By every way to load, unless the flag says otherwise."""
    folder = tmp_path / "run"
    save_state_dict({"w": tensor((8, 6))}, folder, safetensors=safetensors)
    (path,) = (p for p in folder.iterdir() if not p.name.endswith(".json"))
    data = path.read_bytes()
    at = data.index(np.float32([7, 8]).tobytes())
    path.write_bytes(data[: at + 1] + bytes([data[at + 1] ^ 64]) + data[at + 2 :])
    part = ShardedWeight("w", paddle.zeros([8, 2]), (8, 2), (8, 6), (0, 4))
    ways = {
        "in place": lambda: load_state_dict({"w": paddle.zeros([8, 6])}, folder),
        "a part": lambda: load_state_dict({"w": part}, folder),
        "transposed": lambda: load_state_dict(
            {"t": paddle.zeros([6, 8])}, folder, aoa_config={"aoa_statements": ["w^T -> t"]}
        ),
        "merged": lambda: load_merged_state_dict(folder),
        "exported": lambda: merge_sharded_state_dict(folder, tmp_path / "out"),
    }
    for way in ways.values():
        with pytest.raises(CheckpointError, match=f"requires the checksum .*{path.name}"):
            way()
    with pytest.raises(CheckpointError, match=r"a checkpoint in .*out"):
        load_merged_state_dict(tmp_path / "out")
    paddle.set_flags({"FLAGS_verify_checksums": False})
    try:
        for way in ways.values():
            way()
        assert load_merged_state_dict(tmp_path / "out")["w"].shape == [8, 6]
    finally:
        paddle.set_flags({"FLAGS_verify_checksums": True})


@pytest.mark.parametrize("safetensors", [False, True])
def test_swapped_files_are_found(tmp_path, safetensors):
    def save():
        rank = paddle.distributed.get_rank()
        half = ShardedWeight("w", tensor((2, 3), start=6 * rank), (2, 3), (4, 3), (2 * rank, 0))
        save_state_dict({"w": half}, tmp_path, safetensors=safetensors)

    comm.simulate(save, 2)
    first, second = sorted(p for p in tmp_path.iterdir() if not p.name.endswith(".json"))
    one, other = first.read_bytes(), second.read_bytes()
    first.write_bytes(other)
    second.write_bytes(one)
    with pytest.raises(CheckpointError, match=f"requires the checksum .*{first.name}"):
        load_state_dict({"w": paddle.zeros([4, 3])}, tmp_path)


def test_nested_dicts(tmp_path):
    state = {"model": {"w": tensor((2, 3))}, "optimizer": {"w": {"m": tensor((2,))}}}
    save_state_dict(state, tmp_path)
    into = {"optimizer": {"w": {"m": paddle.zeros([2])}}, "model": {"w": paddle.zeros([2, 3])}}
    load_state_dict(into, tmp_path)
    equal(into["model"]["w"], state["model"]["w"])
    equal(into["optimizer"]["w"]["m"], state["optimizer"]["w"]["m"])
    assert list(load_merged_state_dict(tmp_path, prefix="optimizer")) == ["w.m"]
    flat, mapping = flatten_state_dict(state)
    assert list(flat) == ["model.w", "optimizer.w.m"]
    assert unflatten_state_dict(flat, mapping) == state


@pytest.mark.parametrize(
    ("state", "error", "text"),
    [
        ({"a": 3}, ValueError, "int under 'a'"),
        ({"a": {3: paddle.ones([1])}}, ValueError, "strings as keys, got 3 in a"),
        ({"a": {"b": paddle.ones([1])}, "a.b": paddle.ones([1])}, ValueError, "names that differ"),
        (
            {"a": paddle.ones([1]), "b": ShardedWeight("b", paddle.ones([1]), (1,), (1,), (0,))},
            TypeError,
            "a Tensor for 'a' beside 1 ShardedWeights",
        ),
        ([paddle.ones([1])], TypeError, "a dict of tensors, got list"),
    ],
)
def test_what_is_no_state_dict(tmp_path, state, error, text):
    for use in (save_state_dict, load_state_dict):
        with pytest.raises(error, match=text):
            use(state, tmp_path)


def test_blocks_of_a_tensor(tmp_path):
    w = tensor((4, 6))
    save_state_dict({"w": w}, tmp_path)
    columns, part = paddle.zeros([4, 2]), paddle.zeros([7])
    load_state_dict(
        {
            "columns": ShardedWeight("w", columns, (4, 2), (4, 6), (0, 3)),
            # Elements 2 to 9 of the flattening of rows 1 and 2.
            "part": ShardedWeight("w", part, (2, 6), (4, 6), (1, 0), True, slice(2, 9)),
        },
        tmp_path,
    )
    equal(columns, w[:, 3:5])
    equal(part, w[1:3].reshape([-1])[2:9])


def test_a_fused_buffer_is_stored_in_parts_and_loaded_whole(tmp_path):
    w = tensor((2, 3, 4))
    flat = w.reshape([-1])
    parts = {
        str(a): ShardedWeight("w", flat[a:b].clone(), (2, 3, 4), (2, 3, 4), (0, 0, 0), True, slice(a, b))
        for a, b in ((0, 1), (1, 14), (14, 14), (14, 24))
    }
    save_state_dict(parts, tmp_path)
    into = paddle.zeros([2, 3, 4])
    load_state_dict({"w": into}, tmp_path)
    equal(into, w)


def test_destinations_of_any_strides(tmp_path):
    w = tensor((4, 6))
    save_state_dict({"w": w}, tmp_path)
    whole = paddle.zeros([6, 4])
    load_state_dict({"w": whole.transpose([1, 0])}, tmp_path)
    equal(whole, w.transpose([1, 0]))


def test_floats_are_cast_to_the_destination(tmp_path):
    save_state_dict({"w": tensor((4, 6)) / 7, "i": tensor((3,), "int32")}, tmp_path)
    into = {"w": paddle.zeros([4, 6], "bfloat16"), "i": paddle.zeros([3], "int64")}
    load_state_dict(into, tmp_path)
    equal(into["w"], (tensor((4, 6)) / 7).astype("bfloat16"))
    assert into["i"].tolist() == [0, 1, 2]
    with pytest.raises(TypeError, match="'w' of a dtype that float32 is cast to without loss, got int32"):
        load_state_dict({"w": paddle.zeros([4, 6], "int32")}, tmp_path)


def test_another_shape_is_an_error(tmp_path):
    save_state_dict({"w": tensor((4, 6))}, tmp_path)
    with pytest.raises(ValueError, match=r"'w' that is stored, \[4, 6\], got \[2, 6\]"):
        load_state_dict({"w": paddle.zeros([2, 6])}, tmp_path)


def test_missing_names_are_told_together_and_more_may_be_stored(tmp_path):
    save_state_dict({"w": tensor((2,)), "b": tensor((2,))}, tmp_path)
    with pytest.raises(KeyError, match="got 2 that are not: 'bias', 'ww'"):
        load_state_dict({"ww": paddle.zeros([2]), "bias": paddle.zeros([2])}, tmp_path)
    load_state_dict({"w": paddle.zeros([2])}, tmp_path)


def test_captured_programs_and_gradients_notice(tmp_path):
    layer = paddle.nn.Linear(2, 2)
    save_state_dict(layer.state_dict(), tmp_path)
    run = paddle.jit.to_static(lambda x: layer(x))
    x = paddle.ones([1, 2])
    before = run(x).numpy()
    with paddle.no_grad():
        layer.weight.fill_(0)
    assert not np.array_equal(run(x).numpy(), before)
    loss = (layer(x) * layer.weight).sum()
    load_state_dict(layer.state_dict(), tmp_path)
    np.testing.assert_array_equal(run(x).numpy(), before)
    with pytest.raises(RuntimeError, match="modified"):
        loss.backward()


def test_checkpoints_are_numbered(tmp_path):
    for i in range(3):
        save_state_dict({"w": tensor((2,), start=i)}, tmp_path)
    save_state_dict({"w": tensor((2,), start=7)}, tmp_path, unique_id=7)
    into = paddle.zeros([2])
    for uid, first in ((None, 7), (1, 1), (0, 0)):
        load_state_dict({"w": into}, tmp_path, unique_id=uid)
        assert into.tolist() == [first, first + 1]
    with pytest.raises(FileExistsError, match="7"):
        save_state_dict({"w": tensor((2,))}, tmp_path, unique_id=7)
    with pytest.raises(CheckpointError):
        load_state_dict({"w": into}, tmp_path, unique_id=5)


def test_there_is_no_checkpoint(tmp_path):
    with pytest.raises(ValueError, match="a checkpoint in"):
        load_state_dict({"w": paddle.zeros([2])}, tmp_path)
    with pytest.raises(ValueError, match="a folder"):
        load_state_dict({"w": paddle.zeros([2])}, tmp_path / "none")


def test_arguments_are_checked(tmp_path):
    save_state_dict({"w": tensor((2,))}, tmp_path)
    with pytest.raises(ValueError, match="comm_method"):
        load_state_dict({"w": paddle.zeros([2])}, tmp_path, comm_method="pigeon")
    for method in ("broadcast", "multi_group_broadcast", "send_recv", "grouped_send_recv", "parallel_broadcast"):
        load_state_dict({"w": paddle.zeros([2])}, tmp_path, comm_method=method)
    with pytest.raises(ValueError, match="coordinator_rank below 1, got 1"):
        save_state_dict({"w": tensor((2,))}, tmp_path, coordinator_rank=1)
    with pytest.raises(ValueError, match=r"other keys of .*, got \['statements'\]"):
        load_state_dict({"w": paddle.zeros([2])}, tmp_path, aoa_config={"statements": []})
    with pytest.raises(TypeError, match="a group of ranks"):
        load_state_dict({"w": paddle.zeros([2])}, tmp_path, process_group=3)


@pytest.mark.parametrize(
    ("stored", "wanted"),
    [("opt.fc.w_fp32_master_0", "opt.master_weights.fc.w"), ("opt.master_weights.fc.w", "opt.fc.w_fp32_master_0")],
)
def test_names_of_master_weights(tmp_path, stored, wanted):
    save_state_dict({stored: tensor((2,), start=3)}, tmp_path)
    into = paddle.zeros([2])
    load_state_dict({wanted: into}, tmp_path)
    assert into.tolist() == [3, 4]
    with pytest.raises(KeyError, match="got 1 that"):
        load_state_dict({wanted: into}, tmp_path, mw_name_compatibility=False)


def test_saving_in_the_background(tmp_path):
    w = tensor((1000,))
    first = save_state_dict({"w": w}, tmp_path, async_save=True)
    w.fill_(-1)  # what is saved was copied
    second = save_state_dict({"w": w}, tmp_path, async_save=True)
    assert (first.wait(60), second.wait(60)) == (0, 1)
    assert second.done()
    into = paddle.zeros([1000])
    load_state_dict({"w": into}, tmp_path, unique_id=0)
    equal(into, tensor((1000,)))
    save_state_dict({"w": w}, tmp_path, async_save=True)
    clear_async_save_task_queue()
    load_state_dict({"w": into}, tmp_path, unique_id=2)
    assert (into == -1).all()


def test_background_errors_are_told(tmp_path):
    save_state_dict({"w": tensor((2,))}, tmp_path, unique_id=3)
    with pytest.raises(FileExistsError):
        save_state_dict({"w": tensor((2,))}, tmp_path, unique_id=3, async_save=True)


# --- statements ------------------------------------------------------------------------------------------------------


def test_example_34_split_of_a_transpose(tmp_path):
    layer = paddle.nn.Linear(4, 6)
    save_state_dict({f"fc.{k}": t for k, t in layer.state_dict().items()}, tmp_path)
    q, k = paddle.zeros([3, 4]), paddle.zeros([3, 4])
    load_state_dict({"q": q, "k": k}, tmp_path, aoa_config={"aoa_statements": ["fc.weight^T -> q,k, axis=0"]})
    equal(paddle.concat([q, k]), layer.weight.transpose([1, 0]))


def test_example_35_two_files_of_another_program(tmp_path, rng):
    a, b = rng.random((3, 5), "float32"), rng.random((2, 2), "float32")
    save_file({"a.weight": a}, tmp_path / "model-00001-of-00002.safetensors")
    save_file({"b.weight": b}, tmp_path / "model-00002-of-00002.safetensors")
    c = paddle.zeros([5, 3])
    config = {"aoa_statements": ["a.weight^T -> c", "b.weight -> _"]}
    load_state_dict({"c": c}, tmp_path, aoa_config=config, safetensors=True)
    np.testing.assert_array_equal(c.numpy(), a.T)
    assert list(load_merged_state_dict(tmp_path, aoa_config=config, safetensors=True)) == ["c"]
    assert len(os.listdir(tmp_path)) == 2  # nothing is written there


H, G, D, LAYERS, EXPERTS = 4, 2, 3, 2, 3
L, QKV = "model.layers.$LAYER_ID", f"fused_qkv, num_heads={H}, num_key_value_groups={G}"
LLAMA = [
    f"{L}.q.weight^T,{L}.k.weight^T,{L}.v.weight^T -> {L}.qkv.weight, {QKV}",
    f"{L}.gate.weight^T, {L}.up.weight^T -> {L}.up_gate.weight, fused_ffn",
    *(
        ", ".join(f"model.layers.{n}.experts.{e}.weight" for e in range(EXPERTS))
        + f" -> model.layers.{n}.experts.w, axis=0"
        for n in range(LAYERS)
    ),
    "lm_head.weight^T -> lm_head.weight_t",
]


def llama(rng):
    """A model as another program has it, and what the statements make of it."""
    hidden, ffn = 8, 6
    source, target = {}, {}
    for n in range(LAYERS):
        head = f"model.layers.{n}"
        q, k, v = (rng.random((heads * D, hidden), "float32") for heads in (H, G, G))
        gate, up = rng.random((ffn, hidden), "float32"), rng.random((ffn, hidden), "float32")
        experts = [rng.random((4, hidden), "float32") for _ in range(EXPERTS)]
        norm = rng.random((hidden,), "float32")
        source |= {f"{head}.{x}.weight": y for x, y in zip(("q", "k", "v", "gate", "up"), (q, k, v, gate, up))}
        source |= {f"{head}.experts.{e}.weight": w for e, w in enumerate(experts)} | {f"{head}.norm.weight": norm}
        per = H // G
        rows = []
        for g in range(G):
            rows += [q[g * per * D : (g + 1) * per * D], k[g * D : (g + 1) * D], v[g * D : (g + 1) * D]]
        target[f"{head}.qkv.weight"] = np.concatenate(rows).T
        target[f"{head}.up_gate.weight"] = np.concatenate([gate, up]).T
        target[f"{head}.experts.w"] = np.concatenate(experts)
        target[f"{head}.norm.weight"] = norm
    source["lm_head.weight"] = rng.random((10, hidden), "float32")
    target["lm_head.weight_t"] = source["lm_head.weight"].T
    return source, target


def test_examples_36_and_37_a_model_there_and_back(tmp_path, rng):
    source, target = llama(rng)
    (tmp_path / "hf").mkdir()
    save_file(source, tmp_path / "hf" / "model.safetensors")
    ours = {k: paddle.zeros(a.shape) for k, a in target.items()}
    load_state_dict(ours, tmp_path / "hf", aoa_config={"aoa_statements": LLAMA}, safetensors=True)
    for key, a in target.items():
        np.testing.assert_array_equal(ours[key].numpy(), a, err_msg=key)
    save_state_dict(ours, tmp_path / "ours")
    back = {k: paddle.zeros(a.shape) for k, a in source.items()}
    load_state_dict(back, tmp_path / "ours", aoa_config={"aoa_statements": LLAMA, "aoa_config_reverse": True})
    for key, a in source.items():
        np.testing.assert_array_equal(back[key].numpy(), a, err_msg=key)


def test_statements_apply_to_states_and_casts(tmp_path):
    state = {"x": tensor((4, 2), "bfloat16"), "x.w_0": tensor((4, 2)), "x.beta1_pow_acc_0": tensor((1,), start=5)}
    save_state_dict(state, tmp_path)
    into = {
        f"{k}{s}": paddle.zeros(shape, d)
        for k in "ab"
        for s, shape, d in (("", [2, 2], "bfloat16"), (".w_0", [2, 2], "float32"), (".beta1_pow_acc_0", [1], "float32"))
    }
    load_state_dict(into, tmp_path, aoa_config={"aoa_statements": ["x -> a, b, axis=0"]})
    equal(into["b"], state["x"][2:])
    equal(into["b.w_0"], state["x.w_0"][2:])
    assert into["a.beta1_pow_acc_0"].item() == into["b.beta1_pow_acc_0"].item() == 5


def test_a_tensor_without_a_source_keeps_its_value(tmp_path):
    save_state_dict({"a": tensor((2,))}, tmp_path)
    new = paddle.full([3], 7.0)
    load_state_dict({"a": paddle.zeros([2]), "n": new}, tmp_path, aoa_config={"aoa_statements": ["_ -> n"]})
    assert new.tolist() == [7, 7, 7]


# --- for other programs ----------------------------------------------------------------------------------------------


def test_export_with_an_index(tmp_path, monkeypatch):
    monkeypatch.setattr("paddle.distributed.flex_checkpoint.dcp.load_state_dict.SLAB", 64)
    state = {"model": {"w": tensor((4, 6)), "b": tensor((6,), "bfloat16"), "w.moment1_0": tensor((4, 6))}}
    save_state_dict(state, tmp_path / "in")
    merge_sharded_state_dict(
        tmp_path / "in", tmp_path / "out", prefix="model", skip_postfix_list=["moment1_0"], safetensor_prefix="weights"
    )
    assert sorted(os.listdir(tmp_path / "out")) == [
        "weights-00001-of-00001.safetensors",
        "weights.safetensors.index.json",
    ]
    index = json.loads((tmp_path / "out" / "weights.safetensors.index.json").read_text())
    assert index["metadata"]["total_size"] == 96 + 12
    assert index["weight_map"] == dict.fromkeys(["model.b", "model.w"], "weights-00001-of-00001.safetensors")
    found = load_file(tmp_path / "out" / "weights-00001-of-00001.safetensors")
    np.testing.assert_array_equal(found["model.w"], state["model"]["w"].numpy())
    with pytest.raises(ValueError, match="tensors to write"):
        merge_sharded_state_dict(tmp_path / "in", tmp_path / "out", prefix="other")


def test_export_through_statements(tmp_path):
    save_state_dict({"a": tensor((4, 6))}, tmp_path / "in")
    merge_sharded_state_dict(tmp_path / "in", tmp_path / "out", aoa_config={"aoa_statements": ["a^T -> b"]})
    merged = load_merged_state_dict(tmp_path / "out", offload=True)
    equal(merged["b"], tensor((4, 6)).transpose([1, 0]))
