"""Readers of data sets, from small files in the form of the real ones; samples are those of the reference's readers."""

from __future__ import annotations

import gzip
import io
import itertools
import pickle
import re
import struct
import tarfile
import zipfile

import numpy as np
import pytest
from PIL import Image

import paddle
from paddle.dataset import common, image
from paddle.utils import download
from paddle.vision.datasets import _files

WORDS = "The\ncat\nsat\n.\n\nDogs\nchase\nand\nbite\ncats\n\n"
PROPS = "- (A0*\n- *)\nsit (V*)\n- *\n\n- (A0*) (A0*)\nchase (V*) *\n- * *\nbite * (V*)\n- (A1*) (A1*)\n\n"
TREEBANK = {
    "train": " the cat sat on <unk> mat \n the dog sat \n the cat ran on the mat \n",
    "valid": " the dog ran \n a cat sat \n x \n y \n",
    "test": " the x \n",
}
MARKS = "<s>\n<e>\n<unk>\n"
REVIEWS = {"pos": "A good, good movie! bad ending\n", "neg": "it's a BAD bad film. the the ending\n"}
VOC = "VOCdevkit/VOC2012/"


def tar(path, files) -> None:
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            data = text if isinstance(text, bytes) else text.encode()
            about = tarfile.TarInfo(name)
            about.size = len(data)
            archive.addfile(about, io.BytesIO(data))


def encoded(pixels, kind) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, kind)
    return file.getvalue()


