"""Machine code from LLVM text: ``load(text, names).address(name)``.

``codegen`` makes objects of text (the only part that needs llvmlite, imported at the first compilation), ``link``
makes images of objects, which run at any address, ``store`` keeps them on disk, ``arena`` is the memory they run in,
and ``engine`` ties these together. ``orc`` loads what ``link`` does not know.
"""

from umiak.compiler.jit.arena import check
from umiak.compiler.jit.engine import load, load_many
from umiak.compiler.jit.errors import CompileError, JitError, MemoryDeniedError, SymbolError
from umiak.compiler.jit.library import Library
from umiak.compiler.jit.processor import host
from umiak.compiler.jit.symbols import add_symbol
from umiak.compiler.jit.target import Target

__all__ = [
    "CompileError",
    "JitError",
    "Library",
    "MemoryDeniedError",
    "SymbolError",
    "Target",
    "add_symbol",
    "check",
    "host",
    "load",
    "load_many",
]
