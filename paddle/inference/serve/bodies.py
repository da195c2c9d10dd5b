"""Arrays by name as bodies of requests and answers: JSON, NumPy's archives, safetensors, and plain bytes of one array.

What is read is untrusted: no code is run, and nothing is made that is larger than ``most`` bytes.
"""

from __future__ import annotations

import io
import json
import math
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from umiak.checkpoint.dtypes import CODES, numpy_dtype
from umiak.core.dtype import DType, convert

Arrays = dict[str, np.ndarray]
Bytes = bytes | memoryview


class Malformed(ValueError):
    """A body that is not what its type says."""


class Declared(NamedTuple):
    """An input of a model: sizes, with -1 for any, and the dtype."""

    shape: list[int]
    dtype: DType


def check_names(given: Mapping[str, Any], declared: Mapping[str, Declared]) -> None:
    """Refuse other inputs than those of the model."""
    if set(given) != set(declared):
        raise Malformed(f"the inputs {list(declared)} are required, got {list(given)}")


# --- JSON ------------------------------------------------------------------------------------------------------------


def _from_json(body: bytes, declared: Mapping[str, Declared], headers: Mapping[str, str], most: int) -> Arrays:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"JSON is required, got {error}") from error
    inputs = document.get("inputs") if isinstance(document, dict) else None
    if not isinstance(inputs, dict):
        raise Malformed('an object {"inputs": {name: nested lists}} is required')
    check_names(inputs, declared)
    return {name: _array(name, value, declared[name].dtype) for name, value in inputs.items()}


def _array(name: str, value: Any, dtype: DType) -> np.ndarray:
    wanted = np.dtype(dtype.numpy)
    try:
        found = np.asarray(value)
        if found.dtype.kind not in "biufU":
            raise Malformed(f"nested lists of numbers, of one length on each level, are required as {name!r}")
        if found.dtype.kind == "U" and not dtype.is_floating:  # NaN and infinities are texts
            raise Malformed(f"numbers are required as {name!r}, got texts")
        if found.dtype.kind == "f" and not dtype.is_floating and found.size:
            raise Malformed(f"integers are required as {name!r}, got other numbers")
        # Types of `ml_dtypes` are not made of texts.
        converted = (found.astype(np.float64) if found.dtype.kind == "U" else found).astype(wanted)
        if found.dtype.kind in "iu" and dtype.is_integer and not np.array_equal(converted, found):
            raise Malformed(f"numbers that {dtype.name} holds are required as {name!r}")
    except (OverflowError, TypeError, ValueError) as error:
        if isinstance(error, Malformed):
            raise
        raise Malformed(f"nested lists of numbers are required as {name!r}: {error}") from error
    return converted


def _to_json(arrays: Arrays) -> tuple[bytes, dict[str, str]]:
    outputs = {name: _plain(x) for name, x in arrays.items()}
    return json.dumps({"outputs": outputs}, allow_nan=False).encode(), {}


def _plain(x: np.ndarray) -> Any:
    """Nested lists; what JSON has no number for is a text, as requests may have it."""
    wide = x.astype(np.float64) if x.dtype.kind not in "biu" else x
    if wide.dtype.kind == "f" and not np.isfinite(wide).all():
        texts = wide.astype(object)
        for text, found in (("NaN", np.isnan(wide)), ("Infinity", wide == np.inf), ("-Infinity", wide == -np.inf)):
            texts[found] = text
        return texts.tolist()
    return wide.tolist()


# --- NumPy's archives ------------------------------------------------------------------------------------------------


_READ = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED  # the others are unpacked in one piece, however large
_DAMAGED = (
    # `zipfile`: damaged archives, encrypted ones, and methods of compression that it has not.
    zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError,
    # NumPy: headers of arrays, which are Python's literals.
    tokenize.TokenError, MemoryError, SyntaxError, TypeError,
)  # fmt: skip


