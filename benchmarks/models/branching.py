"""Networks that branch. ``python -m models.branching MODEL SECONDS CORES`` prints the seconds of the fastest run of a
predictor with launches side by side where that was measured to be faster, and of the fastest one without."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import paddle
import paddle.nn.functional as F
from paddle import inference, nn

RUNS = 24  # until it is decided what runs side by side


class Inception(nn.Layer):
    """A block of GoogLeNet: four branches over 192 channels, joined."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.narrow = nn.Conv2D(192, 64, 1), nn.Conv2D(192, 96, 1)
        self.three, self.narrower = nn.Conv2D(96, 128, 3, padding=1), nn.Conv2D(192, 16, 1)
        self.five, self.pooled = nn.Conv2D(16, 32, 5, padding=2), nn.Conv2D(192, 32, 1)

    def forward(self, x: Any) -> Any:
        branches = [
            self.one(x),
            self.three(F.relu(self.narrow(x))),
            self.five(F.relu(self.narrower(x))),
            self.pooled(F.max_pool2d(x, 3, 1, 1)),
        ]
        return F.relu(paddle.concat(branches, 1))


class Heads(nn.Layer):
    """Eight small networks over one vector of features."""

    def __init__(self) -> None:
        super().__init__()
        self.heads = nn.LayerList(
            [
                nn.Sequential(nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 16))
                for _ in range(8)
            ]
        )

    def forward(self, x: Any) -> Any:
        return [head(x) for head in self.heads]


class Directions(nn.Layer):
    """Two layers of a GRU that reads a sequence both ways."""

    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRU(256, 256, 2, direction="bidirect")

    def forward(self, x: Any) -> Any:
        return self.gru(x)[0]


MODELS: dict[str, tuple[str, Callable[[], nn.Layer], list[int]]] = {
    "inception-14": ("a block of GoogLeNet, 1 × 192 × 14 × 14", Inception, [1, 192, 14, 14]),
    "inception-28": ("the same, 1 × 192 × 28 × 28", Inception, [1, 192, 28, 28]),
    "googlenet": ("GoogLeNet, 1 × 3 × 224 × 224", paddle.vision.models.googlenet, [1, 3, 224, 224]),
    "gru": ("GRU in both directions, 2 × 256, 64 steps, batch 1", Directions, [1, 64, 256]),
    "heads": ("eight heads, 256 → 128 → 64 → 16, 64 rows", Heads, [64, 256]),
}


def predictor(folder: str, x: Any) -> Callable[[], list[Any]]:
    config = inference.Config(f"{folder}/model.json", f"{folder}/model.pdiparams")
    config.set_cpu_math_library_num_threads(2)
    made = inference.create_predictor(config)
    made.get_input_handle(made.get_input_names()[0]).copy_from_cpu(x.numpy())

    def run() -> list[Any]:
        made.run()
        return [made.get_output_handle(name) for name in made.get_output_names()]

    return run


def main(name: str, seconds: float) -> None:
    _, make, shape = MODELS[name]
    paddle.seed(0)
    model, x = make(), paddle.randn(shape)
    model.eval()
    best: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        paddle.jit.save(model, f"{folder}/model", input_spec=[paddle.static.InputSpec(shape, "float32")])
        runs, results = {}, []
        for mode in ("auto", "never"):
            paddle.set_flags({"FLAGS_parallel_branches": mode})
            runs[mode] = predictor(folder, x)
            for _ in range(RUNS):
                runs[mode]()
            results.append([h.copy_to_cpu().tobytes() for h in runs[mode]()])
    if results[0] != results[1]:
        raise RuntimeError(f"[branches] requires equal bits of both ways to run {name}")
    end = time.perf_counter() + seconds
    while not best or time.perf_counter() < end:
        for mode, run in runs.items():
            paddle.set_flags({"FLAGS_parallel_branches": mode})
            begin = time.perf_counter()
            run()
            best[mode] = min(best.get(mode, float("inf")), time.perf_counter() - begin)
    print(best["auto"], best["never"])


if __name__ == "__main__":
    os.sched_setaffinity(0, {int(n) for n in sys.argv[3].split(",")})
    main(sys.argv[1], float(sys.argv[2]))
