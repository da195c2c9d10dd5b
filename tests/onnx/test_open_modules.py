"""Operators of PaddlePaddle's files over images of any size, against our own."""

from __future__ import annotations

import zlib

import numpy as np
import onnx
import pytest

from paddle.onnx.convert import convert
from paddle.static.formats.graph import Attribute, Module, TensorType
from tests.onnx.conftest import run
from tests.onnx.inputs import Maker
from tests.onnx.test_modules import ours, program

POOL = {
    "kernel_size": [3, 2], "strides": [2, 2], "paddings": [0, 0], "ceil_mode": False, "exclusive": True,
    "data_format": "NCHW", "pooling_type": "max", "global_pooling": False, "adaptive": False,
    "padding_algorithm": "EXPLICIT",
}  # fmt: skip
CONV = {
    "strides": [2, 2], "paddings": [0, 0], "padding_algorithm": "SAME", "dilations": [1, 1], "groups": 1,
    "data_format": "NCHW",
}  # fmt: skip
# Name → operator, attributes, and shapes of operands behind the image.
CASES = {
    "max ceil": ("pool2d", POOL | {"ceil_mode": True}, []),
    "max ceil padded": ("pool2d", POOL | {"ceil_mode": True, "paddings": [1, 1]}, []),
    "mean ceil": ("pool2d", POOL | {"ceil_mode": True, "pooling_type": "avg"}, []),
    "mean ceil padded": ("pool2d", POOL | {"ceil_mode": True, "pooling_type": "avg", "paddings": [1, 1]}, []),
    "mean ceil of padding": (
        "pool2d", POOL | {"ceil_mode": True, "pooling_type": "avg", "paddings": [1, 1], "exclusive": False}, [],
    ),
    "max same": ("pool2d", POOL | {"padding_algorithm": "SAME"}, []),
    "mean same": ("pool2d", POOL | {"padding_algorithm": "SAME", "pooling_type": "avg"}, []),
    "mean adaptive": ("pool2d", POOL | {"adaptive": True, "kernel_size": [3, 2], "pooling_type": "avg"}, []),
    "max adaptive": ("pool2d", POOL | {"adaptive": True, "kernel_size": [2, 3]}, []),
    "conv same": ("conv2d", CONV, [(4, 3, 3, 2)]),
    "maxout": ("maxout", {"groups": 3, "axis": 1}, []),
}  # fmt: skip


def opened(module: Module) -> Module:
    """The same with images of any size, and what is made of them."""
    image, *rest = module.block.operations
    for o in (image, *rest):
        if o is image or not o.name.endswith("data"):
            for r in o.results:
                r.type = TensorType(r.type.dtype, tuple(-1 if i > 1 else n for i, n in enumerate(r.type.shape)))
    image.attributes["shape"] = Attribute("intarray", image.results[0].type.shape)
    return module


@pytest.mark.parametrize("opset", [11, 21])
@pytest.mark.parametrize("name", sorted(CASES))
def test_an_operator_takes_images_of_any_size(name, opset):
    op, attributes, shapes = CASES[name]
    m = Maker(zlib.crc32(name.encode()))
    others = [m.N(*s) for s in shapes]
    model = None
    for sizes in ((7, 6), (8, 9), (6, 6)):
        x = m.N(2, 3, *sizes)
        wanted = ours(op, [x, *others], attributes, 1)
        module, inputs = program(op, [x, *others], attributes, wanted)
        if model is None:
            model = convert(opened(module), {}, opset)
            onnx.checker.check_model(model, full_check=True)
        np.testing.assert_allclose(run(model, inputs)[0], wanted[0], rtol=1e-4, atol=1e-5, strict=True)
