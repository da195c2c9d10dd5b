"""Programs, and the values of their variables, as bytes and files."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from paddle._public import public
from paddle.framework.io import load_saved as load_data
from paddle.framework.io import replacing, save_data
from paddle.framework.param_attr import ParamAttr
from paddle.framework.parameter import Parameter
from paddle.framework.place import current_place
from paddle.static.executor import Executor
from paddle.static.extract import extracted
from paddle.static.formats.cut import from_data
from paddle.static.formats.files import Model, damaged, paths_of, read_model, read_program, read_values
from paddle.static.formats.record import program_of
from paddle.static.formats.writing import Written, values_of, written
from paddle.static.program import Program, default_main_program, managed, tracer_of
from paddle.static.program_file import Contents
from paddle.static.scope import Scope, global_scope
from umiak.core.array import from_numpy
from umiak.core.context import no_grad_guard
from umiak.core.tensor import Tensor, unfilled
from umiak.ir.program import uses
from umiak.ir.serialise import FormatError
from umiak.ir.tracer import SymTensor
from umiak.runtime.program_tracer import ProgramTracer, outside
from umiak.util.errors import OperandError, op_error

PROGRAM, PARAMETERS = ".json", ".pdiparams"  # of models for inference
_PARTS = (PROGRAM, ".pdmodel", ".pdparams", ".pdopt")  # of `save`, and of older versions


def _variables(op_name: str, what: str, xs: Any) -> list[Tensor]:
    xs = list(xs) if isinstance(xs, (list, tuple)) else [xs]
    for x in xs:
        if not isinstance(x, Tensor):
            raise op_error(OperandError, op_name, f"variables as {what}", type(x).__name__)
    return xs


def _program(op_name: str, program: Any, fetch_vars: Sequence[Tensor] = ()) -> Program:
    """The program that is meant: the one given, else the main one."""
    if program is None:
        tracer_of(op_name, *fetch_vars[:1])
        return default_main_program()
    program = getattr(program, "_program", program)  # of a CompiledProgram
    if not isinstance(program, Program):
        raise op_error(TypeError, op_name, "a Program", type(program).__name__)
    return program


# --- programs --------------------------------------------------------------------------------------------------------


def _contents(
    op_name: str, program: Program, feed_vars: Sequence[Tensor] | None, fetch_vars: Sequence[Tensor]
) -> tuple[Contents, dict[str, Tensor]]:
    """Parts of a file of what computes some variables, as for evaluation, and the tensors that it reads, by name."""
    return extracted(op_name, program._tracer, feed_vars, fetch_vars)


def _made(contents: Contents) -> tuple[Program, list[SymTensor]]:
    """A program from what a file holds; its variables have no values yet."""
    place = current_place()
    tensors: dict[str, Tensor] = {}
    for key, kept in contents.kept.items():
        meta = contents.program.constants[key].meta
        shape = tuple(int(n) for n in meta.shape)
        why = f"{kept.name!r} of a program that was read requires a value, got none: call deserialize_persistables"
        x: Tensor = unfilled(shape, meta.dtype, place, why)  # type: ignore[arg-type]
        if kept.kind == "parameter":
            parameter = Parameter(x, name=kept.name)
            parameter._describe(kept.name, ParamAttr(trainable=kept.trainable))
            x = parameter
        x.name, x.stop_gradient = kept.name, not kept.trainable
        if kept.kind != "constant":
            x._managed = x.persistable = True
        tensors[key] = x
    return _over(contents, tensors)


def _over(contents: Contents, tensors: Mapping[str, Tensor]) -> tuple[Program, list[SymTensor]]:
    """A program over these tensors, and its results."""
    program = Program()
    program._tracer, outputs = ProgramTracer.over(contents.program, contents.feeds, tensors, contents.draws)
    for name, x in program._tracer.feeds:
        x.name = name
    for name, y in zip(contents.fetched, outputs, strict=True):
        y.name = name
        program._tracer.names.setdefault(name, y)
    return program, outputs


@public("paddle.static")
def normalize_program(program: Program, feed_vars: Any, fetch_vars: Any, **kwargs: Any) -> Program:
    """Copy what computes some variables of others, as for evaluation: without dropout, gradients and updates.

    Args:
        program: a program.
        feed_vars: variables that will be fed.
        fetch_vars: variables that will be fetched.
        **kwargs: ``skip_prune_program`` is accepted: what nothing needs is left out when a program runs.

    Returns:
        A program over the same parameters; its inputs have the names of ``feed_vars``, its results those of
        ``fetch_vars``, which stand for them in ``Executor.run``.

    Raises:
        TypeError: something that is no program or variable, or another keyword.
        ValueError: variables of another program, or an input that is needed and not among ``feed_vars``.

    Example:
        >>> import paddle
        >>> paddle.enable_static()
        >>> main = paddle.static.Program()
        >>> with paddle.static.program_guard(main, paddle.static.Program()):
        ...     x = paddle.static.data("x", [None, 2])
        ...     y = paddle.nn.functional.dropout(x * 2.0)
        ...     loss = y.mean()
        >>> len(main.global_block().ops), len(paddle.static.normalize_program(main, [x], [y]).global_block().ops)
        (3, 2)
        >>> paddle.disable_static()
    """
    if unknown := set(kwargs) - {"skip_prune_program"}:
        raise op_error(TypeError, "normalize_program", "known options", sorted(unknown))
    fetched = _variables("normalize_program", "fetch_vars", fetch_vars)
    fed = _variables("normalize_program", "feed_vars", feed_vars)
    if not isinstance(program, Program):
        raise op_error(TypeError, "normalize_program", "a Program", type(program).__name__)
    contents, _ = _contents("normalize_program", program, fed, fetched)
    made, outputs = _over(contents, {k: contents.program.captured[k] for k in contents.kept})
    made._tracer.stand_in(program._tracer, zip(fetched, outputs, strict=True))
    return made


@public("paddle.static")
def serialize_program(feed_vars: Any, fetch_vars: Any, **kwargs: Any) -> bytes:
    """Write what computes some variables of others to bytes; values of parameters are not among them.

    Args:
        feed_vars: variables that will be fed.
        fetch_vars: variables that will be fetched.
        **kwargs: ``program``: theirs, by default the main program; ``legacy_format`` is accepted.

    Returns:
        The bytes of a JSON document: a program of PaddlePaddle 3, or, where its operators cannot say it, one in Umiak's
        own format, with a warning that names the operators.

    Raises:
        RuntimeError: dynamic mode without a ``program``.
        TypeError: something that is no program or variable.
        ValueError: variables of another program, or an input that is needed and not among ``feed_vars``.

    Example:
        >>> import paddle
        >>> paddle.enable_static()
        >>> with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
        ...     x = paddle.static.data("x", [None, 2])
        ...     data = paddle.static.serialize_program([x], [x * 2.0])
        >>> paddle.static.deserialize_program(data).global_block().has_var("x")
        True
        >>> paddle.disable_static()
    """
    _options("serialize_program", kwargs, {"program", "legacy_format", "skip_prune_program"})
    fetched = _variables("serialize_program", "fetch_vars", fetch_vars)
    fed = _variables("serialize_program", "feed_vars", feed_vars)
    program = _program("serialize_program", kwargs.get("program"), fetched)
    return written("serialize_program", _contents("serialize_program", program, fed, fetched)[0]).data


@public("paddle.static")
def deserialize_program(data: bytes) -> Program:
    """Make a program of the bytes of :func:`serialize_program`. No code is run, and nothing large is made.

    Args:
        data: the bytes.

    Returns:
        A program; ``deserialize_persistables`` gives its parameters their values.

    Raises:
        TypeError: something that is no bytes.
        ValueError: bytes that are no program, damaged, or of a newer version.

    Example:
        >>> import paddle
        >>> paddle.static.deserialize_program([])
        Traceback (most recent call last):
        TypeError: [deserialize_program] requires bytes, got list
    """
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise op_error(TypeError, "deserialize_program", "bytes", type(data).__name__)
    read = read_program(data, "deserialize_program")
    if isinstance(read, Contents):
        return _made(read)[0]
    try:
        return program_of(read, None)[0]
    except FormatError as error:
        raise damaged("deserialize_program", "program", data, error) from error


def _options(op_name: str, given: Mapping[str, Any], known: Iterable[str]) -> None:
    if unknown := set(given) - set(known):
        raise op_error(TypeError, op_name, f"options of {sorted(known)}", sorted(unknown))


# --- values ----------------------------------------------------------------------------------------------------------


def _values(op_name: str, tensors: Mapping[str, Tensor], scope: Scope) -> dict[str, np.ndarray]:
    found = {}
    for name, x in tensors.items():
        if managed(x):
            held = scope.find_var(name)
            if held is None:
                raise op_error(
                    RuntimeError, op_name, f"a value for {name!r} in the scope", "none",
                    "Run the startup program first: exe.run(paddle.static.default_startup_program()).",
                )  # fmt: skip
            found[name] = held._tensor
        else:
            found[name] = x
    with outside():
        return {name: x.numpy() if x.dtype.numpy is not None else x for name, x in found.items()}


def _as_bytes(values: Mapping[str, Any]) -> bytes:
    buffer = io.BytesIO()
    with outside():
        save_data({k: v if isinstance(v, Tensor) else from_numpy(v) for k, v in values.items()}, buffer)
    return buffer.getvalue()


def _values_as_bytes(op_name: str, model: Written) -> bytes:
    """The values that belong to a program, in the format that goes with its own."""
    values = _values(op_name, model.tensors, global_scope())
    return _as_bytes(values) if model.own else values_of(values)


def _give(op_name: str, program: Program, values: Mapping[str, Any], scope: Scope) -> None:
    """Give all tensors of a program their values."""
    given: dict[str, Tensor] = {}
    for x in program._tracer.captured().values():
        if x.name not in values:
            if not managed(x):  # a constant, whose values are in the program
                continue
            raise op_error(ValueError, op_name, f"a value for {x.name!r}", f"those of {sorted(values)}")
        value = values[x.name]
        if isinstance(value, np.ndarray):
            value = from_numpy(value)
        if x.dtype.name == "bfloat16" and value.dtype.name == "uint16":  # as files have it
            value = value.view("bfloat16")
        given[x.name] = value
        if list(value.shape) != list(x.shape) or value.dtype is not x.dtype:
            raise op_error(
                ValueError, op_name, f"{x.name!r} of shape {list(x.shape)} and dtype {x.dtype.name}",
                f"shape {list(value.shape)} and dtype {value.dtype.name}",
            )  # fmt: skip
    with outside(), no_grad_guard():
        for x in program._tracer.captured().values():
            if x.name in given:
                scope._hold(x, given[x.name], managed(x))


@public("paddle.static")
def serialize_persistables(feed_vars: Any, fetch_vars: Any, executor: Executor, **kwargs: Any) -> bytes:
    """Write to bytes the values of the parameters that compute some variables of others.

    Args:
        feed_vars: variables that will be fed.
        fetch_vars: variables that will be fetched.
        executor: accepted: values are in the global scope.
        **kwargs: ``program``: theirs, by default the main program.

    Returns:
        The bytes of a file of values of PaddlePaddle 3; with a program in Umiak's own format, of ``paddle.save``.

    Raises:
        RuntimeError: dynamic mode without a ``program``, or a parameter without a value.
        TypeError: something that is no program or variable.
        ValueError: variables of another program, or an input that is needed and not among ``feed_vars``.

    Example:
        >>> import paddle
        >>> paddle.enable_static()
        >>> with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
        ...     x = paddle.static.data("x", [None, 2])
        ...     len(paddle.static.serialize_persistables([x], [x * 2.0], paddle.static.Executor()))
        0
        >>> paddle.disable_static()
    """
    _options("serialize_persistables", kwargs, {"program"})
    fetched = _variables("serialize_persistables", "fetch_vars", fetch_vars)
    fed = _variables("serialize_persistables", "feed_vars", feed_vars)
    program = _program("serialize_persistables", kwargs.get("program"), fetched)
    contents, _ = _contents("serialize_persistables", program, fed, fetched)
    return _values_as_bytes("serialize_persistables", written("serialize_persistables", contents))


@public("paddle.static")
def deserialize_persistables(program: Program, data: bytes, executor: Executor) -> None:
    """Give the parameters of a program the values of :func:`serialize_persistables`.

    Args:
        program: the program.
        data: the bytes.
        executor: accepted: values go to the global scope.

    Raises:
        TypeError: something that is no program, or no bytes.
        ValueError: other bytes, a value that is missing or of another shape or dtype; then nothing is written.

    Example:
        >>> import paddle
        >>> program = paddle.static.Program()
        >>> paddle.static.deserialize_persistables(program, [], paddle.static.Executor())
        Traceback (most recent call last):
        TypeError: [deserialize_persistables] requires bytes, got list
    """
    program = _program("deserialize_persistables", program)
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise op_error(TypeError, "deserialize_persistables", "bytes", type(data).__name__)
    names = [x.name for x in program._tracer.captured().values() if managed(x)]
    values = read_values(data, names, "deserialize_persistables")
    _give("deserialize_persistables", program, values, global_scope())


# --- files -----------------------------------------------------------------------------------------------------------


@public("paddle.static")
def save_to_file(path: str, content: bytes) -> None:
    """Write bytes to a file, whose folder is made if need be. It appears whole or not at all.

    Args:
        path: its name.
        content: the bytes.

    Raises:
        ValueError: something that is no bytes.
        OSError: the file cannot be written.

    Example:
        >>> import os, paddle, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "x")
        >>> paddle.static.save_to_file(path, b"12")
        >>> paddle.static.load_from_file(path)
        b'12'
    """
    if not isinstance(content, bytes):
        raise op_error(ValueError, "save_to_file", "bytes as content", type(content).__name__)
    with replacing(os.fspath(path)) as file:
        file.write(content)


@public("paddle.static")
def load_from_file(path: str) -> bytes:
    """Read the bytes of a file.

    Args:
        path: its name.

    Returns:
        The bytes.

    Raises:
        OSError: there is no such file, or it cannot be read.

    Example:
        >>> import os, paddle, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "x")
        >>> paddle.static.save_to_file(path, b"12")
        >>> paddle.static.load_from_file(path)
        b'12'
    """
    with open(path, "rb") as file:
        return file.read()


@public("paddle.static")
def save_inference_model(path_prefix: str, feed_vars: Any, fetch_vars: Any, executor: Executor, **kwargs: Any) -> None:
    """Write a program for inference and its parameters, as PaddlePaddle 3 does: ``<prefix>.json`` and ``.pdiparams``.

    There is no file of parameters where there are none. A program that the operators of PaddlePaddle cannot say is
    written in Umiak's own format, with a warning that names the operators.

    Args:
        path_prefix: the beginning of both names.
        feed_vars: inputs, which the file has in this order; those that no result needs as well, which PaddlePaddle
            refuses without ``skip_prune_program``.
        fetch_vars: variables that will be fetched.
        executor: accepted: values are in the global scope.
        **kwargs: ``program``: theirs, by default the main program; ``clip_extra``, ``legacy_format`` and
            ``skip_prune_program`` are accepted.

    Raises:
        RuntimeError: dynamic mode without a ``program``, or a parameter without a value.
        TypeError: something that is no program or variable.
        ValueError: a prefix that names no file, variables of another program, or an input that is needed and not among
            ``feed_vars``.
        OSError: a file cannot be written.

    Example:
        >>> import numpy, os, paddle, tempfile
        >>> paddle.enable_static()
        >>> exe, prefix = paddle.static.Executor(), os.path.join(tempfile.mkdtemp(), "model")
        >>> with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
        ...     x = paddle.static.data("x", [None, 2])
        ...     paddle.static.save_inference_model(prefix, [x], [x * 2.0], exe)
        >>> program, feeds, fetches = paddle.static.load_inference_model(prefix, exe)
        >>> exe.run(program, {feeds[0]: numpy.ones([1, 2], "float32")}, fetches)
        [array([[2., 2.]], dtype=float32)]
        >>> paddle.disable_static()
    """
    op_name = "save_inference_model"
    _options(op_name, kwargs, {"program", "clip_extra", "legacy_format", "skip_prune_program"})
    prefix = _prefix(op_name, path_prefix)
    fetched = _variables(op_name, "fetch_vars", fetch_vars)
    fed = _variables(op_name, "feed_vars", feed_vars)
    contents, _ = _contents(op_name, _program(op_name, kwargs.get("program"), fetched), fed, fetched)
    model = written(op_name, contents)
    values = _values_as_bytes(op_name, model) if model.tensors else None
    save_to_file(prefix + PROGRAM, model.data)
    if values is not None:
        save_to_file(prefix + PARAMETERS, values)
    elif os.path.exists(prefix + PARAMETERS):  # of a model that was there before
        os.remove(prefix + PARAMETERS)


@public("paddle.static")
def load_inference_model(path_prefix: str | None, executor: Executor, **kwargs: Any) -> list[Any]:
    """Read a program for inference and its parameters. No code is run.

    Args:
        path_prefix: the beginning of the names of both files; None where bytes are given.
        executor: accepted: values go to the global scope.
        **kwargs: ``model_filename`` and ``params_filename``: other names of the files, in the folder ``path_prefix``;
            without it, their bytes.

    Returns:
        A list: the program, the names of its inputs, and the variables that are its results.

    Raises:
        TypeError: another option, or a prefix that is no str.
        ValueError: files that are no such model, or damaged.
        OSError: a file that is not there.

    Example:
        >>> import paddle
        >>> paddle.static.load_inference_model("/nowhere/model", paddle.static.Executor())
        Traceback (most recent call last):
        FileNotFoundError: [Errno 2] No such file or directory: '/nowhere/model.json'
    """
    op_name = "load_inference_model"
    _options(op_name, kwargs, {"model_filename", "params_filename"})
    model, params = kwargs.get("model_filename"), kwargs.get("params_filename")
    if path_prefix is None:
        if model is None or params is None:
            raise op_error(ValueError, op_name, "a path_prefix, or model_filename and params_filename", "neither")
    elif model is not None or params is not None:
        model, params = paths_of(os.fspath(path_prefix), model, params)
    else:
        model, params = paths_of(_prefix(op_name, path_prefix))
    read = read_model(model, params, op_name)
    program, feeds, outputs = program_read(op_name, read, model)
    return [program, feeds, outputs]


def program_read(op_name: str, read: Model, source: Any) -> tuple[Program, list[str], list[SymTensor]]:
    """The program of a model that was read, whose values are in the global scope; ``source``: where it was read."""
    if isinstance(read.program, Contents):
        program, outputs = _made(read.program)
        _give(op_name, program, read.values, global_scope())
        return program, [name for name, _ in program._tracer.feeds], outputs
    try:
        return program_of(read.program, read.values)
    except FormatError as error:
        if from_data(error):
            raise op_error(
                ValueError, op_name, "a program in which data do not decide what is called", str(error),
                "paddle.jit.load and paddle.inference run others, such operations one by one.",
            ) from error  # fmt: skip
        raise damaged(op_name, "program", source, error) from error


def _prefix(op_name: str, path: Any) -> str:
    if not isinstance(path, (str, os.PathLike)):
        raise op_error(OperandError, op_name, "the beginning of names of files", type(path).__name__)
    path = os.fspath(path)
    if not isinstance(path, str) or not os.path.basename(path):
        raise op_error(ValueError, op_name, "the beginning of names of files", repr(path))
    return path


@public("paddle.static")
def save(program: Program, model_path: str, protocol: int = 4, **configs: Any) -> None:
    """Write a program and the values of its variables: ``<path>.json``, ``.pdparams`` and ``.pdopt``.

    The first is the program as for evaluation, as :func:`serialize_program` writes it; the others are dicts of tensors
    by name, as those of ``paddle.save``, of parameters and of all other variables.

    Args:
        program: the program.
        model_path: the beginning of the names.
        protocol: of pickle, 2 to 4.
        **configs: ``pickle_protocol`` is another name of it.

    Raises:
        TypeError: something that is no program, or another option.
        ValueError: a path that names no file, or another protocol.
        OSError: a file cannot be written.

    Example:
        >>> import os, paddle, tempfile
        >>> paddle.enable_static()
        >>> main, startup = paddle.static.Program(), paddle.static.Program()
        >>> with paddle.static.program_guard(main, startup):
        ...     y = paddle.static.nn.fc(paddle.static.data("x", [None, 2]), 1)
        >>> exe, path = paddle.static.Executor(), os.path.join(tempfile.mkdtemp(), "model")
        >>> _ = exe.run(startup)
        >>> paddle.static.save(main, path)
        >>> paddle.static.load(main, path, exe)
        >>> len(paddle.static.load_program_state(path))
        2
        >>> paddle.disable_static()
    """
    _options("save", configs, {"pickle_protocol"})
    protocol = configs.get("pickle_protocol", protocol)
    path = _prefix("save", model_path)
    program = _program("save", program)
    data = program_as_bytes("save", program)
    for end, mode in ((".pdparams", "param"), (".pdopt", "opt")):
        values = program.state_dict(mode)
        with outside():
            save_data({k: from_numpy(np.array(v, order="C")) for k, v in values.items()}, path + end, protocol)
    save_to_file(path + PROGRAM, data)


def program_as_bytes(op_name: str, program: Program) -> bytes:
    """Return a program as for evaluation, as :func:`serialize_program` writes it.

    Fetched are the variables that have a name, and those that no operation reads.
    """
    program = _program(op_name, program)
    tracer = program._tracer
    named = [x for x in tracer.names.values() if isinstance(x, SymTensor) and x._tracer is tracer]
    read = {id(v) for operation in tracer.builder.program.walk() for v in uses(operation)}
    read.update(id(x._value) for x in named)
    last = [r for operation in program.global_block().ops for r in operation.results() if id(r._value) not in read]
    fetched = [x for x in (*named, *last) if not any(x is fed for _, fed in tracer.feeds)]
    contents, _ = _contents(op_name, program, None, _evaluated(program, fetched))
    return written(op_name, contents).data


def _evaluated(program: Program, xs: Sequence[Tensor]) -> list[Tensor]:
    """Those of the variables that copies for evaluation have."""
    copied = program._tracer.copy(evaluation=True)
    return [x for x in xs if copied.find(x) is not None]


@public("paddle.static")
def load(program: Program, model_path: str, executor: Executor | None = None, var_list: Any = None) -> None:
    """Give the variables of a program the values that :func:`save` wrote.

    Args:
        program: the program; its optimizers go on from the step at which it was saved.
        model_path: the beginning of the names of the files.
        executor: accepted: values go to the global scope.
        var_list: variables that get values; None: all that the files have.

    Raises:
        TypeError: something that is no program.
        ValueError: files that are not there, no such files, or ones that lack a parameter or have values of other
            shapes.

    Example:
        >>> import paddle
        >>> paddle.static.load(paddle.static.Program(), "/nowhere/model")
        Traceback (most recent call last):
        ValueError: [load] requires a file /nowhere/model.pdparams, got none
    """
    path = _stripped("load", model_path)
    program = _program("load", program)
    if not os.path.exists(path + ".pdparams"):
        raise op_error(ValueError, "load", f"a file {path}.pdparams", "none")
    values = load_program_state(path, var_list)
    parameters = (
        ()
        if var_list is not None
        else (x.name for x in program._tracer.captured().values() if isinstance(x, Parameter))
    )
    if missing := [n for n in parameters if n not in values]:
        raise op_error(ValueError, "load", f"values of {missing} in {path}.pdparams", f"those of {sorted(values)}")
    set_program_state(program, values)


def _stripped(op_name: str, model_path: Any) -> str:
    path = _prefix(op_name, model_path)
    return next((path.removesuffix(end) for end in _PARTS if path.endswith(end)), path)


@public("paddle.static")
def load_program_state(model_path: str, var_list: Any = None) -> dict[str, np.ndarray]:
    """Read the values that :func:`save` wrote.

    Args:
        model_path: the beginning of the names of the files.
        var_list: variables, or names of them, that are wanted; None: all.

    Returns:
        A dict of arrays by name; an empty one where there are no files.

    Raises:
        ValueError: no such files, or a variable that they do not have.

    Example:
        >>> import paddle
        >>> paddle.static.load_program_state("/nowhere/model")
        {}
    """
    path = _stripped("load_program_state", model_path)
    found: dict[str, np.ndarray] = {}
    for end in (".pdparams", ".pdopt"):
        if os.path.exists(path + end):
            with outside():
                values = load_data(path + end, return_numpy=True)
            if not isinstance(values, dict):
                raise op_error(ValueError, "load_program_state", f"a dict in {path + end}", type(values).__name__)
            found.update(values)
    if var_list is None:
        return found
    names = [x if isinstance(x, str) else x.name for x in var_list]
    if missing := [n for n in names if n not in found]:
        raise op_error(ValueError, "load_program_state", f"values of {missing} in the files", sorted(found))
    return {n: found[n] for n in names}


@public("paddle.static")
def set_program_state(program: Program, state_dict: Mapping[str, Any]) -> None:
    """Give the variables of a program values.

    Args:
        program: the program; its optimizers go on from the step that the values say.
        state_dict: arrays by name.

    Raises:
        TypeError: something that is no program, or values that are no dict.
        ValueError: a value of another shape.

    Note:
        Values that the program has no variable for are named in a warning.

    Example:
        >>> import numpy, paddle
        >>> paddle.enable_static()
        >>> main, startup = paddle.static.Program(), paddle.static.Program()
        >>> with paddle.static.program_guard(main, startup):
        ...     w = paddle.static.create_parameter([1], "float32", name="w")
        >>> paddle.static.set_program_state(main, {"w": numpy.ones(1, "float32")})
        >>> main.state_dict()
        {'w': array([1.], dtype=float32)}
        >>> paddle.disable_static()
    """
    program = _program("set_program_state", program)
    if not isinstance(state_dict, Mapping):
        raise op_error(TypeError, "set_program_state", "a dict of arrays", type(state_dict).__name__)
    known = program._state_names()
    if unused := [n for n in state_dict if n not in known]:
        warnings.warn(
            f"[set_program_state] found no variables of the program for {unused}, which are left out", stacklevel=2
        )
    program.set_state_dict(dict(state_dict))
