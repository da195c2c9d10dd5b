"""States of random number generators by number: each is a place in a sequence that a generator can go back to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paddle._public import public
from paddle.framework import random
from umiak.util.errors import op_error


class _Slots:
    """The numbered states of one generator. It is at one of them, which its draws move on."""

    def __init__(self) -> None:
        self.states: list[Any] = [None]
        self.current = 0

    def switch(self, index: int, device: Any) -> None:
        """Leave the current state as it is now, and go on from another one."""
        if index == self.current:
            return
        self.states[self.current] = random.get_rng_state(device)
        random.set_rng_state(self.states[index], device)
        self.current = index


_slots: dict[Any, _Slots] = {}


def _slots_of(device: Any) -> _Slots:
    return _slots.setdefault(random.generator_of(device), _Slots())


@public("paddle.incubate", usual=False)
def get_rng_state(device: Any = None, use_index: bool = False) -> list[Any]:
    """State of the random number generator of a device, or its number.

    Args:
        device: a name, a place, or None for the current device.
        use_index: whether to return the number of the state that the generator is at.

    Returns:
        A list of one state, or of one number, for :func:`set_rng_state`.

    Raises:
        ValueError: a device that is not there.

    Example:
        >>> import paddle
        >>> state = paddle.incubate.get_rng_state()
        >>> a = paddle.rand([2])
        >>> paddle.incubate.set_rng_state(state)
        >>> bool((a == paddle.rand([2])).all())
        True
    """
    return [_slots_of(device).current] if use_index else list(random.get_rng_state(device))


@public("paddle.incubate", usual=False)
def set_rng_state(state_list: Sequence[Any], device: Any = None, use_index: bool = False) -> None:
    """Put the random number generator of a device where it stood, or let it go on from a numbered state.

    Args:
        state_list: what :func:`get_rng_state` or :func:`register_rng_state_as_index` returned.
        device: a name, a place, or None for the current device.
        use_index: whether the list is of one number. The state that the generator leaves keeps its number, and the
            place that it has come to.

    Raises:
        ValueError: a device that is not there, something else than a list of one, or a number that no state has.

    Example:
        >>> import paddle
        >>> first = paddle.incubate.get_rng_state(use_index=True)
        >>> second = paddle.incubate.register_rng_state_as_index()
        >>> paddle.incubate.set_rng_state(first, use_index=True)
        >>> paddle.incubate.get_rng_state(use_index=True) == first
        True
    """
    if not use_index:
        random.set_rng_state(state_list, device)
        return
    slots = _slots_of(device)
    known = len(slots.states)
    if len(state_list) != 1 or not 0 <= state_list[0] < known:
        raise op_error(ValueError, "set_rng_state", f"a list of one number from 0 to {known - 1}", list(state_list))
    slots.switch(state_list[0], device)


@public("paddle.incubate", usual=False)
def register_rng_state_as_index(state_list: Sequence[Any] | None = None, device: Any = None) -> list[int]:
    """Give a state of the random number generator of a device a number, and let the generator go on from it.

    Args:
        state_list: what :func:`get_rng_state` returned; None: the state that the generator has now.
        device: a name, a place, or None for the current device.

    Returns:
        A list of the number.

    Raises:
        ValueError: something else than a list of one state, or a device that is not there.

    Example:
        >>> import paddle
        >>> index = paddle.incubate.register_rng_state_as_index()
        >>> paddle.incubate.get_rng_state(use_index=True) == index
        True
    """
    slots = _slots_of(device)
    before = random.get_rng_state(device)
    if state_list is not None:
        random.set_rng_state(state_list, device)  # which refuses what is no state
    slots.states[slots.current] = before
    slots.states.append(None)
    slots.current = len(slots.states) - 1
    return [slots.current]
