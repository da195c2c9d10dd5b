"""Dispatch by class of operands. See docs/design/dispatch.md."""

from typing import Any

def install(**slots: Any) -> None:
    """Fill slots: on_miss, slow_path, explain, out_of_range, copy."""
