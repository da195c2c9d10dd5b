"""Error of a name of the reference that Umiak lacks: it says that the name is missing, and suggests nothing similar.

Nothing is done before such a name is asked for, and ``hasattr`` stays False.
"""

from __future__ import annotations

import sys
from opcode import opmap
from types import FrameType, ModuleType
from typing import Any

from paddle._absent_names import NAMES
from paddle._paths import is_made

_IMPORT_FROM = opmap["IMPORT_FROM"]
_KERNELS = ("paddle._C_ops", "paddle._legacy_C_ops")  # modules of the reference's kernels by name


def _message(full: str) -> str:
    if full.rpartition(".")[0] in _KERNELS:
        return f"{full} is not in Umiak: call the public function of the same meaning, and paddle.grad for a gradient"
    return f"{full} is not in Umiak yet"


def _error(owner: str, name: str, known: bool) -> AttributeError:
    if known:
        # Python suggests a similar name of `obj`: an object without any.
        return AttributeError(_message(f"{owner}.{name}"), name=name, obj=object())
    return AttributeError(f"module {owner!r} has no attribute {name!r}", name=name, obj=sys.modules.get(owner))


def refuse(module: str, name: str, known: bool, asking: FrameType) -> Exception:
    """The error for a name that a module does not have; ``known``: the reference has it."""
    if known and asking.f_lasti >= 0 and asking.f_code.co_code[asking.f_lasti] == _IMPORT_FROM:
        # `from paddle import name` would replace the message of an AttributeError by its own.
        return ImportError(_message(f"{module}.{name}"), name=f"{module}.{name}")
    return _error(module, name, known)


class Finder:
    """Import hook, asked last: refuses a module that the reference has and no other finder has found.

    It has no base: ``importlib.abc`` takes longer to load than all that a program may never ask for.
    """

    def find_spec(self, fullname: str, path: Any = None, target: ModuleType | None = None) -> None:
        parent, _, leaf = fullname.rpartition(".")
        if (parent in NAMES and leaf in NAMES[parent].split()) or is_made(parent):
            # An import fails with a message; importlib.util.find_spec, which only asks, gets None.
            if sys._getframe(2).f_code.co_name == "_find_and_load_unlocked":
                raise ModuleNotFoundError(_message(fullname), name=fullname)
