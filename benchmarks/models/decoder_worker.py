"""One side of a comparison of decoders, in a process: ``python -m models.decoder_worker SIDE KIND WHAT THREADS N``.

N: layers. SIDE: ``ours``, or ``peer``, which is llama.cpp. KIND: ``int8`` or ``int4``; of llama.cpp these are Q8_0 and
Q4_0. WHAT: ``token``, the next token of a text, or ``prompt``, the first tokens of one.

Prints a line of JSON when ready. Then, for each line ``N`` read, the seconds of a run, over N runs.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from models.decoder_sizes import PROMPT

BEGINNING = 4  # tokens before those that are timed
LONGEST = PROMPT  # a text begins anew then
Run = Callable[[], None]


def ours(kind: str, what: str, threads: int, layers: int) -> Run:
    from models.decoder import decoder

    import paddle

    paddle.set_flags({"FLAGS_paddle_num_threads": threads})
    model = decoder(kind, layers)
    text = paddle.arange(PROMPT if what == "prompt" else BEGINNING).reshape([1, -1])
    caches: list[list[paddle.Tensor]] = []
    ids = text

    @paddle.jit.to_static
    def step(ids: paddle.Tensor, caches: list[list[paddle.Tensor]]) -> paddle.Tensor:
        return model(ids, caches).argmax(-1).reshape([1, 1])

    def prompt() -> None:
        with paddle.no_grad():
            step(text, [[] for _ in range(layers)]).item()

    def token() -> None:
        nonlocal caches, ids
        if not caches or caches[0][0].shape[1] == LONGEST:
            caches, ids = [[] for _ in range(layers)], text
        with paddle.no_grad():
            ids = step(ids, caches)
            ids.item()

    return prompt if what == "prompt" else token


def peer(kind: str, what: str, threads: int, layers: int) -> Run:
    from llama_cpp import Llama
    from models.decoder_gguf import write

    with TemporaryDirectory() as folder:
        file = str(Path(folder, "model.gguf"))
        write(file, {"int8": "Q8_0", "int4": "Q4_0"}[kind], layers)
        sizes = {"n_ctx": 2 * PROMPT, "n_batch": PROMPT, "n_ubatch": PROMPT}
        model = Llama(file, n_threads=threads, n_threads_batch=threads, verbose=False, **sizes)
    text = list(range(PROMPT if what == "prompt" else BEGINNING))

    def prompt() -> None:
        model.reset()
        model.eval(text)

    def token() -> None:
        if model.n_tokens in (0, LONGEST):
            model.reset()
            model.eval(text)
        else:
            model.eval([int(np.argmax(model._scores[-1]))])

    return prompt if what == "prompt" else token


def main(side: str, kind: str, what: str, threads: str, layers: str) -> None:
    run = {"ours": ours, "peer": peer}[side](kind, what, int(threads), int(layers))
    for _ in range(3):
        run()
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        begin = time.perf_counter()
        for _ in range(int(line)):
            run()
        print((time.perf_counter() - begin) / int(line), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
