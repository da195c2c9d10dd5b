"""Helpers of older programs for images."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from paddle.utils import image_util


def test_parts():
    image = np.arange(2 * 6 * 8).reshape(2, 6, 8)
    np.testing.assert_array_equal(image_util.crop_img(image, 4), image[:, 1:5, 2:6])
    assert image_util.crop_img(image, 10).shape == (2, 10, 10) and image_util.crop_img(image, 10).sum() == image.sum()
    np.random.seed(0)
    parts = {image_util.crop_img(image, 5, test=False).tobytes() for _ in range(400)}
    every = [image[:, t : t + 5, x : x + 5][:, :, ::s] for t in range(2) for x in range(4) for s in (1, -1)]
    assert parts == {part.tobytes() for part in every}
    rows = image_util.oversample([image.transpose(1, 2, 0)] * 2, (5, 4))
    assert rows.shape == (20, 5, 4, 2) and rows.dtype == np.float32
    np.testing.assert_array_equal(rows[5:10], rows[:5, :, ::-1])
    np.testing.assert_array_equal(rows[3], image.transpose(1, 2, 0)[1:, 4:])


def test_transformer():
    image = np.random.RandomState(0).rand(6, 8, 3)
    change = image_util.ImageTransformer(transpose=(2, 0, 1), channel_swap=(2, 1, 0), mean=[1.0, 2.0, 3.0])
    np.testing.assert_allclose(change.transformer(image), image.transpose(2, 0, 1)[::-1] - [[[1]], [[2]], [[3]]])
    change.set_mean(np.ones((3, 6, 8)))
    change.set_channel_swap(None)
    np.testing.assert_allclose(change.transformer(image), image.transpose(2, 0, 1) - 1)
    grey = image_util.ImageTransformer(is_color=False, mean=[0.5])
    np.testing.assert_allclose(grey.transformer(image[..., 0]), image[..., 0] - 0.5)


def test_files(tmp_path):
    Image.new("RGB", (9, 6), (10, 20, 30)).save(tmp_path / "a.png")
    content = (tmp_path / "a.png").read_bytes()
    pixels = image_util.decode_jpeg(content)
    assert pixels.shape == (3, 6, 9) and pixels[:, 0, 0].tolist() == [10, 20, 30]
    assert image_util.resize_image(image_util.load_image(tmp_path / "a.png"), 4).size == (6, 4)
    for broken in (content[:50], b""):
        with pytest.raises(ValueError, match="an image file that is whole"):
            image_util.decode_jpeg(broken)
    np.savez(tmp_path / "meta.npz", other=1)
    with pytest.raises(ValueError, match="data_mean of 48 numbers"):
        image_util.load_meta(str(tmp_path / "meta.npz"), 4, 2)
    grey = io.BytesIO()
    Image.new("L", (4, 3)).save(grey, "JPEG")
    assert image_util.decode_jpeg(grey.getvalue()).shape == (3, 4)


def test_wrong_shapes():
    for call, words in (
        (lambda: image_util.crop_img(np.zeros((4, 4)), 2), "channels, height"),
        (lambda: image_util.flip(np.zeros(4)), "rank 2 or 3"),
        (lambda: image_util.preprocess_img(np.zeros((3, 4, 4)), np.zeros(3), 2, False), "img_mean of shape"),
        (lambda: image_util.oversample([], (2, 2)), "at least"),
        (lambda: image_util.oversample([np.zeros((2, 2, 3))], (3, 2)), "at least"),
        (lambda: image_util.ImageTransformer(mean=[1.0, 2.0]), "three channels"),
        (lambda: image_util.ImageTransformer(transpose=(1, 0)), "three axes"),
        (lambda: image_util.resize_image(Image.new("L", (2, 2)), 0), "at least 1"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
