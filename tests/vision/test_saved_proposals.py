"""generate_proposals in saved and exported models of open sizes: however many boxes data leave, none too."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle.static import InputSpec
from paddle.vision.ops import generate_proposals
from tests.onnx.conftest import run

NAMES = "scores", "moves", "sizes", "anchors", "variances"


class Proposed(paddle.nn.Layer):
    def __init__(self, least: float, images: int, before: int = 20, after: int = 6):
        super().__init__()
        self.images = images
        self.options = {"min_size": least, "pre_nms_top_n": before, "post_nms_top_n": after, "nms_thresh": 0.6}

    def forward(self, *given):
        return generate_proposals(*given, **self.options, return_rois_num=True)

    @property
    def spec(self):
        n, open_ = self.images, [None, None]
        shapes = [n, 2, *open_], [n, 8, *open_], [n, 2], [*open_, 2, 4], [*open_, 2, 4]
        return [InputSpec(s, "float32", name) for s, name in zip(shapes, NAMES, strict=True)]


def operands(images: int, rows: int, columns: int, rng) -> dict[str, np.ndarray]:
    corner = rng.uniform(0, 20, (rows, columns, 2, 2))
    anchors = np.concatenate([corner, corner + rng.uniform(4, 12, (rows, columns, 2, 2))], -1)
    drawn = (
        rng.uniform(0, 1, (images, 2, rows, columns)), rng.uniform(-0.1, 0.1, (images, 8, rows, columns)),
        np.full((images, 2), 32.0), anchors, np.ones_like(anchors),
    )  # fmt: skip
    return {name: x.astype("float32") for name, x in zip(NAMES, drawn, strict=True)}


# Least sizes that leave none, some and (almost) all; the numbers of boxes before are below 20, and above it.
@pytest.mark.parametrize("least", [100.0, 10.0, 1.0])
@pytest.mark.parametrize("images", [1, 2])
@pytest.mark.parametrize("way", ["saved", "exported"])
def test_as_eager_calls(way, least, images, tmp_path, rng):
    layer, path = Proposed(least, images), str(tmp_path / "model")
    if way == "saved":
        paddle.jit.save(layer, path, input_spec=layer.spec)
        loaded = paddle.jit.load(path)
        model = lambda given: [x.numpy() for x in loaded(*map(paddle.to_tensor, given.values()))]  # noqa: E731
    else:
        paddle.onnx.export(layer, path, input_spec=layer.spec)
        model = lambda given: run(path + ".onnx", given)  # noqa: E731
    for rows, columns in ((4, 5), (2, 3), (1, 1)):
        given = operands(images, rows, columns, rng)
        want = [x.numpy() for x in layer(*map(paddle.to_tensor, given.values()))]
        got = model(given)
        assert [x.shape for x in got] == [x.shape for x in want]
        for x, y in zip(got, want, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-5)
        if least == 100.0:
            assert want[2].tolist() == [1] * images
            assert not want[0].any()
            assert not want[1].any()
