"""Models from files, folders or bytes, in every format that programs are read in."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from paddle.static.executor import Executor
from paddle.static.program import Program
from paddle.static.saving import load_from_file, load_inference_model
from paddle.static.scope import Scope, scope_guard
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

PROGRAMS, PARAMETERS = (".json", ".pdmodel"), ".pdiparams"


class ModelNotFound(FileNotFoundError, RuntimeError):
    """A file of a model that is not there. It is a RuntimeError in the reference framework."""


@dataclass
class Model:
    """A program, the names of its inputs, its results, and where its parameters are."""

    program: Program
    feeds: list[str]
    fetched: list[Tensor]
    scope: Scope

    @property
    def outputs(self) -> list[str]:
        """The names of the results."""
        return [x.name for x in self.fetched]


def from_bytes(program: bytes, parameters: bytes | None) -> Model:
    """A model that was read; ``parameters``: None where it has none."""
    scope = Scope()
    with scope_guard(scope):
        made, feeds, fetched = load_inference_model(
            None, Executor(), model_filename=program, params_filename=parameters
        )
    return Model(made, feeds, fetched, scope)


def from_files(program: str, parameters: str) -> Model:
    """A model in two files; ``parameters``: an empty str where it has none."""
    data = load_from_file(program), load_from_file(parameters) if parameters else None
    try:
        return from_bytes(*data)
    except ValueError as error:
        # The name of the file, which the error does not know.
        required = f"a model in {program!r}, with parameters in {parameters!r}"
        raise op_error(ValueError, "create_predictor", required, f"others: {error}") from error


def from_folder(folder: str) -> Model:
    """A model in a folder of its own: two files of one name, or one file for the program and one for each parameter."""
    if not os.path.isdir(folder):
        raise op_error(ModelNotFound, "create_predictor", f"a folder {folder!r}", "none")
    if os.path.exists(os.path.join(folder, "__model__")):
        scope = Scope()
        with scope_guard(scope):
            made, feeds, fetched = load_inference_model(folder, Executor())
        return Model(made, feeds, fetched, scope)
    return from_files(*files_in(folder))


def files_in(folder: str) -> tuple[str, str]:
    """The files of the only model in a folder, or of the one that is called ``inference`` or ``model``."""
    names = sorted(os.listdir(folder))
    programs = [n for n in names if n.endswith(PROGRAMS) and not n.startswith("_")]
    usual = [n for n in programs if os.path.splitext(n)[0] in ("inference", "model")]
    with_parameters = [n for n in programs if os.path.splitext(n)[0] + PARAMETERS in names]
    chosen = next((found for found in (programs, usual, with_parameters) if len(found) == 1), None)
    if chosen is None:
        raise op_error(
            ModelNotFound, "create_predictor", f"one model in {folder!r}: <name>.json or <name>.pdmodel", programs
        )
    stem = os.path.splitext(chosen[0])[0]
    parameters = stem + PARAMETERS if stem + PARAMETERS in names else ""
    return os.path.join(folder, chosen[0]), parameters and os.path.join(folder, parameters)


def files_of(path: str) -> tuple[str, str]:
    """The files of the model that a path stands for: a folder, the file of a program, or what its name begins with."""
    if os.path.isdir(path):
        return files_in(path)
    candidates: Sequence[str] = [path] if path.endswith(PROGRAMS) else [path + end for end in PROGRAMS]
    found = next((p for p in candidates if os.path.isfile(p)), None)
    if found is None:
        raise op_error(ModelNotFound, "create_predictor", f"a model {path!r}", f"no file of {list(candidates)}")
    parameters = os.path.splitext(found)[0] + PARAMETERS
    return found, parameters if os.path.isfile(parameters) else ""


def load(config: Any) -> Model:
    """The model that a ``Config`` names."""
    if config.model_from_memory():
        program, parameters = config._buffers
        return from_bytes(program, parameters or None)
    if config.prog_file():
        return from_files(config.prog_file(), config.params_file())
    if config.model_dir():
        return from_folder(config.model_dir())
    raise op_error(
        ValueError, "create_predictor", "a config with a model", "none",
        "Config(program, parameters) names one.",
    )  # fmt: skip
