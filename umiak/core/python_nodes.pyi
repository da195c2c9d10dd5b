"""Nodes whose gradient is a Python function, and histories given to tensors. See docs/design/tape.md."""

from collections.abc import Callable, Sequence
from typing import Any

from umiak.core.node import Node
from umiak.core.tensor import Tensor

def python_node(
    name: str, inputs: Sequence[Tensor | None], outputs: Sequence[Tensor], backward: Callable[..., Any]
) -> Node:
    """Give ``outputs`` a node with a gradient in Python: ``backward(*output_grads) -> tuple`` (PyLayer, custom ops)."""

def with_history(t: Tensor, node: Node, index: int) -> Tensor:
    """The same data as output ``index`` of ``node``."""

def of_leaf(t: Tensor, leaf: Tensor) -> Tensor:
    """The data of ``t``, with gradients that go to ``leaf``."""

def wants_gradient(xs: tuple[Tensor, ...]) -> bool:
    """Return whether calls are recorded, and one of these tensors asks for a gradient."""

def plain_version(x: Any) -> int:
    """The version of a tensor that has memory and elements; -1 for all else."""
