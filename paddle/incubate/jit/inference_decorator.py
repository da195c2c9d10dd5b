"""``inference``: a function or layer whose calls are runs of a predictor."""

from __future__ import annotations

import functools
import inspect
import os
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from paddle._public import public
from paddle.framework.place import current_place
from paddle.inference.config import Config
from paddle.inference.kinds import PrecisionType
from paddle.inference.loading import files_of
from paddle.inference.predictor import Predictor, create_predictor
from paddle.jit.saving import save, tensors_in
from paddle.nn.layer.layers import Layer
from paddle.static.input import InputSpec
from paddle.static.saving import load_from_file
from umiak.core.context import no_grad_guard
from umiak.core.tensor import Tensor
from umiak.ir.tracer import SymTensor
from umiak.util import pytree
from umiak.util.errors import op_error

_PRECISIONS = {
    "float32": PrecisionType.Float32, "fp32": PrecisionType.Float32, "float16": PrecisionType.Half,
    "fp16": PrecisionType.Half, "bfloat16": PrecisionType.Bfloat16, "bf16": PrecisionType.Bfloat16,
    "int8": PrecisionType.Int8,
}  # fmt: skip
_MARK = "_compiled_for_inference"


@dataclass(frozen=True)
class _Options:
    """Arguments of ``inference``."""

    folder: str | None
    kept: bool
    precision: PrecisionType
    passes: bool
    printed: bool
    tensorrt: PrecisionType | None
    static_engine: bool
    shapes: bool
    deleted: tuple[str, ...]

    def config(self, prefix: str) -> Config:
        """The settings of a predictor for a model that was saved."""
        config = Config()
        program, values = (load_from_file(path) if path else b"" for path in files_of(prefix))
        config.set_model_buffer(program, len(program), values, len(values))
        place = current_place()
        if place.device_type != "cpu" or self.precision is not PrecisionType.Float32:
            config.enable_custom_device(place.device_type, place.device_id, self.precision)
        config.disable_glog_info()
        config.switch_ir_optim(self.passes)
        config.switch_ir_debug(self.printed)
        if self.tensorrt is not None:
            config.enable_tensorrt_engine(precision_mode=self.tensorrt, use_static=self.static_engine)
        if self.shapes:
            config.collect_shape_range_info(prefix + ".shapes")
        for name in self.deleted:
            config.delete_pass(name)
        return config


@dataclass(eq=False)
class _Entry:
    """One way in which the function is called: all but the sizes of tensors; those that have differed are None."""

    structure: Any
    constants: list[Any]  # leaves, None for tensors
    dtypes: list[Any]
    sizes: list[list[int | None]]
    model: _Model | None = None


@dataclass(frozen=True, eq=False)
class _Model:
    """A compiled program of an entry, which other threads see complete or not at all.

    ``sizes``: those it takes, None for any; ``results``: the structure of what the function gives; ``leaves``: outputs
    of the predictor, or what is no tensor; ``running``: held by the thread that runs the predictor.
    """

    predictor: Predictor
    sizes: list[list[int | None]]
    results: Any
    leaves: list[tuple[int | None, Any]]
    running: threading.Lock = field(default_factory=threading.Lock)

    def serves(self, tensors: Sequence[Tensor]) -> bool:
        """Return whether the predictor takes tensors of these sizes."""
        return all(n in (None, m) for x, sizes in zip(tensors, self.sizes, strict=True) for m, n in zip(x.shape, sizes))

    def run(self, tensors: Sequence[Tensor]) -> Any:
        """The results for tensors."""
        given = [tensors[int(name.rpartition("_")[2])].detach() for name in self.predictor.get_input_names()]
        with self.running:
            made = self.predictor.run(given) or []
        return self.results.unflatten([y if i is None else made[i] for i, y in self.leaves])


