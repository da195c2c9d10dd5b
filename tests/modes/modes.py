"""The modes: each takes a call and says what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import paddle
from tests.modes import exported as onnx_models
from tests.modes.calls import Input, Unfit, function_of, inputs_of
from tests.modes.outcome import TOLERANCES, Outcome, cotangent, differ, differ_arrays, results_of, run
from tests.oracle.calls import Call
from tests.oracle.worker import FLOATS, dtype_name, to_numpy
from umiak.ir.overlap import overlap


def lines_of(name: str) -> list[str]:
    """The lines of a file of this folder that are no comments."""
    return [x for x in Path(__file__).with_name(name).read_text().splitlines() if x and not x.startswith("#")]


VIEWS = lines_of("views.txt")
SHARING = re.compile("|".join(VIEWS))
IDENTITIES = [Call("identities", text) for text in lines_of("identities.txt")]


def tensors(inputs: list[Input]) -> list[Any]:
    return [x.tensor() for x in inputs]


def sizes_of(call: str, inputs: list[Input]) -> list[int]:
    """The sizes above 1 that drawn inputs have."""
    return sorted({n for x in inputs for n in x.values.shape if n > 1})


# --- captured ---------------------------------------------------------------------------------------------------------


def captured_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """Capture a function as a whole: calls are texts that are evaluated, at which graphs would break."""
    traced = paddle.jit.marker.unified(function)  # texts are evaluated in it
    return paddle.jit.to_static(lambda *inputs: traced(*inputs), full_graph=True)


def captured(call: Call) -> Iterator[str]:
    """As a program: values, then the same again, on other values and on another size."""
    inputs, function = inputs_of(call.text), function_of(call.text)
    static = captured_of(function)
    eager = run(function, tensors(inputs))
    for what in ("", "again: "):
        found = run(static, tensors(inputs))
        if said := differ(eager, found, random=call.random and bool(eager.error)):
            yield what + said
            return
    for what, others in others_of(call, inputs):
        said = differ(run(function, tensors(others)), run(static, tensors(others)))
        if said:
            yield what + said


def others_of(call: Call, inputs: list[Input]) -> Iterator[tuple[str, list[Input]]]:
    yield "other values: ", inputs_of(call.text, seed=1)
    for size in sizes_of(call.text, inputs)[:2]:
        for step in (1, 2):
            others = inputs_of(call.text, {size: size + step})
            if len(others) == len(inputs):
                yield f"size {size} -> {size + step}: ", others


# --- layouts ----------------------------------------------------------------------------------------------------------


def transposed(x: Any) -> Any:
    order = list(range(x.ndim))[::-1]
    return x.transpose(order).contiguous().transpose(order) if x.ndim > 1 else strided(x)


def strided(x: Any) -> Any:
    """Every second element of a larger tensor, from an offset."""
    if not x.ndim:
        return paddle.stack([x, x], 0)[1]
    return paddle.stack([x * 0 if dtype_name(x.dtype) != "bool" else x, x], -1).flatten(-2)[..., 1::2]


def reversed_(x: Any) -> Any:
    return x.flip([x.ndim - 1])[..., ::-1] if x.ndim else strided(x)


def inner(x: Any) -> Any:
    """A part of rows that are longer."""
    return paddle.concat([x, x], -1)[..., x.shape[-1] :] if x.ndim else strided(x)


LAYOUTS = {"transposed": transposed, "strided": strided, "reversed": reversed_, "inner": inner}


def laid_out(x: Input, layout: Callable[[Any], Any]) -> Any:
    made = x.tensor()
    if made.dtype.name.startswith("float8") or (hasattr(made, "is_dense") and not made.is_dense()):
        return made
    with paddle.no_grad():
        other = layout(made.detach()).detach()
    assert other.shape == made.shape
    assert other.dtype == made.dtype
    other.stop_gradient = made.stop_gradient
    return other


def layouts(call: Call) -> Iterator[str]:
    """The same values in other places of memory, and cotangents in other places."""
    if call.random or re.search(r"stride|contiguous|data_ptr|dlpack|\.view\(|set_\(|offset\(", call.text):
        return
    inputs, function = inputs_of(call.text), function_of(call.text)
    eager = run(function, tensors(inputs))
    for name, layout in LAYOUTS.items():
        if said := differ(eager, run(function, [laid_out(x, layout) for x in inputs])):
            yield f"{name}: {said}"
    for name, layout in {**LAYOUTS}.items():
        if eager.gradients and (said := differ(eager, run(function, tensors(inputs), layout=layout))):
            yield f"{name} cotangents: {said}"
    static = captured_of(function)
    if run(static, tensors(inputs)).error:
        return
    for name, layout in LAYOUTS.items():
        if said := differ(eager, run(static, [laid_out(x, layout) for x in inputs])):
            yield f"captured {name}: {said}"


def expanded(call: Call) -> Iterator[str]:
    """Inputs whose elements share memory."""
    if (
        call.random
        or "_(" in call.text
        or "] =" in call.text
        or re.search(r"stride|contiguous|data_ptr|dlpack|\.view\(|set_\(", call.text)
    ):
        return
    inputs, function = inputs_of(call.text), function_of(call.text)
    for axis in (0, -1):
        same = [
            replace(x, values=np.broadcast_to(np.take(x.values, [0], axis), x.values.shape).copy())
            if x.values.ndim and x.values.size and x.dtype in FLOATS
            else x
            for x in inputs
        ]

        def expand(x: Any, axis: int = axis) -> Any:
            if not x.ndim or not x.size or dtype_name(x.dtype) not in FLOATS:
                return x
            part = x[:1] if axis == 0 else x[..., :1]
            return part.clone().expand(x.shape)

        eager = run(function, tensors(same))
        if said := differ(eager, run(function, [laid_out(x, expand) for x in same])):
            yield f"axis {axis}: {said}"

    eager = run(function, tensors(inputs))
    if not eager.gradients:
        return

    def ones(x: Any) -> Any:
        return paddle.ones([], dtype=x.dtype)

    full = run(function, tensors(inputs), layout=lambda x: ones(x).expand(x.shape).clone())
    if said := differ(full, run(function, tensors(inputs), layout=lambda x: ones(x).expand(x.shape))):
        yield f"cotangents: {said}"


# --- shared memory ----------------------------------------------------------------------------------------------------


def shared(call: Call) -> Iterator[str]:
    """No result shares memory with an input, but for views (``views.txt``)."""
    if re.search(r"_\(|\] =|out=", call.text) or SHARING.search(call.text):
        return
    given = tensors(inputs_of(call.text))
    outcome = run(function_of(call.text), given, backward=False)
    for index, tensor in enumerate(outcome.tensors):
        for other, x in enumerate(given):
            if tensor is x or overlap(tensor, x):
                yield f"item {index} {'is' if tensor is x else 'shares memory with'} input {other}"


# --- sizes ------------------------------------------------------------------------------------------------------------


def sizes(call: Call) -> Iterator[str]:
    """Size 0 where sizes v + 1 and v + 2 fit: shapes are what these lead to expect."""
    inputs, function = inputs_of(call.text), function_of(call.text)
    for size in sizes_of(call.text, inputs)[:3]:
        shapes = []
        for other in (size + 1, size + 2, 0):
            made = inputs_of(call.text, {size: other})
            if len(made) != len(inputs) or not any(other in x.values.shape for x in made):
                break
            given = tensors(made)
            outcome = run(function, given)
            if other and outcome.error:
                break
            if outcome.error:
                yield f"size {size} -> 0: [{outcome.kind()}]"
                break
            if outcome.failed:
                yield f"size {size} -> {other} backward: [{outcome.kind()}]"
                break
            for x in given:
                if not x.stop_gradient and x.is_leaf and x.grad is not None and x.grad.shape != x.shape:
                    yield f"size {size} -> {other}: gradient of shape {x.grad.shape} for {x.shape}"
            shapes.append([x if isinstance(x, str) else (x[0], x[2].shape) for x in outcome.items])
        if len(shapes) < 3:
            continue
        one, two, none = shapes
        if len(one) != len(two):
            continue
        if len(one) != len(none):
            yield f"size {size} -> 0: {len(none)} items"
            continue
        for a, b, c in zip(one, two, none):
            if isinstance(a, str):
                continue
            if a[0] != c[0]:
                yield f"size {size} -> 0: dtype {c[0]}, of other sizes {a[0]}"
            if len(a[1]) != len(c[1]):
                yield f"size {size} -> 0: shape {c[1]}, of size {size + 1} {a[1]}"
            elif len(a[1]) == len(b[1]) and not call.random:
                expected = tuple(
                    m - (n - m) * (size + 1) if (n - m) * (size + 1) <= m else -1 for m, n in zip(a[1], b[1])
                )
                if any(e != c_ and e >= 0 for e, c_ in zip(expected, c[1])):
                    yield f"size {size} -> 0: shape {c[1]}, expected {expected}"
    # An elementwise function of one element: of a scalar the same.
    if call.random or len(inputs) == 0 or not any(x.dtype in FLOATS for x in inputs):
        return
    shape = inputs[0].values.shape
    if not shape or any(x.values.shape != shape for x in inputs) or "(T(" in call.text:
        return
    one = [replace(x, values=x.values.ravel()[:1].reshape(1)) for x in inputs if x.values.size]
    two = [replace(x, values=x.values.ravel()[:2].reshape(-1)) for x in inputs if x.values.size]
    if len(one) != len(inputs):
        return
    a, b = run(function, tensors(one)), run(function, tensors(two))
    whole = run(function, tensors(inputs))
    if a.error or b.error or whole.error:
        return
    if not all(not isinstance(x, str) and x[2].shape == (1,) for x in a.items):
        return
    if not all(not isinstance(x, str) and x[2].shape == (2,) for x in b.items):
        return
    if not all(not isinstance(x, str) and x[2].shape == shape for x in whole.items):
        return
    c = run(function, tensors([replace(x, values=x.values.reshape(())) for x in one]))
    if c.error:
        yield f"0-d: [{c.kind()}]"
        return
    for x, y in zip(a.items, c.items):
        # What takes all elements in a row gives one of them.
        fits = not isinstance(y, str) and y[:2] == x[:2] and y[2].shape in ((), (1,))
        if not fits or differ_arrays(x[2].reshape(()), y[2].reshape(()), x[0]):
            yield f"0-d: {y} for {x}"
    if a.gradients and c.gradients:
        for x, y in zip(a.gradients, c.gradients):
            if (x is None) != (y is None) or (
                x is not None and (y.shape != () or differ_arrays(x.reshape(()), y, "float32"))
            ):
                yield f"0-d: gradient {y} for {x}"


# --- dtypes -----------------------------------------------------------------------------------------------------------


def to_dtype(x: Input, dtype: str) -> Input:
    """The values as ``dtype`` can hold them."""
    if x.dtype not in ("float16", "bfloat16", "float32", "float64"):
        return x
    return Input(to_numpy(paddle.to_tensor(x.values).astype(dtype)), dtype, x.leaf)


def dtypes(call: Call) -> Iterator[str]:
    """Float inputs in other dtypes: near what float64 gives, in the dtype of the inputs."""
    text = call.text
    if re.search(r"dtype|float|half|double|astype|cast|eps|finfo", text):
        return
    inputs, function = inputs_of(text), function_of(text)
    if not any(x.dtype == "float32" for x in inputs):
        return
    single = run(function, tensors(inputs))
    if single.error:
        return
    for dtype in ("float16", "bfloat16", "float64"):
        narrow = [to_dtype(x, dtype) for x in inputs]
        wide = [to_dtype(x, "float64") for x in narrow]
        found, exact = run(function, tensors(narrow)), run(function, tensors(wide))
        if exact.error:
            yield f"float64: [{exact.kind()}]"
            continue
        if found.error:
            if not isinstance(found.error, (TypeError, NotImplementedError)):
                yield f"{dtype}: [{found.kind()}]"
            elif dtype != "float64":
                yield f"{dtype} refused: [{found.kind()}]"
            continue
        if found.failed:
            yield f"{dtype} backward: [{found.kind()}]"
            continue
        for index, (s, x, e) in enumerate(zip(single.items, found.items, exact.items)):
            if isinstance(s, str) or isinstance(x, str) or isinstance(e, str):
                continue
            if s[0] == "float32" and e[0] == "float64" and x[0] != dtype:
                yield f"{dtype}: item {index} has dtype {x[0]}"
            if s[0] in FLOATS and not call.random and (said := differ_arrays(e[2], x[2], dtype)):
                yield f"{dtype}: item {index} float64 {said}"
        if not call.random and dtype != "float64" and found.gradients is not None and exact.gradients is not None:
            for index, (x, e) in enumerate(zip(found.gradients, exact.gradients)):
                if x is None or e is None:
                    if (x is None) != (e is None):
                        yield f"{dtype}: gradient {index} {'none' if x is None else 'one'}"
                elif said := differ_arrays(e, x, dtype, 3.0):
                    yield f"{dtype}: gradient {index} float64 {said}"


# --- not numbers ------------------------------------------------------------------------------------------------------


def poison(x: Input, number: int) -> Input:
    if x.dtype not in FLOATS or not x.values.size:
        return x
    values = x.values.copy().ravel()
    for place, value in enumerate((np.nan, np.inf, -np.inf)):
        values[(number * 2 + place * 2 + 1) % values.size] = value
    return replace(x, values=values.reshape(x.values.shape))


def same_not_numbers(a: Outcome, b: Outcome) -> str | None:
    if a.error or b.error:
        return differ(a, b)
    for index, (x, y) in enumerate(zip(a.items, b.items)):
        if isinstance(x, str) or x[2].dtype.kind not in "fc" or isinstance(y, str):
            continue
        if x[2].shape != y[2].shape:
            return f"item {index}: shape"
        for test in (np.isnan, np.isinf):
            if not np.array_equal(test(x[2]), test(y[2])):
                return f"item {index}: {x[2].ravel()[:8].tolist()} against {y[2].ravel()[:8].tolist()}"
    if a.gradients is not None and b.gradients is not None:
        for index, (x, y) in enumerate(zip(a.gradients, b.gradients)):
            if x is not None and y is not None and not np.array_equal(np.isnan(x), np.isnan(y)):
                return f"gradient {index}: {x.ravel()[:8].tolist()} against {y.ravel()[:8].tolist()}"
    return None


def real(x: Any) -> bool:
    return dtype_name(x.dtype) in FLOATS and not x.is_complex()


def not_numbers(call: Call) -> Iterator[str]:
    """NaN and infinities: captured and fused as eager, and as NumPy's function of the name."""
    if call.random:
        return
    inputs, function = inputs_of(call.text), function_of(call.text)
    inputs = [poison(x, i) for i, x in enumerate(inputs)]
    if not any(x.dtype in FLOATS for x in inputs):
        return
    eager = run(function, tensors(inputs))
    if said := same_not_numbers(eager, run(function, [laid_out(x, transposed) for x in inputs])):
        yield f"transposed: {said}"
    found = run(captured_of(function), tensors(inputs))
    if found.error and not eager.error:
        return
    if said := same_not_numbers(eager, found):
        yield f"captured: {said}"

    def fused(*given: Any) -> Any:
        value = function(*[x * 1 if real(x) else x for x in given])
        parts = value if isinstance(value, (list, tuple)) else [value]
        return [x * 1 if isinstance(x, paddle.Tensor) and real(x) else x for x in parts]

    if "_(" not in call.text and "] =" not in call.text:
        if said := same_not_numbers(eager, run(captured_of(fused), tensors(inputs))):
            yield f"fused: {said}"
    named = re.fullmatch(r"P\.(\w+)\(((?:[NUI]\([^()]*\)(?:, )?)+)\)", call.text)
    theirs = named and getattr(np, named[1], None)
    if theirs and not eager.error and all(x.dtype in ("float32", "float64", "int64") for x in inputs):
        with np.errstate(all="ignore"):
            try:
                value = theirs(*[x.values for x in inputs])
            except Exception:
                return
        if (
            len(eager.items) == 1
            and not isinstance(eager.items[0], str)
            and isinstance(value, (np.ndarray, np.generic))
        ):
            value = np.asarray(value)
            if value.shape == eager.items[0][2].shape and (said := differ_arrays(value, eager.items[0][2], "float32")):
                yield f"NumPy {said}"


