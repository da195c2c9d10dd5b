"""One side of a comparison of inference, in a process.

``python -m models.inference_worker SIDE MODEL BATCH THREADS FOLDER``. SIDE: ``save`` writes MODEL to FOLDER, as files
of ours and as ONNX, and ends. ``ours`` is a predictor of the former; ``onnxruntime`` and ``openvino`` run the latter,
in whatever environment has them; ``peer`` is the model on PyTorch, with weights of its own. With ``-bf16`` behind it,
a side computes in bfloat16 where it wants to.

``first`` prints the seconds of a predictor's first run, and the median of later ones, and ends. Others
print a line of JSON when ready: the file with the outputs. Then, for each line ``N`` read, the seconds of a run, over
N runs.
"""

from __future__ import annotations

import importlib
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from models.inference import BATCHES, MODELS, Inputs

OPSET, LATER = 17, 20


def network(module: str, name: str) -> Any:
    return importlib.import_module(module).NETWORKS[name]()


def save(name: str, path: str) -> None:
    """Write a model; sizes are open that differ between batches."""
    import paddle
    from paddle.static import InputSpec

    paddle.seed(0)
    layer = network(MODELS[name].module, name)
    layer.eval()
    few, many = (MODELS[name].inputs(batch) for batch in BATCHES)
    specs = [
        InputSpec([m if m == n else None for m, n in zip(few[key].shape, many[key].shape)], str(few[key].dtype), key)
        for key in few
    ]
    paddle.jit.save(layer, path, specs)
    if MODELS[name].peer is not None:
        paddle.onnx.export(layer, path, specs, opset_version=OPSET)


def ours(path: str, inputs: Inputs, threads: int, low: bool) -> Callable[[], list[np.ndarray]]:
    from paddle.inference import Config, create_predictor

    config = Config(path + ".json", path + ".pdiparams")
    config.set_cpu_math_library_num_threads(threads)
    if low:
        config.enable_onednn_bfloat16()
    predictor = create_predictor(config)
    given = [(predictor.get_input_handle(name), x) for name, x in inputs.items()]
    results = [predictor.get_output_handle(name) for name in predictor.get_output_names()]

    def run() -> list[np.ndarray]:
        for handle, x in given:
            handle.copy_from_cpu(x)
        predictor.run()
        return [handle.copy_to_cpu() for handle in results]

    return run


def onnxruntime(path: str, inputs: Inputs, threads: int, low: bool) -> Callable[[], list[np.ndarray]]:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = ort.InferenceSession(path + ".onnx", options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, inputs)


def openvino(path: str, inputs: Inputs, threads: int, low: bool) -> Callable[[], list[np.ndarray]]:
    import openvino as ov

    settings = {
        "INFERENCE_NUM_THREADS": threads,
        "INFERENCE_PRECISION_HINT": "bf16" if low else "f32",
        "PERFORMANCE_HINT": "LATENCY",
    }
    compiled = ov.Core().compile_model(path + ".onnx", "CPU", settings)
    request = compiled.create_infer_request()
    return lambda: [request.infer(inputs)[output] for output in compiled.outputs]


def peer(name: str, inputs: Inputs, threads: int, low: bool) -> Callable[[], list[np.ndarray]]:
    import torch

    torch.set_num_threads(threads)
    torch.manual_seed(0)
    layer = network(str(MODELS[name].peer), name).eval()
    given = [torch.from_numpy(x) for x in inputs.values()]

    def run() -> list[np.ndarray]:
        with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=low):
            results = layer(*given)
        return [x.float().numpy() for x in (results if isinstance(results, tuple) else (results,))]

    return run


def first(path: str, inputs: Inputs) -> tuple[float, float]:
    """Seconds of the first run, and of a later one."""
    run = ours(path, inputs, 1, low=False)
    taken = []
    for _ in range(1 + LATER):
        begin = time.process_time()
        run()
        taken.append(time.process_time() - begin)
    return taken[0], statistics.median(taken[1:])


FILES = {"ours": ours, "onnxruntime": onnxruntime, "openvino": openvino}


def main(side: str, name: str, batch: int, threads: int, folder: str) -> None:
    kind, _, precision = side.partition("-")
    path = os.path.join(folder, name)
    if kind == "save":
        save(name, path)
        return
    inputs, low = MODELS[name].inputs(batch), precision == "bf16"
    if kind == "first":
        print(json.dumps(first(path, inputs)))
        return
    run = peer(name, inputs, threads, low) if kind == "peer" else FILES[kind](path, inputs, threads, low)
    for _ in range(2):  # the second run may compile for what the first has seen
        results = run()
    written = f"{path}-{side}-{batch}.npz"
    np.savez(written, *results)
    print(json.dumps(written), flush=True)
    # CPU time stands still while another process has the core; with threads, it is the sum of theirs.
    clock = time.process_time if threads == 1 else time.perf_counter
    for line in sys.stdin:
        begin = clock()
        for _ in range(int(line)):
            run()
        print((clock() - begin) / int(line), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
