"""Dispatch by class of operands. See docs/design/dispatch.md."""

from typing import Any

from umiak.core.tensor import Tensor

class OpBase:
    """C part of an op record: the table of its plans."""

    attributes: dict[str, Any]
    def __call__(self, *operands_and_params: Any) -> Any: ...
    def _bind(self, n_operands: int, param_kinds: tuple[str, ...]) -> None: ...
    def table_size(self) -> int: ...
    def clear(self) -> None: ...

class CallProgram:
    """A list of op calls over numbered values, replayed in C."""

    steps_ops: list[OpBase]
    def __init__(
        self, n_inputs: int, steps: list, outputs: list, numbers: list, scalars: Any, sources: list
    ) -> None: ...
    def run(self, inputs: list, ints: list, given: bytes | None = None) -> list[Any]: ...

def apply(op: OpBase, operands: tuple, params: tuple = ()) -> Any:
    """Run ``op``. Operands are tensors, numbers or None; returns a Tensor or a tuple of them."""

def apply1(op: OpBase, x: Any) -> Tensor: ...
def reduction_key(x: Tensor, axis: Any, keepdim: Any) -> int:
    """A key for a reduction: the tensor's dtype and rank, the axis, keepdim. -1 for what has none (a list of axes)."""

def apply_reduce(table: dict, x: Any, axis: Any, keepdim: Any) -> Tensor | None:
    """Run ``table[reduction_key(x, axis, keepdim)]`` on x; None when the table has no such op."""

def apply_axis(table: dict, x: Any, axis: int) -> Tensor | None:
    """Run ``table[axis]`` on x, a negative axis counted from the end; None for a 0-d tensor."""

def apply_rows(op: OpBase, x: Any, item: Any) -> Tensor | None:
    """``x[item]`` by ``op``, the slice of axis 0, for a slice of ints with a positive step; None for all else."""

def apply2(op: OpBase, x: Any, y: Any) -> Tensor: ...
def apply_into(op: OpBase, outs: tuple, operands: tuple, params: tuple = ()) -> None:
    """Run ``op`` writing into existing tensors; no gradient is recorded, versions are bumped. For optimizer updates."""

def assign(x: Tensor, value: Tensor) -> Tensor:
    """Write ``value`` into ``x`` in place: data, version and history (base nodes of views included). Returns ``x``."""

def become(x: Tensor, value: Tensor) -> Tensor:
    """``x`` becomes ``value``, computed of it: sizes, dtype, memory and history. What was a view of ``x`` stays one of
    what ``x`` was. Returns ``x``."""

def call_apart(function: Any, x: Tensor, args: tuple, kwargs: dict) -> Any:
    """``function(x, *args, **kwargs)``, which keeps for its gradient what ``x`` holds now: ``x`` may be overwritten."""

def apply_plain(op: OpBase, operands: tuple, params: tuple = ()) -> Any:
    """``apply`` past the observers."""

def time_launches(timer: Any) -> None:
    """Tell ``timer`` of every launch, on all threads; None ends that.

    ``timer.start()`` gives a token; after a launch that succeeded ``timer.stop(token, seconds, plan, operands,
    outputs, dims)`` follows, where ``dims`` is what a native kernel got, None where it asked for nothing or was
    launched flat.
    """

def drop_cast_weights() -> None:
    """Forget the low-precision copies of parameters that ``auto_cast`` made."""

BINARY_NAMES: tuple[str, ...]
UNARY_NAMES: tuple[str, ...]

def install(**slots: Any) -> None:
    """Fill slots: on_miss, vjp_plan, slow_path, slow_assign, slow_become, promote, write_through …."""
