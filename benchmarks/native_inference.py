"""Latency of a model through every binding: Python's predictor, the embedded interpreter, compiled ones from C, Java.

    python native_inference.py [PREFIX=INPUT:1x3x48x320 …]

Without models, MobileNetV3 and ResNet-50 with random weights. Programs run by turns on one core; figures are the least
of the rounds, each the mean of 100 runs.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import paddle
from paddle.inference.compile import compile_model
from paddle.inference.native.building import build
from paddle.inference.native.folders import HEADERS

ROOT = Path(__file__).parents[1]
RUNS, ROUNDS = 100, 7


def vision_model(folder: Path, name: str) -> Path:
    """A network of ``paddle.vision`` as a saved model."""
    paddle.enable_static()
    main, startup = paddle.static.Program(), paddle.static.Program()
    with paddle.static.program_guard(main, startup):
        x = paddle.static.data("x", [None, 3, 224, 224], "float32")
        layer = getattr(paddle.vision.models, name)()
        layer.eval()
        y = layer(x)
        executor = paddle.static.Executor()
        executor.run(startup)
        paddle.static.save_inference_model(str(folder / name), [x], [y], executor)
    paddle.disable_static()
    return folder / name


def java() -> str | None:
    """A Java with foreign functions."""
    for binary in filter(None, [shutil.which("java"), *map(str, Path("/usr/lib/jvm").glob("*/bin/java"))]):
        told = subprocess.run([binary, "-version"], capture_output=True, text=True, check=False).stderr
        if (found := re.search(r'version "(\d+)', told)) and int(found[1]) >= 22:
            return binary
    return None


def latency(command: list) -> float:
    """Milliseconds of a run, as an example program prints them."""
    done = subprocess.run([str(x) for x in command], capture_output=True, text=True, check=True)
    return float(re.findall(r"([\d.]+) ms", done.stderr)[-1])


def bindings(folder: Path, embedded: Path, prefix: Path, name: str, shape: list[int]) -> dict:
    """Functions that measure one model, by the binding that they use."""
    sizes = f"{name}={'x'.join(map(str, shape))}"
    library = compile_model(str(prefix), str(folder / f"lib{prefix.name}.so"), sizes=[sizes])
    programs = {}
    for kind, other in (("embedded", embedded), ("compiled", library)):
        programs[kind] = folder / f"{prefix.name}_{kind}"
        source = ROOT / "examples/inference/c/predict.c"
        subprocess.run(
            ["cc", "-O2", f"-I{HEADERS}", source, "-o", programs[kind], other, f"-Wl,-rpath,{other.parent}"], check=True
        )
    end = ".json" if Path(f"{prefix}.json").exists() else ".pdmodel"
    config = paddle.inference.Config(f"{prefix}{end}", f"{prefix}.pdiparams")
    predictor = paddle.inference.create_predictor(config)
    predictor.get_input_handle(name).copy_from_cpu(np.zeros(shape, "float32"))

    def python() -> float:
        begin = time.perf_counter()
        for _ in range(RUNS):
            predictor.run()
        return (time.perf_counter() - begin) * 1e3 / RUNS

    predictor.run()
    found = {
        "Python": python,
        "C, embedded": lambda: latency([programs["embedded"], prefix, sizes]),
        "C, compiled": lambda: latency([programs["compiled"], sizes]),
    }
    if (binary := java()) is not None:
        options = ["--enable-native-access=ALL-UNNAMED", ROOT / "examples/inference/java/Predict.java"]
        found["Java, compiled"] = lambda: latency([binary, *options, library, "-", name, *shape])
    return found


def main() -> None:
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        embedded = build(folder / "embedded")
        models = []
        for text in sys.argv[1:]:
            prefix, _, rest = text.rpartition("=")
            argument, _, sizes = rest.partition(":")
            models.append((Path(prefix), argument, [int(n) for n in sizes.split("x")]))
        if not models:
            names = ("mobilenet_v3_small", "resnet50")
            models = [(vision_model(folder, n), "x", [1, 3, 224, 224]) for n in names]
        for prefix, argument, shape in models:
            measured = bindings(folder, embedded, prefix, argument, shape)
            rounds = [{binding: measure() for binding, measure in measured.items()} for _ in range(ROUNDS)]
            best = {binding: min(r[binding] for r in rounds) for binding in measured}
            label = prefix.name if prefix.name != "inference" else prefix.parent.name
            print(
                label,
                "x".join(map(str, shape)),
                *(f"{binding} {ms:.2f} ms" for binding, ms in best.items()),
                sep=" | ",
                flush=True,
            )


if __name__ == "__main__":
    main()
