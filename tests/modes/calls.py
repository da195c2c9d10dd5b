"""Calls of the oracle as functions of their inputs, so that a call can run on other inputs and in other modes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import paddle
from tests.oracle.worker import FLOATS, Inputs, compiled, dtype_name

MAKERS = ("N", "U", "I", "B", "S", "T")


@dataclass(frozen=True)
class Input:
    """What a maker has made: values in the widest type of their kind, and the dtype of the tensor."""

    values: np.ndarray
    dtype: str
    leaf: bool

    def tensor(self) -> Any:
        made = paddle.to_tensor(self.values)
        if dtype_name(made.dtype) != self.dtype:
            made = made.astype(self.dtype)
        made = made.detach()
        made.stop_gradient = not self.leaf
        return made


class _Making(Inputs):
    """Makers that write down what they make; ``sizes`` exchanges sizes of what is drawn."""

    def __init__(self, call: str, sizes: dict[int, int], seed: int):
        super().__init__(call if not seed else f"{call}#{seed}")
        self.sizes, self.made = sizes, []

    def tensor(self, array: np.ndarray, dtype: str) -> Any:
        made = super().tensor(array, dtype)
        self.made.append(Input(np.asarray(array), dtype, dtype in FLOATS))
        return made

    def constant(self, tensor: Any) -> Any:
        self.made[-1] = replace(self.made[-1], leaf=False)
        return tensor.detach()

    def T(self, data: Any, *args: Any, **kwargs: Any) -> Any:
        made = paddle.to_tensor(data, *args, **kwargs)
        name = dtype_name(made.dtype)
        wide = made.astype("float32") if name in ("bfloat16",) or name.startswith("float8") else made
        self.made.append(Input(wide.detach().numpy().copy(), name, not made.stop_gradient))
        return made

    def names(self) -> dict[str, Any]:
        found = super().names()

        def resized(maker: Callable[..., Any]) -> Callable[..., Any]:
            return lambda *shape, **kwargs: maker(*[self.sizes.get(size, size) for size in shape], **kwargs)

        found.update({name: resized(found[name]) for name in "NUIBS"}, T=self.T)
        return found


class Unfit(Exception):
    """The call cannot be taken apart: it makes inputs in another number or order when it runs again."""


def inputs_of(call: str, sizes: dict[int, int] | None = None, seed: int = 0) -> list[Input] | None:
    """The inputs that the call makes; None where it fails before it has an end."""
    before, last = compiled(call)
    making = _Making(call, sizes or {}, seed)
    names = making.names()
    paddle.seed(1)
    try:
        exec(before, names)
        eval(last, names)
    except Exception:
        pass
    finally:
        paddle.set_default_dtype("float32")
    return making.made


def function_of(call: str) -> Callable[..., Any]:
    """The call as a function of what its makers make."""
    before, last = compiled(call)

    def function(*inputs: Any) -> Any:
        given = iter(inputs)

        def maker(*args: Any, **kwargs: Any) -> Any:
            try:
                return next(given)
            except StopIteration:
                raise Unfit(call) from None

        names = {**Inputs(call).names(), **dict.fromkeys(MAKERS, maker)}
        try:
            exec(before, names)
            return eval(last, names)
        finally:
            paddle.set_default_dtype("float32")

    return function
