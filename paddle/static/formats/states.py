"""The parameters of a saved model as a state dict, which ``paddle.load`` gives for its folder or prefix."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from paddle.framework.io import load_saved
from paddle.static.formats.files import VALUES_END, paths_of, read_model, read_value
from paddle.static.formats.graph import Module
from paddle.static.formats.record import parameter_names
from umiak.core.array import from_numpy
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

NAMES_END = VALUES_END + ".info"  # beside the values of layers that PaddlePaddle 2 saved: their names in state_dict


def state_of(prefix: str, model: str | None = None, values: str | None = None) -> dict[str, Tensor] | None:
    """Return the parameters of the model that files begin with, or a folder holds; None where there is none.

    Args:
        prefix: the beginning of the names, or the folder, which may have a file for each parameter and no program.
        model: the name of the program in the folder.
        values: the name of the file of values there.

    Raises:
        ValueError: files that are damaged, values that are missing, or one name for several parameters.
        OSError: a file cannot be read.
    """
    program, source = paths_of(prefix, model, values)
    if os.path.exists(program):
        found = read_model(program, source, "load")
        if not isinstance(found.program, Module):
            raise op_error(
                ValueError, "load", f"a program in {program} in operators of PaddlePaddle", "one in operators of Umiak"
            )
        if missing := sorted({*parameter_names(found.program)} - found.values.keys()):
            raise op_error(
                ValueError, "load", f"values of {missing} in {source or prefix + VALUES_END}", "no such ones"
            )
        names = _names_in_layers(prefix + NAMES_END)
        state = {names.get(name, name): _tensor(value) for name, value in found.values.items()}
        if len(state) < len(found.values):
            twice = sorted(names.get(name, name) for name in found.values)
            raise op_error(ValueError, "load", f"other names for other parameters in {prefix + NAMES_END}", twice)
        return state
    if os.path.isdir(prefix) and model is None and values is None:
        return {
            name: _tensor(read_value(os.path.join(prefix, name), "load")) for name in sorted(os.listdir(prefix))
        } or None
    return None


def _tensor(value: Any) -> Tensor:
    return from_numpy(value) if isinstance(value, np.ndarray) else value


def _names_in_layers(path: str) -> dict[str, str]:
    if not os.path.exists(path):
        return {}
    table = load_saved(path)
    facts = table.items() if isinstance(table, dict) else ()
    return {
        k: v["structured_name"] for k, v in facts if isinstance(v, dict) and isinstance(v.get("structured_name"), str)
    }
