"""Ambient state lives in the context: threads and virtual ranks see their own, and no module keeps any."""

from __future__ import annotations

import ast
import functools
import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from harness import CPU, NULL, backward, grad_of, leaf, tensor
from syntax import Syntax

from umiak import ops as F
from umiak.core import context, inplace, stream, tape
from umiak.core import dtype as dt
from umiak.core.context import no_grad_guard
from umiak.core.generator import default_generator, seed_all
from umiak.core.place import Place
from umiak.core.tensor import Tensor, empty

ROOT = Path(__file__).parents[2]


def in_thread(f, ctx=None):
    """What ``f`` gives in a new thread, under ``ctx`` where one is given."""
    found = []

    def run():
        if ctx is not None:
            ctx.activate()
        try:
            found.append(f())
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0]


# --- threads -----------------------------------------------------------------------------------------------------


def test_a_thread_has_one_context():
    assert context.current() is context.current()
    assert in_thread(lambda: context.current() is context.current())
    assert in_thread(context.current) is not context.current()


def test_threads_of_a_process_share_the_rank():
    assert in_thread(lambda: context.current().state) is context.current().state


def test_grad_mode_is_the_threads_own():
    x = leaf([1.0])
    with no_grad_guard():
        assert not context.current().grad_enabled
        assert in_thread(lambda: context.current().grad_enabled)
        assert not in_thread(lambda: F.mul(x, x)).stop_gradient
        assert F.mul(x, x).stop_gradient
    assert context.current().grad_enabled

    def off():
        context.current().grad_enabled = False

    in_thread(off)
    assert context.current().grad_enabled


def test_grad_mode_nests_and_survives_errors():
    with no_grad_guard():
        with no_grad_guard():
            pass
        assert not context.current().grad_enabled
    assert context.current().grad_enabled
    with pytest.raises(KeyError), no_grad_guard():
        raise KeyError
    assert context.current().grad_enabled


def test_fork_has_the_modes_of_its_parent():
    ctx = context.current()
    ctx.values["test"] = 1
    try:
        with no_grad_guard():
            ctx.set_amp(1, dt.bfloat16.id)
            child = ctx.fork()
    finally:
        ctx.set_amp(0, 0)
        del ctx.values["test"]
    assert child.state is ctx.state
    assert in_thread(lambda: context.current().grad_enabled, child) is False
    assert child.amp() == (1, dt.bfloat16.id, 0) and child.values["test"] == 1
    child.grad_enabled = True
    child.values["test"] = 2
    assert "test" not in ctx.values and ctx.amp() == (0, 0, 0)


def test_amp_is_the_threads_own():
    ctx = context.current()
    ctx.set_amp(1, dt.bfloat16.id)
    try:
        assert ctx.amp() == (1, dt.bfloat16.id, 0)
        assert in_thread(lambda: context.current().amp()) == (0, 0, 0)
    finally:
        ctx.set_amp(0, 0)
    assert ctx.amp() == (0, 0, 0)


@pytest.mark.parametrize("given", [(3, 7), (-1, 7), (1, 32), (1, 7, 65536)])
def test_set_amp_refuses(given):
    with pytest.raises(ValueError, match=r"^\[set_amp\] requires"):
        context.current().set_amp(*given)


def test_streams_are_the_threads_own():
    other = stream.new_stream(NULL.index)
    ctx = context.current()
    before = ctx.set_stream(NULL, other.id)
    try:
        assert ctx.get_stream(NULL) == other.id
        assert empty((2,), dt.float32, NULL).storage.stream == other.id
        assert in_thread(lambda: empty((2,), dt.float32, NULL).storage.stream) == 0
        assert ctx.get_stream(CPU) == 0
    finally:
        ctx.set_stream(NULL, before)


def test_observers_are_the_threads_own():
    ctx = context.current()
    ctx.observers = 16
    try:
        assert in_thread(lambda: context.current().observers) == 0
    finally:
        ctx.observers = 0


def test_a_context_returns_when_activated_again():
    mine = context.current()
    other = mine.fork()
    assert other.activate() is mine
    assert context.current() is other
    assert mine.activate() is other
    assert context.current() is mine


def test_contexts_end_with_their_threads():
    import gc
    import weakref

    class Marker:
        pass

    def mark():
        marker = Marker()
        context.current().values["marker"] = marker
        return weakref.ref(marker)

    held = in_thread(mark)
    gc.collect()
    assert held() is None


