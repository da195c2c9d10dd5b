"""Sounds of the environment."""

from __future__ import annotations

import collections
import csv
import os
from typing import Any

from paddle._public import public
from paddle.audio.datasets.dataset import AudioClassificationDataset, check_feature, check_fold, fetched
from umiak.util.errors import op_error

_FOLDS = 5


@public("paddle.audio.datasets")
class ESC50(AudioClassificationDataset):
    """ESC-50: 2000 sounds of the environment, 5 seconds each, of 50 classes in 5 folds.

    Args:
        mode: ``"train"`` for all folds but one, ``"dev"`` for that one.
        split: the fold of ``"dev"``, from 1 to 5.
        feat_type: ``"raw"`` for waveforms, or a feature: ``"spectrogram"``, ``"melspectrogram"``,
            ``"logmelspectrogram"``, ``"mfcc"``.
        archive: dict of ``"url"`` and ``"md5"`` of the archive; None: where the authors' archive is kept. It is
            downloaded and unpacked into ``~/.cache/paddle/dataset``, unless the folder ``ESC-50-master`` is there.
        kwargs: arguments of the feature.

    Returns:
        Items are ``(feature, label)``: a tensor ``[time]`` or ``[points, frames]``, and the place of the class in
        ``label_list``.

    Raises:
        ValueError: another mode, split or feature, or a table of sounds (``meta/esc50.csv``) with other lines.
        RuntimeError: the archive could not be downloaded.

    References:
        K. J. Piczak, "ESC: Dataset for Environmental Sound Classification", 2015.

    Example:
        >>> import paddle
        >>> paddle.audio.datasets.ESC50.label_list[:3]
        ['Dog', 'Rooster', 'Pig']
    """

    archive = {
        "url": "https://paddleaudio.bj.bcebos.com/datasets/ESC-50-master.zip",
        "md5": "7771e4b9d86d0945acce719c7a59305a",
    }
    label_list = [
        "Dog", "Rooster", "Pig", "Cow", "Frog", "Cat", "Hen", "Insects (flying)", "Sheep", "Crow",
        "Rain", "Sea waves", "Crackling fire", "Crickets", "Chirping birds", "Water drops", "Wind", "Pouring water",
        "Toilet flush", "Thunderstorm",
        "Crying baby", "Sneezing", "Clapping", "Breathing", "Coughing", "Footsteps", "Laughing", "Brushing teeth",
        "Snoring", "Drinking, sipping",
        "Door knock", "Mouse click", "Keyboard typing", "Door, wood creaks", "Can opening", "Washing machine",
        "Vacuum cleaner", "Clock alarm", "Clock tick", "Glass breaking",
        "Helicopter", "Chainsaw", "Siren", "Car horn", "Engine", "Train", "Church bells", "Airplane", "Fireworks",
        "Hand saw",
    ]  # fmt: skip
    meta = os.path.join("ESC-50-master", "meta", "esc50.csv")
    meta_info = collections.namedtuple(
        "meta_info", ("filename", "fold", "target", "category", "esc10", "src_file", "take")
    )
    audio_path = os.path.join("ESC-50-master", "audio")

    def __init__(
        self,
        mode: str = "train",
        split: int = 1,
        feat_type: str = "raw",
        archive: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> None:
        check_fold("ESC50", mode, split, _FOLDS)
        check_feature("ESC50", feat_type)
        if archive is not None:
            self.archive = archive
        files, labels = self._get_data(mode, split)
        super().__init__(files=files, labels=labels, feat_type=feat_type, **kwargs)

    def _get_meta_info(self, folder: str) -> list:
        path = os.path.join(folder, self.meta)
        rows = []
        with open(path, encoding="utf-8", newline="") as f:
            for number, fields in enumerate(csv.reader(f), 1):
                if number == 1 or not fields:
                    continue
                row = self.meta_info._make(fields) if len(fields) == len(self.meta_info._fields) else None
                if row is None or not (row.fold.isdigit() and row.target.isdigit()):
                    required = f"{', '.join(self.meta_info._fields)} in {path!r}, line {number}"
                    raise op_error(ValueError, "ESC50", required, fields)
                if int(row.target) >= len(self.label_list) or os.path.basename(row.filename) != row.filename:
                    required = f"a file name and a target below {len(self.label_list)} in {path!r}, line {number}"
                    raise op_error(ValueError, "ESC50", required, fields)
                rows.append(row)
        return rows

    def _get_data(self, mode: str, split: int) -> tuple[list[str], list[int]]:
        folder = fetched("ESC50", self.archive, self.meta)
        kept = [r for r in self._get_meta_info(folder) if (int(r.fold) == split) == (mode == "dev")]
        sounds = os.path.join(folder, self.audio_path)
        return [os.path.join(sounds, r.filename) for r in kept], [int(r.target) for r in kept]
