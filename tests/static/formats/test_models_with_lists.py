"""Lists of tensors in loops and branches, and slices that go backwards, in files of PaddlePaddle 2.6.2 and 3.3.1."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import paddle
from paddle.inference import Config, create_predictor

RECORDED = np.load(Path(__file__).parents[2] / "data/models_with_lists.npz")
MODELS = sorted(key.removesuffix("/program") for key in RECORDED.files if key.endswith("/program"))


def all_of(prefix: str) -> list[np.ndarray]:
    return [RECORDED[k] for k in sorted(k for k in RECORDED.files if k.startswith(prefix + "/"))]


def loaded(prefix: str, end: str):
    return paddle.jit.load(prefix)


def predicted(prefix: str, end: str):
    values = Path(prefix + ".pdiparams")
    predictor = create_predictor(Config(prefix + end, str(values) if values.exists() else ""))
    return lambda *xs: predictor.clone().run(list(xs))


@pytest.mark.parametrize("way", [loaded, predicted])
@pytest.mark.parametrize("model", MODELS)
def test_a_model_gives_what_it_gave(model, way, tmp_path):
    end = ".json" if model.startswith("3") else ".pdmodel"
    (tmp_path / ("m" + end)).write_bytes(RECORDED[f"{model}/program"].tobytes())
    if f"{model}/values" in RECORDED.files:
        (tmp_path / "m.pdiparams").write_bytes(RECORDED[f"{model}/values"].tobytes())
    run = way(str(tmp_path / "m"), end)
    runs = {key.split("/")[3] for key in RECORDED.files if key.startswith(f"{model}/in/")}
    for i in sorted(runs):
        found = run(*map(paddle.to_tensor, all_of(f"{model}/in/{i}")))
        expected = all_of(f"{model}/out/{i}")
        found = found if isinstance(found, (list, tuple)) else [found]
        assert len(found) == len(expected)
        for y, z in zip(found, expected, strict=True):
            assert (list(y.shape), y.numpy().dtype) == (list(z.shape), z.dtype)
            np.testing.assert_allclose(y.numpy(), z, rtol=1e-5, atol=1e-6)
