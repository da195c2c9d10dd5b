"""``PyLayer``: an operation whose forward and backward are Python functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from paddle._public import also, public
from umiak import ops as F
from umiak.autodiff.saved import SavedTensor
from umiak.core import python_nodes
from umiak.core.context import current, no_grad_guard, place_guard
from umiak.core.tensor import Tensor
from umiak.util.errors import LeafError, OperandError, op_error


@public("paddle.autograd")
class PyLayerContext:
    """Context that ``forward`` of a :class:`PyLayer` hands to its ``backward``; attributes may be set freely.

    Args:
        args: the positional arguments of ``apply``. As in PyTorch, ``needs_input_grad`` says for each of them whether
            it is a tensor that wants a gradient.

    Example:
        >>> import paddle
        >>> class Power(paddle.autograd.PyLayer):
        ...     @staticmethod
        ...     def forward(ctx, x, n):
        ...         ctx.save_for_backward(x)
        ...         ctx.n = n
        ...         return x**n
        ...
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         (x,) = ctx.saved_tensor()
        ...         return grad * ctx.n * x ** (ctx.n - 1)
        >>> x = paddle.to_tensor(3.0, stop_gradient=False)
        >>> Power.apply(x, 2).backward()
        >>> float(x.grad)
        6.0
    """

    def __init__(self, args: tuple = ()) -> None:
        self.container: tuple | None = None
        self.needs_input_grad = tuple([isinstance(a, Tensor) and not a.stop_gradient for a in args])
        self.materialize_grads = True
        self.not_inplace: tuple = ()
        self.non_differentiable: tuple = ()
        self.grad_in_dtype_consistent = True

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors for ``backward``; call it at most once. They pass through ``saved_tensors_hooks``.

        Args:
            *tensors: tensors, or None.
        """
        self.container = tensors

    def saved_tensor(self) -> tuple:
        """Return what ``save_for_backward`` took.

        Returns:
            A tuple.

        Raises:
            RuntimeError: a tensor was modified in place since the forward pass.
        """
        return tuple(x.get() if type(x) is SavedTensor else x for x in self.container or ())

    saved_tensors = property(saved_tensor)

    def mark_not_inplace(self, *args: Any) -> None:
        """Say that these inputs, though returned, are not changed in place: they are copied.

        Args:
            *args: inputs.
        """
        self.not_inplace = args

    def mark_non_differentiable(self, *args: Any) -> None:
        """Say that no gradient passes through these outputs.

        Args:
            *args: outputs.
        """
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Set what ``backward`` gets for outputs that had no gradient.

        Args:
            value: True, as at first, for zeros; False for None.
        """
        self.materialize_grads = value

    def set_grad_in_dtype_consistent(self, flag: bool) -> None:
        """Say what the reference framework asks for: whether gradients are cast to the dtypes of the outputs.

        Args:
            flag: anything. ``backward`` always gets gradients of its outputs' dtypes, and what it returns is cast to
                those of its inputs.
        """
        self.grad_in_dtype_consistent = flag


def _tensors_in(args: tuple, kwargs: dict) -> list[Tensor]:
    """The tensor arguments, also those in lists and tuples, in order."""
    tensors: list[Tensor] = []
    for a in (*args, *kwargs.values()):
        if isinstance(a, Tensor):
            tensors.append(a)
        elif isinstance(a, (list, tuple)):
            tensors += [t for t in a if isinstance(t, Tensor)]
    return tensors


@public("paddle.autograd")
class PyLayer:
    """Operation whose forward and backward are Python functions.

    Subclass it with static methods ``forward(ctx, ...)`` and ``backward(ctx, *grads)``, and call ``apply``.
    ``backward`` gets a gradient for each tensor output and returns one for each tensor input, None where there is none;
    it is cast to the input's dtype.
    As in PyTorch, it may also return one for each argument, None for those that are no tensors.

    Raises:
        NotImplementedError: a method that the subclass does not define.
        ValueError: in the backward pass, another number of gradients.
        TypeError: in the backward pass, a gradient that is neither a tensor nor None.

    Example:
        >>> import paddle
        >>> class Double(paddle.autograd.PyLayer):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         return x * 2
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         return grad * 2
        >>> x = paddle.to_tensor(3.0, stop_gradient=False)
        >>> Double.apply(x).backward()
        >>> float(x.grad)
        2.0
    """

    @staticmethod
    def forward(ctx: PyLayerContext, *args: Any, **kwargs: Any) -> Any:
        """Compute the outputs; runs without recording.

        Args:
            ctx: a :class:`PyLayerContext`.
            *args: those of ``apply``.
            **kwargs: those of ``apply``.

        Returns:
            A tensor, or a tuple or list with tensors.
        """
        raise NotImplementedError("[PyLayer] requires a static method forward")

    @staticmethod
    def backward(ctx: PyLayerContext, *args: Any) -> Any:
        """Compute the gradients of the tensor inputs.

        Args:
            ctx: the context that ``forward`` had.
            *args: a gradient for each tensor output.

        Returns:
            A gradient for each tensor input, None where there is none; inputs that need none may be left out.
        """
        raise NotImplementedError("[PyLayer] requires a static method backward")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run ``forward`` and record ``backward`` for its outputs.

        Args:
            *args: for ``forward``, behind the context; tensors in lists and tuples count as inputs, too.
            **kwargs: for ``forward``.

        Returns:
            What ``forward`` returned, with a history.

        Raises:
            RuntimeError: ``forward`` returns an input that is a leaf and needs a gradient.
            ValueError: ``forward`` returns no tensor.
        """
        ctx = PyLayerContext(args)
        inputs = _tensors_in(args, kwargs)
        with no_grad_guard():
            result = cls.forward(ctx, *args, **kwargs)
        outputs = list(result) if isinstance(result, (list, tuple)) else [result]
        positions = [i for i, o in enumerate(outputs) if isinstance(o, Tensor)]
        if not positions:
            got = [type(o).__name__ for o in outputs]
            raise op_error(OperandError, cls.__name__, "a Tensor, or a tuple or list with one, from forward", got)
        if not current().grad_enabled or all(x.stop_gradient for x in inputs):
            return result
        fixed = {id(o) for o in ctx.non_differentiable}
        kept = {id(x) for x in ctx.not_inplace}
        given = {id(x) for x in inputs}
        written: list[tuple[Tensor, int]] = []
        for i in positions:
            o = outputs[i]
            if id(o) in given and id(o) not in kept:
                if o.is_leaf and not o.stop_gradient:
                    raise LeafError(
                        f"[{cls.__name__}] requires outputs that are not leaf inputs with stop_gradient=False. "
                        "Return a new tensor, or call ctx.mark_not_inplace."
                    )
                written.append((o, i))
            elif id(o) in given:
                outputs[i] = F.copy(o.detach())
            elif not o.is_leaf or o._base is not None:
                outputs[i] = o.detach()
        tracked = [i for i in positions if id(outputs[i]) not in fixed and _differentiable(outputs[i])]
        if tracked:
            of_tensors = None
            if len(args) + len(kwargs) > len(inputs):
                of_tensors = [isinstance(a, Tensor) for a in (*args, *kwargs.values())]
            run = _backward(
                cls, ctx, inputs, [outputs[i] for i in positions], [positions.index(i) for i in tracked], of_tensors
            )
            node = python_nodes.python_node(cls.__name__, inputs, [outputs[i] for i in tracked], run)
            if ctx.container is not None:
                ctx.container = tuple(
                    SavedTensor(x, cls.__name__, node) if isinstance(x, Tensor) else x for x in ctx.container
                )
        if not isinstance(result, (list, tuple)):
            return outputs[0]
        return type(result)(outputs) if not hasattr(result, "_fields") else type(result)(*outputs)


