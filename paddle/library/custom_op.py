"""``custom_op``: a Python function as an operator; the rules that an operator may have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from paddle._public import public
from paddle.library.registry import PYTHON_OP_REGISTRY
from umiak.autodiff.custom_op import Operator
from umiak.ops.custom_op import EVERY_DEVICE, Definition, make
from umiak.ops.schema import Schema, checked_name, of_function, parse

# What other frameworks call types of devices.
_DEVICES = {"cuda": "gpu"}


@public("paddle.library")
class Tag:
    """Kind of what an operator may be tagged with; tags are kept and change nothing.

    Example:
        >>> import paddle
        >>> isinstance(paddle.library.Tag(), paddle.library.Tag)
        True
    """


@public("paddle.library")
class CustomOpDef(Operator):
    """Registered operator: call it, or give it rules.

    :func:`custom_op` makes it of a function. It is also ``paddle.ops.<namespace>.<name>``.

    Args:
        namespace: first part of the operator's name.
        name: second part of it.
        schema: arguments and results as text, ``"(Tensor x, float scale=1.0) -> Tensor"``; ``Tensor(a!) x`` is written
            to.
        fn: the function of these arguments that computes the results, on every device; None: :meth:`register_kernel`
            says it.
        tags: kept.

    Raises:
        ValueError: a name that is taken, or a schema that cannot be read.

    Example:
        >>> import paddle
        >>> twice = paddle.library.CustomOpDef("example", "twice", "(Tensor x) -> Tensor", lambda x: x * 2)
        >>> twice(paddle.ones([2])).tolist()
        [2.0, 2.0]
        >>> paddle.ops.example.twice is twice
        True
    """

    __slots__ = ("__dict__",)  # packages keep what belongs to an operator as its attributes

    def __init__(
        self,
        namespace: str,
        name: str,
        schema: str,
        fn: Callable[..., Any] | None,
        tags: Sequence[Tag] | None = None,
    ) -> None:
        full = checked_name(f"{namespace}::{name}", "CustomOpDef")
        self._enter(parse(schema, full) if isinstance(schema, str) else schema, fn, None, tags)

    def _enter(self, schema: Schema, fn: Callable[..., Any] | None, device_types: Any, tags: Any) -> None:
        self._fn = fn
        definition = Definition(schema, tags=tuple(tags or ()))
        Operator.__init__(self, definition)
        if fn is not None:
            for device in _devices(device_types, "custom_op"):
                definition.kernels[device] = schema.ordered(fn)
            if schema.count == 0 and schema.written and not hasattr(fn, "__code__"):
                # A function of a library in C, which writes all its results into arguments: nothing of it could be
                # traced, and nothing is left to be said of shapes.
                definition.infer = _nothing
        make(definition)
        PYTHON_OP_REGISTRY.register(schema.name, self)

    @property
    def name(self) -> str:
        """The name, ``namespace::operator``."""
        return self.definition.name

    @property
    def _init_fn(self) -> Callable[..., Any] | None:
        """The function that it was made of: packages written for PyTorch read its signature."""
        return self._fn

    @property
    def default(self) -> CustomOpDef:
        """The operator itself, as code for PyTorch calls the overload without a name."""
        return self

    @property
    def schema(self) -> str:
        """The schema as text."""
        return str(self.definition.schema)

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Say shapes and dtypes of the results, so that the operator is a call of its own in captured functions,
        static programs and saved models.

        Args:
            fn: gets the arguments; tensors among them have sizes, perhaps symbolic ones, and no data. It returns
                tensors like the results: ``paddle.empty_like(x)``, ``x.new_empty([x.shape[0], 2])``.

        Returns:
            ``fn``, so that this is a decorator, too.

        Raises:
            TypeError: something that cannot be called. Calls of the operator raise ValueError where its function gives
                other shapes or dtypes than this one.
        """
        self.definition.fake = self.definition.schema.ordered(_called(fn, self.name, "register_fake"))
        self.changed()
        return fn

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """Say the gradient. Without one, gradients flow through the operations of the function.

        Args:
            backward: ``backward(ctx, *grads)`` gets a gradient of each result and returns one for each argument, None
                where there is none; for a list of tensors, a list. Where it computes with tensors alone, it is
                differentiated again, and is part of programs; where it reads data it is called when they run. Arguments
                that are given by name alone may be left out.
            setup_context: ``setup_context(ctx, inputs, output)`` keeps what ``backward`` wants:
                ``ctx.save_for_backward(*tensors)``, attributes of ``ctx``. Of an operator with arguments that are given
                by name alone it is ``setup_context(ctx, inputs, keyword_only_inputs, output)``. None: nothing is kept.

        Raises:
            TypeError: something that cannot be called.
            ValueError: an operator that writes to its arguments.
        """
        definition = self.definition
        if definition.schema.written:
            names = [definition.schema.arguments[i].name for i in definition.schema.written]
            raise ValueError(
                f"[{self.name}] requires an operator that writes to none of its arguments to have a gradient, got one "
                f"that writes to {names}. Register an operator that returns new tensors, and assign them outside of it"
            )
        definition.backward = _called(backward, self.name, "register_autograd")
        definition.setup = None
        if setup_context is not None:
            definition.setup = _called(setup_context, self.name, "register_autograd")
        if definition.schema.positional < len(definition.schema.arguments):
            _split_names(definition)
        self.changed()

    def register_kernel(self, device_types: Any, fn: Callable[..., Any] | None = None, /) -> Any:
        """Say what computes the results on some devices.

        Args:
            device_types: a type of devices (``"cpu"``, ``"gpu"``, that of a plug-in), several, or None for all that
                have no function of their own.
            fn: the function of the arguments; None: this is a decorator.

        Returns:
            ``fn``, or what takes it.

        Raises:
            TypeError: something that cannot be called.
        """
        if fn is None:
            return lambda f: self.register_kernel(device_types, f)
        for device in _devices(device_types, self.name):
            self.definition.kernels[device] = self.definition.schema.ordered(_called(fn, self.name, "register_kernel"))
        self.changed()
        return fn

    def register_sharding(self, rule: Any, /) -> Any:
        """Say how the operator is computed of sharded tensors. Without a rule nothing of it is sharded.

        Args:
            rule: ``"i k, k j -> i j ; k=sum"``: names of the dims of tensor arguments and of results, and how a name
                that results lack is reduced; or a function that gets the arguments, tensors by ``shape`` and ``dtype``,
                and returns such a text. Results behind the operator's own are those it writes to.

        Returns:
            ``rule``, so that this is a decorator, too.

        Raises:
            TypeError: neither a text nor a function.
        """
        given = rule if isinstance(rule, str) else _called(rule, self.name, "register_sharding")
        self.definition.sharding = given if isinstance(given, str) else self.definition.schema.ordered(given)
        return rule

    def __repr__(self) -> str:
        return f"<operator {self.definition.schema}>"


