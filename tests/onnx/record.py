"""What PaddlePaddle 3.3 saves of the calls of ``calls/*.txt``, and computes: ``tests/data/onnx_programs.jsonl.gz``.

Run by the Python of an environment that has it, from any folder but the root of the repository:
``python …/tests/onnx/record.py [names of calls …]``. Calls that are new or have changed are recorded, and those that
are named.
"""

import gzip
import json
import linecache
import os
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import inputs  # noqa: E402
import numpy as np  # noqa: E402
import programs  # noqa: E402

import paddle  # noqa: E402
import paddle.nn.functional as F  # noqa: E402

RECORDS = HERE.parent / "data" / "onnx_programs.jsonl.gz"


def described(x):
    a = x.astype("float32").numpy() if x.dtype == paddle.bfloat16 else x.numpy()
    if np.iscomplexobj(a):
        a = np.stack([a.real, a.imag], -1)
    values = a.astype("float64").round(7).tolist() if a.dtype.kind == "f" else a.tolist()
    return {"dtype": str(a.dtype), "shape": list(a.shape), "values": values}


def flat(y):
    if isinstance(y, dict):
        y = list(y.values())
    return [z for x in y for z in flat(x)] if isinstance(y, (list, tuple)) else [] if y is None else [y]


def slim(node):
    """The document without what says nothing here: the results' traits, where operators stand in files."""
    if isinstance(node, dict):
        drop = {"DA", "QA"} | ({"OA"} if node.get("#") != "p" else set())
        out = {k: slim(v) for k, v in node.items() if k not in drop}
        if isinstance(out.get("A"), list) and node.get("#") != "p":
            out["A"] = [
                a
                for a in out["A"]
                if a["N"] not in ("place", "stop_gradient", "persistable", "struct_name", "op_callstack")
            ]
        return out
    return [slim(x) for x in node] if isinstance(node, list) else node


def function(call):
    """``def f(x, …): return <code>``, in a file: what is rewritten needs its source."""
    space = {"P": paddle, "F": F, "V": paddle.vision.ops, "C": paddle._C_ops, "I": paddle.incubate.nn.functional}
    space |= {"programs": programs, "np": np, "inf": np.inf}
    source = f"def f({', '.join(call.inputs)}):\n    return {call.code}\n"
    path = f"<{call.name}>"
    linecache.cache[path] = len(source), None, source.splitlines(True), path
    exec(compile(source, path, "exec"), space)
    return space["f"]


def record(call):
    f = function(call)
    specs = []
    for k, v in call.inputs.items():
        shape = [-1 if i in call.free[k] else n for i, n in enumerate(v.shape)]
        specs.append(paddle.static.InputSpec(shape, str(v.dtype), k))
    with tempfile.TemporaryDirectory() as folder:
        paddle.jit.save(paddle.jit.to_static(f, full_graph=True, input_spec=specs), f"{folder}/m")
        program = json.loads(Path(f"{folder}/m.json").read_text())
        paddle.seed(0)
        loaded = paddle.jit.load(f"{folder}/m")
        loaded.eval()
        results = flat(loaded(*(paddle.to_tensor(v) for v in call.inputs.values())))
    return {"name": call.name, "line": call.line, "program": slim(program), "results": [described(y) for y in results]}


def apart(call):
    """The record of a call, made in a process of its own: the reference ends that of some."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            text = json.dumps(record(call), separators=(",", ":"))
        except Exception as error:
            text = f"{type(error).__name__}: {str(error).strip().splitlines()[-1][:300]}"
        with os.fdopen(write, "w") as pipe:
            pipe.write(text)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return text or "the process has ended"


def main():
    wanted = sys.argv[1:]
    kept = {}
    if RECORDS.exists():
        kept = {json.loads(text)["name"]: text for text in gzip.decompress(RECORDS.read_bytes()).decode().splitlines()}
    rows = []
    for name, call in inputs.calls().items():
        text = kept.get(name, "")
        if name in wanted or not text or json.loads(text)["line"] != call.line:
            text = apart(call)
        if text.startswith("{"):
            rows.append(text)
        else:
            print(f"{name}: {text}")
    RECORDS.write_bytes(gzip.compress("".join(f"{text}\n" for text in rows).encode(), mtime=0))


if __name__ == "__main__":
    main()
