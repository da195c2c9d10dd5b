"""Machine code from LLVM text: ``load(text, names).address(name)``.

``codegen`` makes objects of text (the only part that needs llvmlite, imported at the first compilation), ``cache``
keeps them on disk, ``image`` links an object once into bytes that run at any address, ``arena`` is the memory they run
in, and ``engine`` ties these together for callers. ``orc`` loads what the own linker does not know.
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
