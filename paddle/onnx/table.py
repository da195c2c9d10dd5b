"""The table of rules: operator of PaddlePaddle → function that appends ONNX nodes and gives the values of its results.

A rule takes the :class:`~paddle.onnx.builder.Builder` and a :class:`Call`. It gives one value, a tuple for several
results, a list for a result that is a list. A name with a trailing ``_``, the form that writes into its operand, has
the rule of the name without it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from paddle.onnx.builder import Builder, Unsayable
from paddle.onnx.shapes import numbers
from paddle.static.formats.graph import Block, Operation, TensorType


class Converter(Protocol):
    """A face of the converter for rules of control flow: to run a block, and the values that there are."""

    values: dict[int, Any]

    def run(self, block: Block) -> list[Any]: ...


class Call:
    """An operation to be said: ``call[i]`` is an operand, ``call("axis")`` an attribute."""

    def __init__(self, operation: Operation, operands: Sequence[Any], converter: Converter) -> None:
        self.operation, self.operands, self.converter = operation, list(operands), converter

    @property
    def name(self) -> str:
        return self.operation.name.partition(".")[2]

    def __getitem__(self, i: int) -> Any:
        return self.operands[i] if i < len(self.operands) else None

    def __call__(self, name: str, default: Any = None) -> Any:
        return self.operation.plain(name, default)

    def type(self, i: int = 0) -> TensorType:
        """The declared type of a result."""
        found = self.operation.results[i].type
        if not isinstance(found, TensorType):
            raise TypeError(f"result {i} is no tensor")
        return found

    def ints(self, i: int, name: str, default: Any = None) -> list[int]:
        """Integers that are an operand, or in other versions an attribute; they must be known."""
        found = self[i] if self[i] is not None else self(name, default)
        if found is None:
            raise LookupError(f"no {name}")
        known = numbers(found)
        if known is None:
            raise Unsayable(f"{name} that does not depend on what is fed")
        return known

    def number(self, i: int, name: str, default: Any = None) -> Any:
        """A number that is an operand (then a value, or its constant where it is known) or an attribute."""
        x = self[i]
        if x is None:
            return self(name, default)
        return x.constant.reshape(-1)[0].item() if x.constant is not None and x.constant.size == 1 else x


Rule = Callable[[Builder, Call], Any]
RULES: dict[str, Rule] = {}
# Rules that know complex numbers as the pairs that they are here.
TAKE_COMPLEX = {
    "abs", "add", "angle", "as_real", "assign", "cast", "concat", "conj", "divide", "fft_c2c", "fft_c2r", "imag",
    "multiply", "real", "scale", "slice", "subtract", "transpose",
}  # fmt: skip


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Declare the rule of operators."""

    def declared(function: Rule) -> Rule:
        for name in names:
            assert name not in RULES, f"two rules for {name}"
            RULES[name] = function
        return function

    return declared


SUBJECTS = (
    "activations", "algebra", "attention", "control", "convolutions", "creation", "decoding", "detection",
    "elementwise", "factors", "graphs", "indexing", "joining", "losses", "norms", "older", "pooling", "proposals",
    "quantized", "recurrent", "reductions", "reshaping", "resizing", "search", "solvers", "special", "spectra",
    "windows", "writing",
)  # fmt: skip


def load() -> None:
    """Load all rules."""
    for subject in SUBJECTS:
        importlib.import_module(f"paddle.onnx.rules.{subject}")