def _from_npz(body: bytes, declared: Mapping[str, Declared], headers: Mapping[str, str], most: int) -> Arrays:
    arrays: Arrays = {}
    left = most
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            for entry in archive.infolist():
                if entry.compress_type not in _READ:
                    raise Malformed("arrays that are stored or deflated are required, got another compression")
                with archive.open(entry) as file:
                    data = file.read(left + 1)
                left -= len(data)
                if left < 0:
                    raise Malformed(f"arrays of {most} bytes at most are required")
                name = entry.filename.removesuffix(".npy")
                arrays[name] = _from_npy(data)
                if name in declared and arrays[name].dtype.kind == "V":  # as NumPy writes bfloat16
                    wanted = np.dtype(declared[name].dtype.numpy)
                    if arrays[name].dtype.itemsize == wanted.itemsize:
                        arrays[name] = arrays[name].view(wanted)
    except Malformed:
        raise
    except _DAMAGED as error:
        raise Malformed(f"an archive of NumPy is required, got {error or type(error).__name__}") from error
    return arrays


def _from_npy(data: bytes) -> np.ndarray:
    file = io.BytesIO(data)
    version = np.lib.format.read_magic(file)
    readers: dict[tuple[int, int], Callable] = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    if version not in readers:
        raise Malformed(f"a file of NumPy's format 1 or 2 is required, got {version}")
    shape, fortran_order, dtype = readers[version](file)
    if dtype.hasobject or dtype.kind not in "biufcV":
        raise Malformed(f"arrays of numbers are required, got {dtype}")
    rest = memoryview(data)[file.tell() :]
    if any(n < 0 for n in shape) or math.prod(shape) * dtype.itemsize != len(rest):
        raise Malformed(f"an array of shape {shape} and {dtype} is required to have as many bytes, got {len(rest)}")
    return np.frombuffer(rest, dtype).reshape(shape, order="F" if fortran_order else "C")


def _to_npz(arrays: Arrays) -> tuple[bytes, dict[str, str]]:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:  # of any names; savez has keywords
        for name, x in arrays.items():
            inner = io.BytesIO()
            np.lib.format.write_array(inner, x, allow_pickle=False)
            archive.writestr(name + ".npy", inner.getvalue())
    return file.getvalue(), {}


# --- safetensors -----------------------------------------------------------------------------------------------------

_BY_CODE = {code: name for name, code in CODES.items()}


def _from_safetensors(body: bytes, declared: Mapping[str, Declared], headers: Mapping[str, str], most: int) -> Arrays:
    size = int.from_bytes(body[:8], "little")
    if len(body) < 8 or size > len(body) - 8:
        raise Malformed("a file of safetensors is required, got one without a header")
    try:
        header = json.loads(body[8 : 8 + size])
    except (ValueError, RecursionError) as error:
        raise Malformed(f"a header in JSON is required, got {error}") from error
    if not isinstance(header, dict):
        raise Malformed("an object is required as header")
    data, arrays = memoryview(body)[8 + size :], {}
    for name, entry in header.items():
        if name != "__metadata__":
            arrays[name] = _entry(name, entry, data)
    return arrays


def _entry(name: str, entry: Any, data: memoryview) -> np.ndarray:
    fields = entry if isinstance(entry, dict) else {}
    code, shape, place = fields.get("dtype"), _sizes(fields.get("shape")), _sizes(fields.get("data_offsets"))
    if not isinstance(code, str) or code not in _BY_CODE or shape is None or place is None or len(place) != 2:
        raise Malformed(f"dtype, shape and data_offsets are required for {name!r}")
    dtype, (begin, end) = np.dtype(numpy_dtype(_BY_CODE[code])), place
    if not begin <= end <= len(data) or math.prod(shape) * dtype.itemsize != end - begin:
        raise Malformed(f"{name!r} of shape {shape} and {code} is required to have as many bytes as it says")
    return np.frombuffer(data[begin:end], dtype).reshape(shape)


def _sizes(x: Any) -> list[int] | None:
    return x if isinstance(x, list) and all(type(n) is int and n >= 0 for n in x) else None


