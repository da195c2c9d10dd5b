"""Nodes of a sampled graph numbered from 0 in the order in which they appear."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from paddle._public import public
from paddle.geometric._indices import numbers
from umiak.core.array import from_numpy
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


def renumbered(x: np.ndarray, neighbors: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """New numbers of the nodes ``x`` and of their neighbors, and all nodes in the order of their new numbers.

    A node that x names twice has the last of its places.
    """
    rows = len(x)
    known, place = np.unique(x[::-1], return_index=True)
    place = rows - 1 - place
    both = np.concatenate([x, neighbors])
    values, first, inverse = np.unique(both, return_index=True, return_inverse=True)
    new = np.flatnonzero(first >= rows)
    new = new[np.argsort(first[new], kind="stable")]
    number = np.empty(len(values), np.int64)
    number[np.searchsorted(values, known)] = place
    number[new] = rows + np.arange(len(new))
    numbers = number[inverse.reshape(-1)]
    return numbers[:rows], numbers[rows:], np.concatenate([x, values[new]])


def reindexed(op: str, x: Any, neighbors: Sequence[Any], count: Sequence[Any]) -> tuple[Tensor, Tensor, Tensor]:
    """The results of :func:`reindex_graph`, for several graphs over the same nodes."""
    nodes = numbers(x, op, "x")
    near = [numbers(v, op, "neighbors") for v in neighbors]
    many = [numbers(v, op, "count") for v in count]
    if any(v.dtype is not nodes.dtype for v in near):
        raise op_error(ValueError, op, f"neighbors of x's dtype {nodes.dtype.name}", [v.dtype.name for v in near])
    if len(near) != len(many) or any(c.shape[0] != nodes.shape[0] for c in many):
        got = f"{[c.shape[0] for c in many]} for {len(near)} graphs of {nodes.shape[0]} nodes"
        raise op_error(ValueError, op, "a count of neighbors for each node of each graph", got)
    counts = [c.numpy() for c in many]
    for v, c in zip(near, counts, strict=True):
        if (c < 0).any() or int(c.sum()) != v.shape[0]:
            raise op_error(ValueError, op, f"counts whose sum is {v.shape[0]}, the neighbors given", c.tolist())
    own, sources, all_nodes = renumbered(nodes.numpy(), np.concatenate([v.numpy() for v in near]))
    ends = np.concatenate([np.repeat(own, c) for c in counts])
    kind = nodes.dtype.numpy
    src, dst, out = (from_numpy(v.astype(kind, copy=False), nodes.place) for v in (sources, ends, all_nodes))
    return src, dst, out


@public("paddle.geometric", usual=False)
def reindex_graph(
    x: Tensor,
    neighbors: Tensor,
    count: Tensor,
    value_buffer: Tensor | None = None,
    index_buffer: Tensor | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Edges between nodes and their sampled neighbors, with all nodes numbered from 0.

    The nodes of ``x`` come first, then neighbors in the order in which they appear.

    Args:
        x: integer tensor of shape ``[n]`` or ``[n, 1]``: the nodes, each of them once.
        neighbors: tensor of x's dtype: the neighbors of the first node, of the second one, and so on.
        count: integer tensor: how many neighbors each node has.
        value_buffer: accepted.
        index_buffer: accepted.

    Returns:
        New numbers of the neighbors, new numbers of the nodes that each of them belongs to, and the nodes in the order
        of their new numbers; all of x's dtype.

    Raises:
        TypeError: a tensor is not of integers.
        ValueError: dtypes differ, or the counts do not fit the nodes and the neighbors.

    Example:
        >>> import paddle
        >>> x, neighbors = paddle.to_tensor([0, 5, 1]), paddle.to_tensor([8, 9, 0, 4, 7, 6, 7])
        >>> src, dst, nodes = paddle.geometric.reindex_graph(x, neighbors, paddle.to_tensor([2, 3, 2], dtype="int32"))
        >>> src.tolist(), dst.tolist(), nodes.tolist()
        ([3, 4, 0, 5, 6, 7, 6], [0, 0, 1, 1, 1, 2, 2], [0, 5, 1, 8, 9, 4, 7, 6])
    """
    return reindexed("reindex_graph", x, [neighbors], [count])


@public("paddle.geometric", usual=False)
def reindex_heter_graph(
    x: Tensor,
    neighbors: Sequence[Tensor],
    count: Sequence[Tensor],
    value_buffer: Tensor | None = None,
    index_buffer: Tensor | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Edges of several kinds between nodes and their sampled neighbors, with all nodes numbered from 0.

    The nodes of ``x`` come first, then neighbors in the order in which they appear.

    Args:
        x: integer tensor of shape ``[n]`` or ``[n, 1]``: the nodes, each of them once.
        neighbors: for each kind of edges, a tensor of x's dtype: the neighbors of the first node, and so on.
        count: for each kind of edges, an integer tensor: how many neighbors each node has.
        value_buffer: accepted.
        index_buffer: accepted.

    Returns:
        New numbers of the neighbors, new numbers of the nodes that each of them belongs to, kind after kind, and the
        nodes in the order of their new numbers; all of x's dtype.

    Raises:
        TypeError: a tensor is not of integers.
        ValueError: neighbors or count is no list, dtypes differ, or the counts do not fit the nodes and the neighbors.

    Example:
        >>> import paddle
        >>> x, a, b = paddle.to_tensor([0, 5]), paddle.to_tensor([8, 0]), paddle.to_tensor([9, 8])
        >>> one, two = paddle.to_tensor([1, 1]), paddle.to_tensor([2, 0])
        >>> src, dst, nodes = paddle.geometric.reindex_heter_graph(x, [a, b], [one, two])
        >>> src.tolist(), dst.tolist(), nodes.tolist()
        ([2, 0, 3, 2], [0, 1, 0, 0], [0, 5, 8, 9])
    """
    op = "reindex_heter_graph"
    for arg_name, given in (("neighbors", neighbors), ("count", count)):
        if not (isinstance(given, (list, tuple)) and given):
            raise op_error(ValueError, op, f"a list of tensors as {arg_name}", type(given).__name__)
    return reindexed(op, x, neighbors, count)
