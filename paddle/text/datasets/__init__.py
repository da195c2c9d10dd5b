"""Datasets of texts, read from the archives that their authors publish."""

from paddle import _lazy
from paddle.text.datasets import conll05, imdb, imikolov, movielens, uci_housing, wmt14, wmt16

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
