"""Graphs under their earlier names: see ``paddle.geometric``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from paddle._public import public
from paddle.geometric.message_passing.send_recv import gathered
from paddle.geometric.reindex import reindexed, renumbered
from paddle.geometric.sampling.neighbors import Graph
from paddle.tensor._args import integer, integers
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


@public("paddle.incubate paddle.incubate.operators", usual=False)
def graph_send_recv(
    x: Tensor,
    src_index: Tensor,
    dst_index: Tensor,
    pool_type: str = "sum",
    out_size: Any = None,
    name: str | None = None,
) -> Tensor:
    """Features of nodes sent along edges and reduced at the nodes where they arrive.

    ``paddle.geometric.send_u_recv`` is the same.

    Args:
        x: tensor of numbers with a row for each node.
        src_index: integer tensor of shape ``[edges]`` or ``[edges, 1]``: where each edge begins.
        dst_index: integer tensor of the same size: where it ends.
        pool_type: ``"sum"``, ``"mean"``, ``"max"`` or ``"min"``.
        out_size: number of rows of the result, an int or an integer tensor of one element; by default, and if it is not
            positive, as many as x has.

    Returns:
        Tensor of x's dtype; rows where no edge ends are 0.

    Raises:
        TypeError: indices are not integers, or x has no such reduction.
        ValueError: indices differ in size, or there is no such reduction.
        IndexError: an edge begins or ends outside of the nodes.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        >>> src, dst = paddle.to_tensor([0, 1, 2]), paddle.to_tensor([1, 1, 0])
        >>> paddle.incubate.graph_send_recv(x, src, dst, "max").tolist()
        [[5.0, 6.0], [3.0, 4.0], [0.0, 0.0]]
    """
    return gathered("graph_send_recv", x, src_index, dst_index, pool_type, out_size, "pool_type")


@public("paddle.incubate paddle.incubate.operators", usual=False)
def graph_reindex(
    x: Tensor,
    neighbors: Tensor,
    count: Tensor,
    value_buffer: Tensor | None = None,
    index_buffer: Tensor | None = None,
    flag_buffer_hashtable: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Edges between nodes and their sampled neighbors, with all nodes numbered from 0.

    ``paddle.geometric.reindex_graph`` is the same.

    Args:
        x: integer tensor of shape ``[n]`` or ``[n, 1]``: the nodes, each of them once.
        neighbors: tensor of x's dtype: the neighbors of the first node, of the second one, and so on.
        count: integer tensor: how many neighbors each node has.
        value_buffer: accepted.
        index_buffer: accepted.
        flag_buffer_hashtable: whether the two buffers are there.

    Returns:
        New numbers of the neighbors, new numbers of the nodes that each of them belongs to, and the nodes in the order
        of their new numbers; all of x's dtype.

    Raises:
        TypeError: a tensor is not of integers.
        ValueError: dtypes differ, the counts do not fit, or buffers are announced and not given.

    Example:
        >>> import paddle
        >>> x, neighbors = paddle.to_tensor([0, 5, 1]), paddle.to_tensor([8, 9, 0, 4, 7, 6, 7])
        >>> src, dst, nodes = paddle.incubate.graph_reindex(x, neighbors, paddle.to_tensor([2, 3, 2], dtype="int32"))
        >>> src.tolist(), dst.tolist(), nodes.tolist()
        ([3, 4, 0, 5, 6, 7, 6], [0, 0, 1, 1, 1, 2, 2], [0, 5, 1, 8, 9, 4, 7, 6])
    """
    if flag_buffer_hashtable and (value_buffer is None or index_buffer is None):
        raise op_error(ValueError, "graph_reindex", "value_buffer and index_buffer with flag_buffer_hashtable", "None")
    return reindexed("graph_reindex", x, [neighbors], [count])


