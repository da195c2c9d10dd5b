"""Runs calls in the framework that `import paddle` finds, and writes down what each gives.

    python worker.py CALLS RESULTS

CALLS has one call per line, RESULTS gets one line of JSON per call: before the call its number alone, so that the
driver knows which call ended the process, and after it what came. A call is a few statements and an expression at the
end. This file runs in two environments: it needs NumPy and `paddle`, nothing of this project.
"""

from __future__ import annotations

import ast
import base64
import json
import os
import random
import sys
import tempfile
import warnings
import zlib
from types import CodeType
from typing import Any

import numpy as np

warnings.filterwarnings("ignore")

import paddle  # noqa: E402

FLOATS = {"float16", "bfloat16", "float32", "float64", "complex64", "complex128"}


def dtype_name(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2].lower()


class Inputs:
    """The makers of inputs: tensors that depend on the call's text and on how many were made before, nothing else."""

    def __init__(self, call: str):
        self.call, self.count, self.leaves = call, 0, []

    def rng(self) -> np.random.RandomState:
        self.count += 1
        return np.random.RandomState(zlib.crc32(f"{self.call}#{self.count}".encode()))

    def tensor(self, array: np.ndarray, dtype: str) -> Any:
        wants = dtype in FLOATS
        made = paddle.to_tensor(array)
        if dtype_name(made.dtype) != dtype:
            made = made.astype(dtype)
        made = made.detach()
        made.stop_gradient = not wants
        if wants:
            self.leaves.append(made)
        return made

    def normal(self, *shape: int, dtype: str = "float32") -> Any:
        """Normal numbers, of complex dtypes in both parts."""
        values = self.rng().standard_normal((2, *shape))
        if dtype.startswith("complex"):
            return self.tensor((values[0] + 1j * values[1]).astype(dtype), dtype)
        return self.tensor(np.asarray(values[0], dtype="float64" if dtype == "float64" else "float32"), dtype)

    def uniform(self, *shape: int, low: float = 0.1, high: float = 0.9, dtype: str = "float32") -> Any:
        """Numbers between `low` and `high`."""
        values = self.rng().uniform(low, high, shape)
        return self.tensor(np.asarray(values, dtype="float64" if dtype == "float64" else "float32"), dtype)

    def integers(self, *shape: int, low: int = -4, high: int = 5, dtype: str = "int64") -> Any:
        """Integers from `low` to `high - 1`; of a floating dtype they are numbers with many ties."""
        return self.tensor(
            np.asarray(self.rng().randint(low, high, shape)).astype(
                "float32" if dtype in ("float16", "bfloat16") else dtype
            ),
            dtype,
        )

    def bools(self, *shape: int) -> Any:
        return self.tensor(np.asarray(self.rng().randint(0, 2, shape)).astype("bool"), "bool")

    def positive_definite(self, *shape: int, dtype: str = "float32") -> Any:
        """A symmetric (Hermitian) matrix, or a batch, with eigenvalues of at least 1."""
        rng, wide = self.rng(), "complex128" if dtype.startswith("complex") else "float64"
        values = rng.standard_normal(shape).astype(wide)
        if wide == "complex128":
            values = values + 1j * rng.standard_normal(shape)
        values = values @ np.conj(np.swapaxes(values, -1, -2)) + np.eye(shape[-1])
        return self.tensor(values.astype(dtype), dtype)

    def pixels(self, *shape: int, dtype: str = "uint8") -> np.ndarray:
        """An array of bytes; of a floating dtype, of numbers from 0 to 1."""
        values = self.rng().randint(0, 256, shape)
        return values.astype(dtype) if np.dtype(dtype).kind in "ui" else (values / 255).astype(dtype)

    def image(self, height: int, width: int, mode: str = "RGB") -> Any:
        """An image of Pillow."""
        from PIL import Image

        return Image.fromarray(self.pixels(height, width, 3)).convert(mode)

    @staticmethod
    def constant(tensor: Any) -> Any:
        """The tensor, where no gradient is asked for."""
        return tensor.detach()

    def layer(self, made: Any) -> Any:
        """A layer whose parameters are normal numbers, which depend on their names; they are inputs as tensors are."""
        for name, parameter in sorted(made.named_parameters()):
            rng = np.random.RandomState(zlib.crc32(f"{self.call}#{name}".encode()))
            wide = "float64" if dtype_name(parameter.dtype) == "float64" else "float32"
            values = paddle.to_tensor((0.5 * rng.standard_normal(parameter.shape)).astype(wide))
            parameter.set_value(values.astype(parameter.dtype))
            self.leaves.append(parameter)
        return made

    def names(self) -> dict[str, Any]:
        return {
            "N": self.normal, "U": self.uniform, "I": self.integers, "B": self.bools, "S": self.positive_definite,
            "A": self.pixels, "M": self.image, "C": self.constant, "L": self.layer,
            "P": paddle, "paddle": paddle, "F": paddle.nn.functional, "V": paddle.vision.transforms,
            "T": paddle.to_tensor, "np": np, "random": random,
            "inf": float("inf"), "nan": float("nan"), "folder": tempfile.gettempdir(),
        }  # fmt: skip


def array_record(array: np.ndarray) -> dict[str, Any]:
    array = np.asarray(array)
    if array.dtype == object:
        return {"repr": "array of objects"}
    return {"dtype": str(array.dtype), "shape": list(array.shape), "data": base64.b64encode(array.tobytes()).decode()}


def to_numpy(tensor: Any) -> np.ndarray:
    name = dtype_name(tensor.dtype)
    if name == "bfloat16" or name.startswith("float8"):
        tensor = tensor.astype("float32")
    return np.asarray(tensor.detach().numpy())


