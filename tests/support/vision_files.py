"""Small files in the formats of published data sets of images."""

from __future__ import annotations

import gzip
import io
import pickle
import struct
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from scipy.io import savemat


def idx(path: Path, values: np.ndarray) -> str:
    """Write uint8 numbers as an idx file."""
    head = struct.pack(f">I{values.ndim}I", 0x800 + values.ndim, *values.shape)
    path.write_bytes(gzip.compress(head + values.tobytes()))
    return str(path)


def mnist(folder: Path, count: int = 5) -> tuple[str, str, np.ndarray, np.ndarray]:
    """Write images and labels; returns their paths and values."""
    images = np.random.randint(0, 256, (count, 28, 28)).astype("uint8")
    labels = (np.arange(count) % 10).astype("uint8")
    return idx(folder / "images.gz", images), idx(folder / "labels.gz", labels), images, labels


def tar(path: Path, members: dict[str, bytes], mode: str = "w:gz") -> str:
    """Write a tar file."""
    with tarfile.open(path, mode) as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return str(path)


def batch(labels: list[int], key: str, pixels: Any = None) -> bytes:
    """A pickled batch of CIFAR, with names as bytes."""
    if pixels is None:
        pixels = np.random.randint(0, 256, (len(labels), 3072)).astype("uint8")
    return pickle.dumps({b"data": pixels, key.encode(): labels, b"batch_label": b"a batch"}, protocol=2)


def encoded(image: np.ndarray, kind: str) -> bytes:
    """The bytes of an image file."""
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, kind)
    return buffer.getvalue()


def cifar(folder: Path, kinds: int) -> str:
    """Write an archive of CIFAR-10 or CIFAR-100."""
    key, top, batches = (
        ("labels", "cifar-10-batches-py", ("data_batch_1", "data_batch_2", "test_batch"))
        if kinds == 10
        else ("fine_labels", "cifar-100-python", ("train", "test"))
    )
    names = [f"{top}/{name}" for name in batches]
    members = {name: batch([i, i + 1, kinds - 1], key) for i, name in enumerate(names)}
    members[f"{top}/meta"] = pickle.dumps({b"names": [b"a"]}, protocol=2)
    return tar(folder / f"cifar{kinds}.tar.gz", members)


def flowers(folder: Path) -> tuple[str, str, str]:
    """Write four photographs, their labels, and lists."""
    members = {
        f"jpg/image_{i:05}.jpg": encoded(np.random.randint(0, 256, (6, 8, 3)).astype("uint8"), "JPEG")
        for i in range(1, 5)
    }
    savemat(folder / "labels.mat", {"labels": np.array([[7, 102, 1, 3]], "uint8")})
    lists = {"trnid": [[1]], "valid": [[4]], "tstid": [[3, 2]]}
    savemat(folder / "setid.mat", {k: np.array(v, "uint16") for k, v in lists.items()})
    return tar(folder / "flowers.tgz", members), str(folder / "labels.mat"), str(folder / "setid.mat")


def voc(folder: Path, mode: str = "w") -> str:
    """Write two photographs with the classes of their pixels."""
    root, members = "VOCdevkit/VOC2012", {}
    for name, lines in (("trainval", "a\nb\n"), ("train", "a\n"), ("val", "b\n")):
        members[f"{root}/ImageSets/Segmentation/{name}.txt"] = lines.encode()
    for name in "ab":
        members[f"{root}/JPEGImages/{name}.jpg"] = encoded(np.random.randint(0, 256, (6, 8, 3)).astype("uint8"), "JPEG")
        members[f"{root}/SegmentationClass/{name}.png"] = encoded(
            np.random.randint(0, 21, (6, 8)).astype("uint8"), "PNG"
        )
    return tar(folder / "voc.tar", members, mode)
