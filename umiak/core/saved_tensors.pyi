"""The tensors that nodes saved."""

from umiak.core.node import Node
from umiak.core.storage import Storage

def held_alone(nodes: list[Node], place: int) -> list[Storage]:
    """The storages of a place, by index, that nothing holds but what these nodes saved: no variable, and no call that
    runs. Nobody has read their addresses, so they may be offloaded."""
