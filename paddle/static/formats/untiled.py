"""Models whose weights of few bits lie in rows: those of the reference lie in tiles, which a call would reorder."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from paddle.nn import quant
from paddle.static.formats.graph import PARAMETER, Block, Module, Operation
from paddle.static.formats.operators.weight_tiles import from_tiles
from paddle.static.formats.recompose import Recomposed
from umiak.core.array import from_numpy
from umiak.core.context import no_grad_guard
from umiak.core.tensor import Tensor
from umiak.runtime.program_tracer import outside

_LINEAR, _AT = "pd_op.weight_only_linear", 1  # which operand is the weight


class _Stored(NamedTuple):
    bits: int
    arch: int


def untiled(module: Module, values: dict[str, Any]) -> tuple[Module, dict[str, Any]]:
    """A module and the values of its parameters, with those in rows that were in tiles; the same where there are none.

    It is for whoever owns the values: further ones from the model's file would be in tiles.
    """
    stored = _stored(module)
    held = [(o.results[0].number, o.plain("parameter_name")) for o in module.named(PARAMETER)]
    orders: dict[str, set[_Stored | None]] = {}  # by names: a file may name one twice
    for n, name in held:
        orders.setdefault(name, set()).add(stored.get(n))
    names = {n: name for n, name in held if name in values and orders[name] == {stored.get(n)} and n in stored}
    rows: dict[str, Tensor] = {}
    for n, name in list(names.items()):
        try:
            with outside(), no_grad_guard():
                x = values[name]
                rows[name] = from_tiles(from_numpy(x) if isinstance(x, np.ndarray) else x, *stored[n])
        except ValueError:  # of other sizes: the call says so
            del names[n]
    if not names:
        return module, values
    return replace(module, block=_plain(module.block, names.keys())), {**values, **rows}


def _stored(module: Module) -> dict[int, _Stored]:
    """Values that nothing reads but such products, as weights in one order."""
    found: dict[int, set[_Stored | None]] = {}
    for o in module.block.walk():
        for i, n in enumerate(o.operands):
            if n is not None:
                found.setdefault(n, set()).add(_order(o) if o.name == _LINEAR and i == _AT else None)
    one = {n: next(iter(orders)) for n, orders in found.items() if len(orders) == 1}
    return {n: order for n, order in one.items() if order is not None}


def _order(o: Operation) -> _Stored | None:
    bits, arch = {"int8": 8, "int4": 4}.get(o.plain("weight_dtype", "int8")), o.plain("arch", 80)
    return _Stored(bits, arch) if bits is not None and type(arch) is int else None


def _plain(block: Block, numbers: Collection[int]) -> Block:
    """A block whose products by these weights take rows."""
    made: list[Operation] = []
    for o in block.operations:
        if o.regions:
            o = replace(o, regions=[_plain(r, numbers) for r in o.regions])
        if o.name == _LINEAR and o.operands[_AT] in numbers:
            o = Recomposed(
                "umiak.weight_only_linear", o.operands, o.attributes, o.results, [], o.traits, partial(_product, o)
            )
        made.append(o)
    return replace(block, operations=made)


def _product(o: Operation, x: Tensor, weight: Tensor, bias: Tensor | None, scale: Tensor) -> Tensor:
    kind, size = o.plain("weight_dtype", "int8"), o.plain("group_size", -1)
    return quant.weight_only_linear(x, weight, bias, scale, kind, group_size=size)
