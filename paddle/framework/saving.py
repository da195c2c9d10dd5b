"""``save``: tensors and data as pickles, a tensor as a stream of its own, and programs."""

from __future__ import annotations

import os
from typing import Any, BinaryIO

import numpy as np

from paddle._public import public
from paddle.framework.dense_tensor import DenseTensor
from paddle.framework.io import save_data, write_with
from umiak.core.tensor import Tensor
from umiak.runtime.program_tracer import outside
from umiak.util.errors import op_error


@public("paddle paddle.framework")
def save(obj: Any, path: str | os.PathLike | BinaryIO, protocol: int = 4, **configs: Any) -> None:
    """Write a tensor, a state dict, dicts, lists and tuples of tensors and plain values, or a program to a file.

    The file appears whole or not at all: it is written beside ``path``, flushed to disk and renamed.

    Args:
        obj: what to store. Objects of classes of your own are stored, too; ``paddle.load`` has to be told to trust
            these classes. For safetensors, a dict of tensors by name. A ``paddle.static.Program`` is written as for
            evaluation, without values.
        path: a file name, whose folder is made if need be, or a binary file object. One that ends in ``.safetensors``
            becomes a file of that format.
        protocol: of pickle, 2 to 4.
        **configs: ``safetensors=True`` writes that format, whatever the name is; ``use_binary_format=True`` writes one
            tensor or array as a stream, as files of parameters have it; ``pickle_protocol`` is another name of
            ``protocol``.

    Raises:
        ValueError: another protocol, or a path that names no file.
        TypeError: a layer (save its ``state_dict()``), tensors in a set, for safetensors anything but a dict of
            tensors, an unknown option, or something that names no file.
        NotImplementedError: for a stream, anything but a tensor.
        OSError: the file cannot be written.

    Example:
        >>> import paddle, tempfile, os
        >>> path = os.path.join(tempfile.mkdtemp(), "x.pdparams")
        >>> paddle.save({"w": paddle.ones([2])}, path)
        >>> paddle.load(path)["w"].shape
        paddle.Size([2])
    """
    as_stream = configs.pop("use_binary_format", False)
    if not isinstance(as_stream, bool):
        raise op_error(TypeError, "save", "a bool as use_binary_format", repr(as_stream))
    data = _stream_of(obj) if as_stream else _program_of(obj)
    if data is None:
        save_data(obj, path, protocol, **configs)
        return
    if unknown := sorted(configs.keys() - {"pickle_protocol"}):
        raise op_error(TypeError, "save", "known options of a stream or program", unknown[0])
    write_with(path, lambda f: f.write(data))


def _stream_of(obj: Any) -> bytes:
    from paddle.static.formats.parameters import write_one  # which most files need not wait for

    x = obj._tensor if isinstance(obj, DenseTensor) else obj
    if not isinstance(x, (Tensor, np.ndarray)) or (isinstance(x, Tensor) and x.is_sparse()):
        kind = type(obj).__name__
        raise op_error(NotImplementedError, "save", "a dense tensor or an array for use_binary_format=True", kind)
    with outside():  # a program that is recorded is not to have it
        return write_one(x.detach() if isinstance(x, Tensor) else x)


def _program_of(obj: Any) -> bytes | None:
    """The bytes of a program; None for anything else."""
    if not hasattr(obj, "global_block"):
        return None
    from paddle.static.saving import program_as_bytes  # likewise

    return program_as_bytes("save", obj)
