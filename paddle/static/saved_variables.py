"""Variables of programs in files: one for each of them, or one for all."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from paddle._public import public
from paddle.static.executor import Executor
from paddle.static.formats import parameters
from paddle.static.formats.files import read_values
from paddle.static.program import Program, default_main_program, managed
from paddle.static.saving import save_to_file
from paddle.static.scope import global_scope
from umiak.core.array import from_numpy
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


def _chosen(
    op_name: str, program: Any, variables: Sequence[Any] | None, predicate: Callable[[Tensor], bool] | None
) -> dict[str, Tensor]:
    """Variables of a program that are kept between runs, by name."""
    program = default_main_program() if program is None else program
    program = getattr(program, "_program", program)  # of a CompiledProgram
    if not isinstance(program, Program):
        raise op_error(TypeError, op_name, "a Program", type(program).__name__)
    kept = {x.name: x for x in program._tracer.captured().values() if managed(x)}
    if variables is None:
        return {name: x for name, x in kept.items() if predicate is None or predicate(x)}
    names = [x if isinstance(x, str) else x.name for x in variables]
    if missing := [n for n in names if n not in kept]:
        raise op_error(ValueError, op_name, f"variables that the program keeps, of {sorted(kept)}", missing)
    return {n: kept[n] for n in names}


@public("paddle.static")
def save_vars(
    executor: Executor,
    dirname: str | None,
    main_program: Program | None = None,
    vars: Sequence[Any] | None = None,
    predicate: Callable[[Tensor], bool] | None = None,
    filename: str | None = None,
) -> bytes | None:
    """Write the values of variables that a program keeps between runs, as PaddlePaddle does.

    Args:
        executor: accepted: values are in the global scope.
        dirname: the folder, which is made if need be; None with ``filename=None``: the bytes are returned.
        main_program: the program; None: the default one.
        vars: variables, or their names; None: those that ``predicate`` chooses.
        predicate: says of a variable whether it is written; None: all are.
        filename: one file for all; None: a file for each, of its name.

    Returns:
        None; without ``dirname``, the bytes of one file for all.

    Raises:
        TypeError: something that is no program.
        ValueError: variables that the program does not keep.
        RuntimeError: a variable without a value.
        OSError: a file cannot be written.

    Example:
        >>> import os, paddle, tempfile
        >>> paddle.enable_static()
        >>> main, startup = paddle.static.Program(), paddle.static.Program()
        >>> with paddle.static.program_guard(main, startup):
        ...     y = paddle.static.nn.fc(paddle.static.data("x", [None, 2]), 1)
        >>> exe, folder = paddle.static.Executor(), tempfile.mkdtemp()
        >>> _ = exe.run(startup)
        >>> paddle.static.save_vars(exe, folder, main)
        >>> len(os.listdir(folder))
        2
        >>> paddle.static.load_vars(exe, folder, main)
        >>> paddle.disable_static()
    """
    values = {}
    for name in _chosen("save_vars", main_program, vars, predicate):
        held = global_scope().find_var(name)
        if held is None:
            raise op_error(
                RuntimeError, "save_vars", f"a value for {name!r} in the scope", "none",
                "Run the startup program first: exe.run(paddle.static.default_startup_program()).",
            )  # fmt: skip
        values[name] = np.asarray(held)
    if dirname is None and filename is None:
        return parameters.write(values)
    folder = os.fspath(dirname or "")
    if filename is not None:
        save_to_file(os.path.join(folder, filename), parameters.write(values))
        return None
    for name, value in values.items():
        save_to_file(os.path.join(folder, name), parameters.write_one(value))
    return None


@public("paddle.static")
def load_vars(
    executor: Executor,
    dirname: str,
    main_program: Program | None = None,
    vars: Sequence[Any] | None = None,
    predicate: Callable[[Tensor], bool] | None = None,
    filename: str | bytes | None = None,
) -> None:
    """Give variables of a program the values that :func:`save_vars`, or PaddlePaddle, wrote.

    Args:
        executor: accepted: values go to the global scope.
        dirname: the folder.
        main_program: the program; None: the default one.
        vars: variables, or their names; None: those that ``predicate`` chooses.
        predicate: says of a variable whether it gets a value; None: all do.
        filename: the one file of all, or its bytes; None: a file for each, of its name.

    Raises:
        TypeError: something that is no program.
        ValueError: variables that the program does not keep, damaged files, or values of other shapes; then nothing is
            written.
        OSError: a file that is not there.

    Example:
        >>> import paddle
        >>> paddle.static.load_vars(paddle.static.Executor(), "/nowhere", paddle.static.Program())
    """
    chosen = _chosen("load_vars", main_program, vars, predicate)
    source: Any = dirname if filename is None else filename
    if isinstance(filename, str):
        source = os.path.join(dirname or "", filename)
    values = read_values(source, list(chosen), "load_vars") if chosen else {}
    _check(chosen, values)
    for name, x in chosen.items():
        value = values[name]
        global_scope()._hold(x, from_numpy(value) if isinstance(value, np.ndarray) else value, True)


def _check(chosen: Mapping[str, Tensor], values: Mapping[str, Any]) -> None:
    for name, x in chosen.items():
        value = values[name]
        if list(value.shape) != list(x.shape) or value.dtype.name != x.dtype.name:
            raise op_error(
                ValueError, "load_vars", f"{name!r} of shape {list(x.shape)} and dtype {x.dtype.name}",
                f"shape {list(value.shape)} and dtype {value.dtype.name}",
            )  # fmt: skip
