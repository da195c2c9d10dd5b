"""Optimizer states go where their parameters go."""

from __future__ import annotations

import pytest

from tests.support.aoa import counted, infos, layout, run, same

HALF = (2, 6)


def parameter(name, shape, dtype="bfloat16", **states):
    """A parameter with master weight, a moment and a beta power."""
    out = {name: (shape, dtype), f"{name}.w_0": shape, f"{name}.moment1_0": shape, f"{name}.beta1_pow_acc_0": (1,)}
    return out | {f"{name}.{k}": v for k, v in states.items()}


def test_each_kind_has_its_dtype():
    """A low-precision parameter with states of full precision, in one dict (the reference takes one dtype for both)."""
    sources = parameter("x", (2, 6)) | parameter("y", (2, 6))
    lay = layout("a -> x,y, axis=0", parameter("a", (4, 6)), sources)
    assert {k: t.dtype for k, t in lay.targets.items() if k.startswith("x")} == {
        "x": "bfloat16", "x.w_0": "float32", "x.moment1_0": "float32", "x.beta1_pow_acc_0": "float32",
    }  # fmt: skip
    assert lay.pieces("y.moment1_0")[0].source.offset == (2, 0)
    assert lay.pieces("y.beta1_pow_acc_0")[0].source.shape == (1,)


@pytest.mark.parametrize("reverse", [False, True])
def test_everything_without_targets(reverse):
    text = "a^T, b^T -> c, axis=1\nn -> m"
    before = parameter("a", (4, 6)) | parameter("b", (4, 6)) | {"n": (3,), "free": (2,)}
    after = layout(text, before).targets
    assert set(after) == {*(f"c{s}" for s in ("", ".w_0", ".moment1_0", ".beta1_pow_acc_0")), "m", "free"}
    assert after["c.w_0"].shape == (6, 8)
    if reverse:
        lay = layout(text, {k: (t.shape, t.dtype) for k, t in after.items()}, before, reverse=True)
        assert lay.sources_of("b.moment1_0") == ("c.moment1_0",)


def test_a_cast_of_the_parameter_is_not_one_of_its_states():
    """Full-precision masters would lose their digits on the way to full-precision masters."""
    text = "a -> b, dtype='bfloat16'"
    sources = parameter("a", (4, 6), "float32")
    lay = layout(text, sources, parameter("b", (4, 6)))
    assert lay.pieces("b")[0].casts == ("bfloat16",)
    assert lay.pieces("b.w_0")[0].casts == () and lay.pieces("b.moment1_0")[0].casts == ()
    # An optimizer that keeps moments in another dtype says so by what it wants.
    lay = layout(text, sources, parameter("b", (4, 6), moment1_0=((4, 6), "bfloat16")))
    assert lay.pieces("b.moment1_0")[0].casts == ("bfloat16",)


def test_states_alone():
    """A file of optimizer states: its parameters can be named, and are not there."""
    sources = {"a.w_0": (4, 6), "a.beta2_pow_acc_0": (1,)}
    targets = {"x.w_0": HALF, "y.w_0": HALF, "x.beta2_pow_acc_0": (1,)}
    lay = layout("a -> x,y, axis=0", sources, targets)
    same(run(lay, counted(infos(sources)), ["y.w_0"]), {"y.w_0": counted(infos(sources))["a.w_0"][2:]})
    assert set(layout("a -> x,y, axis=0", sources).targets) == {*targets, "y.beta2_pow_acc_0"}
    with pytest.raises(KeyError, match=r"made of a, of which there are only the states w_0, beta2_pow_acc_0"):
        layout("a -> x,y, axis=0", sources, {"x": HALF})


def test_layers_of_states_alone():
    sources = {f"l.{i}.w.moment1_0": (4, 6) for i in range(3)}
    lay = layout("l.$LAYER_ID.w^T -> m.$LAYER_ID.w", sources)
    assert set(lay.targets) == {f"m.{i}.w.moment1_0" for i in range(3)}
    assert lay.targets["m.0.w.moment1_0"].shape == (6, 4)


