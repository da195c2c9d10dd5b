"""Sharding rules in C++ as rules in words (docs/design/spmd.md): they are asked about one dim at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from paddle.utils.cpp_extension.variables import flattened
from umiak.core.extension import Declaration, Facts
from umiak.ir.meta import Meta
from umiak.ops._common import shard_string
from umiak.ops.custom_op import listed

_SIZE = 64  # of dims whose size is a symbol


def rule(declaration: Declaration, args: Sequence[Any], infer: Callable[..., Any]) -> str:
    """The rule for arguments, metas in place of tensors."""
    tensors = flattened([x for x in args if _is_tensors(x)])
    ranks = [len(m.shape) for m in tensors]
    results = [len(m.shape) for m in listed(infer(*args))]
    names = [[""] * rank for rank in ranks]
    outputs = [["1"] * rank for rank in results]
    reductions: dict[str, str] = {}
    for t, rank in enumerate(ranks):
        for d in range(rank):
            if names[t][d]:
                continue
            name = names[t][d] = f"x{t}_{d}"
            wanted, given = declaration.mappings(_placed(args, t, d))
            if len(wanted) != len(ranks) or len(given) != len(results):
                raise ValueError(
                    f"[{declaration.label}] requires places of {len(ranks)} inputs and {len(results)} outputs from its "
                    f"InferSpmdFn, got {len(wanted)} and {len(given)}"
                )
            if wanted[t][0][d] != 0:
                reductions[name] = "replicated"
                continue
            for own, (mapping, _) in zip(names, wanted, strict=True):
                for k, axis in enumerate(mapping):
                    own[k] = name if axis == 0 and not own[k] else own[k]
            reached = False
            for own, (mapping, partial) in zip(outputs, given, strict=True):
                reached |= 0 in mapping
                for k, axis in enumerate(mapping):
                    own[k] = name if axis == 0 else own[k]
                if 0 in partial:
                    reductions[name] = "sum"
            if not reached and name not in reductions:
                reductions[name] = "replicated"
    return shard_string(names, outputs, **reductions)


def _is_tensors(x: Any) -> bool:
    return isinstance(x, Meta) or (isinstance(x, (list, tuple)) and any(isinstance(m, Meta) for m in x))


def _placed(args: Sequence[Any], tensor: int, dim: int) -> tuple:
    """The arguments, of which one tensor is sharded on one dim."""
    at = -1

    def placed(x: Any) -> Any:
        nonlocal at
        if isinstance(x, Meta):
            at += 1
            assert x.dtype is not None
            sizes = tuple(n if isinstance(n, int) else _SIZE for n in x.shape)
            return Facts(sizes, x.dtype, [0 if (at, d) == (tensor, dim) else -1 for d in range(len(sizes))])
        return tuple(map(placed, x)) if isinstance(x, (list, tuple)) else x

    return tuple(map(placed, args))
