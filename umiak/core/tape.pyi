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

def install(add: Any, copy: Any, full: list, vjp_plan: Any) -> None:
    """Fill the tape's slots."""

def watch(probe: Any) -> None:
    """Tell ``probe`` of runs and of their nodes, in threads where the profiler observes; None ends that."""

def with_history(t: Tensor, node: Node, index: int) -> Tensor:
    """The same data as output ``index`` of ``node``."""

class Sink:
    """An entry of a leaf's hooks: its owner gets what would be added to ``.grad``, after the hooks have seen it.

    ``owner.take(key, leaf, gradient, create_graph)`` is called once per run, the runs within a run included.
    """

    owner: Any
    key: Any
    def __init__(self, owner: Any, key: Any) -> None: ...
    def put(self, leaf: Tensor) -> None:
        """Have the gradients of ``leaf`` from now on. ValueError where somebody else has them."""

    def drop(self, leaf: Tensor) -> None:
        """Leave the gradients of ``leaf`` to ``.grad`` again."""

def capture_of() -> Any:
    """The tracer of the function that is being captured, None outside of one."""

def of_leaf(t: Tensor, leaf: Tensor) -> Tensor:
    """The data of ``t``, with gradients that go to ``leaf``."""

def sink_of(leaf: Tensor) -> Sink | None:
    """The sink of a leaf, None where it has none."""

def add_gradient(leaf: Tensor, g: Tensor) -> None:
    """``leaf.grad += g``, where ``leaf`` has a sink or not."""

def is_cleared(t: Tensor) -> bool:
    """Whether ``t.grad`` is zeros that nobody has looked at: asking for it would have them made."""

def after_run(call: Callable[[bool], Any], pulse: Callable[[], Any] | None = None) -> None:
    """``call(complete)`` once at the end of the outermost run of this thread, the modes being those of the run.

    ``complete`` is False where the run ends with an error, which is raised afterwards. ``pulse()`` is called after each
    node until then.
    """

def expected_leaves() -> tuple[frozenset[int], bool]:
    """Identities of the leaves with hooks that the outermost run reaches, and whether it may reach others, too."""

def in_backward() -> bool:
    """Whether this thread is computing gradients."""
