"""Folders of images."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from paddle._public import public
from paddle.io.dataset import Dataset
from paddle.vision.image import image_load
from umiak.util.errors import op_error

_EXPORTED = "paddle.vision.datasets paddle.vision"
IMG_EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


def _valid(extensions: Any, is_valid_file: Any, name: str) -> Callable[[str], bool]:
    """The question whether a file is a sample."""
    if is_valid_file is not None:
        if extensions is not None:
            raise op_error(ValueError, name, "extensions or is_valid_file", "both")
        return is_valid_file
    endings = tuple(e.lower() for e in (IMG_EXTENSIONS if extensions is None else extensions))
    return lambda path: path.lower().endswith(endings)


def _paths(folder: str) -> list[str]:
    """All files below a folder, in the order of their names, links to folders followed."""
    found = []
    for root, _, names in sorted(os.walk(folder, followlinks=True)):
        found += [os.path.join(root, name) for name in sorted(names)]
    return found


def _need_folder(root: Any, name: str) -> str:
    if not os.path.isdir(root):
        raise FileNotFoundError(f"[{name}] requires a folder for root, got {str(root)!r}, which is not there")
    return os.fspath(root)


@public(_EXPORTED)
class DatasetFolder(Dataset):
    """Samples in folders, one folder for each class: ``root/cat/1.png``, ``root/dog/2.png``.

    Args:
        root: the folder of folders.
        loader: function of a path that reads a sample; None means :func:`~paddle.vision.image_load`.
        extensions: endings of files that are samples; None means those of images.
        transform: function of a sample.
        is_valid_file: function of a path that says whether it is a sample; in place of extensions.

    Attributes:
        classes: names of the classes, sorted.
        class_to_idx: the number of each class.
        samples: paths and numbers of classes.
        targets: numbers of classes.

    Raises:
        FileNotFoundError: there is no such folder.
        ValueError: extensions and is_valid_file are both given.
        RuntimeError: there is no class, or no sample.

    Example:
        >>> import os, tempfile
        >>> from PIL import Image
        >>> from paddle.vision.datasets import DatasetFolder
        >>> root = tempfile.mkdtemp()
        >>> for kind in ("cat", "dog"):
        ...     os.mkdir(os.path.join(root, kind))
        ...     Image.new("RGB", (4, 3)).save(os.path.join(root, kind, "1.png"))
        >>> pictures = DatasetFolder(root)
        >>> pictures.classes, pictures[1][1]
        (['cat', 'dog'], 1)
    """

    def __init__(
        self,
        root: str,
        loader: Callable[[str], Any] | None = None,
        extensions: Sequence[str] | None = None,
        transform: Callable[[Any], Any] | None = None,
        is_valid_file: Callable[[str], bool] | None = None,
    ) -> None:
        name = type(self).__name__
        self.root = _need_folder(root, name)
        self.transform = transform
        valid = _valid(extensions, is_valid_file, name)
        self.loader = image_load if loader is None else loader
        self.extensions = extensions
        self.classes, self.class_to_idx = self._find_classes(self.root)
        self.samples = [
            (path, index)
            for kind, index in self.class_to_idx.items()
            for path in _paths(os.path.join(self.root, kind))
            if valid(path)
        ]
        if not self.samples:
            wanted = "files that is_valid_file takes" if extensions is None and is_valid_file else "files ending in "
            endings = "" if is_valid_file else ", ".join(extensions or IMG_EXTENSIONS)
            raise op_error(RuntimeError, name, f"{wanted}{endings}", f"none in the folders of {self.root!r}")
        self.targets = [index for _, index in self.samples]
        self.dtype = "float32"

    def _find_classes(self, dir: str) -> tuple[list[str], dict[str, int]]:
        """Names of the folders, and their numbers."""
        classes = sorted(entry.name for entry in os.scandir(dir) if entry.is_dir())
        if not classes:
            raise op_error(RuntimeError, type(self).__name__, f"a folder for each class in {dir!r}", "none")
        return classes, {kind: i for i, kind in enumerate(classes)}

    def __getitem__(self, index: int) -> tuple[Any, int]:
        path, target = self.samples[index]
        sample = self.loader(path)
        return (sample if self.transform is None else self.transform(sample)), target

    def __len__(self) -> int:
        return len(self.samples)


@public(_EXPORTED)
class ImageFolder(Dataset):
    """Samples in a folder and the folders below it, without classes.

    Args:
        root: the folder.
        loader: function of a path that reads a sample; None means :func:`~paddle.vision.image_load`.
        extensions: endings of files that are samples; None means those of images.
        transform: function of a sample.
        is_valid_file: function of a path that says whether it is a sample; in place of extensions.

    Attributes:
        samples: paths, sorted by folder and name.

    Raises:
        FileNotFoundError: there is no such folder.
        ValueError: extensions and is_valid_file are both given.
        RuntimeError: there is no sample.

    Note:
        A sample is a list of one element.

    Example:
        >>> import os, tempfile
        >>> from PIL import Image
        >>> from paddle.vision.datasets import ImageFolder
        >>> root = tempfile.mkdtemp()
        >>> Image.new("RGB", (4, 3)).save(os.path.join(root, "1.png"))
        >>> [image.size for image in ImageFolder(root)[0]]
        [(4, 3)]
    """

    def __init__(
        self,
        root: str,
        loader: Callable[[str], Any] | None = None,
        extensions: Sequence[str] | None = None,
        transform: Callable[[Any], Any] | None = None,
        is_valid_file: Callable[[str], bool] | None = None,
    ) -> None:
        name = type(self).__name__
        self.root = _need_folder(root, name)
        self.transform = transform
        valid = _valid(extensions, is_valid_file, name)
        self.loader = image_load if loader is None else loader
        self.extensions = extensions
        self.samples = [path for path in _paths(self.root) if valid(path)]
        if not self.samples:
            raise op_error(RuntimeError, name, "files that are samples", f"none in {self.root!r}")
        self.dtype = "float32"

    def __getitem__(self, index: int) -> list[Any]:
        sample = self.loader(self.samples[index])
        return [sample if self.transform is None else self.transform(sample)]

    def __len__(self) -> int:
        return len(self.samples)
