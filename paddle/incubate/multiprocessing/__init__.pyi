"""Made by ``tools/public_stubs.py``."""

__all__ = []
