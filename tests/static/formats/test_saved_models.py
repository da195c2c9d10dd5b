"""Models that are saved come back the same; what they are in the reference is compared by ``tests/oracle``."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

import paddle
from paddle.static.formats import pir
from paddle.static.formats.graph import reads
from tests.oracle import saved_models as comparison
from tests.static.formats.test_translate import check_forms
from tests.support import saved_models

SLOW = {*saved_models.VISION, "PP-YOLO", "vision transformer", "U-Net", "spatial transformer", "ERNIE", "GPT"}
SLOW.update(f"{n}, images of any size" for n in ("ResNet-18", "MobileNetV3", "U-Net"))
NAMES = [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in saved_models.CASES]


@pytest.mark.parametrize("name", NAMES)
def test_a_model_comes_back(name, tmp_path):
    saved_models.save(str(tmp_path), name)
    prefix = saved_models.file_of(str(tmp_path), name)
    with open(prefix + ".json") as file:
        check_forms(pir.read(json.load(file)))
    found = saved_models.compared(str(tmp_path), name)
    assert found["alike"] and found["error"] < 1e-5
    shutil.rmtree(tmp_path)


def test_all_models_are_in_the_table():
    page = comparison.PAGE.read_text()
    begin, end = comparison.table(page)
    rows = [line.strip("| ").split(" | ") for line in page[begin:end].splitlines()]
    assert [row[0] for row in rows] == list(saved_models.CASES)
    assert all(float(x) <= comparison.MOST for row in rows for x in row[1:])


@pytest.mark.parametrize("width", [1, 8])
@pytest.mark.parametrize("sizes", [(2, 3), (2, 0), (0, 3), (0, 0)], ids=str)
def test_reshapes_of_empty_tensors(sizes, width, tmp_path):
    """In files 0 stands for the size that is there, but in a shape of an empty tensor."""

    class Net(paddle.nn.Layer):
        def forward(self, x):
            heads = x.tile([1, 1, 8 // width]).reshape([x.shape[0], x.shape[1], 2, 4])
            rows = heads.transpose([0, 2, 1, 3]).reshape([x.shape[0], 1, 2 * x.shape[1], 4])
            flat, few = x.flatten(0, 1), x[:, :, :1].unsqueeze(1).reshape([x.shape[0], x.shape[1], 1])
            return heads, rows, flat, few, paddle.unflatten(flat, 0, x.shape[:2])

    net, path = Net(), str(tmp_path / "m")
    net.eval()
    paddle.jit.save(net, path, [paddle.static.InputSpec([None, None, width], "float32")])
    x = paddle.arange(width * sizes[0] * sizes[1], dtype="float32").reshape([*sizes, width])
    for found, expected in zip(paddle.jit.load(path)(x), net(x), strict=True):
        assert found.shape == expected.shape
        np.testing.assert_array_equal(found.numpy(), expected.numpy())


def test_float16_beside_numbers(tmp_path):
    """PaddlePaddle has kernels of ``add``, ``subtract`` and ``multiply`` on processors for other dtypes only."""

    def forward(x):
        h = x.astype("float16")
        n = x.shape[0]
        return h * 0.1, 3 * h, h + True, 0.1 - h, h - 2, h * n, n - h, h + n, h / 3, 1.5 / (h + 8), h / n

    path = str(tmp_path / "m")
    paddle.jit.save(
        paddle.jit.to_static(forward, full_graph=True), path, [paddle.static.InputSpec([None, 4], "float32")]
    )
    x = paddle.linspace(-5, 5, 4000).reshape([-1, 4])
    for found, expected in zip(paddle.jit.load(path)(x), forward(x), strict=True):
        assert found.dtype == paddle.float16
        np.testing.assert_array_equal(found.numpy(), expected.numpy())
    with open(path + ".json") as file:
        operations = pir.read(json.load(file)).block.operations
    names = [o.name.removeprefix("pd_op.") for o in operations]
    assert names.count("scale") == 6
    types = {r.number: r.type.dtype for o in operations for r in o.results}
    narrow = {o.name for o in operations if any(types.get(n) == "float16" for n in reads(o))}
    assert "pd_op.scale" in narrow and not {"pd_op.add", "pd_op.multiply", "pd_op.subtract", "pd_op.divide"} & narrow
