"""Spoken words in seven emotions."""

from __future__ import annotations

import collections
import os
from typing import Any

from paddle._public import public
from paddle.audio.datasets.dataset import AudioClassificationDataset, check_feature, check_fold, fetched
from umiak.util.errors import op_error


@public("paddle.audio.datasets")
class TESS(AudioClassificationDataset):
    """Toronto emotional speech set: 200 words, each spoken by two actresses in seven emotions.

    Args:
        mode: ``"train"`` for all folds but one, ``"dev"`` for that one.
        n_folds: into how many folds the files, in the order of their paths, are dealt in turn.
        split: the fold of ``"dev"``, from 1 to n_folds.
        feat_type: ``"raw"`` for waveforms, or a feature: ``"spectrogram"``, ``"melspectrogram"``,
            ``"logmelspectrogram"``, ``"mfcc"``.
        archive: dict of ``"url"`` and ``"md5"`` of the archive; None: where the authors' archive is kept. It is
            downloaded and unpacked into ``~/.cache/paddle/dataset``, unless the folder
            ``TESS_Toronto_emotional_speech_set`` is there.
        kwargs: arguments of the feature.

    Returns:
        Items are ``(feature, label)``: a tensor ``[time]`` or ``[points, frames]``, and the place of the emotion in
        ``label_list``.

    Raises:
        ValueError: another mode, split, number of folds or feature, or a file whose name is not
            ``speaker_word_emotion.wav``.
        RuntimeError: the archive could not be downloaded.

    References:
        M. K. Pichora-Fuller and K. Dupuis, "Toronto emotional speech set (TESS)", 2020.

    Example:
        >>> import paddle
        >>> paddle.audio.datasets.TESS.label_list
        ['angry', 'disgust', 'fear', 'happy', 'neutral', 'ps', 'sad']
    """

    archive = {
        "url": "https://bj.bcebos.com/paddleaudio/datasets/TESS_Toronto_emotional_speech_set.zip",
        "md5": "1465311b24d1de704c4c63e4ccc470c7",
    }
    label_list = ["angry", "disgust", "fear", "happy", "neutral", "ps", "sad"]
    meta_info = collections.namedtuple("meta_info", ("speaker", "word", "emotion"))
    audio_path = "TESS_Toronto_emotional_speech_set"

    def __init__(
        self,
        mode: str = "train",
        n_folds: int = 5,
        split: int = 1,
        feat_type: str = "raw",
        archive: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> None:
        check_fold("TESS", mode, split, n_folds)
        check_feature("TESS", feat_type)
        if archive is not None:
            self.archive = archive
        files, labels = self._get_data(mode, n_folds, split)
        super().__init__(files=files, labels=labels, feat_type=feat_type, **kwargs)

    def _get_meta_info(self, files: list[str]) -> list:
        rows = []
        for file in files:
            fields = os.path.basename(file)[: -len(".wav")].split("_")
            if len(fields) != len(self.meta_info._fields) or fields[-1].lower() not in self.label_list:
                required = f"names speaker_word_emotion.wav with one of {', '.join(self.label_list)}"
                raise op_error(ValueError, "TESS", required, repr(file))
            rows.append(self.meta_info(fields[0], fields[1], fields[2].lower()))
        return rows

    def _get_data(self, mode: str, n_folds: int, split: int) -> tuple[list[str], list[int]]:
        top = os.path.join(fetched("TESS", self.archive, self.audio_path), self.audio_path)
        found = [os.path.join(root, n) for root, _, names in os.walk(top) for n in names if n.endswith(".wav")]
        # os.walk has the order of the file system, which differs from machine to machine.
        files = sorted(found)
        rows = self._get_meta_info(files)
        kept = [i for i in range(len(files)) if (i % n_folds + 1 == split) == (mode == "dev")]
        return [files[i] for i in kept], [self.label_list.index(rows[i].emotion) for i in kept]
