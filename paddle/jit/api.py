"""``to_static``: functions and layers captured as programs, which are compiled as a whole."""

from __future__ import annotations

import functools
from typing import Any

from paddle._public import public
from paddle.jit.function import StaticFunction
from paddle.jit.marker import DYNAMIC
from paddle.jit.sot.captured_frame import SWITCH
from paddle.jit.sot.function import FullGraphFunction, SymbolicStaticFunction
from paddle.jit.sot.switches import falls_back
from paddle.nn.layer.layers import Layer
from paddle.static.compiled import BuildStrategy
from umiak.core.context import current
from umiak.runtime.capture import Capture, CaptureError
from umiak.util.errors import op_error


@public("paddle.jit")
def to_static(
    function: Any = None, input_spec: Any = None, build_strategy: Any = None, backend: Any = "CINN", **kwargs: Any
) -> Any:
    """Capture a function or a layer: its operations on tensors become programs, which are compiled.

    The first call simulates the bytecode of the function. What cannot be a part of a program (a branch on the values of
    a tensor, ``print``, a conversion to a number or to NumPy, a function in C that is not known) breaks the graph: it
    runs between two programs, as it was written, and so do changes of Python state, after the program. Later calls run
    the programs where all that the function has read of Python is as it was: arguments, attributes, global variables,
    modes such as training, ``auto_cast`` and ``no_grad``. Sizes and numbers that differ in a later call become symbols.

    With ``full_graph=True`` the source of the function is rewritten instead, so that branches and loops on tensors are
    a part of the one program; what cannot be is refused. What changes Python state of the library (a step of a schedule
    or a ``GradScaler``, a new layer, ``stop_gradient`` of an argument) ends the program and runs between two.

    The function may call ``backward`` and the ``step`` and ``clear_grad`` of optimizers: a whole training step is then
    one program. Gradients of a captured layer are otherwise as usual, by ``backward`` on what it returns.

    Args:
        function: a function, a method, or a ``Layer``, whose ``forward`` is captured; None: a decorator. One that is
            marked by ``not_to_static`` runs as it was written.
        input_spec: an ``InputSpec`` for each tensor argument; sizes of None may differ without a new program. None:
            sizes become symbols when they differ.
        build_strategy: accepted; there is nothing to choose.
        backend: ``"CINN"`` or None; there is one compiler.
        **kwargs: ``full_graph``, False by default: whether the function is one program or refused; ``property``,
            whether it gives plain values, so that ``jit.save`` leaves the method out.

    Returns:
        A captured function; the layer itself where one is given. Of what is captured already, the options given replace
        its former ones. ``graph_breaks`` and ``fallbacks`` of one that is
        captured from bytecode say why graphs broke, and why a function ran without one.

    Raises:
        CaptureError: at a call with ``full_graph=True``, something that cannot be captured.
        TypeError: an unknown keyword, something that cannot be called, an ``input_spec`` that is no list or tuple, or
            a ``build_strategy`` that is none.
        ValueError: another backend, or more specs than parameters; at a call, tensors that ``input_spec`` does not
            allow.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Linear(2, 1)
        >>> opt = paddle.optimizer.SGD(0.1, parameters=layer.parameters())
        >>> @paddle.jit.to_static
        ... def step(x, y):
        ...     loss = ((layer(x) - y) ** 2).mean()
        ...     loss.backward()
        ...     opt.step()
        ...     opt.clear_grad()
        ...     return loss
        >>> x, y = paddle.ones([4, 2]), paddle.zeros([4, 1])
        >>> bool(step(x, y) > step(x, y))
        True
    """
    unknown = set(kwargs) - {"full_graph", "property"}
    if unknown:
        raise TypeError(f"to_static() got an unexpected keyword argument {sorted(unknown)[0]!r}")
    if function is None:
        return lambda f: to_static(f, input_spec, build_strategy, backend, **kwargs)
    if build_strategy is not None and not isinstance(build_strategy, BuildStrategy):
        got = type(build_strategy).__name__
        raise op_error(TypeError, "to_static", "a BuildStrategy or None as build_strategy", got)
    if backend not in ("CINN", None):
        raise op_error(ValueError, "to_static", "'CINN' or None as backend", repr(backend))
    if not (input_spec is None or isinstance(input_spec, (list, tuple))):
        raise op_error(TypeError, "to_static", "a list or tuple as input_spec", type(input_spec).__name__)
    if isinstance(function, StaticFunction):
        return _with_options(function, input_spec, kwargs.get("full_graph"))
    if isinstance(function, (classmethod, staticmethod)):
        inner = to_static(function.__func__, input_spec, build_strategy, backend, **kwargs)
        return type(function)(inner)
    make = FullGraphFunction if kwargs.get("full_graph", not falls_back()) else SymbolicStaticFunction
    if isinstance(function, Layer):
        forward = function.forward
        if not isinstance(forward, StaticFunction):
            function.__dict__["forward"] = make(forward, input_spec)
        elif (other := _with_options(forward, input_spec, kwargs.get("full_graph"))) is not forward:
            function.__dict__["forward"] = other
        return function
    if not callable(function):
        raise op_error(TypeError, "to_static", "a function or a Layer", type(function).__name__)
    made = make(function, input_spec)
    made._gives_plain_values = bool(kwargs.get("property", False))
    return made


def _with_options(function: StaticFunction, input_spec: Any, full_graph: bool | None) -> StaticFunction:
    """A captured function, or another of what it captures where options are given that it does not have."""
    kind: Any = type(function) if full_graph is None else FullGraphFunction if full_graph else SymbolicStaticFunction
    if kind is type(function) and input_spec is None:
        return function
    spec = function._input_spec if input_spec is None else input_spec
    made = kind(function.dygraph_function, spec)
    made._gives_plain_values = function._gives_plain_values
    return made


@public("paddle.jit")
def not_to_static(func: Any = None) -> Any:
    """Mark a function as one that is no part of graphs.

    A function that is captured from bytecode calls it between two graphs. With ``full_graph=True`` it is called as it
    was written, and must be one that can be traced.

    Args:
        func: the function, a layer, or a class of layers; None: a decorator.

    Returns:
        A function that does the same and carries the mark; a layer or a class itself, marked.

    Raises:
        CaptureError: at a call from a function that is being traced and was not rewritten.

    Example:
        >>> import paddle
        >>> @paddle.jit.not_to_static
        ... def report(x):
        ...     return float(x)
        >>> report(paddle.ones([1]))
        1.0
    """
    if func is None:
        return not_to_static
    if isinstance(func, (Layer, type)):
        setattr(func, DYNAMIC, True)
        return func

    @functools.wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        if current().trace and isinstance(current().trace[-1], Capture):
            raise CaptureError(
                f"{func.__name__} is marked by not_to_static, and cannot be a part of a captured function"
            )
        return func(*args, **kwargs)

    setattr(run, DYNAMIC, True)
    return run


@public("paddle.jit")
def enable_to_static(enable_to_static_bool: bool) -> None:
    """Set whether captured functions run as programs; otherwise they run as they were written.

    Args:
        enable_to_static_bool: True, as at first, for programs.

    Raises:
        TypeError: a value that is not a bool.

    Example:
        >>> import paddle
        >>> paddle.jit.enable_to_static(False)
        >>> paddle.jit.enable_to_static(True)
    """
    if not isinstance(enable_to_static_bool, bool):
        raise op_error(TypeError, "enable_to_static", "a bool", type(enable_to_static_bool).__name__)
    current().state.values[SWITCH] = enable_to_static_bool
