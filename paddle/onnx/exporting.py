"""``export``: layers, functions and loaded models as ONNX files. The package ``onnx`` is loaded by a call."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from paddle._public import public
from paddle.framework.io import replacing
from paddle.jit.loading import FORWARD, TranslatedLayer
from paddle.jit.saving import recorded
from paddle.onnx.opsets import NEWEST, OLDEST
from paddle.static.formats.graph import Module
from paddle.static.formats.translate import Untranslatable, translate
from paddle.static.input import InputSpec
from umiak import ops as F
from umiak.core.array import host_values
from umiak.core.tensor import Tensor
from umiak.runtime.program_tracer import outside
from umiak.util.errors import called, op_error

if TYPE_CHECKING:
    from onnx import ModelProto

OP = "onnx.export"
END = ".onnx"
MOST_BYTES = 2**31 - 2**24  # of weights in one file: a protocol buffer holds 2 GiB, and needs room for the graph
_SAVED = {"output_spec", "input_names_after_prune"}  # what it means is said by jit.save
_ACCEPTED = {
    "with_hook", "combine_params", "clip_extra", "skip_prune_program", "verbose", "enable_dev_version",
    "enable_experimental_op", "enable_optimize", "optimize_tool", "dist_prim_all",
}  # fmt: skip
# Names that several versions of Paddle2ONNX have for one thing.
_SAME = {"auto_upgrade_opset": "auto_update_opset", "external_file": "external_filename"}
_OWN = {
    "enable_onnx_checker", "auto_update_opset", "deploy_backend", "external_filename", "output_names",
    "input_shape_dict",
}  # fmt: skip


@public("paddle.onnx")
def export(layer: Any, path: str, input_spec: Any = None, opset_version: int = 9, **configs: Any) -> None:
    """Export a layer or a function as an ONNX model, ``<path>.onnx``.

    The program is that of ``paddle.jit.save``: the form for evaluation, with branches and loops on data, and with
    dynamic axes where sizes in ``input_spec`` are None. The package ``onnx`` must be installed.

    Args:
        layer: a ``Layer`` or a function, captured by ``to_static`` or not, or what ``paddle.jit.load`` gave, also of
            files of PaddlePaddle; of several methods, ``forward``.
        path: the beginning of the file's name; the folder is made.
        input_spec: for each argument an ``InputSpec``, a tensor like it, or a value that is no tensor; None: what
            ``to_static`` was told, what the function was called with last, or what a loaded model says. Inputs have
            the names of the specs.
        opset_version: version of ONNX's operators, 11 to 21. A lower one asks for the lowest of these that can say the
            model.
        **configs: ``output_spec`` and ``input_names_after_prune`` as of ``paddle.jit.save``; ``enable_onnx_checker``:
            whether the model is checked by ``onnx.checker`` (True); ``auto_update_opset``: whether a higher opset is
            taken where ``opset_version`` cannot say the model (False); ``external_filename``: the name of a file
            beside the model for the weights, which is made by itself when there are more than 2 GiB;
            ``output_names``: names of the results, in order, or a dict of new ones by old ones; ``input_shape_dict``:
            shapes by the names of inputs, instead of those in the specs; ``deploy_backend``: None or
            ``"onnxruntime"``. ``auto_upgrade_opset`` and ``external_file`` mean what ``auto_update_opset`` and
            ``external_filename`` do; ``with_hook``, ``combine_params``, ``clip_extra``, ``skip_prune_program``,
            ``verbose``, ``enable_dev_version``, ``enable_experimental_op``, ``enable_optimize``, ``optimize_tool`` and
            ``dist_prim_all`` are accepted.

    Raises:
        ImportError: the package ``onnx`` is not installed.
        TypeError: something that is no layer or function.
        ValueError: a path without a name, an opset above 21, another config, no specs where they are needed, or
            operators that ONNX cannot say: all are named, each with the first opset that can.
        CaptureError: a function that is not one program: it needs values of tensors in Python.
        OSError: a file cannot be written.

    Note:
        ONNX has no assertions and prints nothing. What the program requires of sizes and data becomes a node
        ``Reshape`` that fails, with the condition in its name; texts are left out.

    Example:
        >>> import onnx, os, paddle, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "linear")
        >>> spec = paddle.static.InputSpec([None, 2], "float32", "x")
        >>> paddle.onnx.export(paddle.nn.Linear(2, 1), path, [spec], opset_version=17)
        >>> [node.op_type for node in onnx.load(path + ".onnx").graph.node]
        ['MatMul', 'Add']
    """
    try:
        import onnx  # noqa: F401 - the error says what to do where it is missing
    except ImportError as error:
        raise ImportError(
            f"[{called(OP)}] requires the package onnx, which is not installed. Run `pip install onnx`"
        ) from error
    prefix = os.fspath(path)
    if not os.path.basename(prefix):
        raise op_error(ValueError, OP, "a path that ends in a name", repr(path))
    configs = {_SAME.get(key, key): x for key, x in configs.items()}
    _check(opset_version, configs)
    if configs.get("input_shape_dict"):
        input_spec = _shaped(layer, input_spec, configs["input_shape_dict"])
    module, values = _module(layer, input_spec, configs, opset_version)
    higher = bool(configs.get("auto_update_opset", False))
    external = configs.get("external_filename")
    if external is None and sum(v.nbytes for v in values.values()) > MOST_BYTES:
        external = os.path.basename(prefix) + END + ".data"
    make = functools.partial(_model, module, values, opset_version, higher, results=configs.get("output_names"))
    if _stands_as_it_is(layer, input_spec, configs):
        make = functools.partial(
            _by_either, make, functools.partial(_recorded, layer, input_spec, configs, opset_version)
        )
    _write(make, prefix + END, external, bool(configs.get("enable_onnx_checker", True)))


def _check(opset: Any, configs: Mapping[str, Any]) -> None:
    if unknown := sorted(set(configs) - _SAVED - _ACCEPTED - _OWN):
        raise op_error(ValueError, OP, f"configs of {sorted(_SAVED | _ACCEPTED | _OWN)}", unknown)
    if type(opset) is not int or opset > NEWEST:
        raise op_error(ValueError, OP, f"opset_version up to {NEWEST}", repr(opset))
    backend = configs.get("deploy_backend")
    if backend not in (None, "onnxruntime"):
        raise op_error(
            ValueError, OP, "deploy_backend None or 'onnxruntime'", repr(backend),
            "Models are in standard operators alone, which other runtimes read too.",
        )  # fmt: skip


def _module(
    layer: Any, input_spec: Any, configs: Mapping[str, Any], opset: int
) -> tuple[Module, dict[str, np.ndarray]]:
    """A layer in the operators of PaddlePaddle, and the values of its parameters."""
    if _stands_as_it_is(layer, input_spec, configs):
        module = layer._method(FORWARD).module
        return module, {k: _array(v) for k, v in layer._held(module).items()}
    return _recorded(layer, input_spec, configs, opset)


def _stands_as_it_is(layer: Any, input_spec: Any, configs: Mapping[str, Any]) -> bool:
    """Is the program that of a file?"""
    return isinstance(layer, TranslatedLayer) and input_spec is None and all(configs.get(k) is None for k in _SAVED)


# Composites that ONNX has an operator for, and the first opset with it. Lower ones are given what they are made of.
_FIRST = {F.DeformableConv: 19}


def _recorded(
    layer: Any, input_spec: Any, configs: Mapping[str, Any], opset: int
) -> tuple[Module, dict[str, np.ndarray]]:
    contents = recorded(OP, layer, input_spec, configs).check()
    kept = {key: x.name for key, x in contents.kept.items() if x.kind != "constant"}
    try:
        with outside():  # values of constants are read
            spelt = [op for op, first in _FIRST.items() if opset < first]
            made = translate(contents.program, contents.feeds, len(contents.fetched), kept, spelt=spelt)
    except Untranslatable as error:
        raise op_error(
            ValueError, OP, "operators that PaddlePaddle has as well", ", ".join(error.what),
            "Compute these outside of the exported layer.",
        ) from error  # fmt: skip
    return made.module, {k: _array(v) for k, v in made.parameters.items()}


def _shaped(layer: Any, input_spec: Any, shapes: Any) -> list[Any]:
    """Specs with other shapes, by their names."""
    if input_spec is None and isinstance(layer, TranslatedLayer):
        input_spec = list(layer._method(FORWARD).specs)
    specs = list(input_spec) if isinstance(input_spec, (list, tuple)) else [input_spec]
    names = [x.name for x in specs if isinstance(x, InputSpec)]
    if not isinstance(shapes, Mapping) or not set(shapes) <= set(names):
        raise op_error(ValueError, OP, f"input_shape_dict of shapes by names out of {names}", repr(shapes))
    return [
        InputSpec(shapes[x.name], x.dtype, x.name) if isinstance(x, InputSpec) and x.name in shapes else x
        for x in specs
    ]


def _array(x: Any) -> np.ndarray:
    with outside():
        return host_values(x) if isinstance(x, Tensor) else np.asarray(x)


def _model(module: Module, values: Mapping[str, np.ndarray], opset: int, higher: bool, **said: Any) -> ModelProto:
    """The model at an opset, or at the first above it that can say the program."""
    from paddle.onnx.convert import Refused, convert

    higher = higher or opset < OLDEST
    at = max(opset, OLDEST)
    while True:
        try:
            return convert(module, values, at, op=OP, **said)
        except Refused as error:
            if not higher or error.opset is None:
                raise
            at = error.opset  # later than this one


def _by_either(direct: Callable[..., ModelProto], again: Callable[[], Any], **said: Any) -> ModelProto:
    """The model of a file. Where ONNX lacks one of its operators, it may have those that it is computed by here."""
    from paddle.onnx.convert import Refused

    try:
        return direct(**said)
    except Refused as refused:
        if refused.opset is not None:
            raise
        try:
            _, _, *rest = direct.args
            return functools.partial(direct.func, *again(), *rest, **direct.keywords)(**said)
        except (ValueError, TypeError):
            raise refused from None


def _write(make: Callable[..., ModelProto], path: str, external: str | None, checked: bool) -> None:
    """Write the model that ``make`` makes, and its weights beside it if they are to lie there."""
    import onnx

    if external is None:
        model = make()
        if checked:
            onnx.checker.check_model(model, full_check=True)
        with replacing(path) as file:
            file.write(model.SerializeToString())
        return
    from paddle.onnx.weights import Beside

    if os.path.basename(external) != external:
        raise op_error(ValueError, OP, "external_filename without a folder: it lies beside the model", repr(external))
    with replacing(os.path.join(os.path.dirname(path), external)) as file:
        model = make(initializer=Beside(file, external))
    with replacing(path) as file:
        file.write(model.SerializeToString())
    if checked:
        onnx.checker.check_model(path, full_check=True)
