"""Lists of op calls, replayed in C. See docs/design/dispatch.md."""

from typing import Any

from umiak.core.plan import OpBase, TensorProgram

class CallProgram(TensorProgram):
    """A list of op calls over numbered values, replayed in C."""

    steps_ops: list[OpBase]
    def __init__(
        self, n_inputs: int, steps: list, outputs: list, scalars: list, scalar_program: Any, sources: list
    ) -> None: ...
    def run(self, inputs: list, ints: list, donation: bytes | None = None) -> list[Any]: ...

def drop_cast_weights() -> None:
    """Forget the low-precision copies of parameters that ``auto_cast`` made."""
