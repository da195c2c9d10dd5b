"""Kernels of nests: a launcher per class of calls, whose variants are compiled when strides first ask for them."""

from __future__ import annotations

import time
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

from umiak.backends.base import Kernel
from umiak.backends.cpu import work
from umiak.backends.cpu.chain import ALWAYS, APART, TOGETHER, ChainLauncher
from umiak.backends.cpu.launcher import MAX_ACCESSES, MOST_AXES, NestLauncher
from umiak.backends.ref.evaluate import evaluate
from umiak.compiler import jit, schedule, statistics
from umiak.compiler.dump import dump
from umiak.compiler.fused import Fused
from umiak.compiler.loop import node as n
from umiak.compiler.loop.printer import show_kernel
from umiak.compiler.loop.tree import GLOBAL, LOCAL, SHARED
from umiak.compiler.lower.builder import NotANest
from umiak.compiler.nest import Chain, Nest, ReduceStage, ScanStage, ScatterStage, StoreStage, Variant
from umiak.compiler.nest_printer import show_nest
from umiak.compiler.render import llvm, unrolled
from umiak.compiler.schedule.chunks import sums_floats
from umiak.core import array
from umiak.core.tensor import Tensor
from umiak.util.garbage import Paused

# What an operation costs against an addition, on vectors.
WEIGHTS = {"load": 2, "div": 6, "sqrt": 8, "rem": 12, "pow": 60} | {
    name: 20 for name, (_, text) in n.OPS.items() if text.startswith(f"{name}(a")
}
LONGEST_NAME = 60
NS_PER_OPERATION = 0.02
NS_PER_BYTE = 0.04


def last_level() -> int:
    """Bytes of the last cache level, as far as the system tells."""
    for level in (3, 2):
        try:
            with open(f"/sys/devices/system/cpu/cpu0/cache/index{level}/size", encoding="ascii") as file:
                text = file.read().strip()
        except OSError:
            continue
        if text[:-1].isdigit() and text[-1] in "KM":
            return int(text[:-1]) << (10 if text[-1] == "K" else 20)
    return 32 << 20


STREAM_BYTES = max(last_level() // 2, 1 << 20)  # so that what is read stays in the cache


def kernel(call: Any) -> Kernel:
    """The kernel of a class of calls; raises NotANest where they are not one nest."""
    with statistics.timed(call.op.name, "nest"):
        lowered, pointwise = call.nest()
    dump("nest", call.op.name, lambda: show_nest(lowered))
    for nest in lowered.nests if isinstance(lowered, Chain) else (lowered,):
        if len(nest.sizes) > MOST_AXES or len(nest.accesses) > MAX_ACCESSES:
            raise NotANest(f"{len(nest.sizes)} axes and {len(nest.accesses)} accesses")
    copies = call.op.name == "copy"
    name = name_of(call.op)
    pairs = any(m is not None and m.dtype is not None and m.dtype.is_complex for m in (*call.metas, *call.outs))
    run = None
    if copies:
        from umiak.backends.ref import backend as ref

        python = ref.kernel(call)
        assert python is not None, "ref copies whatever there is"
        run = python.run
    if isinstance(lowered, Chain):
        chain, asked = make_chain(lowered)
        return Kernel(
            chain.address,
            chain.self_pointer,
            residuals=True,
            keep=chain,
            dims=asked,
            explain=explain,
            name=name,
            work=work.of_chain(lowered),
        )
    unrolled = None if copies else make_unrolled(lowered)
    if unrolled is not None:
        return Kernel(
            **unrolled,
            residuals=True,
            dims=launch_dims(lowered),
            explain=explain,
            name=name,
            work=work.of_nest(lowered),
        )
    launcher = make_launcher(lowered)
    flat = pointwise and call.contiguous and not pairs and len(lowered.buffers) > 1
    return Kernel(
        launcher.address,
        launcher.self_pointer,
        run=run,
        residuals=True,
        keep=launcher,
        dims=launch_dims(lowered),
        flat=launcher.flat_address if flat else 0,
        explain=explain,
        name=name,
        work=work.of_nest(lowered),
        many=launcher.many_address if flat else 0,
    )


def name_of(op: Any) -> str:
    """Return the name of a kernel in tables: a group of operations by what it is made of."""
    if type(op) is not Fused:
        return op.name
    text = repr(op.group)
    return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 3]}..."


def launch_dims(nest: Nest) -> list[Any]:
    """The integers that a launch of the nest takes."""
    return [*nest.sizes, *(s for a in nest.accesses for s in a.strides), *nest.extras]


def make_chain(chain: Chain) -> tuple[ChainLauncher, list[Any]]:
    """The launcher of a chain, and the integers that it takes."""
    nests, when = list(chain.nests), [ALWAYS] * len(chain.nests)
    if chain.into is not None:
        when[0] = APART
    if chain.checks is not None:
        nests.insert(0, chain.checks)
        when.insert(0, TOGETHER)
    launchers = [make_launcher(nest) for nest in nests]
    asked = [launch_dims(nest) for nest in nests]
    links = [(x.address, x.self_pointer, len(dims), w) for x, dims, w in zip(launchers, asked, when, strict=True)]
    names = [b.name for b in nests[0].buffers]
    pointers = len(names) - len(chain.temporaries)
    into = None if chain.into is None else (names.index(chain.into[0]), names.index(chain.into[1]))
    launcher = ChainLauncher(links, pointers, len(chain.temporaries), launchers, into)
    return launcher, [*(t.size * t.type.bytes for t in chain.temporaries), *(x for dims in asked for x in dims)]


