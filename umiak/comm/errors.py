"""Errors of communication."""

from __future__ import annotations


class CommError(RuntimeError):
    """An operation among ranks that failed: a rank that died, hung, or called something else."""


class SizeMismatch(Exception):
    """A message of another size than its receiver expects, of an engine; groups make a CommError of it.

    ``peer`` is the place of its sender in the group; ``sent`` is None where the engine does not tell.
    """

    def __init__(self, peer: int, sent: int | None, expected: int) -> None:
        self.peer, self.sent, self.expected = peer, sent, expected
        super().__init__(f"{'more' if sent is None else sent} bytes came where {expected} were expected")
