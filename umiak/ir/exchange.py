"""An operation exchanged for others, while its results stay the values that whoever reads them holds."""

from __future__ import annotations

from collections.abc import Sequence

from umiak.ir.program import Block, Operation, Value


def exchange(block: Block, operation: Operation, made: Sequence[Operation], results: Sequence[Value]) -> None:
    """Put ``made`` in the place of ``operation``, whose results take the place of ``results``, distinct ones of
    ``made``."""
    identity = {id(new): old for new, old in zip(results, operation.results, strict=True)}
    for o in made:
        o.operands = tuple(identity.get(id(x), x) for x in o.operands)
        o.results = tuple(identity.get(id(r), r) for r in o.results)
        for i, r in enumerate(o.results):
            r.producer, r.index = o, i
        o.recompute = operation.recompute
    at = next(i for i, o in enumerate(block.operations) if o is operation)
    block.operations[at : at + 1] = made
