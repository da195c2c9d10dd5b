"""A bounded table from exact shapes to what a library made for them."""

def making_seconds() -> float:
    """How long this thread has spent on making what such tables hold."""
