"""Values of parameters as PaddlePaddle writes them: one stream after the other, or a file for each.

A stream, little-endian: u32 version 0; u64 count of levels of sequences, each u64 bytes and that many of them; u32
version 0; i32 size of a description, a protobuf message of field 1, the element type, and field 2, a size, repeated;
then the elements. A ``.pdiparams`` file has the streams of all parameters, sorted by name, and no names.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, BinaryIO

import numpy as np

from umiak.core.array import host_values, operand
from umiak.core.dtype import DType, convert
from umiak.core.place import Place
from umiak.core.tensor import Tensor, empty
from umiak.ir.serialise import FormatError

# Numbers of element types in protobuf messages, and their names here.
ELEMENTS = {
    0: "bool", 1: "int16", 2: "int32", 3: "int64", 4: "float16", 5: "float32", 6: "float64", 20: "uint8", 21: "int8",
    22: "bfloat16", 23: "complex64", 24: "complex128", 32: "float8_e4m3fn", 33: "float8_e5m2",
}  # fmt: skip
_NUMBERS = {v: k for k, v in ELEMENTS.items()}
MOST_AXES, MOST_ELEMENTS = 32, 1 << 48
_MOST_DESCRIPTION = 1 << 10  # bytes of a description with MOST_AXES sizes, and to spare
_TYPE, _SIZE, _SIZES = 0x08, 0x10, 0x12  # keys of the description: fields 1 and 2, and field 2 packed


class _Reader:
    """Bytes that are taken from the front."""

    def __init__(self, data: bytes | memoryview) -> None:
        self.data = memoryview(data).cast("B")
        self.size = len(self.data)
        self.at = 0

    def take(self, n: int, what: str) -> memoryview:
        self._pass(n, what)
        return self.data[self.at - n : self.at]

    def _pass(self, n: int, what: str) -> None:
        left = self.size - self.at
        if not 0 <= n <= left:
            raise FormatError(f"{n} bytes of {what} are required at byte {self.at}, got {left}")
        self.at += n

    def value(self, dtype: DType, shape: tuple[int, ...]) -> Any:
        """The elements that come next, as an array over the bytes."""
        return np.frombuffer(self.take(*_elements(dtype, shape)), dtype.numpy).reshape(shape)

    def skip(self, n: int, what: str) -> None:
        """Leave bytes out."""
        self._pass(n, what)

    def number(self, form: str, what: str) -> int:
        return struct.unpack("<" + form, self.take(struct.calcsize(form), what))[0]

    def varint(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self.take(1, "a number")[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise FormatError(f"a number of at most 10 bytes is required before byte {self.at}")


class _FileReader(_Reader):
    """The same of a file, of which nothing is kept but the values: each is read to where it stays."""

    def __init__(self, file: BinaryIO, place: Place) -> None:
        self.file, self.place = file, place
        self.size = os.fstat(file.fileno()).st_size
        self.at = 0

    def take(self, n: int, what: str) -> memoryview:
        self._pass(n, what)
        taken = self.file.read(n)
        self._check(len(taken), n)
        return memoryview(taken)

    def skip(self, n: int, what: str) -> None:
        self._pass(n, what)
        self.file.seek(self.at)

    def value(self, dtype: DType, shape: tuple[int, ...]) -> Tensor:
        n, what = _elements(dtype, shape)
        self._pass(n, what)
        made = empty(shape, dtype, self.place)
        if n:
            self._check(self.file.readinto(operand(made).reshape(-1).view(np.uint8).data), n)
        return made

    def _check(self, got: int, n: int) -> None:
        if got != n:
            raise FormatError(f"{n} bytes are required at byte {self.at - n}, got {got}: the file has become shorter")


def _elements(dtype: DType, shape: tuple[int, ...]) -> tuple[int, str]:
    """The number of bytes of elements, and their name in errors."""
    return prod(shape) * dtype.itemsize, f"elements of shape {list(shape)} and dtype {dtype.name}"


def _description(data: memoryview) -> tuple[DType, tuple[int, ...]]:
    reader = _Reader(data)
    element, sizes = None, []
    while reader.at < len(data):
        key = reader.varint()
        if key == _TYPE:
            element = reader.varint()
        elif key == _SIZE:
            sizes.append(reader.varint())
        elif key == _SIZES:
            end = reader.varint() + reader.at
            while reader.at < end:
                sizes.append(reader.varint())
        else:
            raise FormatError(f"fields 1 and 2 in the description of a tensor are required, got the key {key}")
        if len(sizes) > MOST_AXES:
            raise FormatError(f"at most {MOST_AXES} axes of a tensor are required, got more")
    if prod(max(n, 1) for n in sizes) >= MOST_ELEMENTS:  # arrays of no elements have such limits, too
        raise FormatError(f"sizes of fewer than {MOST_ELEMENTS} elements are required, got {sizes}")
    if element not in ELEMENTS:
        raise FormatError(f"an element type of {sorted(ELEMENTS)} is required, got {element}")
    return convert(ELEMENTS[element]), tuple(sizes)


def _next(reader: _Reader) -> Any:
    version = reader.number("I", "a version")
    if version != 0:
        raise FormatError(f"version 0 of a tensor's stream is required, got {version}")
    levels = reader.number("Q", "a count of levels")
    if levels > MOST_AXES:  # sequences are in rows of one axis more each
        raise FormatError(f"at most {MOST_AXES} levels of sequences are required, got {levels}")
    for _ in range(levels):
        reader.skip(reader.number("Q", "the size of a level"), "a level of sequences")
    version = reader.number("I", "a version")
    if version != 0:
        raise FormatError(f"version 0 of a tensor is required, got {version}")
    n = reader.number("i", "the size of a description")
    if not 0 <= n <= _MOST_DESCRIPTION:
        raise FormatError(f"a description of at most {_MOST_DESCRIPTION} bytes is required, got {n}")
    dtype, shape = _description(reader.take(n, "a description"))
    return reader.value(dtype, shape)


def read(data: bytes | memoryview, names: Sequence[str]) -> dict[str, np.ndarray]:
    """The values in a file of streams, whose parameters have these names. The arrays are views of ``data``.

    Raises:
        FormatError: damaged streams, or more or fewer of them than names.
    """
    return _named(_Reader(data), names)


def read_file(file: BinaryIO, names: Sequence[str], place: Place) -> dict[str, Tensor]:
    """The values in a file of streams, as tensors on a place of the host that nobody else has.

    Raises:
        FormatError: as :func:`read`.
    """
    return _named(_FileReader(file, place), names)


def _named(reader: _Reader, names: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in sorted(names):
        if reader.at == reader.size:
            raise FormatError(f"{len(names)} values are required, got {len(found)}")
        try:
            found[name] = _next(reader)
        except FormatError as error:
            raise FormatError(f"the value of {name!r}: {error}" if name else str(error)) from error
    if (left := reader.size - reader.at) > 0:
        raise FormatError(f"{len(names)} values are required, got {left} more bytes behind them")
    return found


def write(values: Mapping[str, Any]) -> bytes:
    """The streams of arrays or tensors, sorted by name."""
    return b"".join(part for name in sorted(values) for part in _stream(values[name]))


def write_one(value: Any) -> bytes:
    """The stream of one array or tensor."""
    return b"".join(_stream(value))


def _stream(value: Any) -> list[bytes]:
    array = host_values(value) if isinstance(value, Tensor) else np.asarray(value)
    name = array.dtype.name
    if name not in _NUMBERS:
        raise FormatError(f"a dtype of {sorted(_NUMBERS)} is required, got {name}")
    sizes = b"".join(b"\x10" + _varint(n) for n in array.shape)
    description = b"\x08" + _varint(_NUMBERS[name]) + sizes
    head = struct.pack("<IQIi", 0, 0, 0, len(description))
    return [head, description, np.ascontiguousarray(array).tobytes()]


def _varint(n: int) -> bytes:
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)
