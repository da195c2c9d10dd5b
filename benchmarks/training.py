"""Whole models: steps of training and inference, eager and captured, against PyTorch and PaddlePaddle.

Each side runs in a process of its own (models/worker.py); they take turns, and the fastest step of each counts.
PaddlePaddle owns the name ``paddle``: ``REFERENCE_PYTHON`` names an interpreter that has it.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

from measure import Settings
from models.worker import STEADY
from rows import Outcome, add_row, add_section, duration

TRAINING = add_section("training", "Models: time of a step")
CAPTURED_STEPS = add_section("steps", "Captured training steps", figure="the other's time ÷ ours")
TWICE = add_section("training-two", "Models with two threads: time of a step")
LOW = add_section("training-low", "Models in bfloat16: time of a step")
REFERENCE = add_section("training-reference", "Models against PaddlePaddle 3.3.1")
MEMORY = add_section("training-memory", "Models: memory and the first step", figure="ratio, or the worst")
HERE = Path(__file__).parent
ROUNDS, STEPS, ROUND_S = 9, 3, 0.1

# model: what, targets of eager and captured against eager PyTorch; captured is to be above torch.compile as well
MODELS = {
    "gpt": ("GPT step, 4 layers, 256 wide, 8 heads, 4 × 256 tokens", 1.25, 1.5),
    "resnet": ("ResNet-18 step, 16 images of 32 × 32, stem 7 × 7 and pooling", 1.0, 1.3),
    "resnet_small": ("ResNet-18 step, 16 images of 32 × 32, stem 3 × 3", 1.3, 1.5),
    "lstm": ("LSTM step, 2 layers, 256 wide, 64 steps, batch 16", 1.2, 1.5),
    "mixer": ("MLP-Mixer step, 6 layers, 256 wide, 32 × 64 patches", 1.2, 1.5),
    "encoder": ("encoder inference, 6 layers, 384 wide, 8 × 128", 1.1, 1.35),
}
ABOVE_COMPILE = ("gpt", "resnet", "resnet_small", "encoder")
# models of the table of captured steps; who else, and how often our time theirs is to be. The better of two ways counts
CAPTURED = {
    "gpt": MODELS["gpt"][0],
    "resnet_small": MODELS["resnet_small"][0],
    "encoder_training": "encoder step, 6 layers, 384 wide, 8 × 128",
    "lstm": MODELS["lstm"][0],
}
OTHERS = {
    "compile": (("peer-compiled", "peer-whole"), 1.0, "torch.compile"),
    "eager": (("eager",), 1.1, "ours, eager,"),
    "reference": (("reference-compiled", "reference-whole"), 2.5, "PaddlePaddle's to_static"),
}
CHEAPER = 8.0  # how often our time to compile is torch.compile's, at least
# model: targets of eager and captured against PyTorch's autocast, and of captured against ours in float32, if any
LOW_MODELS = {"gpt": (1.7, 2.1, 1.9), "resnet": (1.5, 1.5, None), "resnet_small": (1.5, 1.5, None)}
FIRST_STEPS = {"gpt": 1.5, "resnet_small": 2.5}  # model: most seconds of a first step with an empty cache
COLD, WARM = 5.0, 1.5  # seconds from the start of Python to the end of the first step


P = TypeVar("P", bound="Process")


class Process:
    """A module of ``models`` that runs in a process and says lines of JSON; the first when it is ready."""

    def __init__(
        self, python: str, arguments: Sequence[str], settings: Settings, threads: int, env: Mapping[str, str]
    ) -> None:
        cores = ",".join(map(str, settings.cores[:threads] if threads > 1 else (settings.core,)))
        self.process = subprocess.Popen(
            ["taskset", "-c", cores, python, "-m", *arguments],
            cwd=HERE,
            env={**os.environ, "OMP_NUM_THREADS": str(threads), "BEGIN": str(time.time()), **env},
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.said: Any = self._line()

    def _line(self) -> Any:
        assert self.process.stdout is not None
        while True:
            line = self.process.stdout.readline()
            if not line:
                _, error = self.process.communicate()
                raise RuntimeError(f"[benchmarks] requires {' '.join(self.process.args[3:])} to run, got\n{error}")  # type: ignore[index]
            try:
                return json.loads(line)
            except ValueError:
                continue  # what a library says on its own

    def seconds(self, steps: int) -> float:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        return self._line()

    def __enter__(self: P) -> P:  # noqa: PYI019 - Self is of Python 3.11
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate()


class Worker(Process):
    """A side of a comparison of training steps; ``said`` is a dict of numbers."""

    def __init__(
        self, side: str, model: str, settings: Settings, threads: int = 1, env: Mapping[str, str] | None = None
    ) -> None:
        python = sys.executable
        if side.startswith("reference"):
            python = os.environ.get("REFERENCE_PYTHON", "")
            if not python:
                raise RuntimeError(
                    "[training] requires REFERENCE_PYTHON, an interpreter that has paddlepaddle, got none"
                )
        super().__init__(python, ["models.worker", side, model, str(threads)], settings, threads, env or {})


def by_turns(workers: Sequence[Process], rounds: int, steps: int) -> list[float]:
    """Seconds of the fastest steps of each; who begins alternates."""
    found: list[list[float]] = [[] for _ in workers]
    for i in range(rounds):
        for at in range(len(workers))[:: 1 if i % 2 else -1]:
            found[at].append(workers[at].seconds(steps))
    return list(map(min, found))


def steps_of(workers: Sequence[Process], fewest: int) -> int:
    """Steps of a round, for all sides. It takes ``ROUND_S`` at least: what another process left in the caches, and its
    threads that still spin, are no part of a model's time."""
    quickest = min(worker.seconds(fewest) for worker in workers)
    return max(fewest, math.ceil(ROUND_S / quickest))


