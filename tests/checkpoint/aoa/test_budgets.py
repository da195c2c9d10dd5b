"""What a small text of statements cannot cost."""

import pytest

from umiak.checkpoint.aoa import AOAError, compile_aoa
from umiak.checkpoint.data_model import TensorInfo

X = {"x": TensorInfo("x", (4, 6), "float32")}
E = {"x": TensorInfo("x", (4, 0), "float32")}
LAYERS = {f"l.{i}.e.{i}": TensorInfo(f"l.{i}.e.{i}", (2,), "float32") for i in range(1100)}
CHAIN = [f"n{i} -> n{i + 1}, permute='[1,0]'" for i in range(3000)]

EXPENSIVE = {
    "a long list of names": ("x[0:1000000000] -> y, axis=0", X),
    "a long list of wanted names": ("x -> y[0:1000000000], axis=0", X),
    "many lists of names": ([f"x[0:16384] -> y{i}, axis=0" for i in range(70)], X),
    "doubling": (["x, x -> d0, axis=0", *(f"d{i}, d{i} -> d{i + 1}, axis=0" for i in range(60))], X),
    "doubling nothing": (["x, x -> d0, axis=0", *(f"d{i}, d{i} -> d{i + 1}, axis=0" for i in range(70))], E),
    "many groups": ("q -> a, b, c, fused_qkv, num_heads=1000000000, num_key_value_groups=1000000000",
                    {"q": TensorInfo("q", (4, 0), "float32")}),
    "layers times experts": ("l.$LAYER_ID.e.$EXPERT_ID -> y.$LAYER_ID.$EXPERT_ID", LAYERS),
    "many digits": (f"x -> y, axis={'9' * 5000}", X),
    "a long permutation": ("x -> y, permute='[" + " " * 100_000 + "x'", X),
    "casts without end": (["x -> c0, dtype='float16'"]
                          + [f"c{i} -> c{i + 1}, dtype='{('bfloat16', 'float16')[i % 2]}'" for i in range(200)], X),
    "a long name that is not there": ("y" * 100_000 + " -> z", X | {"y" * 4000 + str(i): X["x"] for i in range(50)}),
    "a long statement": ("x -> " + "y" * (1 << 20), X),
}  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.slow] if n in ("doubling", "many lists of names") else []) for n in EXPENSIVE],
)
def test_expensive_statements_are_refused(name):
    statements, sources = EXPENSIVE[name]
    with pytest.raises(AOAError):
        compile_aoa(statements, sources)


def test_a_long_way_to_the_targets():
    """Statements back to sources whose sizes only the far end tells."""
    statements = ["a, b -> n0, axis=0", *CHAIN]
    sources = {f"n{len(CHAIN)}": TensorInfo(f"n{len(CHAIN)}", (8, 6), "float32")}
    with pytest.raises(AOAError):
        compile_aoa(statements, sources, reverse=True)
    there = {"s": TensorInfo("s", (8, 6), "float32")}
    targets = {f"n{len(CHAIN)}": TensorInfo(f"n{len(CHAIN)}", (8, 6), "float32")}
    with pytest.raises(AOAError, match="follow one another too deeply"):
        compile_aoa(["s -> n0, fused_ffn", *CHAIN], there, targets)
