"""Checks of arguments that packages make before they record an operation into a program.

In dynamic mode they check nothing, as operations check their operands when they run.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

from paddle._public import public
from paddle.framework.mode import in_dynamic_mode
from umiak.core.dtype import convert
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


def convert_dtype(dtype: Any) -> str:
    """Name of a dtype as arrays carry it: bfloat16 travels as ``"uint16"``."""
    if dtype is None or dtype in (int, float, complex, "int", "float", "complex"):
        # Python's numbers have no one size: the reference takes them for no dtype here.
        raise op_error(TypeError, "convert_dtype", "a dtype such as paddle.float32 or 'float32'", repr(dtype))
    name = convert(dtype).name
    return "uint16" if name == "bfloat16" else name


def _name(dtype: Any) -> str:
    return dtype if dtype == "uint16" else convert(dtype).name


def check_type(input: Any, input_name: str, expected_type: Any, op_name: str, extra_message: str = "") -> None:
    """Refuse an argument of another type (TypeError)."""
    if not in_dynamic_mode() and not isinstance(input, expected_type):
        raise op_error(TypeError, op_name, f"{expected_type} for {input_name}", type(input).__name__, extra_message)


def check_dtype(
    input_dtype: Any, input_name: str, expected_dtype: Container[str], op_name: str, extra_message: str = ""
) -> None:
    """Refuse a dtype that is not among the expected names (TypeError)."""
    if in_dynamic_mode():
        return
    if convert_dtype(input_dtype) not in expected_dtype and _name(input_dtype) not in expected_dtype:
        raise op_error(TypeError, op_name, f"a dtype of {expected_dtype} for {input_name}", input_dtype, extra_message)


def check_variable_and_dtype(
    input: Any, input_name: str, expected_dtype: Container[str], op_name: str, extra_message: str = ""
) -> None:
    """Refuse what is no tensor, or has a dtype that is not among the expected names (TypeError)."""
    check_type(input, input_name, Tensor, op_name, extra_message)
    check_dtype(input.dtype, input_name, expected_dtype, op_name, extra_message)


@public("paddle", usual=False)
def check_shape(
    shape: Any,
    op_name: str,
    expected_shape_type: Any = (list, tuple, Tensor),
    expected_element_type: Any = (int, Tensor),
    expected_tensor_dtype: Sequence[str] = ("int32", "int64"),
) -> None:
    """Refusal of a shape, or of a size in it, of another type or dtype, before it enters a program.

    In dynamic mode nothing is refused here, as operations check what they get.

    Args:
        shape: the shape, as a list, a tuple or a tensor.
        op_name: what errors name as the operation.
        expected_shape_type: types that the shape may have.
        expected_element_type: types that sizes may have.
        expected_tensor_dtype: names of the dtypes that a size or a shape may have as a tensor.

    Raises:
        TypeError: another type or dtype, while a program is recorded.

    Example:
        >>> import paddle
        >>> paddle.check_shape([2, 3], "reshape")
    """
    if in_dynamic_mode():
        return
    check_type(shape, "shape", expected_shape_type, op_name)
    for item in [shape] if isinstance(shape, Tensor) else shape:
        check_type(item, "a size", Tensor if item is shape else expected_element_type, op_name)
        if isinstance(item, Tensor):
            check_dtype(item.dtype, "a size", expected_tensor_dtype, op_name)