@public("paddle.library")
def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Iterable[str] | None = None,
    schema: str | None = None,
    tags: Sequence[Tag] | None = None,
) -> Any:
    """Register a Python function as an operator: ``paddle.ops.<namespace>.<name>(...)``.

    The function computes with tensors, by whatever means: operations, NumPy, a compiler of kernels, a library. Calls
    are operations of the engine: profiled, checked, differentiated by :meth:`CustomOpDef.register_autograd`, and with
    :meth:`CustomOpDef.register_fake` kept as they are in captured functions, programs and saved models. A function that
    is not Python's (one of TVM-FFI), and whose schema has no results but arguments that are written to, needs none.

    Args:
        name: ``"my_namespace::my_operator"``.
        fn: the function, of a fixed number of arguments: tensors, numbers, strings, dtypes, places, None, or lists of
            these. It returns a tensor, several in a tuple or list, or None. Its annotations say types of arguments;
            what has none takes anything. None: ``custom_op`` is a decorator.
        mutates_args: names of the arguments that it writes to; ``"unknown"``: all tensors.
        device_types: types of the devices whose tensors it takes; others are refused unless
            :meth:`CustomOpDef.register_kernel` says what runs there. None: all.
        schema: arguments and results as text, ``"(Tensor x, int[] axes=[]) -> (Tensor, Tensor)"``, in place of the
            annotations.
        tags: kept.

    Returns:
        A :class:`CustomOpDef`, or what makes one of a function.

    Raises:
        ValueError: a name without a namespace, or one that is taken; a schema that cannot be read; unknown names in
            ``mutates_args``.
        TypeError: something that cannot be called, or a function of any number of arguments.

    Example:
        >>> import numpy, paddle
        >>> @paddle.library.custom_op("example::cube", mutates_args=())
        ... def cube(x: paddle.Tensor) -> paddle.Tensor:
        ...     return paddle.to_tensor(numpy.power(x.numpy(), 3))
        >>> @cube.register_fake
        ... def _(x):
        ...     return paddle.empty_like(x)
        >>> cube.register_autograd(
        ...     lambda ctx, grad: 3 * grad * ctx.saved_tensors[0] ** 2,
        ...     setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
        ... )
        >>> x = paddle.to_tensor([2.0], stop_gradient=False)
        >>> paddle.ops.example.cube(x).backward()
        >>> x.grad.tolist()
        [12.0]
    """
    checked_name(name, "custom_op")
    if fn is None:
        return lambda f: _defined(name, f, mutates_args, device_types, schema, tags)
    return _defined(name, fn, mutates_args, device_types, schema, tags)


