"""What the language has beyond the worked examples, and decisions that could have been others."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.aoa import counted, infos, layout, run, same
from umiak.checkpoint.aoa import AOAError, AOAWarning, apply_layout, compile_aoa
from umiak.checkpoint.box import Box
from umiak.checkpoint.data_model import TensorInfo

NAMES = st.sampled_from(
    [
        "a",
        "b",
        "q",
        "n",
        "l.$LAYER_ID.w",
        "l.*.w",
        "l.$LAYER_ID_OFFSET.w",
        "l.$EXPERT_ID.w",
        "s[0:2]",
        "_",
        "a^T",
        "s[1]",
    ]
)
ATTRS = st.one_of(
    st.sampled_from(
        ["axis=0", "axis=1", "axis=-2", "axis", "permute='[1,0]'", "permute='[]'", "dtype='float16'", "dtype=1"]
    ),
    st.sampled_from(["src_dtype='float32', dst_dtype='float16'", "equal", "fused_ffn", "fused_qkv_old"]),
    st.just("fused_qkv, num_heads=2, num_key_value_groups=1"),
)
SIDE = st.lists(NAMES, min_size=1, max_size=3).map(", ".join)
STATEMENT = st.builds(
    lambda *w: " ".join(w), SIDE, st.just("->"), SIDE, st.lists(ATTRS.map(", {}".format)).map("".join)
)
NONSENSE = {
    "a": (4, 8),
    "b": (4, 8),
    "q": (3,),
    "l.0.w": (4, 4),
    "l.1.w": (4, 4),
    "s_0": (4, 4),
    "s_1": (4, 4),
    "n": (),
}


def test_one_text_or_a_list():
    text = """
        # first
        a -> x   # a comment
        b -> y, permute='[1,0]'  # 'another' one

    """
    lay = layout(text, "a b")
    assert {k: lay.sources_of(k) for k in lay.targets} == {"x": ("a",), "y": ("b",)}
    assert layout(["a -> x\nb -> y", "", "# c"], "a b").targets.keys() == {"x", "y"}
    with pytest.raises(TypeError, match="text, got 3"):
        layout([3], "a")


def test_axes_from_the_end():
    lay = layout("a -> x,y, axis=-1", "a")
    assert lay.targets["x"].shape == (4, 3)


def test_nonsense_is_refused_in_our_own_words():
    """Any row of words is a statement or an AOAError."""
    taken, refused = [], []

    @given(st.lists(st.one_of(STATEMENT, st.text("ab->=,'[]:^T_*$#01 ", max_size=12)), max_size=3), st.booleans())
    @settings(max_examples=200)
    def run_one(text, reverse):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AOAWarning)
            try:
                made = layout(text, NONSENSE, NONSENSE if reverse else None, reverse=reverse)
            except AOAError:
                refused.append(text)
            else:
                assert made.targets is not None
                taken.append(text)

    run_one()
    assert len(taken) > 10, taken
    assert len(refused) > 10, refused


def test_names_of_sub_layers_in_a_row():
    lay = layout("0.weight -> fc.weight\n$LAYER_ID.bias -> fc.$LAYER_ID.bias", "0.weight 0.bias 12.bias")
    assert {k: lay.sources_of(k)[0] for k in lay.targets} == {
        "fc.weight": "0.weight", "fc.0.bias": "0.bias", "fc.12.bias": "12.bias",
    }  # fmt: skip


def test_stars_beside_layers():
    """Each layer has the experts it has."""
    sources = "l.0.e.0.w l.0.e.1.w l.1.e.0.w l.1.e.3.w l.1.e.12.w"
    lay = layout("l.$LAYER_ID.e.*.w -> l.$LAYER_ID.w, axis=0", sources)
    assert lay.sources_of("l.1.w") == ("l.1.e.0.w", "l.1.e.3.w", "l.1.e.12.w")
    assert lay.targets["l.0.w"].shape == (8, 6)


def test_layers_beside_lists_and_transposes():
    x = {"l.7.s_1": (2, 3), "l.7.s_2": (2, 3), "l.7.t": (1, 2), "l.7.t.bias": (1,)}
    lay = layout("l.$LAYER_ID.s[1:3]^T, l.$LAYER_ID.t -> l.$LAYER_ID.u, axis=0", x)
    a = counted(infos(x))
    np.testing.assert_array_equal(
        run(lay, a, ["l.7.u"])["l.7.u"], np.concatenate([a["l.7.s_1"].T, a["l.7.s_2"].T, a["l.7.t"]])
    )


def test_placeholders_of_temporaries():
    """They match what statements above have made."""
    text = "l.$LAYER_ID.w^T -> t.$LAYER_ID\nt.$LAYER_ID -> m.$LAYER_ID.w, dtype='bfloat16'"
    lay = layout(text, "l.0.w l.5.w")
    assert set(lay.targets) == {"m.0.w", "m.5.w"}
    stars = layout("l.$LAYER_ID.w -> t.$LAYER_ID\nt.* -> all, axis=0", "l.0.w l.5.w")
    assert stars.sources_of("all") == ("l.0.w", "l.5.w")


def test_stars_match_what_there_is_by_then():
    text = "l.0 -> t.0\nt.* -> x, axis=0\nl.1 -> t.1\nt.* -> y, axis=0\nl.2 -> t.2\nt.* -> z, axis=0"
    lay = layout(text, "l.0 l.1 l.2")
    assert [len(lay.sources_of(k)) for k in "xyz"] == [1, 2, 3]


def test_placeholders_of_tensors_from_nowhere():
    lay = layout("_ -> new.$LAYER_ID.w", "a", "a new.0.w new.1.w")
    assert lay.kept == {"new.0.w", "new.1.w"}


def test_offset_and_experts_together():
    lay = layout(
        "m.$LAYER_ID_OFFSET.e.$EXPERT_ID -> n.$LAYER_ID_OFFSET.e.$EXPERT_ID", "m.1.e.0 m.1.e.1 m.2.e.0 m.2.e.1"
    )
    assert lay.sources_of("n.1.e.0") == ("m.2.e.0",) and len(lay.targets) == 4


def test_a_placeholder_that_matches_nothing_is_told():
    with pytest.warns(AOAWarning, match=re.escape("statement 2 is left out: no tensor matches l.$LAYER_ID.q_nrom")):
        layout(["a -> b", "l.$LAYER_ID.q_nrom -> m.$LAYER_ID.q_norm"], "a l.0.q_norm")


def test_removal_of_what_is_not_there_is_no_mistake():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert set(layout("l.$LAYER_ID.inv_freq -> _\nx -> _", "a").targets) == {"a"}


def test_a_number_stands_for_the_same_in_every_place():
    lay = layout("l.$LAYER_ID.m.$LAYER_ID -> n.$LAYER_ID", "l.0.m.0 l.1.m.0 l.1.m.1")
    assert set(lay.targets) == {"n.0", "n.1", "l.1.m.0"}


def test_temporaries_cannot_meet_real_names():
    """Fuse macros make no names: tensors called like pieces of others are safe (the reference mixes them up)."""
    sources = {"q": (2, 4), "k": (2, 4), "v": (2, 4), "q0": (2, 2), "k1": (2, 2), "a_transpose_tmp": (1,), "a": (2, 3)}
    text = "q,k,v -> f, fused_qkv, num_heads=2, num_key_value_groups=2\na^T -> b"
    lay = layout(text, sources, {"f": (2, 12), "q0": (2, 2), "k1": (2, 2), "a_transpose_tmp": (1,), "b": (3, 2)})
    x = counted(infos(sources))
    y = run(lay, x)
    same({k: y[k] for k in ("q0", "k1", "a_transpose_tmp")}, {k: x[k] for k in ("q0", "k1", "a_transpose_tmp")})


def test_an_identity_with_an_axis_has_its_name():
    """The reference loses it where no targets are given."""
    assert set(layout("a -> b, axis=0", "a").targets) == {"b"}


def test_a_cast_to_the_dtype_that_there_is_does_nothing():
    assert layout("a -> b, dtype='float32'", "a").pieces("b")[0].casts == ()


def test_the_way_of_casts_is_kept():
    """Through a smaller dtype is not the same as straight."""
    text = "a -> t, dtype='bfloat16'\nt -> b, dtype='float32'"
    lay = layout(text, "a")
    assert lay.pieces("b")[0].casts == ("bfloat16", "float32")
    x = {"a": np.full((4, 6), 1.001, "float32")}
    assert (run(lay, x)["b"] == 1).all()


def test_a_temporary_that_is_removed_is_no_result():
    assert set(layout("a -> t, u, axis=0\nt -> b\nt -> _\nu -> _", "a").targets) == {"b"}


def test_a_removal_that_would_leave_holes():
    with pytest.raises(ValueError, match="c would be given in part only: 'a -> _' removes"):
        layout("a,b -> c, axis=0\na -> _", "a b", {"c": (8, 6)})


def test_nothing_comes_from_nowhere():
    with pytest.raises(ValueError, match="b has no value here"):
        layout("_ -> b\nb -> c", "a", "b c")


def test_dead_statements_are_harmless():
    lay = layout("a -> b\na -> c", "a", "b")
    assert set(lay.targets) == {"b"}


class TestRanks:
    """The order in tensors that are fused per rank follows from how ranks hold them."""

    def test_only_along_the_fused_axis(self):
        """Ranks that hold rows say nothing about columns."""
        lay = layout("g,u -> f, fused_ffn", {"g": (4, 4), "u": (4, 4)}, {"f": ((4, 8), "float32", 2, 0)})
        assert len(lay.pieces("f")) == 2

    def test_blocks_along_two_axes(self):
        boxes = tuple(Box((2 * i, 4 * j), (2, 4)) for i in range(2) for j in range(2))
        sources = infos({"g": (4, 4), "u": (4, 4)})
        lay = compile_aoa("g,u -> f, fused_ffn", sources, {"f": TensorInfo("f", (4, 8), "float32", boxes)})
        assert [p.key for p in lay.pieces("f")] == ["g", "u", "g", "u"]

    def test_unequal_parts(self):
        boxes = (Box((0, 0), (4, 6)), Box((0, 6), (4, 2)))
        with pytest.raises(AssertionError, match="equal parts of its 8 places along axis 1; they begin at 0, 6"):
            compile_aoa(
                "g,u -> f, fused_ffn",
                infos({"g": (4, 4), "u": (4, 4)}),
                {"f": TensorInfo("f", (4, 8), "float32", boxes)},
            )

    def test_more_ranks_than_heads(self):
        with pytest.raises(AssertionError, match="cannot give each of 4 ranks its part of k: 2 heads"):
            layout(
                "q,k,v -> f, fused_qkv_old, num_heads=4, num_key_value_groups=2",
                {"q": (4, 8), "k": (4, 4), "v": (4, 4)},
                {"f": ((4, 16), "float32", 4, 1)},
            )

    def test_a_part_of_a_fused_tensor(self):
        sources = {"w": ((4, 16), "float32", 2, 1)}
        with pytest.raises(AssertionError, match="a part of w, which 2 ranks hold, and there is no telling"):
            layout("w -> s,t, axis=1\ns -> g,u, fused_ffn", sources)

    def test_a_fused_tensor_that_becomes_a_part(self):
        sources, targets = {"g": (4, 4), "u": (4, 4), "z": (4, 8)}, {"w": ((4, 16), "float32", 2, 1)}
        with pytest.raises(AssertionError, match="it becomes a part of w along the axis by which 2 ranks hold it"):
            layout("g,u -> t, fused_ffn\nt,z -> w, axis=1", sources, targets)

    def test_targets_that_differ(self):
        targets = {"a": ((4, 8), "float32", 2, 1), "b": (4, 8)}
        with pytest.raises(AssertionError, match="its targets differ: b is held by 1, a is held by 2"):
            layout("g,u -> t, fused_ffn\nt -> a\nt -> b", {"g": (4, 4), "u": (4, 4)}, targets)


def test_sources_are_not_looked_at_again_and_again():
    """As many statements as layers, each about all of its experts: every name is looked at a few times in all."""

    class Counting(dict):
        def __iter__(self):
            self.runs = getattr(self, "runs", 0) + 1
            return super().__iter__()

    sources = Counting(infos({f"l.{i}.e.{j}.w": (2, 2) for i in range(40) for j in range(4)}))
    lay = compile_aoa([f"l.{i}.e.*.w -> l.{i}.w, axis=0" for i in range(40)], sources)
    assert len(lay.targets) == 40 and sources.runs < 10


def test_what_layers_have_in_common_is_kept_once():
    text = "l.$LAYER_ID.g^T, l.$LAYER_ID.u^T -> t.$LAYER_ID, fused_ffn\nt.$LAYER_ID -> m.$LAYER_ID.gu, dtype='bfloat16'"
    lay = layout(text, {f"l.{i}.{n}": (8, 2) for i in range(50) for n in "gu"})
    assert len({id(v.blocks) for v in lay._made.values()}) == 1


def test_a_box_of_a_long_stack_looks_at_few_slices():
    lay = layout("s[0:256] -> w, axis=0\nw^T -> v", {f"s_{i}": (2, 3) for i in range(256)})
    blocks = lay._made["v"].blocks
    box = Box((0, 100), (3, 4))
    assert [p.key for p in lay.pieces("v", box)] == ["s_50", "s_51"]
    found: list = []
    tree = blocks._tree
    assert tree is not None and tree.axis == 1
    tree.collect(box, found)
    assert len(found) == 2


class TestPieces:
    def test_boxes_that_do_not_lie_in_the_tensor(self):
        lay = layout("a -> b", "a")
        for box in (Box((0, 0), (5, 6)), Box((0,), (4,)), Box((-1, 0), (2, 2))):
            with pytest.raises(ValueError, match=r"a box of b lies in shape \(4, 6\)"):
                lay.pieces("b", box)

    def test_neighbours_become_one(self):
        text = (
            "a -> x,y, axis=0\nx -> p,q, axis=1\ny -> r,s, axis=1\nr,s -> u, axis=1\np,q -> t, axis=1\nt,u -> b, axis=0"
        )
        assert len(layout(text, "a").pieces("b")) == 1

    def test_neighbours_of_a_transposed_tensor_become_one(self):
        text = "a^T -> x,y, axis=0\nx,y -> b, axis=0\na^T -> p,q, axis=1\np,q -> c, axis=1\nq,p -> d, axis=1"
        lay = layout(text, {"a": (4, 4)})
        assert [len(lay.pieces(k)) for k in "bcd"] == [1, 1, 2]

    def test_tensors_without_elements(self):
        lay = layout("a,b -> c, axis=0", {"a": (0, 6), "b": (0, 6)})
        assert lay.pieces("c") == () and lay.sources_of("c") == ("a", "b") and lay.targets["c"].shape == (0, 6)
        assert layout("a,b -> c, axis=0", {"a": (0, 6), "b": (4, 6)}).sources_of("c") == ("b",)

    def test_tensors_without_axes(self):
        lay = layout("a -> b", {"a": ()})
        same(run(lay, {"a": np.array(3.0, "float32")}), {"b": np.array(3.0, "float32")})

    def test_boxes_that_no_cut_separates(self):
        """Two pinwheels side by side, each four boxes around a fifth."""
        text, sources = [], {}
        for w in "xy":
            sources |= {f"{w}{n}": s for n, s in zip("abcde", ((1, 2), (2, 1), (1, 2), (2, 1), (1, 1)))}
            text += [
                f"{w}b -> {w}b0,{w}b1, axis=0",
                f"{w}d -> {w}d0,{w}d1, axis=0",
                f"{w}a,{w}b0 -> {w}0, axis=1",
                f"{w}d0,{w}e,{w}b1 -> {w}1, axis=1",
                f"{w}d1,{w}c -> {w}2, axis=1",
                f"{w}0,{w}1,{w}2 -> {w}, axis=0",
            ]
        lay = layout([*text, "x,y -> z, axis=1"], sources)
        assert len(lay.pieces("z")) == 10
        x = counted(infos(sources))
        whole = run(lay, x)["z"]
        read = lambda key, box: x[key][box.slices]  # noqa: E731
        for box in (
            Box((i, j), (h, w)) for i in range(3) for j in range(6) for h in range(4 - i) for w in range(7 - j)
        ):
            np.testing.assert_array_equal(apply_layout(lay, read, "z", box), whole[box.slices])


class TestApply:
    def read(self, arrays):
        return lambda key, box: arrays[key][box.slices]

    def test_into_memory_that_there_is(self):
        lay = layout("a,b -> c, axis=0", "a b")
        x = counted(infos("a b"))
        out = np.zeros((3, 2), "float32")
        assert apply_layout(lay, self.read(x), "c", Box((3, 1), (3, 2)), out) is out
        np.testing.assert_array_equal(out, np.concatenate([x["a"], x["b"]])[3:6, 1:3])

    @pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
    @pytest.mark.parametrize("form", ["own", "read-only", "unaligned", "another byte order"])
    def test_large_transposed_tensors(self, rng, dtype, form):
        """They are transposed in bands, by the engine where it takes such memory."""
        x = rng.standard_normal((700, 300, 4)).astype("float32")
        given = x
        if form == "read-only":
            given = x.view()
            given.flags.writeable = False
        elif form == "unaligned":
            given = np.frombuffer(bytearray(b"." + x.tobytes()), "float32", offset=1).reshape(x.shape)
        elif form == "another byte order":
            given = x.astype(">f4")
        text = f"a -> t, permute='[2,0,1]'\nt -> u, permute='[1,2,0]'\nu^T -> v\nv -> b, dtype='{dtype}'"
        lay = layout(text, {"a": x.shape})
        if form == "another byte order" and dtype == "float32":
            with pytest.raises(AOAError, match="read gave"):
                apply_layout(lay, self.read({"a": given}), "b")
            return
        out = apply_layout(lay, self.read({"a": given}), "b")
        np.testing.assert_array_equal(out, x.T.astype(out.dtype))

    def test_large_transposed_matrices_in_a_stack(self, rng):
        x = {"a": rng.standard_normal((3, 300, 1000)).astype("float32")}
        lay = layout("a -> b, permute='[0,2,1]'", {"a": x["a"].shape})
        np.testing.assert_array_equal(apply_layout(lay, self.read(x), "b"), x["a"].transpose(0, 2, 1))

    def test_one_piece_at_a_time(self):
        lay = layout("a -> t,u, axis=0\nu,t -> c, axis=0", "a")
        x = counted(infos("a"))
        boxes = []
        apply_layout(lay, lambda key, box: boxes.append(box) or x[key][box.slices], "c")
        assert boxes == [Box((2, 0), (2, 6)), Box((0, 0), (2, 6))]

    def test_mistakes(self):
        lay = layout("a -> b\n_ -> k", "a", "b k")
        x = counted(infos("a"))
        with pytest.raises(KeyError, match="k keeps its present value"):
            apply_layout(lay, self.read(x), "k")
        with pytest.raises(KeyError, match="gives no tensor 'z'"):
            apply_layout(lay, self.read(x), "z")
        with pytest.raises(AOAError, match=r"out must have shape \(4, 6\) and dtype float32, got \(4, 6\) and float64"):
            apply_layout(lay, self.read(x), "b", out=np.zeros((4, 6)))
        with pytest.raises(AOAError, match=r"read gave shape \(24,\) and dtype float32"):
            apply_layout(lay, lambda key, box: x[key].reshape(-1), "b")
        with pytest.raises(AOAError, match="and dtype float64 for a box of a"):
            apply_layout(lay, lambda key, box: x[key].astype("float64"), "b")
