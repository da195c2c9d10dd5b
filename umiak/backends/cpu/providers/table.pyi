"""A bounded table from exact shapes to what a library made for them."""

ROOM: int  # exact shapes per launcher

def making_seconds() -> float:
    """How long this thread has spent on making what such tables hold."""

class Shapes:
    """The state of a launch, with a table of exact shapes; ``pointer`` is its ``self``."""

    pointer: int
    def entries(self) -> tuple[int, int, int]:
        """Shapes in the table, shapes that were not found in it, and evictions."""
