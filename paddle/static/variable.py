"""Variables of programs: inputs, and what is kept between runs."""

from __future__ import annotations

from typing import Any

from paddle._public import also, public
from paddle.framework import parameter, unique_name
from paddle.framework.dtype import get_default_dtype
from paddle.framework.place import current_place
from paddle.static.program import initialized, tracer_of
from umiak import ops as F
from umiak.core.context import no_grad_guard
from umiak.core.dtype import DType, convert
from umiak.core.inplace import assign
from umiak.core.tensor import Tensor, empty
from umiak.ir import sym
from umiak.ir.expr import Sym
from umiak.ir.meta import Meta
from umiak.runtime.program_tracer import ProgramTracer
from umiak.util.arguments import sizes_of
from umiak.util.errors import op_error

create_parameter = also(parameter.create_parameter, "create_parameter", "paddle.static")
Variable = also(Tensor, "Variable", "paddle.static")


@public("paddle.static")
def data(name: str, shape: Any, dtype: Any = None, lod_level: int = 0) -> Tensor:
    """Declare an input of the program.

    Args:
        name: under which it is fed. An input that is declared again, with the same sizes and dtype, is the same one.
        shape: sizes; None or -1 for one that may differ between runs, which is a symbol in the variable's ``shape``. An
            open size of another variable stands for None: the two need not be equal.
        dtype: of the elements; None: the default dtype.
        lod_level: 0: sequences are padded.

    Returns:
        A variable, with ``stop_gradient=True``.

    Raises:
        RuntimeError: dynamic mode.
        ValueError: a name that another variable has, a size below -1, or a ``lod_level`` other than 0.
        TypeError: a name that is not a str.

    Example:
        >>> import numpy, paddle
        >>> paddle.enable_static()
        >>> with paddle.static.program_guard(paddle.static.Program()):
        ...     y = paddle.static.data("x", [None, 2]).sum(axis=1)
        ...     paddle.static.Executor().run(feed={"x": numpy.ones([3, 2], "float32")}, fetch_list=[y])
        [array([2., 2., 2.], dtype=float32)]
        >>> paddle.disable_static()
    """
    tracer = tracer_of("data")
    if not isinstance(name, str):
        raise op_error(TypeError, "data", "a str as name", type(name).__name__)
    if lod_level:
        raise op_error(ValueError, "data", "lod_level 0", lod_level, "Pad sequences, and feed their lengths.")
    sizes = []
    for n in shape:
        n = sym.known(n) if isinstance(n, Sym) else n
        if n is not None and (isinstance(n, bool) or not hasattr(n, "__index__") or int(n) < -1):
            raise op_error(ValueError, "data", "sizes that are ints of at least 0, -1 or None", f"{list(shape)}")
        sizes.append(-1 if n is None else int(n))
    kind = convert(dtype or get_default_dtype())
    if name in tracer.names:
        return _declared_twice(tracer, name, sizes, kind)
    open_or_fixed = (tracer.scope.size(name=f"{name}_{i}") if n == -1 else n for i, n in enumerate(sizes))
    made = tracer.feed(name, Meta(tuple(open_or_fixed), kind))
    made.name = name
    return made


def _declared_twice(tracer: ProgramTracer, name: str, sizes: list[int], dtype: DType) -> Tensor:
    """An input that is declared a second time, alike, which a cell of a notebook does that is run again."""
    found = next((x for fed, x in tracer.feeds if fed == name), None)
    if found is None:
        raise op_error(ValueError, "data", "a name that no other variable of the program has", repr(name))
    declared = [-1 if type(n) is Sym else n for n in found.shape]
    if declared != sizes or found.dtype is not dtype:
        raise op_error(
            ValueError, "data", f"another name than that of the input {name!r} of shape {declared} and dtype "
            f"{found.dtype.name}, or that shape and dtype", f"shape {sizes} and dtype {dtype.name}",
        )  # fmt: skip
    if tracer.is_written(found):
        raise op_error(ValueError, "data", f"another name than {name!r}", "one that the program has written to")
    return found


@public("paddle.static")
def create_global_var(
    shape: Any, value: Any, dtype: Any, persistable: bool = False, force_cpu: bool = False, name: str | None = None
) -> Tensor:
    """Make a variable that keeps its value from run to run: one that the startup program fills.

    Args:
        shape: its sizes.
        value: of all elements, at first.
        dtype: of the elements.
        persistable: accepted: it always is.
        force_cpu: accepted: it is where parameters are.
        name: its name; None: one is made.

    Returns:
        A tensor, which the program may write to.

    Raises:
        RuntimeError: dynamic mode.
        TypeError: sizes that are no ints.
        ValueError: a negative size.

    Example:
        >>> import paddle
        >>> paddle.enable_static()
        >>> main, startup = paddle.static.Program(), paddle.static.Program()
        >>> with paddle.static.program_guard(main, startup):
        ...     count = paddle.static.create_global_var([1], 0, "int64")
        ...     _ = paddle.assign(count + 1, count)
        >>> exe = paddle.static.Executor()
        >>> exe.run(startup)
        []
        >>> exe.run(main, fetch_list=[count])[0].item(), exe.run(main, fetch_list=[count])[0].item()
        (1, 2)
        >>> paddle.disable_static()
    """
    tracer_of("create_global_var")
    made = empty(sizes_of("create_global_var", shape), convert(dtype), current_place())
    made.name = name or unique_name.generate("global_var")
    made.stop_gradient = True

    def fill(x: Tensor) -> None:
        with no_grad_guard():
            assign(x, F.full(value, dtype=x.dtype, shape=tuple(x.shape)))

    initialized(made, fill)
    return made


@public("paddle.static")
def is_persistable(var: Any) -> bool:
    """Say whether a variable keeps its value from run to run.

    Args:
        var: a variable.

    Returns:
        A bool.

    Raises:
        TypeError: something else.

    Example:
        >>> import paddle
        >>> paddle.static.is_persistable(paddle.create_parameter([1], "float32"))
        True
    """
    if not isinstance(var, Tensor):
        raise op_error(TypeError, "is_persistable", "a variable", type(var).__name__)
    return bool(var.persistable)


@public("paddle.static", usual=False)
def setitem(x: Tensor, index: Any, value: Any) -> Tensor:
    """Return a copy of a variable in which the elements at an index have other values.

    Args:
        x: a variable of any shape and dtype.
        index: what could be between the brackets of ``x[...]``: an int, a slice, None, ``...``, a tensor or list of
            integers or bools, or a tuple of these.
        value: a number, or a tensor that broadcasts to these elements; it is cast to x's dtype.

    Returns:
        A variable of x's shape and dtype.

    Raises:
        TypeError: x is no tensor.
        IndexError: x has no such element.
        ValueError: a value of a shape that does not fit.

    Example:
        >>> import numpy, paddle
        >>> paddle.enable_static()
        >>> with paddle.static.program_guard(paddle.static.Program()):
        ...     x = paddle.static.data("x", [3])
        ...     y = paddle.static.setitem(x, slice(1, None), 0.0)
        ...     paddle.static.Executor().run(feed={"x": numpy.ones(3, "float32")}, fetch_list=[x, y])
        [array([1., 1., 1.], dtype=float32), array([1., 0., 0.], dtype=float32)]
        >>> paddle.disable_static()
    """
    if not isinstance(x, Tensor):
        raise op_error(TypeError, "setitem", "a variable as x", type(x).__name__)
    copied = F.copy(x)
    copied[index] = value
    return copied