def test_backward_depth_is_per_thread():
    x = leaf([2.0])
    depths = []
    x.register_hook(
        lambda g: depths.append((context.current().backward_depth, in_thread(lambda: context.current().backward_depth)))
    )
    backward(F.mul(x, x))
    assert depths == [(1, 0)]
    assert context.current().backward_depth == 0


# --- virtual ranks -----------------------------------------------------------------------------------------------


def test_virtual_ranks_have_their_own_state():
    ranks = [context.new_rank(i) for i in range(3)]
    assert [r.state.rank for r in ranks] == [0, 1, 2]
    assert len({id(r.state) for r in ranks} | {id(context.current().state)}) == 4

    def work():
        state = context.current().state
        state.default_dtype = dt.float64.id if state.rank else dt.float16.id
        state.names["of a virtual rank"] = state.rank
        seed_all(state.rank)
        return default_generator(CPU).reserve(4)

    before = context.current().state.default_dtype
    seeds = [in_thread(work, r) for r in ranks]
    assert seeds == [(0, 0), (1, 0), (2, 0)]
    assert [r.state.names["of a virtual rank"] for r in ranks] == [0, 1, 2]
    assert [in_thread(lambda: Tensor().dtype.name, r) for r in ranks] == ["float16", "float64", "float64"]
    assert context.current().state.default_dtype == before
    assert "of a virtual rank" not in context.current().state.names


def test_virtual_ranks_have_their_own_generators():
    a, b = context.new_rank(0), context.new_rank(1)
    first = in_thread(lambda: (seed_all(7), default_generator(CPU))[1], a)
    second = in_thread(lambda: (seed_all(7), default_generator(CPU))[1], b)
    assert first is not second
    assert in_thread(lambda: default_generator(CPU), a) is first
    first.reserve(100)
    assert (first.offset, second.offset) == (100, 0)
    assert default_generator(CPU) not in (first, second)


def test_virtual_ranks_compute_side_by_side():
    """Ranks as threads over shared tables of plans: results are those of one rank."""
    ranks = [context.new_rank(i) for i in range(6)]
    barrier = threading.Barrier(len(ranks))
    found = {}

    def work(ctx):
        ctx.activate()
        barrier.wait()
        for step in range(20):
            x = leaf(np.full((3, 4), float(ctx.state.rank)))
            y = F.sum(F.mul(F.softmax(F.mul(x, x), axis=1), x), axes=(0, 1))
            backward(y)
            found[ctx.state.rank, step] = grad_of(x)

    threads = [threading.Thread(target=work, args=(r,)) for r in ranks]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(found) == 120
    for (rank, _), g in found.items():
        x = leaf(np.full((3, 4), float(rank)))
        backward(F.sum(F.mul(F.softmax(F.mul(x, x), axis=1), x), axes=(0, 1)))
        np.testing.assert_array_equal(g, grad_of(x))


def test_threads_meet_a_new_place_at_once():
    interval, barrier, made = sys.getswitchinterval(), threading.Barrier(6), []
    place = Place("null", 37)

    def work():
        barrier.wait()
        made.append(empty([2], dt.float32, place))

    threads = [threading.Thread(target=work) for _ in range(6)]
    sys.setswitchinterval(1e-6)
    try:
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        sys.setswitchinterval(interval)
    assert len(made) == 6


def test_a_place_is_the_ranks_default():
    rank = context.new_rank(1)
    rank.state.place = NULL
    assert in_thread(lambda: F.full(1.0, dtype=dt.float32, shape=(2,)).place, rank) is NULL
    assert F.full(1.0, dtype=dt.float32, shape=(2,)).place is CPU
    assert in_thread(lambda: tensor([1.0]).place, rank) is NULL


def test_backward_runs_without_amp_and_gives_the_modes_back():
    ctx = context.current()
    ctx.set_amp(1, dt.bfloat16.id)
    try:
        before = ctx.plan_mode
        x = leaf([2.0])
        seen = []
        x.register_hook(lambda g: seen.append((ctx.amp()[0], ctx.grad_enabled)))
        tape.grad([F.mul(x, x)], [x])
        tape.grad([F.mul(x, x)], [x], create_graph=True)
        assert seen == [(0, False), (0, True)]
        assert ctx.plan_mode == before
    finally:
        ctx.set_amp(0, 0)


