"""LLVM's own loader, for objects that ``image`` does not link: other processors, mutable data, thread-local storage.

One LLJIT serves the process. A library costs about 46 KB and two memory maps; MCJIT takes five times as long per
library and no less memory.
"""

from __future__ import annotations

import itertools
from collections import deque
from typing import Any

from umiak.compiler.jit import codegen, elf
from umiak.compiler.jit.errors import JitError
from umiak.compiler.jit.library import Library
from umiak.compiler.jit.symbols import resolve
from umiak.compiler.jit.target import Target

_SIZE = 46 << 10

_engine: Any = None
_numbers = itertools.count()
_dropped: deque[Any] = deque()


class _Loaded:
    """A library of LLVM's. It may die anywhere, also inside a lock, so it is unloaded before the next one is loaded."""

    def __init__(self, tracker: Any) -> None:
        self._tracker = tracker

    def __del__(self) -> None:
        _dropped.append(self._tracker)


def load_object(data: bytes, target: Target, name: str) -> Library:
    """Load an object file into LLVM's JIT and return its functions; ``name`` is for error messages."""
    global _engine
    parsed = elf.parse(data)
    names = parsed.defined()
    imports = {symbol: resolve(symbol, name) for symbol in parsed.undefined() if symbol != "_GLOBAL_OFFSET_TABLE_"}
    with codegen.LOCK:
        llvm = codegen.binding()
        if _engine is None:
            _engine = llvm.create_lljit_compiler(codegen.target_machine(target), suppress_errors=True)
        while _dropped:
            _dropped.popleft().close()
        builder = llvm.JITLibraryBuilder().add_object_img(data)
        for symbol, address in imports.items():
            builder.import_symbol(symbol, address)
        for symbol in names:
            builder.export_symbol(symbol)
        try:
            tracker = builder.link(_engine, f"umiak{next(_numbers)}")
        except RuntimeError as error:
            raise JitError(f"[jit] requires an object that LLVM can load for {name!r}, got: {error}") from None
        return Library({symbol: tracker[symbol] for symbol in names}, _Loaded(tracker), _SIZE + len(data))
