"""Programs in our operators as modules in those of PaddlePaddle, which every writer of files takes.

What an op becomes is said in ``emit``, by subject. Ops without an operator of their own are written as what they mean
in smaller ones; those that cannot be written at all are named together.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from paddle.static.formats.emit import (
    control,
    creation,
    custom_op,
    detection,
    elementwise,
    indexing,
    losses,
    norms,
    products,
    recurrent,
    reductions,
    shapes,
    windows,
)
from paddle.static.formats.emit.emitter import ANYWHERE, Attribute, Emitter, element, i32, text, type_of
from paddle.static.formats.graph import DATA, FETCH, Module, TensorType
from paddle.static.formats.pir import ELEMENTS
from umiak.core.tensor import Tensor
from umiak.ir.program import Program, Value

# Imported for what they enter in the table.
_SUBJECTS = (
    control, creation, custom_op, detection, elementwise, indexing, losses, norms, products, recurrent, reductions,
    shapes, windows,
)  # fmt: skip


class Untranslatable(ValueError):
    """A program that the operators of PaddlePaddle cannot say; ``what``: names of ops and numbers."""

    def __init__(self, what: Sequence[str]) -> None:
        super().__init__(f"the operators of PaddlePaddle have none for {', '.join(what)}")
        self.what = list(what)


class Translated(NamedTuple):
    """A module, and the tensors that it reads, by name."""

    module: Module
    parameters: dict[str, Tensor]


def translate(
    program: Program,
    feeds: Sequence[str],
    results: int,
    kept: Mapping[str, str],
    others: Mapping[str, Tensor] = MappingProxyType({}),
    spelt: Collection[type] = (),
) -> Translated:
    """A program over its tensors (``Program.captured``) as a module.

    ``feeds``: names of its arguments; ``results``: how many of its outputs are fetched, the others are not looked at;
    ``kept``: names of the tensors that are kept between runs, by names of constants; others are constants. ``others``:
    tensors by name that the module declares, though it does not read them. ``spelt``: composites that are written as
    what they mean in smaller ops, though an operator says them.

    Raises:
        Untranslatable: operators that there are none for.
    """
    e = Emitter(program, spelt)
    e.note(program)
    for name, x in others.items():
        if name not in kept.values():
            e.parameter(x, name)
    e.constants(program, kept)
    for name, value in zip(feeds, program.arguments(), strict=True):
        kind = type_of(value.meta)
        attributes = {
            "name": text(name), "shape": Attribute("intarray", kind.shape), "dtype": element(kind.dtype),
            "place": ANYWHERE,
        }  # fmt: skip
        e.bind(value, e.append(DATA, [], [kind], attributes)[0])
        e.block.operations[-1].traits["stop_gradient"] = [not e.flowing(e.of(value))]
    e.conditions()
    e.operations(program.ops)
    e.conditions(last=True)
    fetched = [x for x in program.outputs[:results] if type(x) is Value]
    fed = {id(v): name for name, v in zip(feeds, program.arguments(), strict=True)}
    for i, value in enumerate(fetched):  # an input that is returned keeps its name
        attributes = {"name": text(fed.get(id(value), f"fetch_name_{i}")), "col": i32(i)}
        e.append(FETCH, [e.of(value)], [type_of(value.meta)], attributes)
        e.block.operations[-1].traits = {"persistable": [True], **e.block.operations[-1].traits}
    for o in e.block.walk():
        for kind in (x.type for x in o.results if isinstance(x.type, TensorType)):
            if kind.dtype not in ELEMENTS.values():
                e.missing.setdefault(f"tensors of {kind.dtype}")
    if e.missing:
        raise Untranslatable(list(e.missing))
    return Translated(Module(e.block, trainable=True), e.parameters)