def test_modes_are_restored_by_failed_calls():
    ctx = context.current()
    before = ctx.plan_mode
    x = leaf(np.ones((2, 3)))
    for call in (
        lambda: F.softmax(x, axis=7),
        lambda: F.linear(x, tensor(np.ones((5, 5)))),
        lambda: inplace.assign(x, x.detach()),
    ):
        with pytest.raises((ValueError, IndexError, RuntimeError)):
            call()
        assert ctx.plan_mode == before


# --- no ambient state in modules -------------------------------------------------------------------------------------

# (module, name) -> why this state is not ambient. Everything else that functions write belongs in the context.
ALLOWED: dict[tuple[str, str], str] = {}

for _reason, _names in {
    "filled while modules are imported or by plug-ins; the same for every rank and thread": (
        "umiak.backends.base:_by_name umiak.backends.base:_broken umiak.backends.base:_discovered "
        "umiak.backends.base:_everywhere umiak.comm.kernels:RUN "
        "umiak.backends.ref.registry:KERNELS umiak.compiler.amp:CUSTOM umiak.ir.registry:REGISTRY "
        "umiak.ops.base:FUNCTIONS umiak.ops.custom:TARGETS umiak.compiler.lower.builder:RULES "
        "umiak.compiler.lower.terminal:TERMINALS umiak.compiler.lower.pieces:PIECES "
        "umiak.backends.cpu.registry:KERNELS umiak.backends.cpu.registry:OPAQUE "
        "umiak.memory.caching:SIZES umiak.core.dtype:_all "
        "umiak.core.dtype:_alone umiak.core.dtype:_by_key umiak.core.dtype:_id_by_npt "
        "paddle.distribution.distribution:_DIVERGENCES paddle.framework.pickled:_STEPS "
        "paddle.decomposition.register:RULES paddle.jit.sot.frame:HANDLERS "
        "paddle.jit.sot.models.table:_HELD paddle.jit.sot.models.table:_MODELS "
        "umiak.backends.base:_absent umiak.backends.base:_loader umiak.backends.cuda.device:DEVICES "
        "umiak.backends.cuda.recordings:_free umiak.backends.cuda.recordings:_opened "
        "umiak.backends.spare_streams:_spare "
        "umiak.backends.plugin.discovery:_loaded "
        "umiak.backends.plugin.structures:SCALARS umiak.compiler.algorithms.writer:ALGORITHMS "
        "umiak.core.custom_calls:GIVE_BACK umiak.core.custom_calls:SAVE umiak.core.extension:CALL "
        "umiak.core.extension:DEVICE_TYPES umiak.core.extension:ERRORS umiak.core.extension:ID_OF "
        "umiak.core.extension:NUMBER_OF paddle.utils.cpp_extension.loading:_loaded "
        "paddle.utils.cpp_extension.operators:OPERATORS "
        "umiak.compiler.passes.registry:PASSES paddle.inference.engines:ENGINES "
        "paddle.onnx.table:RULES paddle.static.formats.emit.emitter:TABLE paddle.static.formats.legacy.table:TABLE "
        "paddle.static.formats.legacy.table:BASES "
        "paddle.static.formats.operators.table:TABLE paddle.library.registry:PYTHON_OP_REGISTRY"
    ),
    "a slot that the assembler fills once": (
        "umiak.compiler.plan:BACKEND_OF umiak.compiler.plan:FIND_KERNEL umiak.ir.scope:_getter umiak.ir.scope:_setter "
        "umiak.core.dispatch:ON_MISS umiak.core.dispatch:SLOW_PATH umiak.core.dispatch:EXPLAIN "
        "umiak.core.dispatch:OUT_OF_RANGE umiak.core.dispatch:COPY umiak.core.array:MOVED "
        "umiak.core.inplace:COPY umiak.core.inplace:TRANSFER umiak.core.inplace:SCATTER_VIEW "
        "umiak.core.inplace:WRITE_THROUGH umiak.core.inplace:SLOW_ASSIGN umiak.core.inplace:SLOW_REBIND "
        "umiak.core.eager:BINARY_OPS umiak.core.eager:UNARY_OPS umiak.core.eager:PROMOTE umiak.core.eager:_operators "
        "umiak.core.plan:APPLY "
        "umiak.core.leaf_gradients:ADD umiak.core.leaf_gradients:COPY umiak.core.leaf_gradients:FULL "
        "umiak.core.backward_run:VJP_PLAN "
        "umiak.core.stream:_opener umiak.backends.cpu.launcher:parallel_for umiak.backends.cpu.launcher:thread_count "
        "umiak.util.lazy:_actions umiak.core.tensor:Tensor umiak.core.frozen:COPY umiak.core.frozen:KIND "
        "umiak.core.branches:run_lanes umiak.core.branches:thread_count"
    ),
    "which way launches go, chosen by a switch of the process": "umiak.core.branches:chosen",
    "memory of the process that other processes or recordings refer to, by where it lies": (
        "paddle.incubate.multiprocessing.reductions:_blocks umiak.backends.cuda.recordings:_pools "
        "umiak.backends.foreign_tensor:_used"
    ),
    "calls of a thread that run now: streams that they asked for, copies that they need not wait for": (
        "umiak.core.extension:LENT umiak.core.extension:RUNNING "
        "umiak.core.extension:CALLS_HERE umiak.core.extension:ELSEWHERE "
        "umiak.backends.transfer:_Copies umiak.backends.transfer:_copies"
    ),
    "threads that the ranks of a process share, as they share its CPUs": (
        "umiak.runtime.parallel:umiak_driver umiak.runtime.parallel:umiak_threads umiak.backends.cpu.launcher:_forks"
    ),
    "how many threads work on what a thread does, whichever rank it computes for": "umiak.runtime.parallel:umiak_own",
    "which package reads files, chosen for the process as in the reference": (
        "paddle.audio.backends.init_backend:_current paddle.vision.image:_backend"
    ),
    "writers of this process, which its end must wait for": (
        "umiak.checkpoint.async_save:_savers paddle.framework.background_save:_tasks "
        "paddle.framework.background_save:_writer"
    ),
    "records that the next tensors handed out are given, under the interpreter's lock": (
        "umiak.core.dlpack_managed:SPARE umiak.core.dlpack_managed:SPARES"
    ),
    "interned immutable values": (
        "umiak.compiler.loop.node:_interned umiak.ir.expr:_table umiak.core.place:_all umiak.core.place:_by_key "
        "umiak.core.place:_types umiak.core.extension:PLACE_NAMES"
    ),
    "what a test asks for: it stays empty": "umiak.compiler.plan:PYTHON_INFER",
    "memory and streams of a device of the process, which its ranks share": (
        "umiak.core.storage:_waiting umiak.core.storage:_allocators umiak.core.stream:_drivers "
        "umiak.core.stream:_opened umiak.core.stream:_states paddle._public:EXPORTS paddle._public:ROWS"
    ),
    "switches of the process, set by its environment or by set_flags for all of it": (
        "umiak.backends.cuda.nest_calls:WAITED "
        "umiak.util.flags:REGISTRY umiak.util.flags:ACCEPTED umiak.util.flags:LATE umiak.runtime.observe:CHECK"
    ),
    "stands in where nothing installed a home for the scope: the layer used by itself": (
        "umiak.ir.scope:_slot umiak.ir.scope:_Slot"
    ),
    "a number that only grows": "umiak.core.backward_run:RUNS",
    "what a forked child must know of its parent": (
        "umiak.util.locks:_MODULE_LOCKS umiak.util.shared_memory:_forks umiak.util.shared_memory:_generation"
    ),
    "the profiler, which sees all threads and ranks of the process": (
        "umiak.core.context:_everywhere umiak.core.context:_living umiak.core.backward_run:PROBE "
        "umiak.runtime.observe:PROBE umiak.compiler.statistics:LISTENERS"
    ),
    "libraries of the process, loaded once, and scratch memory for them": (
        "umiak.backends.cpu.providers.blas:keep umiak.backends.cpu.providers.blas:last_count "
        "umiak.backends.cpu.providers.blas:set_count umiak.backends.cpu.providers.blas:usable "
        "umiak.backends.cpu.factorisation:usable "
        "umiak.backends.cpu.providers.common:engine_threads umiak.backends.cpu.providers.common:kept "
        "umiak.backends.cpu.providers.common:kept_bytes umiak.backends.cpu.providers.common:kept_count "
        "umiak.backends.cpu.providers.common:thread_count umiak.backends.cpu.providers.few_rows:_kept "
        "umiak.backends.cpu.providers.onednn:usable umiak.backends.cpu.providers.split_matmul:state "
        "umiak.backends.cpu.providers.onednn:version_found"
    ),
    "which way convolutions go, for tests and measurements": (
        "umiak.backends.cpu.providers.depthwise:wanted umiak.backends.cpu.providers.packed_matmul:wanted "
        "umiak.backends.cpu.providers.pointwise:wanted "
        "umiak.backends.cpu.providers.winograd:chosen "
        "umiak.backends.cpu.providers.winograd:most_lanes"
    ),
    "machine code of the process and what makes it": (
        "umiak.compiler.jit.codegen:_all_targets umiak.compiler.jit.codegen:_llvm "
        "umiak.compiler.jit.codegen:_machines umiak.compiler.jit.engine:_prefixes umiak.compiler.jit.orc:_dropped "
        "umiak.compiler.jit.orc:_engine umiak.compiler.jit.processor:_hosts umiak.compiler.jit.object_cache:_is_open "
        "umiak.compiler.jit.object_cache:_opened umiak.compiler.jit.object_cache:_unwritable "
        "umiak.compiler.jit.object_cache:_warned "
        "umiak.compiler.jit.symbols:_process umiak.compiler.jit.symbols:_registered umiak.backends.cpu.nests:_codes"
    ),
    "what the compiler did in this process, for people": (
        "umiak.compiler.dump:_printed umiak.compiler.dump:_written umiak.compiler.statistics:_kernels "
        "umiak.compiler.statistics:_launches umiak.compiler.statistics:_spent umiak.runtime.roofline:_measured"
    ),
    "the thread whose calls launch nothing, for the time of one call": "umiak.core.launches:REHEARSES",
    "who times launches, which is asked for the whole process": (
        "umiak.core.launches:LONG_LAUNCH umiak.core.launches:TIMER umiak.compiler.statistics:_timers "
        "umiak.compiler.statistics:_flagged"
    ),
    "the pointer to the context, per thread": "umiak.core.context:UMIAK_CONTEXT",
    "records and times of the profiler, kept for each thread and joined at its end": (
        "umiak.compiler.statistics:_Spent umiak.observe.collector:EventCollector umiak.observe.collector:_Thread"
    ),
    "ops that were made once, or texts that were parsed: what they hold follows from their key": (
        "umiak.compiler.fuse:_TRIALS paddle.tensor.indexing:_SLICES paddle._public:_shown paddle.tensor.casting:_CAST "
        "paddle.tensor.joining:_CONCAT paddle.tensor.axes:_PERMUTE paddle.tensor.joining:_STACK "
        "paddle.tensor.properties:_PERMUTE paddle.nn.functional.pooling:_PLAIN paddle.tensor.random:_DRAWS "
        "paddle.jit.source.convert:_CONVERTED paddle.jit.source.convert:_DONE paddle.jit.source.find:_FILES "
        "umiak.ops.python_call:_KNOWN"
    ),
    "numbers that only grow, for identities": (
        "paddle.nn.layer._hooks:HookRemoveHelper paddle.nn.layer._registry:CHANGES"
    ),
    "worker processes of this process, which its children must let go of": "paddle.io.pool:_pools",
    "which worker process this is: said once, when it begins": "paddle.io.worker_info:current",
    "public on the class, as in the reference framework": "paddle.amp.debugging:TensorCheckerConfig",
    "public, as in the reference framework: breakpoints for the debugger, which stops the process": (
        "paddle.jit.sot.breakpoints:BM"
    ),
    "what modules of the process are found under the name torch: Python has one table of them": (
        "paddle.compat.proxy:_blocked paddle.compat.proxy:_enabled"
    ),
    "settings of the process, as in the reference framework": (
        "paddle.amp.debugging:_ops_to_check paddle.incubate.asp.pruning:_SUPPORTED "
        "paddle.incubate.asp.pruning:_excluded paddle.io.tuning:settings paddle.incubate.autograd.primitives:_enabled"
    ),
    "ranges that a thread has open, to be closed by it": "paddle.device.ranges:_Open",
    "queues of devices, which belong to the process": "paddle.device.streams:_queues",
    "states of generators under numbers that the program gave out": "paddle.incubate.random_states:_slots",
}.items():
    for _name in _names.split():
        _module, _, _name = _name.partition(":")
        ALLOWED[_module, _name] = _reason

