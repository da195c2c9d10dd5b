"""Effects of a program on the host: checks of data, and text that is printed.

They are one order class, so that checks and texts come in the order of the code. ``umiak/runtime/host.py`` runs them.
"""

from __future__ import annotations

from typing import ClassVar

from umiak.core import dtype as dt
from umiak.ir.meta import Meta
from umiak.ops.base import Op, register
from umiak.ops.control import is_flag


class OnHost(Op):
    """An op that reads its operands on the host. Its result, a true flag, means that it is done."""

    packed = True
    amp = "keep"
    vjp = None
    effect: ClassVar[str] = "host"


@register
class Require(OnHost):
    """Raise the built-in exception ``kind`` with ``args`` where ``flag`` is false.

    ``place``: file, line and function that the traceback of the error ends with.
    """

    inputs = ("flag",)
    kind: str
    args: tuple = ()
    place: tuple = ()

    def infer(self, flag):
        if not is_flag(flag):
            self.fail(TypeError, "a bool with one element", flag)
        return Meta((), dt.bool)


@register
class WriteText(OnHost):
    """Write ``pieces`` to the standard output, with the tensors between them."""

    inputs = ("*xs",)
    pieces: tuple

    def infer(self, *xs):
        if len(self.pieces) != len(xs) + 1:
            self.fail(ValueError, f"{len(xs) + 1} pieces of text around {len(xs)} tensors", len(self.pieces))
        return Meta((), dt.bool)