Function = also(PyLayer, "Function", "paddle.autograd")


def once_differentiable(backward: Callable) -> Callable:
    """Make a ``backward`` of a :class:`PyLayer` whose gradients are constants to second derivatives.

    Args:
        backward: the function; write ``@staticmethod`` above this decorator.

    Returns:
        A function that runs without recording.

    Example:
        >>> import paddle
        >>> from paddle.autograd.py_layer import once_differentiable
        >>> class Square(paddle.autograd.PyLayer):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x * x
        ...
        ...     @staticmethod
        ...     @once_differentiable
        ...     def backward(ctx, grad):
        ...         (x,) = ctx.saved_tensor()
        ...         return 2 * x * grad
        >>> x = paddle.to_tensor(3.0, stop_gradient=False)
        >>> (slope,) = paddle.grad(Square.apply(x), x, create_graph=True)
        >>> float(slope), slope.stop_gradient
        (6.0, True)
    """

    @wraps(backward)
    def without_recording(ctx: PyLayerContext, *grads: Any) -> Any:
        with no_grad_guard():
            return backward(ctx, *grads)

    return without_recording


def _differentiable(x: Tensor) -> bool:
    return x.dtype.is_floating or x.dtype.is_complex


def _zeros(shape: tuple, dtype: Any, place: Any) -> Tensor:
    with place_guard(place):
        return F.full(0, dtype, shape)


