"""What the operators of PaddlePaddle's programs mean, by subject, as calls of the public API: ``TABLE`` has all."""

import importlib
import pkgutil

from paddle.static.formats.operators.table import TABLE, Operator

# Every module of this folder is a subject.
for _subject in pkgutil.iter_modules(__path__):
    if _subject.name not in ("table", "known"):
        importlib.import_module(f"{__name__}.{_subject.name}")

__all__ = ["TABLE", "Operator"]
