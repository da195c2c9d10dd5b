"""Python functions as nodes of programs: ``py_func``, and ``Print``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paddle._public import need_tensor, public
from paddle.static.input import InputSpec
from paddle.static.program import tracer_of
from umiak import ops as F
from umiak.core.context import capture_of
from umiak.core.tensor import Tensor
from umiak.ops.python_call import call
from umiak.runtime.program_tracer import ProgramTracer
from umiak.util.errors import op_error


def _listed(x: Any) -> list[Any]:
    return [] if x is None else list(x) if isinstance(x, (list, tuple)) else [x]


class Operand(Tensor):
    """A tensor that a Python function gets. Functions of NumPy take it, as they take what the reference gives."""

    __slots__ = ()

    @classmethod
    def of(cls, x: Tensor) -> Operand:
        """The same memory."""
        made = cls.__new__(cls)
        made._share(x)
        made.stop_gradient = True
        return made

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **kwargs: Any) -> Any:
        arrays = [np.asarray(x) if isinstance(x, Tensor) else x for x in operands]
        return getattr(ufunc, method)(*arrays, **kwargs)


@dataclass(frozen=True)
class _Function:
    """``func`` over the values of its arguments."""

    function: Callable[..., Any]

    def __call__(self, *xs: Tensor) -> Any:
        return self.function(*map(Operand.of, xs))


@dataclass(frozen=True)
class _Gradient:
    """``backward_func`` over those of its arguments that are not skipped."""

    function: Callable[..., Any]
    skipped: tuple[bool, ...]  # of operands and results

    def __call__(self, xs: Sequence[Tensor], ys: Sequence[Tensor], grads: Sequence[Tensor | None]) -> list[Any]:
        values = [v for v, skip in zip([*xs, *ys], self.skipped, strict=True) if not skip]
        given = [F.full(0, dtype=y.dtype, shape=tuple(y.shape)) if g is None else g for y, g in zip(ys, grads)]
        found = _listed(self.function(*map(Operand.of, [*values, *given])))
        if len(found) != len(xs):
            raise op_error(
                ValueError, "py_func", f"a gradient from backward_func for each of {len(xs)} inputs", len(found)
            )
        return [np.zeros(x.shape, "float32") if g is None else g for x, g in zip(xs, found, strict=True)]


@public("paddle.static paddle.static.nn", usual=False, own_out=True)
def py_func(
    func: Callable[..., Any],
    x: Any,
    out: Any,
    backward_func: Callable[..., Any] | None = None,
    skip_vars_in_backward_input: Any = None,
) -> Any:
    """Call a Python function whenever the program runs.

    The function gets tensors, which NumPy reads, and returns arrays or tensors. In a captured function it is called in
    every run as well, in dynamic mode at once. Functions are not saved with programs.

    Args:
        func: takes the values of ``x``; returns a value for each of ``out``.
        x: a tensor or several; None for none.
        out: what the function returns: a variable made by ``program.global_block().create_var``, which stands for the
            result afterwards, or an ``InputSpec`` or tensor of that shape and dtype; several; None for nothing. A size
            of -1 is that of the first input that has such an axis.
        backward_func: takes values of ``x`` and ``out`` and the gradients of ``out``; returns a gradient for each of
            ``x``, None for zeros. None: no gradient flows through the call.
        skip_vars_in_backward_input: variables among ``x`` and ``out`` that ``backward_func`` does not get.

    Returns:
        ``out``, or tensors in its place; None for none.

    Raises:
        TypeError: functions that cannot be called, or variables of other kinds.
        ValueError: something to skip that is neither input nor result, a size that no input has; while the program
            runs, results of other shapes.

    Example:
        >>> import numpy, paddle
        >>> paddle.enable_static()
        >>> main = paddle.static.Program()
        >>> with paddle.static.program_guard(main):
        ...     x = paddle.static.data("x", [None, 2])
        ...     y = main.global_block().create_var(name="y", shape=[-1, 2], dtype="float32")
        ...     _ = paddle.static.py_func(lambda x: numpy.sort(x), x, y)
        ...     paddle.static.Executor().run(feed={"x": numpy.array([[3, 1]], "float32")}, fetch_list=[y])
        [array([[1., 3.]], dtype=float32)]
        >>> paddle.disable_static()
    """
    for name, f in (("func", func), ("backward_func", backward_func)):
        if not callable(f) and not (f is None and name == "backward_func"):
            raise op_error(TypeError, "py_func", f"a {name} that can be called", type(f).__name__)
    xs, outs = [need_tensor(t, "py_func") for t in _listed(x)], _listed(out)
    gradient = None
    if backward_func is not None:
        known = [*xs, *outs]
        skipped = _listed(skip_vars_in_backward_input)
        for v in skipped:
            if not any(v is k or (isinstance(v, str) and v == getattr(k, "name", None)) for k in known):
                raise op_error(ValueError, "py_func", "variables of x and out to skip", getattr(v, "name", v))
        names = {v for v in skipped if isinstance(v, str)}
        gradient = _Gradient(
            backward_func, tuple(any(k is v for v in skipped) or getattr(k, "name", None) in names for k in known)
        )
    made = call(_Function(func), xs, [_type(o, xs) for o in outs], gradient)
    results = []
    for o, y in zip(outs, made, strict=True):
        if gradient is None:
            y.stop_gradient = True
        tracer = getattr(o, "_tracer", None)
        if isinstance(tracer, ProgramTracer):
            tracer.rebind(o, y)
            results.append(o)
        else:
            results.append(y)
    if not outs:
        return None
    return results if isinstance(out, (list, tuple)) else results[0]


def _type(out: Any, xs: Sequence[Tensor]) -> tuple[Any, list[Any]]:
    """Dtype and sizes of a result."""
    if not isinstance(out, (Tensor, InputSpec)):
        raise op_error(TypeError, "py_func", "variables or InputSpecs as out", type(out).__name__)
    tracer = getattr(out, "_tracer", None)
    shape = tracer.declared.get(id(out)) if isinstance(tracer, ProgramTracer) else None
    sizes: list[Any] = []
    for axis, n in enumerate(out.shape if shape is None else shape):
        if n is None or (type(n) is int and n < 0):
            like = next((x for x in xs if x.ndim > axis), None)
            if like is None:
                raise op_error(ValueError, "py_func", f"a size for axis {axis} of out, which no input has", n)
            n = like.shape[axis]
        sizes.append(n)
    return out.dtype, sizes


# --- Print -----------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Printer:
    """Prints the tensor that it gets, a number of times; ``settings``: those of :func:`Print`."""

    name: str
    settings: dict[str, Any]
    times: int = 0

    def __call__(self, x: Tensor) -> None:
        first = self.settings["first_n"]
        if 0 <= first <= self.times:
            return
        self.times += 1
        lines = [f"Variable: {self.name}"] if self.settings["print_tensor_name"] else []
        if self.settings["message"] is not None:
            lines.append(f"  - message: {self.settings['message']}")
        lines.append(f"  - place: {x.place}")
        if self.settings["print_tensor_shape"]:
            lines.append(f"  - shape: {list(x.shape)}")
        if self.settings["print_tensor_type"]:
            lines.append(f"  - dtype: {x.dtype.name}")
        array, most = x.numpy().reshape(-1), self.settings["summarize"]
        shown = array if most < 0 else array[:most]
        lines.append(f"  - data: [{' '.join(str(v) for v in shown.tolist())}]")
        print("\n".join(lines), flush=True)


@dataclass(eq=False)
class _GradientPrinter:
    """Prints a gradient and passes it on."""

    printer: _Printer

    def __call__(self, g: Tensor) -> Tensor:
        self.printer(g)
        return g


def _passed(xs: Sequence[Tensor], ys: Sequence[Tensor], grads: Sequence[Tensor | None]) -> list[Any]:
    return list(grads)


@public("paddle.static", usual=False)
def Print(
    input: Tensor,
    first_n: int = -1,
    message: str | None = None,
    summarize: int = 20,
    print_tensor_name: bool = True,
    print_tensor_type: bool = True,
    print_tensor_shape: bool = True,
    print_tensor_layout: bool = True,
    print_tensor_lod: bool = True,
    print_phase: str = "both",
) -> Tensor:
    """Print a variable whenever the program computes it, or its gradient.

    Args:
        input: a variable.
        first_n: how often it is printed; a negative number for always.
        message: printed with it; None for nothing.
        summarize: how many elements are shown; a negative number for all.
        print_tensor_name: show its name.
        print_tensor_type: show its dtype.
        print_tensor_shape: show its shape.
        print_tensor_layout: accepted.
        print_tensor_lod: accepted.
        print_phase: ``"forward"`` for the variable, ``"backward"`` for its gradient, or ``"both"``.

    Returns:
        A variable with the same values; the gradient that is printed is its.

    Raises:
        RuntimeError: dynamic mode.
        ValueError: another phase.

    Example:
        >>> import numpy, paddle
        >>> paddle.enable_static()
        >>> with paddle.static.program_guard(paddle.static.Program()):
        ...     x = paddle.static.Print(paddle.static.data("x", [2]), message="now")
        ...     _ = paddle.static.Executor().run(feed={"x": numpy.ones(2, "float32")})
        Variable: x
          - message: now
          - place: Place(cpu)
          - shape: [2]
          - dtype: float32
          - data: [1.0 1.0]
        >>> paddle.disable_static()
    """
    if capture_of() is None:
        tracer_of("Print")
    if print_phase not in ("forward", "backward", "both"):
        raise op_error(ValueError, "Print", "'forward', 'backward' or 'both' as print_phase", repr(print_phase))
    settings = {
        "first_n": first_n, "message": message, "summarize": summarize, "print_tensor_name": print_tensor_name,
        "print_tensor_type": print_tensor_type, "print_tensor_shape": print_tensor_shape,
    }  # fmt: skip
    need_tensor(input, "Print", "input")
    if print_phase != "backward":
        call(_Printer(input.name, settings), [input], [])
    y = F.copy(input)
    if print_phase != "forward" and not y.stop_gradient:
        printer = _GradientPrinter(_Printer(f"{input.name}@GRAD", settings))
        y.register_hook(lambda g: call(printer, [g], [(g.dtype, g.shape)], _passed, ordered=False)[0])
    return y
