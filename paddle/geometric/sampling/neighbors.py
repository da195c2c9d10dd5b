"""Neighbors of nodes, drawn without replacement from a graph in compressed columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from paddle._public import need_tensor, public
from paddle.geometric._indices import numbers
from paddle.tensor._args import integer
from paddle.tensor.random import rand
from umiak.core.array import from_numpy
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

# Keys of candidate edges, of which the least are taken: from the edges and a random number from 0 to 1 for each.
Keys = Callable[[np.ndarray, np.ndarray], np.ndarray]


class Graph:
    """The edges that end at each node: those of node ``i`` are ``row[colptr[i]:colptr[i + 1]]``."""

    def __init__(self, op: str, row: Any, colptr: Any, eids: Any, return_eids: bool, word: str = "eids") -> None:
        self.op = op
        edges, starts = numbers(row, op, "row"), numbers(colptr, op, "colptr")
        self.dtype, self.place = edges.dtype, edges.place
        if return_eids and not isinstance(eids, Tensor):
            raise op_error(ValueError, op, f"{word} where return_eids is True", type(eids).__name__)
        self.eids = numbers(eids, op, word).numpy() if return_eids else None
        self.row, self.colptr = edges.numpy(), self.same(starts, "colptr").numpy()
        if self.eids is not None and len(self.eids) != len(self.row):
            raise op_error(ValueError, op, f"an id for each of {len(self.row)} edges", len(self.eids))

    def same(self, x: Tensor, arg_name: str) -> Tensor:
        """``x``, which must have the dtype of ``row``."""
        if x.dtype is not self.dtype:
            raise op_error(ValueError, self.op, f"{arg_name} of the dtype of row, {self.dtype.name}", x.dtype.name)
        return x

    def nodes(self, x: Any, arg_name: str) -> np.ndarray:
        """The numbers of nodes that a tensor names."""
        ids = self.same(numbers(x, self.op, arg_name), arg_name).numpy()
        last = len(self.colptr) - 2
        if ids.size and not (ids.min() >= 0 and ids.max() <= last):
            got = int(ids.min() if ids.min() < 0 else ids.max())
            raise op_error(IndexError, self.op, f"nodes from 0 to {last}", got)
        return ids

    def sample(self, nodes: np.ndarray, size: int, keys: Keys | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Edges at ``nodes``, at most ``size`` of each if that is not negative, and how many each node has.

        Edges keep their order.
        """
        start = self.colptr[nodes].astype(np.int64)
        degree = self.colptr[nodes + 1].astype(np.int64) - start
        if (
            len(self.row)
            and degree.size
            and (degree.min() < 0 or start.min() < 0 or (start + degree).max() > len(self.row))
        ):
            raise op_error(ValueError, self.op, f"a colptr that rises from 0 to {len(self.row)}", self.colptr.tolist())
        total = int(degree.sum())
        owner = np.repeat(np.arange(len(nodes)), degree)
        begin = np.cumsum(degree) - degree
        edge = np.arange(total) - begin[owner] + start[owner]
        if size < 0 or (degree <= size).all():
            return edge, degree
        drawn = rand([total], "float64").numpy()
        order = np.lexsort((drawn, owner) if keys is None else (drawn, keys(edge, drawn), owner))
        kept = np.zeros(total, bool)
        kept[order[np.arange(total) - begin[owner] < size]] = True
        return edge[kept], np.minimum(degree, size)

    def tensor(self, x: np.ndarray, dtype: Any = None) -> Tensor:
        """An array as a tensor of the dtype of ``row``."""
        return from_numpy(x.astype(dtype or self.dtype.numpy, copy=False), self.place)

    def result(self, edge: np.ndarray, count: np.ndarray) -> tuple[Tensor, ...]:
        """The results of a sampler."""
        tensors = self.tensor(self.row[edge]), self.tensor(count, np.int32)
        return tensors if self.eids is None else (*tensors, self.tensor(self.eids[edge]))


