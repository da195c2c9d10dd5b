"""Calls as ONNX models in ONNX Runtime, with sizes as they are and with open ones.

Tensors that a call draws are inputs of the model; other tensors, and the parameters of layers, are part of it.
"""

from __future__ import annotations

import ast
import contextlib
import re
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import paddle
from tests.modes.calls import Input
from tests.modes.outcome import differ_arrays
from tests.oracle.calls import Call
from tests.oracle.worker import Inputs, compiled, dtype_name, to_numpy
from umiak.ir.tracer import DataUnknown
from umiak.runtime.capture import CaptureError

OPSETS = 11, 13, 15, 17, 18, 20, 21
DRAWN = "N", "U", "I", "B", "S"
# What NumPy, or ONNX, has no elements of is fed and given in another type.
WIDE = {
    "bfloat16": "float32", "float8_e4m3fn": "float32", "float8_e5m2": "float32", "complex64": "float32",
    "complex128": "float64",
}  # fmt: skip
# Rounding in types that ONNX Runtime computes in.
NEAR = {"float64": "float32", "complex128": "complex64"}

RECORDED = "recorded: "  # begins what is refused before there is a program


class Unfit(Exception):
    """A call without tensors that are fed and given."""


@dataclass(frozen=True)
class Refused(Exception):
    """What the export says of a call that it refuses."""

    text: str


class _Made(ast.NodeTransformer):
    """Takes out what makes layers and other objects, which are made before the function is recorded."""

    def __init__(self) -> None:
        self.found: dict[str, ast.expr] = {}

    def visit_Call(self, node: ast.Call) -> ast.AST:
        text = ast.unparse(node.func)
        drawn = {x.id for x in ast.walk(node) if isinstance(x, ast.Name)} & {*DRAWN, "T"}
        if not drawn and (text == "L" or re.match(r"(P|paddle|V)\.[\w.]*\b[A-Z]\w*$", text)):
            name = f"_made{len(self.found)}"
            self.found[name] = node
            return ast.copy_location(ast.Name(name, ast.Load()), node)
        return self.generic_visit(node)


def function_of(call: str) -> Callable[..., list[Any]]:
    """The call as a function of what its makers draw, which gives all tensors of its result."""
    tree = ast.parse(call)
    maker = _Made()
    tree = ast.fix_missing_locations(maker.visit(tree))
    before, last = compiled(ast.unparse(tree).replace("\n", "; "))
    names = Inputs(call).names()
    paddle.seed(1)
    made = {}
    for name, node in maker.found.items():
        made[name] = eval(compile(ast.Expression(node), "<call>", "eval"), names)
        if isinstance(made[name], paddle.nn.Layer):
            made[name].eval()

    def function(*inputs: Any) -> list[Any]:
        given = iter(inputs)

        def drawn(*args: Any, **kwargs: Any) -> Any:
            return next(given)

        space = {**names, **made, **dict.fromkeys(DRAWN, drawn)}
        exec(before, space)
        return list(_tensors(eval(last, space)))

    return function


def _tensors(value: Any) -> Iterator[Any]:
    if isinstance(value, paddle.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)
    elif isinstance(value, dict):
        for key in sorted(value):
            yield from _tensors(value[key])


def _taken(x: Any, dtype: str) -> Any:
    """An operand of the call from what is fed."""
    if dtype.startswith("complex"):
        return paddle.as_complex(x)
    return x if dtype_name(x.dtype) == dtype else x.astype(dtype)


def _given(y: Any) -> Any:
    """A result of the model from that of the call."""
    name = dtype_name(y.dtype)
    if name.startswith("complex"):
        return paddle.as_real(y)
    return y.astype(WIDE[name]) if name in WIDE else y


def _fed(x: Input) -> np.ndarray:
    if x.dtype.startswith("complex"):
        return np.stack([x.values.real, x.values.imag], -1).astype(WIDE[x.dtype])
    return np.asarray(x.values).astype(WIDE.get(x.dtype, x.dtype))