# --- orders of gradients ----------------------------------------------------------------------------------------------


def in_float64(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with layers and constants of float64, too; the call sets the default dtype back."""

    def with_default(*inputs: Any) -> Any:
        paddle.set_default_dtype("float64")
        return function(*inputs)

    return with_default


def slopes(call: Call) -> Iterator[str]:
    """In float64: first and second derivatives along random directions against differences."""
    if call.random or re.search(r"float16|bfloat16|float32|dtype='int|astype|cast|detach|no_grad|set_value", call.text):
        return
    inputs, function = inputs_of(call.text), in_float64(function_of(call.text))
    single = run(function_of(call.text), tensors(inputs))
    inputs = [to_dtype(x, "float64") for x in inputs]
    at = [i for i, x in enumerate(inputs) if x.leaf and x.dtype == "float64" and x.values.size]
    if not at:
        return
    rng = np.random.RandomState(3)
    u, v = (
        [rng.uniform(0.5, 1.5, inputs[i].values.shape) * rng.choice([-1, 1], inputs[i].values.shape) for i in at]
        for _ in "uv"
    )
    if re.search(r"\bS\(", call.text):  # only symmetric ones may be given
        u = [x + np.swapaxes(x, -1, -2) if x.ndim > 1 and x.shape[-1] == x.shape[-2] else x for x in u]

    def moved(step: float) -> list[Any]:
        made = list(inputs)
        for i, direction in zip(at, u):
            made[i] = replace(made[i], values=made[i].values.astype("float64") + step * direction)
        return tensors(made)

    def value(given: list[Any]) -> Any:
        paddle.seed(1)
        results = [x for x in results_of(function(*given), given) if dtype_name(x.dtype) in ("float64", "complex128")]
        if not results:
            return None
        parts = [x.real() * 0.7 + x.imag() * 0.4 if x.is_complex() else x for x in results]
        return sum((x * cotangent(x, i, lambda c: c)).sum() for i, x in enumerate(parts))

    def slope(given: list[Any], again: bool) -> Any:
        grads = paddle.grad(value(given), [given[i] for i in at], create_graph=again, allow_unused=True)
        parts = [(g * paddle.to_tensor(d)).sum() for g, d in zip(grads, v) if g is not None]
        return (sum(parts) if parts else None), grads

    try:
        if value(moved(0.0)) is None:
            return
    except Exception as error:
        if not single.error:
            yield f"float64: [{type(error).__name__}: {str(error)[:200]}]"
        return
    h = 1e-5
    try:
        # first order, along u
        grads = paddle.grad(value(given := moved(0.0)), [given[i] for i in at], allow_unused=True)
        along = sum(float((g * paddle.to_tensor(d)).sum()) for g, d in zip(grads, u) if g is not None)
        ups = [float(value(moved(s * h))) for s in (-2, -1, 1, 2)]
    except Exception as error:
        yield f"first order: [{type(error).__name__}: {str(error)[:200]}]"
        return
    quotient = (8 * (ups[2] - ups[1]) - (ups[3] - ups[0])) / (12 * h)
    near = (ups[2] - ups[1]) / (2 * h)
    scale = max(1.0, abs(quotient), abs(along), *[abs(x) for x in ups])
    smooth = abs(quotient - near) <= 1e-4 * scale
    if smooth and np.isfinite(quotient) and not abs(quotient - along) <= 1e-4 * scale:
        yield f"first order: {along} but by differences {quotient}"
        return
    try:
        first, _ = slope(given := moved(0.0), True)
    except Exception as error:
        yield f"create_graph: [{type(error).__name__}: {str(error)[:200]}]"
        return
    if first is None:
        return
    try:
        ups = []
        for s in (-2, -1, 1, 2):
            part = slope(moved(s * h), False)[0]
            ups.append(float(part))
        quotient = (8 * (ups[2] - ups[1]) - (ups[3] - ups[0])) / (12 * h)
        near = (ups[2] - ups[1]) / (2 * h)
        if first.stop_gradient:
            along = 0.0
        else:
            second = paddle.grad(first, [given[i] for i in at], allow_unused=True)
            along = sum(float((g * paddle.to_tensor(d)).sum()) for g, d in zip(second, u) if g is not None)
    except Exception as error:
        yield f"second order: [{type(error).__name__}: {str(error)[:200]}]"
        return
    scale = max(1.0, abs(quotient), abs(along), *[abs(x) for x in ups])
    smooth = abs(quotient - near) <= 1e-4 * scale
    if smooth and np.isfinite(quotient) and not abs(quotient - along) <= 1e-4 * scale:
        yield f"second order: {along} but by differences {quotient}"


def in_place(call: Call) -> Iterator[str]:
    """``x.f_()`` against ``x.f()``: value and gradients."""
    named = re.fullmatch(r"(.*; )?x = (.+)\.clone\(\); y = x\.(\w+)_\((.*)\); \(x, y\)", call.text)
    if named is None or call.random:
        return
    inputs, function = inputs_of(call.text), function_of(call.text)
    other = function_of(f"{named[1] or ''}x = {named[2]}.clone(); y = x.{named[3]}({named[4]}); (y, y)")
    a, b = run(function, tensors(inputs)), run(other, tensors(inputs))
    if a.error or b.error:
        if b.error and not a.error:
            yield f"in place [{a.error and a.kind()}] otherwise [{b.error and b.kind()}]"
        return
    if [x[0] for x in a.items] != [x[0] for x in b.items]:
        return
    if said := differ(b, a):
        yield said


# --- ambient modes ----------------------------------------------------------------------------------------------------


def ambient(call: Call) -> Iterator[str]:
    """Under ``no_grad`` and mixed precision."""
    inputs, function = inputs_of(call.text), function_of(call.text)
    eager = run(function, tensors(inputs))
    if eager.error:
        return
    if not re.search(r"is_grad_enabled|stop_gradient|backward|grad\(|autograd|saved_tensors", call.text):
        with paddle.no_grad():
            found = run(function, tensors(inputs), backward=False)
        items = [x if isinstance(x, str) else (x[0], y[1], x[2]) for x, y in zip(found.items, eager.items)]
        found = Outcome(items, eager.gradients, found.error, eager.failed)
        if said := differ(eager, found):
            yield f"no_grad: {said}"
    for level in ("O1", "O2"):
        for dtype in ("float16", "bfloat16"):

            def cast(*given: Any, level: str = level, dtype: str = dtype) -> Any:
                with paddle.amp.auto_cast(level=level, dtype=dtype):
                    return function(*given)

            mixed = run(cast, tensors(inputs))
            if mixed.error or (mixed.failed and not eager.failed):
                yield f"{level} {dtype}: [{mixed.kind()}]"
                continue
            if len(mixed.items) != len(eager.items):
                yield f"{level} {dtype}: {len(mixed.items)} items for {len(eager.items)}"
                continue
            for index, (x, y) in enumerate(zip(eager.items, mixed.items)):
                if isinstance(x, str) or isinstance(y, str):
                    continue
                if y[0] not in (x[0], dtype) and not (x[0] in (dtype, "float16", "bfloat16") and y[0] == "float32"):
                    yield f"{level} {dtype}: item {index} has dtype {y[0]}, without {x[0]}"
                if x[0] in FLOATS and not call.random and (said := differ_arrays(x[2], y[2], dtype, 2.0)):
                    yield f"{level} {dtype}: item {index} {said}"
            if mixed.gradients is not None and eager.gradients is not None and not call.random:
                for index, (x, y) in enumerate(zip(eager.gradients, mixed.gradients)):
                    if (x is None) != (y is None):
                        yield f"{level} {dtype}: gradient {index} {'none' if y is None else 'one'}"
                    elif x is not None and (said := differ_arrays(x, y, dtype, 4.0)):
                        yield f"{level} {dtype}: gradient {index} {said}"
        if level == "O1":
            static = run(captured_of(cast), tensors(inputs))
            # A program does not round what it keeps between its kernels.
            wider = TOLERANCES[dtype] / TOLERANCES["float32"]
            if not static.error and (said := differ(mixed, static, random=call.random, factor=wider)):
                yield f"captured {level} {dtype}: {said}"


# What is written as for evaluation, and vectors whose signs are free.
EVALUATED = re.compile(r"dropout|batch_norm|eigh\(|svd\(|P\.empty")


def exported(call: Call) -> Iterator[str]:
    """As an ONNX model in ONNX Runtime, for its sizes and for open ones."""
    if not EVALUATED.search(call.text):
        for form, said in onnx_models.results(call):
            if said is not None:
                yield f"{form}: {said}"


MODES: dict[str, Callable[[Call], Iterator[str]]] = {
    "captured": captured, "layouts": layouts, "expanded": expanded, "shared": shared, "sizes": sizes, "dtypes": dtypes,
    "not_numbers": not_numbers, "slopes": slopes, "in_place": in_place, "ambient": ambient,
    "exported": exported,
}  # fmt: skip


def findings(call: Call, mode: str) -> list[str]:
    try:
        return list(MODES[mode](call))
    except Unfit:
        return []
