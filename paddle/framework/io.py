"""``paddle.save`` and ``paddle.load``: containers of tensors as pickles that the reference framework reads and writes.

A tensor is stored as ``(name, array)``. A state dict, that is a dict whose values are tensors or dicts without tensors,
is stored as plain arrays and a table of names beside them. bfloat16 travels as its bits in uint16.

Loading never runs what a file names: only a handful of constructors are known, each replaced by one that cannot do more
than hold data, and nothing can grow beyond the size of the file.
"""

from __future__ import annotations

import contextlib
import io
import math
import os
import pickle
import struct
import tempfile
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, BinaryIO

import ml_dtypes
import numpy as np

from paddle.framework.place import current_place
from paddle.framework.random import GeneratorState
from umiak.core.array import from_numpy, to_numpy
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

NAME_TABLE = "StructuredToParameterName@@"
SLICES = "UnpackBigParamInfor@@"  # how protocols below 4 store arrays beyond 4 GiB

# Types that NumPy lacks, and the ones that carry their bits.
_CARRIERS = {
    np.dtype(ml_dtypes.bfloat16): np.uint16,
    np.dtype(ml_dtypes.float8_e4m3fn): np.int8,
    np.dtype(ml_dtypes.float8_e5m2): np.uint8,
}


# --- saving --------------------------------------------------------------------------------------------------------


class _Named:
    """A tensor on its way into a file: pickles as the tuple ``(name, array)``."""

    __slots__ = ("array", "name")

    def __init__(self, x: Tensor) -> None:
        self.name = x.name
        self.array = _array(x)

    def __reduce__(self) -> tuple:
        return tuple, ((self.name, self.array),)


def _array(x: Tensor) -> np.ndarray:
    a = x.detach().numpy()
    # Only bfloat16 has a carrier that the reverse way recognises; the float8 types keep their own.
    return a.view(np.uint16) if a.dtype == ml_dtypes.bfloat16 else a


def _has_tensor(x: Any) -> bool:
    if isinstance(x, Tensor):
        return True
    values = x.values() if isinstance(x, dict) else x if isinstance(x, (list, tuple)) else ()
    return any(_has_tensor(v) for v in values)


def _is_state_dict(x: Any) -> bool:
    return isinstance(x, dict) and all(
        isinstance(v, Tensor) or (isinstance(v, dict) and not _has_tensor(v)) for v in x.values()
    )


def _pack(x: Any) -> Any:
    """``x`` with its tensors made ready to be pickled; containers are copied."""
    if isinstance(x, Tensor):
        return _Named(x)
    if isinstance(x, dict):
        items = [(k, _pack(v)) for k, v in x.items()]
        return OrderedDict(items) if isinstance(x, OrderedDict) else dict(items) if type(x) is dict else x
    if isinstance(x, list):
        return [_pack(v) for v in x]
    if isinstance(x, tuple):
        packed = [_pack(v) for v in x]
        return type(x)(*packed) if hasattr(x, "_fields") else tuple(packed)
    if isinstance(x, (set, frozenset)) and _has_tensor(list(x)):
        raise op_error(TypeError, "save", "tensors in dicts, lists and tuples", "a set of tensors")
    return x


def _pack_state_dict(x: dict) -> dict:
    out: dict = {k: _array(v) if isinstance(v, Tensor) else v for k, v in x.items()}
    out[NAME_TABLE] = {k: v.name for k, v in x.items() if isinstance(v, Tensor)}
    return out


