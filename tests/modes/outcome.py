"""What a run of a call gives, and what two runs say of each other."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import paddle
from tests.oracle.worker import FLOATS, dtype_name, tensors_of, to_numpy

# Relative to the largest number of the array.
TOLERANCES = {
    "float16": 1e-2, "bfloat16": 8e-2, "float32": 1e-4, "complex64": 1e-4, "float64": 1e-9, "complex128": 1e-9,
}  # fmt: skip


@dataclass
class Outcome:
    items: list[Any] = field(default_factory=list)  # tensors as (dtype, stop_gradient, array), others as text
    gradients: list[np.ndarray | None] | None = None
    error: BaseException | None = None
    failed: BaseException | None = None  # in backward
    tensors: list[Any] = field(default_factory=list)

    def kind(self) -> str:
        error = self.error or self.failed
        return "" if error is None else f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"


def flat(value: Any) -> list[Any]:
    if isinstance(value, paddle.Tensor):
        if not getattr(value, "is_dense", lambda: True)():
            value = value.to_dense()
        return [(dtype_name(value.dtype), bool(value.stop_gradient), to_numpy(value))]
    if isinstance(value, (list, tuple)):
        return [part for item in value for part in flat(item)]
    if isinstance(value, dict):
        return [part for key in sorted(value) for part in flat(value[key])]
    if isinstance(value, (np.ndarray, np.generic)):
        return [(str(np.asarray(value).dtype), True, np.asarray(value))]
    if isinstance(value, (bool, int, str, float, complex, type(None), paddle.dtype)):
        return [repr(value)]
    return ["a " + type(value).__name__]


def cotangent(tensor: Any, number: int, layout: Callable[[Any], Any]) -> Any:
    name = dtype_name(tensor.dtype)
    values = np.random.RandomState(number + 7).uniform(0.5, 1.5, (2, *tensor.shape))
    values = values[0] + 1j * values[1] if name.startswith("complex") else values[0]
    made = paddle.to_tensor(np.asarray(values).astype("float32" if name in ("float16", "bfloat16") else name))
    return layout(made if dtype_name(made.dtype) == name else made.astype(name))


def results_of(value: Any, inputs: Sequence[Any]) -> list[Any]:
    """The results that have a gradient; an input that is returned is not one of them."""
    ids = {id(x) for x in inputs}
    return [
        tensor * 1 if id(tensor) in ids else tensor
        for tensor in tensors_of(value)
        if not tensor.stop_gradient and dtype_name(tensor.dtype) in FLOATS
    ]


def run(
    function: Callable[..., Any],
    inputs: Sequence[Any],
    *,
    backward: bool = True,
    layout: Callable[[Any], Any] = lambda x: x,
) -> Outcome:
    """One call; with ``backward`` the gradients of all inputs that want one, for cotangents laid out by ``layout``."""
    paddle.seed(1)
    outcome = Outcome()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            value = function(*inputs)
            outcome.items, outcome.tensors = flat(value), tensors_of(value)
        except Exception as error:
            outcome.error = error
            return outcome
        leaves = [x for x in inputs if not x.stop_gradient and x.is_leaf]
        if not backward or not leaves:
            return outcome
        try:
            results = results_of(value, inputs)
            if results:
                paddle.autograd.backward(results, [cotangent(x, i, layout) for i, x in enumerate(results)])
            outcome.gradients = [None if x.grad is None else to_numpy(x.grad) for x in leaves]
        except Exception as error:
            outcome.failed = error
    return outcome


def differ_arrays(a: np.ndarray, b: np.ndarray, dtype: str, factor: float = 1.0) -> str | None:
    if a.shape != b.shape:
        return f"shape {list(a.shape)} against {list(b.shape)}"
    if a.dtype.kind not in "fc":
        return None if np.array_equal(a, b) else f"{a.ravel()[:6].tolist()} against {b.ravel()[:6].tolist()}"
    tolerance = TOLERANCES.get(dtype, 1e-4) * factor
    finite = np.abs(a[np.isfinite(a)])
    scale = float(finite.max()) if finite.size else 0.0
    with np.errstate(all="ignore"):
        same = np.isclose(a, b, rtol=tolerance, atol=tolerance * max(scale, 1e-30), equal_nan=True)
    if same.all():
        return None
    at = np.unravel_index(int(np.argmin(same)), same.shape)
    return f"{a[at]!r} against {b[at]!r} ({int((~same).sum())} of {same.size})"


def differ(a: Outcome, b: Outcome, *, dtypes: bool = True, random: bool = False, factor: float = 1.0) -> str | None:
    """Why two outcomes are not the same, or None."""
    if a.error or b.error:
        if a.error and b.error and (isinstance(b.error, type(a.error)) or isinstance(a.error, type(b.error))):
            return None
        return f"error [{a.error and a.kind()}] against [{b.error and b.kind()}]"
    if len(a.items) != len(b.items):
        return f"{len(a.items)} items against {len(b.items)}"
    for index, (x, y) in enumerate(zip(a.items, b.items)):
        if isinstance(x, str) or isinstance(y, str):
            if x != y and not random:
                return f"item {index}: {x} against {y}"
            continue
        if dtypes and x[:2] != y[:2]:
            return f"item {index}: dtype, stop_gradient {x[:2]} against {y[:2]}"
        if random:
            if x[2].shape != y[2].shape:
                return f"item {index}: shape {x[2].shape} against {y[2].shape}"
        elif said := differ_arrays(x[2], y[2], x[0], factor):
            return f"item {index}: {said}"
    if bool(a.failed) != bool(b.failed):
        return f"backward [{a.failed and a.kind()}] against [{b.failed and b.kind()}]"
    if random or a.failed:
        return None
    return differ_gradients(a.gradients, b.gradients, "" if not a.items else a.items[0][0], factor)


def differ_gradients(
    a: list[np.ndarray | None] | None, b: list[np.ndarray | None] | None, dtype: str, factor: float = 1.0
) -> str | None:
    """No gradient counts as one of zeros."""
    if a is None or b is None:
        return None if a is b else f"gradients {a} against {b}"
    for index, (x, y) in enumerate(zip(a, b)):
        if x is None or y is None:
            other = y if x is None else x
            if other is not None and other.any():
                return f"gradient {index}: {'none' if x is None else 'one'} against {'none' if y is None else 'one'}"
        elif said := differ_arrays(x, y, dtype, factor):
            return f"gradient {index}: {said}"
    return None
