"""Groups of a rank, by name. They live in the rank's state, so that each virtual rank has its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from umiak.comm import mpi
from umiak.comm.channel import Channel
from umiak.comm.group import Group
from umiak.comm.keys import GROUPS
from umiak.comm.single import SingleChannel
from umiak.comm.slow_link import linked
from umiak.core import context
from umiak.util.errors import op_error

WORLD = "world"
_NEXT = "comm_next_id"
_CONNECT = "comm_connect"


def table() -> dict[str, Group]:
    """The groups of this rank by name; empty before :func:`start`."""
    return context.current().state.values.setdefault(GROUPS, {})


def started() -> bool:
    """Return whether this rank has its groups."""
    return WORLD in table()


def connect_by(connect: Callable[[], Channel]) -> None:
    """Let this rank reach the others over ``connect()``, whenever it starts."""
    context.current().state.values[_CONNECT] = connect


def start(channel: Channel | None = None, timeout: float | None = None) -> Group:
    """Join the other ranks: over ``channel``, else as :func:`connect_by` says, else over MPI where its launcher started
    this process, else alone.

    The second call returns the group of the first.
    """
    groups, state = table(), context.current().state.values
    if WORLD not in groups:
        if channel is None:
            connect = state.get(_CONNECT)
            alone = connect is None and not mpi.launched()
            channel = SingleChannel() if alone else connect() if connect else mpi.connect(state, groups)
            channel = linked(channel)
        groups[WORLD] = group = _group(channel, WORLD, 0, range(channel.size), timeout=timeout)
        group.ask_status = getattr(channel, "ask_status", None)
        state[_NEXT] = 1
    return groups[WORLD]


def _group(channel: Any, *args: Any, **options: Any) -> Group:
    make = getattr(channel, "make", None)  # of channels whose groups are of another kind
    return Group(channel, *args, **options) if make is None else make(*args, **options)


def world() -> Group:
    """The group of all ranks."""
    return table().get(WORLD) or start()


def get(name: str) -> Group:
    """A group by its name."""
    groups = table()
    if name not in groups:
        raise op_error(ValueError, "comm.get", f"a group of {sorted(groups)}", repr(name))
    return groups[name]


def next_id() -> int:
    """The number of the next group."""
    world()
    return context.current().state.values[_NEXT]


def name_of(number: int) -> str:
    """The name of the group of a number."""
    return f"group{number}" if number else WORLD


def new(ranks: Sequence[int] | None = None, *, timeout: float | None = None) -> Group | None:
    """A group of some ranks, in their order; None for a rank that is not among them.

    All ranks of the world call this in the same order, since groups are numbered by calls.
    """
    world_group = world()
    state: dict[Any, Any] = context.current().state.values
    chosen = list(range(world_group.size)) if ranks is None else list(ranks)
    if not chosen or len(set(chosen)) != len(chosen) or not all(0 <= r < world_group.size for r in chosen):
        raise op_error(ValueError, "comm.new", f"different ranks below {world_group.size}", chosen)
    number = state[_NEXT]
    state[_NEXT] = number + 1
    if world_group.rank not in chosen:
        return None
    return reopen(name_of(number), number, chosen, timeout=timeout)


def reopen(name: str, number: int, ranks: Sequence[int], *, timeout: float | None = None) -> Group:
    """A group under a name that is free, called by its ranks."""
    world_group = world()
    group = _group(world_group.channel.split(ranks, name), name, number, ranks, timeout=timeout, beside=world_group)
    group.ask_status = world_group.ask_status
    table()[name] = group
    return group


def progress() -> None:
    """Move on what is under way on any group of this rank."""
    if started():
        world().progress()


def destroy(group: Group | None = None) -> None:
    """Give up a group, or all of them."""
    groups = table()
    for one in [group] if group is not None else list(groups.values())[::-1]:
        one.close()
        groups.pop(one.name, None)
