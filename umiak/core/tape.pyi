"""Reverse-mode differentiation over recorded calls. See docs/design/tape.md."""

from collections.abc import Callable, Sequence
from typing import Any

from umiak.core.tensor import Node, Tensor

def backward(
    tensors: Sequence[Tensor],
    grads: Sequence[Tensor | None] | None = None,
    retain_graph: bool = False,
    create_graph: bool = False,
) -> None: ...
def grad(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    grad_outputs: Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool = False,
    no_grad_vars: Sequence[Tensor] | None = None,
) -> list[Tensor | None]: ...
def python_node(
    name: str, inputs: Sequence[Tensor | None], outputs: Sequence[Tensor], backward: Callable[..., Any]
) -> Node:
    """Give ``outputs`` a node with a gradient in Python: ``backward(*output_grads) -> tuple`` (PyLayer, custom ops)."""

def backward1(tensor: Tensor, grad: Tensor | None = None, retain_graph: bool = False) -> None:
    """``backward`` of one tensor."""

def install(add: Any, copy: Any, full: list, vjp_plan: Any) -> None:
    """Fill the tape's slots."""

def watch(probe: Any) -> None:
    """Tell ``probe`` of runs and of their nodes, in threads where the profiler observes; None ends that."""

def with_history(t: Tensor, node: Node, index: int) -> Tensor:
    """The same data as output ``index`` of ``node``."""

def in_backward() -> bool:
    """Whether this thread is computing gradients."""
