"""Models of ``tests/support/saved_models.py`` exported and run in ONNX Runtime, beside their results here.

As a script, ``python -m tests.onnx.models`` writes the table of ``docs/guide/onnx.md``.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

import numpy as np
import onnx

import paddle
from paddle.onnx.opsets import NEWEST
from paddle.static import InputSpec
from tests.onnx.conftest import run
from tests.support import saved_models

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "onnx.md"
MOST = 1e-5  # of an error beside the largest element

ROWS = re.compile(r"(?<=\| model \| first opset \| error there \| at opset 21 \|\n\|---\|---\|---\|---\|\n)(\|.*\|\n)*")


def batches(name: str) -> tuple[int, ...]:
    case = saved_models.CASES[name]
    return (1, 3, 5) if any(None in x.sizes for x in case.inputs) else case.batches


def inputs_of(name: str, batch: int, step: int) -> list[np.ndarray]:
    """Inputs for a batch; sizes that are open besides it are 8 more in each step."""
    rng = np.random.RandomState(batch)
    made = []
    for x in saved_models.CASES[name].inputs:
        sizes = [batch if n is None else 8 * step - n if n < 0 else n for n in x.sizes]
        made.append((rng.randint(0, x.high, sizes) if x.high else rng.standard_normal(sizes)).astype(x.dtype))
    return made


def exported(layer: paddle.nn.Layer, name: str, folder: str, opset: int) -> str:
    prefix = saved_models.file_of(folder, name)
    specs = []
    for i, x in enumerate(saved_models.CASES[name].inputs):
        specs.append(InputSpec([None if n is None or n < 0 else n for n in x.sizes], x.dtype, f"x{i}"))
    paddle.onnx.export(layer, prefix, specs, opset_version=opset)
    return prefix + ".onnx"


def error(name: str, folder: str, opset: int) -> tuple[int, float]:
    """The opset of the exported model, and the largest error over batches of several sizes."""
    layer = saved_models.made(name)
    path = exported(layer, name, folder, opset)
    worst = 0.0
    for step, batch in enumerate(batches(name)):
        inputs = inputs_of(name, batch, step)
        with paddle.no_grad():
            wanted = saved_models.flat(layer(*map(paddle.to_tensor, inputs)))
        got = run(path, {f"x{i}": x for i, x in enumerate(inputs)})
        assert [(x.shape, x.dtype) for x in got] == [(y.shape, y.dtype) for y in wanted]
        for x, y in zip(got, wanted):
            if y.size:
                a, b = x.astype("float64"), y.astype("float64")
                worst = max(worst, float(np.abs(a - b).max() / max(1.0, np.abs(b).max())))
    version = onnx.load(path).opset_import[0].version
    os.remove(path)
    return version, worst


def main() -> None:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in saved_models.CASES:
            first, low = error(name, folder, 9)
            _, high = error(name, folder, NEWEST)
            rows.append(f"| {name} | {first} | {low:.0e} | {high:.0e} |\n")
            print(rows[-1], end="", flush=True)
    page = PAGE.read_text()
    PAGE.write_text(ROWS.sub(lambda _: "".join(rows), page, count=1))


if __name__ == "__main__":
    main()