def drawn_inputs(call: str, sizes: dict[int, int] | None = None) -> list[Input]:
    """What the call draws, without the tensors that it writes out."""
    found = []

    class Making(Inputs):
        def tensor(self, array: np.ndarray, dtype: str) -> Any:
            made = super().tensor(array, dtype)
            found.append(Input(np.asarray(array), dtype, False))
            return made

        def names(self) -> dict[str, Any]:
            names = super().names()

            def resized(maker: Callable[..., Any]) -> Callable[..., Any]:
                return lambda *shape, **kw: maker(*[(sizes or {}).get(n, n) for n in shape], **kw)

            names.update({name: resized(names[name]) for name in DRAWN})
            return names

    _called(call, Making(call).names())  # a call that is refused has been given its inputs by then
    return found


def _called(text: str, names: dict[str, Any]) -> Exception | None:
    """Run a call; what it raises."""
    before, last = compiled(text)
    paddle.seed(1)
    try:
        exec(before, names)
        eval(last, names)
    except Exception as error:  # an outcome, which is compared
        return error
    finally:
        paddle.set_default_dtype("float32")
    return None


@dataclass
class Model:
    """An exported call. ``opset``: the one that it was exported for."""

    session: Any
    opset: int
    nodes: int

    def run(self, inputs: Sequence[Input]) -> list[np.ndarray]:
        wanted = {x.name for x in self.session.get_inputs()}
        feed = {f"x{i}": _fed(x) for i, x in enumerate(inputs)}
        return self.session.run(None, {k: v for k, v in feed.items() if k in wanted})


