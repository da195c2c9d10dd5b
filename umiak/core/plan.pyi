"""Op records, their tables of plans, and plans. See docs/design/dispatch.md."""

from typing import Any

class OpBase:
    """C part of an op record: the table of its plans."""

    attributes: dict[str, Any]
    def __call__(self, *operands_and_params: Any) -> Any: ...
    def _bind(self, n_operands: int, param_kinds: tuple[str, ...]) -> None: ...
    def table_size(self) -> int: ...
    def clear(self) -> None: ...

class TensorProgram:
    """Tensors and words to tensors; abstract."""

def __getattr__(name: str) -> Any: ...
