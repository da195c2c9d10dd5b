"""``Parameter``: a leaf tensor that is trained."""

from __future__ import annotations

import copy
from typing import Any

from paddle._public import also, public
from paddle.framework import unique_name
from paddle.framework.param_attr import ParamAttr
from paddle.framework.place import current_place, place_of
from umiak.core.context import no_grad_guard
from umiak.core.dtype import DType, convert
from umiak.core.tensor import Tensor, empty
from umiak.util.errors import op_error


@public("paddle.framework paddle.nn")
class Parameter(Tensor):
    """Tensor that a layer registers and an optimizer updates; made by ``create_parameter``.

    Args:
        data: a tensor whose memory it shares; None: an empty parameter.
        trainable: whether gradients are computed for it (``stop_gradient=False``).

    Attributes:
        trainable: the opposite of ``stop_gradient``.
        optimize_attr: a dict with the factor on the optimizer's learning rate, ``{"learning_rate": 1.0}``.
        regularizer: an ``L1Decay`` or ``L2Decay`` that replaces the optimizer's, or None.
        do_model_average: whether averaging of parameters includes it.
        need_clip: whether gradient clipping includes it.

    Example:
        >>> import paddle
        >>> p = paddle.nn.Parameter(paddle.ones([2]))
        >>> p.trainable, p.is_leaf, p.tolist()
        (True, True, [1.0, 1.0])
    """

    __slots__ = ()  # attributes live where the core keeps them

    def __init__(self, data: Tensor | None = None, trainable: bool = True) -> None:
        super().__init__()
        if data is not None:
            self._share(data)
        self._describe(None, ParamAttr(trainable=trainable))

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
            initializer: fills it; None: its elements are arbitrary.
            device: where it goes; None: the current place.

        Returns:
            The parameter.
        """
        shape = tuple(int(n) for n in (shape if hasattr(shape, "__iter__") else (shape,)))
        found = dtype if isinstance(dtype, DType) else convert(dtype)
        made = cls.__new__(cls)
        made._share(empty(shape, found, current_place() if device is None else place_of(device)))
        made._describe(name, attr)
        if initializer is not None:
            with no_grad_guard():
                initializer(made)
        return made

    @property
    def trainable(self) -> bool:
        return not self.stop_gradient

    @trainable.setter
    def trainable(self, on: bool) -> None:
        if not isinstance(on, bool):
            raise op_error(TypeError, "trainable", "a bool", type(on).__name__)
        self.stop_gradient = not on

    def __deepcopy__(self, memo: dict) -> Parameter:
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        with no_grad_guard():
            made._share(self.detach().clone())
        made.stop_gradient = self.stop_gradient
        for key, value in self._attributes.items():
            setattr(made, key, value if key == "name" else copy.deepcopy(value, memo))
        made.name = unique_name.generate(self.name)
        return made

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()

    __str__ = __repr__


EagerParamBase = also(Parameter, "EagerParamBase", "paddle.framework")


@public("paddle paddle.framework paddle.tensor", usual=False)
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
        default_initializer: used when ``attr`` has none; None: the defaults.

    Returns:
        A ``Parameter``.

    Raises:
        ValueError: ``attr`` is False.
        TypeError: ``attr`` is of another kind, or an initializer cannot fill the dtype.

    Example:
        >>> import paddle
        >>> paddle.create_parameter([2, 3], "float32").shape
        [2, 3]
    """
    from paddle.nn.initializer import Constant, XavierUniform

    attr = ParamAttr._to_attr(attr)
    if attr is False:
        raise op_error(ValueError, "create_parameter", "an attr other than False", "False")
    initializer = attr.initializer or default_initializer or (Constant(0.0) if is_bias else XavierUniform())
    name = (
        name
        or attr.name
        or unique_name.generate(f"{unique_name.generate('create_parameter')}.{'b' if is_bias else 'w'}")
    )
    return Parameter.create(shape, dtype, name, attr, initializer)
