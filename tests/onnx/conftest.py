"""Programs that PaddlePaddle has saved, and ONNX Runtime to run what they are exported as."""

from __future__ import annotations

import functools
import gzip
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnxruntime
import pytest

from tests.onnx.inputs import Call

RECORDS = Path(__file__).parents[1] / "data" / "onnx_programs.jsonl.gz"


class SavedCall(NamedTuple):
    """A call, the document of its program, and its results in PaddlePaddle."""

    call: Call
    program: dict[str, Any]
    results: list[dict[str, Any]]


@functools.cache
def records() -> dict[str, SavedCall]:
    rows = map(json.loads, gzip.decompress(RECORDS.read_bytes()).splitlines())
    return {r["name"]: SavedCall(Call(r["line"]), r["program"], r["results"]) for r in rows}


def run(model: onnx.ModelProto | str, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    """What ONNX Runtime computes, on one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    source = model if isinstance(model, str) else model.SerializeToString()
    session = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    wanted = {x.name for x in session.get_inputs()}
    return session.run(None, {k: v for k, v in inputs.items() if k in wanted})


@pytest.fixture(scope="session")
def recorded() -> dict[str, SavedCall]:
    return records()
