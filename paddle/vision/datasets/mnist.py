"""Handwritten digits, and pictures of clothes in the same format: idx files, compressed by gzip."""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from paddle._public import public
from paddle.io.dataset import Dataset
from paddle.vision.datasets import _files
from paddle.vision.image import need_pil
from umiak.util.errors import op_error

_EXPORTED = "paddle.vision.datasets paddle.vision"
_IMAGES, _LABELS = 2051, 2049  # the magic numbers of idx files of uint8: three dims, one dim


def read_idx(path: str, magic: int, name: str) -> np.ndarray:
    """The uint8 numbers of an idx file: the magic number, the dims, and as many bytes."""
    rank = magic & 255
    try:
        with gzip.open(path, "rb") as f:
            head = f.read(4 + 4 * rank)
            if len(head) < 4 + 4 * rank or struct.unpack(">I", head[:4])[0] != magic:
                raise op_error(ValueError, name, f"an idx file that begins with {magic}", repr(path))
            shape = struct.unpack(f">{rank}I", head[4:])
            size = 1
            for n in shape:
                size *= n
            if size > _files.LARGEST:
                raise op_error(ValueError, name, f"at most {_files.LARGEST} bytes", f"a file of {list(shape)}")
            content = f.read(size + 1)
    except (EOFError, OSError, zlib.error) as error:
        raise op_error(ValueError, name, "a gzip file that is whole", f"{path!r}: {error}") from error
    if len(content) != size:
        got = "more" if len(content) > size else len(content)
        raise op_error(ValueError, name, f"{size} bytes for {list(shape)} in {path!r}", got)
    return np.frombuffer(content, np.uint8).reshape(shape)


@public(_EXPORTED)
class MNIST(Dataset):
    """Handwritten digits: 60,000 images of 28 by 28 pixels to train with, 10,000 to test.

    Args:
        image_path: the idx file of images, compressed by gzip; None means the published one, downloaded into
            ``~/.cache/paddle/dataset/mnist`` unless it lies there.
        label_path: the idx file of labels, compressed by gzip; None means the published one.
        mode: ``"train"`` or ``"test"``, the files that are downloaded.
        transform: function of an image.
        download: whether files may be downloaded.
        backend: what images are, ``"pil"`` (PIL images) or ``"cv2"`` (arrays ``[28, 28]``); None means that of
            :func:`~paddle.vision.set_image_backend`.

    Raises:
        ValueError: mode or backend is none of these, a file is broken, or images and labels are not as many.
        FileNotFoundError: there is no such file.
        RuntimeError: a file could not be downloaded.

    Note:
        A sample is ``(image, label)``: the label is an int64 array ``[1]``, an image of ``"cv2"`` a float32 array.

    Example:
        >>> from paddle.vision.datasets import MNIST
        >>> MNIST(mode="train", download=False)
        Traceback (most recent call last):
        ...
        ValueError: [MNIST] requires image_path, or download=True, got neither
    """

    NAME = "mnist"
    URL_PREFIX = "https://dataset.bj.bcebos.com/mnist/"
    TEST_IMAGE_URL = URL_PREFIX + "t10k-images-idx3-ubyte.gz"
    TEST_IMAGE_MD5 = "9fb629c4189551a2d022fa330f9573f3"
    TEST_LABEL_URL = URL_PREFIX + "t10k-labels-idx1-ubyte.gz"
    TEST_LABEL_MD5 = "ec29112dd5afa0611ce80d1b7f02629c"
    TRAIN_IMAGE_URL = URL_PREFIX + "train-images-idx3-ubyte.gz"
    TRAIN_IMAGE_MD5 = "f68b3c2dcbeaaa9fbdd348bbdeb94873"
    TRAIN_LABEL_URL = URL_PREFIX + "train-labels-idx1-ubyte.gz"
    TRAIN_LABEL_MD5 = "d53e105ee54ea40749a09fcbcd1e9432"

    def __init__(
        self,
        image_path: str | None = None,
        label_path: str | None = None,
        mode: str = "train",
        transform: Callable[[Any], Any] | None = None,
        download: bool = True,
        backend: str | None = None,
    ) -> None:
        name = type(self).__name__
        self.mode = _files.mode_of(mode, ("train", "test"), name)
        self.backend = _files.image_backend(backend, name)
        self.transform = transform
        train = self.mode == "train"
        images = (self.TRAIN_IMAGE_URL, self.TRAIN_IMAGE_MD5) if train else (self.TEST_IMAGE_URL, self.TEST_IMAGE_MD5)
        labels = (self.TRAIN_LABEL_URL, self.TRAIN_LABEL_MD5) if train else (self.TEST_LABEL_URL, self.TEST_LABEL_MD5)
        self.image_path = _files.file_of(image_path, *images, self.NAME, download, name, "image_path")
        self.label_path = _files.file_of(label_path, *labels, self.NAME, download, name, "label_path")
        self.images = read_idx(self.image_path, _IMAGES, name)
        self.labels = read_idx(self.label_path, _LABELS, name).astype(np.int64).reshape(-1, 1)
        if len(self.images) != len(self.labels):
            raise op_error(ValueError, name, f"{len(self.images)} labels, one for each image", len(self.labels))
        self.dtype = "float32"

    def __getitem__(self, idx: int) -> tuple[Any, np.ndarray]:
        image: Any = self.images[idx]
        if self.backend == "pil":
            image = need_pil().fromarray(image)
        else:
            image = image.astype(self.dtype)
        if self.transform is not None:
            image = self.transform(image)
        return image, self.labels[idx]

    def __len__(self) -> int:
        return len(self.labels)


