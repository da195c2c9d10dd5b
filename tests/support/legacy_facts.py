"""What the reference's translator makes of its older operators, one by one, with and without their optional inputs.

    cd / && PYTHON_OF_THE_REFERENCE .../legacy_facts.py .../tests/data/legacy_operators.jsonl TYPE...

TYPE are the operators that are known here: ``TABLE`` of ``paddle.static.formats.legacy.table``.
Each line has the operator that was translated (its inputs, all of them parameters, and outputs by slot; attributes with
the number of their type) and the one that it became: operands as the names of inputs or as constants, attributes,
results as slots. An operator that it does not translate to one operation has no line.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from paddle.base import core, framework
from paddle.base.libpaddle import pir

UNSAID = {"op_role", "op_role_var", "op_namescope", "op_callstack", "op_device", "with_quant_attr", "use_quantizer"}
HELPERS = {
    *(f"builtin.{x}" for x in ("parameter", "combine", "split", "set_parameter", "shadow_output")), "pd_op.full",
    "pd_op.full_int_array",
}  # fmt: skip
TEXT = {
    "data_format": "NCHW", "data_layout": "NCHW", "padding_algorithm": "EXPLICIT", "mode": "bilinear",
    "str_value": "2.5", "rtol": "0.5", "atol": "0.25",
}  # fmt: skip
# By the number of an attribute's type, and its place among the operator's.
VALUES = {
    0: lambda k: 3 + k, 1: lambda k: 0.5 + k, 3: lambda k: [10 + k, 11 + k], 4: lambda k: [0.25 + k, 0.75 + k],
    5: lambda k: [f"text{k}"], 6: lambda k: k % 2 == 0, 7: lambda k: [True, False], 9: lambda k: 1000 + k,
    11: lambda k: [1000 + k, 2000 + k],
}  # fmt: skip


def given(proto: Any, optional: bool) -> dict[str, Any]:
    """A call: two variables for a slot of several."""
    call: dict[str, Any] = {"inputs": {}, "outputs": {}, "attributes": {}}
    for x in proto.inputs:
        if optional or not x.dispensable:
            call["inputs"][x.name] = [f"{x.name}.{i}" for i in range(2)] if x.duplicable else [x.name]
    for y in proto.outputs:
        call["outputs"][y.name] = [f"{y.name}.out.{i}" for i in range(2)] if y.duplicable else [f"{y.name}.out"]
    for k, a in enumerate(proto.attrs):
        if a.name in UNSAID:
            continue
        if a.type == 2:
            call["attributes"][a.name] = [2, TEXT.get(a.name, f"text{k}")]
        elif a.type in VALUES:
            call["attributes"][a.name] = [a.type, 2 if "dtype" in a.name and a.type == 0 else VALUES[a.type](k)]
    return call


def program(kind: str, call: dict[str, Any]) -> Any:
    """The program of a call."""
    made = core.ProgramDesc()
    block = made.block(0)
    outputs = [n for names in call["outputs"].values() for n in names]
    for name in [n for names in call["inputs"].values() for n in names] + outputs:
        v = block.var(name.encode())
        v.set_type(core.VarDesc.VarType.DENSE_TENSOR)
        v.set_dtype(core.VarDesc.VarType.FP32)
        v.set_persistable(name not in outputs)
        v.set_shape([100 + outputs.index(name)] if name in outputs else [2, 3, 4, 5])  # by which results are known
    op = block.append_op()
    op.set_type(kind)
    for slot, names in call["inputs"].items():
        op.set_input(slot, names)
    for slot, names in call["outputs"].items():
        op.set_output(slot, names)
    for name, (_, value) in call["attributes"].items():
        op._set_attr(name, value)
    return made


def operand(x: Any) -> Any:
    """An operand: the name of an input, a list of operands, or a constant."""
    if not x.initialized():
        return None
    maker = x.get_defining_op()
    if maker.name() == "builtin.parameter":
        return maker.attrs()["parameter_name"]
    if maker.name() == "builtin.combine":
        return [operand(y) for y in maker.operands_source()]
    if maker.name() in ("pd_op.full", "pd_op.full_int_array"):
        return {"constant": maker.attrs()["value"]}
    raise ValueError(maker.name())


def result(x: Any, outputs: list[str]) -> Any:
    """A result: the name of the variable that it is."""
    if not x.initialized():
        return None
    if parts := x.type().as_vec_type():
        return [outputs[int(str(p).removeprefix("tensor<").partition("x")[0]) - 100] for p in parts.as_list()]
    shape = x.shape
    return outputs[shape[0] - 100] if len(shape) == 1 and 100 <= shape[0] < 100 + len(outputs) else "?"


def translated(kind: str, call: dict[str, Any]) -> dict[str, Any] | None:
    """What one call becomes, where that is one operation."""
    try:
        module = pir.translate_to_pir(program(kind, call))
        found = [o for o in module.global_block().ops if o.name() not in HELPERS]
        if len(found) != 1:
            return None
        operands = [operand(x) for x in found[0].operands_source()]
    except (RuntimeError, ValueError, NotImplementedError, TypeError):
        return None
    outputs = [n for names in call["outputs"].values() for n in names]
    attributes = {}
    for name, value in found[0].attrs().items():
        if name not in ("stop_gradient", "persistable", "op_callstack", "place", "struct_name"):
            attributes[name] = value if isinstance(value, (bool, int, float, str, list)) else str(value)
    results = [result(x, outputs) for x in found[0].results()]
    return {"name": found[0].name(), "operands": operands, "attributes": attributes, "results": results}


def main(path: str, kinds: list[str]) -> None:
    protos = framework.OpProtoHolder.instance().op_proto_map
    with open(path, "w") as file:
        for kind in sorted(kinds):
            if kind not in protos:
                continue
            for optional in (False, True):
                call = given(protos[kind], optional)
                if optional and call["inputs"] == given(protos[kind], False)["inputs"]:
                    continue
                read, write = os.pipe()
                if not os.fork():  # some calls end the process
                    try:
                        os.write(write, json.dumps(translated(kind, call), default=str).encode())
                    finally:
                        os._exit(0)
                os.close(write)
                with os.fdopen(read) as answer:
                    text = answer.read()
                os.wait()
                if text and (became := json.loads(text)):
                    file.write(json.dumps({"type": kind, "call": call, "became": became}, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