@pytest.fixture
def published(tmp_path, monkeypatch):
    """A folder whose files take the place of those of the network."""

    def local(url, folder, md5=None, method="get", save_name=None):
        path = tmp_path / url.rpartition("/")[2].rpartition("%2F")[2]
        assert path.is_file(), url
        return str(path)

    monkeypatch.setattr(common, "_download", local)
    monkeypatch.setattr(_files, "_download", local)
    monkeypatch.setattr(common, "DATA_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(_files, "HOME", str(tmp_path / "home"))
    return tmp_path


def test_digits(published, rng):
    pixels = rng.integers(0, 256, (3, 28, 28), dtype=np.uint8)
    for part in ("train", "t10k"):
        for kind, data in (
            ("images-idx3", struct.pack(">4i", 2051, 3, 28, 28) + pixels.tobytes()),
            ("labels-idx1", struct.pack(">2i", 2049, 3) + bytes([3, 1, 9])),
        ):
            (published / f"{part}-{kind}-ubyte.gz").write_bytes(gzip.compress(data))
    reader = paddle.dataset.mnist.train()
    samples = list(reader())
    assert [label for _, label in samples] == [3, 1, 9] == [label for _, label in reader()]
    assert samples[0][0].dtype == np.float32 and samples[0][0].shape == (784,)
    np.testing.assert_allclose(samples[2][0], pixels[2].ravel() / 127.5 - 1, atol=1e-6)
    mnist = paddle.dataset.mnist
    assert len(list(mnist.test()())) == 3
    files = [str(published / url.rpartition("/")[2]) for url in (mnist.TEST_IMAGE_URL, mnist.TEST_LABEL_URL)]
    for ours, theirs in zip(mnist.reader_creator(*files, 100)(), samples, strict=True):
        np.testing.assert_array_equal(ours[0], theirs[0])
        assert ours[1] == theirs[1]


def test_small_pictures(published, rng):
    pixels = rng.integers(0, 256, (2, 3072), dtype=np.uint8)
    batch = pickle.dumps({"data": pixels, "labels": [1, 7], "fine_labels": [1, 77]}, 2)
    tar(published / "cifar-10-python.tar.gz", {"c/data_batch_1": batch, "c/test_batch": batch})
    tar(published / "cifar-100-python.tar.gz", {"c/train": batch, "c/test": batch})
    cifar = paddle.dataset.cifar
    for reader, labels in ((cifar.train10(), [1, 7]), (cifar.test10(), [1, 7]), (cifar.train100(), [1, 77])):
        samples = list(reader())
        assert [label for _, label in samples] == labels and samples[0][0].dtype == np.float32
        np.testing.assert_allclose(samples[1][0], pixels[1] / 255, atol=1e-6)
    assert [label for _, label in itertools.islice(cifar.test10(cycle=True)(), 5)] == [1, 7, 1, 7, 1]
    paths = [str(published / url.rpartition("/")[2]) for url in (cifar.CIFAR10_URL, cifar.CIFAR100_URL)]
    for path, part, labels in (
        (paths[0], "data_batch", [1, 7]), (paths[0], "test_batch", [1, 7]), (paths[1], "train", [1, 77]),
        (paths[1], "test", [1, 77]),
    ):  # fmt: skip
        assert [label for _, label in cifar.reader_creator(path, part)()] == labels
    with pytest.raises(ValueError, match="sub_name of 'data_batch'"):
        cifar.reader_creator(paths[0], "validation")


def test_houses(published, rng):
    table = rng.uniform(0, 9, (20, 14))
    np.savetxt(published / "housing.data", table)
    train, test = (list(r()) for r in (paddle.dataset.uci_housing.train(), paddle.dataset.uci_housing.test()))
    assert (len(train), len(test)) == (16, 4)
    np.testing.assert_allclose(train[3][0], (table[3] - table.mean(0))[:13] / np.ptp(table, axis=0)[:13])
    np.testing.assert_allclose(test[0][1], table[16, 13:])
    np.testing.assert_array_equal(paddle.dataset.uci_housing.predict_reader(), [test[0][0]])


def test_reviews(published):
    imdb = paddle.dataset.imdb
    parts = itertools.product(("train", "test"), REVIEWS.items(), (1, 2))
    tar(published / "aclImdb_v1.tar.gz", {f"aclImdb/{p}/{k}/{i}_7.txt": t * i for p, (k, t), i in parts})
    words = imdb.build_dict(re.compile(r"aclImdb/((train)|(test))/((pos)|(neg))/.*\.txt$"), 6)
    assert words == {b"bad": 0, b"a": 1, b"ending": 2, b"good": 3, b"the": 4, "<unk>": 5}
    first, last = [1, 3, 3, 5, 0, 2], [5, 1, 0, 0, 5, 4, 4, 2]
    assert list(imdb.train(words)()) == [(first, 0), (first * 2, 0), (last, 1), (last * 2, 1)]
    assert len(list(imdb.test(words)())) == 4
    assert imdb.word_dict() == {"<unk>": 0}


def test_sentences(published):
    imikolov = paddle.dataset.imikolov
    tar(published / "simple-examples.tgz", {f"./simple-examples/data/ptb.{n}.txt": t for n, t in TREEBANK.items()})
    words = imikolov.build_dict(1)
    assert list(imikolov.train(words, 3)())[:3] == [(1, 2, 3), (2, 3, 4), (3, 4, 7)]
    assert list(imikolov.train(words, 4, imikolov.DataType.SEQ)()) == [([1, 2, 5, 4], [2, 5, 4, 0])]
    assert list(imikolov.test(words, 2)())[:3] == [(1, 2), (2, 5), (5, 8)]
    with pytest.raises(ValueError, match="data_type, got 3"):
        imikolov.train(words, 2, 3)


def test_ratings(published):
    movielens = paddle.dataset.movielens
    with zipfile.ZipFile(published / "ml-1m.zip", "w") as archive:
        archive.writestr("ml-1m/movies.dat", "1::Toy Story (1995)::Animation|Comedy\n2::Heat (1993)::Comedy\n")
        archive.writestr("ml-1m/users.dat", "1::F::1::10::48067\n2::M::56::16::70072\n")
        rows = (f"{1 + i % 2}::{1 + i % 2}::{1 + i % 5}::97830{i}\n" for i in range(20))
        archive.writestr("ml-1m/ratings.dat", "".join(rows))
    train, test = list(movielens.train()()), list(movielens.test()())
    assert (len(train), len(test)) == (17, 3)
    assert train[0] == [1, 1, 0, 10, 1, [0, 1], [2, 1], [-3.0]]
    assert (movielens.max_movie_id(), movielens.max_user_id(), movielens.max_job_id()) == (2, 2, 16)
    assert movielens.movie_categories() == {"Animation": 0, "Comedy": 1}
    assert movielens.get_movie_title_dict() == {"heat": 0, "story": 1, "toy": 2}
    assert movielens.movie_info()[2].title == "Heat " and movielens.user_info()[1].job_id == 10


def test_roles(published):
    conll05 = paddle.dataset.conll05
    files = (("words", WORDS), ("props", PROPS))
    names = {f"conll05st-release/test.wsj/{n}/test.wsj.{n}.gz": gzip.compress(t.encode()) for n, t in files}
    tar(published / "conll05st-tests.tar.gz", names)
    lists = {
        "wordDict": "<unk> bos eos The cat sat . Dogs",
        "verbDict": "sit chase bite",
        "targetDict": "B-A0 B-A1 B-V O",
    }
    for name, text in lists.items():
        (published / f"{name}.txt").write_text("\n".join(text.split()))
    (published / "emb").write_text("")
    first, second, _ = conll05.test()()
    assert first[:2] == ([3, 4, 5, 6], [3] * 4) and first[5:8] == ([2] * 4, [0] * 4, [1] * 4)
    assert second[7] == [1, 1, 1, 1, 0]
    assert conll05.get_dict()[1] == {"sit": 0, "chase": 1, "bite": 2}
    assert conll05.get_embedding() == str(published / "emb")


def test_translations(published):
    wmt14, wmt16 = paddle.dataset.wmt14, paddle.dataset.wmt16
    files = {"train/train": "a cat\tun chat\nbad line\na x\tun y\n", "test/test": "cat\tchat\n", "gen/gen": "a\tun\n"}
    files |= {"src.dict": MARKS + "a\ncat\n", "trg.dict": MARKS + "un\nchat\n"}
    tar(published / "wmt14.tgz", {f"wmt14/{name}": text for name, text in files.items()})
    assert list(wmt14.train(5)()) == [([0, 3, 4, 1], [0, 3, 4], [3, 4, 1]), ([0, 3, 2, 1], [0, 3, 2], [3, 2, 1])]
    assert list(wmt14.test(5)()) == [([0, 4, 1], [0, 4], [4, 1])]
    assert list(wmt14.gen(5)()) == [([0, 3, 1], [0, 3], [3, 1])]
    assert wmt14.get_dict(5)[0] == {0: "<s>", 1: "<e>", 2: "<unk>", 3: "a", 4: "cat"}
    files = {
        "train": "a cat\teine Katze\na dog a\tein Hund\n",
        "test": "a bird\tein Vogel\n",
        "val": "a cat\teine Katze\n",
    }
    tar(published / "wmt16.tar.gz", {f"wmt16/{name}": text for name, text in files.items()})
    assert list(wmt16.train(6, 5, "de")())[1] == ([0, 5, 2, 1], [0, 3, 2, 3], [3, 2, 3, 1])
    assert list(wmt16.test(6, 5, "de")()) == [([0, 5, 2, 1], [0, 3, 2], [3, 2, 1])]
    assert list(wmt16.validation(6, 5, "de")()) == [([0, 3, 4, 1], [0, 3, 4], [3, 4, 1])]
    assert wmt16.get_dict("en", 5) == {"<s>": 0, "<e>": 1, "<unk>": 2, "a": 3, "cat": 4}


def test_flowers(published, rng):
    from scipy.io import savemat

    flowers = paddle.dataset.flowers
    pixels = rng.integers(0, 256, (3, 9, 11, 3), dtype=np.uint8)
    tar(published / "102flowers.tgz", {f"jpg/image_{i:05}.jpg": encoded(pixels[i - 1], "PNG") for i in (1, 2, 3)})
    savemat(published / "imagelabels.mat", {"labels": np.array([[5, 102, 7]])})
    savemat(published / "setid.mat", {"trnid": np.array([[2]]), "valid": np.array([[1]]), "tstid": np.array([[3, 1]])})
    ((values, label),) = flowers.test()()
    assert label == 101 and values.shape == (3 * 224 * 224,) and values.dtype == np.float32
    middle = image.center_crop(image.resize_short(pixels[1, :, :, ::-1].copy(), 256), 224)
    np.testing.assert_allclose(values.reshape(3, 224, 224)[1], middle[..., 1] - 116.78, atol=1e-4)
    assert [label for _, label in flowers.train()()] == [4, 6]
    read = flowers.valid(mapper=lambda sample: (image.load_image_bytes(sample[0]).shape, sample[1]))
    assert list(read()) == [((9, 11, 3), 4)]


def test_segmentation(published, rng):
    pixels, classes = rng.integers(0, 256, (4, 5, 3), dtype=np.uint8), rng.integers(0, 21, (4, 5), dtype=np.uint8)
    files = {f"{VOC}ImageSets/Segmentation/{k}.txt": t for k, t in (("train", "b"), ("trainval", "a\nb"), ("val", "a"))}
    for name in "ab":
        files[f"{VOC}JPEGImages/{name}.jpg"] = encoded(pixels, "PNG")
        files[f"{VOC}SegmentationClass/{name}.png"] = encoded(classes, "PNG")
    tar(published / "VOCtrainval_11-May-2012.tar", files)
    voc = paddle.dataset.voc2012
    assert [len(list(reader())) for reader in (voc.train(), voc.test(), voc.val())] == [2, 1, 1]
    ((photograph, labels),) = voc.val()()
    assert np.array_equal(photograph, pixels) and np.array_equal(labels, classes)


def test_images(tmp_path):
    x = np.arange(6 * 8 * 3, dtype=np.uint8).reshape(6, 8, 3)
    Image.fromarray(x).save(tmp_path / "x.png")
    assert np.array_equal(image.load_image(str(tmp_path / "x.png")), x[..., ::-1])
    assert image.load_image(str(tmp_path / "x.png"), False).sum() == 3384
    assert image.resize_short(x, 4).sum() == 4290 and image.resize_short(x, 4).shape == (4, 5, 3)
    assert image.center_crop(x, 4).ravel()[:3].tolist() == [30, 31, 32]
    assert np.array_equal(image.left_right_flip(x), x[:, ::-1]) and image.to_chw(x).shape == (3, 6, 8)
    np.random.seed(3)
    assert [image.random_crop(x, 4).sum() for _ in range(2)] == [4296, 3576]
    np.random.seed(3)
    assert image.simple_transform(x, 5, 4, True).sum() == 2536
    assert image.simple_transform(x, 5, 4, False, mean=[1.0, 2.0, 3.0]).sum() == 2633
    assert image.simple_transform(x[..., 0], 5, 4, True, False).sum() == 1297
    assert image.load_and_transform(str(tmp_path / "x.png"), 5, 4, False).sum() == 2729
    with pytest.raises(ValueError, match="a compressed image, got 3 bytes"):
        image.load_image_bytes(b"abc")
    with pytest.raises(FileNotFoundError):
        image.load_image(str(tmp_path / "none.png"))
    with pytest.raises(ValueError, match="at least 9 × 9 pixels"):
        image.center_crop(x, 9)


def test_samples_in_files(tmp_path):
    paths = str(tmp_path / "part-%02d.pickle")
    common.split(lambda: range(7), 3, paths)
    assert sorted(p.name for p in tmp_path.iterdir()) == [f"part-0{i}.pickle" for i in range(3)]
    shares = [list(common.cluster_files_reader(str(tmp_path / "*.pickle"), 2, i)()) for i in (0, 1)]
    assert shares == [[0, 1, 2, 6], [3, 4, 5]]
    with pytest.raises(ValueError, match="line_count of at least 1"):
        common.split(lambda: range(7), 0, paths)
    with pytest.raises(ValueError, match="trainer_id below trainer_count"):
        common.cluster_files_reader("*", 2, 2)


def test_the_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(common, "DATA_HOME", str(tmp_path))
    monkeypatch.setattr(download, "DOWNLOAD_RETRY_LIMIT", 1)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "f").write_text("abc")
    md5 = common.md5file(str(tmp_path / "mine" / "f"))
    assert md5 == "900150983cd24fb0d6963f7d28e17f72"
    assert common.download("http://127.0.0.1:9/g", "mine", md5, "f") == str(tmp_path / "mine" / "f")
    with pytest.raises(RuntimeError, match=r"place the file at .*imdb"):
        paddle.dataset.imdb.word_dict()


def test_everything_is_fetched(monkeypatch):
    fetched = []
    modules = "cifar conll05 flowers imdb imikolov mnist movielens uci_housing wmt14 wmt16".split()
    for name in modules:
        monkeypatch.setattr(getattr(paddle.dataset, name), "fetch", lambda name=name: fetched.append(name))
    common.fetch_all()
    assert fetched == modules
