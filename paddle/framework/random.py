"""Seeds and states of the random number generators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paddle import _lazy
from paddle._public import public
from paddle.framework.place import current_place, device_count, place_of
from umiak.core.context import capture_of, current
from umiak.core.generator import Generator as _Generator
from umiak.core.generator import default_generator, seed_all
from umiak.core.place import Place
from umiak.util.errors import op_error


@public("paddle paddle.framework")
class Generator(_Generator):
    """Stream of random numbers of its own.

    Args:
        device: a name or a place, which the numbers are for; None: the current place.

    Raises:
        ValueError: a device that is not there.

    Example:
        >>> import paddle
        >>> g = paddle.Generator().manual_seed(3)
        >>> g.initial_seed()
        3
    """

    def __init__(self, device: Any = None) -> None:
        super().__init__()
        self.device = current_place() if device is None else place_of(device, "Generator")


def generator_of(device: Any = None) -> _Generator:
    """The generator of a device, by default of the current one."""
    return default_generator(current_place() if device is None else place_of(device))


def cpu_generator() -> _Generator:
    """The generator of the host."""
    return generator_of("cpu")


def cuda_generator(device_id: int = -1) -> _Generator:
    """The generator of a GPU; -1: the current one, or the first."""
    return generator_of("gpu" if device_id < 0 else f"gpu:{device_id}")


def xpu_generator(device_id: int = -1) -> _Generator:
    """The generator of an XPU; -1: the current one, or the first."""
    return generator_of("xpu" if device_id < 0 else f"xpu:{device_id}")


def _refuse_in_capture(name: str) -> None:
    tracer = capture_of()
    if current().trace and not (tracer is not None and tracer.static):
        from umiak.runtime.capture import CaptureError

        raise CaptureError(f"{name} stands in a captured function: a program would not set it. Set it before the call")


def _restart(seed: Any) -> _Generator:
    if not hasattr(seed, "__index__"):
        raise op_error(TypeError, "seed", "an integer", type(seed).__name__)
    _refuse_in_capture("paddle.seed")
    seed_all(seed)
    return generator_of()


@public("paddle paddle.framework")
def seed(seed: int) -> _Generator:
    """Start the random number generators of all devices anew.

    Args:
        seed: an integer.

    Returns:
        The current device's generator.

    Raises:
        TypeError: seed is no integer.

    Example:
        >>> import paddle
        >>> _ = paddle.seed(102)
        >>> a = paddle.rand([2])
        >>> _ = paddle.seed(102)
        >>> bool((a == paddle.rand([2])).all())
        True
    """
    return _restart(seed)


@public("paddle paddle.framework")
def manual_seed(seed: int) -> _Generator:
    """Start the random number generators of all devices anew, as :func:`seed` does.

    Args:
        seed: an integer.

    Returns:
        The current device's generator.

    Raises:
        TypeError: seed is no integer.

    Example:
        >>> import paddle
        >>> _ = paddle.manual_seed(102)
        >>> a = paddle.rand([2])
        >>> _ = paddle.manual_seed(102)
        >>> bool((a == paddle.rand([2])).all())
        True
    """
    return _restart(seed)


_NAMED = "generators by name"  # among what a rank keeps


def set_random_seed_generator(name: str, seed: int) -> None:
    """Start a stream of random numbers under a name, by which calls with ``rng_name`` draw from it.

    Args:
        name: its name.
        seed: an integer.

    Raises:
        TypeError: seed is no integer.

    Example:
        >>> import paddle
        >>> paddle.framework.random.set_random_seed_generator("of_attention", 3)
        >>> paddle.framework.random.get_random_seed_generator("of_attention").initial_seed()
        3
    """
    _refuse_in_capture("set_random_seed_generator")
    current().state.values.setdefault(_NAMED, {})[name] = _Generator(seed)


def get_random_seed_generator(name: str) -> _Generator:
    """Return the stream of a name.

    Args:
        name: what :func:`set_random_seed_generator` was given.

    Returns:
        The generator.

    Raises:
        ValueError: there is none of this name.

    Example:
        >>> import paddle
        >>> paddle.framework.random.set_random_seed_generator("of_attention", 3)
        >>> paddle.framework.random.get_random_seed_generator("of_attention").offset
        0
    """
    known = current().state.values.get(_NAMED, {})
    if name not in known:
        required = "a name that set_random_seed_generator was given"
        raise op_error(ValueError, "get_random_seed_generator", required, f"{name!r}, of {sorted(known)}")
    return known[name]


class GeneratorState:
    """State of a generator: its seed and its offset."""

    __slots__ = ("state",)

    def __init__(self, state: tuple[int, int]) -> None:
        self.state = tuple(state)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GeneratorState) and self.state == other.state

    def __hash__(self) -> int:
        return hash(self.state)

    def __repr__(self) -> str:
        return f"GeneratorState(seed={self.state[0]}, offset={self.state[1]})"

    def __reduce__(self) -> tuple:
        return GeneratorState, (self.state,)


@public("paddle paddle.framework")
def get_rng_state(device: Any = None) -> list[GeneratorState]:
    """State of the random number generator of a device.

    Args:
        device: a name, a place, or None for the current device.

    Returns:
        A list of one state, for :func:`set_rng_state`.

    Raises:
        ValueError: a device that is not there.

    Example:
        >>> import paddle
        >>> state = paddle.get_rng_state()
        >>> a = paddle.rand([2])
        >>> paddle.set_rng_state(state)
        >>> bool((a == paddle.rand([2])).all())
        True
    """
    return [GeneratorState(generator_of(device).get_state())]


@public("paddle paddle.framework")
def set_rng_state(state_list: Sequence[GeneratorState], device: Any = None) -> None:
    """Put the random number generator of a device where it stood.

    Args:
        state_list: what :func:`get_rng_state` returned.
        device: a name, a place, or None for the current device.

    Raises:
        ValueError: a value that is not a state of one generator, or a device that is not there.

    Example:
        >>> import paddle
        >>> state = paddle.get_rng_state()
        >>> a = paddle.rand([2])
        >>> paddle.set_rng_state(state)
        >>> bool((a == paddle.rand([2])).all())
        True
    """
    states = list(state_list) if isinstance(state_list, (list, tuple)) else [state_list]
    if len(states) != 1 or not isinstance(states[0], GeneratorState):
        raise op_error(ValueError, "set_rng_state", "the list of one state that get_rng_state gives", repr(state_list))
    _refuse_in_capture("set_rng_state")
    generator_of(device).set_state(states[0].state)


def _cuda_places() -> list[Place]:
    return [Place("gpu", i) for i in range(device_count("gpu"))]


@public("paddle paddle.framework")
def get_cuda_rng_state() -> list[GeneratorState]:
    """States of the random number generators of all CUDA devices.

    Returns:
        A list of one state for each device; an empty one where there is none.

    Example:
        >>> import paddle
        >>> len(paddle.get_cuda_rng_state()) == paddle.device.cuda.device_count()
        True
    """
    return [GeneratorState(default_generator(p).get_state()) for p in _cuda_places()]


@public("paddle paddle.framework")
def set_cuda_rng_state(state_list: Sequence[GeneratorState]) -> None:
    """Put the random number generators of all CUDA devices where they stood.

    Args:
        state_list: what :func:`get_cuda_rng_state` returned.

    Raises:
        ValueError: another number of states than of CUDA devices.

    Example:
        >>> import paddle
        >>> paddle.set_cuda_rng_state(paddle.get_cuda_rng_state())
    """
    places = _cuda_places()
    if len(state_list) != len(places):
        raise op_error(
            ValueError, "set_cuda_rng_state", f"{len(places)} states, one for each CUDA device", len(state_list)
        )
    _refuse_in_capture("set_cuda_rng_state")
    for place, state in zip(places, state_list, strict=True):
        default_generator(place).set_state(state.state)


__getattr__, __dir__ = _lazy.attributes_of(__name__)
