"""``convert_to_mixed_precision``: a model that computes in a narrow type, as files."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from paddle._public import public
from paddle.inference import loading
from paddle.inference.config import Config
from paddle.inference.kinds import NARROW, PlaceType, PrecisionType, _required
from paddle.inference.preparing import FOLDING, around_runs, optimise
from paddle.static.executor import Executor
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
        keep_io_types: inputs and outputs stay in float32. They do in any case: ``Config.enable_low_precision_io``
            exchanges them in the narrow type.
        black_list: operators that stay in float32.
        **kwargs: ``white_list``: operators that are computed in the narrow type, too.

    Raises:
        ValueError: another precision, ``keep_io_types=False``, or files that hold no model.
        TypeError: something that is no precision or device, or another keyword.
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
    if not keep_io_types:
        raise op_error(
            ValueError, op_name, "keep_io_types=True", keep_io_types,
            "Config.enable_low_precision_io() exchanges inputs and outputs in the narrow type.",
        )  # fmt: skip
    if unknown := set(kwargs) - {"white_list"}:
        raise op_error(TypeError, op_name, "the keyword white_list", sorted(unknown))
    config = Config(model_file, params_file)
    config.exp_enable_mixed_precision_ops(kwargs.get("white_list", ()))
    config.exp_disable_mixed_precision_ops(black_list)
    with around_runs(config):
        model = loading.load(config)
        optimise(config, model, [FOLDING], narrow)
        feeds = [x for _, x in model.program._tracer.feeds]
        with scope_guard(model.scope):
            program = serialize_program(feeds, model.fetched, program=model.program)
            values = serialize_persistables(feeds, model.fetched, Executor(), program=model.program)
    save_to_file(mixed_model_file, program)
    beside = os.path.splitext(os.fspath(mixed_model_file))[0] + loading.PARAMETERS
    if values:
        save_to_file(os.fspath(mixed_params_file) or beside, values)
