"""Random objects that the reference reads: ``python -m tests.fuzz.objects.reference 0 300``.

``REFERENCE_PYTHON`` is the interpreter of an environment in which PaddlePaddle is installed. It loads what
``paddle.save`` has written, and what it finds is compared with what was saved.
"""

from __future__ import annotations

import argparse
import collections
import os
import pickle
import subprocess
import tempfile
import types
from pathlib import Path
from typing import Any

import paddle
from tests.fuzz.objects.draw import made, written
from tests.fuzz.objects.walk import Same
from tests.fuzz.seeds import parser_of, seeds_of

THEIRS = """
import argparse, collections, pathlib, pickle, sys, types
import numpy as np
import paddle


def walk(x, done):
    if id(x) in done:
        return done[id(x)][1]
    if isinstance(x, paddle.Tensor):
        made = ("a tensor", x.name, str(x.dtype), np.array(x.astype("float32") if x.dtype == paddle.bfloat16 else x))
    elif type(x) is tuple:
        made = tuple(walk(v, done) for v in x)
    elif type(x) in (list, collections.deque):
        made = [] if type(x) is list else collections.deque(maxlen=x.maxlen)
        done[id(x)] = x, made
        made.extend(walk(v, done) for v in x)
    elif isinstance(x, dict) and type(x) is not collections.Counter:
        made = collections.defaultdict(x.default_factory) if type(x) is collections.defaultdict else type(x)()
        done[id(x)] = x, made
        for k, v in x.items():
            made[k] = walk(v, done)
    elif type(x) in (argparse.Namespace, types.SimpleNamespace):
        made = type(x)()
        done[id(x)] = x, made
        vars(made).update({k: walk(v, done) for k, v in vars(x).items()})
    else:
        made = x
    done[id(x)] = x, made
    return made


for path in sorted(pathlib.Path(sys.argv[1]).glob("*.pd")):
    try:
        found = walk(paddle.load(str(path)), {})
    except Exception as error:
        found = error
    path.with_suffix(".found").write_bytes(pickle.dumps(found))
"""


def _tensors(x: Any, done: dict[int, Any]) -> Any:
    """What the other interpreter found, with tensors in the places of theirs."""
    if id(x) in done:
        return done[id(x)][1]
    if type(x) is tuple and len(x) == 4 and type(x[0]) is str and x[0] == "a tensor":
        made: Any = paddle.to_tensor(x[3]).astype(x[2].rpartition(".")[2])
        made.name = x[1]
    elif type(x) is tuple:
        made = tuple(_tensors(v, done) for v in x)
    else:
        made = x
        done[id(x)] = x, made
        if isinstance(x, dict):
            x.update({k: _tensors(v, done) for k, v in x.items()})
        elif type(x) in (list, collections.deque):
            x[:] = [_tensors(v, done) for v in x] if type(x) is list else x[:]
        elif type(x) in (argparse.Namespace, types.SimpleNamespace):
            vars(x).update({k: _tensors(v, done) for k, v in vars(x).items()})
    done[id(x)] = x, made
    return made


def _without_path() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}


def main() -> None:
    asked = parser_of(__doc__).parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wanted = {}
        for seed in seeds_of(asked):
            wanted[seed] = made(written(seed, plain=True))
            paddle.save(wanted[seed], folder / f"{seed}.pd", 2 + seed % 3)
        command = [os.environ["REFERENCE_PYTHON"], "-c", THEIRS, name]
        subprocess.run(command, check=True, cwd=name, stderr=subprocess.DEVNULL, env=_without_path())
        for seed, x in wanted.items():
            found = pickle.loads((folder / f"{seed}.found").read_bytes())
            told = (
                f"{type(found).__name__}: {found}"
                if isinstance(found, Exception)
                else next(Same(x, False, shared=False).differences(_tensors(found, {}), x, ""), None)
            )
            if told:
                wrong += 1
                print(f"{written(seed, plain=True)}reference, seed {seed}: {told}\n", flush=True)
    print(f"{wrong} of {len(wanted)} objects differ")
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
