"""Made by ``tools/public_stubs.py``."""

from paddle.io.dataset import ChainDataset as ChainDataset
from paddle.io.dataset import ComposeDataset as ComposeDataset
from paddle.io.dataset import ConcatDataset as ConcatDataset
from paddle.io.dataset import Dataset as Dataset
from paddle.io.dataset import IterableDataset as IterableDataset
from paddle.io.dataset import Subset as Subset
from paddle.io.dataset import TensorDataset as TensorDataset
from paddle.io.dataset import random_split as random_split
from paddle.io.loader import DataLoader as DataLoader
from paddle.io.sampler import BatchSampler as BatchSampler
from paddle.io.sampler import DistributedBatchSampler as DistributedBatchSampler
from paddle.io.sampler import RandomSampler as RandomSampler
from paddle.io.sampler import Sampler as Sampler
from paddle.io.sampler import SequenceSampler as SequenceSampler
from paddle.io.sampler import SubsetRandomSampler as SubsetRandomSampler
from paddle.io.sampler import WeightedRandomSampler as WeightedRandomSampler
from paddle.io.worker_info import get_worker_info as get_worker_info

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ComposeDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DistributedBatchSampler",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequenceSampler",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "get_worker_info",
    "random_split",
]
