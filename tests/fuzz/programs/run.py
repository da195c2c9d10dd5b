"""Running a program in ``paddle`` and by the judge; what either gives is a :class:`Found`."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

import paddle
import paddle.nn.functional as F
from paddle import inference
from paddle.distributed.fleet.utils import recompute
from paddle.inference.compile import compile_model
from paddle.inference.loading import files_of
from tests.fuzz.programs import layers, models
from tests.fuzz.programs.generate import leaf
from tests.fuzz.programs.memory import Judge, Noise, array_of
from tests.fuzz.programs.record import Input, Program
from tests.support.native_libraries import Native
from umiak import ops
from umiak.backends.cpu.aot.errors import Uncompilable

Arrays = list[np.ndarray | None]


@dataclass
class Found:
    """``after``: the inputs after the run, since the program may write to them."""

    outputs: Arrays
    gradients: Arrays
    after: Arrays
    dtypes: list[str] = field(default_factory=list)

    def parts(self) -> list[tuple[str, np.ndarray | None]]:
        named = ("output", self.outputs), ("gradient of input", self.gradients), ("input after the run", self.after)
        return [(f"{what} {i}", x) for what, xs in named for i, x in enumerate(xs)]


# --- paddle ----------------------------------------------------------------------------------------------------------


def numbers(x: Any) -> np.ndarray:
    """Values of a tensor; floats as float64, complex numbers as complex128."""
    if x.dtype.is_complex:
        return x.astype("complex128").numpy()
    return x.astype("float64").numpy() if x.dtype.is_floating else x.numpy()


class Draws:
    """What a program draws, kept for the judge."""

    def __init__(self) -> None:
        self.kept: list[np.ndarray] = []

    def dropout(self, x: Any, p: float) -> Any:
        place = x.place.name
        state = paddle.get_rng_state(place)
        with paddle.no_grad():
            self.kept.append((F.dropout(paddle.ones_like(x), p).astype("float64").numpy() != 0).astype(np.float64))
        paddle.set_rng_state(state, place)
        return F.dropout(x, p)

    def drawn(self, x: Any) -> Any:
        self.kept.append(numbers(x).copy())
        return x


def function_of(program: Program, draws: Draws | None = None) -> Callable[..., Any]:
    names: dict[str, Any] = {"paddle": paddle, "F": F, "dropout": F.dropout, "drawn": same}
    names |= {"models": models, "ops": ops, **{k: v for k, v in vars(layers).items() if not k.startswith("__")}}
    if draws is not None:
        names |= {"dropout": draws.dropout, "drawn": draws.drawn}
    if program.kind == "devices":
        names |= {"near": near, "moved": moved}
    exec(compile(program.ours(), "<program>", "exec"), names)
    return names["program"]


def same(x: Any) -> Any:
    return x


def home(x: Input) -> str:
    """The device of an input."""
    return "fake:1" if x.seed % 4 == 0 else "fake:0"


def near(x: Any, y: Any) -> Any:
    """``x`` where ``y`` is."""
    return x if x.place is y.place else x.to(y.place.name)


def moved(x: Any, place: str) -> Any:
    """A copy on a place; in ``no_grad`` without a history, where ``to`` keeps the wish for a gradient."""
    made = x.clone() if x.place.name == place else x.to(place)
    return made if paddle.is_grad_enabled() else made.detach()


def arguments(program: Program, n: int) -> list[Any]:
    made = []
    for x in program.inputs:
        array = x.array(n)
        t = paddle.to_tensor(array.astype("float32" if x.dtype in ("float16", "bfloat16") else x.dtype))
        t = t.astype(x.dtype)
        if program.kind == "devices":
            t = t.to(home(x))
        t.stop_gradient = not x.grad
        made.append(t)
    return made


def is_continuous(x: Any) -> bool:
    return x.dtype.is_floating or x.dtype.is_complex


def loss_of(outputs: Sequence[Any]) -> Any:
    """A number that every element of every output counts in, each with a weight of its own."""
    total = None
    for y in outputs:
        if is_continuous(y) and not y.stop_gradient:
            y = paddle.as_real(y) if y.dtype.is_complex else y
            y = y.astype("float64")
            term = ((y * 0.5 + 1.0) * y).sum()
            total = term if total is None else total + near(term, total)
    return total


def step_of(program: Program, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with the backward run inside."""

    def step(*arguments: Any) -> Any:
        outputs = function(*arguments)
        loss = loss_of([*outputs, *plain(program, arguments)])
        if loss is not None:
            loss.backward()
        return outputs

    return step


