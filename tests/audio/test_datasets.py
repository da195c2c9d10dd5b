"""Datasets of sounds, from small archives in the form of the real ones."""

from __future__ import annotations

import zipfile

import pytest

import paddle
from paddle.audio.datasets import ESC50, TESS, dataset

HEAD = "filename,fold,target,category,esc10,src_file,take\n"


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setattr(dataset, "DATA_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def sound(tmp_path_factory):
    path = tmp_path_factory.mktemp("sound") / "a.wav"
    paddle.audio.save(str(path), paddle.linspace(-1, 1, 800).unsqueeze(0), 8000)
    return path.read_bytes()


def esc50(home, sound, rows: str) -> None:
    with zipfile.ZipFile(home / "ESC-50-master.zip", "w") as archive:
        archive.writestr("ESC-50-master/meta/esc50.csv", HEAD + rows)
        for fold in range(1, 6):
            archive.writestr(f"ESC-50-master/audio/{fold}-1-A-{fold}.wav", sound)


ROWS = "".join(f"{fold}-1-A-{fold}.wav,{fold},{fold},name,False,1,A\n" for fold in range(1, 6))
# What lies in its place already is not downloaded; the archive is unpacked there.
NEAR = {"url": "http://127.0.0.1:9/ESC-50-master.zip", "md5": None}


def test_folds_and_features(home, sound):
    esc50(home, sound, ROWS)
    train, dev = (
        ESC50(archive=NEAR),
        ESC50(mode="dev", split=2, feat_type="mfcc", n_mfcc=5, n_fft=64, n_mels=8, archive=NEAR),
    )
    assert (len(train), len(dev)) == (4, 1)
    assert [train[i][1] for i in range(4)] == [2, 3, 4, 5]
    assert train[0][0].shape == [800]
    feature, label = dev[0]
    assert (feature.shape, label) == ([5, 51], 2)
    batch, labels = next(iter(paddle.io.DataLoader(train, batch_size=4)))
    assert (batch.shape, labels.tolist()) == ([4, 800], [2, 3, 4, 5])


@pytest.mark.parametrize(
    "row", ["a.wav,x,1,name,False,1,A", "a.wav,1,50,name,False,1,A", "../a.wav,1,1,name,False,1,A", "a.wav,1,1"]
)
def test_wrong_rows_are_refused(home, sound, row):
    esc50(home, sound, ROWS + row + "\n")
    with pytest.raises(ValueError, match=r"esc50\.csv', line 7"):
        ESC50(archive=NEAR)


def test_without_a_network_the_error_names_the_place(home):
    with pytest.raises(RuntimeError, match=r"127\.0\.0\.1:9.*place the file at .*ESC-50-master\.zip"):
        ESC50(archive=NEAR)


def test_archives_that_lead_outside_are_refused(home, sound):
    with zipfile.ZipFile(home / "ESC-50-master.zip", "w") as archive:
        archive.writestr("../outside.wav", sound)
    with pytest.raises(ValueError, match="inside the archive's folder"):
        ESC50(archive=NEAR)
    assert not (home.parent / "outside.wav").exists()


def test_emotions(home, sound):
    folder = home / TESS.audio_path / "OAF"
    folder.mkdir(parents=True)
    for word, emotion in (("back", "angry"), ("bar", "sad"), ("base", "ps")):
        (folder / f"OAF_{word}_{emotion}.wav").write_bytes(sound)
    dev = TESS(mode="dev", n_folds=3, split=2, feat_type="spectrogram", n_fft=64, hop_length=32)
    assert len(dev) == 1
    assert (dev[0][0].shape, dev[0][1]) == ([33, 26], TESS.label_list.index("sad"))
    assert len(TESS(n_folds=3, split=2)) == 2
    (folder / "OAF_bean.wav").write_bytes(sound)
    with pytest.raises(ValueError, match=r"OAF_bean\.wav"):
        TESS()


@pytest.mark.parametrize("wrong", [{"mode": "x"}, {"split": 9}, {"split": 0}, {"feat_type": "x"}])
def test_wrong_arguments_are_refused_before_a_download(home, wrong):
    for make in (ESC50, TESS):
        with pytest.raises(ValueError, match="requires"):
            make(**wrong)
    with pytest.raises(ValueError, match="n_folds"):
        TESS(n_folds=0)


def test_a_broken_sound_is_named(home, sound):
    esc50(home, sound[:60], ROWS)
    with pytest.raises(ValueError, match=r"2-1-A-2\.wav"):
        ESC50(archive=NEAR)[0]
