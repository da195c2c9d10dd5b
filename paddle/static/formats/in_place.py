"""Copies without which the reference's predictors overwrite or misread what oneDNN has made.

They have oneDNN compute what it can, and let other kernels write into an operand that nobody else reads. What comes
from oneDNN is read through a view there, of which each reader has its own: of ``h = x @ w; y = silu(h)`` the second
writes over ``h``, and whatever reads that afterwards gets the wrong numbers, in files of the reference as in ours.
Matmuls misread what convolutions leave in blocks of channels, and what was broadcast of two; leaky relus end the
process as a part of convolutions without a bias; what reads the results of a branch does not ask how they lie. Where
a change of shape is fused with what it reads, or is read by, the result keeps the type that it had, which lists of
tensors are checked against. ``tile`` by 1 is a copy that oneDNN does not make: plain memory of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from paddle.static.formats.equal import first_equals, free_numbers
from paddle.static.formats.graph import (
    COMBINE,
    SPLIT,
    YIELD,
    Attribute,
    Block,
    Module,
    Operation,
    Result,
    TensorType,
    reads,
)

# Operators that oneDNN computes, of operands in float32.
_BY_ONEDNN = frozenset({
    "abs", "add", "add_n", "batch_norm", "bilinear_interp", "cast", "clip", "concat", "conv2d", "conv2d_transpose",
    "conv3d", "depthwise_conv2d", "elu", "exp", "expand", "flatten", "gelu", "hardswish", "layer_norm", "leaky_relu",
    "log_softmax", "lrn", "matmul", "max", "mean", "min", "mish", "multiply", "nearest_interp", "pad", "pad3d",
    "pool2d", "prelu", "relu", "relu6", "reshape", "round", "scale", "sigmoid", "slice", "softmax", "softplus",
    "split", "split_with_num", "sqrt", "squeeze", "stack", "subtract", "sum", "swish", "tanh", "transpose",
})  # fmt: skip
# Other operators with a form that writes into an operand.
_WRITING = frozenset({
    "acos", "acosh", "addmm", "asin", "asinh", "assign", "atan", "atanh", "ceil", "copysign", "cos", "cosh", "cumprod",
    "cumsum", "digamma", "divide", "dropout", "erf", "erfinv", "expm1", "floor", "floor_divide", "gammaincc",
    "gammaln", "hardtanh", "i0", "index_add", "index_put", "lerp", "lgamma", "log", "log10", "log1p", "log2", "logit",
    "masked_fill", "polygamma", "pow", "put_along_axis", "reciprocal", "remainder", "renorm", "rsqrt", "scatter",
    "set_value", "set_value_with_tensor", "silu", "sin", "sinh", "square", "tan", "thresholded_relu", "tril", "triu",
    "trunc", "where",
})  # fmt: skip
# Those that oneDNN leaves to others where an operand is no float32, as ``cast`` makes it.
_WRITING_OTHER_TYPES = _WRITING | {
    "abs", "add", "bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or", "bitwise_right_shift",
    "bitwise_xor", "clip", "exp", "logical_and", "logical_not", "logical_or", "logical_xor", "multiply",
    "relu", "round", "scale", "sigmoid", "softmax", "sqrt", "subtract", "tanh",
}  # fmt: skip
# Operators whose result may be in the memory of an operand, in float32 and else.
_VIEWING = frozenset({"unsqueeze"})
_VIEWING_OTHER_TYPES = frozenset({"unsqueeze", "squeeze", "reshape", "flatten"})


# Operators whose results oneDNN may keep in blocks of channels, and those that leave them so.
_BLOCKING = frozenset({"conv2d", "conv2d_transpose", "conv3d", "depthwise_conv2d"})
_BLOCKED = (_BY_ONEDNN | {COMBINE, SPLIT}) - {
    "matmul", "reshape", "transpose", "flatten", "squeeze", "cast", "max", "min", "mean", "sum",
}  # fmt: skip
# Those that misread blocks: matmuls; and what crashes as a part of a convolution without a bias.
_MISREADING = frozenset({"matmul", "leaky_relu"})
_BROADCASTING = frozenset({"add", "subtract", "multiply"})

# Pairs of operators that become one, whose result has the sizes of the second and the type of the first.
_FUSED = frozenset({("transpose", "reshape"), ("transpose", "unsqueeze"), ("squeeze", "transpose")})


def _short(o: Operation) -> str:
    return o.name.removeprefix("pd_op.").removesuffix("_")


def keep_operands(module: Module) -> None:
    """Give operators that might write into an operand a copy of it, where something else reads it afterwards."""
    _Keeping(module).block(module.block, {}, set())


class _Keeping:
    """``first``: of equal values the first, as their passes merge them; ``roots``: whose memory values are in, too."""

    def __init__(self, module: Module) -> None:
        self.first, self.numbers = first_equals(module), free_numbers(module)
        self.stopped = {
            r.number
            for o in module.block.walk()
            for r, stop in zip(o.results, o.traits.get("stop_gradient", ()), strict=False)
            if stop
        }
        self.roots: dict[int, frozenset[int]] = {}
        self.shapes: dict[int | None, tuple[int, ...]] = {}
        self.blocked: set[int | None] = set()  # what may lie in blocks of channels or in another order of axes

    def block(self, block: Block, around: dict[int, Result], later: set[int]) -> None:
        """``around``: what oneDNN may have made outside; ``later``: what is read when the block is done."""
        read = [{self.first[n] for n in reads(o)} for o in block.operations]
        last = {n: i for i, numbers in enumerate(read) for n in numbers}  # the last reader of each value
        views = dict(around)
        listed = {n for o in block.operations if o.name == COMBINE for n in o.operands}
        makers: dict[int | None, str] = {}
        made: list[Operation] = []
        for i, o in enumerate(block.operations):
            name = _short(o)
            place = 1 if name == "where" else 0  # of the operand that is written into
            n = o.operands[place] if len(o.operands) > place else None
            x = None if n is None else views.get(self.first[n])
            if x is not None:
                roots = self.roots.get(x.number, frozenset()) | {x.number}
                if name in (_VIEWING if _narrow(x) else _VIEWING_OTHER_TYPES):
                    views[self.first[o.results[0].number]] = made_here = o.results[0]
                    self.roots[made_here.number] = roots
                elif name in (_WRITING if _narrow(x) else _WRITING_OTHER_TYPES) and any(
                    last.get(n, -1) > i or n in later for n in roots
                ):
                    made += self.copied(x, o, place)
            if name in _MISREADING:
                for k, n in enumerate(o.operands):
                    if n in self.blocked and n in views:
                        made += self.copied(views[n], o, k)
            if (
                name in _BLOCKING
                or self.broadcast(name, o)
                or (name in _BLOCKED and not self.blocked.isdisjoint(o.operands))
            ):
                self.blocked.update(r.number for r in o.results)
            if (makers.get(n), name) in _FUSED and o.results[0].number in listed and n in views:
                made += self.copied(views[n], o, place)
            if o.name == YIELD:
                made += self.yielded(o, views)
            made.append(o)
            makers.update({r.number: name for r in o.results})
            self.shapes.update({r.number: r.type.shape for r in o.results if isinstance(r.type, TensorType)})
            if o.regions:
                behind = later.union(n for n in last if last[n] > i)
                if name == "while":  # another iteration follows
                    behind |= read[i]
                for region in o.regions:
                    self.block(region, views, behind)
            if o.name == SPLIT or name in _BY_ONEDNN:
                views.update({r.number: r for r in o.results if _narrow(r) or name == "cast"})
        block.operations = made

    def broadcast(self, name: str, o: Operation) -> bool:
        """Return whether both operands are broadcast: results have the order of axes that one with 1s seems to have."""
        if name not in _BROADCASTING:
            return False
        shapes = [self.shapes.get(n) for n in o.operands]
        return None not in shapes and getattr(o.results[0].type, "shape", None) not in shapes

    def yielded(self, o: Operation, views: dict[int, Result]) -> Iterator[Operation]:
        """Copies of what a region yields: results of branches and loops are read as if other kernels had made them."""
        for i, n in enumerate(o.operands):
            if n is not None and (x := views.get(self.first[n])) is not None:
                yield from self.copied(x, o, i)

    def copied(self, x: Result, o: Operation, place: int) -> list[Operation]:
        """Operations that copy ``x``, which ``o`` reads in its stead."""
        assert isinstance(x.type, TensorType)
        rank = len(x.type.shape)
        by, copy = Result(next(self.numbers), TensorType("int64", (rank,))), Result(next(self.numbers), x.type)
        o.operands = [copy.number if i == place else n for i, n in enumerate(o.operands)]
        line = {k: v for k, v in o.attributes.items() if k == "op_callstack"}
        ones = {
            "value": Attribute("array", (Attribute("i64", 1),) * rank), "dtype": Attribute("dtype", "int64"),
            "place": Attribute("place", (1, 0, "")),
        }  # fmt: skip
        stops = {"stop_gradient": [x.number in self.stopped]}
        return [
            Operation("pd_op.full_int_array", [], ones | line, [by], [], {"stop_gradient": [True]}),
            Operation("pd_op.tile", [x.number, by.number], dict(line), [copy], [], stops),
        ]


def _narrow(x: Result) -> bool:
    return isinstance(x.type, TensorType) and x.type.dtype == "float32"
