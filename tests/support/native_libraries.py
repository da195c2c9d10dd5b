"""Libraries with the interface of ``umiak_inference.h``, called from Python, and models for them."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import warnings
from collections.abc import Callable, Sequence
from ctypes import byref, c_char_p, c_int32, c_int64, c_size_t, c_uint64, c_void_p
from pathlib import Path
from typing import Any

import numpy as np

OK, INVALID_ARGUMENT, INVALID_MODEL, INVALID_INPUT, RUN_FAILED, NO_MEMORY, UNSUPPORTED = range(7)
DTYPES = ("float32", "int64", "int32", "uint8", "int8", "float16", "uint16", "bool", "float64", "int16")
CC = shutil.which("cc") or shutil.which("gcc")
CXX = shutil.which("c++") or shutil.which("g++")
ROOT = Path(__file__).parents[2]
HEADERS = ROOT / "paddle/inference/native/include"
PREDICT = ROOT / "examples/inference/c/predict.c"


class Info(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("dtype", c_int32), ("rank", c_int32), ("shape", c_int64 * 16)]


class Setting(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("value", c_char_p)]


class Options(ctypes.Structure):
    _fields_ = [
        ("threads", c_int32), ("setting_count", c_int32), ("settings", ctypes.POINTER(Setting)),
        ("reserved", c_int32 * 4),
    ]  # fmt: skip


Settings = Sequence[tuple[str, str | None]]
HOOK = ctypes.CFUNCTYPE(c_int32, c_void_p, c_char_p, ctypes.POINTER(Info), c_void_p, c_size_t)


def options(threads: int = 0, settings: Settings = ()) -> Options:
    """Options with these settings."""
    pairs = [(name.encode(), None if value is None else value.encode()) for name, value in settings]
    array = (Setting * len(pairs))(*(Setting(*pair) for pair in pairs)) if pairs else None
    return Options(threads=threads, setting_count=len(pairs), settings=array)


class NativeError(Exception):
    """A status other than OK."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status}: {text}")
        self.status = status


class Native:
    """A library. ``create`` gives predictors."""

    def __init__(self, path: Path) -> None:
        self.c = ctypes.CDLL(str(path))
        self.c.umiak_last_error.restype = c_char_p
        self.c.umiak_version.restype = c_char_p
        self.c.umiak_dtype_bytes.restype = c_size_t
        for name in ("input_count", "output_count", "input_info", "output_info", "output_data", "copy_output", "run"):
            getattr(self.c, f"umiak_{name}").restype = c_int32

    def check(self, status: int) -> None:
        if status:
            raise NativeError(status, self.c.umiak_last_error().decode())

    def create(self, model: Any = None, parameters: Any = None, threads: int = 0, settings: Settings = ()) -> Predictor:
        predictor = c_void_p()
        names = [None if p is None else str(p).encode() for p in (model, parameters)]
        self.check(self.c.umiak_predictor_create(*names, byref(options(threads, settings)), byref(predictor)))
        return Predictor(self, predictor)

    def names(self, what: str, *given: Any) -> list[str]:
        """What ``umiak_setting_names`` or ``umiak_pass_names`` lists."""
        text = c_char_p()
        self.check(getattr(self.c, f"umiak_{what}_names")(*given, byref(text)))
        assert text.value is not None
        return text.value.decode().split("\n")

    def convert(self, model: Any, mixed: Any, dtype: int, settings: Settings = ()) -> None:
        names = [str(model).encode(), None, str(mixed).encode(), None]
        self.check(self.c.umiak_convert_to_mixed_precision(*names, dtype, byref(options(0, settings))))

    def create_from_memory(self, model: bytes, parameters: bytes = b"") -> Predictor:
        predictor = c_void_p()
        self.check(
            self.c.umiak_predictor_create_from_memory(
                model, c_size_t(len(model)), parameters or None, c_size_t(len(parameters)), None, byref(predictor)
            )
        )
        return Predictor(self, predictor)


