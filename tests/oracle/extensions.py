"""Sources of operators in C++, compiled and called here and in the reference: the same results.

    ORACLE_PYTHON=.venv/oracle/bin/python python -m tests.oracle.extensions

Ends with 1 where a source does not compile there, or a call gives something else.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.support.extensions import pybind_headers

SOURCES = Path(__file__).parents[1] / "extensions" / "sources"
FLAGS = ["-O0", "-w"]

# Run in both environments, so it needs nothing of either but the public API.
PROGRAM = """
import json, sys
import paddle
from paddle.utils.cpp_extension import load

folder, sources, headers, *flags = sys.argv[1:]
headers = headers.split(":") if headers else None
ops = load("compared_operators", [f"{sources}/operators.cc"], extra_cxx_cflags=flags, build_directory=folder)
bound = load("umiak_bound", [f"{sources}/bound.cc"], extra_cxx_cflags=flags, extra_include_paths=headers,
             build_directory=folder)
x = paddle.to_tensor([[-1.0, 2.0], [3.0, -4.0]], stop_gradient=False)
z = paddle.to_tensor([[1.0, 1.0], [1.0, 1.0]], stop_gradient=False)

def plain(r):
    return [plain(y) for y in r] if isinstance(r, (list, tuple)) else (r * 1e4).round().tolist()

def written():
    w = x * 1
    return [ops.test_add_(w, z), w]

def inplace_gradient():
    w = x * 1
    return paddle.grad((ops.test_relu_(w) ** 3).sum(), x)

def second():
    (first,) = paddle.grad((ops.test_tanh(x) ** 2).sum(), x, create_graph=True)
    return paddle.grad((first**2).sum(), x)

calls = dict(
    relu=lambda: ops.test_relu(x),
    relu_gradient=lambda: paddle.grad((ops.test_relu(x) ** 2).sum(), x),
    none=lambda: ops.test_add_optional(x, None),
    optional=lambda: ops.test_add_optional(x, z),
    optional_gradient=lambda: paddle.grad((ops.test_add_optional(x, z) ** 2).sum(), [x, z]),
    join=lambda: ops.test_join([x, z, x], 1),
    join_gradient=lambda: paddle.grad((ops.test_join([x, z], 0) ** 2).sum(), [x, z]),
    written=written,
    all_written=lambda: ops.test_scale_all_([paddle.ones([2]), paddle.ones([3])], 2.0),
    attributes=lambda: ops.test_attributes(x, True, 1, 0.5, 2, "abc", [1, 2], [0.5], [3], ["a", "bc"]),
    by_name=lambda: ops.test_ends(x=z, count=1),
    ends=lambda: ops.test_ends(x, 2),
    inplace_gradient=inplace_gradient,
    second_gradient=second,
    positive=lambda: ops.test_positive(x),
    positive_gradient=lambda: paddle.grad((ops.test_positive(x)[0] ** 2).sum(), x),
    turned=lambda: ops.test_turned(paddle.ones([2, 3])),
    joined=lambda: ops.test_joined([x, z], paddle.to_tensor([1])),
    bound=lambda: [bound.twice(x), bound.same(z), bound.product(x, z), bound.nullable(False), *bound.reversed([x, z])],
    none_bound=lambda: [] if bound.nullable(True) is bound.doubled() is None else [x],
    bound_class=lambda: bound.Scale(x).apply(z),
    bound_called=lambda: [bound.called(lambda t: t + 1, x), bound.without_lock(x), bound.doubled(z)],
    pairs=lambda: ops.test_pairs(paddle.ones([3, 3])),
    filled=lambda: ops.test_filled(3, 1.5),
    add_all=lambda: [ops.test_add_all(x, None), ops.test_add_all(x, []), ops.test_add_all(x, [z, z])],
    add_all_gradient=lambda: paddle.grad((ops.test_add_all(x, [z, x]) ** 2).sum(), [x, z]),
    functions=lambda: ops.test_functions(paddle.to_tensor([[1.0, -2.0, 3.5, 0.0], [4.0, 2.0, -1.0, 0.5]])),
)
for name, call in calls.items():
    print(json.dumps([name, plain(call())]))
kinds = [ValueError, RuntimeError, IndexError, TypeError, NotImplementedError, SystemError, MemoryError, OSError,
         RuntimeError, ValueError, OSError]
for how, kind in enumerate(kinds):
    try:
        ops.test_enforced(x, how)
    except Exception as error:
        print(json.dumps([f"enforced {how}", isinstance(error, kind)]))
try:
    ops.test_refused(x, 0)
except OSError as error:
    print(json.dumps(["error", "refused, with 4 elements" in str(error) and "operators.cc:" in str(error)]))
"""


def said(python: str, headers: Sequence[str] = ()) -> dict[str, object]:
    """Results by call in the environment of an interpreter. ``headers``: folders with those of pybind11."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.pathsep.join([str(Path(python).parent), os.environ.get("PATH", "")])
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"PATH": path}
        command = [python, "-c", PROGRAM, folder, str(SOURCES), os.pathsep.join(headers), *FLAGS]
        run = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    if run.returncode:
        raise RuntimeError(f"{python} ended with {run.returncode}:\n{run.stdout[-2000:]}{run.stderr[-4000:]}")
    return dict(json.loads(line) for line in run.stdout.splitlines() if line.startswith('["'))


def compiles_by_schema(python: str) -> str:
    """What the compiler says to the operators by schemas, with the reference's headers; empty where they compile."""
    folders = "import paddle, sysconfig; print(paddle.sysconfig.get_include()); print(sysconfig.get_paths()['include'])"
    run = subprocess.run([python, "-c", folders], cwd="/", capture_output=True, text=True, check=True)
    include, own = run.stdout.splitlines()[-2:]
    compat = f"{include}/paddle/phi/api/include/compat"
    command = [
        "c++",
        "-std=c++17",
        *FLAGS,
        "-DWITHOUT_META",
        "-fsyntax-only",
        f"-I{include}",
        f"-I{include}/third_party",
    ]
    command += [f"-I{compat}", f"-I{compat}/torch/csrc/api/include", f"-I{own}", str(SOURCES / "library.cc")]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


def main() -> int:
    """Compare, and print what differs."""
    reference = os.environ["ORACLE_PYTHON"]
    here, there = said(sys.executable, pybind_headers()), said(reference)
    different = {name for name in here.keys() | there.keys() if here.get(name) != there.get(name)}
    for name in sorted(different):
        print(f"{name}: {here.get(name)} here, {there.get(name)} in the reference")
    complaints = compiles_by_schema(reference)
    print(complaints or f"{len(here) - len(different)} of {len(here)} calls are the same; operators by schemas compile")
    return 1 if different or complaints else 0


if __name__ == "__main__":
    sys.exit(main())
