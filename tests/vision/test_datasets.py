"""Data sets of images: samples of files in the published formats, and files that are broken, hostile or missing."""

from __future__ import annotations

import gzip
import os
import pickle
import struct
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import paddle
from paddle.utils import download
from paddle.vision import datasets, transforms
from paddle.vision.datasets import _files
from tests.support import vision_files as files

BACKENDS = ("pil", "cv2")


@pytest.mark.parametrize("kind", [datasets.MNIST, datasets.FashionMNIST])
def test_digits(tmp_path, kind):
    image_path, label_path, images, labels = files.mnist(tmp_path)
    pil, arrays = (kind(image_path, label_path, backend=b) for b in BACKENDS)
    assert len(pil) == len(arrays) == 5
    for i in range(5):
        image, label = arrays[i]
        np.testing.assert_array_equal(image, images[i])
        assert image.dtype == np.float32 and label.dtype == np.int64 and label.tolist() == [labels[i]]
        assert pil[i][0].mode == "L" and np.array_equal(np.asarray(pil[i][0]), images[i])
    tensor, _ = kind(image_path, label_path, "test", transform=transforms.ToTensor())[0]
    assert tensor.shape == [1, 28, 28]


@pytest.mark.parametrize(("kind", "kinds"), [(datasets.Cifar10, 10), (datasets.Cifar100, 100)])
def test_small_pictures(tmp_path, kind, kinds):
    path = files.cifar(tmp_path, kinds)
    pil, arrays = (kind(path, "train", backend=b) for b in BACKENDS)
    image, label = arrays[0]
    assert image.shape == (32, 32, 3) and image.dtype == np.float32 and label.shape == () and label.dtype == np.int64
    np.testing.assert_array_equal(np.asarray(pil[0][0]), image)
    count = 2 if kinds == 10 else 1
    assert [int(arrays[i][1]) for i in range(len(arrays))] == [0, 1, kinds - 1, 1, 2, kinds - 1][: 3 * count]
    assert len(kind(path, "test")) == 3


def test_flowers(tmp_path):
    paths = files.flowers(tmp_path)
    assert [int(label[0]) for _, label in datasets.Flowers(*paths, backend="cv2")] == [1, 102]
    image, label = datasets.Flowers(*paths, mode="valid", backend="cv2")[0]
    assert image.shape == (6, 8, 3) and image.dtype == np.float32 and label.tolist() == [3]
    assert datasets.Flowers(*paths, mode="test")[0][0].size == (8, 6)


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_segmentation(tmp_path, mode):
    path = files.voc(tmp_path, mode)
    pil, arrays = (datasets.VOC2012(path, backend=b) for b in BACKENDS)
    image, label = arrays[1]
    assert image.shape == (6, 8, 3) and label.shape == (6, 8) and image.dtype == label.dtype == np.float32
    np.testing.assert_array_equal(np.asarray(pil[1][1]), label)
    assert [len(datasets.VOC2012(path, m)) for m in ("train", "valid", "test")] == [2, 1, 1]


def test_samples_come_from_worker_processes(tmp_path):
    data = datasets.VOC2012(files.voc(tmp_path), backend="cv2")
    expected = [data[i][0] for i in range(2)]
    loader = paddle.io.DataLoader(data, batch_size=1, num_workers=2)
    for (image, _), plain in zip(loader, expected):
        np.testing.assert_array_equal(image[0].numpy(), plain)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(data))[1][0], expected[1])


def test_folders(tmp_path):
    for kind in ("dog", "cat"):
        (tmp_path / kind / "more").mkdir(parents=True)
        for name in ("2.png", "1.JPG", "more/3.bmp"):
            Image.new("RGB", (3, 2), (5, 6, 7)).save(tmp_path / kind / name)
        (tmp_path / kind / "notes.txt").write_text("notes")
    data = datasets.DatasetFolder(str(tmp_path))
    assert (
        data.classes == ["cat", "dog"]
        and data.class_to_idx == {"cat": 0, "dog": 1}
        and data.targets == [0] * 3 + [1] * 3
    )
    assert [os.path.relpath(p, tmp_path) for p, _ in data.samples[:3]] == ["cat/1.JPG", "cat/2.png", "cat/more/3.bmp"]
    assert data[3][0].size == (3, 2) and data[3][1] == 1
    assert len(datasets.DatasetFolder(str(tmp_path), extensions=(".png",))) == 2
    text = datasets.ImageFolder(str(tmp_path), loader=lambda p: 7, is_valid_file=lambda p: p.endswith(".txt"))
    assert len(text) == 2 and text[0] == [7]
    assert datasets.ImageFolder(str(tmp_path), transform=transforms.ToTensor())[0][0].shape == [3, 2, 3]


