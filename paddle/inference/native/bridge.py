"""Predictors by numbers, bytes and memory, for the library that embeds the interpreter (``embed.c``)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from paddle.inference.config import Config
from paddle.inference.kinds import PlaceType, PrecisionType
from paddle.inference.loading import files_of
from paddle.inference.mixed import convert_to_mixed_precision
from paddle.inference.native import settings
from paddle.inference.predictor import Predictor, create_predictor
from paddle.inference.preparing import declared
from paddle.static.formats.graph import is_offsets
from umiak.backends.cpu.aot.steps import DTYPES
from umiak.core.array import from_numpy, host_values
from umiak.core.tensor import Tensor
from umiak.runtime.program_tracer import Run, outside
from umiak.util.errors import op_error

Port = tuple[str, int, tuple[int, ...]]  # name, number of the dtype, sizes with -1 for those that are not known
Settings = Sequence[tuple[str, str]]
HookCallback = Callable[[str, str, int, tuple[int, ...], np.ndarray], bool]
NO_DTYPE = -1


class UnsupportedDtype(TypeError):
    """A dtype that the interface in C has no number for."""


class InputError(ValueError):
    """Data that the model does not take, or an input that was not given."""


def number_of(dtype: Any) -> int:
    """The number that a dtype has in ``umiak_inference.h``."""
    if dtype.name not in DTYPES:
        raise op_error(UnsupportedDtype, "umiak_inference", f"tensors of {', '.join(DTYPES)}", dtype.name)
    return DTYPES.index(dtype.name)


class HookStopped(RuntimeError):
    """A hook that has ended a run."""


class Session:
    """A predictor with its inputs and outputs by number."""

    def __init__(self, predictor: Predictor) -> None:
        self.predictor = predictor
        self.slots = predictor._slots
        metas = predictor._prepared.metas
        self.inputs: list[Port] = [
            (name, number_of(self.slots.dtype(name)), tuple(declared(metas[name])))
            for name in predictor.get_input_names()
        ]
        self.output_names = predictor.get_output_names()
        run = predictor._run
        # Results of what calls operators one by one, or of an engine, are known after a run.
        known: Any = run.program.outputs if isinstance(run, Run) and predictor._prepared.tail is None else ()
        self.outputs: list[Port] = [
            (name, number_of(self._given_as(v.meta.dtype)), tuple(declared(v.meta)))
            for name, v in zip(predictor._prepared.outputs, known, strict=False)
            if not is_offsets(name)
        ] or [(name, 0, ()) for name in self.output_names]

    def _given_as(self, dtype: Any) -> Any:
        narrow = self.slots.narrow
        return narrow if narrow is not None and dtype.name == "float32" else dtype

    def clone(self) -> Session:
        return Session(self.predictor.clone())

    def set(self, index: int, data: memoryview, dtype: int, shape: tuple[int, ...]) -> None:
        """Copy an input from memory."""
        name, wanted, sizes = self.inputs[index]
        if dtype != wanted:
            got = DTYPES[dtype] if 0 <= dtype < len(DTYPES) else dtype
            raise op_error(InputError, "umiak_set_input", f"{name!r} as {DTYPES[wanted]}", got)
        if len(shape) != len(sizes) or any(m not in (-1, n) for m, n in zip(sizes, shape, strict=True)):
            raise op_error(InputError, "umiak_set_input", f"{name!r} of shape {list(sizes)}", list(shape))
        narrow = DTYPES[wanted] == "bfloat16"
        array = np.frombuffer(data, np.dtype("uint16" if narrow else DTYPES[wanted])).reshape(shape)
        with outside():
            x = from_numpy(array)
            self.slots.values[True, name] = x.view("bfloat16") if narrow else x

    def set_lod(self, index: int, lod: list[list[int]]) -> None:
        """Say how rows of an input are packed."""
        try:
            self.predictor.get_input_handle(self.inputs[index][0]).set_lod(lod)
        except ValueError as error:
            raise InputError(str(error)) from error

    def lod(self, index: int) -> list[list[int]]:
        """Return how rows of an output are packed."""
        return self.predictor.get_output_handle(self.output_names[index]).lod()

    def run(self) -> list[tuple[tuple[int, ...], np.ndarray, int]]:
        """Run the model; the sizes, the data and the dtype of each output."""
        for name, *_ in self.inputs:
            if (True, name) not in self.slots.values:
                raise op_error(InputError, "umiak_run", f"a value for the input {name!r}", "none")
        try:
            self.predictor._check_offsets()
        except ValueError as error:
            raise InputError(str(error)) from error
        self.predictor.run()
        results = [self.slots.values[False, name] for name in self.output_names]
        return [(tuple(y.shape), _bytes(y), number_of(y.dtype)) for y in results]

    def add_hook(self, kind: int, callback: HookCallback) -> None:
        """Have a function called with operands (0) or results (1), which ends the run where it returns True."""

        def hook(operation: str, name: str, x: Tensor) -> None:
            number = DTYPES.index(x.dtype.name) if x.dtype.name in DTYPES else NO_DTYPE
            if callback(operation, name, number, tuple(x.shape), _bytes(x)):
                raise HookStopped(f"a hook has ended the run at {name} of {operation}")

        (self.predictor.register_output_hook if kind else self.predictor.register_input_hook)(hook)

    def clear(self) -> None:
        self.predictor.clear_intermediate_tensor()

    def shrink(self) -> int:
        return self.predictor.try_shrink_memory()


def _bytes(x: Tensor) -> np.ndarray:
    """The data, dense."""
    with outside():
        array = host_values(x.view("uint16") if x.dtype.name == "bfloat16" else x)
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def create(model: str, parameters: str | None, threads: int, given: Settings = ()) -> Session:
    """A session of a model in files."""
    program, beside = files_of(model)
    return _session(Config(program, beside if parameters is None else parameters), threads, given)


def create_from_memory(program: bytes, parameters: bytes, threads: int, given: Settings = ()) -> Session:
    """A session of a model that is given as bytes."""
    config = Config()
    config.set_model_buffer(program, len(program), parameters, len(parameters))
    return _session(config, threads, given)


def _session(config: Config, threads: int, given: Settings) -> Session:
    if threads:
        config.set_cpu_math_library_num_threads(threads)
    settings.apply(config, given)
    return Session(create_predictor(config))


def line_buffer_stdout() -> None:
    """Have what is printed leave with each line: a program in C never ends its interpreter, which would do it."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(line_buffering=True)


def setting_names() -> str:
    """A line for each setting."""
    return "\n".join([*settings.SETTINGS, *settings.PASSES])


def pass_names(given: Settings) -> str:
    """A line for each pass that a model would go through."""
    config = Config()
    settings.apply(config, given)
    return "\n".join(config._passes())


def convert(
    model: str, parameters: str | None, mixed: str, mixed_parameters: str | None, dtype: int, given: Settings
) -> None:
    """Write a model as one of a narrow type."""
    program, beside = files_of(model)
    precision = PrecisionType.Bfloat16 if DTYPES[dtype] == "bfloat16" else PrecisionType.Half
    convert_to_mixed_precision(
        program, beside if parameters is None else parameters, mixed, mixed_parameters or "", precision, PlaceType.CPU,
        **settings.of_conversion(given),
    )  # fmt: skip


def status_of(error: BaseException, creating: bool) -> int:
    """The number that stands for an error in ``umiak_inference.h``."""
    if isinstance(error, MemoryError):
        return 5
    if isinstance(error, (UnsupportedDtype, ImportError)):
        return 6
    if isinstance(error, settings.SettingError):
        return 1
    if creating:
        return 2
    return 3 if isinstance(error, InputError) else 4
