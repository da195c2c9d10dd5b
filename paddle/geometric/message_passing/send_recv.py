"""Messages that nodes send along edges, and what the nodes at their ends make of them."""

from __future__ import annotations

import operator
from typing import Any

from paddle._public import need_tensor, public
from paddle.geometric._indices import numbers, reduced, rows_at
from paddle.tensor._args import integer
from umiak import ops as F
from umiak.core.tensor import Tensor
from umiak.ops.segments import MODES
from umiak.util.errors import op_error

_MESSAGES = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv}


def edges(op: str, src_index: Any, dst_index: Any) -> tuple[Tensor, Tensor]:
    """The two ends of each edge."""
    src, dst = numbers(src_index, op, "src_index"), numbers(dst_index, op, "dst_index")
    if src.shape[0] != dst.shape[0]:
        raise op_error(ValueError, op, "a source and a destination for each edge", f"{src.shape[0]} and {dst.shape[0]}")
    return src, dst


def gathered(op: str, x: Any, src_index: Any, dst_index: Any, reduce_op: Any, out_size: Any, word: str) -> Tensor:
    """Rows of ``x`` sent along edges and reduced where they arrive. ``word``: what the reduction is called."""
    mode = _chosen(op, word, reduce_op, MODES)
    _nodes(op, x, "x")
    src, dst = edges(op, src_index, dst_index)
    return reduced(op, x, dst, src, mode, _rows(op, x, out_size))


def _chosen(op: str, arg_name: str, given: Any, known: Any) -> str:
    if given not in known:
        raise op_error(ValueError, op, f"a {arg_name} of {list(known)}", repr(given))
    return given


def _nodes(op: str, x: Any, arg_name: str) -> None:
    if not need_tensor(x, op, arg_name).ndim:
        raise op_error(ValueError, op, f"{arg_name} of rank 1 or more", "a 0-d tensor")


def _rows(op: str, x: Tensor, out_size: Any) -> Any:
    if out_size is None:
        return x.shape[0]
    size = integer(out_size, op, "out_size")
    return size if size > 0 else x.shape[0]