@public(_EXPORTED)
class FashionMNIST(MNIST):
    """Pictures of clothes of ten kinds, in the format of :class:`MNIST`.

    Args:
        image_path: the idx file of images, compressed by gzip; None means the published one, downloaded into
            ``~/.cache/paddle/dataset/fashion-mnist`` unless it lies there.
        label_path: the idx file of labels, compressed by gzip; None means the published one.
        mode: ``"train"`` or ``"test"``, the files that are downloaded.
        transform: function of an image.
        download: whether files may be downloaded.
        backend: what images are, ``"pil"`` (PIL images) or ``"cv2"`` (arrays ``[28, 28]``); None means that of
            :func:`~paddle.vision.set_image_backend`.

    Raises:
        ValueError: mode or backend is none of these, a file is broken, or images and labels are not as many.
        FileNotFoundError: there is no such file.
        RuntimeError: a file could not be downloaded.

    Example:
        >>> from paddle.vision.datasets import FashionMNIST
        >>> FashionMNIST(mode="test", download=False)
        Traceback (most recent call last):
        ...
        ValueError: [FashionMNIST] requires image_path, or download=True, got neither
    """

    NAME = "fashion-mnist"
    URL_PREFIX = "https://dataset.bj.bcebos.com/fashion_mnist/"
    TEST_IMAGE_URL = URL_PREFIX + "t10k-images-idx3-ubyte.gz"
    TEST_IMAGE_MD5 = "bef4ecab320f06d8554ea6380940ec79"
    TEST_LABEL_URL = URL_PREFIX + "t10k-labels-idx1-ubyte.gz"
    TEST_LABEL_MD5 = "bb300cfdad3c16e7a12a480ee83cd310"
    TRAIN_IMAGE_URL = URL_PREFIX + "train-images-idx3-ubyte.gz"
    TRAIN_IMAGE_MD5 = "8d4fb7e6c68d591d4c3dfef9ec88bf0d"
    TRAIN_LABEL_URL = URL_PREFIX + "train-labels-idx1-ubyte.gz"
    TRAIN_LABEL_MD5 = "25c81989df183df01b3e8a0aad5dffbe"
