"""Tensors that a gradient written in Python keeps: through the hooks for saved tensors, and checked by version."""

from __future__ import annotations

import weakref
from typing import Any

from umiak.core import custom_calls, python_nodes
from umiak.core.context import current, no_grad_guard
from umiak.core.node import Node
from umiak.core.tensor import Tensor
from umiak.ir.tracer import SymTensor


class SavedTensor:
    """A tensor for the backward run; ``get`` gives it back with its history.

    ``own`` is the node that keeps it. An output of that node is held without its history, which would tie the two to
    each other. ``hooks`` come before those of the context.
    """

    __slots__ = ("index", "node", "op_name", "tensor", "unpack", "version")

    def __init__(self, x: Tensor, op_name: str, own: Node | None = None, hooks: tuple | None = None) -> None:
        hooks = hooks or current().saved_hooks
        node = x.grad_fn
        self.op_name = op_name
        self.index = x.output_index
        self.unpack = None
        # The node of x, weakly where it is the one that keeps x: it is alive whenever it asks.
        self.node: Any = node if node is None or node is not own else weakref.ref(own)
        self.tensor: Any = x if node is None or node is not own else x.detach()
        if hooks is not None:
            self.pack(x, *hooks)
        self.version = version_of(self.tensor)

    def pack(self, x: Tensor, pack: Any, unpack: Any) -> None:
        context = current()
        context.saved_hooks, hooks = None, context.saved_hooks
        leaf = x.is_leaf and not x.stop_gradient
        twin = x.detach()
        twin.stop_gradient = not leaf  # as dispatch does it
        try:
            with no_grad_guard():
                packed = pack(twin)
        finally:
            context.saved_hooks = hooks
        self.unpack = unpack
        self.tensor = (packed, tuple(x.shape), x.dtype, x if leaf else None)

    def get(self) -> Tensor:
        """The tensor. RuntimeError where it was modified in place since."""
        x = unchanged(self.tensor[0] if self.unpack is not None else self.tensor, self.version, self.op_name)
        node = self.node() if isinstance(self.node, weakref.ref) else self.node
        if self.unpack is not None:
            _, shape, dtype, leaf = self.tensor
            x = self.unpack(x)
            if not isinstance(x, Tensor):
                raise TypeError(f"[saved_tensors_hooks] requires a Tensor from unpack, got {type(x).__name__}")
            if tuple(x.shape) != shape or x.dtype is not dtype:
                raise ValueError(
                    f"[saved_tensors_hooks] requires a tensor like the one that was saved from unpack, "
                    f"{dtype.name}{list(shape)}, got {x.dtype.name}{list(x.shape)}"
                )
            if leaf is not None and current().grad_enabled:
                return python_nodes.of_leaf(x, leaf)
        return with_node(x, node, self.index)


def unchanged(x: Any, version: Any, op_name: str) -> Any:
    """The tensor as it was at that version. RuntimeError where it was modified in place since."""
    saved = as_of(x, version)
    if saved is None:
        raise RuntimeError(
            f"[{op_name}] requires a saved tensor (shape {list(x.shape)}) as it was in the forward pass, "
            "got it modified in place. Clone it before the in-place operation."
        )
    return saved


def with_node(x: Tensor, node: Node | None, index: int) -> Tensor:
    """The tensor, as an output of the node that it had then."""
    if node is None or x.grad_fn is node:
        return x
    return python_nodes.with_history(x, node, index)


def give_back(x: Tensor, version: int, node: Node | None, index: int, op_name: str) -> Tensor:
    """A tensor that was saved without hooks, and has changed since."""
    return with_node(unchanged(x, version, op_name), node, index)


def as_of(x: Any, version: Any) -> Any:
    """The tensor as it was at that version, if it was given another shape in place since, and nothing else."""
    while x is not None and version_of(x) != version:
        x = x._former
    return x


def version_of(x: Any) -> Any:
    """The version of a tensor, in a trace its value; of one without elements, which no write changes, its shape. Of the
    first of what was packed; 0 for what has none.
    """
    version = python_nodes.plain_version(x)
    if version >= 0:
        return version
    x = x[0] if type(x) is tuple else x
    if isinstance(x, SymTensor):
        return x.value
    if not isinstance(x, Tensor) or x.storage is None:
        return 0
    return tuple(x.shape) if 0 in x.shape else x.inplace_version


custom_calls.set_saved_tensors(SavedTensor, give_back)
