"""Made by ``tools/public_stubs.py``."""

from paddle.text import datasets as datasets
from paddle.text.datasets.conll05 import Conll05st as Conll05st
from paddle.text.datasets.imdb import Imdb as Imdb
from paddle.text.datasets.imikolov import Imikolov as Imikolov
from paddle.text.datasets.movielens import Movielens as Movielens
from paddle.text.datasets.uci_housing import UCIHousing as UCIHousing
from paddle.text.datasets.wmt14 import WMT14 as WMT14
from paddle.text.datasets.wmt16 import WMT16 as WMT16
from paddle.text.viterbi import ViterbiDecoder as ViterbiDecoder
from paddle.text.viterbi import viterbi_decode as viterbi_decode

__all__ = [
    "WMT14",
    "WMT16",
    "Conll05st",
    "Imdb",
    "Imikolov",
    "Movielens",
    "UCIHousing",
    "ViterbiDecoder",
    "datasets",
    "viterbi_decode",
]
