"""State that ``fleet.init`` sets up for a rank."""

from __future__ import annotations

from dataclasses import dataclass

from paddle.distributed.fleet.strategy import DistributedStrategy
from paddle.distributed.fleet.topology import HybridCommunicateGroup
from umiak.core.context import current

_KEY = "fleet"  # in the values of a rank's state


@dataclass(frozen=True)
class FleetState:
    """The strategy and the groups of this rank."""

    strategy: DistributedStrategy
    groups: HybridCommunicateGroup


def fleet_state() -> FleetState | None:
    """Return the state of this rank; None before ``init``."""
    return current().state.values.get(_KEY)


def set_fleet_state(state: FleetState) -> None:
    """Set that of this rank."""
    current().state.values[_KEY] = state