def plain(program: Program, given: Sequence[Any]) -> list[Any]:
    """The arguments without a gradient, which have a history if the program wrote to them what has one."""
    return [x for x, described in zip(given, program.inputs, strict=True) if not described.grad]


class Scaled:
    """The function with its results times a number of Python's, which changes between calls."""

    def __init__(self, function: Callable[..., Any]) -> None:
        factor = 1.0

        def scaled(*arguments: Any) -> Any:
            return tuple(y * factor if is_continuous(y) else y for y in function(*arguments))

        def change(value: float) -> None:
            nonlocal factor
            factor = value

        self.function, self.change = scaled, change


Around = Callable[[Callable[..., Any]], Callable[..., Any]]  # what a function is called through


def itself(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def mixed(function: Callable[..., Any], level: str = "O1", dtype: str = "bfloat16") -> Callable[..., Any]:
    def under_amp(*arguments: Any) -> Any:
        with paddle.amp.auto_cast(level=level, dtype=dtype):
            return function(*arguments)

    return under_amp


def widened(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with results of 16 bits as float32."""

    def wide(*arguments: Any) -> tuple[Any, ...]:
        outputs = function(*arguments)
        return tuple(y.astype("float32") if y.dtype.name in ("float16", "bfloat16") else y for y in outputs)

    return wide


def within(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as a branch, which is taken."""

    def inside(*arguments: Any) -> Any:
        def call() -> tuple:
            return tuple(function(*arguments))

        return paddle.static.nn.cond(paddle.zeros([]) < 1, call, call)

    return inside


def again(function: Callable[..., Any], reentrant: bool) -> Callable[..., Any]:
    return lambda *arguments: recompute(function, *arguments, use_reentrant=reentrant)


def ours(
    program: Program,
    n: int,
    function: Callable[..., Any],
    inside: bool = False,
    twice: bool = False,
    grad: bool = True,
    frozen: bool = False,
    held: bool = False,
) -> Found:
    """Run a function of the program's arguments, and the backward run unless it is inside.

    ``grad``: whether the function is called with gradients enabled; ``frozen``: its arguments want none; ``held``: they
    have one before.
    """
    paddle.seed(program.seed)
    given = arguments(program, n)
    leaves = [t for t, x in zip(given, program.inputs) if x.grad]
    for t in leaves:
        t.stop_gradient = frozen
        if held:
            t.grad = paddle.ones_like(t)
    with paddle.set_grad_enabled(grad):
        outputs = function(*given)
    if not inside:
        loss = loss_of([*outputs, *plain(program, given)])
        if loss is not None and twice and leaves:
            first = paddle.grad([loss], leaves, create_graph=True, allow_unused=True)
            loss = loss_of([g for g in first if g is not None])
        if loss is not None:
            loss.backward()
    return Found(
        [numbers(y) for y in outputs],
        [None if t.grad is None else numbers(t.grad) for t in leaves],
        [numbers(t.detach()) for t in given],
        [y.dtype.name for y in outputs],
    )


class Pending:
    """A run whose gradients come later, maybe after other runs."""

    def __init__(self, program: Program, n: int, function: Callable[..., Any]) -> None:
        self.given = arguments(program, n)
        self.leaves = [t for t, x in zip(self.given, program.inputs, strict=True) if x.grad]
        self.outputs = function(*self.given)
        self.loss = loss_of([*self.outputs, *plain(program, self.given)])
        self.after = [numbers(t.detach()).copy() for t in self.given]
        self.values = [numbers(y).copy() for y in self.outputs]

    def finish(self) -> Found:
        """Run the backward pass; what the run gave."""
        if self.loss is not None:
            self.loss.backward()
        grads = [None if t.grad is None else numbers(t.grad) for t in self.leaves]
        return Found(self.values, grads, self.after)

    def write(self) -> None:
        """Write to all results, as their owner may."""
        with paddle.no_grad():
            for y in self.outputs:
                if is_continuous(y) and y.strides == y.contiguous().strides:
                    y.fill_(7.0)
        self.values = [numbers(y).copy() for y in self.outputs]

    def changed(self) -> bool:
        """Whether results are not what they were after the run."""
        pairs = zip(self.outputs, self.values, strict=True)
        return not all(np.array_equal(numbers(y), x, equal_nan=x.dtype.kind in "fc") for y, x in pairs)


class Recorded:
    """A program in static mode, with its gradients; sizes of ``"n"`` are not declared, or are ``n``.

    ``around``: what its function is called through.
    """

    def __init__(self, program: Program, around: Around = itself, n: int | None = None) -> None:
        self.described = program
        self.program = paddle.static.Program()
        paddle.enable_static()
        try:
            with paddle.static.program_guard(self.program, paddle.static.Program()):
                given = []
                for x in program.inputs:
                    sizes = [n if s == "n" else int(s) for s in x.shape]
                    given.append(paddle.static.data(x.name, sizes, x.dtype))
                    given[-1].stop_gradient = not x.grad
                leaves = [t for t, x in zip(given, program.inputs, strict=True) if x.grad]
                outputs = around(function_of(program))(*given)
                loss = loss_of([*outputs, *plain(program, given)])
                grads = [None] * len(leaves) if loss is None else paddle.static.gradients(loss, leaves)
                self.outputs, self.gradients, self.given = outputs, grads, given
        finally:
            paddle.disable_static()

    def run(self, n: int) -> Found:
        """A run for a size."""
        paddle.seed(self.described.seed)
        feed = {x.name: t for x, t in zip(self.described.inputs, arguments(self.described, n), strict=True)}
        there = [g for g in self.gradients if g is not None]
        fetched = paddle.static.Executor().run(
            self.program, feed, [*self.outputs, *self.given, *there], return_numpy=False
        )
        values = iter(fetched)
        outputs = [next(values) for _ in self.outputs]
        after = [numbers(next(values)) for _ in self.given]
        return Found(
            [numbers(y) for y in outputs],
            [None if g is None else numbers(next(values)) for g in self.gradients],
            after,
            [y.dtype.name for y in outputs],
        )


def is_a_model(program: Program) -> bool:
    """Return whether a program does the same as a model, which is written as it is in evaluation."""
    return "random" not in program.tags and not any(s.op.name == "batch_norm" for s in program.statements)


class Saved(Recorded):
    """A program that was written to files as a model and read again; its results alone are compared.

    ``own``: the warning that it was written in our own format; None for that of PaddlePaddle. ``prefix``: where it
    stays; None: nowhere.
    """

    def __init__(
        self, program: Program, around: Around = itself, prefix: str | None = None, n: int | None = None
    ) -> None:
        super().__init__(program, around, n)
        executor = paddle.static.Executor()
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            prefix = prefix or os.path.join(folder, "model")
            paddle.static.save_inference_model(prefix, self.given, self.outputs, executor, program=self.program)
            self.own = next((str(w.message) for w in said if "own format" in str(w.message)), None)
            self.read, self.feeds, self.fetches = paddle.static.load_inference_model(prefix, executor)

    def run(self, n: int) -> Found:
        """A run for a size."""
        given = zip(self.described.inputs, arguments(self.described, n), strict=True)
        feed = {x.name: t for x, t in given if x.name in self.feeds}
        outputs = paddle.static.Executor().run(self.read, feed, self.fetches, return_numpy=False)
        return Found([numbers(y) for y in outputs], [], [], [y.dtype.name for y in outputs])


class Predicted:
    """A program that was written as a model, and is run by a predictor and by a clone of it; by its seed with passes or
    without, from files or from bytes."""

    def __init__(self, program: Program, around: Around = itself) -> None:
        self.described = program
        with tempfile.TemporaryDirectory() as folder:
            prefix = os.path.join(folder, "model")
            self.own = Saved(program, around, prefix).own
            files = files_of(prefix)
            config = inference.Config(*files)
            if program.seed & 1:
                data = [Path(name).read_bytes() if name else b"" for name in files]
                config.set_model_buffer(data[0], len(data[0]), data[1], len(data[1]))
            config.set_optimization_level((2, 2, 1, 0)[program.seed >> 1 & 3])
            self.first = inference.create_predictor(config)
        self.clone = self.first.clone()

    def run(self, n: int) -> Found:
        """A run for a size, after runs that have recorded its launches; a clone gives the same."""
        given = dict(zip([x.name for x in self.described.inputs], arguments(self.described, n), strict=True))
        found = []
        for predictor in (self.first, self.clone):
            for _ in range(3):
                outputs = predictor.run([given[name] for name in predictor.get_input_names()])
            found.append([numbers(y) for y in outputs])
        for a, b in zip(*found, strict=True):
            np.testing.assert_array_equal(a, b)
        return Found(found[0], [], [], [y.dtype.name for y in outputs])


OPSETS = 11, 13, 15, 17, 18, 19, 20, 21


class Exported:
    """A program that was written as a model and exported to ONNX, run by ONNX Runtime. ``opset``: drawn by the seed, or
    the first that can say the program. By the seed its sizes are open, or there is a model for each."""

    def __init__(self, program: Program, around: Around = itself) -> None:
        self.described, self.around, self.own = program, around, None
        self.opset = OPSETS[program.seed % len(OPSETS)]
        self.is_open = bool(program.seed >> 3 & 1)
        first = None if self.is_open else max(program.sizes)
        self.sessions = {first: self._session(first)}

    def _session(self, n: int | None) -> Any:
        """The model for a size, or for all; None for one that is in our own format."""
        import onnx
        import onnxruntime

        from paddle.onnx.convert import Refused, convert
        from paddle.static.formats.files import read_model

        with tempfile.TemporaryDirectory() as folder:
            prefix = os.path.join(folder, "model")
            self.own = Saved(self.described, self.around, prefix, n).own
            values = prefix + ".pdiparams"
            read = read_model(prefix + ".json", values if os.path.exists(values) else None, "fuzz")
        if self.own is not None:
            return None
        arrays = {k: v.numpy() if isinstance(v, paddle.Tensor) else np.asarray(v) for k, v in read.values.items()}
        model = None
        while model is None:
            try:
                model = convert(read.program, arrays, self.opset)
            except Refused as refused:
                if refused.opset is None:
                    raise
                self.opset = refused.opset  # what follows from what was refused may need a later one
        onnx.checker.check_model(model, full_check=True)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = 1, 4
        return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])

    def run(self, n: int) -> Found:
        """A run for a size."""
        size = None if self.is_open else n
        session = self.sessions.get(size) or self._session(size)
        wanted = {x.name for x in session.get_inputs()}
        feed = {x.name: x.array(n).astype(x.dtype) for x in self.described.inputs if x.name in wanted}
        outputs = session.run(None, feed)
        wide = {"f": "float64", "c": "complex128"}
        names = [y.dtype.name for y in outputs]
        return Found([y.astype(wide.get(y.dtype.kind, y.dtype)) for y in outputs], [], [], names)


