"""``load``: models in files as layers."""

from __future__ import annotations

import glob
import os
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from paddle._public import public
from paddle.framework import unique_name
from paddle.framework.param_attr import ParamAttr
from paddle.framework.parameter import Parameter
from paddle.jit.concrete import ConcreteProgram, spec_of
from paddle.jit.sot.function import FullGraphFunction, SymbolicStaticFunction
from paddle.nn.layer.layers import Layer
from paddle.static.formats.files import (
    PROGRAM_ENDS,
    VALUES_END,
    damaged,
    paths_of,
    read_program,
    read_values,
    unregistered,
)
from paddle.static.formats.graph import PARAMETER, Module
from paddle.static.formats.operators.table import FromData
from paddle.static.formats.recompose import recomposed
from paddle.static.formats.record import (
    Values,
    check_operators,
    has_growing_loops,
    has_sizes_of_data,
    input_types,
    is_kept,
    output_names,
    parameter_names,
    program_over,
    trainable,
)
from paddle.static.formats.untiled import untiled
from paddle.static.input import InputSpec
from paddle.static.program import Program
from umiak.core.array import from_numpy
from umiak.core.context import current
from umiak.core.dtype import DType
from umiak.core.tensor import Tensor
from umiak.ir.registry import NotRegistered
from umiak.ir.serialise import FormatError
from umiak.runtime.capture import CaptureError
from umiak.runtime.captured_function import Captured
from umiak.util.arguments import file_name
from umiak.util.errors import op_error

FORWARD = "forward"


class NoModel(FileNotFoundError, ValueError):
    """A model that is not there. It is a ValueError in the reference framework."""


class _Captured(SymbolicStaticFunction):
    """The captured program of a method, called with its inputs by position or by name, arrays among them."""

    # The program as one graph, where parts of it may be in no other: loops that carry what grows, and operators whose
    # sizes data decide. None if there are none, or it cannot be one.
    one_graph: FullGraphFunction | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        inputs = self.dygraph_function.__self__.bound(args, kwargs)
        one_graph = self.one_graph  # which another thread may take away
        if one_graph is not None and not current().trace:
            try:
                return one_graph(*inputs)
            except (CaptureError, FromData):  # before anything ran
                self.one_graph = None
        return super().__call__(*inputs)

    def _captures(self) -> list[Captured]:
        return [*(self.one_graph._captures() if self.one_graph is not None else ()), *super()._captures()]

    def _concrete(self) -> list[ConcreteProgram]:
        return [*(self.one_graph._concrete() if self.one_graph is not None else ()), *super()._concrete()]


class _Method:
    """One of the programs of a loaded layer, which is captured when it is first called."""

    def __init__(self, layer: TranslatedLayer, name: str, module: Module) -> None:
        self.layer, self.name, self.module = layer, name, module
        self.types = input_types(module)
        self.specs = [InputSpec(list(t.shape), t.dtype, name=n) for n, t in self.types.items()]
        self.outputs = output_names(module)
        self.captured = _Captured(self.run, self.specs)
        self.captured.__name__ = name
        if has_growing_loops(module) or has_sizes_of_data(module):
            self.captured.one_graph = FullGraphFunction(self.run, self.specs)
            self.captured.one_graph.__name__ = name

    def run(self, *inputs: Tensor) -> Any:
        """Call the operations of the program."""
        given = dict(zip(self.types, self.bound(inputs, {}), strict=True))
        outputs = Values(self.module, self.layer._held(self.module), given).run()
        return outputs[0] if len(outputs) == 1 else outputs

    def bound(self, args: tuple, kwargs: Mapping[str, Any]) -> list[Tensor]:
        """The inputs, in order."""
        names = list(self.types)
        given = dict(zip(names, args, strict=False))
        if len(args) > len(names) or not given.keys().isdisjoint(kwargs) or {*given, *kwargs} != set(names):
            got = [*(f"{len(args)} by position",) * bool(args), *kwargs]
            raise op_error(TypeError, self.name, f"the inputs {names}", got)
        given.update(kwargs)
        return [self._tensor(n, given[n]) for n in names]

    def _tensor(self, name: str, x: Any) -> Tensor:
        if isinstance(x, np.ndarray):
            x = from_numpy(x)
        if not isinstance(x, Tensor):
            raise op_error(TypeError, self.name, f"a tensor or an array as {name!r}", type(x).__name__)
        return x


