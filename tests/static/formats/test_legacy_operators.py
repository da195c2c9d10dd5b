"""What operators of older programs become: as the reference's translator says, operator by operator."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from paddle.static.formats.graph import COMBINE, PARAMETER, SPLIT, Operation, TensorType
from paddle.static.formats.legacy import program, refused
from paddle.static.formats.legacy.table import TABLE
from paddle.static.formats.legacy.translate import module_of

FACTS = [
    json.loads(line) for line in (Path(__file__).parents[2] / "data/legacy_operators.jsonl").read_text().splitlines()
]

# Operators that become something else here than in the reference, and why.
OTHERWISE = {
    **dict.fromkeys(["memcpy", "memcpy_d2h", "npu_identity", "share_data", "c_identity", "depend"], "only moves"),
    **dict.fromkeys(["feed", "fetch", "fetch_v2"], "data and fetch of modules"),
    **{f"reduce_{x}": "it loses reduce_all" for x in ("max", "mean", "min", "prod", "sum")},
    **dict.fromkeys(["conv2d_transpose", "depthwise_conv2d_transpose"], "it loses a bias"),
    **dict.fromkeys(["conv2d_transpose_bias", "depthwise_conv2d_bias", "fused_conv2d_add_act"], "several operations"),
    **{f"fused_elementwise_{x}": "several operations" for x in ("add", "sub", "mul", "div")},
    **{k: "several operations" for k, meaning in TABLE.items() if "fused" in getattr(meaning, "__module__", "")},
    "affine_channel": "several operations", "select_input": "a branch, see test_legacy_programs",
    "reshape": "reshape, not an operator of its own", "reverse": "flip", "range_v2": "arange",
    "rnn": "no state of a dropout", "im2sequence": "offsets of its rows as well",
}  # fmt: skip
SAME = [f for f in FACTS if f["type"] not in OTHERWISE]

# Attributes that say how the reference computes, not what.
HOW = {"mkldnn_data_type", "onednn_data_type", "use_cudnn", "workspace_size_MB", "im2col_step"}


def outputs_of(fact: dict[str, Any]) -> list[str]:
    return [n for names in fact["call"]["outputs"].values() for n in names]


def legacy(fact: dict[str, Any]) -> program.LegacyProgram:
    call = fact["call"]
    o = program.Operator(fact["type"], call["inputs"], call["outputs"])
    for name, (kind, value) in call["attributes"].items():
        o.attributes[name], o.kinds[name] = value, kind
    variables = {}
    for names in call["inputs"].values():
        for n in names:
            variables[n] = program.Variable(n, program.DENSE, TensorType("float32", (2, 3, 4, 5)), persistable=True)
    for i, n in enumerate(outputs_of(fact)):
        variables[n] = program.Variable(n, program.DENSE, TensorType("float32", (100 + i,)))  # by which it is known
    return program.LegacyProgram([program.LegacyBlock(-1, variables, [o])])


def became(fact: dict[str, Any]) -> dict[str, Any]:
    """What it becomes here, in the form of the facts."""
    module = module_of(program.read(program.write(legacy(fact))))
    made = {r.number: o for o in module.block.operations for r in o.results}
    outputs = outputs_of(fact)
    main: list[Operation] = []

    def operand(n: int | None) -> Any:
        if n is None:
            return None
        o = made[n]
        if o.name == PARAMETER:
            return o.plain("parameter_name")
        if o.name == COMBINE:
            return [operand(x) for x in o.operands]
        assert o.name in ("pd_op.full", "pd_op.full_int_array"), o.name
        return {"constant": o.plain("value")}

    for o in module.block.operations:
        if o.name not in (PARAMETER, COMBINE, SPLIT, "pd_op.full", "pd_op.full_int_array"):
            main.append(o)
    (o,) = main

    def result(type: Any) -> Any:
        if isinstance(type, TensorType):
            return outputs[type.shape[0] - 100]
        return None if type is None else [result(x) for x in type]

    return {
        "name": o.name, "operands": [operand(n) for n in o.operands],
        "attributes": {k: o.plain(k) for k in o.attributes}, "results": [result(r.type) for r in o.results],
    }  # fmt: skip


def same(here: Any, there: Any) -> bool:
    """Are two operands, or attributes, the same? A list of one tensor is that tensor."""
    if isinstance(there, list) and len(there) == 1 and not isinstance(here, list):
        return same(here, there[0])
    if isinstance(here, list):
        return isinstance(there, list) and len(here) == len(there) and all(map(same, here, there))
    if isinstance(here, dict):
        return isinstance(there, dict) and same(here["constant"], there["constant"])
    if isinstance(there, str) and there.startswith("paddle."):
        return here == there.removeprefix("paddle.")
    return here == pytest.approx(there) if isinstance(there, float) else here == there


@pytest.mark.parametrize("fact", SAME, ids=[f"{f['type']}-{len(f['call']['inputs'])}" for f in SAME])
def test_operator(fact: dict[str, Any]) -> None:
    here, there = became(fact), fact["became"]
    assert here["name"] == there["name"]
    operands = there["operands"]
    assert len(here["operands"]) == len(operands)
    assert all(map(same, here["operands"], operands)), (here["operands"], operands)
    for name, value in there["attributes"].items():
        if name not in HOW:
            assert name in here["attributes"], name
            assert same(here["attributes"][name], value), (name, here["attributes"][name], value)
    assert all(x == y or x is None for x, y in zip(here["results"], there["results"], strict=True)), (
        here["results"],
        there["results"],
    )


def test_operators_that_are_refused_with_a_reason_are_not_read() -> None:
    reasons = refused._REASONS
    assert not reasons.keys() & TABLE.keys()
    text = refused.described(["chunk_eval", "fc_xpu", "moe", "sgd", "tanh_grad"])
    device = "(of passes for a device or a library)"
    assert text == f"chunk_eval (of metrics), fc_xpu {device}, moe, sgd (of training), tanh_grad (of training)"


def test_the_guide_names_operators_that_are_not_read() -> None:
    page = (Path(__file__).parents[3] / "docs/guide/deployment.md").read_text()
    _, _, text = page.partition("Not read of\n2.6 are operators")
    names = set(re.findall(r"`(\w+)`", text.partition("An error names")[0]))
    assert len(names) > 10
    assert not names & TABLE.keys()