MUTATORS = set("append add update pop popitem setdefault clear extend insert remove discard __setitem__".split())


FUNCTIONS = {ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda}
LOCALS = {"threading.local", "local", "contextvars.ContextVar", "ContextVar"}


def module_state(path: Path) -> set[str]:
    """Names at module level that functions of the module write, and what is kept for each thread.

    Written is what ``global`` rebinds, a container that is changed, an attribute that is set, of a class too; so is a
    container that a class holds for all of its instances (``Class.name``).
    """
    if path.suffix == ".pyx":
        return cython_state(re.sub(r"(?m) +#.*$", "", path.read_text()))
    source = syntax_of(path)
    found: set[str] = set()
    top = {node.name for node in source.tree.body if isinstance(node, ast.ClassDef)}
    for node in source.tree.body:
        if isinstance(node, ast.ClassDef) and any(ast.unparse(b) in LOCALS for b in node.bases):
            found.add(node.name)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and ast.unparse(node.value.func) in LOCALS:
            found |= {t.id for t in node.targets if isinstance(t, ast.Name)}
        top |= set(assigned(node))
    for target, name in writes_of_file(source):
        if target is None or (isinstance(target, ast.Name) and name in top):
            found.add(name)
    for node in source.nodes:
        if isinstance(node, ast.ClassDef):
            held = {n for s in node.body if isinstance(getattr(s, "value", None), CONTAINERS) for n in assigned(s)}
            if not held:
                continue
            own = {
                t.attr
                for t in source.walk(node)
                if isinstance(t, ast.Attribute) and isinstance(t.ctx, ast.Store) and ast.unparse(t.value) == "self"
            }
            for target, _ in writes(source, node):
                if isinstance(target, ast.Attribute) and target.attr in held - own:
                    if ast.unparse(target.value) in ("self", "cls", "type(self)", node.name):
                        found.add(f"{node.name}.{target.attr}")
    return found


