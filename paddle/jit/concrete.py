"""Captured programs as ``to_static`` shows them: what one takes and gives, and what a function was captured with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from paddle.jit.programs import CapturedProgram
from paddle.static.input import InputSpec
from paddle.static.program import Program
from umiak.core.tensor import Tensor
from umiak.util.size import Size


@dataclass
class ConcreteProgram:
    """A program that one kind of calls is captured as.

    ``inputs`` and ``outputs`` are specs, with -1 for sizes that differ between calls; of a method of a layer, the layer
    comes first in ``inputs``, as among the arguments. ``parameters`` are the tensors that the function knows by itself,
    which have their values: there is nothing for ``startup_program`` to do.
    """

    function: Callable[..., Any]
    main_program: CapturedProgram
    inputs: list[Any]
    outputs: list[InputSpec]
    parameters: list[Tensor] = field(default_factory=list)
    startup_program: Program = field(default_factory=Program)

    @property
    def specs(self) -> list[InputSpec]:
        """Those of ``inputs`` that are tensors."""
        return [x for x in self.inputs if isinstance(x, InputSpec)]


@dataclass
class FunctionSpec:
    """The function that was given to ``to_static``, and what was said of its arguments."""

    dygraph_function: Callable[..., Any]
    input_spec: Any
    args_name: list[str]


class Arguments(dict):
    """Arguments of a call by the names of parameters, with specs in the place of tensors."""


def spec_of(x: Tensor, name: str | None = None) -> InputSpec:
    """Return the spec of a tensor of a captured function; sizes that are symbols are -1."""
    spec = InputSpec([n if type(n) is int else -1 for n in x.shape], x.dtype, name, x.stop_gradient)
    spec.shape = Size(spec.shape)  # as that of the tensor: equal to a list, and to a tuple
    return spec