def test_names_that_only_end_like_states():
    """linear_0.w_0 is what a program calls a weight, not the state of something called linear_0."""
    sources = {"linear_0.w_0": (4, 6), "linear_1.w_0": (4, 6)}
    assert set(layout([], sources).targets) == set(sources)
    lay = layout("linear_0.w_0^T -> fc.w", sources, {"fc.w": (6, 4), "linear_1.w_0": (4, 6)})
    assert lay.sources_of("fc.w") == ("linear_0.w_0",)
    assert set(layout("linear_0.w_0^T -> fc.w", sources).targets) == {"fc.w", "linear_1.w_0"}
    with pytest.raises(AssertionError, match="wanted as float16"):
        layout([], sources, {"linear_0.w_0": ((4, 6), "float16")})


def test_states_that_statements_name():
    """They are tensors like others then."""
    sources = parameter("a", (4, 6)) | parameter("b", (4, 6))
    lay = layout(
        "a -> c\nb.w_0^T -> c.w_0", sources, {"c": ((4, 6), "bfloat16"), "c.w_0": (6, 4), "c.moment1_0": (4, 6)}
    )
    assert lay.sources_of("c.w_0") == ("b.w_0",) and lay.sources_of("c.moment1_0") == ("a.moment1_0",)


def test_a_name_taken_over():
    """The states of a parameter are those of what it is made of, not those of what had its name."""
    sources = parameter("a", (4, 6)) | parameter("b", (4, 6))
    assert layout("b -> a", sources, parameter("a", (4, 6))).sources_of("a.w_0") == ("b.w_0",)


def test_removed_and_kept_parameters():
    assert set(layout("a -> _", parameter("a", (4, 6)) | {"n": (3,)}).targets) == {"n"}
    lay = layout("_ -> b", parameter("a", (4, 6)), parameter("b", (4, 6)))
    assert lay.kept == set(parameter("b", (4, 6)))


def test_states_that_are_missing():
    sources = {"q": (4, 6), "q.w_0": (4, 6), "k": (4, 6)}
    with pytest.raises(KeyError, match=r"f\.w_0 follows its parameter: k has no state w_0"):
        layout("q,k -> f, axis=0", sources)
    with pytest.raises(KeyError, match=r"f\.w_0 follows its parameter: k has no state w_0"):
        layout("q,k -> f, axis=0", sources, {"f.w_0": (8, 6)})
    assert set(layout("q,k -> f, axis=0\nq.w_0 -> _", sources).targets) == {"f"}
    with pytest.raises(KeyError, match=r"q has no state w_0"):
        layout("q,k -> f, axis=0\nq.w_0 -> _", sources | {"k.w_0": (4, 6)}, {"f.w_0": (8, 6)})
    assert layout("q,k -> f, axis=0\n_ -> f.w_0", sources, {"f.w_0": (8, 6)}).kept == {"f.w_0"}


def test_states_that_do_not_fit():
    with pytest.raises(ValueError, match=r"a\.w_0 has shape \(24,\), its parameter has \(4, 6\)"):
        layout("a -> b", {"a": (4, 6), "a.w_0": (24,)})
    sources = {"q": (4, 6), "q.w_0": (4, 6), "k": (4, 6), "k.w_0": ((4, 6), "float16")}
    with pytest.raises(ValueError, match="several dtypes: float16, float32"):
        layout("q,k -> f, axis=0", sources)
    pieces = layout("q,k -> f, axis=0", sources, {"f.w_0": (8, 6)}).pieces("f.w_0")
    assert [(p.key, p.casts) for p in pieces] == [("q.w_0", ("float32",)), ("k.w_0", ("float32",))]


def test_states_of_what_is_fused_per_rank():
    sources = {f"{n}{s}": (4, 8) for n in "gu" for s in ("", ".moment1_0")}
    targets = {f"f{s}": ((4, 16), "float32", 2, 1) for s in ("", ".moment1_0")}
    lay = layout("g,u -> f, fused_ffn", sources, targets)
    assert [p.key for p in lay.pieces("f.moment1_0")] == ["g.moment1_0", "u.moment1_0"] * 2
    # Also where the states alone are there to tell the ranks.
    back = layout("g,u -> f, fused_ffn", {"f.moment1_0": targets["f.moment1_0"]}, {"g.moment1_0": (4, 8)}, reverse=True)
    assert [p.source.offset[1] for p in back.pieces("g.moment1_0")] == [0, 8]
