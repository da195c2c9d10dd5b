"""Names of an operator's inputs and outputs, as C++ declares them: ``X``, ``X@VECTOR``, ``X@OPTIONAL``, ``X@GRAD``."""

from __future__ import annotations

import keyword
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from umiak.core.tensor import Tensor

# Types of attributes in C++, and what they are in a schema: the word of the type, and whether it is a list.
ATTRIBUTES = {
    "bool": ("bool", False), "int": ("int", False), "int64_t": ("int", False), "float": ("float", False),
    "double": ("float", False), "std::string": ("str", False), "std::vector<int>": ("int", True),
    "std::vector<int64_t>": ("int", True), "std::vector<float>": ("float", True),
    "std::vector<double>": ("float", True), "std::vector<std::string>": ("str", True),
}  # fmt: skip


@dataclass(frozen=True)
class Variable:
    """An input or output. ``order``: how often a gradient was taken; ``new``: a gradient that an output of the operator
    that is differentiated has the name of already."""

    text: str
    base: str
    order: int = 0
    new: bool = False
    vector: bool = False
    optional: bool = False

    @property
    def key(self) -> tuple[str, int, bool]:
        """The key that the same variable has in an operator and in its gradient."""
        return self.base, self.order, self.new

    @property
    def argument(self) -> str:
        """The name of the argument in Python."""
        return self.base.lower() + "_grad" * self.order + "_new" * self.new


def variable(text: str) -> Variable:
    """The variable that a name declares. ValueError for what is none."""
    base, *marks = text.split("@")
    unknown = [m for m in marks if m not in ("GRAD", "VECTOR", "OPTIONAL", "NEW")]
    if unknown or not base.isidentifier():
        raise ValueError(
            "names like 'X', or those that Grad, Vec, Optional and New make, are required as Inputs and Outputs, got "
            f"{text!r}"
        )
    return Variable(text, base, marks.count("GRAD"), "NEW" in marks, "VECTOR" in marks, "OPTIONAL" in marks)


def attribute(text: str) -> tuple[str, str, bool]:
    """(name, word of the type, whether it is a list) of a declaration ``"axis: int"``."""
    name, _, kind = text.partition(":")
    name, kind = name.strip(), "".join(kind.split())
    if kind not in ATTRIBUTES or not name.isidentifier() or keyword.iskeyword(name):
        raise ValueError(
            f"attributes like 'axis: int' are required as Attrs (types are {', '.join(ATTRIBUTES)}), got {text!r}"
        )
    return (name, *ATTRIBUTES[kind])


def count(x: Any) -> int:
    """The number of tensors of an argument."""
    return 0 if x is None else len(x) if isinstance(x, (list, tuple)) else 1


def grouped(values: Sequence[Any], variables: Sequence[Variable], counts: Sequence[int]) -> list[Any]:
    """Tensors one after the other as an operator gives them: a list for a vector, None for an optional one."""
    grouped_values: list[Any] = []
    at = 0
    for v, n in zip(variables, counts, strict=True):
        own = list(values[at : at + n])
        at += n
        grouped_values.append(own if v.vector else own[0] if own else None)
    return grouped_values


def flattened(values: Sequence[Any]) -> list[Tensor]:
    """The tensors among arguments or results, one after the other; None is left out."""
    tensors: list[Tensor] = []
    for x in values:
        if isinstance(x, (list, tuple)):
            tensors += flattened(x)
        elif x is not None:
            tensors.append(x)
    return tensors
