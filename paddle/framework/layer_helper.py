"""``LayerHelper``: what functions outside of layers make parameters and activations with."""

from __future__ import annotations

from typing import Any

import paddle
from paddle.framework import unique_name
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


class LayerHelper:
    """Parameters, inputs and the activation of a function that is a layer: ``helper = LayerHelper("fc", **locals())``.

    Operators are called as functions, also while a static program is recorded; :meth:`append_op`, by which programs of
    the reference's first versions name them, is refused.

    Args:
        layer_type: the kind of layer, which names begin with.
        kwargs: the function's arguments: ``name``, ``act``, ``param_attr``, ``bias_attr``, inputs by their names.

    Example:
        >>> import paddle
        >>> from paddle.framework import LayerHelper
        >>> helper = LayerHelper("scale", act="relu")
        >>> w = helper.create_parameter(None, [2], "float32", default_initializer=paddle.nn.initializer.Constant(-1.0))
        >>> helper.append_activation(w).tolist()
        [0.0, 0.0]
    """

    def __init__(self, layer_type: str, **kwargs: Any) -> None:
        self.layer_type = layer_type
        self.kwargs = kwargs
        if kwargs.get("name") is None:
            kwargs["name"] = unique_name.generate(layer_type)
        self.name = kwargs["name"]

    @staticmethod
    def get_default_dtype() -> str:
        """Return the dtype of parameters that are made without one, by its name.

        Returns:
            A name such as ``"float32"``.
        """
        return paddle.get_default_dtype()

    @property
    def main_program(self) -> Any:
        """The program that is recorded."""
        return paddle.static.default_main_program()

    @property
    def startup_program(self) -> Any:
        """The program that makes parameters."""
        return paddle.static.default_startup_program()

    @property
    def param_attr(self) -> Any:
        """The ``ParamAttr`` of weights; False for none."""
        return paddle.ParamAttr._to_attr(self.kwargs.get("param_attr"))

    @property
    def bias_attr(self) -> Any:
        """The ``ParamAttr`` of the bias; False for none."""
        return paddle.ParamAttr._to_attr(self.kwargs.get("bias_attr"))

    def multiple_input(self, input_param_name: str = "input") -> list[Tensor]:
        """Return an argument as a list of tensors.

        Args:
            input_param_name: the argument's name.

        Returns:
            The tensors.
        """
        given = self.kwargs.get(input_param_name, [])
        return list(given) if isinstance(given, (list, tuple)) else [given]

    def input(self, input_param_name: str = "input") -> Tensor:
        """Return an argument that is one tensor.

        Args:
            input_param_name: the argument's name.

        Returns:
            The tensor.

        Raises:
            ValueError: none, or several.
        """
        given = self.multiple_input(input_param_name)
        if len(given) != 1:
            raise op_error(ValueError, self.layer_type, f"one tensor as {input_param_name}", len(given))
        return given[0]

    def input_dtype(self, input_param_name: str = "input") -> Any:
        """Return the dtype of an argument.

        Args:
            input_param_name: the argument's name.

        Returns:
            The dtype; None where there is no tensor.

        Raises:
            ValueError: tensors of several dtypes.
        """
        dtypes = {x.dtype for x in self.multiple_input(input_param_name)}
        if len(dtypes) > 1:
            raise op_error(ValueError, self.layer_type, f"one dtype in {input_param_name}", sorted(map(str, dtypes)))
        return next(iter(dtypes), None)

    def create_parameter(
        self, attr: Any, shape: Any, dtype: Any = None, is_bias: bool = False, default_initializer: Any = None
    ) -> Tensor | None:
        """Return a parameter.

        Args:
            attr: a ``ParamAttr`` or what it may be made of; False for no parameter.
            shape: its sizes.
            dtype: None for the default dtype.
            is_bias: filled with zeros by default; otherwise Xavier-uniform.
            default_initializer: used when neither ``attr`` nor ``set_global_initializer`` names one.

        Returns:
            The parameter; None for ``attr=False``.
        """
        if attr is False:
            return None
        return paddle.create_parameter(
            shape, dtype or paddle.get_default_dtype(), None, attr, is_bias, default_initializer
        )

    def append_bias_op(self, input_var: Tensor, dim_start: int = 1, dim_end: int | None = None) -> Tensor:
        """Return a tensor with a bias added, which is made here.

        Args:
            input_var: the tensor.
            dim_start: the first dim that the bias has.
            dim_end: the dim behind its last; None: all.

        Returns:
            Their sum; the tensor itself where ``bias_attr`` is False.
        """
        size = list(input_var.shape[dim_start:dim_end])
        bias = self.create_parameter(self.bias_attr, size, input_var.dtype, True)
        if bias is None:
            return input_var
        return input_var + bias.reshape([*size, *[1] * (input_var.ndim - dim_start % input_var.ndim - len(size))])

    def append_activation(self, input_var: Tensor) -> Tensor:
        """Return the activation ``act`` of a tensor.

        Args:
            input_var: the tensor.

        Returns:
            The result; the tensor itself where there is no ``act``.

        Raises:
            TypeError: an ``act`` that is not a name.
            ValueError: a name of no activation.
        """
        act = self.kwargs.get("act")
        if act is None:
            return input_var
        if not isinstance(act, str):
            raise op_error(TypeError, self.layer_type, "the name of an activation as act", type(act).__name__)
        function = getattr(paddle.nn.functional, act, None)
        if function is None:
            raise op_error(ValueError, self.layer_type, "the name of an activation as act", repr(act))
        return function(input_var)

    def append_op(self, *args: Any, **kwargs: Any) -> None:
        """Refuse: operators are called, not appended by name.

        Args:
            args: of the operator.
            kwargs: of the operator: ``type`` is its name.

        Raises:
            NotImplementedError: always.
        """
        kind = kwargs.get("type", args[0] if args else "an operator")
        raise NotImplementedError(
            f"[LayerHelper.append_op] does not append operators by type, got {kind!r}: call the public function, or "
            "paddle._C_ops, which is recorded in static mode as well"
        )

    def create_variable_for_type_inference(self, dtype: Any, stop_gradient: bool = False, shape: Any = None) -> None:
        """Refuse: results come from the functions that are called.

        Args:
            dtype: of the variable.
            stop_gradient: whether gradients end there.
            shape: of the variable.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(
            "[LayerHelper.create_variable_for_type_inference] has no variables without a value: results come from the "
            "functions that are called"
        )
