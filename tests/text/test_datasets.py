"""Datasets of texts, from small archives in the form of the real ones.

The numbers are those that the reference framework gives for the same archives, but for words of one frequency in
Movielens and the labels of Conll05st, which it numbers in another order each time, and the target words of WMT16.
"""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_allclose

import paddle
from paddle.text.datasets import conll05, imdb, imikolov, movielens, uci_housing, wmt14, wmt16

LOCAL = "http://127.0.0.1:9/file"  # where nobody listens


def tar(path, files: dict[str, str | bytes]) -> str:
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            data = text if isinstance(text, bytes) else text.encode()
            about = tarfile.TarInfo(name)
            about.size = len(data)
            archive.addfile(about, io.BytesIO(data))
    return str(path)


def items(dataset) -> list:
    return [[part.tolist() for part in dataset[i]] for i in range(len(dataset))]


@pytest.fixture
def housing(tmp_path, rng):
    path = str(tmp_path / "housing.data")
    np.savetxt(path, rng.uniform(0, 9, (20, 14)), fmt="%8.4f")
    return path


def test_houses(housing):
    train, test = paddle.text.UCIHousing(housing), paddle.text.UCIHousing(housing, "test")
    assert (len(train), len(test)) == (16, 4)
    table = np.loadtxt(housing)
    features = (table[:, :13] - table[:, :13].mean(0)) / np.ptp(table[:, :13], axis=0)
    assert_allclose(test[1][0], features[17], rtol=1e-5, atol=1e-6)
    assert_allclose(test[1][1], table[17, 13:], rtol=1e-6)
    assert train[0][0].dtype == np.float32


@pytest.mark.parametrize(("text", "match"), [("1 2 3\n", "line 1"), ("1 " * 14 + "\nx\n", "line 2"), ("", "empty")])
def test_tables_of_houses_with_other_lines(tmp_path, text, match):
    (tmp_path / "housing.data").write_text(text)
    with pytest.raises(ValueError, match=match):
        paddle.text.UCIHousing(str(tmp_path / "housing.data"))


def test_reviews(tmp_path):
    texts = {"pos": "A good, good movie! bad ending\n", "neg": "it's a BAD bad film. the the ending\n"}
    files = {
        f"aclImdb/{part}/{label}/{i}_7.txt": text * (i + 1)
        for part in ("train", "test")
        for label, text in texts.items()
        for i in range(2)
    }
    path = tar(tmp_path / "imdb.tgz", {**files, "aclImdb/train/unsup/0_0.txt": "good", "aclImdb/README": "x"})
    reviews = paddle.text.Imdb(path, cutoff=6)
    assert reviews.word_idx == {b"bad": 0, b"a": 1, b"ending": 2, b"good": 3, b"the": 4, "<unk>": 5}
    first, last = [1, 3, 3, 5, 0, 2], [5, 1, 0, 0, 5, 4, 4, 2]
    assert items(reviews) == [[first, [0]], [first * 2, [0]], [last, [1]], [last * 2, [1]]]
    assert len(paddle.text.Imdb(path, "test", 6)) == 4


def treebank(path) -> str:
    texts = {
        "train": " the cat sat on <unk> mat \n the dog sat \n the cat ran on the mat \n",
        "valid": " the dog ran \n a cat sat \n x \n y \n",
        "test": " the x \n",
    }
    return tar(path, {f"./simple-examples/data/ptb.{name}.txt": text for name, text in texts.items()})


def test_sentences_of_the_treebank(tmp_path):
    path = treebank(tmp_path / "ptb.tgz")
    grams = paddle.text.Imikolov(path, "NGRAM", 3, min_word_freq=1)
    words = [b"the", b"cat", b"sat", b"dog", b"mat", b"on", b"ran"]
    assert grams.word_idx == {"<e>": 0, "<s>": 1, **{w: i for i, w in enumerate(words, 2)}, "<unk>": 9}
    assert items(grams)[:7] == [[1, 2, 3], [2, 3, 4], [3, 4, 7], [4, 7, 9], [7, 9, 6], [9, 6, 0], [1, 2, 5]]
    assert items(paddle.text.Imikolov(path, "SEQ", 4, min_word_freq=1)) == [[[1, 2, 5, 4], [2, 5, 4, 0]]]
    assert items(paddle.text.Imikolov(path, "seq", mode="TEST", min_word_freq=1)) == [[[1, 2, 9], [2, 9, 0]]]
    for wrong in ({"data_type": "x"}, {"window_size": -1}):
        with pytest.raises(ValueError, match="Imikolov"):
            paddle.text.Imikolov(path, **wrong)


