"""Asks a server once, and a hundred times for its latency: ``python ask.py PORT 1x3x48x320``.

The server is ``python -m paddle.inference.serve MODEL --port PORT``, of a model with one input of float32, which is
filled with numbers that follow from their places. Numbers travel as bytes over one connection. The first of each output
are printed. The standard library and NumPy are all that it takes.
"""

from __future__ import annotations

import http.client
import io
import sys
import time

import numpy as np

RUNS, SHOWN = 100, 8


def main(port: str, sizes: str) -> None:
    shape = sizes.replace("x", ",")
    count = np.prod([int(n) for n in shape.split(",")])
    body = (np.arange(count) * 37 % 101 / 101).astype("float32").tobytes()
    connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=60)

    def ask(accept: str) -> bytes:
        headers = {"Content-Type": "application/octet-stream", "X-Shape": shape, "Accept": accept}
        connection.request("POST", "/v1/predict", body, headers)
        answer = connection.getresponse()
        data = answer.read()
        if answer.status != http.HTTPStatus.OK:
            raise RuntimeError(data.decode())
        return data

    with np.load(io.BytesIO(ask("application/x-npz"))) as outputs:
        for name, numbers in outputs.items():
            print(name, list(numbers.shape), *(f"{x:.6g}" for x in numbers.reshape(-1)[:SHOWN]))
    accept = "application/octet-stream" if len(outputs.files) == 1 else "application/x-npz"
    begin = time.perf_counter()
    for _ in range(RUNS):
        ask(accept)
    print(f"{(time.perf_counter() - begin) * 1e3 / RUNS:.3f} ms", file=sys.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
