"""Runs a model once, and a hundred times for its latency: ``python predict.py MODEL NAME=1x3x48x320 …``.

MODEL is the beginning of the names of a saved model's files. Inputs are of float32, and are filled with numbers that
follow from their places. The first numbers of each output are printed.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from paddle.inference import Config, create_predictor

RUNS, SHOWN = 100, 8


def main(model: str, *inputs: str) -> None:
    config = Config(model + ".json", model + ".pdiparams")
    config.set_cpu_math_library_num_threads(1)
    predictor = create_predictor(config)
    for text in inputs:
        name, _, sizes = text.partition("=")
        shape = [int(n) for n in sizes.split("x")]
        data = (np.arange(np.prod(shape)) * 37 % 101 / 101).astype("float32")
        predictor.get_input_handle(name).copy_from_cpu(data.reshape(shape))
    predictor.run()
    for name in predictor.get_output_names():
        numbers = predictor.get_output_handle(name).copy_to_cpu()
        print(name, list(numbers.shape), *(f"{x:.6g}" for x in numbers.reshape(-1)[:SHOWN]))
    begin = time.perf_counter()
    for _ in range(RUNS):
        predictor.run()
    print(f"{(time.perf_counter() - begin) * 1e3 / RUNS:.3f} ms", file=sys.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
