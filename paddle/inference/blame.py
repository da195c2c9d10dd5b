"""Lines of the user's source at which an operation was written whose run has failed: files of models may have them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from paddle.inference import loading
from paddle.static.formats.graph import Module, Operation
from paddle.static.formats.record import Values, callstack, parameters_of
from paddle.static.scope import Scope
from umiak.core.array import from_numpy
from umiak.core.tensor import Tensor

MOST = 8  # failures of one model that are looked into: each costs as much as loading it
FAILURES = ArithmeticError, LookupError, RuntimeError, TypeError, ValueError


def located(config: Any, inputs: Mapping[str, Tensor], error: Exception) -> Exception | None:
    """An error of the same kind that shows the user's line; None where the file does not have it.

    The model is read once more, and its operations are called one by one until one of them fails.
    """
    try:
        read = loading.read(*loading.sources(config))
    except OSError:  # the files are not there any more
        return None
    if not isinstance(read.program, Module):
        return None
    held = parameters_of(read.program, read.values)
    for name, x in held.items():
        value = read.values[name]
        Scope()._hold(x, from_numpy(value) if isinstance(value, np.ndarray) else value, kept=False)
    try:
        Values(read.program, held, inputs).run()
    except FAILURES as found:
        operation: Operation | None = getattr(found, "operation", None)
        lines = None if operation is None else callstack(operation)
        if operation is None or lines is None or lines[0].strip() in str(error):
            return None
        shown = "\n".join(f"    {line}" for text in lines for line in text.splitlines())
        return type(error)(f"{error}\n\n  {operation.name} of the model was written here:\n{shown}")
    return None
