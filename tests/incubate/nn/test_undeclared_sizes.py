"""Sizes that a program does not declare may be 1 or those of others, also in a model that was saved: results are those
of a call at once, or the size is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import paddle
from paddle.incubate.nn import functional as I
from paddle.static import InputSpec

B, S, H, D, ROWS = 3, 4, 2, 8, 4  # sequences, positions, heads, features, rows of a block


class Case(NamedTuple):
    """``call`` of arrays by name, in order; ``inputs``: dtype and shapes, which are undeclared where they differ."""

    call: Callable[..., Any]
    inputs: dict[str, tuple[str, tuple[int, ...], tuple[int, ...]]]
    wrong: str = ""  # an input whose first undeclared size is refused if it is another


def _rotary(q, sin, cos):
    return I.fused_rotary_position_embedding(q, None, None, sin, cos)[0]


def _rotary_at(q, sin, cos, positions):
    return I.fused_rotary_position_embedding(q, None, None, sin, cos, positions)[0]


def _gated(query, weight, out, bias, mask, nonbatched):
    return I.fused_gate_attention(
        query, None, None, None, None, weight, None, None, out, bias, nonbatched, mask, has_gating=False
    )


def _padded(q, lengths, key_lengths, mask):
    return I.variable_length_memory_efficient_attention(q, q, q, lengths, key_lengths, mask)


def _masked(x, cache, lengths, mask):
    return I.masked_multihead_attention(x, cache, None, mask, None, lengths)[0]


def _blocks(qkv, keys, values, prompts, before, new, tables, rope, mask):
    lengths = prompts, before, new, None, None, None, None, tables
    return I.block_multihead_attention(qkv, keys, values, *lengths, rope_emb=rope, mask=mask, block_size=ROWS)[0]


def _transformer(x, mask, norm, qkv, linear, first, second):
    more = [second], None
    return I.fused_multi_transformer(
        x, [norm], None, [qkv], None, [linear], None, [norm], None, [first], None, *more, attn_mask=mask
    )


def f(small, large=None):
    return "float32", small, large or small


def i(small, large=None):
    return "int32", small, large or small


CASES = {
    "rotary": Case(_rotary, {
        "q": f((1, S, H, D), (B, S + 1, H, D)), "sin": f((1, S, 1, D), (1, S + 1, 1, D)),
        "cos": f((1, S, 1, D), (1, S + 1, 1, D)),
    }),
    "rotary at positions": Case(_rotary_at, {
        "q": f((1, S, H, D), (B, S + 1, H, D)), "sin": f((1, 1, 1, D), (1, 9, 1, D)),
        "cos": f((1, 1, 1, D), (1, 9, 1, D)), "positions": i((1, S), (B, S + 1)),
    }),
    "gate attention": Case(_gated, {
        "query": f((2, 3, S, 6), (1, 1, S, 6)), "weight": f((3, H, D, 6)), "out": f((H, D, 5)), "bias": f((5,)),
        "mask": f((1, 3, H, 1, S), (1, 1, 1, S, S)), "nonbatched": f((2, 1, 1, S, S), (1, 1, H, S, S)),
    }),
    "gate attention, one mask": Case(_gated, {
        "query": f((2, 3, S, 6), (2, 1, S, 6)), "weight": f((3, H, D, 6)), "out": f((H, D, 5)), "bias": f((5,)),
        "mask": f((1, 1, H, 1, S), (2, 1, 1, S, S)), "nonbatched": f((1, 1, 1, S, S), (2, 1, H, S, S)),
    }),
    "padded sequences": Case(_padded, {
        "q": f((1, H, S, D), (B, H, S, D)), "lengths": i((1, 1), (B, 1)), "key_lengths": i((1, 1), (B, 1)),
        "mask": f((1, 1, S, S), (B, H, S, S)),
    }, "lengths"),
    "transformer": Case(_transformer, {
        "x": f((1, S, 6), (B, S + 1, 6)), "mask": f((1, 1, S, S), (B, H, S + 1, S + 1)), "norm": f((6,)),
        "qkv": f((3, H, D, 6)), "linear": f((H * D, 6)), "first": f((6, 5)), "second": f((5, 6)),
    }),
    "a token of each sequence": Case(_masked, {
        "x": f((B, 3 * H * D), (2, 3 * H * D)), "cache": f((2, B, H, S, D), (2, 2, H, S, D)),
        "lengths": i((B, 1), (2, 1)), "mask": f((1, 1, 1, S), (2, H, 1, S)),
    }, "lengths"),
    "blocks": Case(_blocks, {
        "qkv": f((B * 2, 3 * H * D), (2 * 2, 3 * H * D)), "keys": f((6, H, ROWS, D), (5, H, ROWS, D)),
        "values": f((6, H, ROWS, D), (5, H, ROWS, D)), "prompts": i((B, 1), (2, 1)), "before": i((B, 1), (2, 1)),
        "new": i((B, 1), (2, 1)), "tables": i((B, 2), (2, 2)), "rope": f((2, 1, 8, 1, D // 2), (2, 2, 9, 1, D // 2)),
        "mask": f((1, 1, 2, 8), (2, H, 2, 9)),
    }, "prompts"),
}  # fmt: skip


def arrays(name: str, large: bool) -> dict[str, np.ndarray]:
    """Operands; integers are lengths of 2 tokens, places, or blocks each of which is one sequence's."""
    rng = np.random.default_rng(7)
    found = {}
    for key, (dtype, *shapes) in CASES[name].inputs.items():
        shape = shapes[large]
        if dtype == "float32":
            found[key] = rng.standard_normal(shape).astype(dtype)
        elif key == "tables":
            found[key] = np.arange(np.prod(shape), dtype=dtype).reshape(shape)
        elif key in ("before", "positions"):
            found[key] = np.zeros(shape, dtype)
        else:
            found[key] = np.full(shape, 2, dtype)
    return found


def specs(name: str) -> list[InputSpec]:
    return [
        InputSpec([None if m != n or m == 1 else m for m, n in zip(small, large, strict=True)], dtype, key)
        for key, (dtype, small, large) in CASES[name].inputs.items()
    ]


SLOW = "rotary at positions", "gate attention, one mask", "transformer", "a token of each sequence", "blocks"
NAMES = [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in CASES]


@pytest.mark.parametrize("name", NAMES)
def test_results_are_those_of_a_call(name, tmp_path):
    case = CASES[name]
    path = str(tmp_path / "model")
    paddle.jit.save(paddle.jit.to_static(case.call, full_graph=True), path, specs(name))
    loaded = paddle.inference.create_predictor(paddle.inference.Config(path + ".json", ""))
    main = paddle.static.Program()
    paddle.enable_static()
    try:
        with paddle.static.program_guard(main, paddle.static.Program()):
            y = case.call(*(paddle.static.data(s.name, s.shape, s.dtype) for s in specs(name)))
    finally:
        paddle.disable_static()
    for large in (True, False):
        given = arrays(name, large)
        wanted = case.call(*map(paddle.to_tensor, given.values())).numpy()
        for got in (
            paddle.static.Executor().run(main, given, [y])[0],
            loaded.run([paddle.to_tensor(x) for x in arrays(name, large).values()])[0].numpy(),
        ):
            np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)
    if case.wrong:
        given[case.wrong] = np.full((given[case.wrong].shape[0], 2), 1, "int32")
        with pytest.raises(ValueError, match=f"requires {case.wrong}_1 == 1"):
            loaded.run([paddle.to_tensor(x) for x in given.values()])