def make_unrolled(nest: Nest) -> dict[str, Any] | None:
    """Address and owner of the kernel of a nest of few points that are all known; None for others."""
    target = llvm.Target.host()
    with statistics.timed(nest.name, "schedule"):
        kernel = schedule.unrolled_kernel(nest, unrolled.lanes_of(nest.buffers, target))
    if kernel is None:
        return None
    dump("loop", nest.name, partial(show_kernel, kernel))
    with statistics.timed(nest.name, "render"):
        text = unrolled.render(kernel, target)
    library = jit.load(text, [kernel.name])
    return {"address": library.address(kernel.name), "keep": library}


def make_launcher(nest: Nest, stream_bytes: int = STREAM_BYTES) -> NestLauncher:
    """The launcher of a nest whose buffers are the pointers of the launch."""
    place = {b.name: i for i, b in enumerate(nest.buffers)}
    reduces = [s for s in nest.stages if isinstance(s, ReduceStage)]
    operations, moved = work_per_point(nest)

    def compile_variant(*key: Any) -> tuple[list[tuple[int, int, int, int, int]], Any]:
        return build(nest, Variant(*key))

    return NestLauncher(
        compile=compile_variant,
        name=nest.name,
        n_parallel=nest.n_parallel,
        n_reduced=nest.n_reduced,
        access_pointers=[-1 if a.buffer is None else place[a.buffer] for a in nest.accesses],
        outputs=sum(1 << i for i, b in enumerate(nest.buffers) if b.output),
        itemsize=next((b.type.bytes for b in nest.buffers if b.output), 0),
        stream_bytes=stream_bytes,
        n_extras=len(nest.extras),
        cost_per_point=NS_PER_OPERATION * operations + NS_PER_BYTE * moved,
        scatters=any(isinstance(s, ScatterStage) for s in nest.stages),
        sums=any(isinstance(s, (ReduceStage, ScanStage)) and sums_floats(s.monoid, s.results) for s in nest.stages),
        ordered=any(isinstance(s, ScanStage) for s in nest.stages),
        splittable=len(reduces) == 1
        and not any(isinstance(s, ScanStage) or (isinstance(s, StoreStage) and s.each) for s in nest.stages),
    )


def _type(nest: Nest, buffer: str) -> Any:
    return next(b.type for b in nest.buffers if b.name == buffer)


def work_per_point(nest: Nest) -> tuple[int, int]:
    """Operations per point, in additions, and bytes."""
    roots: list[n.Node] = []
    for s in nest.stages:
        roots += getattr(s, "values", ())
        roots += [x for x in (getattr(s, "value", None), getattr(s, "where", None)) if x is not None]
    operations = sum(WEIGHTS.get(x.op, 1) for x in n.walk(roots) if x.op not in n.LEAVES)
    return operations, sum(_type(nest, a.buffer).bytes for a in nest.accesses if a.buffer is not None)


class _Code:
    """A variant's phases as addresses, and what keeps them alive."""

    __slots__ = ("__weakref__", "library", "name", "phases")

    def __init__(self, name: str, phases: list[tuple[int, int, int, int, int]], library: Any) -> None:
        self.name, self.phases, self.library = name, phases, library


# By what a text is made from: sizes and strides are arguments of kernels, so nests that differ in them alone share one.
_codes: WeakValueDictionary[tuple, _Code] = WeakValueDictionary()


@Paused()
def build(nest: Nest, variant: Variant) -> tuple[list[tuple[int, int, int, int, int]], Any]:
    """A variant's phases as addresses, and what keeps them alive."""
    target = llvm.Target.host()
    counts = len(nest.extras), len(nest.accesses)
    key = (nest.name, counts, nest.buffers, nest.stages, variant, target, jit.host())
    code = _codes.get(key)
    if code is None:
        code = _codes[key] = _compiled(nest, variant, target)
    else:
        statistics.count(code.name, "from_memory")
    return code.phases, code


def _compiled(nest: Nest, variant: Variant, target: llvm.Target) -> _Code:
    start = time.perf_counter()
    phases = schedule.kernels(nest, variant)
    scheduled = time.perf_counter()
    names = [name for p in phases for name in (p.kernel.name, f"{p.kernel.name}_local", f"{p.kernel.name}_global")]
    for p in phases:
        dump("loop", nest.name, partial(show_kernel, p.kernel))
    text = llvm.render_module([p.kernel for p in phases], target)
    statistics.add_time(names[0], "schedule", scheduled - start)
    statistics.add_time(names[0], "render", time.perf_counter() - scheduled)
    library = jit.load(text, names)
    kernels = []
    for p in phases:
        name, spaces = p.kernel.name, {b.space for b in p.kernel.buffers}
        # Without scratch there is nothing to ask for.
        local = library.address(f"{name}_local") if spaces & {LOCAL, SHARED} else 0
        shared = library.address(f"{name}_global") if GLOBAL in spaces else 0
        kernels.append((library.address(name), local, shared, p.range, p.block))
    return _Code(names[0], kernels, library)


def explain(op: Any, operands: tuple, params: tuple, code: int) -> None:
    """Find out by NumPy what is wrong with a call that a kernel refused."""
    evaluate(op, [array.to_numpy(x) if isinstance(x, Tensor) else x for x in operands], params)
