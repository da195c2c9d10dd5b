"""Prices of houses."""

from __future__ import annotations

import warnings

import numpy as np

from paddle._public import public
from paddle.framework.dtype import get_default_dtype
from paddle.io.dataset import Dataset
from paddle.text.datasets import _archives
from umiak.util.errors import op_error

URL = "http://paddlemodels.bj.bcebos.com/uci_housing/housing.data"
MD5 = "d4accdce7a25600298819f8e28e8d593"
feature_names = ["CRIM", "ZN", "INDUS", "CHAS", "NOX", "RM", "AGE", "DIS", "RAD", "TAX", "PTRATIO", "B", "LSTAT"]
_COLUMNS = len(feature_names) + 1
_TRAINED = 0.8  # share of the rows


@public("paddle.text paddle.text.datasets")
class UCIHousing(Dataset):
    """Boston housing: 13 features of a suburb, and the median price of its houses.

    Args:
        data_file: path of ``housing.data``, lines of 14 numbers; None: it is downloaded.
        mode: ``"train"`` for the first 80 % of the rows, ``"test"`` for the others.
        download: whether to download the file where no path is given.

    Returns:
        Items are ``(features, price)``, arrays ``[13]`` and ``[1]`` of the default dtype. Each feature has its mean
        subtracted and is divided by its range.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: another mode, no path without download, or a file with other lines.
        RuntimeError: the file could not be downloaded.

    Example:
        >>> import paddle, tempfile, numpy
        >>> path = tempfile.mkdtemp() + "/housing.data"
        >>> numpy.savetxt(path, numpy.arange(140.0).reshape(10, 14))
        >>> houses = paddle.text.UCIHousing(path, mode="test")
        >>> len(houses), houses[0][1].tolist()
        (2, [125.0])
    """

    def __init__(self, data_file: str | None = None, mode: str = "train", download: bool = True) -> None:
        op = "UCIHousing"
        self.mode = _archives.mode_of(op, mode, ("train", "test"))
        self.data_file = _archives.found(op, data_file, download, URL, MD5)
        self.dtype = get_default_dtype()
        rows = self._rows(op)
        split = int(len(rows) * _TRAINED)
        self.data = rows[:split] if self.mode == "train" else rows[split:]

    def _rows(self, op: str) -> np.ndarray:
        rows = []
        with open(self.data_file, "rb") as f:
            for number, line in _archives.lines(op, f, repr(self.data_file)):
                if not line.strip():
                    continue
                try:
                    row = [float(x) for x in line.split()]
                except ValueError as error:
                    raise _archives.wrong_line(op, repr(self.data_file), number, "numbers", error) from error
                if len(row) != _COLUMNS:
                    required = f"{_COLUMNS} numbers"
                    raise _archives.wrong_line(op, repr(self.data_file), number, required, len(row))
                rows.append(row)
        if not rows:
            raise op_error(ValueError, op, f"lines of {_COLUMNS} numbers", f"an empty file {self.data_file!r}")
        table = np.array(rows)
        features = table[:, :-1]
        spread = features.max(0) - features.min(0)
        with warnings.catch_warnings(), np.errstate(invalid="ignore", divide="ignore"):
            table[:, :-1] = (features - features.mean(0)) / spread
        return table

    def __getitem__(self, idx: int) -> tuple[np.ndarray, np.ndarray]:
        row = self.data[idx].astype(self.dtype)
        return row[:-1], row[-1:]

    def __len__(self) -> int:
        return len(self.data)