@public("paddle.incubate paddle.incubate.operators", usual=False)
def graph_sample_neighbors(
    row: Tensor,
    colptr: Tensor,
    input_nodes: Tensor,
    eids: Tensor | None = None,
    perm_buffer: Tensor | None = None,
    sample_size: Any = -1,
    return_eids: bool = False,
    flag_perm_buffer: bool = False,
    name: str | None = None,
) -> tuple[Tensor, ...]:
    """Neighbors of nodes, some of them drawn at random, each as likely as the others.

    ``paddle.geometric.sample_neighbors`` is the same, with its parameters in another order.

    Args:
        row: integer tensor of shape ``[edges]`` or ``[edges, 1]``: where edges begin, ordered by where they end.
        colptr: tensor of row's dtype: ``row[colptr[i]:colptr[i + 1]]`` are the neighbors of node ``i``.
        input_nodes: tensor of row's dtype: the nodes.
        eids: tensor of row's dtype: the ids of the edges.
        perm_buffer: accepted.
        sample_size: how many neighbors of a node are drawn, without replacement; -1: all.
        return_eids: whether to return the ids of what was drawn; needs ``eids``.
        flag_perm_buffer: whether the buffer is there.

    Returns:
        The neighbors of the first node, of the second one, and so on; how many each node has, as int32; and the ids of
        their edges with ``return_eids``.

    Raises:
        TypeError: a tensor is not of integers.
        ValueError: dtypes differ, ids are wanted that were not given, or a buffer is announced and not given.
        IndexError: the graph has no such node.

    Example:
        >>> import paddle
        >>> row, colptr = paddle.to_tensor([1, 2, 0, 0, 1]), paddle.to_tensor([0, 2, 3, 5])
        >>> neighbors, count = paddle.incubate.graph_sample_neighbors(row, colptr, paddle.to_tensor([0, 1]))
        >>> neighbors.tolist(), count.tolist()
        ([1, 2, 0], [2, 1])
    """
    op = "graph_sample_neighbors"
    if flag_perm_buffer and perm_buffer is None:
        raise op_error(ValueError, op, "a perm_buffer with flag_perm_buffer", "None")
    graph = Graph(op, row, colptr, eids, return_eids)
    size = integer(sample_size, op, "sample_size")
    return graph.result(*graph.sample(graph.nodes(input_nodes, "input_nodes"), size))


@public("paddle.incubate paddle.incubate.operators", usual=False)
def graph_khop_sampler(
    row: Tensor,
    colptr: Tensor,
    input_nodes: Tensor,
    sample_sizes: Sequence[int],
    sorted_eids: Tensor | None = None,
    return_eids: bool = False,
    name: str | None = None,
) -> tuple[Tensor, ...]:
    """The graph around nodes: neighbors of theirs, neighbors of these, and so on, drawn at random.

    Each step draws neighbors of the nodes that the one before reached first.

    Args:
        row: integer tensor of shape ``[edges]`` or ``[edges, 1]``: where edges begin, ordered by where they end.
        colptr: tensor of row's dtype: ``row[colptr[i]:colptr[i + 1]]`` are the neighbors of node ``i``.
        input_nodes: tensor of row's dtype: the nodes, each of them once.
        sample_sizes: how many neighbors of a node each step draws, without replacement; -1: all.
        sorted_eids: tensor of row's dtype: the ids of the edges.
        return_eids: whether to return the ids of what was drawn; needs ``sorted_eids``.

    Returns:
        Where the drawn edges begin and where they end, of shape ``[drawn, 1]``, in new numbers from 0; all nodes in the
        order of their new numbers; the new numbers of ``input_nodes``; and the ids of the edges with ``return_eids``.
        All of row's dtype.

    Raises:
        TypeError: a tensor is not of integers.
        ValueError: dtypes differ, there are no ``sample_sizes``, no node has a neighbor, or ids are wanted that were
            not given.
        IndexError: the graph has no such node.

    Example:
        >>> import paddle
        >>> row, colptr = paddle.to_tensor([1, 2, 0, 0, 1]), paddle.to_tensor([0, 2, 3, 5])
        >>> src, dst, nodes, own = paddle.incubate.graph_khop_sampler(row, colptr, paddle.to_tensor([1]), [1, 2])
        >>> src.tolist(), dst.tolist(), nodes.tolist(), own.tolist()
        ([[1], [0], [2]], [[0], [1], [1]], [1, 0, 2], [0])
    """
    op = "graph_khop_sampler"
    sizes = integers(sample_sizes, op, "sample_sizes")
    if not sizes:
        raise op_error(ValueError, op, "sample_sizes of one step or more", "none")
    graph = Graph(op, row, colptr, sorted_eids, return_eids, "sorted_eids")
    given = reached = frontier = graph.nodes(input_nodes, "input_nodes")
    drawn, ends = [], []
    for size in sizes:
        edge, count = graph.sample(frontier, size)
        drawn.append(edge)
        ends.append(np.repeat(frontier, count))
        _, _, known = renumbered(reached, graph.row[edge])
        reached, frontier = known, known[len(reached) :]
    edges = np.concatenate(drawn)
    if not len(edges):
        raise op_error(ValueError, op, "input_nodes of which one has a neighbor", "none")
    _, sources, _ = renumbered(given, graph.row[edges])
    _, targets, _ = renumbered(reached, np.concatenate(ends))
    own, _, _ = renumbered(given, edges[:0])
    results = [graph.tensor(v) for v in (sources[:, None], targets[:, None], reached, own)]
    return tuple(results) if graph.eids is None else (*results, graph.tensor(graph.eids[edges]))
