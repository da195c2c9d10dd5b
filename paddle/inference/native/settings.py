"""Settings of a ``Config`` as pairs of texts, for ``umiak_inference.h``: names of its methods, and their arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from paddle.inference.config import Config
from umiak.util.errors import op_error

OP = "umiak_options"
Parse = Callable[[str], tuple[Any, ...]]


class SettingError(ValueError):
    """A setting that is not there, or that does not take what it was given."""


def _nothing(text: str) -> tuple[Any, ...]:
    if text:
        raise op_error(ValueError, OP, "no value", repr(text))
    return ()


def _switch(text: str) -> tuple[Any, ...]:
    if text not in ("0", "1"):
        raise op_error(ValueError, OP, "0 or 1", repr(text))
    return (text == "1",)


def _number(text: str) -> tuple[Any, ...]:
    return (int(text),)


def _text(text: str) -> tuple[Any, ...]:
    return (text,)


def _names(text: str) -> tuple[Any, ...]:
    return ([name for name in text.split(",") if name],)


def _names_and_switch(text: str) -> tuple[Any, ...]:
    """``1:a,b``: a switch, and names."""
    switch, _, names = text.partition(":")
    return (*_names(names), *_switch(switch))


def _switch_and_names(text: str) -> tuple[Any, ...]:
    names, switch = _names_and_switch(text)
    return switch, names


def _place_and_name(text: str) -> tuple[Any, ...]:
    place, _, name = text.partition(",")
    return int(place), name


def _file_and_switch(text: str) -> tuple[Any, ...]:
    """``1:file``: a switch, and the name of a file."""
    switch, _, name = text.partition(":")
    return (name, *_switch(switch))


def _shapes(text: str) -> tuple[Any, ...]:
    """``name:1x3:8x3:2x3`` for least, largest and usual sizes; a line for each input."""
    found: tuple[dict[str, list[int]], ...] = ({}, {}, {})
    for line in text.splitlines():
        name, *sizes = line.rsplit(":", 3)
        if not name or len(sizes) != len(found):
            raise op_error(ValueError, OP, "name:1x3:8x3:2x3, a line for each input", repr(line))
        for shapes, given in zip(found, sizes, strict=True):
            shapes[name] = [int(n) for n in given.split("x") if n]
    return found


SETTINGS: dict[str, Parse] = {
    "enable_onednn_bfloat16": _nothing,
    "set_bfloat16_op": _names,
    "exp_enable_mixed_precision_ops": _names,
    "exp_disable_mixed_precision_ops": _names,
    "enable_low_precision_io": _switch,
    "switch_ir_optim": _switch,
    "switch_ir_debug": _switch_and_names,
    "set_optimization_level": _number,
    "enable_custom_passes": _names_and_switch,
    "enable_profile": _nothing,
    "collect_shape_range_info": _text,
    "set_trt_dynamic_shape_info": _shapes,
    "enable_tuned_tensorrt_dynamic_shape": _file_and_switch,
    "set_optim_cache_dir": _text,
    "enable_save_optim_model": _switch,
    "use_optimized_model": _switch,
    "enable_onnxruntime": _nothing,
}
PASSES: dict[str, Parse] = {
    "append_pass": _text,
    "append_analysis_pass": _text,
    "insert_pass": _place_and_name,
    "delete_pass": _text,
    "set_passes": _names,
    "turn_on_debug": _nothing,
}
CONVERSION: dict[str, Parse] = {"keep_io_types": _switch, "black_list": _names, "white_list": _names}


def _parsed(parse: Parse, name: str, value: str) -> tuple[Any, ...]:
    try:
        return parse(value)
    except ValueError as error:
        raise SettingError(f"setting {name} to {value!r}: {error}") from error


def of_conversion(given: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Arguments of ``convert_to_mixed_precision``.

    Raises:
        SettingError: one is not there, or does not take its value.
    """
    made: dict[str, Any] = {}
    for name, value in given:
        if name not in CONVERSION:
            raise op_error(SettingError, OP, f"one of the settings {', '.join(CONVERSION)} of a conversion", repr(name))
        (made[name],) = _parsed(CONVERSION[name], name, value)
    return made


def apply(config: Config, settings: Iterable[tuple[str, str]]) -> None:
    """Make settings, in order.

    Raises:
        SettingError: one is not there, or does not take its value.
    """
    for name, value in settings:
        owner: Any = config if name in SETTINGS else config.pass_builder()
        parse = SETTINGS.get(name) or PASSES.get(name)
        if parse is None:
            raise op_error(SettingError, OP, f"one of the settings {', '.join([*SETTINGS, *PASSES])}", repr(name))
        try:
            getattr(owner, name)(*parse(value))
        except (ValueError, TypeError, OSError, RuntimeError) as error:
            raise SettingError(f"setting {name} to {value!r}: {error}") from error
