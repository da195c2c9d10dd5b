"""Seeds and states of the random number generators of devices."""

from __future__ import annotations

from typing import Any

from paddle._public import also, public
from paddle.device.default import device_to_place
from paddle.framework.random import GeneratorState, generator_of
from paddle.framework.random import seed as _seed
from paddle.framework.random import set_rng_state as _set_rng_state
from umiak.util.errors import op_error


@public("paddle.device paddle.cuda paddle.device.xpu paddle.device.cuda")
def get_rng_state(device: Any = None) -> GeneratorState:
    """State of the random number generator of a device.

    Args:
        device: a name, a place, the number of a device of the current one's type, or None for the current device.

    Returns:
        A state, for :func:`paddle.device.set_rng_state`.

    Raises:
        ValueError: a device that is not there.
        TypeError: a value that names no device.

    Example:
        >>> import paddle
        >>> state = paddle.device.get_rng_state()
        >>> a = paddle.rand([2])
        >>> paddle.device.set_rng_state(state)
        >>> bool((a == paddle.rand([2])).all())
        True
    """
    return GeneratorState(generator_of(device_to_place(device)).get_state())


@public("paddle.device paddle.cuda paddle.device.xpu paddle.device.cuda")
def set_rng_state(new_state: Any, device: Any = None) -> None:
    """Put the random number generator of a device where it stood.

    Args:
        new_state: what :func:`paddle.device.get_rng_state` returned.
        device: a name, a place, the number of a device of the current one's type, or None for the current device.

    Raises:
        ValueError: a value that is not a state of one generator, or a device that is not there.
        TypeError: a value that names no device.

    Example:
        >>> import paddle
        >>> state = paddle.device.get_rng_state("cpu")
        >>> a = paddle.rand([2])
        >>> paddle.device.set_rng_state(state, "cpu")
        >>> bool((a == paddle.rand([2])).all())
        True
    """
    _set_rng_state(new_state, device_to_place(device))


@public("paddle.device paddle.cuda paddle.device.xpu paddle.device.cuda")
def manual_seed(seed: int) -> None:
    """Start the random number generator of the current device anew.

    Args:
        seed: an integer.

    Raises:
        TypeError: seed is no integer.

    Example:
        >>> import paddle
        >>> paddle.device.manual_seed(102)
        >>> a = paddle.rand([2])
        >>> paddle.device.manual_seed(102)
        >>> bool((a == paddle.rand([2])).all())
        True
    """
    if not hasattr(seed, "__index__"):
        raise op_error(TypeError, "manual_seed", "an integer", type(seed).__name__)
    generator_of().manual_seed(seed)


@public("paddle.device paddle.cuda")
def manual_seed_all(seed: int) -> None:
    """Start the random number generators of all devices anew, as :func:`paddle.seed` does.

    Args:
        seed: an integer.

    Raises:
        TypeError: seed is no integer.

    Example:
        >>> import paddle
        >>> paddle.device.manual_seed_all(102)
        >>> a = paddle.rand([2])
        >>> paddle.device.manual_seed_all(102)
        >>> bool((a == paddle.rand([2])).all())
        True
    """
    _seed(seed)


device_manual_seed_all = also(manual_seed_all, "device_manual_seed_all", "paddle.cuda")
