"""Attention on devices that are driven from Python: what a class of calls runs, as kernels of the loop IR."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from umiak.backends.nest_launches import Launches, NestLaunches, Step, Work
from umiak.compiler.attention.form import Form, integers, kind_of, names_of, results_of, strides
from umiak.compiler.attention.kernels import kernels, tiled
from umiak.compiler.loop.tiles import CHUNK
from umiak.compiler.loop.types import STORED
from umiak.compiler.lower.builder import NotANest
from umiak.compiler.plan import Call
from umiak.ops import dot_product_attention as ops

ATTENTION = (ops.Attention, ops.AttentionTrain, ops.AttentionGrad)
TYPES = ("float16", "bfloat16", "float32", "float64")


def launches_of(call: Call, prepare: Callable[[Work], Any], most_shared: int, together: bool = False) -> Launches:
    """The launches of a class of calls on a device whose blocks have so many bytes of shared memory, and four of whose
    warps multiply ``together``; raises NotANest where there are none."""
    if type(call.op) not in ATTENTION:
        return NestLaunches(call, prepare)
    return AttentionLaunches(call, prepare, most_shared, together)


class _Operand(NamedTuple):
    """An operand as it is known when a launch is prepared."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: Any
    aligned: bool

    @classmethod
    def of(cls, x: Any) -> _Operand:
        return cls(tuple(x.shape), tuple(x.strides), x.dtype, x.offset % CHUNK == 0)


class AttentionLaunches(Launches):
    """The launches of a class of calls of attention; raises NotANest for types that are mixed, and where the gradient
    of an added mask is wanted."""

    def __init__(self, call: Call, prepare: Callable[[Work], Any], most_shared: int, together: bool = False) -> None:
        super().__init__(call, prepare)
        op: Any = call.op
        self.op, self.most_shared, self.together, self.name = op, most_shared, together, op.name
        with_lse = isinstance(op, ops.AttentionTrain) or call.needs is not None
        self.inputs, self.outputs = names_of(op), results_of(op, with_lse)
        dtypes: dict[str, Any] = {
            name: meta.dtype for name, meta in zip(self.inputs, call.classes.metas, strict=True) if meta is not None
        }
        dtype = dtypes["query"]
        alike = [dtypes[x] for x in ("query", "key", "value", "out", "grad") if x in dtypes]
        wide = [dtypes[x] for x in ("lse", "grad_lse") if x in dtypes]
        if dtype.name not in TYPES or any(x is not dtype for x in alike) or any(x is not dtype.compute for x in wide):
            raise NotANest(f"{op.name} of {', '.join(x.name for x in (*alike, *wide))}")
        if isinstance(op, ops.AttentionGrad) and op.with_mask:
            raise NotANest(f"{op.name} with the gradient of a mask")

    def values(self, ins: Sequence[Any], words: Sequence[int]) -> tuple:
        return tuple(None if x is None else _Operand.of(x) for x in ins)

    def work(self, values: tuple) -> Work:
        by_name = dict(zip(self.inputs, values, strict=True))
        sizes = integers(by_name, self.op.causal)
        if not sizes["batch"] * sizes["heads"] * max(sizes["queries"], sizes["keys"]):
            return Work((), ())
        form = self.form(by_name, sizes)
        dims = (*sizes.values(), *(s for name in self.inputs for s in strides(name, by_name[name])))
        steps = tuple((Step(k, dims),) for k in kernels(form))
        return Work(form.temporary_sizes(sizes), steps)

    def form(self, by_name: dict[str, Any], sizes: dict[str, int]) -> Form:
        query, value, mask = by_name["query"], by_name["value"], by_name["mask"]
        computed = STORED[query.dtype.compute.name]
        stored = STORED[query.dtype.name]
        inputs = tuple((name, None if x is None else STORED[x.dtype.name]) for name, x in by_name.items())
        outputs = tuple((name, computed if name == "lse" else stored) for name in self.outputs)
        dropout = bool(getattr(self.op, "dropout", False))
        width = CHUNK // stored.bytes
        for x in (by_name[name] for name in ("query", "key", "value", "grad") if name in by_name):
            by_chunks = x.strides[3] == 1 and not x.shape[3] % width and not any(s % width for s in x.strides[:3])
            width = width if by_chunks and x.aligned else 1
        form = Form(
            inputs, outputs, computed, query.shape[3], value.shape[3], kind_of(mask), dropout, width=width,
            together=self.together, softcap=getattr(self.op, "softcap", 0.0),
        )  # fmt: skip
        return tiled(form, self.most_shared, max(sizes["queries"], sizes["keys"]))
