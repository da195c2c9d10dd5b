"""Made by ``tools/public_stubs.py``."""

from paddle.geometric.sampling.neighbors import sample_neighbors as sample_neighbors
from paddle.geometric.sampling.neighbors import weighted_sample_neighbors as weighted_sample_neighbors

__all__ = [
    "sample_neighbors",
    "weighted_sample_neighbors",
]
