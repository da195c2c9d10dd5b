"""``torch.torch_version`` of this package under PyTorch's name, and names of ``torch.version``."""

from __future__ import annotations

import re
from typing import Any

from paddle.device.cuda import device_count
from paddle.version import commit, full_version
from umiak import backends
from umiak.core.place import Place

# In PyTorch these are texts or None, by which packages choose; functions, as paddle.version has, would all be true.
hip = xpu = None
debug = False
git_version = commit


def _numbers(version: object) -> tuple[int, ...]:
    """The numbers at the start of a version, without zeros at their end: ``2.4`` is ``2.4.0``."""
    if isinstance(version, tuple):
        numbers = [int(n) for n in version]
    else:
        numbers = [int(n) for n in re.findall(r"\d+", re.split(r"[^\d.]", str(version))[0])]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


class TorchVersion(str):
    """A version that compares by its numbers, with strings and with tuples of numbers."""

    def __lt__(self, other: Any) -> bool:
        return _numbers(self) < _numbers(other)

    def __le__(self, other: Any) -> bool:
        return _numbers(self) <= _numbers(other)

    def __gt__(self, other: Any) -> bool:
        return _numbers(self) > _numbers(other)

    def __ge__(self, other: Any) -> bool:
        return _numbers(self) >= _numbers(other)

    def __eq__(self, other: object) -> bool:
        return _numbers(self) == _numbers(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(_numbers(self))


__version__ = TorchVersion(full_version)


def __getattr__(name: str) -> str | None:
    """``cuda``: the version of CUDA that the driver has, None without a device."""
    if name != "cuda":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if not device_count():
        return None
    backend: Any = backends.get(Place("gpu", 0))
    version = backend.driver.driver_get_version()
    return f"{version // 1000}.{version % 1000 // 10}"
