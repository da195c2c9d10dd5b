"""What older operators become, by subject: rows of the table, and rules for those that a row cannot say."""

import importlib
import pkgutil

# Every module of this folder is a subject.
for _subject in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_subject.name}")
