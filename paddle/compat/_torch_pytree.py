"""``torch.utils._pytree`` of this package under PyTorch's name: trees of lists, tuples and dicts."""

from __future__ import annotations

from umiak.util.pytree import leaves as tree_leaves  # noqa: F401
from umiak.util.pytree import map as tree_map  # noqa: F401
