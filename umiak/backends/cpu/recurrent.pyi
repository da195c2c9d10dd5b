"""Recurrent layers on the CPU: see recurrent.pyx."""

from typing import Any

MAX_ROWS: int  # of a tile
NARROW: tuple[int, int] | None  # (width, block) of strips of bfloat16; None where they cannot be compiled

class Recurrent:
    address: int
    self_pointer: int
    def __init__(
        self,
        functions: dict[str, int],
        keep: object,
        *,
        step: tuple[Any, int],
        project: tuple[Any, int] | None,
        gates: int,
        kept: int,
        lstm: bool,
        gru: bool,
        reverse: bool,
        train: bool,
        masked: bool,
        projected: bool,
        gradient: bool,
        wide: bool,
        lengths_wide: bool,
        lanes: int,
        width: int,
        rows: int,
        strips: bool = False,
        narrow: bool = False,
        units: bool = False,
    ) -> None: ...
