"""Programs that PaddlePaddle saved as its version 2 did, exported: ONNX Runtime gives what PaddlePaddle gave."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from paddle.onnx.convert import convert
from paddle.static.formats import parameters, record
from paddle.static.formats.legacy.translate import read_pdmodel
from tests.onnx.conftest import run

RECORDED = np.load(Path(__file__).parents[1] / "data/legacy_programs.npz")
NAMES = sorted({key.partition("/")[0] for key in RECORDED.files} - {"separate"})


@pytest.mark.parametrize("name", NAMES)
def test_a_program(name: str) -> None:
    module = read_pdmodel(RECORDED[f"{name}/program"].tobytes())
    values = parameters.read(RECORDED[f"{name}/values"].tobytes(), record.parameter_names(module))
    model = convert(module, values, 17)
    onnx.checker.check_model(model, full_check=True)
    for i in {key.split("/")[2] for key in RECORDED.files if key.startswith(f"{name}/in/")}:
        begin = f"{name}/in/{i}/"
        given = run(model, {k.removeprefix(begin): RECORDED[k] for k in RECORDED.files if k.startswith(begin)})
        expected = [RECORDED[k] for k in RECORDED.files if k.startswith(f"{name}/out/{i}/")]
        assert len(given) == len(expected)
        for y, z in zip(given, expected, strict=True):
            assert y.shape == z.shape
            assert y.dtype == z.dtype
            np.testing.assert_allclose(y, z, rtol=1e-5, atol=1e-5)
