"""Checksums of bytes, with the name of their algorithm in front: ``xxh3:…``, or ``blake2:…`` without xxhash."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from functools import cache
from typing import Any

from umiak.util import flags
from umiak.util.errors import op_error

FORM = re.compile("(?:xxh3|blake2):[0-9a-f]{32}")  # of a checksum as text
VERIFY = flags.define("verify_checksums", True, "compare what is read from files with the checksums stored there")


def _blake2() -> Any:
    return hashlib.blake2b(digest_size=16)


@cache
def _algorithm(name: str) -> Callable[[], Any] | None:
    if name == "blake2":
        return _blake2
    if name == "xxh3":
        try:
            import xxhash
        except ImportError:
            return None
        return xxhash.xxh3_128
    return None


class Checksum:
    """``update`` it with buffers in order; ``text()`` is the checksum. With ``like``, by the algorithm of that one.

    Raises:
        ModuleNotFoundError: ``like`` is by an algorithm that is not installed.
    """

    def __init__(self, like: str | None = None) -> None:
        self.name = like.partition(":")[0] if like else "xxh3" if _algorithm("xxh3") else "blake2"
        algorithm = _algorithm(self.name)
        if algorithm is None:
            hint = "Install it, or read with FLAGS_verify_checksums=0"
            raise op_error(ModuleNotFoundError, "checksum", "xxhash", f"none for {like!r}", hint)
        self.state = algorithm()
        self.update: Callable[[Any], Any] = self.state.update

    def text(self) -> str:
        return f"{self.name}:{self.state.hexdigest()}"


def checksum(data: Any) -> str:
    """The checksum of one buffer."""
    sum_ = Checksum()
    sum_.update(data)
    return sum_.text()
