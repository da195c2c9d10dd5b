"""The library that reads images, and reading them."""

from __future__ import annotations

import os
import warnings
from types import ModuleType
from typing import Any

import numpy as np

from paddle import _lazy
from paddle._public import public
from paddle.tensor.from_data import to_tensor
from umiak.util.errors import op_error

BACKENDS = ("pil", "cv2", "tensor")
_backend = "pil"


def need_pil() -> ModuleType:
    """The module ``PIL.Image``; an ImportError that says what to install where it is missing."""
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError("[paddle.vision] requires Pillow for images; install it: pip install Pillow") from error
    return Image


def need_cv2() -> ModuleType:
    """The module ``cv2``; an ImportError that says what to install where it is missing."""
    try:
        import cv2
    except ImportError as error:
        raise ImportError(
            "[paddle.vision] requires OpenCV for images as arrays; install it: pip install opencv-python-headless"
        ) from error
    return cv2


def backend_of(backend: str | None, op: str, known: tuple[str, ...] = BACKENDS) -> str:
    """The backend of a call: the one it names, or the current one."""
    name = _backend if backend is None else backend
    if name not in known:
        raise op_error(ValueError, op, f"a backend of {', '.join(map(repr, known))}", repr(name))
    return name


@public("paddle.vision paddle.vision.image")
def set_image_backend(backend: str) -> None:
    """Choose the library that reads images of data sets and of :func:`image_load`.

    Args:
        backend: ``"pil"`` (Pillow: PIL images, RGB), ``"cv2"`` (OpenCV: arrays, BGR) or ``"tensor"`` (tensors).

    Returns:
        None.

    Raises:
        ValueError: backend is none of these.

    Example:
        >>> import paddle
        >>> paddle.vision.set_image_backend("cv2")
        >>> paddle.vision.get_image_backend()
        'cv2'
        >>> paddle.vision.set_image_backend("pil")
    """
    global _backend
    if backend not in BACKENDS:
        raise op_error(ValueError, "set_image_backend", f"one of {', '.join(map(repr, BACKENDS))}", repr(backend))
    _backend = backend


@public("paddle.vision paddle.vision.image")
def get_image_backend() -> str:
    """Name of the library that reads images.

    Returns:
        ``"pil"``, ``"cv2"`` or ``"tensor"``.

    Raises:
        Nothing.

    Example:
        >>> import paddle
        >>> paddle.vision.get_image_backend()
        'pil'
    """
    return _backend


@public("paddle.vision paddle.vision.image")
def image_load(path: str, backend: str | None = None) -> Any:
    """Read an image file.

    Args:
        path: the file, in a format that the library reads: JPEG, PNG, BMP, ….
        backend: ``"pil"``, ``"cv2"`` or ``"tensor"``; None means that of :func:`set_image_backend`.

    Returns:
        A PIL image (``"pil"``), an array ``[height, width, 3]`` of uint8 in the order BGR (``"cv2"``), or a uint8
        tensor ``[3, height, width]`` in the order RGB (``"tensor"``).

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: backend is none of these, or the file is no image or a broken one.
        ImportError: the library is not installed.

    Note:
        The pixels of a PIL image are read at once, so that a broken file is noticed here, and one with more pixels than
        ``PIL.Image.MAX_IMAGE_PIXELS`` is refused.

    Example:
        >>> import numpy as np, os, paddle, tempfile
        >>> from PIL import Image
        >>> path = os.path.join(tempfile.mkdtemp(), "black.png")
        >>> Image.fromarray(np.zeros([2, 3, 3], "uint8")).save(path)
        >>> paddle.vision.image_load(path).size
        (3, 2)
        >>> paddle.vision.image_load(path, backend="cv2").shape
        (2, 3, 3)
    """
    op = "image_load"
    name = backend_of(backend, op)
    if not os.path.exists(path):
        raise FileNotFoundError(f"[{op}] requires an image file, got {str(path)!r}, which is not there")
    if name == "cv2":
        image = need_cv2().imread(str(path))
        if image is None:
            raise op_error(ValueError, op, "an image that OpenCV reads", repr(str(path)))
        return image
    image = read_pil(path, op)
    if name == "pil":
        return image
    return to_tensor(np.asarray(image.convert("RGB")).transpose(2, 0, 1).copy())


def read_pil(source: Any, op: str) -> Any:
    """The image of a path or an open file, its pixels read.

    Pillow only warns of an image of up to twice as many pixels as it allows: here it is an error.
    """
    Image = need_pil()
    what = getattr(source, "name", source)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            image = Image.open(source)
            try:
                image.load()
            except BaseException:
                image.close()
                raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise op_error(ValueError, op, f"an image of at most {Image.MAX_IMAGE_PIXELS} pixels", repr(what)) from error
    # Broken files: what each format's reader raises, SyntaxError of PNG included.
    except (OSError, SyntaxError, ValueError, IndexError, TypeError, EOFError, OverflowError) as error:
        raise op_error(ValueError, op, "an image file that is whole", f"{what!r}: {error}") from error
    return image


__getattr__, __dir__, __all__ = _lazy.contents(__name__)