class Predictor:
    """A predictor of a library."""

    def __init__(self, library: Native, predictor: c_void_p) -> None:
        self.library, self.c, self.p = library, library.c, predictor
        self.hooks: list[Any] = []

    def clone(self) -> Predictor:
        made = c_void_p()
        self.library.check(self.c.umiak_predictor_clone(self.p, byref(made)))
        return Predictor(self.library, made)

    def close(self) -> None:
        self.library.check(self.c.umiak_predictor_destroy(self.p))

    def count(self, what: str) -> int:
        n = c_size_t()
        self.library.check(getattr(self.c, f"umiak_{what}_count")(self.p, byref(n)))
        return n.value

    def info(self, what: str, i: int) -> tuple[str, str, list[int]]:
        x = Info()
        self.library.check(getattr(self.c, f"umiak_{what}_info")(self.p, c_size_t(i), byref(x)))
        return x.name.decode(), DTYPES[x.dtype], list(x.shape)[: x.rank]

    def set(self, i: int, x: np.ndarray) -> None:
        x = np.asarray(x, order="C")
        shape = (c_int64 * max(x.ndim, 1))(*x.shape)
        data = x.ctypes.data_as(c_void_p)
        dtype = DTYPES.index(x.dtype.name)
        self.library.check(self.c.umiak_set_input(self.p, c_size_t(i), data, dtype, x.ndim, shape))

    def copy(self, i: int, room: int) -> bytes:
        """Copy an output into so many bytes."""
        data = ctypes.create_string_buffer(max(room, 1))
        self.library.check(self.c.umiak_copy_output(self.p, c_size_t(i), data, c_size_t(room)))
        return data.raw[:room]

    def clear(self) -> None:
        self.library.check(self.c.umiak_clear_intermediates(self.p))

    def shrink(self) -> int:
        n = c_uint64()
        self.library.check(self.c.umiak_shrink_memory(self.p, byref(n)))
        return n.value

    def set_lod(self, i: int, lod: Sequence[Sequence[int]]) -> None:
        counts = (c_size_t * len(lod))(*map(len, lod))
        flat = [n for level in lod for n in level]
        offsets = (c_int64 * len(flat))(*flat)
        self.library.check(self.c.umiak_set_lod(self.p, c_size_t(i), c_size_t(len(lod)), counts, offsets))

    def lod(self, i: int) -> list[list[int]]:
        found: list[list[int]] = []
        n = c_size_t()
        while True:
            at = self.p, c_size_t(i), c_size_t(len(found))
            self.library.check(self.c.umiak_output_lod(*at, None, c_size_t(0), byref(n)))
            if not n.value:
                return found
            offsets = (c_int64 * n.value)()
            self.library.check(self.c.umiak_output_lod(*at, offsets, n, byref(n)))
            found.append(list(offsets))

    def add_hook(self, kind: int, hook: Callable[[str, str, str, list[int], bytes], int]) -> None:
        """``hook`` gets the operation, name, dtype, sizes and bytes."""

        def called(user: Any, operation: bytes, info: Any, data: Any, size: int) -> int:
            x = info.contents
            dtype = DTYPES[x.dtype] if x.dtype >= 0 else ""
            return hook(
                operation.decode(), x.name.decode(), dtype, list(x.shape)[: x.rank], ctypes.string_at(data, size)
            )

        function = HOOK(called)
        self.hooks.append(function)
        self.library.check(self.c.umiak_add_hook(self.p, kind, function, None))

    def outputs(self) -> list[np.ndarray]:
        results = []
        for i in range(self.count("output")):
            _, dtype, shape = self.info("output", i)
            room = int(np.prod(shape)) * np.dtype(dtype).itemsize
            results.append(np.frombuffer(self.copy(i, room), dtype).reshape(shape))
        return results

    def run(self, *xs: np.ndarray) -> list[np.ndarray]:
        for i, x in enumerate(xs):
            self.set(i, x)
        self.library.check(self.c.umiak_run(self.p))
        return self.outputs()


def save(prefix: Path, build: Callable[..., Any], feeds: Sequence[tuple[str, list, str]]) -> Path:
    """Save a static model that ``build`` makes of its inputs."""
    import paddle

    paddle.enable_static()
    try:
        main, startup = paddle.static.Program(), paddle.static.Program()
        with paddle.static.program_guard(main, startup):
            xs = [paddle.static.data(*feed) for feed in feeds]
            ys = build(*xs)
            ys = list(ys) if isinstance(ys, (list, tuple)) else [ys]
            executor = paddle.static.Executor()
            executor.run(startup)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # of operators that only our own format has
                paddle.static.save_inference_model(str(prefix), xs, ys, executor)
    finally:
        paddle.disable_static()
    return prefix


def expected(prefix: Path, *xs: np.ndarray) -> list[np.ndarray]:
    """What the predictor in Python gives."""
    import paddle

    parameters = Path(f"{prefix}.pdiparams")
    config = paddle.inference.Config(f"{prefix}.json", str(parameters) if parameters.exists() else "")
    predictor = paddle.inference.create_predictor(config)
    for name, x in zip(predictor.get_input_names(), xs, strict=True):
        predictor.get_input_handle(name).copy_from_cpu(x)
    predictor.run()
    return [predictor.get_output_handle(n).copy_to_cpu() for n in predictor.get_output_names()]


def evaluating(make: Callable[[], Any]) -> Callable[..., Any]:
    """A layer as for evaluation, as what builds a model."""

    def build(*xs: Any) -> Any:
        layer = make()
        layer.eval()
        return layer(*xs)

    return build


def program(folder: Path, command: str, source: Path, library: Path, name: str, *options: str) -> Path:
    """Compile a program against a library."""
    flags = [f"-I{library.parent}", f"-I{HEADERS}", "-Wall", "-Werror", "-O1", *options]
    linked = [str(library), f"-Wl,-rpath,{library.parent}", "-lpthread"]
    subprocess.run([command, *flags, str(source), "-o", str(folder / name), *linked], check=True)
    return folder / name


def started(*command: Any) -> str:
    """What a program prints that is started in an empty environment."""
    run = subprocess.run(list(map(str, command)), env={}, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout
