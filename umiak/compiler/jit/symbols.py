"""Names that machine code may call: registered ones, then those of the process and of the C mathematics library.

Objects hold names; addresses are looked up when an object is loaded.
"""

from __future__ import annotations

import contextlib
import ctypes

from umiak.compiler.jit.errors import SymbolError
from umiak.util.errors import op_error

_registered: dict[str, int] = {}
_process: list[ctypes.CDLL] = []


def add_symbol(name: str, address: int) -> None:
    """Let texts call ``name`` at ``address``. A name keeps its first address: loaded code already jumps there."""
    if not isinstance(address, int) or address <= 0:
        raise op_error(ValueError, "jit.add_symbol", "an address that is not null", f"{address!r} for {name}")
    if _registered.setdefault(name, address) != address:
        raise op_error(
            ValueError, "jit.add_symbol", f"one address per name ({name} is at {_registered[name]:#x})", f"{address:#x}"
        )


def resolve(name: str, user: str) -> int:
    """The address of ``name``; ``user`` is the kernel that needs it."""
    address = _registered.get(name) or _in_process(name)
    if address is None:
        raise SymbolError(
            f"[jit] requires every symbol that {user!r} uses, got none called {name!r} "
            f"(neither registered with jit.add_symbol nor exported by a library of this process)"
        )
    return address


def _in_process(name: str) -> int | None:
    if not _process:
        _process.append(ctypes.CDLL(None))
        with contextlib.suppress(OSError):  # C libraries other than glibc have it built in
            _process.append(ctypes.CDLL("libm.so.6"))
    for library in _process:
        try:
            return ctypes.cast(getattr(library, name), ctypes.c_void_p).value
        except AttributeError:
            continue
    return None
