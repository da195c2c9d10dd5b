"""Launching decoders."""

class Viterbi:
    """A kernel of best paths for one dtype, float64 or float32."""

    def __init__(self, doubles: bool, with_ends: bool) -> None: ...
    @property
    def run(self) -> int: ...
    @property
    def self_pointer(self) -> int: ...
