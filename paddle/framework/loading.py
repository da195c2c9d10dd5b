"""``load``: what ``paddle.save`` wrote, and the parameters of models for inference."""

from __future__ import annotations

import os
from typing import Any, BinaryIO

import numpy as np

from paddle._public import public
from paddle.framework.io import LOAD_OPTIONS, load_saved
from umiak.core.array import from_numpy, host_values
from umiak.core.dtype import bfloat16
from umiak.ir.serialise import FormatError
from umiak.util.errors import op_error
from umiak.util.regular_file import open_regular


@public("paddle paddle.framework")
def load(path: str | os.PathLike | BinaryIO, **configs: Any) -> Any:
    """Read what ``paddle.save`` wrote.

    Only data is read: tensors, arrays, containers of Python, and dates, paths, namespaces and the like of its standard
    library. A file that names other classes or functions is refused unless they are given as ``trusted``, and so is one
    that is cut short or whose checksum does not agree (``FLAGS_verify_checksums=0`` leaves that out; files of the
    reference framework have none).

    Args:
        path: a file name, of bytes too, or a binary file object, which is read to the end of what one ``save`` wrote. A
            name that ends in ``.safetensors`` is read as such. The beginning of the names of a model for inference, or
            its folder, gives its parameters: by their names in the layer, where files say them, else by their own.
        **configs: ``safetensors=True`` reads that format, whatever the name is; ``return_numpy=True`` gives arrays
            instead of tensors; ``keep_name_table=True`` leaves a state dict its table of parameter names;
            ``model_filename`` and ``params_filename`` name the files of a model in the folder ``path``; ``trusted``
            is a list of classes and functions that the file may name and that are called to make its objects.

    Returns:
        What was saved, a tensor or a program. Tensors come back on the current place with ``stop_gradient=True``.

    Raises:
        ValueError: the file does not exist, is no regular file or does not hold such data.
        TypeError: an unknown option, or something that names no file.

    Example:
        >>> import paddle, io
        >>> f = io.BytesIO()
        >>> paddle.save([paddle.ones([2]), 3], f)
        >>> _ = f.seek(0)
        >>> paddle.load(f)[1]
        3
    """
    if unknown := configs.keys() - LOAD_OPTIONS:
        raise op_error(TypeError, "load", "known options", sorted(unknown)[0])
    begin = _first_byte(path)
    if begin == b"\0":
        return _stream(path, bool(configs.get("return_numpy")))
    if begin in (b"{", b"\n"):
        return _program(path)
    try:
        return load_saved(path, **configs)
    except ValueError:
        if not isinstance(path, (str, bytes, os.PathLike)) or os.path.isfile(path) or configs.get("safetensors"):
            raise
        from paddle.static.formats.states import state_of  # which most files need not wait for

        state = state_of(os.fsdecode(path), configs.get("model_filename"), configs.get("params_filename"))
        if state is None:
            raise
    return {k: host_values(x).copy() for k, x in state.items()} if configs.get("return_numpy") else state


def _first_byte(path: Any) -> bytes:
    """The first byte, which says what a file holds: a pickle begins with another one than a stream or a program."""
    if hasattr(path, "read"):
        if not (hasattr(path, "seekable") and path.seekable()):
            return b""
        at = path.tell()
        begin = path.read(1)
        path.seek(at)
        return begin
    try:
        with os.fdopen(open_regular(os.fsdecode(path)), "rb") as f:
            return f.read(1)
    except (OSError, TypeError, ValueError):  # which reading it as a pickle tells
        return b""


def _bytes_of(path: Any) -> bytes:
    if hasattr(path, "read"):
        return path.read()
    with os.fdopen(open_regular(os.fsdecode(path)), "rb") as f:
        return f.read()


def _stream(path: Any, return_numpy: bool) -> Any:
    from paddle.static.formats.parameters import read

    try:
        value = read(_bytes_of(path), ["x"])["x"]
    except FormatError as error:
        raise op_error(ValueError, "load", "a file written by paddle.save", f"{_shown(path)}: {error}") from error
    if return_numpy:
        return np.array(value.view(np.uint16) if value.dtype == bfloat16.numpy else value)  # as in pickles
    return from_numpy(value)


def _program(path: Any) -> Any:
    from paddle.static.saving import deserialize_program

    try:
        return deserialize_program(_bytes_of(path))
    except ValueError as error:
        raise op_error(ValueError, "load", "a file written by paddle.save", f"{_shown(path)}: {error}") from error


def _shown(path: Any) -> str:
    return repr(getattr(path, "name", "<file object>")) if hasattr(path, "read") else repr(os.fsdecode(path))
