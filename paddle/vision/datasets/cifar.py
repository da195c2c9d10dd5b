"""Small pictures of 10 or 100 kinds: pickled dicts of arrays in a tar file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from paddle._public import public
from paddle.framework.pickled import Array, Corrupt, Machine
from paddle.io.dataset import Dataset
from paddle.vision.datasets import _files
from paddle.vision.image import need_pil
from umiak.util.errors import op_error

_EXPORTED = "paddle.vision.datasets paddle.vision"
_PREFIX = "https://dataset.bj.bcebos.com/cifar/"
_PIXELS = (3, 32, 32)


def _field(batch: Any, *names: str) -> Any:
    """The first field of a batch that is there; Python 2 wrote names as bytes."""
    for name in names:
        for key in (name, name.encode()):
            if isinstance(batch, dict) and key in batch:
                value = batch[key]
                return value.value if isinstance(value, Array) else value
    return None


class _Cifar(Dataset):
    """Batches of small pictures: the part that both data sets share."""

    _url: str
    _md5: str
    _members: dict[str, str]  # by mode, what names of members contain
    _label: tuple[str, ...]
    _kinds: int

    def __init__(
        self,
        data_file: str | None = None,
        mode: str = "train",
        transform: Callable[[Any], Any] | None = None,
        download: bool = True,
        backend: str | None = None,
    ) -> None:
        name = type(self).__name__
        self.mode = _files.mode_of(mode, ("train", "test"), name)
        self.backend = _files.image_backend(backend, name)
        self.transform = transform
        self.data_file = _files.file_of(data_file, self._url, self._md5, "cifar", download, name, "data_file")
        self._load_data()
        self.dtype = "float32"

    def _load_data(self) -> None:
        """Read the members of the mode. Pickles make arrays, lists and texts; nothing that they name is called."""
        name = type(self).__name__
        self.data: list[tuple[np.ndarray, np.int64]] = []
        with _files.archive(self.data_file, name) as opened:
            members = [m for m in opened if m.isfile() and self._members[self.mode] in m.name.rpartition("/")[2]]
            for info in members:
                try:
                    batch = Machine(memoryview(_files.member(opened, info, name))).run()
                except Corrupt as error:
                    raise op_error(ValueError, name, f"a pickle of arrays in {info.name!r}", error) from error
                self._add(batch, info.name)
        if not self.data:
            raise op_error(ValueError, name, f"members {self._members[self.mode]!r} in {self.data_file!r}", "none")

    def _add(self, batch: Any, member: str) -> None:
        """Take the samples of a batch over."""
        name = type(self).__name__
        try:
            pixels, labels = np.asarray(_field(batch, "data")), np.asarray(_field(batch, *self._label))
        except ValueError:  # lists of different lengths
            pixels = labels = np.zeros(0)
        if pixels.dtype != np.uint8 or pixels.shape != (len(labels) if labels.ndim else -1, int(np.prod(_PIXELS))):
            got = f"{pixels.dtype} {list(pixels.shape)} and {list(labels.shape)} in {member!r}"
            raise op_error(ValueError, name, "uint8 pixels [n, 3072] and n labels", got)
        if labels.dtype.kind != "i" or (len(labels) and not 0 <= labels.min() <= labels.max() < self._kinds):
            raise op_error(ValueError, name, f"labels from 0 to {self._kinds - 1}", f"others in {member!r}")
        self.data += zip(pixels, labels.astype(np.int64))

    def __getitem__(self, idx: int) -> tuple[Any, np.ndarray]:
        pixels, label = self.data[idx]
        image: Any = pixels.reshape(_PIXELS).transpose(1, 2, 0)
        if self.backend == "pil":
            image = need_pil().fromarray(np.ascontiguousarray(image))
        else:
            image = image.astype(self.dtype)
        if self.transform is not None:
            image = self.transform(image)
        return image, np.array(label, np.int64)

    def __len__(self) -> int:
        return len(self.data)


@public(_EXPORTED)
class Cifar10(_Cifar):
    """Pictures of 32 by 32 pixels of ten kinds: 50,000 to train with, 10,000 to test.

    Args:
        data_file: the archive ``cifar-10-python.tar.gz``; None means the published one, downloaded into
            ``~/.cache/paddle/dataset/cifar`` unless it lies there.
        mode: ``"train"`` or ``"test"``.
        transform: function of an image.
        download: whether the file may be downloaded.
        backend: what images are, ``"pil"`` (PIL images) or ``"cv2"`` (float32 arrays ``[32, 32, 3]``); None means that
            of :func:`~paddle.vision.set_image_backend`.

    Raises:
        ValueError: mode or backend is none of these, or the file is broken.
        FileNotFoundError: there is no such file.
        RuntimeError: the file could not be downloaded.

    Note:
        A sample is ``(image, label)``: the label is an int64 array of rank 0.

    Example:
        >>> from paddle.vision.datasets import Cifar10
        >>> Cifar10(download=False)
        Traceback (most recent call last):
        ...
        ValueError: [Cifar10] requires data_file, or download=True, got neither
    """

    _url = _PREFIX + "cifar-10-python.tar.gz"
    _md5 = "c58f30108f718f92721af3b95e74349a"
    _members = {"train": "data_batch", "test": "test_batch"}
    _label = ("labels",)
    _kinds = 10


@public(_EXPORTED)
class Cifar100(_Cifar):
    """Pictures of 32 by 32 pixels of a hundred kinds: 50,000 to train with, 10,000 to test.

    Args:
        data_file: the archive ``cifar-100-python.tar.gz``; None means the published one, downloaded into
            ``~/.cache/paddle/dataset/cifar`` unless it lies there.
        mode: ``"train"`` or ``"test"``.
        transform: function of an image.
        download: whether the file may be downloaded.
        backend: what images are, ``"pil"`` (PIL images) or ``"cv2"`` (float32 arrays ``[32, 32, 3]``); None means that
            of :func:`~paddle.vision.set_image_backend`.

    Raises:
        ValueError: mode or backend is none of these, or the file is broken.
        FileNotFoundError: there is no such file.
        RuntimeError: the file could not be downloaded.

    Example:
        >>> from paddle.vision.datasets import Cifar100
        >>> Cifar100(download=False)
        Traceback (most recent call last):
        ...
        ValueError: [Cifar100] requires data_file, or download=True, got neither
    """

    _url = _PREFIX + "cifar-100-python.tar.gz"
    _md5 = "eb9058c3a382ffc7106e4002c42a8d85"
    _members = {"train": "train", "test": "test"}
    _label = ("fine_labels",)
    _kinds = 100
