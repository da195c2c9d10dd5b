"""Operators of mixtures of experts and of attention that the reference has for GPUs alone."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle import _C_ops
from paddle.incubate.nn import functional as IF
from paddle.nn import functional as F
from paddle.static.formats.graph import Attribute, Operation
from paddle.static.formats.operators.table import TABLE


def normal(*shape, seed=0):
    return paddle.to_tensor(np.random.RandomState(seed).standard_normal(shape).astype("float32"))


def attribute(x):
    if isinstance(x, list):
        return Attribute("array", tuple(map(attribute, x)))
    return Attribute({bool: "bool", int: "i64", float: "f64", str: "str"}[type(x)], x)


X, G, I32 = normal(6, 4), F.softmax(normal(6, 3, seed=1)), "int32"
PLACES = paddle.to_tensor([[0, 1], [2, 3], [4, 5], [0, 5]], I32)
ROUTES, PROBS = paddle.to_tensor([[0, 1], [1, -1], [2, 0], [0, -1], [1, 2], [2, -1]], I32), normal(6, 2, seed=2)
WEIGHTS, Q, COLUMNS = normal(4, 2, seed=3), normal(2, 4, 2, 8), paddle.full([2, 1, 4, 1], 4, I32)
LENGTHS, BIAS = paddle.to_tensor([3, 1], I32), normal(1, 1, 4, 4)
TABLES = [normal(1, 4, 1, 4, seed=s) for s in (5, 6)]
WIDE = normal(2, 512).astype("bfloat16")
CODES, SCALES = IF.fp8_quant_blockwise(WIDE)
SQUARE = normal(1, 2, 4, 8)
OFFSETS, EACH = (paddle.to_tensor([[v, v]], I32) for v in ([0, 2, 4, 6, 8], [0, 1, 0, 1, 2, 3, 2, 3]))

CASES = [
    ("batched_gemm", [X, normal(2, 4, 5)], {"batch_sizes": [2, 4], "trans_lhs": False, "trans_rhs": False},
     lambda: IF.batched_gemm(X, normal(2, 4, 5), [2, 4])),
    ("moe_gate_dispatch", [X, G, None], {"k": 2, "capacity": 3, "use_pad": True},
     lambda: IF.moe_gate_dispatch(X, G, None, 2, 3, True)),
    ("moe_gate_dispatch_permute", [X, G, None], {"k": 2, "capacity": 3, "world_size": 1},
     lambda: IF.moe_gate_dispatch_permute(X, G, None, 2, 3, 1)),
    ("moe_gate_dispatch_partial_nosoftmaxtopk", [X, *G.topk(2)],
     {"k": 2, "capacity": 3, "num_experts": 3, "use_pad": False, "expert_start_index": 1, "expert_end_index": 3,
      "reverse_token_drop": True},
     lambda: IF.moe_gate_dispatch_partial_nosoftmaxtopk(
         X, G.topk(2)[0], G.topk(2)[1].astype(I32), 2, 3, 3, False, 1, 3, True)),
    ("moe_combine", [X, WEIGHTS, PLACES], {}, lambda: IF.moe_combine(X, WEIGHTS, PLACES)),
    ("moe_combine_no_weight", [X, WEIGHTS, PLACES], {"epsilon": 0.5},
     lambda: IF.moe_combine_no_weight(X, WEIGHTS, PLACES, 0.5)),
    ("moe_permute", [X, None, ROUTES, PROBS],
     {"num_experts": 3, "tokens_per_expert": [3, 3, 3], "padding_alignment": 4, "do_gather": True,
      "using_ue8m0_scale": False, "return_expert_indices": True},
     lambda: F.moe_permute(X, None, ROUTES, PROBS, 3, [3, 3, 3], 4, return_expert_indices=True)),
    ("cal_aux_loss", [G, paddle.to_tensor([3, 2, 1]), None, None],
     {"num_experts": 3, "use_group": True, "moe_k": 2, "clip_min": 1e-6},
     lambda: IF.cal_aux_loss(G, paddle.to_tensor([3, 2, 1]), None, None, 3, True, 2, 1e-6)),
    ("expand_modality_expert_id", [ROUTES],
     {"num_expert_per_modality": 2, "group_size": 3, "modality_offset": 1, "is_group_expert": True},
     lambda: IF.expand_modality_expert_id(ROUTES, 2, 3, 1, True)),
    ("build_src_rank_and_local_expert_id", [paddle.to_tensor([2, 0, 1, 3])],
     {"expert_num_global": [2, 0, 1, 3], "num_local_experts": 2},
     lambda: IF.build_src_rank_and_local_expert_id(paddle.to_tensor([2, 0, 1, 3]), [2, 0, 1, 3], 2)),
    ("fused_act_dequant", [CODES, SCALES.t()], {}, lambda: IF.fused_act_dequant(CODES, SCALES.t())),
    ("fused_weighted_swiglu_act_quant", [WIDE, PROBS[:2, :1]], {"using_pow2_scaling": True},
     lambda: IF.fused_weighted_swiglu_act_quant(WIDE, PROBS[:2, :1], True)),
    ("blha_get_max_len", [LENGTHS, LENGTHS + 4, paddle.ones([2])], {},
     lambda: IF.blha_get_max_len(LENGTHS, LENGTHS + 4, paddle.ones([2]))),
    ("flashmask_attention", [Q, Q, Q, COLUMNS, None], {"dropout": 0.0, "causal": True},
     lambda: F.flashmask_attention(Q, Q, Q, COLUMNS, causal=True)),
    ("fused_dot_product_attention", [Q, Q, Q, BIAS, None, None],
     {"scaling_factor": 0.5, "dropout_probability": 0.0, "is_training": True, "mask_type_str": "none",
      "bias_type_str": "pre_scale_bias"},
     lambda: F.scaled_dot_product_attention(Q, Q, Q, BIAS * 0.5, scale=0.5)),
    ("fused_dot_product_attention", [Q, Q, Q, None, None, None],
     {"scaling_factor": 0.5, "dropout_probability": 0.9, "is_training": False, "mask_type_str": "causal"},
     lambda: F.scaled_dot_product_attention(Q, Q, Q, is_causal=True, scale=0.5)),
    ("sparse_attention", [SQUARE, SQUARE, SQUARE, OFFSETS, EACH, None, None], {},
     lambda: F.sparse_attention(SQUARE, SQUARE, SQUARE, OFFSETS, EACH)),
    ("fused_partial_rope", [Q[:1], *TABLES], {}, lambda: IF.fused_partial_rope(Q[:1], *TABLES)),
]  # fmt: skip


def same(found, wanted):
    found, wanted = (x if isinstance(x, (tuple, list)) else (x,) for x in (found, wanted))
    for a, b in zip(found, wanted, strict=False):
        assert a.dtype is b.dtype
        np.testing.assert_allclose(*(x.astype("float32").numpy() for x in (a, b)), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("name", "operands", "attributes", "wanted"), CASES, ids=[c[0] for c in CASES])
def test_operators(name, operands, attributes, wanted):
    """Read from a file, and called by their kernels' arguments."""
    operands = [x.astype(I32) if x is not None and x.dtype is paddle.int64 and "gate" in name else x for x in operands]
    o = Operation(f"pd_op.{name}", attributes={k: attribute(v) for k, v in attributes.items()})
    same(TABLE[o.name].call(o, list(operands)), wanted())
    same(getattr(_C_ops, name)(*operands, *attributes.values()), wanted())


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("method", ["1x128", "128x128"])
def test_codes_of_blocks(transposed, alone, method):
    """Codes and scales have the first two places, those of a transpose the others."""
    x = normal(256, 128).astype("bfloat16")
    attributes = {
        "epsilon": 0.0, "using_1x128_vec_quant": method == "1x128", "input_transpose": transposed,
        "output_scale_transpose": True, "return_transpose_only": alone, "using_e5m2": False,
        "using_pow2_scale": True, "using_ue8m0_scale": False,
    }  # fmt: skip
    o = Operation("pd_op.fp8_quant_blockwise", attributes={k: attribute(v) for k, v in attributes.items()})
    found = TABLE[o.name].call(o, [x])
    plain = IF.fp8_quant_blockwise(x, quant_method=method)
    other = IF.fp8_quant_blockwise(x.t(), quant_method=method) if transposed else (None, None)
    for a, b in zip(found, (*((None, None) if transposed and alone else plain), *other), strict=True):
        assert (a is None) == (b is None)
        if a is not None and b is not None:
            same(a, b)


def test_tokens_come_back():
    there = F.moe_permute(X, None, ROUTES, PROBS, 3, [3, 3, 3], 4)
    o = Operation("pd_op.moe_unpermute", attributes={
        "total_zipped_tokens_num": attribute(6), "num_experts": attribute(3), "use_mix_precision": attribute(True)
    })  # fmt: skip
    operands = [there[0], there[1], ROUTES, there[2]]
    same(TABLE[o.name].call(o, operands), F.moe_unpermute(*operands, 6, 3))


def test_masks_of_packed_sequences_and_slopes_are_refused():
    def called(lengths, **strings):
        attributes = {"scaling_factor": 0.5, "dropout_probability": 0.0, **strings}
        o = Operation("pd_op.fused_dot_product_attention", attributes={k: attribute(v) for k, v in attributes.items()})
        return TABLE[o.name].call(o, [Q, Q, Q, None, lengths, lengths])

    with pytest.raises(ValueError, match="requires whole sequences, got a mask 'padding'"):
        called(LENGTHS, mask_type_str="padding")
    with pytest.raises(ValueError, match="requires a bias that is given, got 'alibi'"):
        called(None, bias_type_str="alibi")
