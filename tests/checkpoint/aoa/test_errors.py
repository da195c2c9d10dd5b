"""Mistakes: their kind, the way that led there, and a message that names what is wrong."""

from __future__ import annotations

import pickle

import pytest

from tests.support.aoa import layout
from umiak.checkpoint.aoa import AOAError
from umiak.checkpoint.aoa.errors import AOASyntaxError

QKV = {"q": (4, 8), "k": (4, 4), "v": (4, 4)}

CASES = [
    ("a -> x,y,z,u,v, axis=0", AssertionError, "equal parts, got 4 places along axis 0 of a for 5 names"),
    ("a -> b, dtype='float64'", AssertionError, "float16, float32, bfloat16, got 'float64'"),
    ("a -> b, axis=0, dtype='float16'", AssertionError, "at most one attribute"),
    ("a -> b, dtype='float16', dst_dtype='float16'", ValueError, "come together"),
    ("q,k -> qkv, fused_qkv, num_heads=4, num_key_value_groups=2", AssertionError, "got 2 -> 1 names"),
    ("qkv -> q2, fused_qkv, num_heads=4, num_key_value_groups=2", AssertionError, "got 1 -> 1 names"),
    (
        "q,k,v -> qkv, fused_qkv, num_heads=4, num_key_value_groups=3",
        AssertionError,
        "multiple of num_key_value_groups",
    ),
    ("q,k,v -> qkv, fused_qkv", AssertionError, "got None and None"),
    ("q,q,q -> qkv, fused_qkv, num_heads=4, num_key_value_groups=2", AssertionError, "sizes of q, k, v as 4:2:2"),
    ("q,k,v -> qkv, fused_qkv, num_heads=4, num_key_value_groups=2, dtype='float16'", ValueError, "got dtype"),
    ("a,b -> c, fused_ffn, fused_qkv", AssertionError, "one macro"),
    ("s[0] -> b", AssertionError, r"s\[START:END\]"),
    ("s[3:1] -> b", AssertionError, "START < END"),
    ("a,b -> c,d, axis=0", AssertionError, "2 names -> 2"),
    ("a,h -> c, axis=0", AssertionError, "a has float32, h has float16"),
    ("a.$LAYER_ID -> b.$EXPERT_ID", AssertionError, "same placeholders"),
    ("a.$LAYER_ID -> b", AssertionError, "same placeholders"),
    ("a,b -> c", ValueError, "takes axis=…, got no attribute"),
    ("a -> x,y, dtype='float16'", ValueError, "takes axis=…, got dtype"),
    ("a -> b^T", ValueError, "only a name on the left"),
    ("z -> b", ValueError, "z should be assigned before"),
    ("a -> b, colour=1", ValueError, "unknown attribute colour"),
    ("a.*.b.* -> c, axis=0", ValueError, "at most one"),
    ("a.$FOO -> c", ValueError, r"unknown placeholder \$FOO"),
    ("a.1$LAYER_ID -> c.$LAYER_ID", ValueError, "cannot touch a digit"),
    ("a -> b, permute='1,0'", ValueError, "written"),
    ("a -> b, permute='[0,0]'", ValueError, r"no permutation of the axes of shape \(4, 6\)"),
    ("a,q -> c, axis=0", ValueError, r"a has shape \(4, 6\), q has \(4, 8\)"),
    ("a -> b, num_heads=1", ValueError, "belongs to"),
    ("a -> b, equal", ValueError, "beside axis"),
    ("a -> b, dtype=bfloat16", SyntaxError, "quoted string for dtype, got 'bfloat16'"),
    ("a -> b, axis=1, axis=1", SyntaxError, "twice"),
    ("a -> b, axis=1, c", SyntaxError, "expected an attribute"),
    ("0 -> b", SyntaxError, "expected a name on the left, got '0'"),
    ("1a -> b", SyntaxError, "got '1'"),
    (" -> b", SyntaxError, "got '->'"),
    ("a ->", SyntaxError, "name on the right"),
    ("a", SyntaxError, "'->'"),
    ("a -> b c", SyntaxError, "got 'c'"),
    ("e.*.w -> b, axis=0", SyntaxError, r"no source has a name like e\.\*\.w"),
    ("a -> e.*.w, axis=0", SyntaxError, "needs the targets"),
    ("a -> b; c -> d", RuntimeError, "';' at column 7"),
    ("a/b -> c", RuntimeError, "'/'"),
    ("a -> x,y, axis=2", IndexError, r"axis 2 of a tensor of shape \(4, 6\)"),
    ("a -> x,y, axis=-3", IndexError, "axis -3"),
    ("a,b -> c, axis=2", IndexError, "axis 2"),
    ("n,n -> c, fused_ffn", IndexError, "fuse macros take axis 1"),
    ("a -> x,y, axis='0'", TypeError, "without quotes"),
    ("a -> b, permute=1", TypeError, "quoted"),
    ("a, _ -> c, axis=0", AssertionError, "stands alone"),
    ("a -> b, src_dtype='float16', dst_dtype='float32'", AssertionError, "casts from float16, a has float32"),
    ("a -> x, x, axis=0", ValueError, "assigns a name once"),
    ("m.$LAYER_ID_OFFSET -> n.$LAYER_ID_OFFSET", ValueError, "layer -1"),
]


