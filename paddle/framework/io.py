"""``paddle.save`` and ``paddle.load``: containers of tensors as pickles that the reference framework reads and writes.

A tensor is stored as ``(name, array)``. A state dict, that is a dict whose values are tensors or dicts without tensors,
is stored as plain arrays and a table of names beside them. bfloat16 travels as its bits in uint16.

Loading never runs what a file names (``pickled.py``), and compares the file with the checksum behind its pickle
(``trailer.py``).
"""

from __future__ import annotations

import contextlib
import os
import pickle
import struct
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO

import ml_dtypes
import numpy as np

from paddle import _lazy
from paddle.framework import trailer
from paddle.framework.dense_tensor import DenseTensor
from paddle.framework.pickled import Array, Corrupt, DType, Machine, Pair, Span, Unknown, collide
from paddle.framework.place import current_place
from paddle.framework.plain_objects import PLAIN, Call, Class, Instance, ReferenceDtype, Value, set_state, trusted_names
from paddle.framework.random import GeneratorState
from umiak.core.array import from_numpy, host_values
from umiak.core.tensor import Tensor
from umiak.runtime.program_tracer import outside
from umiak.util import partial_files
from umiak.util.arguments import file_name
from umiak.util.errors import op_error
from umiak.util.regular_file import NotRegular

NAME_TABLE = "StructuredToParameterName@@"
SLICES = "UnpackBigParamInfor@@"  # how protocols below 4 store arrays beyond 4 GiB


# --- saving --------------------------------------------------------------------------------------------------------


def value_of(x: Tensor) -> Tensor:
    """A tensor's value, which a parameter of static programs has in the current scope."""
    if x.is_sparse():
        raise TypeError("[save] requires dense tensors, got a sparse one. Save its indices and values.")
    if getattr(x, "_managed", False):
        from paddle.static.scope import global_scope

        x = global_scope()._value_of(x)
    with outside():  # a program that is recorded is not to have it
        return x.detach()


def _array(x: Tensor) -> np.ndarray:
    a = host_values(value_of(x))
    # Only bfloat16 has a carrier that the reverse way recognises; the others keep ml_dtypes' own.
    return a.view(np.uint16) if a.dtype == ml_dtypes.bfloat16 else a


def _walk(x: Any) -> Iterator[Any]:
    """``x`` and all that is in its dicts, lists, tuples and sets, each once."""
    left, seen = [x], {id(x)}
    while left:
        x = left.pop()
        yield x
        for v in x.values() if isinstance(x, dict) else x if isinstance(x, (list, tuple, set, frozenset)) else ():
            if id(v) not in seen:
                seen.add(id(v))
                left.append(v)


def _is_state_dict(x: Any) -> bool:
    if not isinstance(x, dict):
        return False
    others = [v for v in x.values() if not isinstance(v, Tensor)]
    if not all(isinstance(v, dict) for v in others):
        return False
    return not any(v is x or isinstance(v, Tensor) for v in _walk(others))


def _parse_every_object(obj: Any, condition_func: Callable[[Any], bool], convert_func: Callable[[Any], Any]) -> Any:
    """A nested structure with every object converted that meets the condition."""
    if condition_func(obj):
        return convert_func(obj)
    if isinstance(obj, dict):
        return type(obj)((k, _parse_every_object(v, condition_func, convert_func)) for k, v in obj.items())
    if type(obj) in (list, tuple, set):
        return type(obj)(_parse_every_object(v, condition_func, convert_func) for v in obj)
    return obj


def _need_no_sets(x: Any) -> None:
    elements = [v for found in _walk(x) if isinstance(found, (set, frozenset)) for v in found]
    if any(isinstance(v, Tensor) for v in _walk(elements)):
        raise op_error(TypeError, "save", "tensors in dicts, lists and tuples", "a set of tensors")


def _pack_state_dict(x: dict) -> dict:
    out: dict = {k: _array(v) if isinstance(v, Tensor) else v for k, v in x.items()}
    out[NAME_TABLE] = {k: v.name for k, v in x.items() if isinstance(v, Tensor)}
    return out


