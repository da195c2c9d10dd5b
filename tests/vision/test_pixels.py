"""Colours changed in the memory of PIL images: each pixel is that of Pillow's own functions."""

import subprocess
import sys

import numpy as np
import pytest
from PIL import Image, ImageEnhance

from paddle.vision.transforms import _pil
from paddle.vision.transforms import functional as F
from umiak.backends.cpu.colors import Pixels

ENHANCERS = {
    F.adjust_brightness: ImageEnhance.Brightness,
    F.adjust_contrast: ImageEnhance.Contrast,
    F.adjust_saturation: ImageEnhance.Color,
}


def shifted(image, factor):
    h, s, v = image.convert("HSV").split()
    h = Image.fromarray(np.asarray(h) + np.uint8(int(factor * 255) % 256))
    return Image.merge("HSV", (h, s, v)).convert("RGB")


def colours(first, step, shape):
    """Colours of all 2^24 from the first on, each step-th."""
    codes = (first + step * np.arange(shape[0] * shape[1], dtype=np.uint32)).astype("<u4")
    return Image.fromarray(np.ascontiguousarray(codes.view(np.uint8).reshape(*shape, 4)[..., :3]))


SHARED = hasattr(Image.Image, "__arrow_c_array__")


def assert_pillows(image, hues, factors):
    assert (_pil._own_pixels(image) is not None) == SHARED
    for factor in hues:
        assert np.array_equal(np.asarray(F.adjust_hue(image, factor)), np.asarray(shifted(image, factor))), factor
    for adjust, enhancer in ENHANCERS.items():
        for factor in factors:
            ours, theirs = adjust(image, factor), enhancer(image).enhance(factor)
            assert ours.mode == "RGB" and np.array_equal(np.asarray(ours), np.asarray(theirs)), (adjust, factor)


def test_sample_of_all_colours():
    assert_pillows(colours(5, 61, (512, 537)), (0, 0.003, 0.1, -0.3, 0.5, -0.5), (0, 0.371, 0.6, 1, 1.4, 2.6, 300.0))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(16))
def test_all_colours(part):
    assert_pillows(colours(part << 20, 1, (1024, 1024)), np.linspace(-0.5, 0.5, 11), (0, 0.371, 0.99, 1, 1.01, 1.7))


@pytest.mark.parametrize("size", [(1, 1), (3, 5), (17, 1), (1, 33), (64, 63)])
def test_sizes(size):
    assert_pillows(colours(1, 7919, size[::-1]), (0.2,), (0.7, 1.3))


def test_images_stay_as_they_were():
    image = colours(3, 1009, (16, 16))
    before = np.array(image)
    results = [f(image, 0.3) for f in (*ENHANCERS, F.adjust_hue)]
    results[0].putpixel((0, 0), (9, 9, 9))
    assert np.array_equal(np.asarray(image), before)
    assert all(not np.array_equal(np.asarray(result), before) for result in results)


@pytest.mark.parametrize("mode", ["L", "RGBA", "P", "CMYK", "YCbCr"])
def test_other_modes_are_left_to_pillow(mode):
    image = colours(3, 1009, (8, 9)).convert(mode)
    assert _pil._own_pixels(image) is None
    if mode != "P":
        for adjust, enhancer in ENHANCERS.items():
            assert adjust(image, 1.3).tobytes() == enhancer(image).enhance(1.3).tobytes()


class Unshared(Image.Image):
    """An image of a Pillow that does not share memory."""

    def __getattribute__(self, name):
        if name == "__arrow_c_array__":
            raise AttributeError(name)
        return super().__getattribute__(name)


def test_without_shared_memory():
    image = colours(3, 1009, (8, 9))
    other = Unshared()
    other.im, other._mode, other._size = image.im, image.mode, image.size
    assert _pil._own_pixels(other) is None
    for adjust in (*ENHANCERS, F.adjust_hue):
        assert np.array_equal(np.asarray(adjust(other, 0.4)), np.asarray(adjust(image, 0.4)))


def test_images_of_several_blocks_are_left_to_pillow():
    image = colours(0, 5, (2100, 2100))
    assert _pil._own_pixels(image) is None
    assert np.array_equal(np.asarray(F.adjust_brightness(image, 0.5)), np.asarray(image) // 2)


def test_rows_with_gaps_are_left_to_pillow():
    code = (
        "from PIL import Image; from paddle.vision.transforms import _pil, functional as F\n"
        "image = Image.new('RGB', (3, 2), (8, 6, 4))\n"
        "assert _pil._own_pixels(image) is None\n"
        "print(F.adjust_brightness(image, 0.5).tobytes() == bytes((4, 3, 2)) * 6)"
    )
    env = {"PILLOW_ALIGNMENT": "64", "PYTHONPATH": ":".join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


@pytest.mark.skipif(not SHARED, reason="Pillow shares no memory before 11.2")
def test_results_have_as_many_pixels():
    one, two = (Pixels(Image.new("RGB", size).__arrow_c_array__()) for size in ((2, 2), (2, 3)))
    with pytest.raises(ValueError, match="as many pixels of the result, got 4 and 6"):
        one.shift_hues(two, 1)
    with pytest.raises(ValueError, match="lists of 4 bytes"):
        Pixels(Image.new("L", (2, 2)).__arrow_c_array__())