def elsewhere_state(path: Path) -> set[tuple[str, str]]:
    """State of other modules that functions of this one write: containers that it imports, names of modules."""
    if path.suffix == ".pyx":
        return set()
    source = syntax_of(path)
    imported = {}
    for node in source.nodes:
        if isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] in PACKAGES:
            for a in node.names:
                imported[a.asname or a.name] = (node.module, a.name)
        elif isinstance(node, ast.Import):
            imported |= {a.asname or a.name: ("", a.name) for a in node.names if a.name.split(".")[0] in PACKAGES}
    found = set()
    modules = {k: m for k, v in imported.items() if (m := ".".join(v).strip(".")) and is_module(m)}
    for target, name in writes_of_file(source):
        if isinstance(target, ast.Attribute) and ast.unparse(target.value) in modules:
            found.add((modules[ast.unparse(target.value)], target.attr))
        elif name in imported and name not in modules:
            found.add(imported[name])
    return found


@functools.cache
def is_module(name: str) -> bool:
    path = ROOT.joinpath(*name.split("."))
    return path.is_dir() or path.with_suffix(".py").exists() or path.with_suffix(".pyx").exists()


CONTAINERS = (ast.Dict, ast.List, ast.Set, ast.DictComp, ast.ListComp, ast.SetComp)
PACKAGES = ("umiak", "paddle")


