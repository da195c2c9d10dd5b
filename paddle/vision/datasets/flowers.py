"""Photographs of flowers of 102 kinds: a tar file of JPEG images, labels and lists as MATLAB files."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np

from paddle._public import public
from paddle.io.dataset import Dataset
from paddle.vision.datasets import _files
from paddle.vision.image import read_pil
from umiak.util.errors import op_error

_PREFIX = "http://paddlemodels.bj.bcebos.com/flowers/"
# The published test list is the largest: the reference trains with it.
_LISTS = {"train": "tstid", "valid": "valid", "test": "trnid"}
_KINDS = 102


def _numbers(path: str, name: str) -> np.ndarray:
    """The ints of a field of a MATLAB file."""
    from scipy.io import loadmat

    field, name = name, "Flowers"
    try:
        content = loadmat(path, variable_names=[field])
    except Exception as error:  # a reader of C: its errors are of many kinds
        raise op_error(ValueError, name, "a MATLAB file that is whole", f"{path!r}: {error}") from error
    values = content.get(field)
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "iu":
        raise op_error(ValueError, name, f"a MATLAB file with ints {field!r}", repr(path))
    return values.ravel().astype(np.int64)


@public("paddle.vision.datasets paddle.vision")
class Flowers(Dataset):
    """Photographs of flowers of 102 kinds.

    Args:
        data_file: the archive ``102flowers.tgz``; None means the published one, downloaded into
            ``~/.cache/paddle/dataset/flowers`` unless it lies there.
        label_file: the labels ``imagelabels.mat``; None means the published ones.
        setid_file: the lists of modes, ``setid.mat``; None means the published ones.
        mode: ``"train"`` (6,149 images), ``"valid"`` or ``"test"`` (1,020 each).
        transform: function of an image.
        download: whether files may be downloaded.
        backend: what images are, ``"pil"`` (PIL images) or ``"cv2"`` (float32 arrays); None means that of
            :func:`~paddle.vision.set_image_backend`.

    Raises:
        ValueError: mode or backend is none of these, or a file is broken.
        FileNotFoundError: there is no such file.
        RuntimeError: a file could not be downloaded.

    Note:
        A sample is ``(image, label)``: the label is an int64 array ``[1]`` from 1 to 102. The compressed images,
        330 MB, are held in memory; nothing is unpacked into files.

    Example:
        >>> from paddle.vision.datasets import Flowers
        >>> Flowers(download=False)
        Traceback (most recent call last):
        ...
        ValueError: [Flowers] requires data_file, or download=True, got neither
    """

    def __init__(
        self,
        data_file: str | None = None,
        label_file: str | None = None,
        setid_file: str | None = None,
        mode: str = "train",
        transform: Callable[[Any], Any] | None = None,
        download: bool = True,
        backend: str | None = None,
    ) -> None:
        name = "Flowers"
        flag = _LISTS[_files.mode_of(mode, tuple(_LISTS), name)]
        self.backend = _files.image_backend(backend, name)
        self.transform = transform
        published = (
            (data_file, "102flowers.tgz", "52808999861908f626f3c1f4e79d11fa", "data_file"),
            (label_file, "imagelabels.mat", "e0620be6f572b9609742df49c70aed4d", "label_file"),
            (setid_file, "setid.mat", "a5357ecc9cb78c4bef273ce3793fc85c", "setid_file"),
        )
        paths = [_files.file_of(p, _PREFIX + f, md5, "flowers", download, name, arg) for p, f, md5, arg in published]
        self.labels = _numbers(paths[1], "labels")
        self.indexes = _numbers(paths[2], flag)
        if len(self.labels) and not 1 <= self.labels.min() <= self.labels.max() <= _KINDS:
            raise op_error(ValueError, name, f"labels from 1 to {_KINDS}", f"others in {paths[1]!r}")
        if len(self.indexes) and not 1 <= self.indexes.min() <= self.indexes.max() <= len(self.labels):
            raise op_error(ValueError, name, f"images from 1 to {len(self.labels)}", f"others in {paths[2]!r}")
        wanted = {f"jpg/image_{i:05}.jpg": int(i) for i in self.indexes}
        self._images: dict[int, bytes] = {}
        with _files.archive(paths[0], name) as opened:
            for info in opened:
                if info.isfile() and info.name in wanted:
                    self._images[wanted[info.name]] = _files.member(opened, info, name)
        missing = sorted(wanted.keys() - {f"jpg/image_{i:05}.jpg" for i in self._images})
        if missing:
            raise op_error(ValueError, name, f"{missing[0]!r} in the archive", f"{len(missing)} images missing")
        self.dtype = "float32"

    def __getitem__(self, idx: int) -> tuple[Any, np.ndarray]:
        index = int(self.indexes[idx])
        image = read_pil(io.BytesIO(self._images[index]), "Flowers")
        if self.backend == "cv2":
            image = np.array(image)
        if self.transform is not None:
            image = self.transform(image)
        if self.backend == "cv2":
            image = image.astype(self.dtype)
        return image, self.labels[index - 1 : index]

    def __len__(self) -> int:
        return len(self.indexes)
