"""Models in files, in every format that is known: a program, and the values of its parameters.

A program is recognised by its bytes, not by its name; ``PROGRAMS`` has a row for each format, to which another one
is added. Values are the streams of ``parameters``, one file for each parameter, or what ``paddle.save`` writes.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Sequence
from io import BufferedReader
from typing import Any, NamedTuple

from paddle.framework.io import load_saved as load_data
from paddle.framework.place import current_place
from paddle.static import program_file
from paddle.static.formats import parameters, pir
from paddle.static.formats.graph import Module
from paddle.static.formats.legacy.translate import read_pdmodel
from paddle.static.formats.record import parameter_names
from paddle.static.formats.unread import drop_unread
from paddle.static.program_file import Contents
from umiak.core.tensor import Tensor
from umiak.ir.registry import NotRegistered
from umiak.ir.serialise import FormatError
from umiak.runtime.program_tracer import outside
from umiak.util.errors import op_error
from umiak.util.regular_file import NotRegular, open_regular


class ProgramFormat(NamedTuple):
    """A way in which programs are written. ``is_it`` looks at the first bytes alone; ``read`` raises FormatError."""

    name: str
    is_it: Callable[[bytes], bool]
    read: Callable[[bytes], Module | Contents]


class Model(NamedTuple):
    """The content of files of a model: a program in operators of the reference or in ours, and values by name."""

    program: Module | Contents
    values: dict[str, Any]


def _read_json(data: bytes) -> Module | Contents:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"a JSON document is required, got a damaged one: {error}") from error
    if pir.is_pir(document):
        return pir.read(document)
    known = next((f for f in program_file.FORMATS if isinstance(document, dict) and f.is_it(document)), None)
    if known is None:
        got = document.get("format") if isinstance(document, dict) else type(document).__name__
        raise FormatError(
            f"a program in a format of {[pir.MAGIC, *(f.name for f in program_file.FORMATS)]} is required, got {got!r}"
        )
    return known.read(document).check()


_PICKLE = b"\x80"  # its first byte
PROGRAM_ENDS, VALUES_END = (".json", ".pdmodel"), ".pdiparams"
IN_FOLDER = "__model__", "__model__.json"  # programs of folders in which each parameter may be a file

PROGRAMS: list[ProgramFormat] = [
    ProgramFormat("JSON", lambda data: data.lstrip()[:1] in (b"{", b"["), _read_json),
    ProgramFormat("protobuf", lambda data: data[:1] == b"\x0a", read_pdmodel),  # its first field: a list of blocks
]


def _opened(path: Any, op_name: str) -> BufferedReader:
    """A file to read: no pipe, whose writer one would wait for, and no device, which may have no end."""
    try:
        return open(open_regular(os.fspath(path)), "rb")
    except NotRegular as error:
        raise op_error(ValueError, op_name, "a regular file", f"{_shown(path)!r}, which is {error.kind}") from None


def read_program(source: Any, op_name: str) -> Module | Contents:
    """The program in a file or in bytes.

    Raises:
        ValueError: no program in a known format, a damaged one, or something else than a file.
        RuntimeError: operators of users that are not registered.
        OSError: the file cannot be read.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        data = bytes(source)
    else:
        with _opened(source, op_name) as file:
            data = file.read()
    try:
        known = next((f for f in PROGRAMS if f.is_it(data)), None)
        if known is None:
            raise FormatError(f"bytes of a program in {[f.name for f in PROGRAMS]} are required, got {data[:16]!r}")
        found = known.read(data)
        if isinstance(found, Module):
            drop_unread(found)
        return found
    except FormatError as error:
        raise damaged(op_name, "program", source, error) from error
    except NotRegistered as error:
        raise unregistered(op_name, source, error) from error


def unregistered(op_name: str, source: Any, error: NotRegistered) -> Exception:
    """The error for a program with operators that nobody has registered."""
    return op_error(
        RuntimeError, op_name, f"the operators of the program in {_shown(source)} to be registered",
        f"no {', '.join(error.names)}", "Import the module that registers them (paddle.library.custom_op) first.",
    )  # fmt: skip


def _shown(source: Any) -> str:
    return "the bytes given" if isinstance(source, (bytes, bytearray, memoryview)) else os.fspath(source)


