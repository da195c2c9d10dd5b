"""Datasets, samplers and the data loader."""

from paddle import _late
from paddle.io import dataset, loader, sampler, worker_info

__getattr__, __dir__, __all__ = _late.contents(__name__)
