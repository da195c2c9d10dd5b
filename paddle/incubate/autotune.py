"""Switches of what is tuned by trial."""

from __future__ import annotations

import json
import warnings
from typing import Any

from paddle import _lazy
from paddle._public import public
from paddle.io.tuning import settings
from umiak.util import flags
from umiak.util.errors import op_error

_PARTS = ("kernel", "layout", "dataloader")


def _fits(part: str, values: dict[str, Any], key: str, kind: type) -> bool:
    """Test for a value of the right kind in a part; one of another kind is left out with a warning."""
    if key not in values:
        return False
    value = values[key]
    fits = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
    if not fits:
        warnings.warn(
            f"[set_config] requires {part}.{key} of type {kind.__name__}, got {value!r}. It stays as it is.",
            stacklevel=3,
        )
    return fits


def _read(path: str) -> Any:
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError) as error:
        warnings.warn(f"[set_config] cannot read {path!r} ({error}). Nothing changes.", stacklevel=3)
        return {}


@public("paddle.incubate.autotune")
def set_config(config: dict | str | None = None) -> None:
    """Switch tuning by trial on or off, for kernels, layouts and data loaders.

    Loaders are tuned when they are made: some batches are read with 0, 1, 2, 4, ... workers, up to half of the CPUs,
    and the fewest workers that are nearly as quick as the quickest replace ``num_workers``. The generators of random
    numbers are put back. Streams, and loaders without a batch size, keep their number.

    Args:
        config: a dict of dicts, or the path of a JSON file with one; None: all three are switched on. Parts and values
            that are missing stay as they are; values of a wrong type do with a warning, as does everything where the
            file cannot be read. Other parts are accepted.

            - ``"kernel"``: ``"enable"`` (bool) sets ``FLAGS_use_autotune``; ``"tuning_range"`` (list of two ints, the
              first and last step) is accepted. Nothing depends on either: kernels are not chosen by trial.
            - ``"layout"``: ``"enable"`` (bool) is accepted.
            - ``"dataloader"``: ``"enable"`` (bool; off until it is switched on) and ``"tuning_steps"`` (int: batches of
              each trial, 500 by default).

    Raises:
        TypeError: ``config`` or one of its parts is of another kind, or a range has other elements than ints.
        ValueError: a range of other than two elements, or less than 2 steps.

    Example:
        >>> import paddle
        >>> paddle.incubate.autotune.set_config({"dataloader": {"enable": True, "tuning_steps": 4}})
        >>> loader = paddle.io.DataLoader(paddle.io.TensorDataset([paddle.arange(8)]), batch_size=4)
        >>> sum(len(x) for (x,) in loader)
        8
        >>> paddle.incubate.autotune.set_config({"dataloader": {"enable": False}})
    """
    if config is None:
        config = {part: {"enable": True} for part in _PARTS}
    if isinstance(config, str):
        config = _read(config)
    if not isinstance(config, dict):
        raise op_error(TypeError, "set_config", "a dict, the path of a file with one, or None", type(config).__name__)
    parts = {part: config[part] for part in _PARTS if part in config}
    for part, values in parts.items():
        if not isinstance(values, dict):
            raise op_error(TypeError, "set_config", f"a dict as {part}", repr(values))
    enable = {part: values["enable"] for part, values in parts.items() if _fits(part, values, "enable", bool)}
    kernel, loader = parts.get("kernel", {}), parts.get("dataloader", {})
    if _fits("kernel", kernel, "tuning_range", list):
        given = kernel["tuning_range"]
        if len(given) != 2:
            raise op_error(ValueError, "set_config", "a tuning_range of two steps", given)
        if not all(isinstance(step, int) for step in given):
            raise op_error(TypeError, "set_config", "ints in tuning_range", given)
    if _fits("dataloader", loader, "tuning_steps", int):
        if loader["tuning_steps"] < 2:
            raise op_error(ValueError, "set_config", "at least 2 tuning_steps", loader["tuning_steps"])
        settings.steps = loader["tuning_steps"]
    settings.enabled = enable.get("dataloader", settings.enabled)
    if "kernel" in enable:
        flags.set_flags({"FLAGS_use_autotune": enable["kernel"]})


__getattr__, __dir__, __all__ = _lazy.contents(__name__)
