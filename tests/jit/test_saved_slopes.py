"""prelu of a saved function whose number of slopes is open: one, or one for each channel, in every run."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle.nn.functional import prelu
from paddle.static import InputSpec

# Sizes in the spec, format of the data, shapes at which the model runs: all have 3 channels.
CASES = {
    "rows": ([None, 3], "NCHW", [[4, 3], [1, 3]]),
    "open channels": ([None, None], "NC", [[4, 3], [3, 3]]),
    "images": ([None, 3, 4, None], "NCHW", [[2, 3, 4, 3], [3, 3, 4, 1]]),
    "images with channels last": ([None, 4, None, None], "NHWC", [[2, 4, 1, 3], [1, 4, 3, 3]]),
}


def saved(x, data_format, path):
    spec = [InputSpec(x, "float32", "x"), InputSpec([None], "float32", "w")]
    paddle.jit.save(paddle.jit.to_static(lambda x, w: prelu(x, w, data_format), input_spec=spec, full_graph=True), path)
    return paddle.jit.load(path)


@pytest.mark.parametrize("case", CASES)
def test_every_number_of_slopes(case, tmp_path, rng):
    sizes, data_format, shapes = CASES[case]
    model = saved(sizes, data_format, str(tmp_path / "model"))
    for shape in shapes:
        x = paddle.to_tensor(rng.standard_normal(shape).astype("float32"))
        for slopes in (3, 1):
            w = paddle.to_tensor(rng.standard_normal(slopes).astype("float32"))
            np.testing.assert_allclose(model(x, w).numpy(), prelu(x, w, data_format).numpy(), rtol=1e-6)
        for slopes in (2, 4):
            with pytest.raises(ValueError, match=r"requires w_0 to be 1 or (3|x_\d); got"):
                model(x, paddle.ones([slopes]))


def test_without_channels_there_is_one_slope(tmp_path):
    model = saved([None], "NC", str(tmp_path / "model"))
    assert model(paddle.to_tensor([-2.0, 1.0]), paddle.to_tensor([0.5])).tolist() == [-1.0, 1.0]
    with pytest.raises(ValueError, match="requires w_0 to be 1"):
        model(paddle.ones([2]), paddle.ones([2]))
