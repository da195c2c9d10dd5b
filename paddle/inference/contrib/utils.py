"""``copy_tensor``: from a handle of one predictor to one of another."""

from __future__ import annotations

from paddle.inference.handle import Tensor
from umiak.core.context import no_grad_guard
from umiak.runtime.program_tracer import outside
from umiak.util.errors import op_error


def copy_tensor(dst: Tensor, src: Tensor) -> None:
    """Copy what a handle holds to an input, mostly of another predictor, without a way over NumPy.

    Args:
        dst: the input, which gets the elements, the dtype and the shape of ``src``.
        src: an input or output that has a value, of the dtype and a shape that ``dst`` allows.

    Raises:
        TypeError: something that is no handle.
        ValueError: ``dst`` is an output, or has another dtype or shape.
        RuntimeError: ``src`` has no value yet.

    Example:
        >>> import paddle
        >>> paddle.inference.contrib.utils.copy_tensor(None, None)
        Traceback (most recent call last):
        TypeError: [copy_tensor] requires handles of predictors, got NoneType and NoneType
    """
    if not isinstance(dst, Tensor) or not isinstance(src, Tensor):
        got = f"{type(dst).__name__} and {type(src).__name__}"
        raise op_error(TypeError, "copy_tensor", "handles of predictors", got)
    dst._input("copy_tensor")
    value = src._value()
    if value is None:
        raise op_error(
            RuntimeError, "copy_tensor", f"a value in {src.name()!r}", "none",
            "Inputs have one after copy_from_cpu, outputs after run().",
        )  # fmt: skip
    with outside(), no_grad_guard():
        dst._set("copy_tensor", value.detach().to(dst._slots.place).clone())
