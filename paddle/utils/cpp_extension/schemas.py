"""Operators that a library registers by schemas, as kernels for PyTorch do (``torch/library.h``).

``TORCH_LIBRARY(space, m) { m.def("f(Tensor x) -> Tensor"); }`` becomes ``paddle.ops.space.f``; functions of keys are
its kernels. A function of the key ``Meta`` runs over tensors of the device without data, and says shapes and dtypes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from paddle.library.custom_op import CustomOpDef
from paddle.library.libraries import _KEYS
from paddle.library.registry import PYTHON_OP_REGISTRY
from paddle.utils.cpp_extension.shapes import learned_or_asked
from umiak import ops as F
from umiak.core.context import current, place_guard
from umiak.core.extension import Declaration
from umiak.core.place import Place
from umiak.core.tensor import Tensor
from umiak.ir.meta import Meta
from umiak.ops.custom_op import EVERY_DEVICE, Definition, take_out
from umiak.ops.schema import checked_name, parse

_SCHEMA = 1


def registered_schemas(declarations: Sequence[Declaration]) -> dict[str, Callable[..., Any]]:
    """Enter operators and functions in the registry, schemas first: the operators by name, without namespace."""
    operators: dict[str, CustomOpDef] = {}
    try:
        for d in declarations:
            if d.kind == _SCHEMA:
                operator = _defined(d)
                operators[operator.name] = operator
        for d in declarations:
            if d.kind != _SCHEMA:
                _implement(d, d.name, d.key)
    except BaseException:
        for name in operators:
            take_out(PYTHON_OP_REGISTRY.remove(name).definition)
        raise
    return {name.rpartition("::")[2]: operator for name, operator in operators.items()}


def _refused(d: Declaration, text: str) -> ImportError:
    return ImportError(f"[{d.name}] {text} ({d.file}:{d.line})")


def _defined(d: Declaration) -> CustomOpDef:
    name = d.name.partition("(")[0].strip()
    try:
        schema = parse(d.name, checked_name(name, "TORCH_LIBRARY"))
        operator: CustomOpDef = CustomOpDef.__new__(CustomOpDef)
        operator._enter(schema, None, None, ())
    except ValueError as error:
        raise _refused(d, str(error)) from error
    if d.runs:
        _implement(d, name, "")
    return operator


def _implement(d: Declaration, name: str, key: str) -> None:
    """Give an operator the function of a declaration."""
    if not PYTHON_OP_REGISTRY.has_operator(name):
        raise _refused(
            d, "an operator that some library defines is required for TORCH_LIBRARY_IMPL, got a name that none has"
        )
    operator = PYTHON_OP_REGISTRY.get_operator(name)
    d.label = name
    if key == "Meta":
        operator.definition.infer = _inference(d, operator.definition)
    elif key in _KEYS:
        operator.definition.kernels[_KEYS[key] or EVERY_DEVICE] = _kernel(d, operator.definition)
    else:
        hint = "; gradients are registered by register_autograd in Python" if "Autograd" in key else ""
        raise _refused(d, f"one of {', '.join(k for k in _KEYS if k)} and Meta is required as key, got {key}{hint}")
    operator.changed()


def _kernel(d: Declaration, definition: Definition) -> Callable[..., Any]:
    written = definition.schema.written
    count = definition.schema.count

    def run(*args: Any) -> Any:
        results = d.run(args)
        for i, x in enumerate(results):
            if x is None:
                raise ValueError(
                    f"[{d.label}] requires tensors as results of its kernel, got an undefined one as result {i}"
                )
        for i in written:
            for x in args[i] if isinstance(args[i], (list, tuple)) else [args[i]]:
                if isinstance(x, Tensor):
                    x._bump_version()
        if count is not None and len(results) != count:
            raise ValueError(
                f"[{d.label}] requires {count} results from its kernel, as its schema says, got {len(results)}"
            )
        return None if count == 0 else results[0] if count == 1 else tuple(results) if count else list(results)

    return run


def _inference(d: Declaration, definition: Definition) -> Callable[..., Any]:
    count = definition.schema.count

    def infer(*args: Any) -> Any:
        dtypes: list[Any] = []

        def asked(values: Sequence[Any]) -> list[tuple[int, ...]]:
            with _apart(), place_guard(Place("null")):
                results = d.run(tuple(_without_data(x) for x in values))
            dtypes[:] = [x.dtype for x in results if x is not None]
            return [tuple(x.shape) for x in results if x is not None]

        shapes = learned_or_asked(d.label, args, asked)
        metas = [Meta(tuple(s), t) for s, t in zip(shapes, dtypes, strict=True)]
        return None if count == 0 else metas[0] if count == 1 else tuple(metas) if count else metas

    return infer


@contextmanager
def _apart() -> Iterator[None]:
    """Calls run at once, whatever is traced here."""
    former = current().fork().activate()
    try:
        yield
    finally:
        if former is not None:
            former.activate()


def _without_data(x: Any) -> Any:
    if isinstance(x, Meta):
        assert x.dtype is not None
        return F.full(0, dtype=x.dtype, shape=tuple(int(n) for n in x.shape))
    return type(x)(map(_without_data, x)) if isinstance(x, (list, tuple)) else x
