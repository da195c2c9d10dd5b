"""What a backend is, and where backends are found.

A backend serves one device type: it owns the memory of its places and offers kernels. All of them, our own included, are found through the
entry point group ``umiak.backends`` (name = device type, object = a callable that returns a :class:`Backend`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any

from umiak.core.place import Place

GROUP = "umiak.backends"


@dataclass
class Kernel:
    """One way to run an op: a native launch function (``address``, ``launch_self``), or Python ``run(op, outs, ins, params)``.

    ``residuals``: whether it also writes the residuals of ``forward_train`` when the plan has them as further outputs.
    """

    address: int = 0
    launch_self: int = 0
    run: Callable[[Any, list, list, tuple], None] | None = None
    residuals: bool = False
    keep: Any = None

    def install(self, plan: Any) -> None:
        plan.set_kernel(self.address, self.launch_self, self.run, self.keep)


class Backend:
    """Base of backends. ``device_type`` is the name places use: ``Place("null", 3)``."""

    device_type: str = ""
    has_streams: bool = False
    priority: int = 0  # among backends that can serve the places called "cpu", the highest does

    def device_count(self) -> int:
        return 1

    def allocator(self, place: Place) -> Any:
        """The core allocator that serves ``place``."""
        raise TypeError(f"backend {self.device_type!r} defines no allocator")

    def kernel(self, op: Any, metas: Sequence[Any], modes: int) -> Kernel | None:
        """The kernel for an op on a class of operands, or None to have it decomposed."""
        return None

    def supports(self, op: Any) -> bool:
        """Whether the op runs here, by a kernel or by its decomposition."""
        return op.view or op.decompose is not None or self.kernel(op, (), 0) is not None


BACKENDS: dict[str, Backend] = {}


def add(backend: Backend) -> Backend:
    """Register a backend object under its device type."""
    BACKENDS[backend.device_type] = backend
    return backend


def backend_of(place: Place) -> Backend:
    """The backend that serves a place."""
    found = BACKENDS.get(place.device_type)
    if found is None:
        raise ValueError(f"[place] requires one of the devices {sorted(BACKENDS)}, got {place}. Install a backend for it.")
    return found


def discover() -> None:
    """Load every entry point of the group. A broken one is reported and skipped."""
    for entry in entry_points(group=GROUP):
        try:
            add(entry.load()())
        except Exception as error:  # whatever a plug-in raises must not stop the others
            warnings.warn(f"backend {entry.name!r} ({entry.value}) was skipped: {type(error).__name__}: {error}", RuntimeWarning, stacklevel=2)