@dataclass
class _Compiled:
    """A function, and what was compiled of it."""

    function: Callable[..., Any]
    options: _Options
    name: str
    entries: list[_Entry] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.__signature__ = inspect.signature(self.function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        bound = self.__signature__.bind(*args, **kwargs)
        bound.apply_defaults()
        if bound.kwargs:
            raise op_error(ValueError, "inference", "a function without keyword-only arguments", sorted(bound.kwargs))
        leaves, structure = pytree.flatten(bound.args)
        tensors = [x for x in leaves if isinstance(x, Tensor)]
        if any(isinstance(x, SymTensor) for x in tensors):  # recorded as a part of another program
            return self.function(*bound.args)
        entry = self._entry(structure, leaves, tensors)
        if (model := entry.model) is not None and model.serves(tensors):
            return model.run(tensors)
        with no_grad_guard():
            results = self.function(*bound.args)
        self._compile(entry, bound.args, tensors, results)
        return results

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "entries": []}  # copies have weights of their own, and compile anew

    def _entry(self, structure: Any, leaves: list[Any], tensors: list[Tensor]) -> _Entry:
        constants = [None if isinstance(x, Tensor) else _kept(x) for x in leaves]
        dtypes = [(x.dtype, x.ndim) for x in tensors]
        for entry in self.entries:
            if (entry.structure, entry.dtypes) == (structure, dtypes) and all(map(_same, entry.constants, constants)):
                return entry
        made = _Entry(structure, constants, dtypes, [list(x.shape) for x in tensors])
        self.entries.append(made)
        return made

    def _compile(self, entry: _Entry, args: tuple, tensors: list[Tensor], results: Any) -> None:
        entry.sizes = sizes = [
            [n if n == m else None for m, n in zip(x.shape, before)] for x, before in zip(tensors, entry.sizes)
        ]
        number = iter(range(len(tensors)))

        def spec(x: Any) -> Any:
            if not isinstance(x, Tensor):
                return x
            i = next(number)
            return InputSpec(sizes[i], x.dtype, f"input_{i}")

        name = f"{self.name}_{self.entries.index(entry)}"
        specs = pytree.map(spec, list(args))
        if self.options.folder is None:
            with tempfile.TemporaryDirectory(prefix="umiak-inference-") as folder:
                predictor = self._predictor(os.path.join(folder, name), specs, False)
        else:
            predictor = self._predictor(os.path.join(self.options.folder, name), specs, self.options.kept)
        leaves, structure = pytree.flatten(results)
        place = {id(y): i for i, y in enumerate(tensors_in(results))}
        found: list[tuple[int | None, Any]]
        found = [(place[id(y)], None) if isinstance(y, Tensor) else (None, y) for y in leaves]
        entry.model = _Model(predictor, sizes, structure, found)

    def _predictor(self, prefix: str, specs: list[Any], kept: bool) -> Predictor:
        if not (kept and os.path.exists(prefix + ".json")):
            save(self.function, prefix, specs)
        return create_predictor(self.options.config(prefix))


def _kept(x: Any) -> Any:
    """An argument that is no tensor, as it is now."""
    return x.copy() if isinstance(x, np.ndarray) else x


def _same(x: Any, y: Any) -> bool:
    """Are two arguments that are no tensors alike for programs? 1, 1.0 and True are not."""
    if type(x) is not type(y):
        return False
    if isinstance(x, np.ndarray):
        return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()
    if isinstance(x, (float, complex, np.generic)):
        return repr(x) == repr(y)  # of -0.0 and NaN, too
    return x is y or bool(x == y)


def _of(function: Any, options: _Options) -> Any:
    if isinstance(function, Layer):
        function.forward = _Compiled(function.forward, options, type(function).__name__)  # type: ignore[method-assign]
        setattr(function, _MARK, True)
        return function
    if not callable(function) or isinstance(function, type):
        raise op_error(TypeError, "inference", "a function or a Layer", type(function).__name__)
    named = getattr(function, "__name__", type(function).__name__)
    alone = _Compiled(function, options, named)
    owners: weakref.WeakKeyDictionary[Any, _Compiled] = weakref.WeakKeyDictionary()

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        if not args or not isinstance(args[0], Layer) or inspect.ismethod(function):
            return alone(*args, **kwargs)
        owner = args[0]  # a method, decorated in its class
        if owner not in owners:
            owners[owner] = _Compiled(function.__get__(owner), options, named)
        return owners[owner](*args[1:], **kwargs)

    setattr(called, _MARK, True)
    return called