@public("paddle.geometric paddle.geometric.sampling", usual=False)
def sample_neighbors(
    row: Tensor,
    colptr: Tensor,
    input_nodes: Tensor,
    sample_size: Any = -1,
    eids: Tensor | None = None,
    return_eids: bool = False,
    perm_buffer: Tensor | None = None,
    name: str | None = None,
) -> tuple[Tensor, ...]:
    """Neighbors of nodes, some of them drawn at random, each as likely as the others.

    Args:
        row: integer tensor of shape ``[edges]`` or ``[edges, 1]``: where edges begin, ordered by where they end.
        colptr: tensor of row's dtype: ``row[colptr[i]:colptr[i + 1]]`` are the neighbors of node ``i``.
        input_nodes: tensor of row's dtype: the nodes.
        sample_size: how many neighbors of a node are drawn, without replacement; -1: all. Those of a node that has no
            more are all taken.
        eids: tensor of row's dtype: the ids of the edges.
        return_eids: whether to return the ids of what was drawn; needs ``eids``.
        perm_buffer: accepted.

    Returns:
        The neighbors of the first node, of the second one, and so on; how many each node has, as int32; and the ids of
        their edges with ``return_eids``.

    Raises:
        TypeError: a tensor is not of integers.
        ValueError: dtypes differ, or ids are wanted that were not given.
        IndexError: the graph has no such node.

    Example:
        >>> import paddle
        >>> row, colptr = paddle.to_tensor([1, 2, 0, 0, 1]), paddle.to_tensor([0, 2, 3, 5])
        >>> neighbors, count = paddle.geometric.sample_neighbors(row, colptr, paddle.to_tensor([0, 1]), sample_size=2)
        >>> neighbors.tolist(), count.tolist()
        ([1, 2, 0], [2, 1])
    """
    graph = Graph("sample_neighbors", row, colptr, eids, return_eids)
    size = integer(sample_size, graph.op, "sample_size")
    return graph.result(*graph.sample(graph.nodes(input_nodes, "input_nodes"), size))


@public("paddle.geometric paddle.geometric.sampling", usual=False)
def weighted_sample_neighbors(
    row: Tensor,
    colptr: Tensor,
    edge_weight: Tensor,
    input_nodes: Tensor,
    sample_size: Any = -1,
    eids: Tensor | None = None,
    return_eids: bool = False,
    name: str | None = None,
) -> tuple[Tensor, ...]:
    """Neighbors of nodes, some of them drawn at random by the weights of their edges.

    Args:
        row: integer tensor of shape ``[edges]`` or ``[edges, 1]``: where edges begin, ordered by where they end.
        colptr: tensor of row's dtype: ``row[colptr[i]:colptr[i + 1]]`` are the neighbors of node ``i``.
        edge_weight: floating tensor: the weight of each edge, 0 or more. An edge of weight 0 is drawn only where no
            other one is left.
        input_nodes: tensor of row's dtype: the nodes.
        sample_size: how many neighbors of a node are drawn, without replacement; -1: all. Those of a node that has no
            more are all taken.
        eids: tensor of row's dtype: the ids of the edges.
        return_eids: whether to return the ids of what was drawn; needs ``eids``.

    Returns:
        The neighbors of the first node, of the second one, and so on; how many each node has, as int32; and the ids of
        their edges with ``return_eids``.

    Raises:
        TypeError: a tensor of indices is not of integers, or the weights are not floating.
        ValueError: dtypes differ, ids are wanted that were not given, or a weight is negative.
        IndexError: the graph has no such node.

    References:
        Efraimidis and Spirakis, 2006: Weighted random sampling with a reservoir.

    Example:
        >>> import paddle
        >>> row, colptr = paddle.to_tensor([1, 2, 0, 0, 1]), paddle.to_tensor([0, 2, 3, 5])
        >>> weight = paddle.to_tensor([0.0, 1.0, 1.0, 1.0, 0.0])
        >>> neighbors, count = paddle.geometric.weighted_sample_neighbors(
        ...     row, colptr, weight, paddle.to_tensor([0, 1]), sample_size=1
        ... )
        >>> neighbors.tolist(), count.tolist()
        ([2, 0], [1, 1])
    """
    graph = Graph("weighted_sample_neighbors", row, colptr, eids, return_eids)
    if not need_tensor(edge_weight, graph.op, "edge_weight").dtype.is_floating:
        raise op_error(TypeError, graph.op, "a floating edge_weight", edge_weight.dtype.name)
    weight = edge_weight.numpy().astype(np.float64).reshape(-1)
    if len(weight) != len(graph.row) or not (weight >= 0).all():
        raise op_error(
            ValueError, graph.op, f"a weight of 0 or more for each of {len(graph.row)} edges", weight.tolist()
        )

    def keys(edge: np.ndarray, drawn: np.ndarray) -> np.ndarray:
        own = weight[edge]
        # Waiting times: those of weight 0 come last, in random order.
        waits = -np.log1p(-drawn) / np.where(own > 0, own, 1)
        return np.where(own > 0, waits, np.inf)

    size = integer(sample_size, graph.op, "sample_size")
    return graph.result(*graph.sample(graph.nodes(input_nodes, "input_nodes"), size, keys))