def model_of(
    function: Callable[..., list[Any]], inputs: Sequence[Input], is_open: Callable[[int], bool], opset: int
) -> Model:
    """Export a function of inputs; sizes of which ``is_open`` says so are open."""
    import onnx
    import onnxruntime

    from paddle.onnx import convert, exporting
    from paddle.static import InputSpec

    specs = []
    for i, x in enumerate(inputs):
        sizes = [None if is_open(n) else n for n in x.values.shape]
        sizes += [2] if x.dtype.startswith("complex") else []
        specs.append(InputSpec(sizes, WIDE.get(x.dtype, x.dtype), f"x{i}"))

    def exported(*given: Any) -> list[Any]:
        return [_given(y) for y in function(*[_taken(x, i.dtype) for x, i in zip(given, inputs, strict=True)])]

    try:
        module, values = exporting._module(exported, specs, {}, opset)
    except Exception as error:
        raise Refused(f"{RECORDED}{type(error).__name__}: {error}") from error
    model = None
    while model is None:
        try:
            model = convert.convert(module, values, opset)
        except convert.Refused as refused:
            if refused.opset is None:
                raise Refused(str(refused)) from refused
            opset = refused.opset  # what follows from what was refused may need a later one
    onnx.checker.check_model(model, full_check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return Model(session, opset, len(model.graph.node))


def eager(function: Callable[..., list[Any]], inputs: Sequence[Input]) -> list[Any]:
    """What the call gives here, as (dtype, array)."""
    paddle.seed(1)
    with paddle.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [(dtype_name(y.dtype), to_numpy(_given(y))) for y in function(*[x.tensor() for x in inputs])]


def differences(wanted: Sequence[Any], got: Sequence[np.ndarray], random: bool) -> str | None:
    """Why results of ONNX Runtime are not those of eager calls, or None."""
    if len(wanted) != len(got):
        return f"{len(got)} results for {len(wanted)}"
    for i, ((dtype, x), y) in enumerate(zip(wanted, got, strict=True)):
        if x.dtype != y.dtype:
            return f"result {i}: dtype {y.dtype} for {x.dtype}"
        if x.shape != y.shape:
            return f"result {i}: shape {list(y.shape)} for {list(x.shape)}"
        wide = [v.astype("float64") if v.dtype.kind == "f" else v for v in (y, x)]
        if not random and (said := differ_arrays(*wide, NEAR.get(dtype, dtype), 3.0)):
            return f"result {i}: {said}"
    return None


def _needs_more(text: str) -> bool:
    """Return whether a call needs gradients, or other settings than layers are made in."""
    return bool(re.search(r"register_hook|\bP\.grad\(|\.backward\(|set_default_dtype|LazyGuard", text))


def _refusal(
    text: str, function: Callable[..., list[Any]], inputs: Sequence[Input], opset: int, error: Exception
) -> str | None:
    """Why a call that fails is not one that is refused as a call, and by the export or the model; None where it is."""
    shown = _shown(error)
    if _called(text, Inputs(text).names()) is None:
        return f"{shown} without gradients, and layers made before, where the call gives a result"
    try:
        model = model_of(function, inputs, lambda n: False, opset)
    except Exception as refusal:
        return None if _is_refusal(refusal, error) else f"{shown}, and the export fails: {_shown(refusal)}"
    try:
        found = model.run(inputs)
    except Exception:  # whatever ONNX Runtime says of what is refused here
        return None
    return f"{shown}, but the model gives {len(found)} results"


def _is_refusal(error: Exception, eager: Exception) -> bool:
    """Return whether an export says what it cannot do, or what the eager call says, rather than breaking inside."""
    if isinstance(error, Refused):
        if not isinstance(error.__cause__, Exception) or not error.text.startswith(RECORDED):
            return True  # of an operator, by name
        error = error.__cause__
    if isinstance(error, (CaptureError, DataUnknown)) or getattr(error, "mistake", False):
        return True
    if re.match(r"\[[\w.]+\] ", str(error)):  # as errors of mistakes begin
        return True
    if type(error).__module__.startswith("onnxruntime"):
        return True
    return type(error) is type(eager) and str(error) == str(eager)


def _shown(error: BaseException) -> str:
    return f"[{type(error).__name__}: {str(error)[:200]}]"


def forms(inputs: Sequence[Input]) -> Iterator[tuple[str, Callable[[int], bool], dict[int, int]]]:
    """Which sizes are open, and others that they take in a second run."""
    yield "static", lambda n: False, {}
    sizes = sorted({n for x in inputs for n in x.values.shape if n > 1})
    if sizes:
        yield "all open", lambda n: True, {}
    for size in sizes[:2]:
        yield f"{size} open", lambda n, size=size: n == size, {size: size + 1}


def results(call: Call, only: str | None = None) -> Iterator[tuple[str, str | None]]:
    """Per form, what is wrong; a :class:`Refused` is text that begins with ``refused``."""
    inputs = drawn_inputs(call.text)
    opset = OPSETS[zlib.crc32(call.text.encode()) % len(OPSETS)]
    if not inputs or _needs_more(call.text):
        return
    try:
        function = function_of(call.text)
    except Exception as error:
        if _called(call.text, Inputs(call.text).names()) is None:
            yield "eager", f"layers cannot be made before: {type(error).__name__}: {error}"
        return
    try:
        wanted = eager(function, inputs)
    except Exception as error:
        if said := _refusal(call.text, function, inputs, opset, error):
            yield "eager", said
        return
    if not wanted:
        return
    for name, is_open, others in forms(inputs):
        if only is not None and only not in name:
            continue
        try:
            model = model_of(function, inputs, is_open, opset)
        except Refused as refused:
            yield name, f"refused: {refused.text}"
            continue
        except Exception as error:
            yield name, f"[{type(error).__name__}: {str(error)[:400]}]"
            continue
        cases = [(inputs, wanted)]
        if others:
            resized = drawn_inputs(call.text, others)
            with contextlib.suppress(Exception):  # the call needs this size
                cases.append((resized, eager(function, resized)))
        said = None
        for given, expected in cases:
            try:
                said = differences(expected, model.run(given), call.random)
            except Exception as error:
                said = f"[{type(error).__name__}: {str(error)[:400]}]"
            if said:
                break
        yield name, said and f"opset {model.opset}: {said}"
