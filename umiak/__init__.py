"""Umiak: the engine under the ``paddle`` package."""

__version__ = "0.1.0"