MOVIES = "1::Toy Story (1995)::Animation|Comedy\n2::Caf\xe9 (au lait) (1993)::Comedy\n"
USERS = "1::F::1::10::48067\n2::M::56::16::70072\n"
RATINGS = "".join(f"{1 + i % 2}::{1 + i % 2}::{1 + i % 5}::97830{i}\n" for i in range(20))


def ratings(path, movies=MOVIES, users=USERS, lines=RATINGS) -> str:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in (("movies", movies), ("users", users), ("ratings", lines)):
            archive.writestr(f"ml-1m/{name}.dat", text.encode("latin-1"))
    return str(path)


def test_ratings_of_films(tmp_path):
    path = ratings(tmp_path / "ml-1m.zip")
    train, test = (paddle.text.Movielens(path, mode, test_ratio=0.3) for mode in ("train", "test"))
    assert (len(train), len(test)) == (17, 3)
    assert items(train)[0] == [[1], [1], [0], [10], [1], [0, 1], [4, 3], [-3.0]]
    assert items(train)[1] == [[2], [0], [6], [16], [2], [1], [1, 0, 2], [-1.0]]
    assert train.movie_title_dict == {"(au": 0, "café": 1, "lait)": 2, "story": 3, "toy": 4}


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ("movies", "1::Toy Story::Comedy\n"),
        ("users", "1::F::2::10::1\n"),
        ("lines", "1::9::5::0\n"),
        ("lines", "1::1\n"),
    ],
)
def test_wrong_lines_of_ratings(tmp_path, part, text):
    name = "ratings" if part == "lines" else part
    with pytest.raises(ValueError, match=rf"ml-1m/{name}\.dat, line 1"):
        paddle.text.Movielens(ratings(tmp_path / "ml-1m.zip", **{part: text}))


WORDS = "The\ncat\nsat\n.\n\nDogs\nchase\nand\nbite\ncats\n\n"
PROPS = "- (A0*\n- *)\nsit (V*)\n- *\n\n- (A0*) (A0*)\nchase (V*) *\n- * *\nbite * (V*)\n- (A1*) (A1*)\n\n"


def roles(folder, words=WORDS, props=PROPS, **changes: str) -> paddle.text.Conll05st:
    files = {name: text.encode() for name, text in (("words", words), ("props", props))}
    archive = tar(
        folder / "tests.tgz",
        {f"conll05st-release/test.wsj/{n}/test.wsj.{n}.gz": gzip.compress(data) for n, data in files.items()},
    )
    lists = {
        "word": "<unk> bos eos the The cat sat . Dogs", "verb": "sit chase bite",
        "target": "B-A0 B-A1 B-V I-A0 I-A1 I-V O", "emb": "",
    }  # fmt: skip
    for name, text in {**lists, **changes}.items():
        (folder / name).write_text("\n".join(text.split()))
    return paddle.text.Conll05st(archive, *(str(folder / name) for name in lists))


def test_roles_of_words(tmp_path):
    dataset = roles(tmp_path)
    assert dataset.get_dict()[2] == {"B-A0": 0, "I-A0": 1, "B-A1": 2, "I-A1": 3, "B-V": 4, "I-V": 5, "O": 6}
    assert dataset.get_embedding() == str(tmp_path / "emb")
    first, second, third = items(dataset)
    assert first == [[4, 5, 6, 7], *([n] * 4 for n in (4, 5, 6, 7, 2)), [0] * 4, [1] * 4, [0, 1, 4, 6]]
    assert second[5:] == [[0] * 5, [1] * 5, [1, 1, 1, 1, 0], [0, 4, 6, 6, 2]]
    assert third[1:] == [*([n] * 5 for n in (0, 0, 0, 0, 2)), [2] * 5, [0, 1, 1, 1, 1], [0, 6, 6, 4, 2]]


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"props": PROPS.replace("sit (V*)", "sit V*")}, "line 3"),
        ({"props": PROPS.replace("- *)", "- *) *", 1)}, "line 2"),
        ({"props": PROPS.replace("bite * (V*)", "- * (V*)")}, "line 11"),
        ({"verb": "chase bite"}, "predicates"),
        ({"target": "B-A0 O"}, "labels"),
        ({"words": WORDS.replace("sat\n", "")}, "line 4"),
        ({"props": "- *)\n"}, "line"),
    ],
)
def test_wrong_lines_of_roles(tmp_path, change, match):
    with pytest.raises(ValueError, match=match):
        roles(tmp_path, **change)


