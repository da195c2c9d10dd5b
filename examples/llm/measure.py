"""Time per token of a model with random weights: ``python measure.py``. Captured and eager steps, in turns.

CPU time is shown, the least of many steps.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from config import Config
from continuations import Sampled
from engine import Engine
from linear import WEIGHTS, Dense, Quantised
from model import Decoder
from runner import Runner
from sources import Random

import paddle


class Stored(Random):
    """Random weights, stored as they are served."""

    def __init__(self, weights: str) -> None:
        super().__init__(0)
        self.weights = weights
        self.dtype = "bfloat16" if weights == "bfloat16" else "float32"
        self.numbers = self.rng.standard_normal((1 << 20) - 3, np.float32)

    def _normal(self, scale: float, *shape: int) -> paddle.Tensor:
        """The same numbers again and again: to draw a billion takes a minute."""
        return paddle.to_tensor(np.resize(self.numbers, shape) * np.float32(scale))

    def _give(self, name: str, value: Any) -> Any:
        return value  # and keep nothing

    def matrix(self, name: str, outputs: int, inputs: int, bias: bool = False) -> paddle.nn.Layer:
        layer = super().matrix(name, outputs, inputs, bias)
        if self.weights in ("int8", "int4"):
            return Quantised(layer.weight, layer.bias, self.weights)
        return Dense(layer.weight.astype(self.dtype), None if layer.bias is None else layer.bias.astype(self.dtype))

    def vector(self, name: str, size: int) -> paddle.Tensor:
        return super().vector(name, size).astype(self.dtype)


def least(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The least CPU time of each, in seconds, taken in turns."""
    times = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            began = time.process_time()
            call()
            times[name] = min(times[name], time.process_time() - began)
    return times


def engine(model: Decoder, texts: int, length: int, capture: bool) -> Engine:
    """An engine in which so many texts of this length are being written."""
    size, most = 16, 1024
    blocks = texts * -(-(length + most) // size)
    served = Engine(Runner(model, blocks, size, capture), blocks, texts)
    rng = np.random.default_rng(0)
    for _ in range(texts):
        prompt = rng.integers(0, model.config.vocab_size, length).tolist()
        served.submit(Sampled(prompt, most))
    while served.waiting or any(text.pending > 1 for r in served.running for text in r.texts):
        served.step()
    return served


def main(argv: list[str] | None = None) -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    p.add_argument("--vocab", type=int, default=4096)
    p.add_argument("--layers", type=int, default=8)
    p.add_argument("--width", type=int, default=512)
    p.add_argument("--hidden", type=int, default=1408)
    p.add_argument("--heads", type=int, default=8)
    p.add_argument("--kv-heads", type=int, default=2)
    p.add_argument("--texts", type=int, nargs="+", default=[1, 8])
    p.add_argument("--length", type=int, default=256, help="tokens that each text has already")
    p.add_argument("--weights", nargs="+", choices=WEIGHTS, default=list(WEIGHTS))
    p.add_argument("--rounds", type=int, default=100, help="1000 at most, as texts grow")
    args = p.parse_args(argv)
    config = Config(
        args.vocab,
        args.width,
        args.hidden,
        args.layers,
        args.heads,
        args.kv_heads,
        args.width // args.heads,
        args.length + 1024,
    )
    print("weights   texts   captured       eager   (ms of CPU time per step)   captured tokens/s")
    for weights in args.weights:
        model = Decoder(config, Stored(weights))
        for texts in args.texts:
            steps = {kind: engine(model, texts, args.length, kind == "captured").step for kind in ("captured", "eager")}
            least(steps, 5)  # warm
            times = least(steps, args.rounds)
            rate = texts / times["captured"]
            print(f"{weights:9} {texts:5} {1e3 * times['captured']:10.3f}  {1e3 * times['eager']:10.3f} {rate:44.0f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
