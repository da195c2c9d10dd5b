"""Programs of one older operator, as files have them."""

from __future__ import annotations

from typing import Any

import numpy as np

import paddle
from paddle.static.formats import record
from paddle.static.formats.graph import TensorType
from paddle.static.formats.legacy import program
from paddle.static.formats.legacy.translate import read_pdmodel

VERSION = 1008005  # 1.8.5
_NUMBERS = {bool: 6, int: 0, float: 1, str: 2}
_LIST_NUMBERS = {bool: 7, int: 3, float: 4, str: 5}

Inputs = dict[str, Any]  # arrays by slot, or a list of them


def operator(kind: str, inputs: dict[str, list[str]], outputs: str = "Out", **attributes: Any) -> program.Operator:
    """An operator; each of its ``outputs`` has one variable, of the slot's name."""
    kinds = {}
    for name, value in attributes.items():
        of = type(value[0]) if isinstance(value, list) and value else int
        kinds[name] = _LIST_NUMBERS[of] if isinstance(value, list) else _NUMBERS[type(value)]
    return program.Operator(kind, inputs, {k: [k] for k in outputs.split()}, attributes, kinds)


def file_of(kind: str, inputs: Inputs, outputs: str = "Out", **attributes: Any) -> bytes:
    """A program that feeds an operator its inputs, and fetches its first output."""
    slots, feeds, variables = {}, [], {}
    for slot, given in inputs.items():
        arrays = given if isinstance(given, list) else [given]
        slots[slot] = [f"{slot}.{i}" for i in range(len(arrays))]
        for name, x in zip(slots[slot], arrays, strict=True):
            variables[name] = program.Variable(name, program.DENSE, TensorType(x.dtype.name, x.shape))
            feeds.append(operator("feed", {"X": ["feed"]}, name, col=len(feeds)))
            feeds[-1].outputs = {"Out": [name]}
    o = operator(kind, slots, outputs, **attributes)
    out = outputs.split()[0]
    variables[out] = program.Variable(out, program.DENSE, TensorType("float32", (-1,)))
    block = program.LegacyBlock(-1, variables, [*feeds, o, operator("fetch", {"X": [out]}, "fetch", col=0)])
    return program.write(program.LegacyProgram([block], VERSION, {kind: 0}))


def result(kind: str, inputs: Inputs, outputs: str = "Out", **attributes: Any) -> np.ndarray:
    """What an operator gives."""
    module = read_pdmodel(file_of(kind, inputs, outputs, **attributes))
    assert module.version == VERSION
    flat = {
        f"{slot}.{i}": paddle.to_tensor(x)
        for slot, given in inputs.items()
        for i, x in enumerate(given if isinstance(given, list) else [given])
    }
    (found,) = record.Values(module, {}, flat).run()
    return found.numpy()
