"""Worked examples of the AOA language from files to tensors and back, by the public functions."""

from __future__ import annotations

import json

import ml_dtypes
import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

import paddle
from paddle.distributed import ShardedWeight, load_merged_state_dict, load_state_dict, save_state_dict
from paddle.distributed.flex_checkpoint.dcp.load_state_dict import merge_sharded_state_dict
from paddle.nn import Linear

H, G, WIDTH, HIDDEN, EXPERTS, VOCAB = 4, 2, 8, 6, 3, 10
DIM = WIDTH // H


def bits(tensors: dict) -> dict:
    """What makes tensors equal bit by bit: dtype, shape and bytes by name."""
    arrays = {name: np.asarray(t.numpy() if isinstance(t, paddle.Tensor) else t) for name, t in tensors.items()}
    return {name: (a.dtype.name, a.shape, a.tobytes()) for name, a in arrays.items()}


def read_folder(folder) -> dict[str, np.ndarray]:
    out = {}
    for path in sorted(folder.glob("*.safetensors")):
        with safe_open(path, framework="np") as f:
            out.update({name: f.get_tensor(name) for name in f.keys()})  # noqa: SIM118  the handle is no dict
    return out


def config(*statements: str, reverse: bool = False) -> dict:
    return {"aoa_statements": list(statements), "aoa_config_reverse": reverse}


def zeros(arrays: dict[str, np.ndarray]) -> dict[str, paddle.Tensor]:
    """Tensors to load into, of the shapes and dtypes of arrays."""
    return {name: paddle.zeros(a.shape, a.dtype.name) for name, a in arrays.items()}


def test_34_a_transposed_matrix_in_two_halves(tmp_path):
    fc = Linear(4, 6)
    save_state_dict({"fc": fc.state_dict()}, str(tmp_path))
    halves = {"q": paddle.zeros([3, 4]), "k": paddle.zeros([3, 4])}
    load_state_dict(halves, str(tmp_path), aoa_config=config("fc.weight^T -> q, k, axis=0"))
    whole = np.concatenate([halves["q"].numpy(), halves["k"].numpy()])
    np.testing.assert_array_equal(whole, fc.weight.numpy().T)


def test_35_published_files(tmp_path, rng):
    """Two files, one of whose tensors is not wanted. Nothing is written beside them: a folder may be read-only."""
    a, b = rng.normal(size=(2, 4, 6)).astype(np.float32)
    save_file({"a.weight": a}, tmp_path / "model-00001-of-00002.safetensors")
    save_file({"b.weight": b}, tmp_path / "model-00002-of-00002.safetensors")
    statements = config("a.weight^T -> c", "b.weight -> _")
    there = sorted(tmp_path.iterdir())
    c = paddle.zeros([6, 4])
    load_state_dict({"c": c}, str(tmp_path), aoa_config=statements, safetensors=True)
    np.testing.assert_array_equal(c.numpy(), a.T)
    assert bits(load_merged_state_dict(str(tmp_path), aoa_config=statements, safetensors=True)) == bits({"c": a.T})
    assert sorted(tmp_path.iterdir()) == there


def recipe(*flags: str) -> list[str]:
    """The statements; ``flags`` are said of the concatenations."""
    at = "model.layers.$LAYER_ID"
    apart = ", ".join(f"{at}.self_attn.{x}_proj.weight^T" for x in "qkv")
    return [
        f"{apart} -> {at}.self_attn.qkv.weight, fused_qkv, num_heads={H}, num_key_value_groups={G}",
        f"{at}.mlp.gate_proj.weight^T, {at}.mlp.up_proj.weight^T -> {at}.mlp.up_gate.weight, fused_ffn",
        f"{at}.self_attn.o_proj.weight^T -> {at}.self_attn.o_proj.weight",
        *(
            ", ".join(f"model.layers.{i}.mlp.experts.{e}.w" for e in range(EXPERTS))
            + ", ".join([f" -> model.layers.{i}.mlp.experts.w, axis=0", *flags])
            for i in range(2)
        ),
        "lm_head.weight^T -> lm_head.weight_t",
    ]


