"""The nest of a call that has an algorithm."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from typing import Any

from umiak.compiler import algorithms
from umiak.compiler.algorithms.writer import ALGORITHMS, Writer
from umiak.compiler.lower.builder import NotANest
from umiak.compiler.lower.terminal import LaunchBuilder
from umiak.compiler.nest import Chain, Nest
from umiak.ir.meta import Meta
from umiak.ir.program import Operation, Value


@functools.cache
def load_algorithms() -> None:
    """Import the modules of algorithms."""
    for module in pkgutil.iter_modules(algorithms.__path__):
        importlib.import_module(f"{algorithms.__name__}.{module.name}")


def has_algorithm(op: Any) -> bool:
    """Return whether calls of an op may be a body of statements."""
    load_algorithms()
    return type(op) in ALGORITHMS


def algorithm_of(call: Any) -> Nest | Chain:
    """The body of a call (``compiler.plan.Call``) as a nest; raises :class:`NotANest` where there is none."""
    if not has_algorithm(call.op) or call.needs is not None:
        raise NotANest(call.op.name)
    if not call.symbolic:
        raise NotANest("sizes that only Python knows")
    if any(type(x) is complex for x in call.operands):
        raise NotANest("a complex number, which no symbol stands for")
    given = enumerate(call.classes.operands)
    inputs = [Value(m, None, i) if isinstance(m, Meta) else m for i, m in given]
    only = Operation(call.op, inputs, call.classes.params, call.outs)
    placed = [(v, call.strides(i) if type(v) is Value else ()) for i, v in enumerate(inputs)]
    writer = Writer(LaunchBuilder(call.op.name, call.classes.sources, placed, list(only.results)), only)
    ALGORITHMS[type(call.op)](writer)
    return writer.finish()
