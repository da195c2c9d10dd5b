from typing import final

@final
class Place:
    """One device. ``Place("cpu")`` and ``Place("cpu", 0)`` are the same object."""

    index: int
    type_index: int
    device_type: str
    device_id: int
    def __new__(cls, device_type: str, device_id: int = 0) -> Place: ...

def from_index(index: int) -> Place: ...
def all_places() -> tuple[Place, ...]:
    """Every place named so far, by index."""
