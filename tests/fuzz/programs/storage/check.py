"""Whether a program over narrow dtypes leaves the very elements that the model has, eager and captured."""

from __future__ import annotations

import copy
import io
import pickle
import tempfile
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

import paddle
import paddle.nn.functional as F
from paddle.incubate.tensor import manipulation
from tests.fuzz.programs.check import Check, Failure
from tests.fuzz.programs.record import Program
from tests.fuzz.programs.storage import model


def _pdparams(x: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        paddle.save({"x": x, "more": [x]}, f"{folder}/x.pdparams")
        return paddle.load(f"{folder}/x.pdparams")["more"][0]


def _bytes(x: Any) -> Any:
    buffer = io.BytesIO()
    paddle.save(x, buffer)
    buffer.seek(0)
    return paddle.load(buffer)


def _checkpoint(x: Any) -> Any:
    into = paddle.zeros(x.shape, x.dtype.name)
    with tempfile.TemporaryDirectory() as folder:
        paddle.distributed.save_state_dict({"x": x}, f"{folder}/flex")
        paddle.distributed.load_state_dict({"x": into}, f"{folder}/flex")
    return into


def _beside(x: Any) -> Any:
    """To the host and back beside the work of a device, whose later work waits, and its result to the host."""
    load = manipulation.create_async_load()
    kept, task = manipulation.async_offload(x.to("fake:0").clone(), load)
    task.cpu_wait()
    back, task = manipulation.async_reload(kept, load)
    task.cuda_wait()
    return back.clone().cpu()


WAYS: dict[str, Callable[[Any], Any]] = {
    "pdparams": _pdparams,
    "bytes": _bytes,
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "deepcopy": copy.deepcopy,
    "numpy": lambda x: paddle.to_tensor(x.numpy()),
    "dlpack": lambda x: paddle.from_dlpack(x.contiguous()).clone(),
    "checkpoint": _checkpoint,
    "device": lambda x: x.to("fake:0").to("cpu"),
    "devices": lambda x: x.to("fake:1").clone().to("fake:0").to("cpu"),
    "copy streams": _beside,
}


def kept(x: Any, way: str) -> Any:
    """What comes back of a tensor that went elsewhere, in memory of its own."""
    return WAYS[way](x)


def function_of(program: Program) -> Callable[..., Any]:
    names: dict[str, Any] = {"paddle": paddle, "F": F, "kept": kept}
    exec(compile(program.ours(), "<program>", "exec"), names)
    return names["program"]


def modelled(program: Program, n: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The results, and the inputs after the run."""
    names = model.names()
    exec(compile(program.judge(), "<model>", "exec"), names)
    given = [x.array(n) for x in program.inputs]
    with model.overflowing():
        return list(names["program"](*given)), given


class StorageCheck(Check):
    modes: ClassVar[dict[str, float]] = {"captured": 0.6}

    @staticmethod
    def means_something(program: Program) -> None:
        for n in program.sizes:
            modelled(program, n)

    def against_the_model(self, mode: str, n: int, function: Callable[..., Any]) -> None:
        given = [paddle.to_tensor(x.array(n)) for x in self.program.inputs]
        expected, after = modelled(self.program, n)
        try:
            outputs = function(*given)
        except Exception as error:
            raise Failure(mode, f"raises {type(error).__name__}: {error}") from error
        for what, found, wanted in (("output", outputs, expected), ("input after the run", given, after)):
            for i, (x, y) in enumerate(zip(found, wanted, strict=True)):
                if x.dtype.is_packed and x.storage.nbytes < x.offset + (x.size + 1) // 2:
                    raise Failure(mode, f"{what} {i} has {x.storage.nbytes} bytes for {x.size} elements")
                a = x.numpy()
                if not model.same(a, y):
                    raise Failure(mode, f"{what} {i} is\n{a!r}\nand not\n{y!r}, for a size of {n}")
        self.tally[mode] += 1

    def eager(self) -> None:
        for n in self.program.sizes:
            self.against_the_model("eager", n, function_of(self.program))

    def captured(self, mode: str = "captured", inside: bool = False) -> None:
        """For every size, with one capture."""
        if self.program.tags & {"host"}:
            return
        function = paddle.jit.to_static(function_of(self.program))
        for n in self.program.sizes:
            self.against_the_model(mode, n, function)
