"""The active driver, and functions that are called around launches."""

from triton.runtime.driver import driver

__all__ = ["driver", "hooks"]

hooks = [None, None]
