"""The language's worked examples: which boxes of which tensors a wanted box comes from."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.support.aoa import A, counted, infos, layout, run, same
from umiak.checkpoint.box import Box

FACTS = json.loads((Path(__file__).parents[2] / "data" / "aoa_facts.json").read_text())
BF16 = (A, "bfloat16")


def rows(a, b, columns=6):
    return Box((a, 0), (b - a, columns))


def columns(a, b, height=4):
    return Box((0, a), (height, b - a))


def got(lay, key, box=None):
    """(source, its box) of every piece."""
    return [(p.key, p.source) for p in lay.pieces(key, box)]


def test_rename():
    assert got(layout("a -> b", "a", "b"), "b", rows(2, 4)) == [("a", rows(2, 4))]


def test_nothing_is_identity():
    assert got(layout([], "a", "a"), "a") == [("a", rows(0, 4))]


def test_a_target_from_nowhere():
    with pytest.raises(KeyError, match="'b'"):
        layout([], "a", "b")


def test_concatenation():
    lay = layout("a,b -> c, axis=0", "a b", {"c": (8, 6)})
    assert got(lay, "c", rows(2, 6)) == [("a", rows(2, 4)), ("b", rows(0, 2))]


def test_split():
    lay = layout("a -> x,y,z, axis=1", "a", dict.fromkeys("xyz", (4, 2)))
    assert got(lay, "z") == [("a", columns(4, 6))]


@pytest.mark.parametrize(
    ("statement", "axes", "shape"),
    [
        ("a^T -> b", (2, 1, 0), (4, 3, 2)),
        ("a -> b, permute='[2,0,1]'", (2, 0, 1), (4, 2, 3)),
        ("a -> b, permute='[]'", (2, 1, 0), (4, 3, 2)),
        ("a -> b, permute='[-1,0,1]'", (2, 0, 1), (4, 2, 3)),
    ],
)
def test_transposes(statement, axes, shape):
    lay = layout(statement, {"a": (2, 3, 4)}, {"b": shape})
    (piece,) = lay.pieces("b")
    assert piece.axes == axes
    x = counted(infos({"a": (2, 3, 4)}))
    same(run(lay, x), {"b": x["a"].transpose(axes)})


def test_a_box_of_a_transposed_tensor():
    (piece,) = layout("a^T -> b", "a", {"b": (6, 4)}).pieces("b", Box((3, 0), (3, 4)))
    assert (piece.source, piece.axes, piece.casts) == (columns(3, 6), (1, 0), ())


def test_cast():
    (piece,) = layout("a -> b, dtype='bfloat16'", "a", {"b": BF16}).pieces("b")
    assert piece.casts == ("bfloat16",)


def test_transpose_then_cast():
    lay = layout(["a^T -> t", "t -> b, dtype='bfloat16'"], "a", {"b": ((6, 4), "bfloat16")})
    (piece,) = lay.pieces("b")
    assert (piece.axes, piece.casts) == ((1, 0), ("bfloat16",))


def test_casts_then_concatenation():
    text = ["a -> s, dtype='bfloat16'", "b -> t, dtype='bfloat16'", "s,t -> c, axis=0"]
    pieces = layout(text, "a b", {"c": ((8, 6), "bfloat16")}).pieces("c")
    assert [(p.key, p.casts) for p in pieces] == [("a", ("bfloat16",)), ("b", ("bfloat16",))]


def test_removal():
    assert set(layout("a -> _", "a b c").targets) == {"b", "c"}


def test_from_nowhere():
    lay = layout("_ -> n", "a", "a n")
    assert lay.kept == {"n"} and lay.pieces("n") == () and lay.sources_of("n") == ()


@pytest.mark.parametrize("text", [["a -> b", "a -> _"], ["a -> _", "a -> b"]])
def test_removal_wins_over_an_alias(text):
    assert layout(text, "a", "b").kept == {"b"}
    assert not layout(text, "a").targets


def test_layers():
    text = "m.layers.$LAYER_ID.w -> n.layers.$LAYER_ID.w"
    lay = layout(text, " ".join(f"m.layers.{i}.w" for i in range(3)))
    assert {k: lay.sources_of(k) for k in lay.targets} == {f"n.layers.{i}.w": (f"m.layers.{i}.w",) for i in range(3)}


def test_layers_one_down():
    lay = layout("m.$LAYER_ID_OFFSET.w -> n.$LAYER_ID_OFFSET.w", "m.1.w m.2.w")
    assert {k: lay.sources_of(k) for k in lay.targets} == {"n.0.w": ("m.1.w",), "n.1.w": ("m.2.w",)}


def test_layers_and_experts():
    lay = layout(
        "l.$LAYER_ID.e.$EXPERT_ID.w -> k.$LAYER_ID.e.$EXPERT_ID.w",
        " ".join(f"l.{i}.e.{j}.w" for i in range(2) for j in range(2)),
    )
    assert list(lay.targets) == ["k.0.e.0.w", "k.1.e.0.w", "k.0.e.1.w", "k.1.e.1.w"]


def test_stack_of_experts():
    lay = layout("l.0.e.*.w -> l.0.w1, axis=0", " ".join(f"l.0.e.{i}.w" for i in range(4)), {"l.0.w1": (16, 6)})
    assert lay.sources_of("l.0.w1") == tuple(f"l.0.e.{i}.w" for i in range(4))
    assert got(lay, "l.0.w1", rows(8, 16)) == [("l.0.e.2.w", rows(0, 4)), ("l.0.e.3.w", rows(0, 4))]


def test_experts_of_a_stack():
    lay = layout("l.0.w1 -> l.0.e.*.w, axis=0", {"l.0.w1": (16, 6)}, " ".join(f"l.0.e.{i}.w" for i in range(4)))
    assert got(lay, "l.0.e.2.w") == [("l.0.w1", rows(8, 12))]


def test_stars_count_as_numbers():
    assert layout("e.*.w -> w, axis=0", "e.10.w e.2.w").sources_of("w") == ("e.2.w", "e.10.w")


def test_stars_are_numbers():
    assert layout("l.*.w -> w, axis=0", "l.0.w l.x.w l.1.w").sources_of("w") == ("l.0.w", "l.1.w")


def test_list_of_names():
    lay = layout("s[0:3] -> s, axis=1", "s_0 s_1 s_2")
    assert lay.targets["s"].shape == (4, 18) and lay.sources_of("s") == ("s_0", "s_1", "s_2")


def test_swapped_halves():
    assert got(layout(["a -> t0,t1, axis=0", "t1,t0 -> b, axis=0"], "a"), "b") == [("a", rows(2, 4)), ("a", rows(0, 2))]


def test_fused_qkv():
    lay = layout(
        "q,k,v -> qkv, fused_qkv, num_heads=4, num_key_value_groups=2",
        {"q": (4, 8), "k": (4, 4), "v": (4, 4)},
        {"qkv": (4, 16)},
    )
    assert got(lay, "qkv") == [
        ("q", columns(0, 4)), ("k", columns(0, 2)), ("v", columns(0, 2)),
        ("q", columns(4, 8)), ("k", columns(2, 4)), ("v", columns(2, 4)),
    ]  # fmt: skip


def test_fused_qkv_of_biases():
    lay = layout(
        "q,k,v -> qkv, fused_qkv, num_heads=2, num_key_value_groups=2, axis=0", {"q": (6,), "k": (6,), "v": (6,)}
    )
    assert [(key, b.offset[0], b.shape[0]) for key, b in got(lay, "qkv")] == [
        ("q", 0, 3), ("k", 0, 3), ("v", 0, 3), ("q", 3, 3), ("k", 3, 3), ("v", 3, 3),
    ]  # fmt: skip


def test_fused_qkv_old_and_back():
    attrs = "fused_qkv_old, num_heads=4, num_key_value_groups=2"
    apart, fused = {"q": (4, 8), "k": (4, 4), "v": (4, 4)}, {"qkv": ((4, 16), "float32", 2, 1)}
    lay = layout(f"q,k,v -> qkv, {attrs}", apart, fused)
    assert got(lay, "qkv", columns(0, 8)) == [("q", columns(0, 4)), ("k", columns(0, 2)), ("v", columns(0, 2))]
    assert got(lay, "qkv", columns(8, 16)) == [("q", columns(4, 8)), ("k", columns(2, 4)), ("v", columns(2, 4))]
    x = counted(infos(apart))
    same(run(layout(f"qkv -> q,k,v, {attrs}", fused, apart), run(lay, x)), x)


def test_fused_ffn_from_one_rank_to_two():
    lay = layout("gu -> gu, fused_ffn", {"gu": (4, 12)}, {"gu": ((4, 12), "float32", 2, 1)})
    assert [(b.offset[1], b.offset[1] + b.shape[1]) for _, b in got(lay, "gu")] == [(0, 3), (6, 9), (3, 6), (9, 12)]


def test_fused_ffn_from_four_ranks_to_two():
    lay = layout("gu -> gu, fused_ffn", {"gu": ((4, 16), "float32", 4, 1)}, {"gu": ((4, 16), "float32", 2, 1)})
    pieces = lay.pieces("gu")
    # Units of two columns. Units 3 and 4 are neighbours before and after, and one piece.
    units = [u // 2 for p in pieces for u in range(p.source.offset[1], p.source.end[1], 2)]
    assert units == [0, 2, 1, 3, 4, 6, 5, 7] and len(pieces) == 7


def test_fused_ffn_of_transposed():
    lay = layout("g^T,u^T -> gu, fused_ffn", {"g": (6, 4), "u": (6, 4)}, {"gu": ((4, 12), "float32", 2, 1)})
    rank = lay.pieces("gu", columns(0, 6))
    assert [(p.key, p.source, p.axes) for p in rank] == [
        ("g", Box((0, 0), (3, 4)), (1, 0)),
        ("u", Box((0, 0), (3, 4)), (1, 0)),
    ]


def test_concatenation_reversed():
    lay = layout("a,b -> c, axis=0", {"c": (8, 6)}, "a b", reverse=True)
    assert (got(lay, "a"), got(lay, "b")) == ([("c", rows(0, 4))], [("c", rows(4, 8))])


def test_permutation_reversed():
    lay = layout("a -> b, permute='[2,0,1]'", {"b": (4, 2, 3)}, {"a": (2, 3, 4)}, reverse=True)
    assert lay.pieces("a")[0].axes == (1, 2, 0)


def test_cast_reversed():
    text = "a -> b, src_dtype='float32', dst_dtype='bfloat16'"
    assert layout(text, "a", {"b": BF16}).pieces("b")[0].casts == ("bfloat16",)
    assert layout(text, {"b": BF16}, "a", reverse=True).pieces("a")[0].casts == ("float32",)


def test_states_follow():
    sources = {"a": BF16, "a.w_0": A, "a.moment1_0": A}
    targets = {f"{k}{s}": ((2, 6), "float32" if s else "bfloat16") for k in "xy" for s in ("", ".w_0", ".moment1_0")}
    lay = layout("a -> x,y, axis=0", sources, targets)
    assert got(lay, "y.w_0") == [("a.w_0", rows(2, 4))]


@pytest.mark.parametrize("reverse", [False, True])
def test_recipe(reverse):
    """A whole conversion, there and back."""
    heads = "num_heads=4, num_key_value_groups=2"
    text = f"""
        l.$LAYER_ID.q^T, l.$LAYER_ID.k^T, l.$LAYER_ID.v^T -> m.$LAYER_ID.qkv, fused_qkv, {heads}
        l.$LAYER_ID.gate^T, l.$LAYER_ID.up^T -> m.$LAYER_ID.up_gate, fused_ffn
        l.0.e.0.w, l.0.e.1.w -> m.0.experts.w, axis=0
        l.1.e.0.w, l.1.e.1.w -> m.1.experts.w, axis=0
        lm_head.weight^T -> lm_head.weight_t
    """
    hf, ours = {"lm_head.weight": (10, 6)}, {"lm_head.weight_t": (6, 10)}
    for i in range(2):
        hf |= {f"l.{i}.q": (8, 6), f"l.{i}.k": (4, 6), f"l.{i}.v": (4, 6), f"l.{i}.gate": (12, 6), f"l.{i}.up": (12, 6)}
        hf |= {f"l.{i}.e.{j}.w": (3, 5) for j in range(2)} | {f"norm.{i}": (6,)}
        ours |= {f"m.{i}.qkv": (6, 16), f"m.{i}.experts.w": (6, 5), f"norm.{i}": (6,)}
        ours |= {f"m.{i}.up_gate": ((6, 24), "float32", 2, 1)}
    x = counted(infos(hf))
    y = run(layout(text, hf, ours), x)
    if reverse:
        same(run(layout(text, ours, hf, reverse=True), y), x)
        return
    for i in range(2):
        q, k, v, gate, up = (x[f"l.{i}.{n}"].T for n in ("q", "k", "v", "gate", "up"))
        groups = [
            np.concatenate([q[:, 4 * g : 4 * g + 4], *(m[:, 2 * g : 2 * g + 2] for m in (k, v))], 1) for g in (0, 1)
        ]
        np.testing.assert_array_equal(y[f"m.{i}.qkv"], np.concatenate(groups, 1))
        halves = [m[:, 6 * r : 6 * r + 6] for r in (0, 1) for m in (gate, up)]
        np.testing.assert_array_equal(y[f"m.{i}.up_gate"], np.concatenate(halves, 1))
        np.testing.assert_array_equal(y[f"m.{i}.experts.w"], np.concatenate([x[f"l.{i}.e.{j}.w"] for j in (0, 1)]))
        np.testing.assert_array_equal(y[f"norm.{i}"], x[f"norm.{i}"])
    np.testing.assert_array_equal(y["lm_head.weight_t"], x["lm_head.weight"].T)


def test_a_name_for_both():
    lay = layout("w^T -> w", {"w": A}, {"w": (6, 4)})
    x = counted(infos("w"))
    same(run(lay, x), {"w": x["w"].T})
    same(run(layout("w^T -> w", {"w": (6, 4)}, {"w": A}, reverse=True), run(lay, x)), x)


def test_fewer_experts_in_a_layer():
    text = "l.$LAYER_ID.e.$EXPERT_ID.w -> k.$LAYER_ID.e.$EXPERT_ID.w"
    with pytest.raises(ValueError, match=r"l\.1\.e\.1\.w should be assigned before"):
        layout(text, "l.0.e.0.w l.0.e.1.w l.1.e.0.w")


@pytest.mark.parametrize("fact", FACTS, ids=lambda f: f"{f['statements'][0]} {next(iter(f['targets'].values()))[2:]}")
def test_recorded(fact):
    """Elements of targets, by their numbers among all elements of the sources."""
    lay = layout(fact["statements"], fact["sources"], fact["targets"])
    out = run(lay, counted(infos(fact["sources"])))
    assert {k: v.reshape(-1).astype(int).tolist() for k, v in out.items()} == fact["elements"]
