"""Whole models: steps of training and inference, eager and captured, against PyTorch and PaddlePaddle.

Each side runs in a process of its own (models/worker.py); they take turns, and the fastest step of each counts.
PaddlePaddle owns the name ``paddle``: ``REFERENCE_PYTHON`` names an interpreter that has it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from measure import Settings
from rows import Outcome, add_row, add_section, duration

TRAINING = add_section("training", "Models: time of a step")
TWICE = add_section("training-two", "Models with two threads: time of a step")
LOW = add_section("training-low", "Models in bfloat16: time of a step")
REFERENCE = add_section("training-reference", "Models against PaddlePaddle 3.3.1")
MEMORY = add_section("training-memory", "Models: memory and the first step", figure="ratio, or the worst")
HERE = Path(__file__).parent
ROUNDS, STEPS = 9, 3

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
# model: targets of eager and captured against PyTorch's autocast, and of captured against ours in float32, if any
LOW_MODELS = {"gpt": (1.7, 2.1, 1.9), "resnet": (1.5, 1.5, None), "resnet_small": (1.5, 1.5, None)}
FIRST_STEPS = {"gpt": 1.5, "resnet_small": 2.5}  # model: most seconds of a first step with an empty cache
COLD, WARM = 5.0, 1.5  # seconds from the start of Python to the end of the first step


class Worker:
    """A side of a comparison."""

    def __init__(
        self, side: str, model: str, settings: Settings, threads: int = 1, env: Mapping[str, str] | None = None
    ) -> None:
        python = sys.executable
        if side == "reference":
            python = os.environ.get("REFERENCE_PYTHON", "")
            if not python:
                raise RuntimeError(
                    "[training] requires REFERENCE_PYTHON, an interpreter that has paddlepaddle, got none"
                )
        cores = ",".join(map(str, settings.cores[:threads] if threads > 1 else (settings.core,)))
        command = ["taskset", "-c", cores, python, "-m", "models.worker", side, model, str(threads)]
        given = {**os.environ, "OMP_NUM_THREADS": str(threads), "BEGIN": str(time.time()), **(env or {})}
        self.process = subprocess.Popen(
            command,
            cwd=HERE,
            env=given,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.said: dict[str, float] = self._line()

    def _line(self) -> Any:
        assert self.process.stdout is not None
        while True:
            line = self.process.stdout.readline()
            if not line:
                _, error = self.process.communicate()
                raise RuntimeError(f"[training] requires {' '.join(self.process.args[3:])} to run, got\n{error}")  # type: ignore[index]
            try:
                return json.loads(line)
            except ValueError:
                continue  # what a library says on its own

    def seconds(self, steps: int) -> float:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        return self._line()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate()


def fastest(a: str, b: str, model: str, settings: Settings, threads: int) -> tuple[float, float]:
    """Seconds of the fastest steps of two sides, by turns."""
    rounds, steps = (1, 1) if settings.check else (ROUNDS, STEPS)
    with Worker(a, model, settings, threads) as one, Worker(b, model, settings, threads) as two:
        found = [[w.seconds(steps) for w in ((one, two) if i % 2 else (two, one))] for i in range(rounds)]
    pairs = [pair if i % 2 else pair[::-1] for i, pair in enumerate(found)]
    return min(p[0] for p in pairs), min(p[1] for p in pairs)


def speed(a: str, b: str, model: str, factor: float, threads: int, settings: Settings) -> Outcome:
    if settings.check and b in ("reference", "peer-compiled"):  # not everybody has it; takes a minute
        return Outcome("–", "–", "–", False)
    ours, other = fastest(a, b, model, settings, threads)
    return Outcome(duration(ours), duration(other), f"{other / ours:.3g}×", other / ours >= factor, other / ours)


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
                    partial(speed, a, b, model, factor, 1),
                    LOW,
                )


def enter() -> None:
    for model, (what, eager, compiled) in MODELS.items():
        for section, threads, suffix in ((TRAINING, 1, ""), (TWICE, 2, "-2")):
            sides = [
                ("eager", "eager", "peer", eager, "eager PyTorch"),
                ("compiled", "compiled", "peer", compiled, "eager PyTorch"),
            ]
            if model in ABOVE_COMPILE:
                sides.append(("above", "compiled", "peer-compiled", 1.0, "torch.compile"))
            for kind, a, b, factor, name in sides:
                add_row(
                    f"{model}-{kind}{suffix}",
                    f"{what}, {'eager' if kind == 'eager' else 'captured'}",
                    f"{name} takes ≥ {factor:g}×",
                    partial(speed, a, b, model, factor, threads),
                    section,
                )
        for side in ("eager", "compiled"):
            add_row(
                f"{model}-{side}-reference",
                f"{what}, {'eager' if side == 'eager' else 'captured'}",
                "PaddlePaddle takes ≥ 2×",
                partial(speed, side, "reference", model, 2.0, 1),
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
enter_cold()
enter_low()
