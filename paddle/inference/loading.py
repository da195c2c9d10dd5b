"""Models from files, folders or bytes, in every format that programs are read in."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from paddle.static.formats import files
from paddle.static.formats.cut import Tail, cut, from_data
from paddle.static.formats.graph import Module
from paddle.static.formats.recompose import recomposed
from paddle.static.formats.record import parameter_names
from paddle.static.formats.untiled import untiled
from paddle.static.program import Program
from paddle.static.saving import program_read
from paddle.static.scope import Scope, scope_guard
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

_IN_FOLDER = frozenset(files.IN_FOLDER)
PROGRAMS, PARAMETERS = files.PROGRAM_ENDS, files.VALUES_END
_WHO = "create_predictor"  # is named by errors where no public function was called


class ModelNotFound(FileNotFoundError, RuntimeError):
    """A file of a model that is not there. It is a RuntimeError in the reference framework."""


@dataclass
class Model:
    """A program, the names of its inputs, its results, and where its parameters are."""

    program: Program
    feeds: list[str]
    fetched: list[Tensor]
    scope: Scope
    packed: frozenset[str] = frozenset()  # inputs that may be packed sequences
    tail: Tail | None = None  # what comes behind the program's results, where data decide what is called

    @property
    def outputs(self) -> list[str]:
        """The names of the results."""
        return [x.name for x in self.fetched] if self.tail is None else self.tail.outputs


def read(program: Any, parameters: Any) -> files.Model:
    """The content of two files, or of the bytes of them. A file of parameters that is not there is none: models without
    parameters are saved without one."""
    absent = isinstance(parameters, str) and parameters != "" and not os.path.exists(parameters)
    found = files.read_model(program, None if absent else parameters or None, _WHO)
    if absent and isinstance(found.program, Module) and (names := parameter_names(found.program)):
        raise op_error(
            ModelNotFound, "Config", f"a file {parameters!r} with the values of {len(names)} parameters", "none"
        )
    return found


def from_files(program: Any, parameters: Any, may_be_cut: bool = False) -> Model:
    """A model in two files, or in the bytes of them.

    Args:
        program: a path, or the bytes.
        parameters: a path of a file, or of a folder with a file for each; the bytes; empty where there are none.
        may_be_cut: whether it may have a tail; else a model that cannot be recorded for all data is refused, or
            refuses such data.
    """
    scope, tail = Scope(), None
    packed: frozenset[str] = frozenset()
    with scope_guard(scope):
        model = read(program, parameters)
        if isinstance(model.program, Module):
            packed = model.program.packed
            model.program.fetch_offsets()
            model = files.Model(*untiled(model.program, model.values))
        may_be_cut = may_be_cut and isinstance(model.program, Module)
        try:
            made, feeds, fetched = program_read(_WHO, model, program)
            # Where the meaning of an operator branches on data, its program serves usual data alone.
            is_cut = may_be_cut and made._tracer.scope.steered > 0
        except ValueError as error:
            if not may_be_cut or not from_data(error):
                raise
            is_cut = True
        if is_cut:
            head, tail = cut(recomposed(model.program), model.values)  # type: ignore[arg-type]
            made, feeds, fetched = program_read(_WHO, files.Model(head, model.values), program)
    return Model(made, feeds, list(fetched), scope, packed, tail)


def files_in(folder: str) -> tuple[str, str]:
    """The files of the only model in a folder, or of the one that is called ``inference`` or ``model``."""
    if not os.path.isdir(folder):
        raise op_error(ModelNotFound, "Config", f"a folder {folder!r}", "none")
    names = sorted(os.listdir(folder))
    if not _IN_FOLDER.isdisjoint(names):
        program, parameters = files.paths_of(folder)
        return program, parameters or ""
    programs = [n for n in names if n.endswith(PROGRAMS) and not n.startswith("_")]
    usual = [n for n in programs if os.path.splitext(n)[0] in ("inference", "model")]
    with_parameters = [n for n in programs if os.path.splitext(n)[0] + PARAMETERS in names]
    chosen = next((found for found in (programs, usual, with_parameters) if len(found) == 1), None)
    if chosen is None:
        raise op_error(ModelNotFound, "Config", f"one model in {folder!r}: <name>.json or <name>.pdmodel", programs)
    return _beside(os.path.join(folder, chosen[0]))


def files_of(path: str) -> tuple[str, str]:
    """The files of the model that a path stands for: a folder, the file of a program, or what its name begins with."""
    if os.path.isdir(path):
        return files_in(path)
    candidates = [path] if path.endswith(PROGRAMS) else [path + end for end in PROGRAMS]
    found = next((p for p in candidates if os.path.isfile(p)), None)
    if found is None:
        raise op_error(ModelNotFound, "Config", f"a model {path!r}", f"no file of {candidates}")
    return _beside(found)


def _beside(program: str) -> tuple[str, str]:
    parameters = os.path.splitext(program)[0] + PARAMETERS
    return program, parameters if os.path.isfile(parameters) else ""


def sources(config: Any) -> tuple[Any, Any]:
    """The files, or their bytes, of the model that a ``Config`` names."""
    if config.model_from_memory():
        return config._buffers
    if config.prog_file():
        return config.prog_file(), config.params_file()
    if config.model_dir():
        return files_in(config.model_dir())
    raise op_error(ValueError, _WHO, "a config with a model", "none", "Config(program, parameters) names one.")


def load(config: Any, may_be_cut: bool = False) -> Model:
    """The model that a ``Config`` names; ``may_be_cut``: as in ``from_files``."""
    return from_files(*sources(config), may_be_cut)
