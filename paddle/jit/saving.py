"""``jit.save``: captured functions and layers as files, in the form for inference.

A function is recorded in static mode, over its rewritten source, as one program.
"""

from __future__ import annotations

import inspect
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from paddle._public import public
from paddle.distributed.data_parallel import DataParallel
from paddle.framework.io import replacing
from paddle.framework.mode import disable_static, in_dynamic_mode
from paddle.framework.parameter import Parameter
from paddle.jit.concrete import Arguments
from paddle.jit.function import StaticFunction
from paddle.jit.source import rewriting as source
from paddle.jit.source.errors import SourceError
from paddle.jit.source.growing import put_back
from paddle.jit.source.recorded import left_alone
from paddle.nn.layer.layers import Layer
from paddle.static.extract import extracted
from paddle.static.formats import parameters
from paddle.static.formats.files import IN_FOLDER
from paddle.static.formats.writing import Written, values_of, written
from paddle.static.input import InputSpec
from paddle.static.program import Program, enable_static, program_guard
from paddle.static.program_file import Contents
from paddle.static.variable import data
from paddle.tensor._args import of_sizes
from paddle.tensor._tensor_array import TensorArray
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.array import host_values
from umiak.core.context import current
from umiak.core.tensor import Tensor
from umiak.ir.expr import Sym
from umiak.ir.size_array import SizeArray
from umiak.ir.tracer import SymTensor
from umiak.runtime.program_tracer import ProgramTracer, outside
from umiak.util import pytree
from umiak.util.arguments import file_name
from umiak.util.errors import op_error

PROGRAM, PARAMETERS = ".json", ".pdiparams"
_RECORDING = "jit.recording"  # of the rank's values: the lock of the thread that records
_CONFIGS = {
    "output_spec", "with_hook", "combine_params", "clip_extra", "skip_forward", "input_names_after_prune",
    "skip_prune_program", "separate_parameters",
}  # fmt: skip


@dataclass
class _Target:
    """A function that is saved: what is traced, the function whose parameters it has, and what it is called with.

    ``said``: specs that ``to_static`` was told (``told``), or those of the last call, or None; ``layer``: whose
    method it is; ``op_name``: what the user called.
    """

    traced: Callable[..., Any]
    function: Callable[..., Any]
    said: Any
    layer: Layer | None
    told: bool = False
    op_name: str = "jit.save"

    @property
    def name(self) -> str:
        return getattr(self.function, "__name__", type(self.function).__name__)


@public("paddle.jit")
def save(layer: Any, path: str, input_spec: Any = None, **configs: Any) -> None:
    """Save a layer or a function for inference, as PaddlePaddle 3 does: ``<path>.json`` and ``<path>.pdiparams``.

    Other methods of a layer that ``to_static`` was applied to, but those with ``property=True``, are saved as
    ``<path>.<method>.json``. Programs are those
    for evaluation: without dropout, and with batch norms that take their running statistics; what else depends on
    ``layer.training`` is as the layer is. Nothing is printed. Inputs stay inputs where no result needs them, which
    PaddlePaddle refuses. There is no file of parameters where there are none. A program that the operators of
    PaddlePaddle cannot say is written in our own format, with a warning that names the operators.

    Args:
        layer: a ``Layer`` or a function, captured by ``to_static`` or not; of a ``DataParallel``, what is in it.
        path: the beginning of the names of the files; the folder is made.
        input_spec: for each argument an ``InputSpec``, a tensor like it, a list, tuple or dict of these, or a value
            that is no tensor; sizes of None may differ in later calls. None: what ``to_static`` was told, what the
            function was called with last, or what a loaded model says. Where ``to_static`` was told some, these must
            fit them, and the sizes stay as they were told; fewer, or the same in another order, choose by their names
            among those, and others that a result needs are kept.
        **configs: ``output_spec``: the results that are kept: by position, as specs out of ``outputs`` of the captured
            function, or as results of a call of which one alone has this shape and dtype;
            ``input_names_after_prune``: the inputs that are kept, which must be all that these need;
            ``skip_forward``: whether ``forward`` of a layer is left out; ``combine_params``: whether all methods
            share the one file ``<path>.pdiparams``; ``separate_parameters``: whether each parameter is a file of its
            name instead, beside ``__model__.json``, the program of ``forward``; the folder is what is loaded then.
            ``with_hook``, ``clip_extra`` and ``skip_prune_program`` are accepted: hooks of layers are
            saved, and no superfluous operator is.

    Raises:
        TypeError: something that is no layer or function.
        ValueError: a path without a name, another config, no specs where they are needed, specs that do not fit those
            of ``to_static``, specs given for a layer of which several methods are saved, results that are none, or an
            input that is needed and left out.
        CaptureError: a function that is not one program: it needs values of tensors in Python.
        OSError: a file cannot be written.

    Example:
        >>> import os, paddle, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> layer = paddle.nn.Linear(2, 1)
        >>> paddle.jit.save(layer, os.path.join(folder, "m"), [paddle.static.InputSpec([None, 2])])
        >>> sorted(os.listdir(folder))
        ['m.json', 'm.pdiparams']
    """
    prefix = file_name("jit.save", "a path that ends in a name", path)
    if not os.path.basename(prefix):
        raise op_error(ValueError, "jit.save", "a path that ends in a name", repr(path))
    if unknown := set(configs) - _CONFIGS:
        raise op_error(ValueError, "jit.save", f"configs of {sorted(_CONFIGS)}", sorted(unknown))
    targets = _targets(layer, bool(configs.get("skip_forward")))
    if not targets:
        raise op_error(ValueError, "jit.save", "a method that is captured by to_static besides forward", "none")
    if input_spec is not None and any(key for key in targets):
        others = sorted(key for key in targets if key)
        raise op_error(
            ValueError, "jit.save", "input_spec None where several methods are saved", f"specs, and {others}",
            "Give each method its input_spec in to_static.",
        )  # fmt: skip
    combined = bool(configs.get("combine_params")) and "" in targets
    made: dict[str, Written] = {}
    together: dict[str, Tensor] = {}  # what all methods read; the file of ``forward`` has it, and comes last
    for key in sorted(targets, reverse=True):
        made[key] = written("jit.save", _contents(targets[key], input_spec, configs), together)
        if combined:
            together.update(made[key].tensors)
    _write(prefix, made, combined, bool(configs.get("separate_parameters")))