class Compiled:
    """A program that was written as a model and compiled ahead of time for the sizes that it takes.

    The library is called through its interface in C; by its seed its weights are inside or beside it, and it runs on
    one thread or two.
    """

    def __init__(self, program: Program, around: Around = itself) -> None:
        self.described = program
        with tempfile.TemporaryDirectory() as folder:
            prefix = os.path.join(folder, "model")
            saved = Saved(program, around, prefix)
            self.own, self.feeds = saved.own, saved.feeds
            inside = program.seed & 1 == 0
            out = os.path.join(folder, "libmodel.so" if inside else "library")
            library = self._compiled(prefix, out)
            weights = None if inside else library.with_name("library.weights")
            self.predictor = Native(library).create(weights, threads=1 + (program.seed >> 1 & 1))

    def _compiled(self, prefix: str, out: str) -> Path:
        sizes = [self._shapes(n) for n in self.described.sizes]
        try:
            return compile_model(prefix, out, sizes=sizes)
        except Uncompilable as error:
            if "sizes that the program takes" not in str(error) or len(sizes) == 1:
                raise
        taken = []
        for text in sizes:
            try:
                compile_model(prefix, out, sizes=[text])
            except Uncompilable as error:
                refused = error
            else:
                taken.append(text)
        if not taken:
            raise refused
        return compile_model(prefix, out, sizes=taken)

    def _shapes(self, n: int) -> str:
        fed = (x for x in self.described.inputs if x.name in self.feeds)
        return ",".join(f"{x.name}={'x'.join(map(str, x.array(n).shape))}" for x in fed)

    def run(self, n: int) -> Found:
        """A run for a size; a second one gives the same."""
        given = dict(zip([x.name for x in self.described.inputs], arguments(self.described, n), strict=True))
        fed = [bits_of(given[name]) for name in self.feeds]
        outputs, again = self.predictor.run(*fed), self.predictor.run(*fed)
        for a, b in zip(outputs, again, strict=True):
            np.testing.assert_array_equal(a, b)
        tensors = [tensor_of(y) for y in outputs]
        return Found([numbers(y) for y in tensors], [], [], [y.dtype.name for y in tensors])


