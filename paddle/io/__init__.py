"""Datasets, samplers and the data loader."""

from paddle import _lazy
from paddle.io import dataset, loader, sampler, worker_info

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
