"""Random programs as models that the reference runs: ``python -m tests.fuzz.programs.reference 0 300``.

``REFERENCE_PYTHON`` is the interpreter of an environment in which PaddlePaddle is installed. Each program is written as
a model by ``paddle.static.save_inference_model``; that interpreter loads it and runs it for each size. What it gives is
compared with the judge.
"""

from __future__ import annotations

import dataclasses
import os
import subprocess
import tempfile
from collections import Counter
from pathlib import Path
from typing import NoReturn

import numpy as np

from tests.fuzz.programs import run
from tests.fuzz.programs.check import Check, Failure, dtypes
from tests.fuzz.programs.generate import generate
from tests.fuzz.programs.record import Program
from tests.fuzz.seeds import parser_of, seeds_of, tell

THEIRS = """
import sys, pathlib
import numpy as np
import paddle
paddle.enable_static()
exe = paddle.static.Executor(paddle.CPUPlace())
for prefix in sorted({p.with_suffix("") for p in pathlib.Path(sys.argv[1]).glob("*.json")}):
    try:
        with paddle.static.scope_guard(paddle.static.Scope()):
            program, feeds, fetches = paddle.static.load_inference_model(str(prefix), exe)
            for given in sorted(prefix.parent.glob(prefix.name + ".in*.npz")):
                arrays = np.load(given)
                found = exe.run(program, {n: arrays[n] for n in feeds}, fetches)
                np.savez(str(given).replace(".in", ".out"), *map(np.asarray, found))
    except Exception as error:
        prefix.with_suffix(".error").write_text(f"{type(error).__name__}: {str(error)[-600:]}")
"""


def _sizes(program: Program) -> list[int]:
    """The sizes for which no input is empty: of what is, the reference often gives nothing."""
    return [n for n in program.sizes if all(x.array(n).size for x in program.inputs)]


def written(program: Program, folder: Path) -> None:
    """Write a program as a model, and its inputs for each size."""
    saved = run.Saved(program, prefix=str(folder / str(program.seed)))
    if saved.own is not None:
        (folder / f"{program.seed}.json").unlink()
        raise Failure("reference", "own format")
    for n in _sizes(program):
        np.savez(folder / f"{program.seed}.in{n}.npz", **{x.name: x.array(n).astype(x.dtype) for x in program.inputs})


def compared(program: Program, folder: Path, tally: Counter[str]) -> None:
    """Compare what the reference gave with the judge."""
    error = folder / f"{program.seed}.error"
    if error.exists():
        raise Failure("reference", error.read_text())
    check = Check(program, tally)
    dtype = "float32" if check.dtype == "float64" else ""
    for n in _sizes(program):
        arrays = np.load(folder / f"{program.seed}.out{n}.npz", allow_pickle=True)
        if any(arrays[k].dtype.kind == "O" for k in arrays.files):
            raise Failure("reference", f"gives {[arrays[k] for k in arrays.files]}")
        outputs = [_wide(arrays[k]) for k in arrays.files]
        rest = check.judge(n, dtype=dtype).found
        check.compare("reference", n, dataclasses.replace(rest, outputs=outputs), dtype=dtype)
        known = dtypes(program)
        wanted = [known[x] for x in program.outputs]
        got = [arrays[k].dtype.name for k in arrays.files]
        if wanted != got:
            raise Failure("reference", f"dtypes are {got}, and not {wanted}")


def _wide(x: np.ndarray) -> np.ndarray:
    """Floats as float64, complex numbers as complex128."""
    return x.astype({"f": "float64", "c": "complex128"}.get(x.dtype.kind, x.dtype))


def main() -> NoReturn:
    """Write, run and compare the programs of a range of seeds; the exit code is 1 when one differs."""
    asked = parser_of(__doc__).parse_args()
    tally: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        folder, programs = Path(name), []
        for seed in seeds_of(asked):
            program = generate(seed)
            # Its kernels for the processor do not have narrow floats.
            if program.invalid or not run.is_a_model(program) or {"float16", "bfloat16"} & {*dtypes(program).values()}:
                continue
            try:
                written(program, folder)
                programs.append(program)
            except Exception as error:  # the mode "static, saved" tells about it
                tally[f"not written: {str(error)[:40]}"] += 1
        script = folder / "theirs.py"
        script.write_text(THEIRS)
        command = [os.environ["REFERENCE_PYTHON"], str(script), str(folder)]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for program in programs:
            try:
                compared(program, folder, tally)
            except Failure as failure:
                tally["failures"] += 1
                print(f"# seed {program.seed}\n# {failure}\n{program.ours()}\n")
    tell(tally, "failures")


if __name__ == "__main__":
    main()