def test_translations_into_french(tmp_path):
    pairs = "le chat\tthe cat\nle chat noir dort\tthe black cat sleeps\n" + "le " * 81 + "\tthe\nbroken line\n"
    marks = "<s>\n<e>\n<unk>\n"
    files = {
        "train/train": pairs, "gen/gen": "noir\tblack\n", "test/test": "le chat\tthe cat\n",
        "src.dict": marks + "le\nchat\nnoir\n", "trg.dict": marks + "the\nblack\ncat\n",
    }  # fmt: skip
    path = tar(tmp_path / "wmt14.tgz", {f"wmt14/{name}": text for name, text in files.items()})
    dataset = paddle.text.WMT14(path, dict_size=5)
    assert items(dataset) == [
        [[0, 3, 4, 1], [0, 3, 2], [3, 2, 1]],
        [[0, 3, 4, 2, 2, 1], [0, 3, 4, 2, 2], [3, 4, 2, 2, 1]],
    ]
    assert items(paddle.text.WMT14(path, "gen", 5)) == [[[0, 2, 1], [0, 4], [4, 1]]]
    assert dataset.get_dict(reverse=True)[1] == {0: "<s>", 1: "<e>", 2: "<unk>", 3: "the", 4: "black"}
    for size in (-1, 1):
        with pytest.raises(ValueError, match="WMT14"):
            paddle.text.WMT14(path, dict_size=size)


def test_translations_into_german(tmp_path):
    text = "a cat sleeps\teine katze schl\u00e4ft\na dog\tein hund\na a cat\teine katze\n"
    path = tar(tmp_path / "wmt16.tgz", {"wmt16/train": text, "wmt16/val": "a cat\tein hund\nbroken\n"})
    dataset = paddle.text.WMT16(path, "train", 6, 7)
    assert items(dataset)[1:] == [[[0, 3, 2, 1], [0, 6, 2], [6, 2, 1]], [[0, 3, 3, 4, 1], [0, 3, 4], [3, 4, 1]]]
    assert dataset.get_dict("de") == {
        "<s>": 0,
        "<e>": 1,
        "<unk>": 2,
        "eine": 3,
        "katze": 4,
        "schl\u00e4ft": 5,
        "ein": 6,
    }
    assert items(paddle.text.WMT16(path, "val", 6, 7, "de")) == [[[0, 2, 2, 1], [0, 3, 4], [3, 4, 1]]]
    for wrong in ({"lang": "fr"}, {"src_dict_size": 0}):
        with pytest.raises(ValueError, match="WMT16"):
            paddle.text.WMT16(path, **{"src_dict_size": 9, "trg_dict_size": 9, **wrong})


ALL = {
    "UCIHousing": (uci_housing, "URL", {}), "Imdb": (imdb, "URL", {}), "Movielens": (movielens, "URL", {}),
    "Imikolov": (imikolov, "URL", {"window_size": 2}), "Conll05st": (conll05, "DATA_URL", {}),
    "WMT14": (wmt14, "URL_TRAIN", {"dict_size": 9}),
    "WMT16": (wmt16, "DATA_URL", {"src_dict_size": 9, "trg_dict_size": 9}),
}  # fmt: skip


@pytest.mark.parametrize("name", ALL)
def test_without_a_network_the_error_names_the_place(tmp_path, monkeypatch, name):
    module, url, needed = ALL[name]
    monkeypatch.setattr(module, url, LOCAL)
    monkeypatch.setattr(f"{module.__name__.rpartition('.')[0]}._archives.DATA_HOME", str(tmp_path))
    with pytest.raises(RuntimeError, match=rf"place the file at {tmp_path}/{name.lower()}/file"):
        getattr(paddle.text, name)(**needed)
    with pytest.raises(ValueError, match="download=False"):
        getattr(paddle.text, name)(download=False, **needed)
    with pytest.raises(FileNotFoundError):
        getattr(paddle.text, name)(str(tmp_path / "missing"), **needed)
    if name != "Conll05st":
        with pytest.raises(ValueError, match="a mode of"):
            getattr(paddle.text, name)(mode="other")


@pytest.mark.parametrize("name", [name for name in ALL if name not in ("UCIHousing", "Conll05st")])
@pytest.mark.parametrize("content", ["text", "other", "cut"])
def test_archives_that_are_none(tmp_path, name, content):
    path, needed = tmp_path / "archive", ALL[name][2]
    if content == "text":
        path.write_text("no archive")
    elif name == "Movielens":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("other", "x")
    else:
        tar(path, {"other": "x"})
    if content == "cut":
        path.write_bytes(path.read_bytes()[:20])
    with pytest.raises(ValueError, match=rf"\[{name}\]"):
        getattr(paddle.text, name)(str(path), **needed)


def test_a_line_without_an_end_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ml-1m/movies.dat", b"1" * (1 << 22))
    with pytest.raises(ValueError, match=r"movies\.dat, line 1"):
        paddle.text.Movielens(str(tmp_path / "a.zip"))
