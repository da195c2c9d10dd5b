"""Ops, their tables of plans, and plans. See docs/design/dispatch.md."""

from typing import Any

PLAN_LAUNCH: int  # kinds of plans
PLAN_VIEW: int
PLAN_RESHAPE: int
PLAN_CALLS: int
PLAN_PYTHON: int
AXIS_STRIDE: int  # of sources: what is added to an axis for its stride
AXIS_OFFSET: int  # of sources: the element offset

class OpBase:
    """C part of an op: the table of its plans."""

    attributes: dict[str, Any]
    def __call__(self, *operands_and_params: Any) -> Any: ...
    def _bind(self, n_operands: int, param_kinds: tuple[str, ...]) -> None: ...
    def table_size(self) -> int: ...
    def clear(self) -> None: ...

class TensorProgram:
    """Tensors and words to tensors; abstract."""

def __getattr__(name: str) -> Any: ...