def test_folders_without_samples(tmp_path):
    (tmp_path / "empty").mkdir()
    for kind in (datasets.DatasetFolder, datasets.ImageFolder):
        with pytest.raises(FileNotFoundError, match="a folder for root"):
            kind(str(tmp_path / "nowhere"))
        with pytest.raises(ValueError, match="extensions or is_valid_file"):
            kind(str(tmp_path), extensions=(".a",), is_valid_file=bool)
        with pytest.raises(RuntimeError, match="requires files"):
            kind(str(tmp_path))
    with pytest.raises(RuntimeError, match="a folder for each class"):
        datasets.DatasetFolder(str(tmp_path / "empty"))


# --- broken files --------------------------------------------------------------------------------------------------


def test_broken_idx_files(tmp_path):
    image_path, label_path, images, _ = files.mnist(tmp_path)
    whole = Path(image_path).read_bytes()
    head = struct.pack(">4I", 2051, 5, 28, 28)
    wrong = {
        "gzip file that is whole": [whole[: len(whole) // 2], b"no gzip", whole[:-30] + b"x" * 30],
        "begins with 2051": [gzip.compress(struct.pack(">4I", 2049, 5, 28, 28)), gzip.compress(b"abc"), b""],
        "3920 bytes": [gzip.compress(head + b"x" * 9), gzip.compress(head + b"x" * 5000)],
        "at most": [gzip.compress(struct.pack(">4I", 2051, 2**31, 28, 28))],
    }
    for words, contents in wrong.items():
        for content in contents:
            (tmp_path / "wrong.gz").write_bytes(content)
            with pytest.raises(ValueError, match=words):
                datasets.MNIST(str(tmp_path / "wrong.gz"), label_path)
    few = files.idx(tmp_path / "few.gz", np.zeros(4, "uint8"))
    with pytest.raises(ValueError, match="5 labels, one for each image, got 4"):
        datasets.MNIST(image_path, few)


class Evil:
    def __reduce__(self):
        return os.mkdir, (self.folder,)


def test_pickles_of_archives_run_no_code(tmp_path):
    evil = Evil()
    evil.folder = str(tmp_path / "made")
    path = files.tar(tmp_path / "evil.tar.gz", {"data_batch_1": pickle.dumps({"data": evil, "labels": [1]})})
    with pytest.raises(ValueError, match="a pickle of arrays in 'data_batch_1'"):
        datasets.Cifar10(path)
    assert not (tmp_path / "made").exists()


def test_broken_batches(tmp_path):
    good = files.batch([1, 2], "labels")
    wrong = {
        "a pickle of arrays": [good[: len(good) // 2], b"", b"text"],
        "uint8 pixels": [
            files.batch([1, 2], "labels", np.zeros((2, 3072))),
            files.batch([1, 2], "labels", np.zeros((3, 3072), "uint8")),
            files.batch([1, 2], "labels", [[1], [2, 3]]),
            files.batch([1, 2], "other"),
            pickle.dumps([1, 2]),
        ],
        "labels from 0 to 9": [files.batch([1, 10], "labels"), files.batch([-1, 1], "labels")],
    }
    for words, contents in wrong.items():
        for content in contents:
            with pytest.raises(ValueError, match=words):
                datasets.Cifar10(files.tar(tmp_path / "wrong.tar.gz", {"data_batch_1": content}))
    with pytest.raises(ValueError, match="members 'data_batch'"):
        datasets.Cifar10(files.tar(tmp_path / "none.tar.gz", {"readme": b"text"}))


def test_broken_archives(tmp_path):
    whole = Path(files.cifar(tmp_path, 10)).read_bytes()
    for content in (whole[: len(whole) // 2], b"no archive", b""):
        (tmp_path / "cut.tar.gz").write_bytes(content)
        with pytest.raises(ValueError, match="a tar file that is whole"):
            datasets.Cifar10(str(tmp_path / "cut.tar.gz"))
    voc = files.voc(tmp_path)
    with open(voc, "r+b") as f:
        f.truncate(os.path.getsize(voc) // 3)
    with pytest.raises(ValueError, match=r"a tar file that is whole|an archive with"):
        datasets.VOC2012(voc)[0]


def test_archives_are_not_unpacked(tmp_path, monkeypatch):
    """Names that lead outside, and links, are nothing but names."""
    (tmp_path / "secret").write_bytes(files.batch([1], "labels"))
    inner = tmp_path / "inner"
    inner.mkdir()
    path = files.tar(inner / "a.tar.gz", {"../outside/data_batch_1": files.batch([1], "labels")})
    assert len(datasets.Cifar10(path)) == 1 and sorted(os.listdir(tmp_path)) == ["inner", "secret"]
    with tarfile.open(inner / "b.tar", "w") as archive:
        for kind, target in ((tarfile.SYMTYPE, "../secret"), (tarfile.LNKTYPE, str(tmp_path / "secret"))):
            link = tarfile.TarInfo("data_batch_1")
            link.type, link.linkname = kind, target
            archive.addfile(link)
    with pytest.raises(ValueError, match="members 'data_batch'"):
        datasets.Cifar10(str(inner / "b.tar"))
    monkeypatch.setattr(_files, "LARGEST", 100)
    with pytest.raises(ValueError, match="at most 100 bytes"):
        datasets.Cifar10(path)


def test_wrong_flowers(tmp_path):
    data, labels, lists = files.flowers(tmp_path)
    for paths, words in (
        ((data, lists, lists), "ints 'labels'"),
        ((data, data, lists), "a MATLAB file"),
        (
            (files.tar(tmp_path / "few.tgz", {"jpg/image_00001.jpg": b"x"}), labels, lists),
            "image_00002.jpg' in the archive",
        ),
    ):
        with pytest.raises(ValueError, match=words):
            datasets.Flowers(*paths)
    broken = files.tar(tmp_path / "broken.tgz", {f"jpg/image_{i:05}.jpg": b"no image" for i in range(1, 5)})
    with pytest.raises(ValueError, match="an image file that is whole"):
        datasets.Flowers(broken, labels, lists)[0]


# --- missing files -------------------------------------------------------------------------------------------------

KINDS = (
    datasets.MNIST,
    datasets.FashionMNIST,
    datasets.Cifar10,
    datasets.Cifar100,
    datasets.Flowers,
    datasets.VOC2012,
)


@pytest.mark.parametrize("kind", KINDS)
def test_missing_files(kind, tmp_path, monkeypatch):
    first = "image_path" if issubclass(kind, datasets.MNIST) else "data_file"
    with pytest.raises(ValueError, match=f"{kind.__name__}.*{first}, or download=True"):
        kind(download=False)
    with pytest.raises(FileNotFoundError, match=f"a file for {first}"):
        kind(**{first: str(tmp_path / "nowhere")})
    for wrong in ({"mode": "all"}, {"backend": "tensor"}):
        with pytest.raises(ValueError, match=f"a {next(iter(wrong))} of"):
            kind(**wrong, download=False)

    def refused(*args, **kwargs):
        raise OSError("no network")

    monkeypatch.setattr(download.urllib.request, "urlopen", refused)
    monkeypatch.setattr(_files, "HOME", str(tmp_path))
    with pytest.raises(RuntimeError, match=rf"\[{kind.__name__}\] requires http.*no network.*pass its path as {first}"):
        kind()


def test_a_file_in_the_cache_is_taken(tmp_path, monkeypatch):
    monkeypatch.setattr(_files, "HOME", str(tmp_path))
    (tmp_path / "mnist").mkdir()
    image_path, label_path, _, _ = files.mnist(tmp_path / "mnist")
    os.rename(image_path, tmp_path / "mnist" / "train-images-idx3-ubyte.gz")
    os.rename(label_path, tmp_path / "mnist" / "train-labels-idx1-ubyte.gz")
    for key in ("TRAIN_IMAGE_MD5", "TRAIN_LABEL_MD5"):
        monkeypatch.setattr(datasets.MNIST, key, None)
    assert len(datasets.MNIST()) == 5
