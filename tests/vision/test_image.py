"""Reading images: both libraries, broken files, too many pixels."""

from __future__ import annotations

import io
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

import paddle
from paddle.vision.image import read_pil


@pytest.fixture
def files(tmp_path):
    pixels = (np.arange(48).reshape(4, 4, 3) * 5).astype("uint8")
    Image.fromarray(pixels).save(tmp_path / "colours.png")
    Image.fromarray(pixels[..., 0]).save(tmp_path / "grey.png")
    whole = (tmp_path / "colours.png").read_bytes()
    (tmp_path / "cut.png").write_bytes(whole[: len(whole) * 2 // 3])
    (tmp_path / "text.png").write_text("no image")
    (tmp_path / "empty.png").write_bytes(b"")
    return tmp_path, pixels


def test_backends(files):
    folder, pixels = files
    path = folder / "colours.png"
    assert paddle.vision.get_image_backend() == "pil"
    np.testing.assert_array_equal(np.asarray(paddle.vision.image_load(path)), pixels)
    np.testing.assert_array_equal(paddle.vision.image_load(path, "cv2"), pixels[..., ::-1])
    np.testing.assert_array_equal(paddle.vision.image_load(path, "tensor").numpy(), pixels.transpose(2, 0, 1))
    assert paddle.vision.image_load(folder / "grey.png").mode == "L"
    assert paddle.vision.image_load(folder / "grey.png", "cv2").shape == (4, 4, 3)
    try:
        paddle.vision.set_image_backend("cv2")
        assert isinstance(paddle.vision.image_load(path), np.ndarray)
    finally:
        paddle.vision.set_image_backend("pil")
    for wrong in (lambda: paddle.vision.set_image_backend("gd"), lambda: paddle.vision.image_load(path, "gd")):
        with pytest.raises(ValueError, match="'pil', 'cv2', 'tensor'"):
            wrong()


CASES = [(b, n) for b in ("pil", "cv2", "tensor") for n in ("cut.png", "text.png", "empty.png")]
CASES.remove(("cv2", "cut.png"))  # OpenCV gives what it could read


@pytest.mark.parametrize(("backend", "name"), CASES)
def test_broken_files(files, backend, name):
    with pytest.raises(ValueError, match=rf"\[image_load\] requires an image .*{name}"):
        paddle.vision.image_load(files[0] / name, backend)


@pytest.mark.parametrize("backend", ["pil", "cv2", "tensor"])
def test_missing_files(tmp_path, backend):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.png"):
        paddle.vision.image_load(tmp_path / "nowhere.png", backend)


def test_too_many_pixels(monkeypatch):
    buffer = io.BytesIO()
    Image.new("L", (30, 30)).save(buffer, "PNG")
    for limit in (800, 400):  # Pillow warns above its limit, and refuses above twice that
        monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", limit)
        buffer.seek(0)
        with pytest.raises(ValueError, match=f"at most {limit} pixels"):
            read_pil(buffer, "image_load")


@pytest.mark.parametrize(
    ("module", "backend", "words"), [("PIL", "pil", "pip install Pillow"), ("cv2", "cv2", "opencv-python-headless")]
)
def test_what_to_install(module, backend, words):
    code = f"""
import sys
sys.modules[{module!r}] = None
import paddle
from paddle.vision import transforms
try:
    paddle.vision.image_load("/dev/null", {backend!r})
except ImportError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert words in run.stdout
