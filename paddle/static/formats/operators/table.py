"""The table of operators, and how their operands and attributes become arguments.

The signature of a function says what the operator takes: its parameters are the operands, in order, those behind ``*``
attributes, by name; one with a default, or ``| None``, may be absent. Annotations of operands say in which form they
come. Attributes that it does not name are ignored (``struct_name``); an operand may also come as an attribute of its
name, as older programs have it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from paddle.static.formats.graph import Operation
from paddle.static.formats.operators.known import MOST, Known, known_elements, tensor_of
from paddle.tensor._args import integer, integers, reads_numbers
from umiak.core.tensor import Tensor
from umiak.ir.expr import Sym
from umiak.ir.serialise import FormatError
from umiak.ir.tracer import SymTensor

T = TypeVar("T")

# Forms of operands, as annotations of parameters.
Tensors = list[Tensor]  # a list, which combine made
Sizes = list[Any]  # ints and symbols: a tensor of integers, or a list of such tensors
Number = Any  # a number, or a tensor with one element where that is not known
Raw = Any  # as it comes: a tensor, `Known`, a list

Rule = Callable[..., Any]  # of `Known` operands; it returns None where it has no answer


class FromData(FormatError):
    """Sizes that data decide, where they must be known."""


def _as_tensors(x: Any) -> list[Tensor]:
    return [tensor_of(y) for y in x] if isinstance(x, (list, tuple)) else [tensor_of(x)]


def _as_tensor(x: Any) -> Tensor:
    x = tensor_of(x)
    if not isinstance(x, Tensor):
        raise FormatError(f"a tensor is required, got {type(x).__name__}")
    return x


def as_sizes(x: Any) -> list[Any]:
    """The form ``Sizes`` of an operand."""
    found = known_elements(x)
    if found is None and reads_numbers():
        found = _read_sizes(x)
    if found is None:
        raise FromData("sizes that are known before the program runs are required, got sizes from data")
    return found


def _read_sizes(x: Any) -> list[Any] | None:
    """The elements as symbols that the program reads; None for a tensor of so many that nobody knows."""
    if isinstance(x, (list, tuple)):
        parts = [_read_sizes(y) for y in x]
        return None if any(p is None for p in parts) else [n for p in parts for n in p or ()]
    if not isinstance(x, SymTensor):
        return known_elements(x)
    return list(integers(x, "load", "sizes")) if type(x._count) is int else None


def integer_of(x: Any) -> Any:
    """An operand that is a number as an int, or as a symbol: one in a tensor is read when the program runs."""
    if isinstance(x, Tensor):
        return integer(x, "load", "a number")
    return x if type(x) is Sym else int(x)


def _as_number(x: Any) -> Any:
    if isinstance(x, Tensor):
        return x
    found = known_elements(x)
    assert found is not None
    if len(found) != 1:
        raise FormatError(f"one number is required, got {len(found)} of them")
    return found[0]


_FORMS: dict[str, Callable[[Any], Any]] = {
    "Tensor": _as_tensor, "Tensors": _as_tensors, "Sizes": as_sizes, "Number": _as_number, "Raw": lambda x: x,
}  # fmt: skip


class Operator:
    """The meaning of an operator: ``function``, and ``rule`` where all operands are known numbers."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.rule: Rule | None = None
        self.operands: list[tuple[str, Callable[[Any], Any], Any]] = []
        self.attributes: list[tuple[str, Any]] = []
        self.variadic = False
        for p in inspect.signature(function).parameters.values():
            if p.kind is p.KEYWORD_ONLY:
                self.attributes.append((p.name, p.default))
            elif p.kind is p.VAR_POSITIONAL:
                self.variadic = True
            else:
                form = str(p.annotation).removesuffix(" | None")
                default = None if form != p.annotation and p.default is p.empty else p.default
                self.operands.append((p.name, _FORMS[form], default))
        self.least = sum(default is inspect.Parameter.empty for _, _, default in self.operands)

    def call(self, operation: Operation, values: list[Any]) -> Any:
        """The results for the values of operands."""
        if self.rule is not None and len(values) >= self.least and _all_known(values):
            found = self.rule(*self._joined(values), **self._named(operation, self.rule))
            if found is not None:
                return found
        given = []
        for i, (name, form, default) in enumerate(self.operands):
            x = values[i] if i < len(values) else operation.plain(name)
            if x is not None:
                given.append(form(x))
            elif default is inspect.Parameter.empty:
                raise FormatError(f"an operand {name!r} is required, got none")
            else:
                given.append(default)
        if self.variadic:
            given += [_as_tensor(x) for x in values[len(self.operands) :]]
        elif len(values) > len(self.operands) and any(v is not None for v in values[len(self.operands) :]):
            raise FormatError(f"at most {len(self.operands)} operands are required, got {len(values)}")
        return self.function(*given, **{n: _attribute(operation, n, d) for n, d in self.attributes})

    def _joined(self, values: list[Any]) -> list[Any]:
        """The values for a rule, to which sizes are one tensor, also those that the file has as a list of tensors."""
        forms = [form for _, form, _ in self.operands[: len(values)]]
        one = [
            Known(known_elements(x), "int64") if isinstance(x, list) and form is as_sizes else x
            for x, form in zip(values, forms)
        ]
        return one + values[len(forms) :]

    @staticmethod
    def _named(operation: Operation, rule: Rule) -> dict[str, Any]:
        return {
            p.name: _attribute(operation, p.name, p.default)
            for p in inspect.signature(rule).parameters.values() if p.kind is p.KEYWORD_ONLY
        }  # fmt: skip


