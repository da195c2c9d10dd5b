"""``Tensor``: an input or output of a predictor."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from paddle._public import public
from paddle.inference import kinds
from paddle.inference.preparing import declared
from paddle.static.formats.graph import offsets_name
from umiak.core import tensor as core
from umiak.core.array import from_numpy
from umiak.core.dtype import DType, convert
from umiak.core.inplace import assign
from umiak.core.place import Place
from umiak.ir.expr import Sym
from umiak.ir.meta import Meta
from umiak.ir.tracer import SymTensor
from umiak.runtime.program_tracer import outside
from umiak.util.errors import op_error


class Slots:
    """The tensors that a predictor is given and gives, by name. ``narrow``: the dtype in which floats come and go."""

    def __init__(
        self, metas: dict[str, Meta], outputs: Sequence[str], place: Place, narrow: str | None,
        may_be_packed: frozenset[str] = frozenset(),
    ) -> None:  # fmt: skip
        self.metas = metas
        self.may_be_packed = may_be_packed
        self.outputs = list(outputs)
        self.place = place
        self.narrow = None if narrow is None else convert(narrow)
        self.values: dict[tuple[bool, str], core.Tensor] = {}  # inputs have True
        self.packed: dict[str, list[list[int]]] = {}  # offsets that inputs were given
        self.memory: dict[str, core.Tensor] = {}  # the caller's, of outputs

    def dtype(self, name: str) -> DType:
        """The dtype that an input is given in."""
        dtype: Any = self.metas[name].dtype
        return self.narrow if self.narrow is not None and dtype.name == "float32" else dtype

    def accept(self, op_name: str, name: str, x: core.Tensor) -> core.Tensor:
        """Check a tensor that is given as an input."""
        wanted = self.dtype(name)
        if x.dtype is not wanted:
            raise op_error(ValueError, op_name, f"{name!r} as {wanted.name}, as the model declares it", x.dtype.name)
        shape = tuple(x.shape)
        sizes = self.metas[name].shape
        if len(shape) != len(sizes) or any(type(n) is not Sym and n != m for m, n in zip(shape, sizes, strict=True)):
            required = f"{name!r} of shape {declared(self.metas[name])}, as the model declares it"
            raise op_error(ValueError, op_name, required, list(shape))
        return x

    def write(self, results: list[core.Tensor]) -> list[core.Tensor]:
        """The outputs, those that have the caller's memory written there; refuses it before anything is written."""
        pairs = list(zip(self.outputs, results, strict=True))
        for name, y in pairs:
            held = self.memory.get(name)
            if held is not None and held.dtype is not y.dtype:
                raise op_error(ValueError, "run", f"memory of {y.dtype.name} for the output {name!r}", held.dtype.name)
            if held is not None and held.size < y.size:
                required = f"memory of at least {y.size} elements for the output {name!r}, of shape {list(y.shape)}"
                raise op_error(ValueError, "run", required, held.size)
        return [y if name not in self.memory else self._written(self.memory[name], y) for name, y in pairs]

    @staticmethod
    def _written(memory: core.Tensor, y: core.Tensor) -> core.Tensor:
        with outside():
            part = memory.flatten()[: y.size].reshape(y.shape)
            assign(part, y)
        return part


