"""Writing into tensors. See docs/design/views.md."""

from typing import Any

from umiak.core.plan import OpBase
from umiak.core.tensor import Tensor

def apply_into(op: OpBase, outs: tuple, operands: tuple, params: tuple = ()) -> None:
    """Run ``op`` writing into existing tensors; no gradient is recorded, versions are bumped. For optimizer updates."""

def assign(x: Tensor, value: Tensor) -> Tensor:
    """Write ``value`` into ``x`` in place: data, version and history (base nodes of views included). Returns ``x``."""

def rebind(x: Tensor, value: Tensor) -> Tensor:
    """``x`` becomes ``value``, computed of it: sizes, dtype, memory and history. What was a view of ``x`` stays one of
    what ``x`` was. Returns ``x``."""

def with_own_history(x: Tensor, value: Tensor) -> Tensor:
    """``x``, a view of a leaf, has the history of ``value`` from here on, of which its memory has the elements. Returns
    ``x``."""

def overwrite(function: Any, x: Tensor, args: tuple, kwargs: dict, differs: Any = None) -> Tensor:
    """Write ``function(x, *args, **kwargs)`` into ``x``, without a copy where nobody else has the result's memory.
    ``differs(x, args, kwargs, result)`` is asked about one of another shape or dtype; where it returns None, the result
    is written all the same. Returns ``x``."""

def call_before_overwrite(function: Any, x: Tensor, args: tuple, kwargs: dict) -> Any:
    """``function(x, *args, **kwargs)``, which keeps for its gradient what ``x`` holds now: ``x`` may be overwritten."""

def install(
    copy: OpBase, transfer: Any, scatter_view: Any, write_through: Any, slow_assign: Any, slow_rebind: Any
) -> None:
    """Fill slots: ops that writes need, and what writes tensors that are not dense."""