@public("paddle.incubate.jit")
def is_inference_mode(function: Any) -> bool:
    """Return whether a function or layer was compiled by :func:`inference`.

    Args:
        function: accepted whatever it is.

    Returns:
        A bool.

    Example:
        >>> import paddle
        >>> paddle.incubate.jit.is_inference_mode(paddle.nn.Linear(2, 2))
        False
    """
    return bool(getattr(function, _MARK, False))


@public("paddle.incubate paddle.incubate.jit")
def inference(
    function: Any = None,
    cache_static_model: bool = False,
    save_model_dir: str | None = None,
    memory_pool_init_size_mb: int = 1000,
    precision_mode: str = "float32",
    switch_ir_optim: bool = True,
    switch_ir_debug: bool = False,
    enable_cinn: bool = False,
    with_trt: bool = False,
    trt_precision_mode: str = "float32",
    trt_use_static: bool = False,
    collect_shape: bool = False,
    enable_new_ir: bool = False,
    exp_enable_use_cutlass: bool = False,
    delete_pass_lists: Iterable[str] | None = None,
    skip_prune_program: bool = False,
) -> Any:
    """Compile a function or layer for inference: its weights are constants, and its calls are runs of a predictor.

    The first call for some kinds of arguments runs the function as it is, and compiles it; so does one whose tensors
    have other sizes than those before, which may have any sizes from then on. Weights are those of that moment.

    Args:
        function: a function, a method or a ``Layer``, whose ``forward`` is exchanged; None: a decorator is returned.
        cache_static_model: take what is in ``save_model_dir`` instead of recording the function.
        save_model_dir: a folder for the models that are made; None: they are not kept.
        memory_pool_init_size_mb: accepted.
        precision_mode: ``"float32"``, ``"float16"``, ``"bfloat16"`` or ``"int8"``, the last for models that are
            quantised.
        switch_ir_optim: run passes over the program.
        switch_ir_debug: print it before and after passes.
        enable_cinn: accepted: programs are compiled in any case.
        with_trt: have TensorRT compute what it takes.
        trt_precision_mode: what TensorRT computes in.
        trt_use_static: keep what TensorRT has compiled.
        collect_shape: write the sizes of inputs beside the model.
        enable_new_ir: accepted.
        exp_enable_use_cutlass: accepted.
        delete_pass_lists: passes that are not run.
        skip_prune_program: accepted.

    Returns:
        The function as one that is compiled; the ``Layer`` itself; or a decorator.

    Raises:
        ValueError: an unknown precision, or ``cache_static_model`` without ``save_model_dir``.
        TypeError: something that is no function or ``Layer``.
        RuntimeError: ``with_trt`` where there is no TensorRT; it is raised by the first call.

    Example:
        >>> import paddle
        >>> net = paddle.incubate.jit.inference(paddle.nn.Linear(2, 1))
        >>> [list(net(paddle.ones([n, 2])).shape) for n in (3, 5)]
        [[3, 1], [5, 1]]
    """
    for mode in (precision_mode, trt_precision_mode):
        if mode not in _PRECISIONS:
            raise op_error(ValueError, "inference", f"a precision of {list(_PRECISIONS)}", repr(mode))
    if cache_static_model and save_model_dir is None:
        raise op_error(ValueError, "inference", "save_model_dir, to take models from", "none")
    options = _Options(
        save_model_dir, cache_static_model, _PRECISIONS[precision_mode], switch_ir_optim, switch_ir_debug,
        _PRECISIONS[trt_precision_mode] if with_trt else None, trt_use_static, collect_shape,
        tuple(delete_pass_lists or ()),
    )  # fmt: skip
    return (lambda f: _of(f, options)) if function is None else _of(function, options)
