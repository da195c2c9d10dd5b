"""Going back: exactly, or not at all."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.aoa import counted, infos, layout, run, same

HEADS = "num_heads=8, num_key_value_groups=4"


def round_trip(text, before, after, **options):
    """There and back gives what was there."""
    x = counted(infos(before))
    y = run(layout(text, before, after), x)
    same(run(layout(text, after, before, reverse=True, **options), y), x)
    return y


def wide(n, ranks=1, rows=2):
    return ((rows, n), "float32", ranks, 1)


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize(
    ("text", "before", "fused"),
    [
        ("g,u -> gu, fused_ffn", {"g": wide(8), "u": wide(8)}, 16),
        ("g^T,u^T -> gu, fused_ffn", {"g": (8, 2), "u": (8, 2)}, 16),
        ("g^T,u^T -> t, fused_ffn\nt -> gu", {"g": (8, 2), "u": (8, 2)}, 16),
        ("g,u -> t, fused_ffn, axis=0\nt^T -> gu", {"g": (8, 2), "u": (8, 2)}, 16),
        ("g,u -> t, fused_ffn, axis=-2\nt -> s, permute='[1,0]'\ns -> gu", {"g": (8, 2), "u": (8, 2)}, 16),
        (
            "g,u -> t, fused_ffn\nt -> gu, src_dtype='float32', dst_dtype='float16'",
            {"g": wide(8), "u": wide(8)},
            (16, "float16"),
        ),
        (f"q,k,v -> gu, fused_qkv_old, {HEADS}", {"q": wide(16), "k": wide(8), "v": wide(8)}, 32),
        (f"q^T,k^T,v^T -> gu, fused_qkv_old, {HEADS}", {"q": (16, 2), "k": (8, 2), "v": (8, 2)}, 32),
    ],
)
def test_fused_per_rank(text, before, fused, ranks):
    size, dtype = fused if isinstance(fused, tuple) else (fused, "float32")
    y = round_trip(text, before, {"gu": ((2, size), dtype, ranks, 1)})["gu"]
    assert (y[0] == np.sort(y[0])).all() == (ranks == 1)  # with ranks the parts do lie among each other


@pytest.mark.parametrize("there", [1, 2, 4])
@pytest.mark.parametrize("here", [1, 2, 4])
@pytest.mark.parametrize("macro", ["fused_ffn", f"fused_qkv_old, {HEADS}"])
def test_fused_to_fused(macro, here, there):
    round_trip(f"a -> b, {macro}", {"a": wide(32, here)}, {"b": wide(32, there)})
    round_trip(f"a -> a, {macro}", {"a": wide(32, here)}, {"a": wide(32, there)})
    round_trip(f"a^T -> b, {macro}", {"a": ((32, 2), "float32", here, 0)}, {"b": wide(32, there)})


@pytest.mark.parametrize("ranks", [1, 2])
def test_fused_taken_apart(ranks):
    round_trip("gu -> g,u, fused_ffn", {"gu": wide(16, ranks)}, {"g": wide(8), "u": wide(8)})
    text = f"f -> q,k,v, fused_qkv_old, {HEADS}"
    round_trip(text, {"f": wide(32, ranks)}, {"q": wide(16), "k": wide(8), "v": wide(8)})


@pytest.mark.parametrize("ranks", [1, 2])
def test_fused_then_stacked(ranks):
    """The ranks of the stack tell those of what it is stacked of."""
    before = {f"e.{i}.{n}": (8, 2) for i in range(3) for n in "gu"}
    text = "e.$EXPERT_ID.g^T, e.$EXPERT_ID.u^T -> t.$EXPERT_ID, fused_ffn\nt.0,t.1,t.2 -> all, axis=0"
    y = round_trip(text, before, {"all": ((6, 16), "float32", ranks, 1)})["all"]
    x = counted(infos(before))
    one = [m for r in range(ranks) for n in "gu" for m in [x[f"e.1.{n}"].T[:, 8 // ranks * r : 8 // ranks * (r + 1)]]]
    np.testing.assert_array_equal(y[2:4], np.concatenate(one, 1))


def test_numbers_of_names():
    x = {f"e.{i}.w": (2, 3) for i in (0, 1, 10, 2)}
    round_trip("e.*.w -> w, axis=0", x, {"w": (8, 3)})
    round_trip("w -> e.*.w, axis=0", {"w": (8, 3)}, x)
    round_trip(
        "l.$LAYER_ID.e.*.w^T -> l.$LAYER_ID.w, axis=0", {f"l.3.{k}": v for k, v in x.items()}, {"l.3.w": (12, 2)}
    )
    round_trip("s[0:3] -> s, axis=1", {f"s_{i}": (2, 3) for i in range(3)}, {"s": (2, 9)})


def test_layers_one_up():
    shapes = dict(zip(("m.1.w", "m.2.w", "m.3.w"), ((1, 2), (2, 2), (3, 2))))
    after = {"n.0.w": (2, 1), "n.1.w": (2, 2), "n.2.w": (2, 3)}
    text = "m.$LAYER_ID_OFFSET.w^T -> n.$LAYER_ID_OFFSET.w"
    round_trip(text, shapes, after)
    # Nothing says what is wanted: what is there says which layers.
    assert set(layout(text, after, reverse=True).targets) == set(shapes)
    # The same names on both sides.
    round_trip(text.replace("n.", "m."), shapes, {k.replace("n.", "m."): v for k, v in after.items()})


def test_unequal_parts():
    before = {"a": (1, 6), "b": (2, 6), "c": (3, 6)}
    round_trip("a,b,c -> d, axis=0", before, {"d": (6, 6)})
    # Through temporaries, which no target is called like.
    text = "a,b -> t, axis=0\nt^T -> u\nc^T -> v\nu,v -> d, axis=1"
    round_trip(text, before, {"d": (6, 6)})
    # One that is not told is what the others leave.
    lay = layout("a,b,c -> d, axis=0", {"d": (6, 6)}, {"a": (1, 6), "c": (3, 6)}, reverse=True)
    assert lay.pieces("c")[0].source.offset == (3, 0)


def test_unequal_parts_through_a_fused_tensor():
    before = {"f": (2, 16), "z": (2, 3)}
    text = "f -> q,k,v, fused_qkv, num_heads=2, num_key_value_groups=1\nk,q,v -> t, axis=1\nt,z -> y, axis=1"
    round_trip(text, before, {"y": (2, 19)})


def test_parts_of_unknown_size_are_refused():
    with pytest.raises(AssertionError, match="nothing tells those of a, b: give the targets"):
        layout("a,b -> c, axis=0", {"c": (6, 6)}, reverse=True)
    lay = layout("a,b -> c, axis=0, equal", {"c": (6, 6)}, reverse=True)
    assert [t.shape for t in lay.targets.values()] == [(3, 6), (3, 6)]
    with pytest.raises(AssertionError, match=r"says equal, got sizes \[2, 4\] along axis 0 of a, b"):
        layout("a,b -> c, axis=0, equal", {"a": (2, 6), "b": (4, 6)})
    with pytest.raises(AssertionError, match=r"a, b have \(2, 3\) places along axis 0, c has 6"):
        layout("a,b -> c, axis=0", {"c": (6, 6)}, {"a": (2, 6), "b": (3, 6)}, reverse=True)


def test_a_split_had_equal_parts():
    with pytest.raises(AssertionError, match=r"equal parts, got sizes \[2, 4\]"):
        layout("a -> x,y, axis=0", {"x": (2, 6), "y": (4, 6)}, {"a": (6, 6)}, reverse=True)


def test_a_cast_must_say_from_what():
    with pytest.raises(AssertionError, match="src_dtype"):
        layout("a -> b, dtype='float16'", {"b": ((4, 6), "float16")}, "a", reverse=True)


def test_a_tie_is_the_first():
    text = "a -> b\na -> c"
    lay = layout(text, "b c", "a", reverse=True)
    assert lay.sources_of("a") == ("b",)
    round_trip(text, {"a": (4, 6)}, dict.fromkeys("bc", (4, 6)))


def test_removed_and_from_nowhere():
    lay = layout("a -> b\ngone -> _\n_ -> new", "b new", "a gone", reverse=True)
    assert lay.kept == {"gone"} and lay.sources_of("a") == ("b",)
    assert set(layout("a -> b\ngone -> _\n_ -> new", "b new", reverse=True).targets) == {"a"}
    # What was removed was not given, whatever aliases it had.
    for text in ("a -> b\na -> _", "a -> _\na -> b"):
        assert layout(text, "b", "a", reverse=True).kept == {"a"}


def test_what_is_overwritten_is_lost():
    with pytest.raises(ValueError, match="b cannot be had back: this statement assigns it"):
        layout("a -> b", "b", "a b", reverse=True)
    with pytest.raises(ValueError, match="t cannot be had back: it is assigned again further down"):
        layout("a -> t\nb -> t\nt -> c", "c t", "a b", reverse=True)
    # Nobody asks for it: no harm.
    assert layout("a -> b", "b", "a", reverse=True).sources_of("a") == ("b",)


def test_names_used_again():
    round_trip("a^T -> t\nt -> x\nb^T -> t\nt -> y", {"a": (2, 3), "b": (4, 5)}, {"x": (3, 2), "y": (5, 4)})


def test_names_never_mentioned():
    x = {"a": (2, 3), "norm": (5,)}
    round_trip("a -> b", x, {"b": (2, 3), "norm": (5,)})
    assert set(layout("a -> b", {"b": (2, 3), "norm": (5,)}, reverse=True).targets) == {"a", "norm"}


def test_what_must_be_there():
    with pytest.raises(ValueError, match="c should be assigned before"):
        layout("a -> b\na -> c", "b", "a", reverse=True)
    with pytest.raises(SyntaxError, match="needs the targets"):
        layout("e.*.w -> w, axis=0", "w", reverse=True)
