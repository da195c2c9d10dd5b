"""Backward runs over recorded calls. See docs/design/tape.md."""

from collections.abc import Callable, Sequence
from typing import Any

from umiak.core.tensor import Tensor

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
def tensors_of(x: Any) -> list[Tensor] | None:
    """``[x]`` of a tensor, the items of a list or tuple of tensors; None of anything else."""

def any_of_kind(tensors: list[Tensor], kind: int) -> bool:
    """Return whether one of the tensors is of this kind, one of KIND_*."""

def after_run(call: Callable[[bool], Any], pulse: Callable[[], Any] | None = None) -> None:
    """``call(complete)`` once at the end of the outermost run of this thread, the modes being those of the run.

    ``complete`` is False where the run ends with an error, which is raised afterwards. ``pulse()`` is called after each
    node until then.
    """

def expected_leaves() -> tuple[frozenset[int], bool]:
    """Identities of the leaves with hooks that the outermost run reaches, and whether it may reach others, too."""

def in_backward() -> bool:
    """Return whether this thread is computing gradients."""
