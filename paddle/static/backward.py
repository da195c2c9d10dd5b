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


def _parameters(tracer: ProgramTracer, wanted: Sequence[Any] | None, left_out: Sequence[Any]) -> list[Parameter]:
    """The trainable parameters of a program, or those of them that are wanted."""
    skipped, chosen = _names(left_out), None if wanted is None else _names(wanted)
    return [
        x for x in tracer.captured().values()
        if isinstance(x, Parameter) and not x.stop_gradient and x.name not in skipped
        and (chosen is None or x.name in chosen)
    ]  # fmt: skip


@public("paddle.static")
def append_backward(
    loss: Tensor,
    parameter_list: Sequence[Any] | None = None,
    no_grad_set: Iterable[Any] | None = None,
    callbacks: Sequence[Callable] | None = None,
    checkpoints: Sequence[Any] | None = None,
    distop_context: Any = None,
) -> list[tuple[Parameter, Tensor]]:
    """Record the gradients of a loss with respect to the parameters of its program.

    Args:
        loss: a variable with one element.
        parameter_list: parameters, or names of them; None: all that are trainable.
        no_grad_set: variables, or names of them, that are taken for constants; None: none.
        callbacks: accepted; nothing is called.
        checkpoints: accepted: what is recomputed is said by ``paddle.distributed.fleet.utils.recompute``.
        distop_context: accepted.

    Returns:
        A list of pairs of parameter and gradient, of the parameters that the loss depends on.

    Raises:
        TypeError: a loss that is no variable of a program; a text for a list of names.
        RuntimeError: a loss of a program that is not recorded now.
        ValueError: a loss of several elements.

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
    if loss._count != 1:
        raise op_error(ValueError, "append_backward", "a loss with one element", list(loss.shape))
    if loss.stop_gradient:
        return []
    wanted = None if parameter_list is None else _listed("append_backward", "parameter_list", parameter_list)
    left_out = _listed("append_backward", "no_grad_set", no_grad_set)
    params = _parameters(tracer, wanted, left_out)
    with tracer.ending_at(_values(tracer, left_out)):
        found = tracer.gradients_in([loss], [None], params)
    return [(p, g) for p, g in zip(params, found, strict=True) if g is not None]


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