@contextlib.contextmanager
def replacing(path: str) -> Iterator[BinaryIO]:
    """A file that takes the place of ``path`` when it is complete and on disk; on an error nothing changes."""
    folder, name = os.path.split(path)
    if folder:
        os.makedirs(folder, exist_ok=True)
    partial_files.sweep(folder, name)
    fd, temporary = partial_files.create(folder, name)
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
            os.fchmod(f.fileno(), mode)
            os.replace(temporary, path)  # while it is locked: nobody takes it for a dead writer's
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


def as_safetensors(path: Any, configs: dict[str, Any]) -> bool:
    """Return whether a file is one of safetensors: by its name, or because it is said."""
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


def save_data(obj: Any, path: str | os.PathLike | BinaryIO, protocol: int = 4, **configs: Any) -> None:
    """Write data; the arguments are those of ``paddle.save``."""
    protocol = configs.pop("pickle_protocol", protocol)
    if not isinstance(protocol, int) or isinstance(protocol, bool) or not 2 <= protocol <= 4:
        raise op_error(ValueError, "save", "a protocol from 2 to 4", repr(protocol))
    unknown = configs.keys() - {"safetensors"}
    if unknown:
        raise op_error(TypeError, "save", "known options", sorted(unknown)[0])
    if not hasattr(path, "write"):
        path = file_name("save", "the name of a file or a binary file object", path)
    if as_safetensors(path, configs):
        _save_safetensors(obj, path)
        return
    _need_no_sets(obj)
    packed = _pack_state_dict(obj) if _is_state_dict(obj) else obj
    write_with(path, lambda f: _dump(packed, f, protocol))


def write_with(path: str | os.PathLike | BinaryIO, write: Callable[[Any], Any]) -> None:
    """Have a function write to a file object, or to the file of a name, which appears when it is whole."""
    if hasattr(path, "write"):
        write(path)
        return
    path = file_name("save", "the name of a file or a binary file object", path)
    if not os.path.basename(path):
        raise op_error(ValueError, "save", "the name of a file", repr(path))
    with replacing(path) as f:
        write(f)


class _Pickler(pickle.Pickler):
    """Tensors are stored as ``save`` stores them, whatever holds them; lists and tuples of other classes as plain
    ones, but for named tuples."""

    def reducer_override(self, x: Any) -> Any:
        if isinstance(x, DenseTensor):
            x = x._tensor
        if isinstance(x, Tensor):
            return tuple, ((x.name, _array(x)),)
        if isinstance(x, list):
            return list, (), None, iter(x)
        if isinstance(x, tuple) and not hasattr(x, "_fields"):
            return tuple, (tuple(x),)
        if hasattr(type(x), "state_dict") and hasattr(type(x), "forward"):  # not what answers to any name
            raise op_error(TypeError, "save", "data", type(x).__name__, "Save layer.state_dict().")
        return NotImplemented


def _dump(packed: Any, f: Any, protocol: int) -> None:
    """A pickle and its checksum."""
    summing = trailer.Summing(f)
    _Pickler(summing, protocol).dump(packed)
    summing.finish()


# --- loading -------------------------------------------------------------------------------------------------------

# What reading a damaged file may end in.
_DAMAGE = (
    AttributeError,
    LookupError,
    MemoryError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
    struct.error,
)
DEEPEST = 500
Trusted = dict[tuple[str, str], Class]
LOAD_OPTIONS = {"return_numpy", "keep_name_table", "model_filename", "params_filename", "safetensors", "trusted"}


