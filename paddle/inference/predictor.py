"""``Predictor``: runs of a model that was loaded for nothing else."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from paddle._public import public
from paddle.inference import blame, profile
from paddle.inference.config import Config
from paddle.inference.handle import Slots, Tensor
from paddle.inference.preparing import Prepared, ShapeRecord, around_runs
from paddle.inference.staged import StagedRun
from paddle.inference.stepwise import Hook, told
from paddle.static.formats.graph import is_offsets, owner_of_offsets
from umiak import memory
from umiak.core import tensor as core
from umiak.core.own_memory import give_own
from umiak.runtime.program_tracer import Run
from umiak.util.errors import op_error


@public("paddle.inference")
class Predictor:
    """A model that was loaded, optimised and compiled.

    One thread at a time uses a predictor; others use clones, which share its weights and what was compiled.

    Args:
        config: the model, and how it is run. The predictor keeps the settings as they are now.

    Raises:
        TypeError: something that is no config.
        ValueError: a config without a model, or files that hold no model or a damaged one.
        FileNotFoundError: there is no such file.

    Example:
        >>> import numpy, os, paddle, tempfile
        >>> paddle.enable_static()
        >>> exe, prefix = paddle.static.Executor(), os.path.join(tempfile.mkdtemp(), "model")
        >>> with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
        ...     x = paddle.static.data("x", [None, 2])
        ...     paddle.static.save_inference_model(prefix, [x], [x * 2.0], exe)
        >>> paddle.disable_static()
        >>> config = paddle.inference.Config(prefix + ".json", "")
        >>> predictor = paddle.inference.create_predictor(config)
        >>> predictor.get_input_handle("x").copy_from_cpu(numpy.ones([1, 2], "float32"))
        >>> predictor.run()
        >>> predictor.get_output_handle(predictor.get_output_names()[0]).copy_to_cpu()
        array([[2., 2.]], dtype=float32)
    """

    def __init__(self, config: Config) -> None:
        if not isinstance(config, Config):
            raise op_error(TypeError, "create_predictor", "a Config", type(config).__name__)
        config = Config(config)
        with around_runs(config):
            prepared = Prepared(config)
            prepared.warm(prepared.run)
        record = ShapeRecord()
        if config._shape_file:
            weakref.finalize(prepared, record.write, config._shape_file)
        if config._flags["profile"]:
            weakref.finalize(prepared, profile.start())
        self._set(prepared, prepared.run, record)

    def _set(self, prepared: Prepared, run: Run | StagedRun, record: ShapeRecord) -> None:
        self._prepared = prepared
        self._run = run
        self._record = record
        place = prepared.config._place
        self._slots = Slots(prepared.metas, prepared.outputs, place, prepared.narrow, prepared.packed)
        self._hooks: tuple[list[Hook], list[Hook]] = ([], [])

    def clone(self, stream: Any = None) -> Predictor:
        """Make a predictor of the same model for another thread.

        It runs a few times over zeros, of the sizes that this one has as inputs, so that its first call has no more to
        do than later ones.

        Args:
            stream: accepted.

        Returns:
            A predictor with inputs and outputs of its own, which shares the weights.
        """
        made = object.__new__(Predictor)
        made._set(self._prepared, self._run.twin(), self._record)
        sizes = {name: list(x.shape) for (is_input, name), x in self._slots.values.items() if is_input}
        if not sizes.keys() >= {name for name, _ in made._run.feeds}:
            sizes = {}
        with around_runs(self._prepared.config):
            self._prepared.warm(made._run, sizes)
        return made

    # --- inputs and outputs

    def get_input_names(self) -> list[str]:
        """Return the names of the inputs, in order."""
        return [name for name in self._prepared.feeds if not is_offsets(name)]

    def get_output_names(self) -> list[str]:
        """Return the names of the outputs, in order."""
        return [name for name in self._prepared.outputs if not is_offsets(name)]

    def get_input_handle(self, name: str) -> Tensor:
        """Return the input of a name.

        Args:
            name: one of ``get_input_names()``.

        Raises:
            RuntimeError: there is no such input.
        """
        if name not in self._prepared.feeds:
            raise op_error(RuntimeError, "get_input_handle", f"one of the inputs {self._prepared.feeds}", repr(name))
        return Tensor(self._slots, name, True)

    def get_output_handle(self, name: str) -> Tensor:
        """Return the output of a name.

        Args:
            name: one of ``get_output_names()``.

        Raises:
            RuntimeError: there is no such output.
        """
        if name not in self._prepared.outputs:
            required = f"one of the outputs {self._prepared.outputs}"
            raise op_error(RuntimeError, "get_output_handle", required, repr(name))
        return Tensor(self._slots, name, False)

    # --- runs

    def run(self, inputs: Sequence[core.Tensor] | None = None) -> list[core.Tensor] | None:
        """Run the model once.

        Args:
            inputs: tensors in the order of ``get_input_names()``, or in any, where all have these names; None: what the
                handles were given.

        Returns:
            A list of tensors in the order of ``get_output_names()``, where inputs were given; else None: handles have
            the outputs.

        Raises:
            RuntimeError: an input is missing.
            TypeError: something that is no tensor.
            ValueError: another number of inputs, one of another dtype or shape, or an output that does not fit the
                memory that its handle was given.
        """
        names, values = self._prepared.feeds, self._slots.values
        if self._prepared.packed:
            names = self.get_input_names()
        if inputs is not None:
            if len(inputs) != len(names):
                raise op_error(ValueError, "run", f"{len(names)} inputs: {names}", len(inputs))
            for name, x in zip(_names_of(inputs, names), inputs, strict=True):
                if not isinstance(x, core.Tensor):
                    raise op_error(TypeError, "run", f"a tensor as {name!r}", type(x).__name__)
                values[True, name] = self._slots.accept("run", name, x)
        if self._slots.packed:
            self._check_offsets()
        given = []
        for name, _ in self._run.feeds:
            if (True, name) not in values:
                what, call = ("offsets", "set_lod(lod)") if is_offsets(name) else ("a value", "copy_from_cpu(array)")
                required = f"{what} for the input {owner_of_offsets(name)!r}"
                raise op_error(RuntimeError, "run", required, "none", f"get_input_handle(name).{call} gives one.")
            given.append(values[True, name])
        if self._prepared.config._shape_file:
            for name in names:
                if (value := values.get((True, name))) is not None:
                    self._record.note(name, list(value.shape))
        with around_runs(self._prepared.config):
            results = self._results(given)
            if inputs is not None:
                give_own(results)
            if self._slots.memory:
                results = self._slots.write(results)
        for name, y in zip(self._prepared.outputs, results, strict=True):
            values[False, name] = y
        if inputs is None:
            return None
        return [y for name, y in zip(self._prepared.outputs, results, strict=True) if not is_offsets(name)]

    def _check_offsets(self) -> None:
        for name, levels in self._slots.packed.items():
            x = self._slots.values.get((True, name))
            if x is not None and levels and x.shape[0] != levels[-1][-1]:
                required = f"offsets of {name!r} that end with its {x.shape[0]} rows"
                raise op_error(ValueError, "run", required, levels, "set_lod(lod) gives those of the next run.")

    def _results(self, given: list[core.Tensor]) -> list[core.Tensor]:
        narrow = self._slots.narrow
        if narrow is not None:
            given = [x.astype(self._prepared.metas[n].dtype) for (n, _), x in zip(self._run.feeds, given, strict=True)]
        if any(self._hooks):
            assert isinstance(self._run, Run)  # as hooks ask for
            results = told(self._run.program, given, *self._hooks)
        else:
            try:
                results = self._run.run(given)
            except blame.FAILURES as error:
                if (better := self._located(given, error)) is None:
                    raise
                raise better from error
        if self._prepared.tail is not None:
            results = self._prepared.tail.run(results)
        if narrow is None:
            return results
        return [y.astype(narrow) if y.dtype.name == "float32" else y for y in results]

    def _located(self, given: list[core.Tensor], error: Exception) -> Exception | None:
        """The error with the user's line, if the model's file has it."""
        prepared = self._prepared
        if prepared.blamed >= blame.MOST or set(prepared.feeds) != {name for name, _ in self._run.feeds}:
            return None
        prepared.blamed += 1
        if getattr(error, "located", False):  # by the program, which had it from the file
            return None
        names = [name for name, _ in self._run.feeds]
        return blame.located(prepared.config, dict(zip(names, given, strict=True)), error)

    def register_input_hook(self, hook: Callable[[str, str, core.Tensor], Any]) -> None:
        """Have a function called before every operation, with each of its operands. Operations then run one by one.

        Args:
            hook: called with the name of the operation, a name for the operand, and a tensor.

        Raises:
            TypeError: something that is no function.
            RuntimeError: an engine computes parts of the model.
        """
        self._hooks[0].append(self._hook("register_input_hook", hook))

    def register_output_hook(self, hook: Callable[[str, str, core.Tensor], Any]) -> None:
        """Have a function called after every operation, with each of its results. Operations then run one by one.

        Args:
            hook: called with the name of the operation, a name for the result, and a tensor.

        Raises:
            TypeError: something that is no function.
            RuntimeError: an engine computes parts of the model.
        """
        self._hooks[1].append(self._hook("register_output_hook", hook))

    def _hook(self, op_name: str, hook: Any) -> Hook:
        if not callable(hook):
            raise op_error(TypeError, op_name, "a function", type(hook).__name__)
        if not isinstance(self._run, Run):
            raise op_error(RuntimeError, op_name, "a model that is computed here", "one of which an engine has parts")
        return hook

    # --- memory

    def clear_intermediate_tensor(self) -> None:
        """Let go of the memory for values inside that is kept between runs, and of outputs. Inputs stay as they are."""
        for name in self._prepared.outputs:
            self._slots.values.pop((False, name), None)
        self._run.executor.shrink()

    def try_shrink_memory(self) -> int:
        """Give memory that nothing uses back to the system.

        Returns:
            The number of bytes.
        """
        return memory.empty_cache(self._prepared.config._place)


@public("paddle.inference")
def create_predictor(config: Config) -> Predictor:
    """Load a model for runs.

    Args:
        config: the model, and how it is run.

    Returns:
        A :class:`Predictor`.

    Raises:
        TypeError: something that is no config.
        ValueError: a config without a model, or files that hold no model or a damaged one.
        FileNotFoundError: there is no such file.

    Example:
        >>> import paddle
        >>> paddle.inference.create_predictor(paddle.inference.Config())
        Traceback (most recent call last):
        ValueError: [create_predictor] requires a config with a model, got none. Config(program, parameters) names one.
    """
    return Predictor(config)


def _names_of(inputs: Sequence[core.Tensor], names: list[str]) -> list[str]:
    """The inputs that tensors are for: by their own names, where these are all inputs' names, as in the reference; else
    in order."""
    own: list[Any] = [getattr(x, "_name", None) for x in inputs]  # a name that nobody asked for is not made
    return own if set(own) == set(names) else names


@public("paddle.inference")
class PredictorPool:
    """Several predictors of one model, for as many threads.

    Args:
        config: the model, and how it is run.
        size: how many.

    Raises:
        ValueError: less than one, or what ``create_predictor`` refuses.

    Example:
        >>> import paddle
        >>> paddle.inference.PredictorPool(paddle.inference.Config(), 0)
        Traceback (most recent call last):
        ValueError: [PredictorPool] requires a size of 1 or more, got 0
    """

    def __init__(self, config: Config, size: int = 1) -> None:
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise op_error(ValueError, "PredictorPool", "a size of 1 or more", repr(size))
        first = create_predictor(config)
        self._predictors = [first, *(first.clone() for _ in range(size - 1))]

    def retrieve(self, index: int) -> Predictor:
        """Return a predictor.

        Args:
            index: its number, from 0 on.

        Raises:
            ValueError: there is no such predictor.
        """
        if not 0 <= index < len(self._predictors):
            raise op_error(ValueError, "retrieve", f"a number from 0 to {len(self._predictors) - 1}", index)
        return self._predictors[index]