def recorded(op_name: str, layer: Any, input_spec: Any, configs: Mapping[str, Any]) -> Contents:
    """The program of a function, or of a layer's ``forward``, which other writers of files take.

    Args:
        op_name: the function that the user called, for errors.
        layer: as of :func:`save`.
        input_spec: as of :func:`save`.
        configs: ``output_spec`` and ``input_names_after_prune`` as of :func:`save`.
    """
    while isinstance(layer, DataParallel):
        layer = layer._layers
    if not isinstance(layer, Layer) and (not callable(layer) or isinstance(layer, type)):
        raise op_error(TypeError, op_name, "a Layer or a function", type(layer).__name__)
    target = _of_layer(layer) if isinstance(layer, Layer) else _of_function(layer)
    target.op_name = op_name
    return _contents(target, input_spec, configs)


# --- what is saved ---------------------------------------------------------------------------------------------------


def _targets(layer: Any, skip_forward: bool) -> dict[str, _Target]:
    """The functions that are saved, by the ends of their names; that of ``forward`` is ''."""
    while isinstance(layer, DataParallel):
        layer = layer._layers
    if not isinstance(layer, Layer):
        if not callable(layer) or isinstance(layer, type):
            raise op_error(TypeError, "jit.save", "a Layer or a function", type(layer).__name__)
        return {"": _of_function(layer)}
    found = {} if skip_forward else {"": _of_layer(layer)}
    for name in sorted({*dir(type(layer)), *layer.__dict__}):
        if name != "forward" and not name.startswith("__static_"):
            own = inspect.getattr_static(layer, name, None)
            if isinstance(own, StaticFunction) and not own._gives_plain_values:
                found[name] = _of_function(getattr(layer, name))
    return found


def _of_layer(layer: Layer) -> _Target:
    forward = layer.forward
    captured = forward if isinstance(forward, StaticFunction) else None
    function = captured.dygraph_function if captured is not None else forward
    said, told = (None, False) if captured is None else _said(captured)
    return _Target(source.traceable(layer), function, said, layer, told)


def _of_function(function: Any) -> _Target:
    if isinstance(function, StaticFunction):
        plain = function.dygraph_function
        said, told = _said(function)
    else:
        plain, said, told = function, None, False
    owner = getattr(plain, "__self__", None)
    try:
        traced = source.traceable(plain)
    except SourceError:  # what has no branch on a tensor is recorded nevertheless
        traced = plain
    return _Target(traced, plain, said, owner if isinstance(owner, Layer) else None, told)


def _said(function: StaticFunction) -> tuple[Any, bool]:
    """Specs that a captured function has: those it was told, and True, or those of its last call."""
    told = function._input_spec is not None
    return function._input_spec if told else function._called_with(), told


def _signature(function: Callable[..., Any]) -> str:
    try:
        return str(inspect.signature(function))
    except ValueError:
        return "(...)"


