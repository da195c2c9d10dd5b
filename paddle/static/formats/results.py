"""Results of a module that the reference's predictors tell apart.

They give a result the name of its fetch. An input keeps the name that it has, so one that is fetched is met twice and
refused; and of two results that are equal, which they merge, the first has no name any more.
"""

from __future__ import annotations

from paddle.static.formats.equal import first_equals, free_numbers
from paddle.static.formats.graph import DATA, FETCH, Attribute, Module, Operation, Result


def part_results(module: Module) -> None:
    """Fetch a copy of an input, and of what is equal to another result: a copy of the copy of that."""
    first, numbers = first_equals(module), free_numbers(module)
    made_by = {r.number: (o, r) for o in module.block.operations for r in o.results}
    fetched: dict[int, Result] = {}  # by the first of equal values: what is fetched, and then the last copy of it
    done: list[Operation] = []
    for o in module.block.operations:
        if o.name == FETCH and o.operands[0] is not None:
            maker, x = made_by[o.operands[0]]
            same, taken = first[x.number], maker.name == DATA
            if taken:
                o.attributes["name"] = Attribute("str", f"fetch_name_{o.plain('col')}")
            if taken or same in fetched:
                copy = Result(next(numbers), x.type)
                stops = {"stop_gradient": maker.traits.get("stop_gradient", [True])[:1]}
                done.append(Operation("pd_op.assign", [fetched.get(same, x).number], {}, [copy], [], stops))
                o.operands, x = [copy.number], copy
            fetched[same] = x
        done.append(o)
    module.block.operations = done
