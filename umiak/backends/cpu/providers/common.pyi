"""Thread counts and scratch memory of the libraries: see common.pyx."""

NO_MEMORY: int

def follow(address: int) -> None:
    """Use as many threads as ``int address()`` says, unless ``set_threads`` has said how many."""

def set_threads(n: int) -> None:
    """Set the number of threads that the libraries may use; 0: as many as the engine. A forked child stays at one:
    their pools do not survive."""

def get_threads() -> int: ...
def kept_scratch() -> tuple[int, int]:
    """Blocks and bytes of free scratch."""

def drop_scratch() -> None:
    """Give free scratch back to the system."""