def _aligned(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Both with features of one rank, 1 or more, which broadcast."""
    rank = max(x.ndim, y.ndim, 2)
    return _spread(x, rank), _spread(y, rank)


def _spread(x: Tensor, rank: int) -> Tensor:
    missing = rank - x.ndim
    return F.unsqueeze(x, axes=tuple(range(1, 1 + missing))) if missing else x


def _message(op: str, message_op: str, x: Tensor, y: Tensor) -> Tensor:
    try:
        return _MESSAGES[message_op](x, y)
    except ValueError:
        got = f"{tuple(x.shape[1:])} and {tuple(y.shape[1:])}"
        raise op_error(ValueError, op, "features of x and y that broadcast", got) from None


@public("paddle.geometric paddle.geometric.message_passing", usual=False)
def send_u_recv(
    x: Tensor,
    src_index: Tensor,
    dst_index: Tensor,
    reduce_op: str = "sum",
    out_size: Any = None,
    name: str | None = None,
) -> Tensor:
    """Features of nodes sent along edges and reduced at the nodes where they arrive.

    Args:
        x: tensor of numbers with a row for each node.
        src_index: integer tensor of shape ``[edges]`` or ``[edges, 1]``: where each edge begins.
        dst_index: integer tensor of the same size: where it ends.
        reduce_op: ``"sum"``, ``"mean"`` (of integers, rounded towards 0), ``"max"`` or ``"min"``. Of an extremum, every
            message that reaches it gets the whole gradient.
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
        >>> paddle.geometric.send_u_recv(x, src, dst, "sum").tolist()
        [[5.0, 6.0], [4.0, 6.0], [0.0, 0.0]]
    """
    return gathered("send_u_recv", x, src_index, dst_index, reduce_op, out_size, "reduce_op")


@public("paddle.geometric paddle.geometric.message_passing", usual=False)
def send_ue_recv(
    x: Tensor,
    y: Tensor,
    src_index: Tensor,
    dst_index: Tensor,
    message_op: str = "add",
    reduce_op: str = "sum",
    out_size: Any = None,
    name: str | None = None,
) -> Tensor:
    """Features of nodes combined with those of the edges that they are sent along, and reduced where they arrive.

    Args:
        x: tensor of numbers with a row for each node.
        y: tensor with a row for each edge. Beyond the rows, x and y broadcast; both have one feature at least.
        src_index: integer tensor of shape ``[edges]`` or ``[edges, 1]``: where each edge begins.
        dst_index: integer tensor of the same size: where it ends.
        message_op: how a row of x meets one of y: ``"add"``, ``"sub"``, ``"mul"`` or ``"div"``.
        reduce_op: ``"sum"``, ``"mean"`` (of integers, rounded towards 0), ``"max"`` or ``"min"``. Of an extremum, every
            message that reaches it gets the whole gradient.
        out_size: number of rows of the result, an int or an integer tensor of one element; by default, and if it is not
            positive, as many as x has.

    Returns:
        Tensor of the dtype of the messages; rows where no edge ends are 0.

    Raises:
        TypeError: indices are not integers, or the messages have no such reduction.
        ValueError: sizes do not fit, or there is no such message or reduction.
        IndexError: an edge begins or ends outside of the nodes.

    Example:
        >>> import paddle
        >>> x, y = paddle.to_tensor([[1.0], [2.0]]), paddle.to_tensor([10.0, 20.0, 30.0])
        >>> src, dst = paddle.to_tensor([0, 1, 1]), paddle.to_tensor([1, 0, 1])
        >>> paddle.geometric.send_ue_recv(x, y, src, dst, "mul", "sum").tolist()
        [[40.0], [70.0]]
    """
    op = "send_ue_recv"
    _chosen(op, "message_op", message_op, _MESSAGES)
    mode = _chosen(op, "reduce_op", reduce_op, MODES)
    _nodes(op, x, "x")
    _nodes(op, y, "y")
    src, dst = edges(op, src_index, dst_index)
    if y.shape[0] != src.shape[0]:
        raise op_error(ValueError, op, f"a row of y for each of {src.shape[0]} edges", y.shape[0])
    nodes, along = _aligned(x, y)
    return reduced(
        op, _message(op, message_op, rows_at(op, nodes, src), along), dst, None, mode, _rows(op, x, out_size)
    )


@public("paddle.geometric paddle.geometric.message_passing", usual=False)
def send_uv(
    x: Tensor, y: Tensor, src_index: Tensor, dst_index: Tensor, message_op: str = "add", name: str | None = None
) -> Tensor:
    """Features of edges made of those of the nodes at their ends.

    Args:
        x: tensor of numbers with a row for each node where edges begin.
        y: tensor with a row for each node where edges end. Beyond the rows, x and y broadcast; both have one feature at
            least.
        src_index: integer tensor of shape ``[edges]`` or ``[edges, 1]``: where each edge begins.
        dst_index: integer tensor of the same size: where it ends.
        message_op: how a row of x meets one of y: ``"add"``, ``"sub"``, ``"mul"`` or ``"div"``.

    Returns:
        Tensor with a row for each edge.

    Raises:
        TypeError: indices are not integers.
        ValueError: sizes do not fit, or there is no such message.
        IndexError: an edge begins or ends outside of the nodes.

    Example:
        >>> import paddle
        >>> x, y = paddle.to_tensor([[1.0], [2.0]]), paddle.to_tensor([[10.0], [20.0]])
        >>> src, dst = paddle.to_tensor([0, 1, 1]), paddle.to_tensor([1, 0, 1])
        >>> paddle.geometric.send_uv(x, y, src, dst).tolist()
        [[21.0], [12.0], [22.0]]
    """
    op = "send_uv"
    _chosen(op, "message_op", message_op, _MESSAGES)
    _nodes(op, x, "x")
    _nodes(op, y, "y")
    src, dst = edges(op, src_index, dst_index)
    begin, end = _aligned(x, y)
    return _message(op, message_op, rows_at(op, begin, src), rows_at(op, end, dst))
