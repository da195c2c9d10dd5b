"""``convert_to_mixed_precision``: a model that computes in a narrow type, as files."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterable, Iterator
from typing import Any

from paddle._public import public
from paddle.inference import loading
from paddle.inference.arguments import _names
from paddle.inference.config import Config, _file
from paddle.inference.kinds import NARROW, PlaceType, PrecisionType, _required
from paddle.inference.preparing import FOLDING, around_runs, optimise
from paddle.static.executor import Executor
from paddle.static.formats import pir
from paddle.static.formats.files import read_program
from paddle.static.formats.graph import DATA, FETCH, Attribute, Module, Operation, Result, TensorType
from paddle.static.saving import save_to_file, serialize_persistables, serialize_program
from paddle.static.scope import scope_guard
from umiak.util.errors import op_error


@public("paddle.inference")
def convert_to_mixed_precision(
    model_file: str,
    params_file: str,
    mixed_model_file: str,
    mixed_params_file: str,
    mixed_precision: PrecisionType,
    backend: PlaceType,
    keep_io_types: bool = True,
    black_list: Iterable[str] = frozenset(),
    **kwargs: Any,
) -> None:
    """Write a model of float32 as one that computes in a narrow type what loses little by it; its weights have it.

    Args:
        model_file: the file of the program.
        params_file: the file of its parameters; an empty str where it has none.
        mixed_model_file: the file of the new program, whose folder is made if need be.
        mixed_params_file: the file of its parameters; an empty str: beside the program, under its name.
        mixed_precision: ``PrecisionType.Half`` or ``PrecisionType.Bfloat16``.
        backend: accepted: the files are the same for all devices.
        keep_io_types: whether inputs and outputs of float32 stay so; else they are of the narrow type.
        black_list: operators that stay in float32.
        **kwargs: ``white_list``: operators that are computed in the narrow type, too.

    Raises:
        ValueError: another precision, files that hold no model, or ``keep_io_types=False`` for a model that operators
            of PaddlePaddle cannot say.
        TypeError: something that is no precision or device, or another keyword, and a str where names are.
        FileNotFoundError: there is no such file.

    Example:
        >>> import os, paddle, tempfile
        >>> paddle.enable_static()
        >>> exe, prefix = paddle.static.Executor(), os.path.join(tempfile.mkdtemp(), "model")
        >>> with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
        ...     x = paddle.static.data("x", [None, 2])
        ...     paddle.static.save_inference_model(prefix, [x], [x @ x.T], exe)
        >>> paddle.disable_static()
        >>> kinds = paddle.inference.PrecisionType.Bfloat16, paddle.inference.PlaceType.CPU
        >>> paddle.inference.convert_to_mixed_precision(prefix + ".json", "", prefix + "16.json", "", *kinds)
        >>> config = paddle.inference.Config(prefix + "16.json", "")  # neither has parameters
        >>> paddle.inference.create_predictor(config).get_input_names()
        ['x']
    """
    op_name = "convert_to_mixed_precision"
    _required(op_name, "backend", backend, PlaceType)
    narrow = NARROW.get(_required(op_name, "mixed_precision", mixed_precision, PrecisionType))
    if narrow is None:
        raise op_error(ValueError, op_name, "PrecisionType.Half or PrecisionType.Bfloat16", mixed_precision)
    if unknown := set(kwargs) - {"white_list"}:
        raise op_error(TypeError, op_name, "the keyword white_list", sorted(unknown))
    config = Config(_file(op_name, model_file), params_file)
    config.exp_enable_mixed_precision_ops(_names(op_name, "operators as white_list", kwargs.get("white_list", ())))
    config.exp_disable_mixed_precision_ops(_names(op_name, "operators as black_list", black_list))
    with around_runs(config):
        model = loading.load(config)
        optimise(config, model, [FOLDING], narrow)
        feeds = [x for _, x in model.program._tracer.feeds]
        with scope_guard(model.scope):
            program = serialize_program(feeds, model.fetched, program=model.program)
            values = serialize_persistables(feeds, model.fetched, Executor(), program=model.program)
    save_to_file(mixed_model_file, program if keep_io_types else _narrow_io(op_name, program, narrow))
    beside = os.path.splitext(os.fspath(mixed_model_file))[0] + loading.PARAMETERS
    if values or os.fspath(mixed_params_file):  # what is named there is a file, of a model without parameters as well
        save_to_file(os.fspath(mixed_params_file) or beside, values)


def _narrow_io(op_name: str, program: bytes, narrow: str) -> bytes:
    """A program whose inputs and outputs of float32 are narrow: casts stand behind the former and before the latter."""
    module = read_program(program, op_name)
    if not isinstance(module, Module):
        raise op_error(
            ValueError, op_name, "keep_io_types=True for a program in Umiak's own format", False,
            "Config.enable_low_precision_io() exchanges inputs and outputs in the narrow type.",
        )  # fmt: skip
    types = {r.number: r.type for o in module.block.operations for r in o.results}
    free = itertools.count(1 + max(r.number for o in module.block.walk() for r in _made(o)))

    def cast(x: int, made: Result, dtype: str) -> Operation:
        return Operation("pd_op.cast", [x], {"dtype": Attribute("dtype", dtype)}, [made])

    made: list[Operation] = []
    for o in module.block.operations:
        x = o.results[0].number if o.name == DATA else o.operands[0] if o.name == FETCH else None
        kind = None if x is None else types[x]
        if x is None or not isinstance(kind, TensorType) or kind.dtype != "float32":
            made.append(o)
            continue
        here = Result(next(free), kind._replace(dtype=narrow))
        if o.name == DATA:
            made += [o, cast(here.number, Result(x, kind), "float32")]
            o.results, o.attributes["dtype"] = [here], Attribute("dtype", narrow)
        else:
            made += [cast(x, here, narrow), o]
            o.operands, o.results = [here.number], [Result(r.number, here.type) for r in o.results]
    module.block.operations = made
    return json.dumps(pir.write(module)).encode()


def _made(o: Operation) -> Iterator[Result]:
    yield from o.results
    for region in o.regions:
        yield from region.arguments
