"""The base of captured functions, however they are captured."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

from paddle.jit.concrete import Arguments, ConcreteProgram, FunctionSpec
from paddle.jit.marker import dynamic_dims
from paddle.jit.programs import ProgramCache
from paddle.nn.layer.layers import Layer
from paddle.static.input import InputSpec
from paddle.static.program import Program
from paddle.tensor.filled import full
from umiak.core.direct import Direct
from umiak.util import pytree
from umiak.util.errors import op_error


class StaticFunction:
    """Function whose calls are captured as programs: made by ``to_static``.

    It is one of a class when it is found as the method of an object: each object has captures of its own.
    """

    _function: Callable[..., Any]
    _instance: Any
    _input_spec: Any
    _gives_plain_values: bool = False  # `jit.save` leaves it out
    _training: bool = True  # the mode that was set last

    def _describe(self, function: Callable[..., Any], input_spec: Any, instance: Any) -> None:
        functools.update_wrapper(self, function, updated=())  # type: ignore[arg-type]
        # What was set on the function is found here, too, unless it would hide a part of this class.
        own = type(self)
        self.__dict__.update({k: v for k, v in getattr(function, "__dict__", {}).items() if not hasattr(own, k)})
        self._function = function
        self._instance = instance
        self._input_spec = input_spec

    def _like(self, function: Callable[..., Any], instance: Any) -> StaticFunction:
        """Return another one with the same options."""
        raise NotImplementedError

    def _captures(self) -> list[Any]:
        raise NotImplementedError

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """As a method of a class."""
        if instance is None:
            return self
        name = "__static_" + self._function.__name__
        own = getattr(instance, "__dict__", {})
        bound = own.get(name)
        if bound is None or bound._function is not self._function:
            bound = self._like(self._function, instance)
            if isinstance(own, dict):  # an object with slots has nowhere to keep it
                own[name] = bound
            else:  # a class, of a class method
                setattr(instance, name, bound)
        return bound

    def __copy__(self) -> StaticFunction:
        """Another one of the same function, with captures of its own."""
        return self._like(self._function, self._instance)

    def __deepcopy__(self, memo: dict[int, Any]) -> StaticFunction:
        """Of a copied layer: what was captured stays with the original."""
        copied = self._like(copy.deepcopy(self._function, memo), copy.deepcopy(self._instance, memo))
        memo[id(self)] = copied
        return copied

    @property
    def dygraph_function(self) -> Callable[..., Any]:
        """The function as it was written."""
        return self._function if self._instance is None else MethodType(self._function, self._instance)

    @property
    def class_instance(self) -> Any:
        """The object whose method this is; None for a function."""
        return getattr(self.dygraph_function, "__self__", None)

    @property
    def program_cache(self) -> ProgramCache:
        """The programs captured so far, as static programs; ``print`` shows their operations."""
        return ProgramCache(self._concrete(), self)

    @property
    def main_program(self) -> Program:
        """The program captured last."""
        cache = self.program_cache
        if not cache:
            raise op_error(RuntimeError, "main_program", "a call of the function before", "none")
        return cache[-1]

    def _concrete(self) -> list[ConcreteProgram]:
        raise NotImplementedError

    @property
    def concrete_program(self) -> ConcreteProgram:
        """The program captured last, with what it takes and gives; with ``input_spec``, captured for it if need be."""
        return self.concrete_program_specify_input_spec()

    def concrete_program_specify_input_spec(
        self, input_spec: Any = None, with_hook: bool = False, is_prim_infer: bool = False
    ) -> ConcreteProgram:
        """Return the program captured last; where there is none yet, one for ``input_spec``.

        Args:
            input_spec: an ``InputSpec`` for each tensor argument; None: those given to ``to_static``.
            with_hook: accepted; hooks of a layer are a part of its program.
            is_prim_infer: accepted; operations are decomposed where they are compiled.

        Raises:
            RuntimeError: no program yet, and no spec.
        """
        specs = self._input_spec if input_spec is None else input_spec
        if input_spec is not None or not self._concrete():
            if specs is None:
                required = "a call of the function before, or input_spec"
                raise op_error(RuntimeError, "concrete_program", required, "neither")
            return self.get_concrete_program(*(specs if isinstance(specs, (list, tuple)) else [specs]))[0]
        return self._concrete()[-1]

    def get_concrete_program(self, *args: Any, **kwargs: Any) -> tuple[ConcreteProgram, StaticFunction]:
        """Capture a kind of calls without running it.

        Args:
            *args: arguments of the function, or an ``InputSpec`` in the place of a tensor, whose open sizes become
                symbols.
            **kwargs: arguments of the function, likewise.

        Returns:
            The program, and this function, which runs it.

        Raises:
            CaptureError: there is no graph for such a call.
        """
        args, kwargs = pytree.map(_example, (args, kwargs))
        return self._captured_for(args, kwargs), self

    def _called_with(self) -> Arguments | None:
        """The arguments that the function was captured for last; None where it was not."""
        raise NotImplementedError

    def _captured_for(self, args: tuple, kwargs: dict[str, Any]) -> ConcreteProgram:
        raise NotImplementedError

    @property
    def inputs(self) -> list[InputSpec]:
        """Specs of the tensors that the program captured last takes."""
        return self.concrete_program.specs

    @property
    def outputs(self) -> list[InputSpec]:
        """Specs of the tensors that the program captured last gives."""
        return self.concrete_program.outputs

    @property
    def function_spec(self) -> FunctionSpec:
        """The function as it was written, its parameters, and ``input_spec``."""
        names = list(inspect.signature(self.dygraph_function).parameters)
        return FunctionSpec(self.dygraph_function, self._input_spec, names)

    def train(self) -> None:
        """Set the layer whose method this is to training; a function has gradients in both modes."""
        self._set_mode(True)

    def eval(self) -> None:
        """Set the layer whose method this is to evaluation; a function has gradients in both modes."""
        self._set_mode(False)

    def _set_mode(self, training: bool) -> None:
        layer = self.class_instance
        if isinstance(layer, Layer):
            layer.train() if training else layer.eval()
        self._training = training

    def get_traced_count(self) -> int:
        """Return the number of programs."""
        return len(self._captures())

    @property
    def code(self) -> str:
        """The source text."""
        return inspect.getsource(self._function)

    def rollback(self) -> Callable[..., Any]:
        """Return the function as it was written; an object has it in the place of this method from now on."""
        own = getattr(self.class_instance, "__dict__", None)
        if isinstance(own, dict):
            name = self._function.__name__
            if own.get(name) is self:
                del own[name]
            if isinstance(inspect.getattr_static(type(self.class_instance), name, None), StaticFunction):
                own[name] = self.dygraph_function
        return self.dygraph_function


def _example(spec: Any) -> Any:
    """A tensor for a spec: 2 for sizes that are open, which then become symbols."""
    if not isinstance(spec, InputSpec):
        return spec
    made = full([2 if n == -1 else n for n in spec.shape], 0, spec.dtype)
    dynamic_dims(made, [i for i, n in enumerate(spec.shape) if n == -1])
    made.stop_gradient = spec.stop_gradient
    return made


def as_function(f: Callable[..., Any]) -> FunctionType | MethodType:
    """Return a callable as a function or a method in Python."""
    if isinstance(f, Direct):  # a function of the library with a way in C
        return f.function  # type: ignore[return-value]
    if isinstance(f, MethodType) and isinstance(f.__func__, Direct):
        return MethodType(f.__func__.function, f.__self__)
    if isinstance(f, (FunctionType, MethodType)):
        return f
    call = type(f).__dict__.get("__call__")
    if isinstance(call, FunctionType):
        return MethodType(call, f)

    def run(*args: Any, **kwargs: Any) -> Any:
        return f(*args, **kwargs)

    return run  # type: ignore[return-value]