def fastest(sides: Sequence[str], model: str, settings: Settings, threads: int) -> list[float]:
    """Seconds of the fastest steps of each side, by turns."""
    rounds, steps = (1, 1) if settings.check else (ROUNDS, STEPS)
    with ExitStack() as stack:
        return by_turns([stack.enter_context(Worker(side, model, settings, threads)) for side in sides], rounds, steps)


def elsewhere(side: str) -> bool:
    """Return whether not everybody has a side, or it takes a minute to begin."""
    return side.startswith("reference") or side in ("peer-compiled", "peer-whole")


def speed(side: str, others: Sequence[str], model: str, factor: float, threads: int, settings: Settings) -> Outcome:
    """Our time of a step against that of the fastest of ``others``."""
    if settings.check and any(map(elsewhere, others)):
        return Outcome("–", "–", "–", False)
    ours, *times = fastest((side, *others), model, settings, threads)
    other = min(times)
    part = {"whole": " (whole step compiled)", "compiled": " (model compiled)"}
    name = part[others[times.index(other)].partition("-")[2]] if len(others) > 1 else ""
    figure = f"{other / ours:.3g}×"
    return Outcome(duration(ours), duration(other) + name, figure, other / ours >= factor, other / ours)


def compile_seconds(side: str, model: str, settings: Settings) -> float:
    """CPU time of the first steps with nothing on disk, beyond that of as many steps later."""
    with tempfile.TemporaryDirectory() as folder:
        env = {"UMIAK_CACHE_DIR": folder, "TORCHINDUCTOR_CACHE_DIR": folder}
        with Worker(side, model, settings, env=env) as worker:
            later = min(worker.seconds(1) for _ in range(STEPS))
    return worker.said["until_steady"] - STEADY * later


def compiling(model: str, settings: Settings) -> Outcome:
    """Our time to compile a step against torch.compile's for the same."""
    if settings.check:
        return Outcome("–", "–", "–", False)
    sides = ("compiled", "peer-whole")
    ours, other = (median(x) for x in zip(*([compile_seconds(s, model, settings) for s in sides] for _ in range(3))))
    return Outcome(duration(ours), duration(other), f"{other / ours:.3g}×", other / ours >= CHEAPER, other / ours)


def memory(side: str, model: str, settings: Settings) -> Outcome:
    """Growth of the resident set since the import, over the first three steps."""
    sizes = []
    for s in (side, "peer"):
        with Worker(s, model, settings) as worker:
            sizes.append(worker.said["memory"])
    ours, other = sizes
    return Outcome(f"{ours / 1e6:.0f} MB", f"{other / 1e6:.0f} MB", f"{other / ours:.3g}×", ours <= other)


def first(model: str, settings: Settings) -> Outcome:
    """Time from the start of Python to the end of the first captured step: with an empty cache, then a filled one."""
    with tempfile.TemporaryDirectory() as folder:
        took = []
        for _ in range(2 if settings.check else 4):
            with Worker("compiled", model, settings, env={"UMIAK_CACHE_DIR": folder}) as worker:
                took.append(worker.said["first"])
    cold, warm = took[0], min(took[1:])
    return Outcome(duration(cold), duration(warm), "cold, warm", cold <= COLD and warm <= WARM)


