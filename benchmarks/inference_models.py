"""Inference of whole models by predictors, against ONNX Runtime, OpenVINO and PyTorch.

Ours is saved by ``paddle.jit.save`` and run by ``paddle.inference``; ONNX Runtime and OpenVINO run what
``paddle.onnx.export`` made of the same network, and what they give is compared first. ``PEER_PYTHON`` names an
interpreter that has both.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from functools import cache, partial

import numpy as np
from measure import Settings
from models.inference import BATCHES, LENGTHS, MODELS
from rows import Outcome, add_row, add_section, duration
from training import HERE, Process, by_turns, steps_of

INFERENCE = add_section("inference", "Models: time of inference, batches of 1 and 8")
UNPADDED = add_section(
    "inference-unpadded", "Documents of uneven lengths without padding", figure="the other's time ÷ ours"
)
FIRST = add_section(
    "inference-first", "Models: the first run of a predictor, with machine code on the disk", figure="÷ a later one"
)
ROUNDS, RUNS, PROCESSES = 9, 3, 5
FIRST_FACTOR = 1.2
ENGINES, PEER_FACTOR, ENGINE_FACTOR, LOW_FACTOR, UNPADDED_FACTOR = ("onnxruntime", "openvino"), 1.2, 1.0, 1.5, 1.8
NAMES = {"onnxruntime": "ONNX Runtime", "openvino": "OpenVINO", "peer": "PyTorch", "ours": "f32"}
SAME, SIMILAR = 1e-3, 5e-2  # of the largest number: differences in f32, and in bfloat16
QUICK = ("gru", "mobilenet_v3")
ROUNDED = ("mask_rcnn",)  # bfloat16 chooses other boxes where scores are close: its outputs are other ones


@cache
def saved(model: str) -> str:
    """The folder with a model's files, which are made once."""
    folder = _folder()
    worker("save", model, folder)
    return folder


def worker(side: str, model: str, folder: str) -> str:
    """What a process of a worker prints until it ends."""
    command = [sys.executable, "-m", "models.inference_worker", side, model, "1", "1", folder]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"[inference_models] requires {side} of {model} to end well, got\n{done.stderr}")
    return done.stdout


@cache
def _folder() -> str:
    kept = tempfile.TemporaryDirectory(prefix="inference_models")
    _KEPT.append(kept)
    return kept.name


_KEPT: list[tempfile.TemporaryDirectory[str]] = []  # until this process ends


class Side(Process):
    """A predictor of a model: ours, or that of another library."""

    def __init__(self, side: str, model: str, batch: int, settings: Settings) -> None:
        python = os.environ.get("PEER_PYTHON", "") if side.startswith(ENGINES) else sys.executable
        if not python:
            got = "an interpreter that has onnxruntime and openvino, got none"
            raise RuntimeError(f"[inference_models] requires PEER_PYTHON, {got}")
        arguments = ["models.inference_worker", side, model, str(batch), "1", saved(model)]
        super().__init__(python, arguments, settings, 1, {})

    def outputs(self) -> list[np.ndarray]:
        with np.load(self.said) as found:
            return [found[name].astype("float64") for name in found.files]


def compared(sides: Sequence[tuple[str, str]], batch: int, settings: Settings, tolerance: float | None) -> list[float]:
    """Seconds of the fastest runs of each side and model; outputs must be those of the first, but PyTorch's."""
    with ExitStack() as stack:
        workers = [stack.enter_context(Side(side, model, batch, settings)) for side, model in sides]
        wanted = workers[0].outputs()
        for (side, model), worker in zip(sides[1:], workers[1:], strict=True):
            if side == "peer" or tolerance is None:
                continue
            for x, y in zip(wanted, worker.outputs(), strict=True):
                difference = np.abs(x - y).max() / max(np.abs(x).max(), 1e-6)
                if not difference <= tolerance:
                    raise RuntimeError(
                        f"[inference_models] requires outputs of {sides[0][0]} and {side} of {model} that differ by at "
                        f"most {tolerance:g} of the largest, got {difference:.2g}"
                    )
        rounds, runs = (1, 1) if settings.check else (ROUNDS, steps_of(workers, RUNS))
        return by_turns(workers, rounds, runs)