def is_image(value: Any) -> bool:
    pillow = sys.modules.get("PIL.Image")
    return pillow is not None and isinstance(value, pillow.Image)


def record(value: Any) -> Any:
    """A value as JSON: what two frameworks must agree on."""
    if is_image(value):
        return {"image": value.mode, **array_record(np.asarray(value))}
    if isinstance(value, paddle.Tensor):
        kept = {} if getattr(value, "is_dense", lambda: True)() else {"kind": "sparse"}
        if kept:
            value = value.to_dense()
        return {"tensor": dtype_name(value.dtype), **array_record(to_numpy(value)), **kept}
    if isinstance(value, (np.ndarray, np.generic)):
        return {"array": str(np.asarray(value).dtype), **array_record(np.asarray(value))}
    if isinstance(value, paddle.dtype):
        return {"repr": "dtype " + dtype_name(value)}
    if isinstance(value, (bool, int, str, type(None))):
        return {"repr": repr(value)}
    if isinstance(value, (float, complex)):
        return {"number": type(value).__name__, **array_record(np.asarray(value))}
    if isinstance(value, (list, tuple)):
        return {"items": [record(item) for item in value]}
    if isinstance(value, dict):
        return {"items": [record(value[key]) for key in sorted(value)], "keys": sorted(map(str, value))}
    return {"repr": "a " + type(value).__name__}


def tensors_of(value: Any) -> list[Any]:
    if isinstance(value, paddle.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        found = {id(tensor): tensor for item in value for tensor in tensors_of(item)}
        return list(found.values())
    return []


def gradients(value: Any, leaves: list[Any]) -> dict[str, Any]:
    """The gradients of the leaves for cotangents that depend on the shapes alone; nothing where no result wants one."""
    inputs = {id(leaf) for leaf in leaves}
    outputs = [
        tensor * 1 if id(tensor) in inputs else tensor  # a function may return its operand
        for tensor in tensors_of(value)
        if not tensor.stop_gradient and dtype_name(tensor.dtype) in FLOATS
    ]
    # The cotangent of a sparse result is that of its dense form.
    outputs = [tensor if getattr(tensor, "is_dense", lambda: True)() else tensor.to_dense() for tensor in outputs]
    if not outputs or not leaves:
        return {}
    for leaf in leaves:
        leaf.clear_gradient(False)
    rng = np.random.RandomState(7)
    cotangents = []
    for output in outputs:
        name = dtype_name(output.dtype)
        values = rng.uniform(0.5, 1.5, (2, *output.shape))
        values = values[0] + 1j * values[1] if name.startswith("complex") else values[0]
        wide = "float32" if name in ("float16", "bfloat16") else name
        made = paddle.to_tensor(np.asarray(values).astype(wide))
        cotangents.append(made if dtype_name(made.dtype) == name else made.astype(name))
    paddle.autograd.backward(outputs, cotangents)
    return {"gradients": [None if leaf.grad is None else record(leaf.grad) for leaf in leaves]}


def error_record(error: BaseException) -> dict[str, Any]:
    kinds = [kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins"]
    words = str(error).strip().splitlines()
    return {"error": kinds[0], "kinds": kinds, "words": " ".join(words)[-300:]}


def compiled(call: str) -> tuple[CodeType, CodeType]:
    body = ast.parse(call).body
    last = body.pop()
    if not isinstance(last, ast.Expr):
        raise SyntaxError(f"the last part of a call is an expression: {call}")
    return (
        compile(ast.Module(body, []), "<call>", "exec"),
        compile(ast.Expression(last.value), "<call>", "eval"),
    )


def seed() -> None:
    """All random numbers that a call can draw are the same in either environment, but for those of the framework."""
    paddle.seed(1)
    random.seed(1)
    np.random.seed(1)


def run(call: str) -> dict[str, Any]:
    before, last = compiled(call)
    inputs = Inputs(call)
    names = inputs.names()
    seed()
    try:
        exec(before, names)
        value = eval(last, names)
        result = {"value": record(value), "inputs": sorted({dtype_name(leaf.dtype) for leaf in inputs.leaves})}
    except Exception as error:
        return error_record(error)
    try:
        result.update(gradients(value, inputs.leaves))
    except Exception as error:
        result["gradients"] = error_record(error)
    finally:
        paddle.set_default_dtype("float32")
    return result


def described(value: Any) -> Any:
    """A value as JSON, with what `device` and `requires_grad` change."""
    if isinstance(value, paddle.Tensor):
        return {**record(value), "stop_gradient": value.stop_gradient, "place": str(value.place)}
    if isinstance(value, (list, tuple)):
        return [described(item) for item in value]
    if isinstance(value, paddle.nn.Layer):
        return [type(value).__name__, *(described(p) for p in value.parameters())]
    return record(value)


def outcome(call: str, form: str) -> str:
    """What a form of a call gives on the inputs of the call: the record as text, or the kind of error."""
    before, last = compiled(form)
    names = Inputs(call).names()
    seed()
    try:
        exec(before, names)
        return json.dumps(described(eval(last, names)))
    except Exception as error:
        return error_record(error)["error"]
    finally:
        paddle.set_default_dtype("float32")
        paddle.set_grad_enabled(True)


def main(calls: str, results: str) -> None:
    with open(calls) as source, open(results, "w") as out:
        for number, line in enumerate(source):
            out.write(f"{number}\n")
            out.flush()
            out.write(json.dumps(run(line.rstrip("\n"))) + "\n")
            out.flush()


if __name__ == "__main__":
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    main(*sys.argv[1:])