def _backward(
    cls: type[PyLayer],
    ctx: PyLayerContext,
    inputs: list[Tensor],
    outputs: list[Tensor],
    tracked: list[int],
    of_tensors: list[bool] | None,
) -> Callable:
    """The gradient function of one call. It keeps shapes, not tensors: those would tie the outputs to themselves.

    ``of_tensors``: for each argument whether it is a tensor, where not all are.
    """
    metas = [(tuple(o.shape), o.dtype, o.place) for o in outputs]
    dtypes = [x.dtype for x in inputs]
    stops = [x.stop_gradient for x in inputs]

    def run(*grads: Tensor | None) -> tuple:
        full: list[Tensor | None] = [None] * len(metas)
        for i, g in zip(tracked, grads):
            full[i] = g
        if ctx.materialize_grads:
            full = [
                _zeros(*meta) if g is None and (meta[1].is_floating or meta[1].is_complex) else g
                for g, meta in zip(full, metas)
            ]
        returned = cls.backward(ctx, *full)
        grads_in = list(returned) if isinstance(returned, (list, tuple)) else [returned]
        # Inputs that need no gradient may be left out.
        needed = [i for i, stop in enumerate(stops) if not stop]
        if len(grads_in) == len(needed) != len(stops):
            spread: list[Any] = [None] * len(stops)
            for i, g in zip(needed, grads_in):
                spread[i] = g
            grads_in = spread
        elif of_tensors is not None and len(grads_in) == len(of_tensors) and sum(of_tensors) == len(stops):
            if all(g is None for g, of_tensor in zip(grads_in, of_tensors) if not of_tensor):
                grads_in = [g for g, of_tensor in zip(grads_in, of_tensors) if of_tensor]
        if len(grads_in) != len(stops):
            raise op_error(
                ValueError,
                cls.__name__,
                f"{len(stops)} gradients from backward, one for each tensor input",
                len(grads_in),
            )
        for i, g in enumerate(grads_in):
            if g is not None and not isinstance(g, Tensor):
                raise op_error(OperandError, cls.__name__, "Tensors or None from backward", type(g).__name__)
            if g is not None and g.dtype is not dtypes[i] and not stops[i]:
                real = g.dtype.is_complex and not dtypes[i].is_complex
                grads_in[i] = F.cast(F.real(g) if real else g, dtype=dtypes[i])
        return tuple(grads_in)

    run.traceable = run.may_write = True
    return run