class _Unpack:
    """Turns what was read into tensors or arrays; what occurs twice is converted once.

    As ``pickle`` does, it makes the parts of an object before the object, except where they hold the object itself.
    """

    def __init__(self, machine: Machine, return_numpy: bool) -> None:
        self.machine = machine
        self.return_numpy = return_numpy
        self.done: dict[int, Any] = {}
        self.named = False

    def array(self, x: Array) -> Any:
        if x.objects is not None:
            raise Corrupt("an array of objects where there should be numbers")
        if x.value is None:
            raise Corrupt("an array without data")
        return x.value

    def tensor(self, x: Array, name: str | None = None) -> Any:
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

    def tensor_or_array(self, x: Array) -> Any:
        """A tensor, or an array where no tensor has such a dtype: texts, records, wide unsigned integers."""
        try:
            return self.tensor(x)
        except TypeError:
            return self.array(x).copy()

    def has_names(self, x: Any) -> bool:
        left, seen = [x], {id(x)}
        while left:
            x = left.pop()
            if isinstance(x, Pair):
                return True
            for v in _parts(x):
                if isinstance(v, (dict, list, tuple, Instance, Array)) and id(v) not in seen:
                    seen.add(id(v))
                    left.append(v)
        return False

    def everything(self, x: Any) -> Any:
        """``x`` converted, with all that is in it."""
        self.named = self.has_names(x)
        return self.convert(x, 0)

    def convert(self, x: Any, depth: int) -> Any:
        """``x`` converted, with all that is in it. One frame for each level: an interpreter allows for DEEPEST."""
        kind = type(x)
        if kind in _PLAIN:
            return x
        converted = self.done.get(id(x))
        if converted is not None:
            return converted
        if depth > DEEPEST:
            raise Corrupt(f"objects more than {DEEPEST} deep")
        out: Any
        elements: Iterable[Any] = ()
        items: Iterable[tuple[Any, Any]] = ()
        counts: dict[int, int] = {}
        if kind is dict or kind is OrderedDict:
            out, items = kind(), x.items()
        elif kind is list:
            out, elements = [], x
        elif kind is Instance:
            arguments, keywords = self.convert(x.arguments, depth + 1), self.convert(x.keywords, depth + 1)
            self.count(*arguments, *keywords.values())
            if (converted := self.done.get(id(x))) is not None:  # by a part that holds it
                return converted
            out, elements, items = x.make(*arguments, **keywords), x.elements, x.items
        elif kind is tuple or kind is set or kind is frozenset:
            if kind is not tuple and not any(type(v) in _MADE for v in x):
                return x
            made = []
            for v in x:
                v = self.convert(v, depth + 1)
                if kind is not tuple:
                    collide(hash(v), counts)
                made.append(v)
            if (converted := self.done.get(id(x))) is not None:  # by a part that holds it
                return converted
            out = kind(made)
        elif kind is Array and x.objects is not None:
            flat = np.empty(len(x.objects), object)
            out = self.done[id(x)] = flat.reshape(x.shape)
            for i, v in enumerate(x.objects):
                flat[i] = self.convert(v, depth + 1)  # one by one: together, lists of one length are rows
        else:
            out = self.leaf(x)
        self.done[id(x)] = out
        for v in elements:
            out.append(self.convert(v, depth + 1))
        for k, v in items:
            if type(k) in _MADE:
                k = self.convert(k, depth + 1)
                collide(hash(k), counts)
            out[k] = self.convert(v, depth + 1)
        if kind is Instance and x.has_state:
            state = self.convert(x.state, depth + 1)
            self.count(state)
            set_state(out, state)
        return out

    def count(self, *parts: Any) -> None:
        """Count what an object may copy, as often as the file refers to it."""
        for x in parts:
            if isinstance(x, (list, tuple, dict, set, frozenset, str, bytes)):
                self.machine.copy(len(x))

    def leaf(self, x: Any) -> Any:
        if isinstance(x, Array):
            return self.array(x).copy() if self.named or self.return_numpy else self.tensor_or_array(x)
        if isinstance(x, Pair):
            return self.tensor(x[1], x[0])
        if isinstance(x, Span):
            return bytes(x.view)
        if isinstance(x, _DATA):
            return x
        if isinstance(x, (Call, Value, Class, ReferenceDtype, DType)) and x.value is not None:
            return x.value
        raise Corrupt("a name where there should be data")


_DATA = (
    *(type(None), bool, int, float, complex, str, bytes, bytearray, np.generic),
    GeneratorState,
    *PLAIN,
)
_PLAIN = frozenset(_DATA)
_MADE = {Instance, tuple, frozenset}  # keys that have to be converted, or may hold such


def _parts(x: Any) -> Iterable[Any]:
    if isinstance(x, Instance):
        return x.parts()
    if isinstance(x, Array):
        return x.objects or ()
    return x.values() if isinstance(x, dict) else x if isinstance(x, (list, tuple)) else ()


