"""Attention that is spelt out, and masks of it that are, as one operation with a mask by columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from umiak import ops as F
from umiak.compiler.passes.column_attention import Masks
from umiak.compiler.passes.fusion import Found, Made, fuse_operations, tensor
from umiak.compiler.passes.registry import register_pass
from umiak.compiler.passes.spelled_attention import PRODUCTS, Labelled, Spelled, spelled
from umiak.compiler.passes.spelled_mask import Part
from umiak.ir import sym as dim
from umiak.ir.passes import remove_dead
from umiak.ir.program import Operation, Program, Value
from umiak.ir.rewrite import operand_of
from umiak.ir.tracer import Tracer

# Scores of a head below which the matmuls and the softmax between them are as good; with a mask, below which its
# columns are more work than they save. One query, as of a decoder's step, is faster as an operation with any keys where
# no gradient follows (8 heads of 64, 64 and 256 keys: 9 and 50 µs, else 22 and 100), and slower with its gradient.
FEWEST_SCORES = 1024
FEWEST_MASKED_SCORES = 4096
FEWEST_QUERIES = 16  # below which a mask is about as small as its columns

Fewest = Callable[[Any], int]  # scores of a head, by its number of queries


@register_pass("fused_flash_attn_pass")
def fuse_attention(program: Program) -> None:
    """Make one operation of attention that is spelt out as matmul, softmax and matmul.

    A row that a mask of minus infinity hides as a whole gives zeros then, and NaN before.
    """
    _fuse(program, dense=True, fewest=lambda _: 0)
    remove_dead(program)


def fuse_plain_attention(program: Program, live: Tracer | None = None, wanted: Iterable[Value] = ()) -> int:
    """The same where it pays and results are equal but for rounding: without a mask whose data might hide all.

    ``live``: the tracer that is recording the program; ``wanted``: values that must stay. Inputs that get gradients are
    among them, where the program is recorded.
    """
    names = {o.name for o in program.walk()}
    if names.isdisjoint(("softmax", "attention")) and not names >= {"exp", "div"}:
        return 0
    wanted = tuple(wanted)
    forward = live is None and not wanted  # no gradient is asked for

    def fewest(queries: Any) -> int:
        return 0 if forward and type(queries) is int and queries == 1 else FEWEST_SCORES

    return _fuse(program, False, fewest, live, wanted)


def _fuse(
    program: Program, dense: bool, fewest: Fewest, live: Tracer | None = None, wanted: Iterable[Value] = ()
) -> int:
    asked = [*wanted, *(() if live is None else (value for _, value in live.gradient_roots()))]
    still = {id(x) for x in program.inputs} - {id(x) for x in asked}
    masks = Masks(still, branches=not dense, strict=not dense)
    fusion = partial(_attention, masks, dense, fewest)
    rules = [*((name, fusion) for name in PRODUCTS), ("attention", partial(_masked_call, masks))]
    return fuse_operations(program, rules, live, wanted)


def _attention(masks: Masks, dense: bool, fewest: Fewest, found: Found, o: Operation) -> Callable[[], Made] | None:
    """Attention of a product of weights and values."""
    parts = spelled(found, o)
    if parts is None or _fewer(parts, fewest(parts.sizes[2])):
        return None
    if parts.masks and _pays(parts) and (build := masks.fusion(o, parts, found.kept)) is not None:
        return build
    if not parts.masks:
        return partial(_dense, o, parts)
    if not (dense or parts.guarded):
        return None
    causal = [p for p in parts.masks if masks.is_causal(parts, p, found.kept)]
    rest = [p for p in parts.masks if p not in causal]
    if len(rest) > 1 or not all(_is_operand(p, parts) for p in rest):
        return None
    return partial(_dense, o, parts, rest[0] if rest else None, bool(causal))


def _fewer(parts: Spelled, scores: int) -> bool:
    """Return whether a head is known to have fewer scores."""
    _, _, queries, keys = parts.sizes
    return type(queries) is int and type(keys) is int and queries * keys < scores


def _pays(parts: Spelled) -> bool:
    """Return whether columns may be less work than the mask."""
    queries = parts.sizes[2]
    return not (_fewer(parts, FEWEST_MASKED_SCORES) or (type(queries) is int and queries < FEWEST_QUERIES))


def _is_operand(mask: Part, parts: Spelled) -> bool:
    """Return whether a mask can be an operand of the operation."""
    own = mask.mask.meta.dtype
    if mask.kind == "added":
        return own is parts.dtype
    return bool(own and own.is_bool) and type(mask.fill) is float and mask.fill == float("-inf")


def _dense(o: Operation, parts: Spelled, part: Part | None = None, causal: bool = False) -> Any:
    mask = None if part is None else tensor(_narrowest(part.mask, parts))
    if part is not None and part.kind == "hidden":
        mask = F.logical_not(mask)
    if mask is not None and "h" not in parts.labels and mask.ndim == 3:
        mask = F.unsqueeze(mask, axes=(1,))
    return parts.result(F.attention(*parts.operands(), mask, causal=causal, scale=parts.scale), o)


def _narrowest(mask: Value, parts: Spelled) -> Value:
    """A mask before it was repeated, where it is known to have dims of 1 or those of the scores then."""
    sizes = [n for n, label in zip(parts.sizes, "bhqk", strict=True) if label in parts.labels or label == "k"]
    while (wide := operand_of(mask, "broadcast_to")) is not None:
        source: Any = wide.operands[0]
        if not all(dim.expands(n, m) for n, m in zip(reversed(source.meta.shape), reversed(sizes), strict=False)):
            break
        mask = source
    return mask


def _masked_call(masks: Masks, found: Found, o: Operation) -> Callable[[], Made] | None:
    """A call of attention with a mask of queries by keys."""
    q, k, v, mask = o.operands
    if type(mask) is not Value or mask.meta.dtype is None or mask.meta.dtype.is_integer:
        return None
    labelled = Labelled(q, "bqhd"), Labelled(k, "bkhd"), Labelled(v, "bkhe")  # type: ignore[arg-type]
    part = Part("visible" if mask.meta.dtype.is_bool else "added", mask)
    parts = Spelled(*labelled, "bqhe", o.params[0], (part,), v.meta.dtype)  # type: ignore[union-attr, arg-type]
    return masks.fusion(o, parts, found.kept, o.op.causal) if _pays(parts) else None
