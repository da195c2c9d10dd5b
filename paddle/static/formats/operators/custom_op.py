"""Operations ``custom_op.namespace::operator``, which stand for users' operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paddle.static.formats.graph import Operation
from paddle.static.formats.operators.known import known_elements, tensor_of
from umiak import ops as F
from umiak.autodiff.custom_op import Operator
from umiak.ir.parser import parse_attribute
from umiak.ir.registry import REGISTRY
from umiak.ir.serialise import FormatError
from umiak.ir.text import TextError
from umiak.ops.arguments import counts, put_together
from umiak.ops.custom_op import listed

PREFIX = "custom_op."


def is_custom(name: str) -> bool:
    """Return whether an operation is a call of a user's operator."""
    return name.startswith(PREFIX) and "::" in name


def is_registered(name: str) -> bool:
    """Return whether the operator that such an operation calls is registered."""
    return name.removeprefix(PREFIX) in REGISTRY


def call_custom(o: Operation, operands: Sequence[Any]) -> list[Any]:
    """Call the operator: its results, and the new values of what it writes to."""
    definition = REGISTRY[o.name.removeprefix(PREFIX)].definition
    try:
        form = parse_attribute(o.plain("form", ""))
        tensors, n_ints, n_floats = counts(form)
    except (TextError, ValueError, TypeError) as error:
        raise FormatError(
            f"a form of arguments of {definition.name} is required, got {o.plain('form')!r}: {error}"
        ) from error
    ints, floats, of_run = (list(o.plain(name, [])) for name in ("ints", "floats", "of_run"))
    if (
        len(ints) != n_ints or len(floats) != n_floats or len(operands) != tensors + len(of_run)
        or len(form) != len(definition.schema.arguments) or any(i not in range(n_ints) for i in of_run)
    ):  # fmt: skip
        raise FormatError(
            f"{tensors} tensors, {n_ints} ints and {n_floats} floats are required for {definition.schema}, got "
            f"{len(operands)}, {len(ints)} and {len(floats)}"
        )
    for i, x in zip(of_run, operands[tensors:], strict=True):
        found = known_elements(x)
        if found is None or len(found) != 1:
            raise FormatError(f"a number that is known before the program runs is required by {definition.name}")
        ints[i] = found[0]
    args = put_together(form, [tensor_of(x) for x in operands[:tensors]], ints, floats)
    written = []
    for i in definition.schema.written:  # values in a module are never written twice
        x = args[i]
        args[i] = [F.copy(item) for item in x] if isinstance(x, (list, tuple)) else F.copy(x)
        written += listed(args[i])
    return [*listed(Operator(definition)._general(tuple(args))), *written]