def _all_known(values: list[Any]) -> bool:
    return bool(values) and all(isinstance(v, Known) or (isinstance(v, list) and _all_known(v)) for v in values)


def _attribute(operation: Operation, name: str, default: Any) -> Any:
    found = operation.plain(name)
    if found is not None:
        wanted: Any = str if type(default) is str else (int, float) if type(default) in (bool, int, float) else object
        if not isinstance(found, wanted):
            kind = "a text" if wanted is str else "a number"
            raise FormatError(f"{kind} as attribute {name!r} is required, got {found!r:.60}")
        return found
    if default is inspect.Parameter.empty:
        raise FormatError(f"an attribute {name!r} is required, got {sorted(operation.attributes)}")
    return default


TABLE: dict[str, Operator] = {}


def operator(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare what the operators ``pd_op.<name>`` mean; those in place (``<name>_``) as well.

    Programs have no variables that are written twice: the result of ``relu_`` is a new value.
    """

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        made = Operator(function)
        for name in names:
            for full in (f"pd_op.{name}", f"pd_op.{name}_"):
                if full in TABLE:
                    raise AssertionError(f"{full} is declared twice")
                TABLE[full] = made
        return function

    return declare


def unary(function: Callable[[Tensor], Any], *names: str) -> None:
    """Declare operators of one tensor, without attributes."""

    def call(x: Tensor) -> Any:
        return function(x)

    operator(*names)(call)


def binary(function: Callable[[Tensor, Tensor], Any], *names: str) -> None:
    """Declare operators of two tensors, without attributes."""

    def call(x: Tensor, y: Tensor) -> Any:
        return function(x, y)

    operator(*names)(call)


def known(*names: str) -> Callable[[Rule], Rule]:
    """Declare what operators give where all operands are known. The rule takes them, and attributes behind ``*``."""

    def declare(rule: Rule) -> Rule:
        for name in names:
            TABLE[f"pd_op.{name}"].rule = TABLE[f"pd_op.{name}_"].rule = rule
        return rule

    return declare


def small(array: np.ndarray, dtype: str) -> Known | None:
    """An array as known numbers, if it is small."""
    return Known(array, dtype) if array.size <= MOST else None


def chosen(choices: Mapping[Any, T], key: Any) -> T:
    """The choice of an attribute, of files that may lie."""
    if key not in choices:
        raise FormatError(f"one of {list(choices)} is required, got {key!r:.60}")
    return choices[key]


def dropout_mode(name: str) -> str:
    """The name that functions have for a way of dropout."""
    return "downscale_in_infer" if name == "downgrade_in_infer" else name


MOST_PARTS = 1 << 16


def bounded(n: Any) -> Any:
    """A count of things that are made one by one, of files that may lie."""
    if type(n) is int and n > MOST_PARTS:
        raise FormatError(f"at most {MOST_PARTS} parts are required, got {n}")
    return n


def bounded_all(sizes: Any) -> list[Any]:
    """Sizes whose elements are counted one by one."""
    return [bounded(n) for n in sizes]


def dtype_of(name: str, other: Any = None) -> Any:
    """The dtype that an attribute names; ``other`` where it leaves it open."""
    return other if name.lower().startswith("undefined") else name
