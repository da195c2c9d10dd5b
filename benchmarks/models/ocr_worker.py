"""One side of a comparison of OCR models, in a process: ``python -m models.ocr_worker SIDE MODEL BATCH THREADS``.

SIDE: ``ours`` and ``reference`` are predictors of PP-OCRv4's files (in ``OCR_MODELS``), whichever ``paddle`` the
interpreter has; ``reference-plain`` is one without oneDNN. ``onnxruntime`` and ``openvino`` run the same networks, as
ONNX (in ``OCR_ONNX_MODELS``). With ``-bf16`` behind it, a side computes in bfloat16. ``bare`` is our predictor in a
loop of batches, ``served`` our server, which as many clients ask at once as a batch has samples.

``sizes`` runs ours over images of widths that it has not seen, each once, and over the same again; prints both times of
an image, in seconds of the processor, and ends.

Other sides print a line of JSON when ready: the file with the outputs. Then, for each line ``N`` read, the seconds of a
run, over N runs; of ``bare`` and ``served`` those of one sample.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

# By model: the folder of its files, the beginning of its ONNX file's name, and the size of an image.
MODELS = {
    "det": ("ch_PP-OCRv4_det_infer", "ch_PP-OCRv4_det", (3, 640, 640)),
    "rec": ("ch_PP-OCRv4_rec_infer", "ch_PP-OCRv4_rec", (3, 48, 320)),
}
WIDTHS = {"det": range(320, 1088, 32), "rec": range(101, 700, 13)}  # of images that are as high as those
Run = Callable[[], Any]  # gives an array, or one for each sample


def images(model: str, batch: int) -> np.ndarray:
    return np.random.default_rng(0).uniform(-1, 1, (batch, *MODELS[model][2])).astype("float32")


def folder(model: str) -> Path:
    return Path(os.environ["OCR_MODELS"], MODELS[model][0])


def onnx_file(model: str) -> str:
    return str(next(Path(os.environ["OCR_ONNX_MODELS"]).glob(MODELS[model][1] + "*.onnx")))


def predictor(side: str, model: str, x: np.ndarray, threads: int) -> Run:
    from paddle.inference import Config, create_predictor

    config = Config(str(folder(model) / "inference.pdmodel"), str(folder(model) / "inference.pdiparams"))
    config.set_cpu_math_library_num_threads(threads)
    config.enable_memory_optim()
    config.disable_glog_info()
    if "plain" in side:
        config.disable_mkldnn()
    if "bf16" in side:
        config.enable_mkldnn_bfloat16()
    made = create_predictor(config)
    given = made.get_input_handle(made.get_input_names()[0])
    result = made.get_output_handle(made.get_output_names()[0])

    def run() -> np.ndarray:
        given.copy_from_cpu(x)
        made.run()
        return result.copy_to_cpu()

    return run


def sizes(model: str, threads: int) -> list[float]:
    """Seconds of the processor of a run over a size that is new, and of one over the same sizes again."""
    from paddle.inference import Config, create_predictor

    config = Config(str(folder(model) / "inference.pdmodel"), str(folder(model) / "inference.pdiparams"))
    config.set_cpu_math_library_num_threads(threads)
    made = create_predictor(config)
    given = made.get_input_handle(made.get_input_names()[0])
    x, found = images(model, 1), []
    given.copy_from_cpu(x)
    made.run()  # makes kernels, which serve all sizes
    for _ in range(2):
        begin = time.process_time()
        for width in np.random.default_rng(0).permutation(WIDTHS[model]):  # as images come
            given.copy_from_cpu(np.resize(x, (*x.shape[:3], width)))
            made.run()
        found.append((time.process_time() - begin) / len(WIDTHS[model]))
    return found


def onnxruntime(model: str, x: np.ndarray, threads: int) -> Run:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = ort.InferenceSession(onnx_file(model), options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return lambda: session.run(None, {name: x})[0]


def openvino(model: str, x: np.ndarray, threads: int, low: bool) -> Run:
    import openvino as ov

    settings = {
        "INFERENCE_NUM_THREADS": threads,
        "INFERENCE_PRECISION_HINT": "bf16" if low else "f32",
        "PERFORMANCE_HINT": "LATENCY",
    }
    compiled = ov.Core().compile_model(onnx_file(model), "CPU", settings)
    request = compiled.create_infer_request()
    return lambda: request.infer([x])[compiled.outputs[0]]


def served(model: str, x: np.ndarray, threads: int) -> Run:
    """One request for each sample, all at once, over connections that are kept. The server has this process's core; the
    clients are elsewhere, on the other cores, where there are any."""
    options = ["--port", "0", "--threads", str(threads), "--max-batch", str(len(x)), "--max-delay", "0.01"]
    command = [sys.executable, "-m", "paddle.inference.serve", str(folder(model)), *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # what it logs is the worker's
    assert process.stdout is not None
    found = re.search(r":(\d+)\n", process.stdout.readline())
    if found is None:
        raise RuntimeError(f"[ocr_worker] requires a server that listens, got exit code {process.wait()}")
    connections = [http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=60) for _ in x]
    headers = {"Content-Type": "application/octet-stream", "X-Shape": ",".join(map(str, (1, *x.shape[1:])))}
    clients = ThreadPoolExecutor(len(x))
    if others := set(range(os.cpu_count() or 1)) - os.sched_getaffinity(0):
        os.sched_setaffinity(0, others)

    def ask(i: int) -> np.ndarray:
        connections[i].request("POST", "/v1/predict", x[i].tobytes(), headers)
        answer = connections[i].getresponse()
        shape = [int(n) for n in (answer.headers["X-Shape"] or "0").split(",")]
        return np.frombuffer(answer.read(), "float32").reshape(shape)

    def run() -> list[np.ndarray]:
        return list(clients.map(ask, range(len(x))))

    ENDS.append(process.terminate)
    return run


ENDS: list[Callable[[], None]] = []


def made(side: str, model: str, x: np.ndarray, threads: int) -> Run:
    if side == "served":
        return served(model, x, threads)
    if side == "onnxruntime":
        return onnxruntime(model, x, threads)
    if side.startswith("openvino"):
        return openvino(model, x, threads, "bf16" in side)
    return predictor(side, model, x, threads)


def main(side: str, model: str, batch: str, threads: str) -> None:
    if side == "sizes":
        print(json.dumps(sizes(model, int(threads))))
        return
    x = images(model, int(batch))
    run = made(side, model, x, int(threads))
    for _ in range(3):
        y = run()
    with tempfile.NamedTemporaryFile(suffix=".npy") as file:
        np.save(file.name, np.concatenate(y) if isinstance(y, list) else y)
        print(json.dumps(file.name), flush=True)
        try:
            for line in sys.stdin:
                begin = time.perf_counter()
                for _ in range(int(line)):
                    run()
                seconds = (time.perf_counter() - begin) / int(line)
                print(seconds / (len(x) if side in ("bare", "served") else 1), flush=True)
        finally:
            for end in ENDS:
                end()


if __name__ == "__main__":
    main(*sys.argv[1:])
