"""Programs whose operations lack something, or have something else: a model or a clear error, never another one."""

from __future__ import annotations

import random

import pytest

from paddle.onnx.convert import Refused, convert
from paddle.static.formats import pir
from paddle.static.formats.graph import Attribute, Module, Operation, Result
from tests.onnx.conftest import records

OTHERS = (
    Attribute("i64", -1), Attribute("i64", 99), Attribute("str", "x"), Attribute("bool", True), Attribute("array", ()),
    Attribute("f32", 0.5),
)  # fmt: skip


def damage(module: Module, random: random.Random) -> None:
    operations = [o for o in module.block.walk() if o.name not in ("pd_op.data", "pd_op.fetch")]
    o = random.choice(operations)
    kind = random.choice(["absent", "fewer", "lost", "other", "wired"])
    if kind == "absent" and o.operands:
        o.operands[random.randrange(len(o.operands))] = None
    elif kind == "fewer" and o.operands:
        o.operands.pop()
    elif kind == "lost" and o.attributes:
        del o.attributes[random.choice(list(o.attributes))]
    elif kind == "other" and o.attributes:
        o.attributes[random.choice(list(o.attributes))] = random.choice(OTHERS)
    elif o.operands:
        made = [r.number for p in module.block.operations for r in p.results]
        o.operands[random.randrange(len(o.operands))] = random.choice(made)


def outcome(module: Module, opset: int) -> str:
    """The words of the error, none for a model."""
    try:
        convert(module, {}, opset)
    except ValueError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("opset", [11, 17, 21])
def test_a_damaged_program_is_a_model_or_an_error(opset):
    generator = random.Random(opset)
    found = []
    for name in generator.sample(sorted(records()), 150):
        module = pir.read(records()[name].program)
        for _ in range(generator.choice([1, 2])):
            damage(module, generator)
        found.append(outcome(module, opset))
    errors = [text for text in found if text]
    assert 20 < len(errors) < 130
    assert all(text.startswith("[convert] requires ") for text in errors)


def test_parts_of_what_cannot_be_said_are_not_named():
    module = pir.read(records()["unbind"].program)
    (o,) = module.named("pd_op.unbind")
    o.name = "pd_op.unheard_of"
    with pytest.raises(Refused, match=r"pd_op\.unheard_of: needs what ONNX has no operators for") as caught:
        convert(module, {}, 17)
    assert "split" not in str(caught.value)


def test_a_part_of_a_list_is_taken_by_its_number():
    module = pir.read(records()["unbind"].program)
    (o,) = module.named("builtin.split")
    last = o.results[1]
    module.block.operations[module.block.operations.index(o)] = Operation(
        "builtin.slice", o.operands, {"index": Attribute("i32", 1)}, [Result(last.number, last.type)]
    )
    fetches = module.named("pd_op.fetch")
    module.block.operations.remove(fetches[0])
    assert [y.name for y in convert(module, {}, 17).graph.output] == ["fetch_name_1"]
    o = module.named("builtin.slice")[0]
    o.attributes["index"] = Attribute("i32", 7)
    with pytest.raises(ValueError, match=r"operands and attributes that builtin\.slice has, got IndexError"):
        convert(module, {}, 17)
