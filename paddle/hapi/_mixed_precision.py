"""``amp_configs`` of ``Model.prepare``."""

from __future__ import annotations

from typing import Any, NamedTuple

from umiak.util.errors import op_error

LEVELS = ("O0", "O1", "O2")
_SCALER = {
    "init_loss_scaling",
    "incr_ratio",
    "decr_ratio",
    "incr_every_n_steps",
    "decr_every_n_nan_or_inf",
    "use_dynamic_loss_scaling",
}
_LISTS = {"custom_white_list", "custom_black_list"}
_STATIC = {"use_fp16_guard", "custom_black_varnames"}  # a layer's call has no variables with names to say
_REPLACED = {"use_pure_fp16": "level 'O2'"}


class MixedPrecision(NamedTuple):
    """Level, and arguments of ``auto_cast`` and ``GradScaler``; for programs, what is in them is left out."""

    level: str = "O0"
    lists: dict[str, Any] = {}
    scaler: dict[str, Any] = {}
    black_varnames: Any = None
    guard: bool = True  # at level O2: only what ``fp16_guard`` marks is cast


def mixed_precision(config: Any, static: bool = False) -> MixedPrecision:
    """Read ``amp_configs``: a level, or a dict of a level and options of ``auto_cast`` and ``GradScaler``.

    ``static``: it is for programs.
    """
    if config is None:
        return MixedPrecision()
    if isinstance(config, str):
        config = {"level": config}
    if not isinstance(config, dict):
        raise op_error(TypeError, "Model.prepare", "amp_configs as a level or a dict", repr(config))
    level = config.get("level", "O1")
    if level not in LEVELS:
        raise op_error(ValueError, "Model.prepare", "an AMP level of 'O0', 'O1' and 'O2'", repr(level))
    if not config or level == "O0":
        return MixedPrecision()
    for name in config:
        if name == "use_fp16_guard" and not static:
            hint = "It belongs to static programs"
            raise op_error(ValueError, "Model.prepare", "amp_configs without use_fp16_guard", "it", hint)
        if name in _REPLACED:
            raise op_error(ValueError, "Model.prepare", f"{_REPLACED[name]} in amp_configs", name)
    known = _SCALER | _LISTS | _STATIC | {"level"}
    unknown = sorted(str(name) for name in config.keys() - known)
    if unknown:
        raise op_error(ValueError, "Model.prepare", f"amp_configs with keys of {sorted(known)}", unknown)
    return MixedPrecision(
        level,
        {name: config[name] for name in sorted(_LISTS & config.keys())},
        {name: config[name] for name in sorted(_SCALER & config.keys())},
        config.get("custom_black_varnames"),
        bool(config.get("use_fp16_guard", True)),
    )
