"""Data sets as readers, in the way of older programs: functions that give an iterator of samples.

The classes of :mod:`paddle.vision.datasets` and :mod:`paddle.text.datasets` read the files; a reader gives their
samples as older programs expect them. Files are downloaded into ``~/.cache/paddle/dataset`` unless they lie there.
"""

from paddle import _lazy
from paddle.dataset import (
    cifar,
    common,
    conll05,
    flowers,
    image,
    imdb,
    imikolov,
    mnist,
    movielens,
    uci_housing,
    voc2012,
    wmt14,
    wmt16,
)

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