def assigned(node: ast.AST) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [t.id for t in targets if isinstance(t, ast.Name)]


@functools.lru_cache(maxsize=1)
def syntax_of(path: Path) -> Syntax:
    """The file that both searches look through, one after the other."""
    return Syntax.of(path)


@functools.lru_cache(maxsize=1)
def writes_of_file(source: Syntax) -> list[tuple[ast.expr | None, str]]:
    return list(writes(source, source.tree))


def writes(source: Syntax, tree: ast.AST) -> Iterator[tuple[ast.expr | None, str]]:
    """What functions in ``tree`` write that is no variable of theirs, as an expression, and its name where that is one;
    None for the names that they declare global."""
    for function in source.walk(tree):
        if type(function) not in FUNCTIONS:
            continue
        parts = source.walk(function)
        arguments = {a.arg for a in source.walk(function.args) if type(a) is ast.arg}
        stored = {n.id for n in parts if type(n) is ast.Name and type(n.ctx) is ast.Store}
        declared = {n for g in parts if type(g) is ast.Global for n in g.names}
        yield from ((None, name) for name in declared)
        local = (arguments | stored) - declared
        for node in parts:
            kind = type(node)  # most nodes are none of these
            target = None
            if kind is ast.Subscript:
                if isinstance(node.ctx, (ast.Store, ast.Del)):
                    target = node.value
            elif kind is ast.Call:
                if isinstance(node.func, ast.Attribute) and node.func.attr in MUTATORS:
                    target = node.func.value
            elif kind is ast.Attribute and isinstance(node.ctx, ast.Store):
                target = node.value
                yield node, ""
            if isinstance(target, ast.Name) and target.id not in local:
                yield target, target.id
            elif isinstance(target, ast.Attribute):
                yield target, ""


