"""Programs that ``Model`` runs in static mode: one to train, one to evaluate, one to predict."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import paddle
from paddle.framework.mode import disable_static, in_dynamic_mode
from paddle.hapi._batches import flat, listed, single
from paddle.hapi._mixed_precision import MixedPrecision
from paddle.metric.metrics import Metric
from paddle.nn.layer.layers import Layer
from paddle.static.amp.lists import AutoMixedPrecisionLists
from paddle.static.amp.optimizer import decorate
from paddle.static.executor import Executor
from paddle.static.program import (
    Program,
    default_main_program,
    default_startup_program,
    enable_static,
    managed,
    program_guard,
)
from paddle.static.saving import save_inference_model
from paddle.static.scope import global_scope
from paddle.static.variable import data
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


@dataclass
class Recorded:
    """A program of a network, with its inputs, and variables in it that are fetched."""

    program: Program
    inputs: list[Tensor]
    labels: list[Tensor]
    outputs: list[Any]
    losses: list[Tensor] = field(default_factory=list)
    found: list[list[Any]] = field(default_factory=list)  # what each metric has computed


class StaticRuns:
    """The programs of a model, each recorded when it is first needed, on a copy of the main program that the network
    was made in.
    """

    def __init__(self, network: Layer, inputs: list[Any], labels: list[Any] | None) -> None:
        self._network = network
        self._inputs, self._labels = inputs, labels or []
        self._main, self._startup = default_main_program(), default_startup_program()
        self._executor = Executor()
        self._recorded: dict[str, Recorded] = {}
        self._optimizer: Any = None
        self._loss: Callable[..., Any] | None = None
        self._metrics: Sequence[Metric] = ()
        self._amp = MixedPrecision()

    # --- programs --------------------------------------------------------------------------------------------------

    def prepare(self, optimizer: Any, loss: Any, metrics: Sequence[Metric], amp: MixedPrecision) -> None:
        """Take what trains and judges the network; a program for training is recorded now."""
        self._recorded.clear()
        self._loss, self._metrics, self._amp = loss, metrics, amp
        self._optimizer = optimizer if optimizer is None or amp.level == "O0" else self._narrow(optimizer)
        self._begin()
        if optimizer is not None and loss is not None:
            self._of("train")

    def _narrow(self, optimizer: Any) -> Any:
        lists = self._amp.lists
        names = AutoMixedPrecisionLists(
            lists.get("custom_white_list"), lists.get("custom_black_list"), self._amp.black_varnames, "float16"
        )
        guard = self._amp.level == "O2" and self._amp.guard
        return decorate(optimizer, names, level=self._amp.level, use_amp_guard=guard, **self._amp.scaler)

    def _begin(self) -> None:
        """Give the network's variables their first values; what has values keeps them."""
        scope = global_scope()
        if all(scope.find_var(x.name) is not None for _, x in self._variables() if managed(x)):
            return
        before = self._startup.state_dict(scope=scope)
        self._executor.run(self._startup)
        self._startup.set_state_dict(before, scope)

    def _of(self, mode: str) -> Recorded:
        if mode not in self._recorded:
            self._begin()
            self._recorded[mode] = self._record(mode)
        return self._recorded[mode]

    def _record(self, mode: str) -> Recorded:
        program, first = self._main.clone(), Program()
        if mode == "train":
            self._network.train()
        else:
            self._network.eval()
        with _recording(program, first):
            names = _Names(self._network)
            inputs = [_fed(x, names.next_input()) for x in self._inputs]
            labels = [] if mode == "predict" else [_fed(x, names.next_label()) for x in self._labels]
            outputs = listed(self._network(*inputs))
            made = Recorded(program, inputs, labels, flat(outputs))
            if mode != "predict":
                if self._loss is not None:
                    made.losses = single(listed(self._loss(*outputs, *labels)))
                made.found = [listed(metric.compute(*outputs, *labels)) for metric in self._metrics]
            if mode == "train":
                total = made.losses[0] if len(made.losses) == 1 else paddle.add_n(made.losses)
                self._optimizer.minimize(total)
            elif self._amp.level == "O2" and self._optimizer is not None:
                self._optimizer.amp_init(self._executor.place, test_program=program, use_fp16_test=True)
        self._executor.run(first)  # states of the optimizer
        return made

    # --- batches ---------------------------------------------------------------------------------------------------

    def train(self, inputs: list[Any], labels: list[Any]) -> Any:
        return self._judged("train", inputs, labels)

    def evaluate(self, inputs: list[Any], labels: list[Any]) -> Any:
        return self._judged("eval", inputs, labels)

    def predict(self, inputs: list[Any]) -> list[np.ndarray]:
        made = self._of("predict")
        return self._run(made, inputs, [], made.outputs)

    def _judged(self, mode: str, inputs: list[Any], labels: list[Any]) -> Any:
        made = self._of(mode)
        results = iter(self._run(made, inputs, labels, [*made.losses, *(x for xs in made.found for x in xs)]))
        losses = [next(results) for _ in made.losses]
        judged = [m.update(*(next(results) for _ in xs)) for m, xs in zip(self._metrics, made.found, strict=True)]
        if losses and judged:
            return losses, judged
        return judged or losses

    def _run(self, made: Recorded, inputs: list[Any], labels: list[Any], fetched: list[Any]) -> list[Any]:
        """Run a program; what is no variable of it (a number that a network returns) is its own result."""
        feed = {}
        for what, variables, given in (("inputs", made.inputs, inputs), ("labels", made.labels, labels)):
            if len(given) != len(variables):
                raise op_error(ValueError, "Model", f"{len(variables)} {what}, as it was told", len(given))
            feed.update({variable.name: x for variable, x in zip(variables, given, strict=True)})
        results = iter(self._executor.run(made.program, feed, [x for x in fetched if isinstance(x, Tensor)]))
        return [next(results) if isinstance(x, Tensor) else x for x in fetched]

    # --- files -----------------------------------------------------------------------------------------------------

    def save_for_inference(self, path: str) -> None:
        made = self._of("predict")
        save_inference_model(path, made.inputs, made.outputs, self._executor, program=made.program)

    def values(self) -> dict[str, Tensor]:
        """The network's variables as training has left them, by their names in it."""
        self._begin()
        scope = global_scope()
        return {key: scope._place_of(x, make=False) if managed(x) else x for key, x in self._variables()}

    def _variables(self) -> Iterable[tuple[str, Tensor]]:
        return self._network.state_dict().items()

    def set_values(self, values: Mapping[str, Tensor]) -> None:
        """Write them."""
        self._begin()
        scope = global_scope()
        for key, x in self._variables():
            if key in values:
                scope._hold(x, values[key].astype(x.dtype), managed(x))

    def optimizer_state(self) -> dict[str, Any]:
        """The optimizer's state as in dynamic mode, with the values that training has come to."""
        if "train" not in self._recorded:
            return {}
        values = self._recorded["train"].program.state_dict("opt")
        state = self._optimizer.state_dict()
        return {key: values.get(key, x) for key, x in state.items()}

    def set_optimizer_state(self, state: dict[str, Any]) -> None:
        made = self._of("train")
        known = self._optimizer.state_dict()
        # Numbers at the end of the names say how many optimizers came before: states go by the rest.
        names = {name.rpartition("_")[0]: name for name in known}
        found = {names[key.rpartition("_")[0]]: x for key, x in state.items() if key.rpartition("_")[0] in names}
        schedule = found.pop("LR_Scheduler", None)
        if schedule is not None:
            self._optimizer._learning_rate.set_state_dict(schedule)
        if missing := sorted(known.keys() - found.keys() - {"LR_Scheduler"}):
            raise op_error(ValueError, "Model.load", "the optimizer's states in the file", f"none for {missing}")
        made.program.set_state_dict({key: np.asarray(x) for key, x in found.items()})


@contextmanager
def _recording(program: Program, first: Program) -> Iterator[None]:
    """Record into a program, also where static mode was left since the model was made."""
    entered = in_dynamic_mode()
    if entered:
        enable_static()
    try:
        with program_guard(program, first):
            yield
    finally:
        if entered:
            disable_static()


class _Names:
    """Names of inputs without one: those of the parameters of ``forward``, and numbers."""

    def __init__(self, network: Layer) -> None:
        self._names = [p for p in inspect.signature(network.forward).parameters if p not in ("args", "kwargs")]
        self._inputs = self._labels = 0

    def next_input(self) -> str:
        i, self._inputs = self._inputs, self._inputs + 1
        return self._names[i] if i < len(self._names) else f"input_{i}"

    def next_label(self) -> str:
        i, self._labels = self._labels, self._labels + 1
        return f"label_{i}"


def _fed(spec: Any, name: str) -> Tensor:
    made = data(spec.name or name, spec.shape, spec.dtype)
    made.stop_gradient = spec.stop_gradient
    return made
