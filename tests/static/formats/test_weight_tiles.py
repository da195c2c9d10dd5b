"""Quantised weights in files of the reference, which stores them in the order of a GPU's tiles."""

from pathlib import Path

import numpy as np
import pytest

import paddle
from paddle.nn import quant
from paddle.static.formats.graph import Attribute, Operation
from paddle.static.formats.operators.table import TABLE

# By PaddlePaddle 3.3.1 on a processor (tests/support/weight_tiles.py): weight_quantize(weight, algo, arch), and the
# numbers [inputs, outputs] in it.
DATA = np.load(Path(__file__).parents[2] / "data" / "weight_tiles.npz")
CASES = sorted({name.rsplit(",", 1)[0] for name in DATA.files})


def called(name, operands, **attributes):
    kinds = {int: "i32", str: "str"}
    o = Operation(f"pd_op.{name}", attributes={k: Attribute(kinds[type(v)], v) for k, v in attributes.items()})
    return TABLE[o.name].call(o, operands)


def parts(case):
    kind, arch, _ = case.split(",")
    levels = DATA[f"{case},levels"].astype("float32")
    return kind, int(arch), levels, paddle.to_tensor(DATA[f"{case},stored"])


@pytest.mark.parametrize("case", CASES)
def test_numbers_of_the_reference(case):
    kind, arch, levels, stored = parts(case)
    scale = paddle.linspace(0.5, 2.0, levels.shape[1])
    x = paddle.to_tensor(np.random.RandomState(0).standard_normal((3, levels.shape[0])).astype("float32"))
    y = called("weight_only_linear", [x, stored, None, scale], weight_dtype=kind, arch=arch, group_size=-1)
    np.testing.assert_allclose(y.numpy(), x.numpy() @ (levels * scale.numpy()), rtol=1e-4, atol=1e-2)
    if arch >= 75:
        w = called("weight_dequantize", [stored, scale], algo=f"weight_only_{kind}", group_size=-1)
        np.testing.assert_allclose(w.numpy(), levels * scale.numpy(), rtol=1e-6)


@pytest.mark.parametrize("case", CASES)
def test_quantising_stores_as_the_reference(case):
    kind, arch, levels, stored = parts(case)
    assert (np.abs(levels).max(0) == {"int8": 127, "int4": 7}[kind]).all()  # so that scales are 1
    found, scale = called(
        "weight_quantize", [paddle.to_tensor(levels)], algo=f"weight_only_{kind}", arch=arch, group_size=-1
    )
    np.testing.assert_array_equal(found.numpy(), stored.numpy())
    np.testing.assert_array_equal(scale.numpy(), np.ones(levels.shape[1]))


def test_llm_int8_has_one_order():
    w = paddle.to_tensor(np.random.RandomState(0).standard_normal((32, 16)).astype("float32"))
    found, scale = called("weight_quantize", [w], algo="llm.int8", arch=80, group_size=-1)
    np.testing.assert_array_equal(found.numpy(), quant.weight_quantize(w, "llm.int8")[0].numpy())
    again = called("weight_dequantize", [found, scale], algo="llm.int8", group_size=-1)
    np.testing.assert_allclose(again.numpy(), w.numpy(), atol=0.02)


def test_inputs_without_tiles_are_refused():
    stored = paddle.zeros([16, 32], "int8")
    with pytest.raises(ValueError, match=r"arch=80 requires inputs divisible by 64, .*got 32"):
        called("weight_only_linear", [paddle.ones([1, 32]), stored, None, paddle.ones([16])], arch=80)
