"""Meanings of the operators of PaddlePaddle's programs, by subject, as calls of the public API (``table.TABLE``)."""

import importlib
import pkgutil

# Every module of this folder is a subject, or what subjects share.
for _subject in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_subject.name}")
