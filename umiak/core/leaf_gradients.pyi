"""``.grad`` of leaves. See docs/design/tape.md."""

from typing import Any

from umiak.core.tensor import Tensor

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

def sink_of(leaf: Tensor) -> Sink | None:
    """The sink of a leaf, None where it has none."""

def add_gradient(leaf: Tensor, g: Tensor) -> None:
    """``leaf.grad += g``, where ``leaf`` has a sink or not."""

def held_gradient(t: Tensor) -> Tensor | None:
    """The gradient of a leaf; None also where it is zeros that nobody has looked at, which this does not do."""

def mark_cleared(t: Tensor) -> None:
    """Have ``t.grad`` be zeros, which are made when somebody looks at them."""

def is_cleared(t: Tensor) -> bool:
    """Return whether ``t.grad`` is zeros that nobody has looked at: asking for it would have them made."""

def install(add: Any, copy: Any, full: list) -> None:
    """The ops that gradients need themselves: a sum, a copy, a constant by dtype id."""