# --- recording -------------------------------------------------------------------------------------------------------


def _contents(target: _Target, input_spec: Any, configs: Mapping[str, Any]) -> Contents:
    """A function as a program."""
    said = _specs(target, input_spec)
    if said is None and target.function is not None:
        raise op_error(
            ValueError, target.op_name, f"input_spec, or a call of {target.name} by to_static before", "neither",
            f"{target.name}{_signature(target.function)} takes no arguments by itself.",
        )  # fmt: skip
    main = Program()
    with ExitStack() as stack:
        # Static mode and its default programs are those of all threads.
        stack.enter_context(current().state.values.setdefault(_RECORDING, threading.RLock()))
        stack.enter_context(_left_alone(target.layer))
        if in_dynamic_mode():
            _as_state_says(target.layer)
            enable_static()
            stack.callback(disable_static)
        stack.enter_context(program_guard(main, Program()))
        stack.enter_context(left_alone(target.function))
        stack.enter_context(put_back())
        args, kwargs = _arguments(target, said)
        results = target.traced(*args, **kwargs)
        fetched = [main._tracer.tensor(x) for x in map(_tensor_of, _values_in(results, (Tensor, Sym, SizeArray)))]
    if not fetched:
        grown = type(results) is TensorArray
        got = "a list whose length a loop on tensors or sizes decides" if grown else type(results).__name__
        hint = "Return paddle.stack of it." if grown else ""
        raise op_error(ValueError, target.op_name, f"a tensor as a result of {target.name}", got, hint)
    fetched = _chosen(fetched, configs.get("output_spec"), target)
    for i, x in enumerate(fetched):
        if not any(x is fed for _, fed in main._tracer.feeds):
            x.name = f"fetch_name_{i}"
    buffers = {id(x) for x in _buffers(target.layer)}
    feeds = _feeds(main._tracer, configs.get("input_names_after_prune"), target)
    spared: set[str] = set()
    if _chooses(target, input_spec):
        spared = {name for name, _ in main._tracer.feeds}.difference(x.name for x in pytree.leaves(input_spec))
    return extracted(target.op_name, main._tracer, feeds, fetched, lambda x: _kind(x, buffers), spared)[0]


def _specs(target: _Target, input_spec: Any) -> Any:
    """Specs of what is saved. Others must fit those that ``to_static`` was told, whose sizes stay in ``jit.save``, as
    in the reference; exports may fix them."""
    if input_spec is None or _chooses(target, input_spec):
        return target.said
    if not target.told:
        return input_spec
    told, structure = pytree.flatten(target.said)
    given = pytree.leaves(_in_order(input_spec, target.said))
    if len(told) != len(given):
        return input_spec
    return structure.unflatten([_merged(target, t, g) for t, g in zip(told, given, strict=True)])


def _in_order(given: Any, told: Any) -> Any:
    """Specs with the keys of dicts in the order in which ``to_static`` was told them."""
    if isinstance(given, dict) and isinstance(told, dict) and given.keys() == told.keys():
        return {k: _in_order(given[k], x) for k, x in told.items()}
    if isinstance(given, (list, tuple)) and isinstance(told, (list, tuple)) and len(given) == len(told):
        return [_in_order(g, t) for g, t in zip(given, told, strict=True)]
    return given


def _merged(target: _Target, told: Any, given: Any) -> Any:
    """Return what ``to_static`` was told of an argument, under the name that is given now."""
    if not isinstance(told, (InputSpec, Tensor)):
        if type(given) is not type(told) or not np.array_equal(given, told):
            raise op_error(ValueError, target.op_name, f"{told!r}, which to_static was told", repr(given))
        return told
    own = told if isinstance(told, InputSpec) else InputSpec.from_tensor(told)
    other = InputSpec.from_tensor(given) if isinstance(given, Tensor) else given
    if not isinstance(other, InputSpec) or own.dtype is not other.dtype or not _fits(own.shape, other.shape):
        required = f"an input_spec that fits {own}, which to_static was told"
        raise op_error(ValueError, target.op_name, required, repr(given))
    sizes = own.shape if target.op_name == "jit.save" else other.shape
    return InputSpec(sizes, own.dtype, other.name if other is given and other.name else own.name, own.stop_gradient)


def _fits(told: Sequence[int], given: Sequence[int]) -> bool:
    return len(told) == len(given) and all(t == g or -1 in (t, g) for t, g in zip(told, given, strict=True))