def cold_step(side: str, model: str, most: float, settings: Settings) -> Outcome:
    """The first step of a process that has imported the package and made the model: with an empty cache, then again."""
    cold, warm, whole = [], [], []
    for _ in range(1 if settings.check else 3):
        with tempfile.TemporaryDirectory() as folder:
            for steps in (cold, warm):
                with Worker(side, model, settings, env={"UMIAK_CACHE_DIR": folder}) as worker:
                    steps.append(worker.said["step"])
                    whole.append(worker.said["first"])
    pick = min if settings.fastest else median
    ours = pick(cold)
    figure = f"cold, warm; {duration(pick(whole[::2]))} with import and model"
    return Outcome(duration(ours), duration(pick(warm)), figure, ours <= most)


def enter_cold() -> None:
    """Rows of first steps."""
    for model, most in FIRST_STEPS.items():
        for side, word in (("eager", "eager"), ("compiled", "captured")):
            add_row(
                f"{model}-cold-{side}",
                f"{MODELS[model][0]}, {word}: first step, nothing on disk",
                f"≤ {most:g} s",
                partial(cold_step, side, model, most),
                MEMORY,
            )


def enter_low() -> None:
    """Rows of mixed precision."""
    for model, (eager, compiled, gain) in LOW_MODELS.items():
        for level in ("o1", "o2"):
            sides = [
                ("eager", f"eager-{level}", "peer-autocast", eager, "PyTorch's autocast"),
                ("compiled", f"compiled-{level}", "peer-autocast", compiled, "PyTorch's autocast"),
            ]
            if gain is not None:
                sides.append(("gain", f"compiled-{level}", "compiled", gain, "ours in float32"))
            for kind, a, b, factor, name in sides:
                add_row(
                    f"{model}-{level}-{kind}",
                    f"{MODELS[model][0]}, `auto_cast` {level.upper()}, {'eager' if kind == 'eager' else 'captured'}",
                    f"{name} takes ≥ {factor:g}×",
                    partial(speed, a, (b,), model, factor, 1),
                    LOW,
                )


def enter_captured() -> None:
    """Rows of captured steps, and of how long it takes until they are compiled."""
    for model, what in CAPTURED.items():
        for kind, (others, factor, name) in OTHERS.items():
            add_row(
                f"{model}-step-{kind}",
                f"{what}, captured",
                f"{name} takes ≥ {factor:g}×",
                partial(speed, "compiled", others, model, factor, 1),
                CAPTURED_STEPS,
            )
        add_row(
            f"{model}-step-cold",
            f"{what}: CPU time to compile it, nothing on disk",
            f"torch.compile takes ≥ {CHEAPER:g}×",
            partial(compiling, model),
            CAPTURED_STEPS,
        )


def enter() -> None:
    for model, (what, eager, compiled) in MODELS.items():
        for section, threads, suffix in ((TRAINING, 1, ""), (TWICE, 2, "-2")):
            sides = [
                ("eager", "eager", "peer", eager, "eager PyTorch"),
                ("compiled", "compiled", "peer", compiled, "eager PyTorch"),
            ]
            if model in ABOVE_COMPILE and not (threads == 1 and model in CAPTURED):
                sides.append(("above", "compiled", "peer-compiled", 1.0, "torch.compile"))
            for kind, a, b, factor, name in sides:
                add_row(
                    f"{model}-{kind}{suffix}",
                    f"{what}, {'eager' if kind == 'eager' else 'captured'}",
                    f"{name} takes ≥ {factor:g}×",
                    partial(speed, a, (b,), model, factor, threads),
                    section,
                )
        for side in ("eager", "compiled"):
            add_row(
                f"{model}-{side}-reference",
                f"{what}, {'eager' if side == 'eager' else 'captured'}",
                "PaddlePaddle takes ≥ 2×",
                partial(speed, side, ("reference",), model, 2.0, 1),
                REFERENCE,
            )
            add_row(
                f"{model}-{side}-memory",
                f"{what}, {'eager' if side == 'eager' else 'captured'}: memory",
                "≤ eager PyTorch's",
                partial(memory, side, model),
                MEMORY,
            )
        add_row(
            f"{model}-first",
            f"{what}, captured: first step, import included",
            f"cold ≤ {COLD:g} s, warm ≤ {WARM:g} s",
            partial(first, model),
            MEMORY,
        )


enter()
enter_captured()
enter_cold()
enter_low()