def _defined(name: str, fn: Any, mutates_args: Any, device_types: Any, schema: str | None, tags: Any) -> CustomOpDef:
    _called(fn, name, "custom_op")
    own = of_function(name, fn) if schema is None else parse(schema, name)
    if mutates_args == "unknown":
        own = own.writing(a.name for a in own.arguments if a.kind == "Tensor")
    else:
        own = own.writing([mutates_args] if isinstance(mutates_args, str) else mutates_args)
    made = CustomOpDef.__new__(CustomOpDef)
    made._enter(own, fn, device_types, tags)
    return made


def _split_names(definition: Definition) -> None:
    """Of a gradient whose operator has arguments that are given by name alone: they come apart from the others, and
    need no gradient."""
    schema, setup, backward = definition.schema, definition.setup, definition.backward
    n, names = schema.positional, [a.name for a in schema.arguments[schema.positional :]]
    assert backward is not None

    def padded(ctx: Any, *grads: Any) -> Any:
        given = backward(ctx, *grads)
        gradients = tuple(given) if isinstance(given, (tuple, list)) else (given,)
        return gradients + (None,) * len(names) if len(gradients) == n else given

    definition.backward = padded
    if setup is not None:
        definition.setup = lambda ctx, inputs, output: setup(
            ctx, tuple(inputs[:n]), dict(zip(names, inputs[n:], strict=True)), output
        )


def _nothing(*args: Any) -> None:
    """Results of an operator that has none."""


def _called(f: Any, name: str, function: str) -> Callable[..., Any]:
    if not callable(f):
        raise TypeError(f"[{name}] requires a function for {function}, got {type(f).__name__}")
    return f


def _devices(device_types: Any, name: str) -> list[str]:
    """Types of devices that a user names."""
    if device_types is None:
        return [EVERY_DEVICE]
    types = [device_types] if isinstance(device_types, str) else list(device_types)
    for t in types:
        if not isinstance(t, str) or not t or ":" in t:
            raise ValueError(f"[{name}] requires types of devices like 'cpu' or 'gpu' as device_types, got {t!r}")
    return [_DEVICES.get(t, t) for t in types]