@public("paddle.inference")
class Tensor:
    """An input or output of a predictor, which ``get_input_handle`` and ``get_output_handle`` give.

    Args:
        slots: what the predictor is given and gives.
        name: of the input or output.
        given: whether it is an input.

    Example:
        >>> import numpy, os, paddle, tempfile
        >>> paddle.enable_static()
        >>> exe, prefix = paddle.static.Executor(), os.path.join(tempfile.mkdtemp(), "model")
        >>> with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
        ...     x = paddle.static.data("x", [None, 2])
        ...     paddle.static.save_inference_model(prefix, [x], [x * 2.0], exe)
        >>> paddle.disable_static()
        >>> config = paddle.inference.Config(prefix + ".json", "")
        >>> handle = paddle.inference.create_predictor(config).get_input_handle("x")
        >>> handle.shape()
        [-1, 2]
        >>> handle.copy_from_cpu(numpy.ones([3, 2], "float32"))
        >>> handle.shape()
        [3, 2]
    """

    def __init__(self, slots: Slots, name: str, given: bool) -> None:
        self._slots = slots
        self._name = name
        self._given = given
        self._sizes: list[int] | None = None

    def name(self) -> str:
        """Return the name."""
        return self._name

    def _input(self, op_name: str) -> None:
        if not self._given:
            raise op_error(ValueError, op_name, "an input", f"the output {self._name!r}")

    def _value(self) -> core.Tensor | None:
        return self._slots.values.get((self._given, self._name))

    def _set(self, op_name: str, x: core.Tensor) -> None:
        self._slots.values[True, self._name] = self._slots.accept(op_name, self._name, x)
        self._sizes = None

    def copy_from_cpu(self, data: np.ndarray) -> None:
        """Copy an array to the input.

        Args:
            data: of the input's dtype, and of a shape that it allows.

        Raises:
            TypeError: something that is no array.
            ValueError: an output, or an array of another dtype or shape.
        """
        self._input("copy_from_cpu")
        if not isinstance(data, np.ndarray):
            hint = "There are no tensors of texts." if isinstance(data, list) else ""
            raise op_error(TypeError, "copy_from_cpu", "a NumPy array", type(data).__name__, hint)
        if data.dtype.kind in "OSUMm" or data.dtype.type is np.void:  # bfloat16 is of kind V, too
            raise op_error(TypeError, "copy_from_cpu", "an array of numbers or truth values", data.dtype)
        with outside():
            self._set("copy_from_cpu", from_numpy(data, self._slots.place))

    def share_external_data(self, data: core.Tensor) -> None:
        """Let the input be a tensor, whose memory it shares, or runs write the output to a tensor's memory.

        Args:
            data: of the input's dtype, and of a shape that it allows. For an output dense, of its dtype, and with as
                many elements or more: a run writes the first ones, in order, and refuses what does not fit.

        Raises:
            TypeError: something that is no tensor with data.
            ValueError: a tensor of another dtype, shape or place, or for an output one that is not dense.
        """
        if not isinstance(data, core.Tensor) or isinstance(data, SymTensor):
            raise op_error(TypeError, "share_external_data", "a tensor with data", type(data).__name__)
        if data.place is not self._slots.place:
            raise op_error(ValueError, "share_external_data", f"a tensor at {self._slots.place}", data.place)
        self._share("share_external_data", data.detach())

    def _share(self, op_name: str, data: core.Tensor) -> None:
        if self._given:
            self._set(op_name, data)
        elif not data.is_contiguous():
            raise op_error(ValueError, op_name, f"dense memory for the output {self._name!r}", "a tensor with strides")
        else:
            self._slots.memory[self._name] = data

    def share_external_data_by_ptr_name(self, data: Any, shape: Sequence[int], dtype: Any, place: Any) -> None:
        """Let the input be memory of the host at an address, which has to stay there while the predictor runs, or runs
        write the output there.

        Args:
            data: the address, a number or its decimal digits.
            shape: the sizes of a dense array; for an output, of as many elements or more.
            dtype: its ``DataType``.
            place: the ``PlaceType`` of the memory: ``CPU``.

        Raises:
            TypeError: something that is no address, ``DataType`` or ``PlaceType``.
            ValueError: another place, or another dtype or shape than the input allows, or for an output a predictor at
                another place.
        """
        op_name = "share_external_data_by_ptr_name"
        kinds._required(op_name, "dtype", dtype, kinds.DataType)
        if kinds._required(op_name, "place", place, kinds.PlaceType) is not kinds.PlaceType.CPU:
            raise op_error(ValueError, op_name, "memory of PlaceType.CPU", place.name)
        if isinstance(data, str) and data.isdecimal():
            data = int(data)
        sizes = [int(n) for n in shape]
        if isinstance(data, bool) or not isinstance(data, int) or data <= 0 or any(n < 0 for n in sizes):
            raise op_error(TypeError, op_name, "an address and sizes", [data, sizes])
        if not self._given and not self._slots.place.is_cpu_place():
            raise op_error(ValueError, op_name, f"memory at {self._slots.place} for an output", place.name)
        numpy_dtype = np.dtype(kinds.dtype_of(dtype).numpy)
        memory = (ctypes.c_char * (math.prod(sizes) * numpy_dtype.itemsize)).from_address(data)
        array = np.frombuffer(memoryview(memory), numpy_dtype).reshape(sizes)
        with outside():
            self._share(op_name, from_numpy(array, self._slots.place, copy=False))

    def reshape(self, *shape: Any) -> None:
        """Say which sizes the input has; ``copy_from_cpu`` takes them from the array in any case.

        Args:
            *shape: sizes, or a list, an array or a tensor of them.

        Raises:
            ValueError: an output, or sizes that the input does not allow.
        """
        self._input("reshape")
        given = shape[0] if len(shape) == 1 else shape
        given = given.tolist() if hasattr(given, "tolist") else given  # an array or a tensor
        sizes = list(given) if isinstance(given, (list, tuple)) else [given]
        wanted = declared(self._slots.metas[self._name])
        if len(sizes) != len(wanted) or any(n < 0 or m not in (-1, n) for m, n in zip(wanted, sizes, strict=True)):
            raise op_error(ValueError, "reshape", f"sizes that {self._name!r} allows: {wanted}", sizes)
        self._sizes = [int(n) for n in sizes]

    def copy_to_cpu(self) -> np.ndarray:
        """Copy the values to an array.

        Returns:
            An array, which later runs leave alone.

        Raises:
            RuntimeError: there are no values: no run, or nothing given.
        """
        x = self._value()
        if x is None:
            first = "copy_from_cpu" if self._given else "run()"
            raise op_error(RuntimeError, "copy_to_cpu", f"values of {self._name!r}", "none", f"Call {first} first.")
        with outside():
            return x.numpy()

    def shape(self) -> list[int]:
        """Return the sizes; of an input that nothing was given for those that are declared, with -1 for any."""
        if self._sizes is not None:
            return list(self._sizes)
        x = self._value()
        if x is not None:
            return list(x.shape)
        return declared(self._slots.metas[self._name]) if self._given else []

    def type(self) -> kinds.DataType:
        """Return the type of the elements; of an output before the first run, FLOAT32."""
        if self._given:
            return kinds.data_type(self._slots.dtype(self._name))
        x = self._value()
        return kinds.DataType.FLOAT32 if x is None else kinds.data_type(x.dtype)

    def lod(self) -> list[list[int]]:
        """Return how rows are packed into sequences.

        Returns:
            Offsets for each level, the outermost one first: where its sequences begin in the next level, or in the
            rows, and the end. Empty where rows are not packed. Of an output, those that the model computes: files of
            before 3.0 have models over packed sequences.
        """
        if self._given:
            return [list(level) for level in self._slots.packed.get(self._name, ())]
        found: list[list[int]] = []
        while (x := self._slots.values.get((False, offsets_name(self._name, len(found))))) is not None:
            with outside():
                found.append(x.numpy().tolist())
        return found

    def set_lod(self, lod: Sequence[Sequence[int]]) -> None:
        """Say how rows of an input are packed into sequences, in a model of before 3.0 that has operators over those.

        Args:
            lod: offsets for each level, as :meth:`lod` returns them: ``[[0, 2, 3]]`` for sequences of two rows and of
                one. The last offset of the last level has to be the number of rows of the next run. Empty: none.

        Raises:
            ValueError: an output, numbers that are no offsets, or another number of levels than the model reads; any
                offsets where it reads none: a model of 3.0 takes sequences padded, with their lengths beside.
        """
        self._input("set_lod")
        slots, levels = self._slots, [[int(n) for n in level] for level in lod]
        wanted = 0
        while offsets_name(self._name, wanted) in slots.metas:
            wanted += 1
        if levels and wanted == 0 and self._name not in slots.may_be_packed:
            raise op_error(ValueError, "set_lod", "[]: sequences are padded here, with their lengths beside", levels)
        if levels and wanted not in (0, len(levels)):
            raise op_error(ValueError, "set_lod", f"{wanted} levels of offsets of {self._name!r}", levels)
        for i, level in enumerate(levels):
            grows = level[:1] == [0] and all(a <= b for a, b in zip(level, level[1:], strict=False))
            if not grows or (i and levels[i - 1][-1] != len(level) - 1):
                required = "offsets that begin with 0, grow, and end with the number of what they divide"
                raise op_error(ValueError, "set_lod", required, levels)
        slots.packed[self._name] = levels
        for i in range(wanted):
            key = True, offsets_name(self._name, i)
            if not levels:
                slots.values.pop(key, None)
                continue
            with outside():
                slots.values[key] = from_numpy(np.array(levels[i], "int64"), slots.place)
