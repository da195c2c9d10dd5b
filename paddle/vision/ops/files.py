"""Bytes of files, and the images in JPEG files."""

from __future__ import annotations

import io
import os
from typing import Any

import numpy as np

from paddle._public import need_tensor, public
from paddle.vision.image import need_pil
from umiak.core import dtype as dt
from umiak.core.array import from_numpy, host_values
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


@public("paddle.vision.ops")
def read_file(filename: str | os.PathLike[str], name: str | None = None) -> Tensor:
    """Bytes of a file.

    Args:
        filename: path of the file.

    Returns:
        uint8 tensor of one dim.

    Raises:
        OSError: the file is not there or cannot be read.

    Example:
        >>> import paddle, tempfile
        >>> with tempfile.NamedTemporaryFile() as file:
        ...     _ = file.write(b"abc"), file.flush()
        ...     data = paddle.vision.ops.read_file(file.name)
        >>> data.tolist()
        [97, 98, 99]
    """
    return from_numpy(np.fromfile(filename, np.uint8))


@public("paddle.vision.ops")
def decode_jpeg(x: Tensor, mode: str = "unchanged", name: str | None = None) -> Tensor:
    """Image of a JPEG file, decoded by Pillow.

    Args:
        x: uint8 tensor of one dim: the bytes of the file, as :func:`read_file` gives them.
        mode: ``"unchanged"`` for the channels of the file, ``"gray"`` for one, ``"rgb"`` for three.

    Returns:
        uint8 tensor ``[channels, height, width]``.

    Raises:
        ImportError: Pillow is not installed.
        TypeError: x is not of uint8.
        ValueError: x has other dims, the mode is another, or the bytes are no JPEG image or end early.

    Example:
        >>> import io, paddle
        >>> from PIL import Image
        >>> file = io.BytesIO()
        >>> Image.new("RGB", (3, 2), (255, 0, 0)).save(file, "JPEG")
        >>> data = paddle.to_tensor(list(file.getvalue()), dtype="uint8")
        >>> paddle.vision.ops.decode_jpeg(data).shape
        paddle.Size([3, 2, 3])
    """
    modes: dict[str, str | None] = {"unchanged": None, "gray": "L", "rgb": "RGB"}
    if mode not in modes:
        raise op_error(ValueError, "decode_jpeg", f"a mode of {tuple(modes)}", repr(mode))
    if need_tensor(x, "decode_jpeg").dtype is not dt.uint8:
        raise op_error(TypeError, "decode_jpeg", "bytes as uint8", x.dtype.name)
    if x.ndim != 1:
        raise op_error(ValueError, "decode_jpeg", "bytes as a tensor of one dim", list(x.shape))
    pixels = np.asarray(_decoded(host_values(x).tobytes(), modes[mode]))
    pixels = pixels[None] if pixels.ndim == 2 else np.moveaxis(pixels, 2, 0)
    return from_numpy(np.ascontiguousarray(pixels), x.place)


def _decoded(data: bytes, mode: str | None) -> Any:
    pil = need_pil()
    try:
        image = pil.open(io.BytesIO(data), formats=("JPEG",))
        image.load()
    except (OSError, SyntaxError, pil.DecompressionBombError) as error:
        raise op_error(ValueError, "decode_jpeg", "the bytes of a JPEG image", error) from None
    return image if mode is None else image.convert(mode)
