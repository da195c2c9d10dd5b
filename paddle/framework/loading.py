"""``load``: what ``paddle.save`` wrote, and the parameters of models for inference."""

from __future__ import annotations

import os
from typing import Any, BinaryIO

from paddle._public import public
from paddle.framework.io import load_saved
from umiak.core.array import host_values


@public("paddle paddle.framework")
def load(path: str | os.PathLike | BinaryIO, **configs: Any) -> Any:
    """Read what ``paddle.save`` wrote.

    Only data is read: a file that names code is refused, and so is one that is cut short or whose checksum does not
    agree (``FLAGS_verify_checksums=0`` leaves that out; files of the reference framework have none).

    Args:
        path: a file name, of bytes too, or a binary file object, which is read to the end of what one ``save`` wrote. A
            name that ends in ``.safetensors`` is read as such. The beginning of the names of a model for inference, or
            its folder, gives its parameters: by their names in the layer, where files say them, else by their own.
        **configs: ``safetensors=True`` reads that format, whatever the name is; ``return_numpy=True`` gives arrays
            instead of tensors; ``keep_name_table=True`` leaves a state dict its table of parameter names;
            ``model_filename`` and ``params_filename`` name the files of a model in the folder ``path``.

    Returns:
        What was saved. Tensors come back on the current place with ``stop_gradient=True``.

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
