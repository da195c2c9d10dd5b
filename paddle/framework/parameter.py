"""``Parameter``: a leaf tensor that is trained."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from paddle._public import also, need_tensor, public
from paddle.framework import unique_name
from paddle.framework.param_attr import ParamAttr
from paddle.framework.place import current_place, place_of
from umiak.core.context import capture_of, current, no_grad_guard
from umiak.core.dtype import convert
from umiak.core.tensor import Tensor, empty, unfilled
from umiak.util.arguments import sizes_of
from umiak.util.errors import op_error

# Of the rank's values, in static mode: functions that have a new parameter filled by the startup program, and that
# return the main program's parameter of a name, or None.
NEW_VARIABLE = "static.new_variable"
KNOWN_VARIABLE = "static.known_variable"
LAZY = "parameters.lazy"  # the rank's setting: whether parameters are made without values (``paddle.LazyGuard``)


@public("paddle.framework paddle.nn", aliases={"requires_grad": "trainable"})
class Parameter(Tensor):
    """Tensor that a layer registers and an optimizer updates; made by ``create_parameter``.

    Args:
        data: a tensor whose memory it shares; None: an empty parameter.
        trainable: whether gradients are computed for it (``stop_gradient=False``).
        name: its name; None: one is made.

    Attributes:
        trainable: the opposite of ``stop_gradient``.
        optimize_attr: a dict with the factor on the optimizer's learning rate, ``{"learning_rate": 1.0}``.
        regularizer: an ``L1Decay`` or ``L2Decay`` that replaces the optimizer's, or None.
        do_model_average: whether averaging of parameters includes it.
        need_clip: whether gradient clipping includes it.

    Raises:
        TypeError: data that is no tensor.

    Example:
        >>> import paddle
        >>> p = paddle.nn.Parameter(paddle.ones([2]))
        >>> p.trainable, p.is_leaf, p.tolist()
        (True, True, [1.0, 1.0])
    """

    __slots__ = ()  # attributes live where the core keeps them

    def __init__(self, data: Tensor | None = None, trainable: bool = True, name: str | None = None) -> None:
        super().__init__()
        if data is not None:
            self._share(need_tensor(data, "Parameter", "data"))
        self._describe(name, ParamAttr(trainable=trainable))

    def _describe(self, name: str | None, attr: ParamAttr) -> None:
        self.name = name or unique_name.generate("parameter")
        self.persistable = True
        self.stop_gradient = not attr.trainable
        self.optimize_attr = {"learning_rate": attr.learning_rate}
        self.regularizer = attr.regularizer
        self.do_model_average = attr.do_model_average
        self.need_clip = attr.need_clip
        self.is_distributed = False

    @classmethod
    def create(
        cls, shape: Any, dtype: Any, name: str | None, attr: ParamAttr, initializer: Any, device: Any = None
    ) -> Parameter:
        """Make a parameter of a given shape.

        Args:
            shape: its sizes, or one int.
            dtype: its dtype.
            name: its name; None: one is made.
            attr: a ``ParamAttr``.
            initializer: fills it, under ``paddle.LazyGuard`` by ``initialize``; None: its elements are arbitrary.
            device: where it goes; None: the current place.

        Returns:
            The parameter.
        """
        if attr.splits:
            raise op_error(
                TypeError, "create_parameter", "a ParamAttr", type(attr).__name__, "Layers of paddle.static.nn take it."
            )
        shape = sizes_of("create_parameter", shape)
        converted = convert(dtype)
        place = current_place() if device is None else place_of(device)
        tracer = capture_of()
        recorded = tracer is not None and tracer.static
        known = current().state.values[KNOWN_VARIABLE](name) if recorded else None
        if known is not None:
            if tuple(known.shape) != shape or known.dtype is not converted:
                raise op_error(
                    ValueError, "create_parameter", f"{name!r} of shape {list(known.shape)} and {known.dtype.name}, as "
                    "the program has it", f"shape {list(shape)} and {converted.name}",
                )  # fmt: skip
            return known
        parameter = cls.__new__(cls)
        if initializer is not None and current().state.values.get(LAZY):
            parameter._share(unfilled(shape, converted, place, _without_values(name)))
            parameter._describe(name, attr)
            parameter.set_init_func(lambda parameter, block: initializer(parameter))
            return parameter
        parameter._share(empty(shape, converted, place))
        parameter._describe(name, attr)
        if initializer is not None:
            with no_grad_guard():
                if recorded:
                    current().state.values[NEW_VARIABLE](parameter, initializer)
                else:
                    initializer(parameter)
        return parameter

    @classmethod
    def from_tensor(cls, tensor: Tensor, **kwargs: Any) -> Parameter:
        """Make a parameter over the memory of a tensor.

        Args:
            tensor: the tensor.
            kwargs: ``name``, ``trainable``, ``optimize_attr``, ``regularizer``, ``do_model_average``, ``need_clip``,
                ``is_distributed``, as the attributes of these names.

        Returns:
            The parameter.

        Raises:
            TypeError: no tensor, or another keyword.
        """
        made = cls(
            need_tensor(tensor, "from_tensor", "tensor"), kwargs.pop("trainable", True), kwargs.pop("name", None)
        )
        for name in ("optimize_attr", "regularizer", "do_model_average", "need_clip", "is_distributed"):
            if name in kwargs:
                setattr(made, name, kwargs.pop(name))
        if kwargs:
            raise op_error(TypeError, "from_tensor", "attributes of parameters as keywords", sorted(kwargs))
        return made

    def set_init_func(self, obj: Callable | None) -> None:
        """Set the function that ``initialize`` calls.

        Args:
            obj: called with the parameter, which it fills, and None; None: there is none.
        """
        self._init_func: Callable | None = obj

    def initialize(self) -> None:
        """Give a parameter that was made under ``paddle.LazyGuard`` its values.

        Raises:
            AssertionError: it has no function that would make them: it was initialized before, or made with values.
        """
        function = getattr(self, "_init_func", None)
        if function is None:
            what = f"{self.name}, which has its values" if self._is_initialized() else f"{self.name}, which has none"
            raise op_error(AssertionError, "initialize", "a parameter made under paddle.LazyGuard", what)
        self.storage.fill()
        with no_grad_guard():
            function(self, None)
        self._init_func = None

    def after_initialization(self, change: Callable[[Parameter], Any]) -> None:
        """Change the values as soon as there are any: now, in the startup program, or at the end of ``initialize``.

        Args:
            change: called with the parameter.
        """
        if self._is_initialized():
            tracer = capture_of()
            with no_grad_guard():
                if tracer is not None and tracer.static:
                    current().state.values[NEW_VARIABLE](self, change)
                else:
                    change(self)
            return
        function = self._init_func

        def both(parameter: Parameter, block: Any) -> None:
            if function is not None:
                function(parameter, block)
            change(parameter)

        self.set_init_func(both)

    @property
    def trainable(self) -> bool:
        return not self.stop_gradient

    @trainable.setter
    def trainable(self, on: bool) -> None:
        if not isinstance(on, bool):
            raise op_error(TypeError, "trainable", "a bool", type(on).__name__)
        self.stop_gradient = not on

    def __deepcopy__(self, memo: dict) -> Parameter:
        with no_grad_guard():
            if self._is_initialized():
                return self.with_values(self.detach().clone(), memo)
            return self.with_values(
                unfilled(tuple(self.shape), self.dtype, self.place, _without_values(self.name)), memo
            )

    def with_values(self, data: Tensor, memo: dict | None = None) -> Parameter:
        """Make a parameter with a tensor's memory and copies of this one's attributes.

        Args:
            data: the tensor.
            memo: of ``copy.deepcopy``.

        Returns:
            The parameter, with a name of its own.
        """
        copied = type(self).__new__(type(self))
        memo = {} if memo is None else memo
        memo[id(self)] = copied
        copied._share(data)
        copied.stop_gradient = self.stop_gradient
        for key, value in self._attributes.items():
            setattr(copied, key, value if key == "name" else copy.deepcopy(value, memo))
        copied.name = unique_name.generate(self.name)
        return copied

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()

    __str__ = __repr__


def _without_values(name: str | None) -> str:
    return (
        f"parameter {name!r} requires values to be read, got none: it was made under paddle.LazyGuard. "
        "Call its initialize() first, or write it as a whole"
    )


EagerParamBase = also(Parameter, "EagerParamBase", "paddle.framework")


@public("paddle paddle.framework paddle.tensor Tensor", usual=False)
def create_parameter(
    shape: Any,
    dtype: Any,
    name: str | None = None,
    attr: Any = None,
    is_bias: bool = False,
    default_initializer: Any = None,
) -> Parameter:
    """Make a parameter outside any layer.

    Args:
        shape: its sizes.
        dtype: a floating or complex dtype, as a dtype or a name.
        name: its name; None: ``create_parameter_0.w_0`` and so on.
        attr: a ``ParamAttr`` or what it may be made of: a name, an initializer, a regularizer; None: the defaults.
        is_bias: filled with zeros by default; otherwise Xavier-uniform.
        default_initializer: used when neither ``attr`` nor ``set_global_initializer`` names one; None: the defaults.

    Returns:
        A ``Parameter``.

    Raises:
        ValueError: ``attr`` is False.
        TypeError: ``attr`` is of another kind, or an initializer cannot fill the dtype.

    Example:
        >>> import paddle
        >>> paddle.create_parameter([2, 3], "float32").shape
        paddle.Size([2, 3])
    """
    from paddle.nn.initializer.initializers import defaults

    attr = ParamAttr._to_attr(attr)
    if attr is False:
        raise op_error(ValueError, "create_parameter", "an attr other than False", "False")
    initializer = attr.initializer or defaults.instead_of(default_initializer, is_bias)
    name = (
        name
        or attr.name
        or unique_name.generate(f"{unique_name.generate('create_parameter')}.{'b' if is_bias else 'w'}")
    )
    return Parameter.create(shape, dtype, name, attr, initializer)


def is_parameter(var: Any) -> bool:
    """Return whether a value is a parameter."""
    return isinstance(var, Parameter)