def _join_slices(x: dict) -> None:
    """Put arrays together that were stored in slices."""
    table = x.pop(SLICES)
    for key, info in table.items():
        names, shape = info["slices"], info["OriginShape"]
        if not all(type(p) is str for p in names) or not all(type(n) is int for n in shape):
            raise Corrupt("a table of slices")
        joined = Array()
        joined.value = np.concatenate([x.pop(p).value.ravel() for p in names]).reshape(shape)
        x[key] = joined


def load_saved(path: str | os.PathLike | BinaryIO, **configs: Any) -> Any:
    """Return what ``paddle.save`` wrote; ``path`` and ``configs`` are those of ``paddle.load``."""
    try:
        trusted = trusted_names(configs.get("trusted", ()))
    except TypeError as error:
        raise op_error(TypeError, "load", "classes and functions as trusted", str(error)) from None
    if not hasattr(path, "read"):
        path = file_name("load", "the name of a file or a binary file object", path)
    if not hasattr(path, "read") and as_safetensors(path, configs):
        from umiak.checkpoint.safetensors import load_safetensors

        try:
            tensors, _ = load_safetensors(os.fspath(path), current_place())
        except FileNotFoundError:
            raise op_error(ValueError, "load", "a file that exists", repr(os.fspath(path))) from None
        return {k: host_values(t).copy() for k, t in tensors.items()} if configs.get("return_numpy") else tensors
    name = path if isinstance(path, str) else getattr(path, "name", "<file object>")
    try:
        loaded, machine = _read_object(path, trusted) if hasattr(path, "read") else _read_file(name, trusted)
        if isinstance(loaded, dict) and isinstance(loaded.get(SLICES), dict):
            _join_slices(loaded)
        return _finish(loaded, machine, bool(configs.get("return_numpy")), bool(configs.get("keep_name_table")))
    except FileNotFoundError:
        raise op_error(ValueError, "load", "a file that exists", repr(name)) from None
    except NotRegular as error:
        raise op_error(ValueError, "load", "a regular file", f"{name!r}, which is {error.kind}") from None
    except Unknown as error:
        hint = "If you trust the file, give the class or function: paddle.load(path, trusted=[...])."
        got = f"{name!r}, which names {error}"
        raise op_error(ValueError, "load", "a file of tensors and plain data", got, hint) from None
    except _DAMAGE as error:
        message = str(error) or type(error).__name__
        raise op_error(
            ValueError, "load", "a file written by paddle.save", f"{name!r}: {message[:300]}", "It may be damaged."
        ) from error


def _read_file(name: str, trusted: Trusted) -> tuple[Any, Machine]:
    data, alone = trailer.read(name)
    reader = Machine(data, trusted)
    loaded = reader.run()
    if not alone:
        trailer.end_of(data, reader.at)
    return loaded, reader


def _read_object(f: Any, trusted: Trusted) -> tuple[Any, Machine]:
    """The next pickle of a file object. Where the object can be moved, it then stands behind that."""
    begin = f.tell() if hasattr(f, "seekable") and f.seekable() else None
    data = memoryview(f.read())
    loaded = trailer.at_the_end(data)
    if loaded is not None and loaded.covers == loaded.begin:  # there is but one
        trailer.check(data[: loaded.begin], loaded)
    else:
        loaded = None
    reader = Machine(data, trusted)
    value = reader.run()
    end = trailer.end_of(data, reader.at) if loaded is None else loaded.end
    if begin is not None:
        f.seek(begin + end)
    return value, reader


def _finish(loaded: Any, machine: Machine, return_numpy: bool, keep_name_table: bool) -> Any:
    table = loaded.get(NAME_TABLE) if isinstance(loaded, dict) else None
    out = _Unpack(machine, return_numpy).everything(loaded)
    if isinstance(table, dict):
        for key, name in table.items():
            if isinstance(out.get(key), Tensor) and isinstance(name, str):
                out[key].name = name
        if not keep_name_table:
            del out[NAME_TABLE]
    return out


__getattr__, __dir__ = _lazy.attributes_of(__name__)
