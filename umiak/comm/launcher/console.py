"""Output of the ranks on one terminal."""

from __future__ import annotations

import re
import sys
import threading
from typing import BinaryIO

ENDS = re.compile(rb"(?<=[\r\n])")


class Console:
    """Lines of several ranks, whole and each with its rank in front."""

    def __init__(self, prefix: bool, stream: BinaryIO | None = None) -> None:
        self.prefix = prefix
        self.stream = stream
        self.lock = threading.Lock()
        self.unfinished: int | None = None  # whose line is on the screen without its end

    def write(self, rank: int, data: bytes) -> None:
        """Show ``data`` of ``rank``; another rank's line that is not finished is left behind."""
        with self.lock:
            parts = []
            if self.unfinished not in (None, rank):
                parts.append(b"\n")
            fresh = self.unfinished != rank
            for piece in filter(None, ENDS.split(data)):
                if fresh and self.prefix and piece != b"\n":
                    parts.append(b"[%d] " % rank)
                parts.append(piece)
                fresh = piece.endswith((b"\n", b"\r"))
            self.unfinished = None if fresh else rank
            self._put(b"".join(parts))

    def finish(self) -> None:
        """End the line that a rank, now ended, has left without its end: what comes next is not of it."""
        with self.lock:
            if self.unfinished is not None:
                self.unfinished = None
                self._put(b"\n")

    def _put(self, data: bytes) -> None:
        stream = self.stream
        if stream is None:
            sys.stdout.flush()
            stream = getattr(sys.stdout, "buffer", None)
            if stream is None:  # a notebook's, or a test's
                sys.stdout.write(data.decode("utf-8", "replace"))
                return
        stream.write(data)
        stream.flush()


def say(text: str) -> None:
    """A word of the launcher itself."""
    print("\n".join(f"[launch] {line}" for line in text.splitlines()), file=sys.stderr, flush=True)