def _chooses(target: _Target, input_spec: Any) -> bool:
    """Do specs choose among those that ``to_static`` was told, as in the reference, rather than take their place?"""
    said = target.said
    if not isinstance(said, (list, tuple)) or not isinstance(input_spec, (list, tuple)):
        return False
    of_parameters = {id(s): p.name for p, s in zip(_parameters(target.function), said, strict=False)}
    own = [(s.name or of_parameters.get(id(s)), s) for s in _values_in(said, (InputSpec,))]
    given = pytree.leaves(input_spec)
    names = [s.name if isinstance(s, InputSpec) else None for s in given]
    known = dict(own)
    if not names or None in names or len({*names}) < len(names) or not known.keys() >= {*names}:
        return False
    if names == [name for name, _ in own]:
        return False
    for s in given:
        if (s.shape, s.dtype) != (known[s.name].shape, known[s.name].dtype):
            required = f"{known[s.name]}, which to_static was told, where inputs are chosen"
            raise op_error(ValueError, target.op_name, required, s)
    return True


def _parameters(function: Callable[..., Any]) -> Sequence[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except ValueError:  # of a function in C
        return []


@contextmanager
def _left_alone(layer: Layer | None) -> Iterator[None]:
    """Attributes that recording sets on a layer, or those inside of it, get back what they were."""
    layers = [] if layer is None else layer.sublayers(include_self=True)
    before: list[tuple[dict[str, Any], dict[str, Any]]]
    before = [(own, dict(own)) for x in layers for own in (x._parameters, x._buffers, x._sub_layers)]
    before += [(x.__dict__, dict(x.__dict__)) for x in layers]  # behind the tables, which write to it
    try:
        yield
    finally:
        for now, then in before:
            if now.keys() != then.keys() or any(now[k] is not v for k, v in then.items()):
                now.clear()
                now.update(then)


def _as_state_says(layer: Layer | None) -> None:
    """Give parameters the dtypes of ``state_dict``, which hooks may change, as that of ``save_dtype`` does."""
    if layer is None or not any(below._state_dict_hooks for below in layer.sublayers(include_self=True)):
        return
    made: dict[int, Parameter] = {}
    state = layer.state_dict()
    for prefix, below in layer.named_sublayers(include_self=True):
        for name, p in list(below._parameters.items()):
            other = state.get(f"{prefix}.{name}" if prefix else name)
            if p is not None and isinstance(other, Tensor) and other.dtype is not p.dtype:
                if id(p) not in made:
                    made[id(p)] = Parameter(other.detach(), not p.stop_gradient, p.name)
                setattr(below, name, made[id(p)])


def _buffers(layer: Layer | None) -> Iterator[Tensor]:
    if layer is not None:
        yield from layer.buffers()


def _kind(x: Tensor, buffers: set[int]) -> str:
    if isinstance(x, Parameter):
        return "parameter"
    return "variable" if x.persistable or id(x) in buffers else "constant"


def _feeds(tracer: ProgramTracer, names: Sequence[str] | None, target: _Target) -> list[Tensor]:
    """The inputs that the program may read."""
    feeds = dict(tracer.feeds)
    if names is None:
        return list(feeds.values())
    if missing := [n for n in names if n not in feeds]:
        raise op_error(ValueError, target.op_name, f"input_names_after_prune out of {list(feeds)}", missing)
    return [x for n, x in feeds.items() if n in names]


def tensors_in(x: Any) -> Iterator[Tensor]:
    """The tensors of a result, in order; those of a dict by their keys."""
    return _values_in(x, (Tensor,))


def _values_in(x: Any, kinds: tuple[type, ...]) -> Iterator[Any]:
    if isinstance(x, kinds):
        yield x
    elif isinstance(x, (list, tuple)):
        for v in x:
            yield from _values_in(v, kinds)
    elif isinstance(x, Mapping):
        for key in sorted(x):
            yield from _values_in(x[key], kinds)


def _tensor_of(x: Any) -> Tensor:
    """A result of a program: what is computed of open sizes is a tensor there, as files have nothing else."""
    if isinstance(x, SizeArray):
        return of_sizes(x)
    if type(x) is not Sym:
        return x
    return F.full(x, dtype={"int": dt.int64, "float": dt.float32, "bool": dt.bool}[x.kind], shape=())


def _chosen(fetched: list[SymTensor], wanted: Any, target: _Target) -> list[SymTensor]:
    """The results that ``output_spec`` names."""
    if wanted is None:
        return fetched
    known = target.layer.forward if isinstance(target.layer, Layer) else None
    outputs: list[InputSpec] = known.outputs if isinstance(known, StaticFunction) and known._concrete() else []
    found = []
    for x in wanted if isinstance(wanted, (list, tuple)) else [wanted]:
        places = [i for i, spec in enumerate(outputs) if spec is x]
        if isinstance(x, (InputSpec, Tensor)) and not places:
            places = [i for i, y in enumerate(fetched) if _like(x, y)]
        if isinstance(x, int) and not isinstance(x, bool) and -len(fetched) <= x < len(fetched):
            places = [x]
        if len(places) != 1:
            raise op_error(ValueError, target.op_name, f"output_spec of one of {len(fetched)} results each", repr(x))
        found.append(fetched[places[0]])
    return found


def _like(given: InputSpec | Tensor, x: SymTensor) -> bool:
    """Does a spec say this result, or was a tensor one of an earlier call?"""
    sizes = tuple(n if type(n) is int else -1 for n in x.shape)
    alike = given.shape == sizes if isinstance(given, InputSpec) else _fits(sizes, given.shape)
    return alike and given.dtype is x.dtype


# --- arguments -------------------------------------------------------------------------------------------------------


def _arguments(target: _Target, said: Any) -> tuple[list[Any], dict[str, Any]]:
    """Inputs of the program being recorded, as arguments of a function. Specs are by position, or by name in a dict."""
    function = target.function
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    used: set[str] = set()
    taken = list(said) if isinstance(said, (list, tuple)) else [said]
    named = dict(said) if isinstance(said, Arguments) else {}
    if isinstance(said, Arguments):
        taken = []
    slots = _parameters(function)
    for p in slots:
        if p.kind is p.VAR_POSITIONAL:
            rest = list(named.pop(p.name, ())) + taken
            args += [_argument(x, f"{p.name}_{i}", used) for i, x in enumerate(rest)]
            taken = []
        elif p.kind is p.VAR_KEYWORD:
            kwargs.update({k: _argument(x, k, used) for k, x in named.pop(p.name, {}).items()})
        elif taken:
            args.append(_argument(taken.pop(0), p.name, used))
        elif p.name in named:
            made = _argument(named.pop(p.name), p.name, used)
            if p.kind is p.KEYWORD_ONLY:
                kwargs[p.name] = made
            else:
                args.append(made)
    if taken:
        if slots:
            raise op_error(ValueError, target.op_name, f"input_spec for {_signature(function)}", f"{len(taken)} more")
        args += [_argument(x, f"x_{i}", used) for i, x in enumerate(taken)]
    return args, kwargs


def _argument(x: Any, name: str, used: set[str]) -> Any:
    """An argument for a spec: inputs in the place of tensors. ``name``: of an input that has none by itself."""
    if isinstance(x, (list, tuple)):
        items = [_argument(v, f"{name}_{i}", used) for i, v in enumerate(x)]
        return type(x)(*items) if hasattr(x, "_fields") else type(x)(items)
    if isinstance(x, dict):
        made = {k: _argument(x[k], str(k), used) for k in sorted(x, key=str)}
        return {k: made[k] for k in x}
    if not isinstance(x, (InputSpec, Tensor)):
        return x
    spec = x if isinstance(x, InputSpec) else InputSpec(x.shape, x.dtype, None)
    wanted = spec.name or name
    own, i = wanted, 0
    while own in used:
        i += 1
        own = f"{wanted}_{i}"
    used.add(own)
    fed = data(own, spec.shape, spec.dtype)
    fed.stop_gradient = spec.stop_gradient
    return fed


# --- files -----------------------------------------------------------------------------------------------------------


def _write(prefix: str, made: Mapping[str, Written], combined: bool, separate: bool) -> None:
    folder = os.path.dirname(prefix)
    if folder:
        os.makedirs(folder, exist_ok=True)
    for key, model in made.items():
        beginning = f"{prefix}.{key}" if key else prefix
        program = os.path.join(folder, IN_FOLDER[1]) if separate and not key else beginning + PROGRAM
        _replace(program, model.data)
        if separate:
            for name, x in model.tensors.items():
                _replace(os.path.join(folder, name), parameters.write_one(_value(x)))
        elif not (combined and key):
            _replace_values(beginning + PARAMETERS, model)


def _replace_values(path: str, model: Written) -> None:
    if model.tensors:
        _replace(path, _values(model.tensors))
    elif os.path.exists(path):  # of a model that was there before
        os.remove(path)


def _values(tensors: Mapping[str, Tensor]) -> bytes:
    return values_of({name: _value(x) for name, x in tensors.items()})


def _value(x: Tensor) -> Any:
    with outside():
        return host_values(x) if x.dtype.numpy is not None else x


def _replace(path: str, content: bytes) -> None:
    with replacing(path) as file:
        file.write(content)