def left_out(settings: Settings, model: str, others: Sequence[str]) -> bool:
    """Return whether a check leaves a row out: an engine is not there, or no other is and models take minutes."""
    alone = not os.environ.get("PEER_PYTHON")
    return settings.check and alone and (model not in QUICK or bool(set(others) & set(ENGINES)))


def speed(side: str, others: Sequence[str], model: str, batch: int, factor: float, settings: Settings) -> Outcome:
    """Our time of a run against that of the fastest of others."""
    if left_out(settings, model, others):
        return Outcome("–", "–", "–", False)
    low = side != "ours"
    tolerance = None if low and model in ROUNDED else SIMILAR if low else SAME
    ours, *times = compared([(s, model) for s in (side, *others)], batch, settings, tolerance)
    other = min(times)
    name = f" ({NAMES[others[times.index(other)]]})" if len(others) > 1 else ""
    return Outcome(duration(ours), duration(other) + name, f"{other / ours:.3g}×", other / ours >= factor, other / ours)


def without_padding(side: str, settings: Settings) -> Outcome:
    """Documents behind one another against the same documents filled up, by one set of weights."""
    if left_out(settings, "bert", ()):
        return Outcome("–", "–", "–", False)
    low = side != "ours"
    sides = [(side, "bert_unpadded"), (side, "bert")]
    ours, other = compared(sides, len(LENGTHS), settings, SIMILAR if low else SAME)
    ratio = other / ours
    return Outcome(duration(ours), duration(other), f"{ratio:.3g}×", ratio >= UNPADDED_FACTOR, ratio)


def first(model: str, settings: Settings) -> Outcome:
    """The first run of a predictor in a process against later ones, when another process has run it before."""
    if left_out(settings, model, ()):
        return Outcome("–", "–", "–", False)
    folder, processes = saved(model), 1 if settings.check else PROCESSES
    worker("first", model, folder)
    runs = [json.loads(worker("first", model, folder)) for _ in range(processes)]
    begun, later = sorted(runs, key=lambda run: run[0] / run[1])[processes // 2]
    return Outcome(duration(begun), duration(later), f"{begun / later:.3g}×", begun / later <= FIRST_FACTOR)


def enter() -> None:
    for model, served in MODELS.items():
        if served.peer is None:
            continue
        add_row(
            f"{model}-1-first",
            f"{served.what}, batch 1, f32; the other: a later run",
            f"≤ {FIRST_FACTOR:g}×",
            partial(first, model),
            FIRST,
        )
        for batch in BATCHES:
            what = f"{served.what}, batch {batch}"
            for kind, side, others, factor, words in (
                ("engines", "ours", ENGINES, ENGINE_FACTOR, "the better of ONNX Runtime and OpenVINO"),
                ("torch", "ours", ("peer",), PEER_FACTOR, "PyTorch"),
                ("bf16", "ours-bf16", ("ours",), LOW_FACTOR, "ours in f32"),
            ):
                add_row(
                    f"{model}-{batch}-{kind}",
                    f"{what}, {'bfloat16' if side != 'ours' else 'f32'}",
                    f"{words} takes ≥ {factor:g}×",
                    partial(speed, side, others, model, batch, factor),
                    INFERENCE,
                )
    words = f"{MODELS['bert_unpadded'].what}, {len(LENGTHS)} of {sum(LENGTHS) / len(LENGTHS):.0f} words on average"
    for side, precision in (("ours", "f32"), ("ours-bf16", "bfloat16")):
        add_row(
            f"bert-unpadded-{precision}",
            f"{words}, {precision}",
            f"filled up to {max(LENGTHS)}, they take ≥ {UNPADDED_FACTOR:g}×",
            partial(without_padding, side),
            UNPADDED,
        )


enter()
