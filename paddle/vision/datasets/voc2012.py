"""Photographs with the class of each pixel: the segmentation part of PASCAL VOC 2012, a tar file."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np

from paddle._public import public
from paddle.io.dataset import Dataset
from paddle.vision.datasets import _files
from paddle.vision.image import read_pil

_ROOT = "VOCdevkit/VOC2012"
_LISTS = {"train": "trainval", "valid": "val", "test": "train"}


@public("paddle.vision.datasets paddle.vision")
class VOC2012(Dataset):
    """Photographs and the class of each of their pixels, 21 classes with the background.

    Args:
        data_file: the archive ``VOCtrainval_11-May-2012.tar``; None means the published one, downloaded into
            ``~/.cache/paddle/dataset/voc2012`` unless it lies there.
        mode: ``"train"`` (the list ``trainval``), ``"valid"`` (``val``) or ``"test"`` (``train``).
        transform: function of an image.
        download: whether the file may be downloaded.
        backend: what images are, ``"pil"`` (PIL images) or ``"cv2"`` (float32 arrays); None means that of
            :func:`~paddle.vision.set_image_backend`.

    Raises:
        ValueError: mode or backend is none of these, or the file is broken.
        FileNotFoundError: there is no such file.
        RuntimeError: the file could not be downloaded.

    Note:
        A sample is ``(image, label)``: the label is an image of the same size whose values are classes.

    Example:
        >>> from paddle.vision.datasets import VOC2012
        >>> VOC2012(download=False)
        Traceback (most recent call last):
        ...
        ValueError: [VOC2012] requires data_file, or download=True, got neither
    """

    def __init__(
        self,
        data_file: str | None = None,
        mode: str = "train",
        transform: Callable[[Any], Any] | None = None,
        download: bool = True,
        backend: str | None = None,
    ) -> None:
        name = "VOC2012"
        self.flag = _LISTS[_files.mode_of(mode, tuple(_LISTS), name)]
        self.backend = _files.image_backend(backend, name)
        self.transform = transform
        url = "https://dataset.bj.bcebos.com/voc/VOCtrainval_11-May-2012.tar"
        md5 = "6cd6e144f989b92b3379bac3b3de84fd"
        self.data_file = _files.file_of(data_file, url, md5, "voc2012", download, name, "data_file")
        self._members = _files.Members(self.data_file, name)
        self._load_anno()
        self.dtype = "float32"

    def _load_anno(self) -> None:
        """Read the list of the mode."""
        text = self._members.read(f"{_ROOT}/ImageSets/Segmentation/{self.flag}.txt").decode("utf-8", "replace")
        names = text.split()
        self.data = [f"{_ROOT}/JPEGImages/{n}.jpg" for n in names]
        self.labels = [f"{_ROOT}/SegmentationClass/{n}.png" for n in names]

    def __getitem__(self, idx: int) -> tuple[Any, Any]:
        image, label = (
            read_pil(io.BytesIO(self._members.read(n)), "VOC2012") for n in (self.data[idx], self.labels[idx])
        )
        if self.backend == "cv2":
            image, label = np.array(image), np.array(label)
        if self.transform is not None:
            image = self.transform(image)
        if self.backend == "cv2":
            image, label = image.astype(self.dtype), label.astype(self.dtype)
        return image, label

    def __len__(self) -> int:
        return len(self.data)
