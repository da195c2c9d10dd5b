"""Programs as bytes for files: in the operators of PaddlePaddle, or in ours where theirs cannot say a program."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

from paddle.static.formats import parameters, pir
from paddle.static.formats.in_place import keep_operands
from paddle.static.formats.results import part_results
from paddle.static.formats.settled import bind_branches, settle_branches
from paddle.static.formats.translate import Untranslatable, translate
from paddle.static.program_file import Contents, dumps
from umiak.core.tensor import Tensor
from umiak.runtime.program_tracer import outside


class Written(NamedTuple):
    """A program as bytes, and the tensors whose values belong to it, by name. ``own``: it is in our format."""

    data: bytes
    tensors: dict[str, Tensor]
    own: bool


def written(op_name: str, contents: Contents, others: Mapping[str, Tensor] | None = None) -> Written:
    """A program as bytes. A warning names operators that PaddlePaddle does not have.

    Args:
        op_name: the function that the user called, for the warning.
        contents: the program, with the tensors that it captured.
        others: tensors that are in the same file of values, by name.
    """
    contents.check()
    program = contents.program
    kept = {key: x.name for key, x in contents.kept.items() if x.kind != "constant"}
    try:
        with outside():  # values of constants are read
            made = translate(program, contents.feeds, len(contents.fetched), kept, others or {})
            settle_branches(made.module)
            bind_branches(made.module)
    except Untranslatable as error:
        warnings.warn(f"[{op_name}] writes a program in Umiak's own format, since {error}", stacklevel=3)
        return Written(dumps(contents), {x.name: program.captured[k] for k, x in contents.kept.items()}, True)
    part_results(made.module)
    keep_operands(made.module)
    return Written(json.dumps(pir.write(made.module)).encode(), made.parameters, False)


def values_of(values: Mapping[str, Any]) -> bytes:
    """Values of parameters, by name, as a file of them."""
    return parameters.write(values)
