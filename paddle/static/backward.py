"""Gradients as operations of a program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from paddle._public import public
from paddle.framework.parameter import Parameter
from paddle.static.program import tracer_of
from umiak.core.context import current
from umiak.core.tensor import Tensor
from umiak.ir.program import Value
from umiak.ir.tracer import SymTensor
from umiak.runtime.program_tracer import ProgramTracer
from umiak.util.arguments import several
from umiak.util.errors import op_error


def _listed(op_name: str, argument: str, given: Any) -> list[Any]:
    """Variables, which are given as such or by their names, in a list; none for None."""
    given = [given] if isinstance(given, Tensor) else () if given is None else given
    return several(op_name, f"a list of variables or names as {argument}", given, (str, Tensor))


def _names(variables: Sequence[Any]) -> set[str]:
    return {x if isinstance(x, str) else x.name for x in variables}


def _values(tracer: ProgramTracer, variables: Sequence[Any]) -> Iterator[Value]:
    """The values of variables of a program; others are left out."""
    for x in variables:
        found = tracer.names.get(x) if isinstance(x, str) else x
        value = tracer.find(found) if isinstance(found, Tensor) else None
        if value is not None:
            yield value


def _usual(tracer: ProgramTracer) -> list[Tensor]:
    """The parameters of a program, and its variables that are marked persistable."""
    marked = [x for x in tracer.names.values() if x.persistable and isinstance(x, SymTensor)]
    return [*(x for x in tracer.captured().values() if isinstance(x, Parameter)), *marked]


def _named(tracer: ProgramTracer, x: Any) -> Tensor:
    """A variable that is given as such or by its name."""
    if isinstance(x, Tensor):
        return x
    found = {**{k.name: k for k in tracer.captured().values()}, **tracer.names}
    if x not in found:
        raise op_error(ValueError, "append_backward", "names of variables of the program", repr(x))
    return found[x]


@public("paddle.static")
def append_backward(
    loss: Tensor,
    parameter_list: Sequence[Any] | None = None,
    no_grad_set: Iterable[Any] | None = None,
    callbacks: Sequence[Callable] | None = None,
    checkpoints: Sequence[Any] | None = None,
    distop_context: Any = None,
) -> list[tuple[Tensor, Tensor | None]]:
    """Record the gradients of a loss with respect to the parameters of its program, or to other variables.

    Args:
        loss: a variable; of several elements the gradients are those of their sum.
        parameter_list: parameters and other variables, or names of them; None: all parameters that are trainable, and
            variables whose ``persistable`` was set.
        no_grad_set: variables, or names of them, that are taken for constants; None: none.
        callbacks: accepted; nothing is called.
        checkpoints: accepted: what is recomputed is said by ``paddle.distributed.fleet.utils.recompute``.
        distop_context: accepted.

    Returns:
        A list of pairs of variable and gradient: for each entry of ``parameter_list``, with None for one that the loss
        does not depend on; for None of those that it depends on.

    Raises:
        TypeError: a loss that is no variable of a program; a text for a list of names.
        RuntimeError: a loss of a program that is not recorded now.
        ValueError: a name that no variable of the program has.

    Example:
        >>> import paddle
        >>> paddle.enable_static()
        >>> with paddle.static.program_guard(paddle.static.Program()):
        ...     loss = paddle.nn.Linear(2, 1)(paddle.static.data("x", [None, 2])).mean()
        ...     [(p.shape, g.shape) for p, g in paddle.static.append_backward(loss)]
        [(paddle.Size([2, 1]), paddle.Size([2, 1])), (paddle.Size([1]), paddle.Size([1]))]
        >>> paddle.disable_static()
    """
    tracer = _of("append_backward", loss)
    left_out = _listed("append_backward", "no_grad_set", no_grad_set)
    if parameter_list is None:
        variables = _usual(tracer)
    else:
        variables = [_named(tracer, x) for x in _listed("append_backward", "parameter_list", parameter_list)]
    skipped = _names(left_out)
    wanted = [x for x in variables if not x.stop_gradient and not (skipped and x.name in skipped)]
    found = {}
    if wanted and not loss.stop_gradient:
        with tracer.ending_at(_values(tracer, left_out)):
            grads = tracer.gradients_in([loss], [None], wanted)
        found = {id(x): g for x, g in zip(wanted, grads, strict=True)}
    pairs = [(x, found.get(id(x))) for x in variables]
    return pairs if parameter_list is not None else [(x, g) for x, g in pairs if g is not None]


@public("paddle.static")
def gradients(
    targets: Any, inputs: Any, target_gradients: Any = None, no_grad_set: Iterable[Any] | None = None
) -> list[Tensor | None]:
    """Record the gradients of variables with respect to others; gradients of gradients as well.

    Args:
        targets: a variable or several, whose sum is differentiated.
        inputs: a variable or several.
        target_gradients: gradients of the targets, None for ones; None: ones for all.
        no_grad_set: variables, or names of them, that are taken for constants: inputs whose gradients are None, and
            what lies between. None: none.

    Returns:
        A list with a variable for each input, None for one that the targets do not depend on.

    Raises:
        TypeError: targets that are no variables of a program; a text for a list of names.
        RuntimeError: targets of a program that is not recorded now.
        ValueError: another number of target gradients than of targets.

    Example:
        >>> import numpy, paddle
        >>> paddle.enable_static()
        >>> with paddle.static.program_guard(paddle.static.Program()):
        ...     x = paddle.static.data("x", [2])
        ...     x.stop_gradient = False
        ...     (first,) = paddle.static.gradients(x**3, x)
        ...     (second,) = paddle.static.gradients(first, x)
        ...     paddle.static.Executor().run(feed={"x": numpy.ones(2, "float32")}, fetch_list=[first, second])
        [array([3., 3.], dtype=float32), array([6., 6.], dtype=float32)]
        >>> paddle.disable_static()
    """
    ys = list(targets) if isinstance(targets, (list, tuple)) else [targets]
    xs = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    gs = [None] * len(ys) if target_gradients is None else target_gradients
    gs = list(gs) if isinstance(gs, (list, tuple)) else [gs]
    if len(gs) != len(ys):
        raise op_error(ValueError, "gradients", f"{len(ys)} target_gradients, as many as targets", len(gs))
    tracers = [_of("gradients", y) for y in ys]
    for x in xs:
        if not isinstance(x, Tensor):
            raise op_error(TypeError, "gradients", "variables as inputs", type(x).__name__)
    left_out = _listed("gradients", "no_grad_set", no_grad_set)
    skipped = _names(left_out)
    open_ends = [i for i, y in enumerate(ys) if not y.stop_gradient]
    wanted = [x for x in xs if not x.stop_gradient and not (skipped and x.name in skipped)]
    if not open_ends or not wanted:
        return [None] * len(xs)
    with tracers[0].ending_at(_values(tracers[0], left_out)):
        targets, seeds = [ys[i] for i in open_ends], [gs[i] for i in open_ends]
        found = tracers[0].gradients_in(targets, seeds, wanted, create_graph=True)
    by_input = {id(x): g for x, g in zip(wanted, found, strict=True)}
    return [by_input.get(id(x)) for x in xs]


def _of(op_name: str, y: Any) -> ProgramTracer:
    if not isinstance(y, Tensor):
        raise op_error(TypeError, op_name, "a variable of a program", type(y).__name__)
    tracer = tracer_of(op_name, y)
    if tracer not in current().trace:
        hint = "Call it inside paddle.static.program_guard."
        raise op_error(RuntimeError, op_name, "a variable of the program that is recorded", "one of another", hint)
    return tracer
