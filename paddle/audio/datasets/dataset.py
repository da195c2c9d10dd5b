"""Base of datasets of sounds: files, labels and features."""

from __future__ import annotations

import os
from typing import Any

import paddle
from paddle.audio.backends.files import load
from paddle.audio.features.layers import MFCC, LogMelSpectrogram, MelSpectrogram, Spectrogram
from paddle.io.dataset import Dataset
from paddle.utils.download import DATA_HOME, get_path_from_url
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

FEATURES: dict[str, Any] = {
    "raw": None,
    "melspectrogram": MelSpectrogram,
    "mfcc": MFCC,
    "logmelspectrogram": LogMelSpectrogram,
    "spectrogram": Spectrogram,
}


class AudioClassificationDataset(Dataset):
    """Dataset of sound files and their labels.

    Args:
        files: paths.
        labels: the number of each file's class.
        feat_type: ``"raw"`` for waveforms, or a feature: ``"spectrogram"``, ``"melspectrogram"``,
            ``"logmelspectrogram"``, ``"mfcc"``.
        sample_rate: samples per second that features assume; None: those of each file.
        kwargs: arguments of the feature.

    Returns:
        Items are ``(feature, label)``: a tensor ``[time]`` or ``[points, frames]``, and an int.

    Raises:
        ValueError: another feature, labels that are not as many as files, or in an item a file that cannot be read.

    Example:
        >>> import paddle, tempfile
        >>> from paddle.audio.datasets.dataset import AudioClassificationDataset
        >>> path = tempfile.mkdtemp() + "/a.wav"
        >>> paddle.audio.save(path, paddle.zeros([1, 800]), 8000)
        >>> sounds = AudioClassificationDataset([path], [3], "mfcc", n_mfcc=5, n_fft=64, n_mels=8)
        >>> sounds[0][0].shape, sounds[0][1]
        (paddle.Size([5, 51]), 3)
    """

    def __init__(
        self, files: list[str], labels: list[int], feat_type: str = "raw", sample_rate: int | None = None, **kwargs: Any
    ) -> None:
        name = type(self).__name__
        check_feature(name, feat_type)
        if len(files) != len(labels):
            raise op_error(ValueError, name, f"a label for each of {len(files)} files", len(labels))
        self.files, self.labels = files, labels
        self.feat_type, self.sample_rate, self.feat_config = feat_type, sample_rate, kwargs
        self._extractors: dict[int, Any] = {}

    def _extractor(self, rate: int) -> Any:
        if rate not in self._extractors:
            own = {} if self.feat_type == "spectrogram" else {"sr": rate}
            self._extractors[rate] = FEATURES[self.feat_type](**own, **self.feat_config)
        return self._extractors[rate]

    def _convert_to_record(self, idx: int) -> tuple[Tensor, int]:
        waveform, rate = load(self.files[idx])
        waveform = waveform[0] if waveform.shape[0] == 1 else waveform
        if self.feat_type != "raw":
            with paddle.no_grad():
                waveform = self._extractor(self.sample_rate or rate)(waveform)
        return waveform, self.labels[idx]

    def __getitem__(self, idx: int) -> tuple[Tensor, int]:
        return self._convert_to_record(idx)

    def __len__(self) -> int:
        return len(self.files)


def check_feature(op: str, feat_type: Any) -> None:
    """Refuse what is no feature, before anything is downloaded."""
    if feat_type not in FEATURES:
        raise op_error(ValueError, op, f"a feat_type of {', '.join(FEATURES)}", repr(feat_type))


def check_fold(op: str, mode: Any, split: Any, folds: Any) -> None:
    """Refuse a part or a number of folds that there is not."""
    if mode not in ("train", "dev"):
        raise op_error(ValueError, op, "a mode of 'train' or 'dev'", repr(mode))
    if not isinstance(folds, int) or folds < 1:
        raise op_error(ValueError, op, "n_folds of 1 or more", folds)
    if not isinstance(split, int) or not 1 <= split <= folds:
        raise op_error(ValueError, op, f"a split from 1 to {folds}", split)


def fetched(op: str, archive: dict[str, str], path: str) -> str:
    """Return the folder of a dataset, which is downloaded and unpacked unless ``path`` lies in it."""
    if not os.path.exists(os.path.join(DATA_HOME, path)):
        try:
            url, md5 = archive["url"], archive["md5"]
        except (KeyError, TypeError):
            raise op_error(ValueError, op, "an archive with 'url' and 'md5'", archive) from None
        get_path_from_url(url, DATA_HOME, md5)
        if not os.path.exists(os.path.join(DATA_HOME, path)):
            raise op_error(ValueError, op, f"an archive with {path}", url)
    return DATA_HOME
