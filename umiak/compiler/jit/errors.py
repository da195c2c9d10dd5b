"""Errors of the JIT: from a text to its address."""

from __future__ import annotations


class JitError(RuntimeError):
    """Machine code could not be made or loaded."""


class CompileError(JitError):
    """LLVM refused a text, which is kept as ``text``."""

    text: str = ""


class SymbolError(JitError):
    """A text uses a name that nothing defines, or lacks one that was asked for."""


class MemoryDeniedError(JitError):
    """The system does not let this process run code that it wrote."""