def llama(rng, dtype) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """A published model of two layers, and its tensors as the recipe should make them, by NumPy."""

    def matrix(*shape):
        return rng.normal(size=shape).astype(dtype)

    there = {"model.embed_tokens.weight": matrix(VOCAB, WIDTH), "lm_head.weight": matrix(VOCAB, WIDTH)}
    wanted = {"model.embed_tokens.weight": there["model.embed_tokens.weight"]}
    wanted["lm_head.weight_t"] = there["lm_head.weight"].T
    for i in range(2):
        at = f"model.layers.{i}"
        q, k, v = (matrix(n * DIM, WIDTH) for n in (H, G, G))
        o, gate, up = matrix(WIDTH, WIDTH), matrix(HIDDEN, WIDTH), matrix(HIDDEN, WIDTH)
        experts = [matrix(5, WIDTH) for _ in range(EXPERTS)]
        names = {"q_proj": q, "k_proj": k, "v_proj": v, "o_proj": o}
        there.update({f"{at}.self_attn.{name}.weight": a for name, a in names.items()})
        there.update({f"{at}.mlp.gate_proj.weight": gate, f"{at}.mlp.up_proj.weight": up})
        there.update({f"{at}.mlp.experts.{e}.w": a for e, a in enumerate(experts)})
        there[f"{at}.norm.weight"] = wanted[f"{at}.norm.weight"] = matrix(WIDTH)
        # Of each group its query heads, then its key head, then its value head; heads are rows of what is published.
        rows = []
        for g in range(G):
            rows += [q[h * DIM : (h + 1) * DIM] for h in range(g * H // G, (g + 1) * H // G)]
            rows += [k[g * DIM : (g + 1) * DIM], v[g * DIM : (g + 1) * DIM]]
        wanted[f"{at}.self_attn.qkv.weight"] = np.concatenate(rows).T
        wanted[f"{at}.mlp.up_gate.weight"] = np.concatenate([gate, up]).T
        wanted[f"{at}.self_attn.o_proj.weight"] = o.T
        wanted[f"{at}.mlp.experts.w"] = np.concatenate(experts)
    return there, wanted


@pytest.fixture(params=["float32", "bfloat16"])
def model(request, tmp_path, rng):
    """A folder with two published files and their index; what is there, what is wanted."""
    dtype = ml_dtypes.bfloat16 if request.param == "bfloat16" else np.float32
    there, wanted = llama(rng, dtype)
    folder = tmp_path / "published"
    folder.mkdir()
    files = {name: f"model-0000{i % 2 + 1}-of-00002.safetensors" for i, name in enumerate(sorted(there))}
    for file in set(files.values()):
        save_file({name: there[name] for name in there if files[name] == file}, folder / file)
    index = {"metadata": {"total_size": sum(a.nbytes for a in there.values())}, "weight_map": files}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder, there, wanted


def test_36_a_recipe(model):
    folder, _, wanted = model
    tensors = zeros(wanted)
    load_state_dict(tensors, str(folder), aoa_config=config(*recipe()), safetensors=True)
    assert bits(tensors) == bits(wanted)
    # Without a destination: what the statements leave is just that.
    assert bits(load_merged_state_dict(str(folder), aoa_config=config(*recipe()), safetensors=True)) == bits(wanted)


def test_36_parts_of_what_the_recipe_gives(model, rng):
    """Boxes whose edges lie within heads, experts and halves."""
    folder, _, wanted = model
    parts, boxes = {}, {}
    for name, a in wanted.items():
        offset = [int(rng.integers(0, n)) for n in a.shape]
        shape = [int(rng.integers(1, n - o + 1)) for n, o in zip(a.shape, offset)]
        if name.endswith("up_gate.weight"):
            offset[1], shape[1] = 0, a.shape[1]  # where parts begin there says how many ranks it is fused for
        parts[name] = ShardedWeight(name, paddle.zeros(shape, a.dtype.name), shape, a.shape, offset)
        boxes[name] = a[tuple(slice(o, o + n) for o, n in zip(offset, shape))]
    load_state_dict(parts, str(folder), aoa_config=config(*recipe()), safetensors=True)
    assert bits({name: part.local_tensor for name, part in parts.items()}) == bits(boxes)


@pytest.mark.parametrize("safetensors", [False, True], ids=["native", "safetensors"])
def test_37_the_recipe_reversed(model, tmp_path, safetensors):
    folder, there, wanted = model
    tensors = zeros(wanted)
    load_state_dict(tensors, str(folder), aoa_config=config(*recipe()), safetensors=True)
    save_state_dict(tensors, str(tmp_path / "saved"), safetensors=safetensors)
    back = config(*recipe(), reverse=True)
    again = zeros(there)
    load_state_dict(again, str(tmp_path / "saved"), aoa_config=back, safetensors=safetensors)
    assert bits(again) == bits(there)
    # Files are written without tensors that say how large experts were: the statements must, or are refused.
    paths = str(tmp_path / "saved"), str(tmp_path / "exported")
    with pytest.raises(AssertionError, match=r"nothing tells those of model\.layers\.1\.mlp\.experts\.0\.w"):
        merge_sharded_state_dict(*paths, aoa_config=back)
    merge_sharded_state_dict(*paths, aoa_config=config(*recipe("equal"), reverse=True))
    assert bits(read_folder(tmp_path / "exported")) == bits(there)
    index = json.loads((tmp_path / "exported" / "model.safetensors.index.json").read_text())
    assert index["metadata"]["total_size"] == sum(a.nbytes for a in there.values())
    assert index["weight_map"].keys() == there.keys()
