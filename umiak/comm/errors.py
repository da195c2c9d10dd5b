"""What goes wrong among ranks."""

from __future__ import annotations


class CommError(RuntimeError):
    """An operation among ranks that failed: a rank that died, hung, or called something else."""