def _to_safetensors(arrays: Arrays) -> tuple[bytes, dict[str, str]]:
    header, data, at = {}, [], 0
    for name, x in arrays.items():
        part = _bytes_of(x)
        code = CODES[convert(x.dtype).name]
        header[name] = {"dtype": code, "shape": list(x.shape), "data_offsets": [at, at + len(part)]}
        data.append(part)
        at += len(part)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return b"".join([len(text).to_bytes(8, "little"), text, *data]), {}


# --- bytes of one array ----------------------------------------------------------------------------------------------


def _bytes_of(x: np.ndarray) -> memoryview:
    """The memory of an array; types of `ml_dtypes` have no buffers."""
    return np.ascontiguousarray(x).reshape(-1).view(np.uint8).data


def _from_octets(body: bytes, declared: Mapping[str, Declared], headers: Mapping[str, str], most: int) -> Arrays:
    if len(declared) != 1:
        raise Malformed(f"a model with one input is required for plain bytes, got inputs {list(declared)}")
    ((name, (shape, dtype)),) = declared.items()
    text = headers.get("x-shape")
    try:
        sizes = list(shape) if text is None else [int(n) for n in text.split(",") if n.strip()]
    except ValueError as error:
        raise Malformed(f"sizes like 1,3,640,640 are required in X-Shape, got {text!r}") from error
    if any(n < 0 for n in sizes):
        raise Malformed(f"the header X-Shape is required, since the model's input has sizes {shape}")
    numpy_type = np.dtype(dtype.numpy)
    if math.prod(sizes) * numpy_type.itemsize != len(body):
        raise Malformed(f"the bytes of {dtype.name} of shape {sizes} are required, got {len(body)} of them")
    return {name: np.frombuffer(body, numpy_type).reshape(sizes)}


def _to_octets(arrays: Arrays) -> tuple[Bytes, dict[str, str]]:
    if len(arrays) != 1:
        raise Malformed(f"one output is required for plain bytes, got {list(arrays)}: name it with ?output=")
    (x,) = arrays.values()
    return _bytes_of(x), {
        "X-Shape": ",".join(map(str, x.shape)),
        "X-DType": convert(x.dtype).name,
    }


class Form(NamedTuple):
    """A type of bodies. ``read(body, declared inputs, headers, most bytes)`` raises Malformed. ``long``: from so many
    bytes on a thread reads and writes, since other requests would have to wait."""

    read: Callable[[bytes, Mapping[str, Declared], Mapping[str, str], int], Arrays]
    write: Callable[[Arrays], tuple[Bytes, dict[str, str]]]
    long: int


FORMS: dict[str, Form] = {
    "application/json": Form(_from_json, _to_json, 1 << 14),
    "application/x-npz": Form(_from_npz, _to_npz, 1 << 18),
    "application/x-safetensors": Form(_from_safetensors, _to_safetensors, 1 << 22),
    "application/octet-stream": Form(_from_octets, _to_octets, 1 << 24),
}


def chosen(accept: str, own: str) -> str | None:
    """The type of an answer: the first that is accepted, by default that of the request; None for none."""
    ranges: Sequence[str] = [part.partition(";")[0].strip().lower() for part in accept.split(",") if part.strip()]
    if not ranges or "*/*" in ranges or own in ranges:
        return own
    return next((x for x in ranges if x in FORMS), own if "application/*" in ranges else None)


def checked(arrays: Arrays, declared: Mapping[str, Declared]) -> list[np.ndarray]:
    """The arrays in the order in which inputs are declared."""
    check_names(arrays, declared)
    for name, (shape, dtype) in declared.items():
        x = arrays[name]
        if x.dtype != np.dtype(dtype.numpy):
            raise Malformed(f"{name!r} is required as {dtype.name}, got {x.dtype}")
        if x.ndim != len(shape) or any(n not in (-1, m) for n, m in zip(shape, x.shape, strict=True)):
            raise Malformed(f"{name!r} is required with shape {shape}, got {list(x.shape)}")
    return [arrays[name] for name in declared]
