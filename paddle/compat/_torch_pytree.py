"""``torch.utils._pytree`` of this package under PyTorch's name: trees of lists, tuples and dicts."""

from __future__ import annotations

from umiak.util.pytree import leaves as tree_leaves
from umiak.util.pytree import map as tree_map

__all__ = ["tree_leaves", "tree_map"]