def bits_of(x: Any) -> np.ndarray:
    """A tensor as an array, bfloat16 as its bits."""
    return x.view("int16").numpy().view("uint16") if x.dtype.name == "bfloat16" else x.numpy()


def tensor_of(x: np.ndarray) -> Any:
    """The inverse of :func:`bits_of`: no result of a program is of uint16."""
    return paddle.to_tensor(x.view("int16")).view("bfloat16") if x.dtype.name == "uint16" else paddle.to_tensor(x)


# --- the judge -------------------------------------------------------------------------------------------------------


def _loss(outputs: Sequence[torch.Tensor]) -> torch.Tensor | None:
    total = None
    for y in outputs:
        if y.requires_grad:
            y = torch.view_as_real(y.resolve_conj()) if y.is_complex() else y
            term = ((y * 0.5 + 1.0) * y).sum()
            total = term if total is None else total + term
    return total


def judged(
    program: Program, n: int, noise: Noise | None = None, draws: list[np.ndarray] | None = None, twice: bool = False
) -> Found:
    judge = Judge(noise, draws, program.seed)
    names = judge.names()
    exec(compile(program.judge(), "<judge>", "exec"), names)
    given = [leaf(x, x.array(n)) for x in program.inputs]
    leaves = [v.t for v, x in zip(given, program.inputs) if x.grad]
    outputs = [v.t for v in names["program"](*given)]
    loss = _loss([*outputs, *(v.t for v in plain(program, given))])
    grads: list[torch.Tensor | None] = [None] * len(leaves)
    if loss is not None and leaves:
        grads = torch.autograd.grad(loss, leaves, create_graph=twice, allow_unused=True)
        if twice:
            loss = _loss([g for g in grads if g is not None])
            grads = [None] * len(leaves)
            if loss is not None:
                grads = torch.autograd.grad(loss, leaves, allow_unused=True)
    return Found(
        [array_of(y) for y in outputs],
        [None if g is None else array_of(g) for g in grads],
        [v.n for v in given],
    )