def damaged(op_name: str, what: str, source: Any, error: Exception) -> Exception:
    """The error for a file, or bytes, that cannot be read."""
    return op_error(ValueError, op_name, f"a {what} in {_shown(source)} that is whole", f"another one: {error}")


def read_values(source: Any, names: Sequence[str], op_name: str) -> dict[str, Any]:
    """Values of parameters in a file, in a folder with a file for each, or in bytes.

    Raises:
        ValueError: other values than those of these names, damaged ones, or something else than a file.
        OSError: a file cannot be read.
    """
    if source is None:
        return {}
    if isinstance(source, (bytes, bytearray, memoryview)):
        return _values_in(bytes(source), source, names, op_name)
    if os.path.isdir(source):
        return {n: read_value(os.path.join(source, _plain_name(n, op_name)), op_name) for n in names}
    with _opened(source, op_name) as file:
        if file.peek(1)[:1] == _PICKLE:
            return _values_in(file.read(), source, names, op_name)
        try:
            return _streams(file, names)
        except FormatError as error:
            raise damaged(op_name, "file of values", source, error) from error


def _values_in(data: bytes, source: Any, names: Sequence[str], op_name: str) -> dict[str, Any]:
    """Values in bytes. ``source``: what had them, for errors."""
    if data[:1] == _PICKLE:
        with outside():
            found = load_data(io.BytesIO(data))
        if not isinstance(found, dict) or not all(isinstance(v, Tensor) for v in found.values()):
            raise op_error(ValueError, op_name, "the bytes of a dict of tensors", type(found).__name__)
        return found
    try:
        return parameters.read(data, names)
    except FormatError as error:
        raise damaged(op_name, "file of values", source, error) from error


def _streams(file: BufferedReader, names: Sequence[str]) -> dict[str, Any]:
    """Values in a file of streams: on the host each is read to where it stays."""
    place = current_place()
    if place.device_type == "cpu":
        return parameters.read_file(file, names, place)
    return parameters.read(file.read(), names)


def _plain_name(name: str, op_name: str) -> str:
    """The name of a parameter that is a file of the folder, and of no other."""
    if os.path.basename(name) != name or name in ("", ".", ".."):
        raise op_error(ValueError, op_name, "names of parameters that are names of files", repr(name))
    return name


def read_value(path: str, op_name: str) -> Any:
    """The value of the parameter that a file has alone.

    Raises:
        ValueError: a damaged value, or something else than a file.
        OSError: the file cannot be read.
    """
    with _opened(path, op_name) as file:
        try:
            return _streams(file, [""])[""]
        except FormatError as error:
            raise damaged(op_name, "value of a parameter", path, error) from error


def read_model(program: Any, values: Any, op_name: str) -> Model:
    """A model in two files: its program, and the values of its parameters.

    Args:
        program: a path or the bytes.
        values: a path of a file, or of a folder with a file for each parameter; the bytes; None for none.
        op_name: the function that the user called, for errors.

    Raises:
        ValueError: no such files, or damaged ones.
        OSError: a file cannot be read.
    """
    found = read_program(program, op_name)
    names = parameter_names(found) if isinstance(found, Module) else [k.name for k in found.kept.values()]
    return Model(found, read_values(values, names, op_name))


def paths_of(prefix: str, model: str | None = None, values: str | None = None) -> tuple[str, str | None]:
    """The paths of a model's program and of its values, which may be a folder; None where there are no values.

    Args:
        prefix: the beginning of both names, or a folder.
        model: the name of the program in the folder.
        values: the name of the file of values in the folder; None: a file for each parameter.
    """
    if model is not None or values is not None:
        found = os.path.join(prefix, model or "__model__")
        return found, prefix if values is None else os.path.join(prefix, values)
    if os.path.isdir(prefix):
        for program in (os.path.join(prefix, name) for name in IN_FOLDER):
            if os.path.exists(program):
                combined = os.path.join(prefix, "__params__")
                return program, combined if os.path.exists(combined) else prefix
    found = next((prefix + end for end in PROGRAM_ENDS if os.path.exists(prefix + end)), prefix + PROGRAM_ENDS[0])
    folder = os.path.dirname(prefix)
    if not os.path.exists(found) and os.path.exists(beside := os.path.join(folder, IN_FOLDER[1])):
        return beside, folder or "."
    combined = prefix + VALUES_END
    return found, combined if os.path.exists(combined) else None