@pytest.mark.parametrize(("text", "kind", "message"), CASES, ids=[c[0] for c in CASES])
def test_kinds(text, kind, message):
    sources = {"a": (4, 6), "b": (4, 6), "h": ((4, 6), "float16"), "n": (4,), "m.0": (4,), **QKV, "qkv": (4, 16)}
    with pytest.raises(kind, match=message) as caught:
        layout(text, sources)
    assert isinstance(caught.value, AOAError)
    assert caught.value.chain[0] == ("statement 1", text.strip())


def test_targets_that_do_not_fit():
    with pytest.raises(ValueError, match=r"b is wanted with shape \(2, 6\), it is made with \(4, 6\)"):
        layout("a -> b", "a", {"b": (2, 6)})
    with pytest.raises(AssertionError, match="b is wanted as float16, it is made as float32 of a;"):
        layout("a -> b", "a", {"b": ((4, 6), "float16")})
    with pytest.raises(AssertionError, match="a is wanted as float16"):
        layout([], "a", {"a": ((4, 6), "float16")})


def test_the_way_is_shown():
    text = ["# a comment", "x -> y", "l.$LAYER_ID.e.*.w^T -> k.$LAYER_ID.w, axis=2"]
    with pytest.raises(IndexError) as caught:
        layout("\n".join(text), "x l.3.e.0.w l.3.e.1.w")
    assert str(caught.value).splitlines() == [
        "",
        "┌───────────────────────────────────────────────────────────┐",
        "│ statement 2: l.$LAYER_ID.e.*.w^T -> k.$LAYER_ID.w, axis=2 │",
        "│ └─ $LAYER_ID = 3: l.3.e.*.w^T -> k.3.w, axis=2            │",
        "│    └─ names: l.3.e.0.w^T, l.3.e.1.w^T -> k.3.w, axis=2    │",
        "└───────────────────────────────────────────────────────────┘",
        "axis 2 of a tensor of shape (6, 4)",
    ]


def test_the_way_is_hidden():
    with pytest.raises(IndexError) as caught:
        layout("a -> b, axis=2", "a", traceback=False)
    assert str(caught.value) == "axis 2 of a tensor of shape (4, 6)"


def test_names_that_may_be_meant():
    with pytest.raises(ValueError, match=r"Did you mean 'model\.fc\.weight'"):
        layout("model.fx.weight -> b", "model.fc.weight other")
    with pytest.raises(KeyError, match=r"Did you mean 'model\.fc\.weight'"):
        layout([], "model.fc.weight other", "model.fc.wieght")
    with pytest.raises(KeyError, match="Did you mean 'abcd'"):
        layout([], "abcd").pieces("abce")


def test_long_statements_are_cut_short():
    with pytest.raises(ValueError) as caught:
        layout(", ".join(f"expert.{i}" for i in range(300)) + " -> all", {f"expert.{i}": (1,) for i in range(300)})
    assert max(map(len, str(caught.value).splitlines())) < 130 and len(str(caught.value)) < 1500


def test_errors_travel():
    error = pickle.loads(pickle.dumps(AOASyntaxError("wrong", [("statement 1", "a")])))
    assert type(error) is AOASyntaxError and error.problem == "wrong" and error.chain == (("statement 1", "a"),)
