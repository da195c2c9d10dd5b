"""Random calls of attention and of fused operators in every mode. ``docs/design/fuzzing.md`` has the counts."""

from __future__ import annotations

import re
from collections import Counter

import pytest

import paddle
import paddle.incubate.nn as nn
import paddle.incubate.nn.functional as FF
from paddle.jit.sot.psdb import in_sot
from paddle.nn import quant
from tests.fuzz.calls.modes import Failure
from tests.fuzz.fused.check import FAMILIES, MODES, calls_of, check

SAMPLE = (5, 12, 20)
ALL, CHUNK = 2_000, 50

pytestmark = pytest.mark.usefixtures("slow_kept_nowhere")

# Called by programs of the kind "language", or by nets of their own.
ELSEWHERE = {
    "batched_gemm", "block_multihead_attention", "cal_aux_loss", "cross_entropy_with_softmax_bwd_w_downcast",
    "embedding_grad_add_to_", "fused_dot_product_attention",
    "fp8_gemm_blockwise", "fp8_quant_blockwise", "fused_act_dequant", "fused_feedforward", "fused_gate_attention",
    "fused_multi_head_attention", "fused_multi_transformer", "fused_stack_transpose_quant", "fused_swiglu_weighted_bwd",
    "fused_transpose_split_quant", "fused_weighted_swiglu_act_quant", "masked_multihead_attention", "moe_combine",
    "moe_combine_no_weight", "moe_gate_dispatch", "moe_gate_dispatch_and_quant",
    "moe_gate_dispatch_partial_nosoftmaxtopk", "moe_gate_dispatch_permute", "weight_quantize",
}  # fmt: skip
# Layers that stand for an operator in quantised models, which compute nothing of their own.
PLAIN = {
    "FloatFunctionalLayer", "Stub", "add", "concat", "divide", "flatten", "matmul", "multiply", "reshape",
    "subtract", "transpose",
}  # fmt: skip


@pytest.mark.parametrize("seed", SAMPLE)
def test_a_sample(seed):
    tally: Counter[str] = Counter()
    check(seed, tally)
    assert tally["calls"] == tally["eager"] == tally["strided"] == tally["captured"] == tally["one graph"] == 1
    assert tally["saved"] == tally["predicted"] == 1


def test_all_families_eagerly():
    for seed in range(2 * len(FAMILIES)):
        check(seed, Counter(), "eager")


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, ALL, CHUNK))
def test_all(first):
    for seed in range(first, first + CHUNK):
        check(seed, Counter())


@pytest.mark.parametrize("what", ["flash_attn_varlen_qkvpacked .* padded=True", "v3_varlen .* used=True"])
def test_sequences_are_saved_with_an_open_number(what):
    drawn = ((seed, calls_of(seed, 2)) for seed in range(9_000))
    seed = next(
        s for s, calls in drawn if re.search(what, calls[0].text) and all(min(c.arrays[1].shape) for c in calls)
    )
    tally: Counter[str] = Counter()
    check(seed, tally, "saved")
    assert tally["saved"] == 1


def vars_of(module: object) -> dict[str, object]:
    return {name: getattr(module, name) for name in dir(module) if name[0] != "_" and name != "annotations"}


def test_every_public_name_is_called():
    called = {name for seed in range(40 * len(FAMILIES)) for name in calls_of(seed, 1)[0].names}
    flash = {name for name in dir(paddle.nn.functional.flash_attention) if name.startswith("fl")}
    public = {n for m in (FF, nn, quant) for n, x in vars_of(m).items() if callable(x)}
    assert public | flash == (called & (public | flash)) | (ELSEWHERE & public) | (PLAIN & public)
    assert not called & ELSEWHERE


@pytest.mark.parametrize("mode", MODES)
def test_a_defect_is_found(monkeypatch, mode):
    """In the second result alone, or in its gradient, of one mode alone."""
    drawn = ((seed, calls_of(seed, 1)[0]) for seed in range(9_000))
    seed = next(s for s, c in drawn if c.names == ("fused_rms_norm_ext",) and min(c.arrays[0].shape) > 1)
    norm = FF.fused_rms_norm_ext

    def wrong(x: paddle.Tensor, *rest: object) -> tuple:
        y, factors = norm(x, *rest)
        if mode == "loaded gradient":  # files do not say where gradients stop
            return y, factors * 1.5
        if "gradient" in mode:
            return y, factors + factors.detach() - factors if in_sot() == (mode != "gradient") else factors
        here = {
            "float32": x.dtype == paddle.float32, "float16": x.dtype == paddle.float16,
            "bfloat16": x.dtype == paddle.bfloat16, "captured": in_sot(),
            "strided": mode == "strided" and not x.is_contiguous(),
        }.get(mode, True)  # fmt: skip
        return y, factors * 1.5 if here else factors

    monkeypatch.setattr(FF, "fused_rms_norm_ext", wrong)
    with pytest.raises(Failure, match=f": {mode}: .*slope" if "gradient" in mode else f"{mode}.*result 1"):
        check(seed, Counter(), mode)
