"""Predictors by numbers, bytes and memory, for the library that embeds the interpreter (``embed.c``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from paddle.inference.config import Config
from paddle.inference.loading import files_of
from paddle.inference.predictor import Predictor, create_predictor
from paddle.inference.preparing import declared
from umiak.backends.cpu.aot.steps import DTYPES
from umiak.core.array import from_numpy, host_values
from umiak.core.tensor import Tensor
from umiak.runtime.program_tracer import Run, outside
from umiak.util.errors import op_error

Port = tuple[str, int, tuple[int, ...]]  # name, number of the dtype, sizes with -1 for those that are not known


class UnsupportedDtype(TypeError):
    """A dtype that the interface in C has no number for."""


class InputError(ValueError):
    """Data that the model does not take, or an input that was not given."""


def number_of(dtype: Any) -> int:
    """The number that a dtype has in ``umiak_inference.h``."""
    if dtype.name not in DTYPES:
        raise op_error(UnsupportedDtype, "umiak_inference", f"tensors of {', '.join(DTYPES)}", dtype.name)
    return DTYPES.index(dtype.name)


class Session:
    """A predictor with its inputs and outputs by number."""

    def __init__(self, predictor: Predictor) -> None:
        self.predictor = predictor
        metas = predictor._prepared.metas
        self.inputs: list[Port] = [
            (name, number_of(metas[name].dtype), tuple(declared(metas[name]))) for name in predictor.get_input_names()
        ]
        assert isinstance(predictor._run, Run)  # no engine was asked for
        values: Any = predictor._run.program.outputs
        self.outputs: list[Port] = [
            (name, number_of(v.meta.dtype), tuple(declared(v.meta)))
            for name, v in zip(predictor.get_output_names(), values, strict=False)
        ]
        self.given: list[Tensor | None] = [None] * len(self.inputs)

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
            self.given[index] = x.view("bfloat16") if narrow else x

    def run(self) -> list[tuple[tuple[int, ...], np.ndarray]]:
        """Run the model; the sizes and the data of each output."""
        for x, (name, *_) in zip(self.given, self.inputs, strict=True):
            if x is None:
                raise op_error(InputError, "umiak_run", f"a value for the input {name!r}", "none")
        results = self.predictor.run(self.given)  # type: ignore[arg-type]
        assert results is not None
        with outside():
            return [(tuple(y.shape), np.ascontiguousarray(_array(y)).reshape(-1).view(np.uint8)) for y in results]


def _array(x: Tensor) -> np.ndarray:
    return host_values(x.view("uint16") if x.dtype.name == "bfloat16" else x)


def create(model: str, parameters: str | None, threads: int) -> Session:
    """A session of a model in files."""
    program, beside = files_of(model)
    return _session(Config(program, beside if parameters is None else parameters), threads)


def create_from_memory(program: bytes, parameters: bytes, threads: int) -> Session:
    """A session of a model that is given as bytes."""
    config = Config()
    config.set_model_buffer(program, len(program), parameters, len(parameters))
    return _session(config, threads)


def _session(config: Config, threads: int) -> Session:
    if threads:
        config.set_cpu_math_library_num_threads(threads)
    return Session(create_predictor(config))


def status_of(error: BaseException, creating: bool) -> int:
    """The number that stands for an error in ``umiak_inference.h``."""
    if isinstance(error, MemoryError):
        return 5
    if isinstance(error, (UnsupportedDtype, ImportError)):
        return 6
    if creating:
        return 2
    return 3 if isinstance(error, InputError) else 4
