"""Sixty different ops, each called once, in a process of its own: ``python first_calls.py FOLDER [cpu]``.

FOLDER is for machine code. Prints what it took as JSON: seconds of the import, of making data, of the calls, and of
each compilation by stage; with ``cpu`` in CPU time, for a busy machine.
"""

from __future__ import annotations

import json
import os
import sys
import time

OPS = """
x + y
x - y
x * y
x / p
x ** 2
-x
abs(x)
paddle.exp(x)
paddle.log(p)
paddle.sqrt(p)
paddle.rsqrt(p)
paddle.tanh(x)
paddle.sin(x)
F.sigmoid(x)
F.relu(x)
F.gelu(x)
F.silu(x)
F.leaky_relu(x)
F.softplus(x)
paddle.maximum(x, y)
paddle.clip(x, -1.0, 1.0)
paddle.floor(x)
x < y
x == y
paddle.logical_and(m, n)
paddle.isnan(x)
paddle.where(m, x, y)
x.sum()
x.mean(0)
x.max(1)
x.prod(1)
paddle.argmax(x, axis=1)
paddle.any(m, axis=0)
paddle.var(x, axis=1)
paddle.logsumexp(x, axis=1)
paddle.linalg.norm(x)
paddle.cumsum(x, axis=1)
paddle.cumprod(p, dim=1)
F.softmax(x, -1)
F.log_softmax(x, -1)
F.layer_norm(x, [64])
F.cross_entropy(x, i)
F.mse_loss(x, y)
F.embedding(i, x)
paddle.gather(x, i)
paddle.take_along_axis(x, j, 1)
paddle.index_add(x, i, 0, y)
paddle.concat([x, y], 0)
paddle.stack([x, y])
F.pad(x, [1, 2, 3, 4])
paddle.tile(x, [2, 2])
paddle.roll(x, 1)
paddle.tril(x)
x.astype("bfloat16")
x.astype("int32")
paddle.arange(64)
F.one_hot(i, 64)
x @ y
F.max_pool2d(c, 2)
F.dropout(x, 0.5)
""".strip().splitlines()


def main(folder: str, clock: str = "") -> None:
    os.environ.update(FLAGS_jit_cache_folder=folder)
    if clock == "cpu":
        time.perf_counter = time.process_time  # for the compiler's clocks too
    begin = time.perf_counter()
    import paddle

    imported = time.perf_counter()
    names = {"paddle": paddle, "F": paddle.nn.functional}
    size = 64 * 64
    flat = [((k * 2654435761) % 1000) / 500 - 1 for k in range(size)]
    names["x"] = paddle.to_tensor(flat, "float32").reshape([64, 64])
    names["y"] = paddle.to_tensor(flat[::-1], "float32").reshape([64, 64])
    names["p"] = paddle.to_tensor([abs(v) + 0.5 for v in flat], "float32").reshape([64, 64])
    names["c"] = names["x"].reshape([1, 4, 32, 32])
    names["m"] = paddle.to_tensor([v > 0 for v in flat]).reshape([64, 64])
    names["n"] = paddle.to_tensor([v > 0.5 for v in flat]).reshape([64, 64])
    names["i"] = paddle.to_tensor([k * 7 % 64 for k in range(64)], "int64")
    names["j"] = paddle.to_tensor([[k * 5 % 64] for k in range(64)], "int64")
    made = time.perf_counter()
    calls = {}
    for text in OPS:
        start = time.perf_counter()
        eval(text, names)
        calls[text] = time.perf_counter() - start
    end = time.perf_counter()

    from umiak.compiler import statistics

    kernels = [{"name": k, **v.counts, **v.seconds} for k, v in statistics.kernels().items()]
    times = {"import": imported - begin, "data": made - imported, "calls": end - made}
    print(json.dumps({**times, "each": calls, "kernels": kernels}))


if __name__ == "__main__":
    main(*sys.argv[1:])