@public("paddle.jit")
class TranslatedLayer(Layer):
    """A layer that :func:`load` made of the programs in files: no class of the user's is needed.

    Calls run the saved ``forward`` as a captured function, with gradients; other methods that were saved are there
    under their names. Parameters are called ``param_0``, ``param_1``, …, in the order of their names in the file.
    ``train`` and ``eval`` set ``training`` alone: programs are saved as they are in evaluation.

    Args:
        programs: by the names of methods.
        persistable_vars: values of their parameters by name.

    Shape:
        - Inputs and results have the sizes with which the program was saved.

    Note:
        It is made by ``paddle.jit.load`` alone.

    Example:
        >>> import numpy, os, paddle, tempfile
        >>> paddle.enable_static()
        >>> prefix = os.path.join(tempfile.mkdtemp(), "model")
        >>> with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
        ...     x = paddle.static.data("x", [None, 2])
        ...     paddle.static.save_inference_model(prefix, [x], [x * 2.0], paddle.static.Executor())
        >>> paddle.disable_static()
        >>> layer = paddle.jit.load(prefix)
        >>> layer(paddle.ones([1, 2])).tolist()
        [[2.0, 2.0]]
    """

    def __init__(self, programs: Mapping[str, Module], persistable_vars: Mapping[str, Any]) -> None:
        super().__init__()
        copied = {
            n: from_numpy(v) if isinstance(v, np.ndarray) else v.detach().clone() for n, v in persistable_vars.items()
        }
        self._fill(programs, copied)

    def _fill(self, programs: Mapping[str, Module], values: Mapping[str, Tensor]) -> None:
        """``values``: tensors that nobody else has."""
        self._keys: dict[str, str] = {}  # by the names in files
        self._dtypes: dict[str, DType] = {}
        kept = (o for m in programs.values() for o in m.named(PARAMETER) if is_kept(o))
        flags = {o.plain("parameter_name"): trainable(o) for o in kept}
        for i, name in enumerate(sorted(flags)):
            made = Parameter(values[name].detach())
            made._describe(unique_name.generate(name), ParamAttr(trainable=flags[name]))
            self._keys[name] = f"param_{i}"
            self._dtypes[name] = made.dtype
            self.add_parameter(f"param_{i}", made)
        self._methods = {name: _Method(self, name, module) for name, module in programs.items()}
        self.__dict__.update((name, method.captured) for name, method in self._methods.items())
        self.eval()

    def _held(self, module: Module) -> dict[str, Any]:
        """The parameters of a module by their names in files, in the dtypes that its operators were saved for."""
        held = {name: self._parameters[self._keys[name]] for name in parameter_names(module)}
        return {name: x if x.dtype is self._dtypes[name] else x.astype(self._dtypes[name]) for name, x in held.items()}

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the saved ``forward``.

        Args:
            *args: tensors or arrays for its inputs, in order.
            **kwargs: the same by names.

        Returns:
            A tensor, or a list of them where it has several results.

        Raises:
            TypeError: other inputs than it has.
            ValueError: only other methods were saved.
        """
        return self._method(FORWARD).captured(*args, **kwargs)

    def _method(self, name: str) -> _Method:
        if name not in self._methods:
            raise op_error(ValueError, name, f"a method that was saved: {sorted(self._methods)}", name)
        return self._methods[name]

    def _input_spec(self, method_name: str = FORWARD) -> list[InputSpec]:
        """Specs of the inputs of a method."""
        return list(self._method(method_name).specs)

    def _output_spec(self, method_name: str = FORWARD) -> list[InputSpec]:
        """Specs of the results of a method."""
        method = self._method(method_name)
        variables = self.program(method_name).global_block().vars
        return [spec_of(variables[n], n) for n in method.outputs]

    def program(self, method_name: str = FORWARD) -> Program:
        """Return the program of a method, over the parameters of this layer.

        Args:
            method_name: the method.

        Returns:
            A program of ``paddle.static``.

        Raises:
            ValueError: a method that was not saved.
        """
        module = self._method(method_name).module
        return program_over(module, self._held(module))[0]


@public("paddle.jit")
def load(path: str, **configs: Any) -> TranslatedLayer:
    """Read a model that ``paddle.jit.save`` or ``paddle.static.save_inference_model`` wrote, or PaddlePaddle did.

    No code is run, and no class is needed. Formats: ``.json`` or ``.pdmodel`` with ``.pdiparams``; ``__model__`` in a
    folder, with one file of parameters or a file for each.

    Args:
        path: the beginning of the names of the files, or a folder.
        **configs: ``model_filename`` and ``params_filename``: names of the files, where ``path`` is a folder.

    Returns:
        A :class:`TranslatedLayer`, in evaluation; its parameters can be trained.

    Raises:
        TypeError: something that names no file.
        ValueError: another option, an empty name, or files that are no such model, damaged, or with operators that are
            not known.
        RuntimeError: operators of users (``paddle.library``) that are not registered here.
        FileNotFoundError: a file that is not there; of the program's file, it is a ValueError as well.

    Example:
        >>> import paddle
        >>> paddle.jit.load("/nowhere/model")
        Traceback (most recent call last):
        paddle.jit.loading.NoModel: [load] requires a model '/nowhere/model', got no file '/nowhere/model.json'
    """
    if unknown := sorted(set(configs) - {"model_filename", "params_filename"}):
        raise op_error(ValueError, "load", "options of ['model_filename', 'params_filename']", unknown)
    if empty := sorted(name for name, value in configs.items() if value == ""):
        raise op_error(ValueError, "load", "names of files", f"empty {', '.join(empty)}")
    prefix = file_name("load", "the beginning of names of files, or a folder", path)
    if configs and any(os.path.isfile(prefix + end) for end in PROGRAM_ENDS):
        warnings.warn(f"[load] takes the files of {prefix!r}: {sorted(configs)} name files in folders", stacklevel=2)
        configs = {}
    sources = {FORWARD: paths_of(prefix, configs.get("model_filename"), configs.get("params_filename"))}
    if not configs:
        for end in PROGRAM_ENDS:
            for found in sorted(glob.glob(f"{glob.escape(prefix)}.*{end}")):
                name = found[len(prefix) + 1 : -len(end)]
                if name.isidentifier() and not hasattr(Layer, name) and _is_program(found):
                    sources.setdefault(name, paths_of(f"{prefix}.{name}"))
        if len(sources) > 1 and not os.path.exists(sources[FORWARD][0]):
            del sources[FORWARD]
    for model, _ in sources.values():
        if not os.path.exists(model):
            raise op_error(NoModel, "load", f"a model {prefix!r}", f"no file {model!r}")
    modules = {name: _read(model) for name, (model, _) in sources.items()}
    together = sorted({n for module in modules.values() for n in parameter_names(module)})
    values: dict[str, Any] = {}
    for name, (_, params) in sources.items():
        source = params or paths_of(prefix)[1]  # without a file of its own, a method's values are in the one of all
        wanted = parameter_names(modules[name])
        if not wanted and params is None:  # and the file of another method is no business of one that has no values
            continue
        if source is not None:
            values = {**_values(source, wanted, together), **values}
        elif missing := sorted(set(wanted) - set(values)):
            raise op_error(ValueError, "load", f"values of {missing} in {prefix + VALUES_END}", "no such file")
    if len(modules) == 1:  # of several, another may read the same values
        ((name, module),) = modules.items()
        modules[name], values = untiled(module, values)
    layer = object.__new__(TranslatedLayer)
    Layer.__init__(layer)
    layer._fill(modules, _own(values))
    return layer


def _own(values: Mapping[str, Any]) -> dict[str, Tensor]:
    """Values that were read, as tensors that share nothing."""
    own, seen = {}, set()
    for name, value in values.items():
        x = from_numpy(value) if isinstance(value, np.ndarray) else value
        own[name] = x.clone() if id(x.storage) in seen else x
        seen.add(id(own[name].storage))
    return own


def _values(source: str, wanted: list[str], together: list[str]) -> dict[str, Any]:
    """Values in a file: of a program, or of the programs of all methods."""
    try:
        return read_values(source, wanted, "load")
    except ValueError:
        if sorted(wanted) == together:
            raise
        return read_values(source, together, "load")


def _is_program(path: str) -> bool:
    """Is a file beside a model one of its methods? JSON documents of programs begin so, settings of others do not."""
    with open(path, "rb") as file:
        return not path.endswith(".json") or b'"base_code"' in file.read(64)


def _read(path: str) -> Module:
    """A program, whose operators are known."""
    module = read_program(path, "load")
    if not isinstance(module, Module):
        raise op_error(
            ValueError, "load", f"a program in {path} in operators of PaddlePaddle", "one in operators of Umiak",
            "Read it with paddle.static.load_inference_model, and save it again.",
        )  # fmt: skip
    try:
        check_operators(module)
    except FormatError as error:
        raise damaged("load", "program", path, error) from error
    except NotRegistered as error:
        raise unregistered("load", path, error) from error
    return recomposed(module)