@contextlib.contextmanager
def replacing(path: str) -> Iterator[BinaryIO]:
    """A file that takes the place of ``path`` when it is complete and on disk; on an error nothing changes."""
    folder = os.path.dirname(path)
    if folder:
        os.makedirs(folder, exist_ok=True)
    fd, temporary = tempfile.mkstemp(prefix=f".{os.path.basename(path)}.", dir=folder or ".")
    try:
        with os.fdopen(fd, "wb") as f:
            yield f
            f.flush()
            os.fsync(f.fileno())
        try:
            mode = os.stat(path).st_mode & 0o777
        except FileNotFoundError:
            mask = os.umask(0)
            os.umask(mask)
            mode = 0o666 & ~mask
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    with contextlib.suppress(OSError):  # not every file system can flush a folder
        directory = os.open(folder or ".", os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def _as_safetensors(path: Any, configs: dict[str, Any]) -> bool:
    """Whether a file is one of safetensors: by its name, or because it is said."""
    by_name = not hasattr(path, "read") and not hasattr(path, "write") and os.fspath(path).endswith(".safetensors")
    return bool(configs.get("safetensors", by_name))


def _save_safetensors(obj: Any, path: Any) -> None:
    if hasattr(path, "write"):
        raise op_error(TypeError, "save", "the name of a file for safetensors", type(path).__name__)
    wrong = None if isinstance(obj, dict) else type(obj).__name__
    for key, value in obj.items() if isinstance(obj, dict) else ():
        if not isinstance(key, str) or not isinstance(value, Tensor):
            wrong = f"{key!r}: {type(value).__name__}"
    if wrong is not None:
        hint = "Save anything else as a pickle, under another name."
        raise op_error(TypeError, "save", "a dict of tensors by name for safetensors", wrong, hint)
    from umiak.checkpoint.safetensors import save_safetensors

    folder = os.path.dirname(os.fspath(path))
    if folder:
        os.makedirs(folder, exist_ok=True)
    save_safetensors(obj, path)


def save(obj: Any, path: str | os.PathLike | BinaryIO, protocol: int = 4, **configs: Any) -> None:
    """Write ``obj`` to a file: a tensor, a state dict, or dicts, lists and tuples of tensors and plain values.

    The file appears whole or not at all: it is written beside ``path``, flushed to disk and renamed.

    Args:
        obj: what to store. For safetensors, a dict of tensors by name.
        path: a file name, whose folder is made if need be, or a binary file object. One that ends in ``.safetensors``
            becomes a file of that format.
        protocol: of pickle, 2 to 4.
        safetensors: write that format, whatever the name is.

    Example:
        >>> import paddle, tempfile, os
        >>> path = os.path.join(tempfile.mkdtemp(), "x.pdparams")
        >>> paddle.save({"w": paddle.ones([2])}, path)
        >>> paddle.load(path)["w"].shape
        [2]
    """
    if not isinstance(protocol, int) or isinstance(protocol, bool) or not 2 <= protocol <= 4:
        raise op_error(ValueError, "save", "a protocol from 2 to 4", repr(protocol))
    unknown = configs.keys() - {"use_binary_format", "pickle_protocol", "safetensors"}
    if unknown:
        raise op_error(TypeError, "save", "known options", sorted(unknown)[0])
    if _as_safetensors(path, configs):
        _save_safetensors(obj, path)
        return
    if hasattr(obj, "state_dict") and hasattr(obj, "forward"):
        raise op_error(TypeError, "save", "data", type(obj).__name__, "Save layer.state_dict().")
    packed = _pack_state_dict(obj) if _is_state_dict(obj) else _pack(obj)
    if hasattr(path, "write"):
        pickle.dump(packed, path, protocol)  # type: ignore[arg-type]
        return
    name = os.fspath(path)
    if not os.path.basename(name):
        raise op_error(ValueError, "save", "the name of a file", repr(name))
    with replacing(name) as f:
        pickle.dump(packed, f, protocol)


# --- loading -------------------------------------------------------------------------------------------------------


class _Corrupt(ValueError):
    """The content is not a file of this kind."""


# What reading a damaged file may end in.
_DAMAGE = (
    AssertionError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
    pickle.UnpicklingError,
    struct.error,
)


class _DType:
    """Stands for ``numpy.dtype`` while a file is read."""

    __slots__ = ("value",)

    def __init__(self, code: Any, *flags: Any) -> None:
        if not isinstance(code, str):
            raise _Corrupt("a dtype without a name")
        try:
            found = np.dtype(code)
        except TypeError:
            raise _Corrupt(f"unknown dtype {code!r}") from None
        if found.hasobject or found.names is not None or found.subdtype is not None or found.itemsize == 0:
            if found.kind not in "SU":
                raise _Corrupt(f"dtype {code!r}")
        self.value = found

    def __setstate__(self, state: tuple) -> None:
        if not isinstance(state, tuple) or len(state) < 2:
            raise _Corrupt("the state of a dtype")
        if state[1] in ("<", ">") and self.value.itemsize > 1:
            self.value = self.value.newbyteorder(state[1])
        if self.value.kind in "SU" and len(state) > 5 and isinstance(state[5], int) and 0 < state[5] < 1 << 20:
            width = state[5] // (4 if self.value.kind == "U" else 1)
            self.value = np.dtype(f"{state[1] if state[1] in '<>' else ''}{self.value.kind}{width}")


class _Array:
    """Stands for an array while a file is read; its bytes must be there in full."""

    __slots__ = ("value",)

    def __init__(self, *args: Any) -> None:
        self.value: np.ndarray | None = None

    def __setstate__(self, state: tuple) -> None:
        if not isinstance(state, tuple) or len(state) != 5:
            raise _Corrupt("the state of an array")
        _, shape, dtype, fortran, data = state
        if isinstance(data, _Text):
            data = data.data
        if not (
            isinstance(shape, tuple) and all(type(n) is int and n >= 0 for n in shape) and isinstance(dtype, _DType)
        ):
            raise _Corrupt("the shape or dtype of an array")
        if not isinstance(data, (bytes, bytearray)) or len(data) != math.prod(shape) * dtype.value.itemsize:
            raise _Corrupt("an array whose bytes do not match its shape")
        a = np.frombuffer(data, dtype.value)
        self.value = a.reshape(shape[::-1]).T if fortran else a.reshape(shape)


class _Text:
    """Bytes that protocol 2 stores as text."""

    __slots__ = ("data",)

    def __init__(self, text: Any, encoding: Any = "latin1") -> None:
        if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
            raise _Corrupt("encoded text")
        self.data = text.encode("latin1")


class _State:
    """Stands for a ``GeneratorState`` while a file is read."""

    __slots__ = ("value",)

    def __init__(self, state: Any) -> None:
        if not (
            isinstance(state, tuple) and len(state) == 2 and all(type(n) is int and 0 <= n < 1 << 64 for n in state)
        ):
            raise _Corrupt("the state of a generator")
        self.value = GeneratorState(state)

    def __setstate__(self, state: Any) -> None:
        raise _Corrupt("the state of a generator")


def _scalar(dtype: Any, data: Any = b"") -> Any:
    if isinstance(data, _Text):
        data = data.data
    if not isinstance(dtype, _DType) or not isinstance(data, bytes) or len(data) != dtype.value.itemsize:
        raise _Corrupt("a NumPy scalar")
    return np.frombuffer(data, dtype.value)[0]


class _Pair(tuple):
    """A ``(name, array)``."""

    __slots__ = ()


def _pair(items: Any = ()) -> Any:
    if (
        not isinstance(items, tuple)
        or len(items) != 2
        or not isinstance(items[0], str)
        or not isinstance(items[1], _Array)
    ):
        raise _Corrupt("a tuple made by a call that is not (name, array)")
    return _Pair(items)


def _ordered(*args: Any) -> OrderedDict:
    if args and not (len(args) == 1 and isinstance(args[0], list) and not args[0]):
        raise _Corrupt("an OrderedDict made from arguments")
    return OrderedDict()


def _collection(kind: type) -> Any:
    def make(items: Any = ()) -> Any:
        if not isinstance(items, (list, tuple)) or items:
            raise _Corrupt(f"a {kind.__name__} made by a call")
        return kind()

    return make


class _Set:
    """A set of protocol 2 and 3, made by a call of a list."""

    def __new__(cls, items: Any = ()) -> Any:
        if not isinstance(items, list):
            raise _Corrupt("a set made by a call")
        found = set(items)
        items.clear()  # so that one list cannot feed many sets
        return found


_ALLOWED: dict[tuple[str, str], Any] = {
    ("builtins", "tuple"): _pair,
    ("__builtin__", "tuple"): _pair,
    ("builtins", "set"): _Set,
    ("__builtin__", "set"): _Set,
    ("builtins", "bytearray"): _collection(bytearray),
    ("collections", "OrderedDict"): _ordered,
    ("numpy", "dtype"): _DType,
    ("numpy", "ndarray"): "ndarray",
    ("_codecs", "encode"): _Text,
    (GeneratorState.__module__, "GeneratorState"): _State,
    **{(f"numpy.{core}.multiarray", "_reconstruct"): _Array for core in ("core", "_core")},
    **{(f"numpy.{core}.multiarray", "scalar"): _scalar for core in ("core", "_core")},
}
for _name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
    _ALLOWED["ml_dtypes", _name] = _name
    _ALLOWED["ml_dtypes._ml_dtypes_ext", _name] = _name


class _Unpickler(pickle._Unpickler):
    """The interpreter written in Python: its memo is a dict, so that a large index costs nothing."""

    def __init__(self, data: memoryview) -> None:
        super().__init__(_Reader(data))

    def find_class(self, module: str, name: str) -> Any:
        try:
            found = _ALLOWED[module, name]
        except KeyError:
            raise _Corrupt(f"{module}.{name}, which is not data") from None
        return found

    def persistent_load(self, pid: Any) -> Any:
        raise _Corrupt("a reference to another object")

    def get_extension(self, code: int) -> None:
        raise _Corrupt("an extension code")


class _Reader:
    """Reads from memory and never gives more than there is."""

    def __init__(self, data: memoryview) -> None:
        self.data = data
        self.at = 0

    def read(self, n: int = -1) -> bytes:
        end = len(self.data) if n < 0 else min(self.at + n, len(self.data))
        out = bytes(self.data[self.at : end])
        self.at = end
        return out

    def readinto(self, buffer: Any) -> int:
        chunk = self.read(len(buffer))
        buffer[: len(chunk)] = chunk
        return len(chunk)

    def readline(self) -> bytes:
        rest = bytes(self.data[self.at : self.at + (1 << 16)])
        end = rest.find(b"\n") + 1 or len(rest)
        self.at += end
        return rest[:end]


def unpickle(data: bytes | memoryview) -> Any:
    """Read a pickle that holds only data; ValueError for anything else. Arrays come as :class:`_Array`."""
    reader = _Unpickler(memoryview(data))
    # A bytearray is allocated before it is read.
    reader.dispatch = {**reader.dispatch, pickle.BYTEARRAY8[0]: _no_bytearray}  # type: ignore[misc]
    return reader.load()


def _no_bytearray(self: Any) -> None:
    raise _Corrupt("a bytearray")


class _Unpack:
    """Turns what was read into tensors or arrays; what occurs twice is converted once."""

    def __init__(self, return_numpy: bool) -> None:
        self.return_numpy = return_numpy
        self.done: dict[int, Any] = {}
        self.named = False

    def array(self, x: _Array) -> np.ndarray:
        if x.value is None:
            raise _Corrupt("an array without data")
        return x.value

    def tensor(self, x: _Array, name: str | None = None) -> Any:
        a = self.array(x)
        if self.return_numpy:
            return a.copy()
        if a.dtype == np.uint16:
            a = a.view(ml_dtypes.bfloat16)
        if not a.dtype.isnative:
            a = a.astype(a.dtype.newbyteorder("="))
        made = from_numpy(a)
        if name is not None:
            made.name = name
        return made

    def has_names(self, x: Any, seen: set[int]) -> bool:
        if isinstance(x, _Pair):
            return True
        if not isinstance(x, (dict, list, tuple)) or id(x) in seen:
            return False
        seen.add(id(x))
        return any(self.has_names(v, seen) for v in (dict.values(x) if isinstance(x, dict) else x))

    def convert(self, x: Any, depth: int = 0) -> Any:
        if depth > 500:
            raise _Corrupt("containers more than 500 deep")
        if isinstance(x, _State):
            return x.value
        if not isinstance(x, (dict, list, tuple, _Array, _DType, _Text)):
            return x
        found = self.done.get(id(x))
        if found is not None:
            return found
        out: Any
        if isinstance(x, _Pair):
            out = self.tensor(x[1], x[0])
        elif isinstance(x, _Array):
            out = self.array(x).copy() if self.named or self.return_numpy else self.tensor(x)
        elif isinstance(x, _DType):
            out = x.value
        elif isinstance(x, _Text):
            out = x.data
        elif isinstance(x, dict):
            out = self.done[id(x)] = OrderedDict() if isinstance(x, OrderedDict) else {}
            for k, v in dict.items(x):
                out[k] = self.convert(v, depth + 1)
        elif isinstance(x, list):
            out = self.done[id(x)] = []
            out.extend(self.convert(v, depth + 1) for v in x)
        else:
            out = tuple(self.convert(v, depth + 1) for v in x)
        self.done[id(x)] = out
        return out


def _join_slices(x: dict) -> None:
    """Put arrays together that were stored in slices."""
    table = x.pop(SLICES)
    for key, info in table.items():
        parts = [np.asarray(x.pop(p).value).ravel() for p in info["slices"]]
        whole = _Array()
        whole.value = np.concatenate(parts).reshape(info["OriginShape"])
        x[key] = whole


def load(path: str | os.PathLike | BinaryIO, **configs: Any) -> Any:
    """Read what ``paddle.save`` wrote.

    Only data is read: a file that names code is refused, and so is one that is cut short. Tensors come back on the
    current place with ``stop_gradient=True``.

    Args:
        path: a file name or a binary file object. One that ends in ``.safetensors`` is read as such.
        safetensors: read that format, whatever the name is.
        return_numpy: whether to give arrays instead of tensors.
        keep_name_table: whether a state dict keeps its table of parameter names.

    Raises ValueError where the file does not exist or does not hold such data.

    Example:
        >>> import paddle, io
        >>> f = io.BytesIO()
        >>> paddle.save([paddle.ones([2]), 3], f)
        >>> _ = f.seek(0)
        >>> paddle.load(f)[1]
        3
    """
    unknown = configs.keys() - {"return_numpy", "keep_name_table", "model_filename", "params_filename", "safetensors"}
    if unknown:
        raise op_error(TypeError, "load", "known options", sorted(unknown)[0])
    if hasattr(path, "read"):
        name, data = getattr(path, "name", "<file object>"), path.read()
    else:
        name = os.fspath(path)
        if not os.path.isfile(name):
            raise op_error(ValueError, "load", "a file that exists", repr(name))
        if _as_safetensors(path, configs):
            from umiak.checkpoint.safetensors import load_safetensors

            tensors, _ = load_safetensors(name, current_place())
            return {k: to_numpy(t).copy() for k, t in tensors.items()} if configs.get("return_numpy") else tensors
        with open(name, "rb") as f:
            data = f.read()
    try:
        found = unpickle(data)
        if isinstance(found, dict) and isinstance(found.get(SLICES), dict):
            _join_slices(found)
        return _finish(found, bool(configs.get("return_numpy")), bool(configs.get("keep_name_table")))
    except _DAMAGE as error:
        what = str(error) or type(error).__name__
        raise op_error(
            ValueError, "load", "a file written by paddle.save", f"{name!r}: {what}", "It may be damaged."
        ) from error


def _finish(found: Any, return_numpy: bool, keep_name_table: bool) -> Any:
    unpack = _Unpack(return_numpy)
    unpack.named = unpack.has_names(found, set())
    table = found.get(NAME_TABLE) if isinstance(found, dict) else None
    out = unpack.convert(found)
    if isinstance(table, dict):
        for key, name in table.items():
            if isinstance(out.get(key), Tensor) and isinstance(name, str):
                out[key].name = name
        if not keep_name_table:
            del out[NAME_TABLE]
    return out


def save_to_memory(obj: Any, protocol: int = 4) -> bytes:
    """What ``save`` would write, as bytes."""
    f = io.BytesIO()
    save(obj, f, protocol)
    return f.getvalue()