def cython_state(text: str) -> set[str]:
    top = set(re.findall(r"^(?:cdef [\w.\[\]* ]*?)?(\w+)(?: *\[[^\]]*\])* *(?::[^=\n]+)?=[^=]", text, re.M))
    top |= set(re.findall(r"^cdef [\w.]+[\w.\[\]* ]* \**(\w+)(?:\[\w+\])* *$", text, re.M))
    body = re.sub(
        r"(?m)^\S.*$", lambda m: m.group() if m.group().startswith(("def", "cdef", "@", "class")) else "", text
    )
    found = {n.strip() for line in re.findall(r"^ +global (.*)$", text, re.M) for n in line.split(",")}
    for name in top:
        if re.search(rf"(?m)^ +.*\b{name}(\[[^\]=]*\])+ *=[^=]|^ +.*\b{name}\.({'|'.join(sorted(MUTATORS))})\(", body):
            found.add(name)
    return {n for n in found if n in top or n in {"UMIAK_CONTEXT"} or not n.startswith("__")}


@functools.cache
def all_state() -> set[tuple[str, str]]:
    found = set()
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py*")):
            if path.suffix in (".py", ".pyx"):
                module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
                found |= {(module, name) for name in module_state(path)}
                found |= elsewhere_state(path)
    return found


def test_no_module_keeps_ambient_state():
    unknown = sorted(f"{m}:{n}" for m, n in all_state() - set(ALLOWED))
    assert not unknown, "state of modules that functions write, with no reason in ALLOWED:\n" + "\n".join(unknown)


def test_every_allowed_name_is_there():
    stale = sorted(f"{m}:{n}" for m, n in set(ALLOWED) - all_state())
    assert not stale, "\n".join(stale)


def test_the_search_sees_state(tmp_path):
    python, cython = tmp_path / "a.py", tmp_path / "b.pyx"
    python.write_text(
        "A = {}\nB = []\nC: dict = {}\nD = 0\nE = {}\nG = object()\n"
        "def f(E):\n    global D\n    A['x'] = 1\n    B.append(2)\n    E['y'] = 3\n"
        "    G.mode = 1\n    C = {}\n    C['z'] = 4\n    H.count += 1\n"
        "class H:\n    count = 0\nclass K(threading.local):\n    pass\nL = threading.local()\n"
        "class M:\n    seen = []\n    own = []\n    def __init__(self):\n        self.own = []\n"
        "    def f(self):\n        self.seen.append(1)\n        self.own.append(1)\n"
    )
    cython.write_text(
        "cdef dict A = {}\ncdef object B = None\nC = {}\ncdef f():\n    global B\n    A[1] = 2\n    return C[1]\n"
    )
    assert module_state(python) == {"A", "B", "D", "G", "H", "K", "L", "M.seen"}
    assert module_state(cython) == {"A", "B"}


def test_the_search_sees_state_of_other_modules(tmp_path):
    python = tmp_path / "a.py"
    python.write_text(
        "from umiak.util import flags\nfrom umiak.compiler.statistics import LISTENERS\nimport paddle.io\n"
        "from umiak import ops\n"
        "def f(x):\n    flags.LATE['x'] = 1\n    LISTENERS.append(x)\n    paddle.io.seed = 3\n    ops.add(x, x)\n"
        "def g(flags):\n    flags.extend(LISTENERS)\n"
    )
    assert elsewhere_state(python) == {
        ("umiak.util.flags", "LATE"), ("umiak.compiler.statistics", "LISTENERS"), ("paddle.io", "seed")
    }  # fmt: skip
