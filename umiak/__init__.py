"""Umiak, the engine: tensors, ops, IR, compiler, devices, memory, checkpoints.

This module is the assembler: it imports the layers in order and fills the slots that ``umiak.core`` leaves open.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"


# Switches of modules that are loaded when they are used. The environment is read then; who sets one before loads it.
_SWITCHES = {
    "umiak.backends.cpu.providers": "cpu_deterministic cpu_providers cpu_winograd",
    "umiak.backends.cpu.tile_registers": "cpu_f32_by_bf16_tiles",
    "umiak.backends.cuda.device": "benchmark check_cuda_error cuda_mapped_memory gpu_memory_limit_mb",
    "umiak.backends.cuda.programs": "cuda_graphs",
    "umiak.backends.cuda.providers.gemm": "cuda_gemm",
    "umiak.backends.cuda.providers.matmul_flags": "enable_cublas_tensor_op_math gemm_use_half_precision_compute_type",
    "umiak.checkpoint.checksum": "verify_checksums",
    "umiak.comm.group": "check_collectives",
    "umiak.comm.slow_link": "comm_link",
    "umiak.comm.task": "comm_look_s comm_timeout_s",
    "umiak.compiler.attention.kernels": "attention_persistent attention_tile",
    "umiak.compiler.dump": "dump dump_folder",
    "umiak.compiler.jit.engine": "jit_keep jit_keep_mb",
    "umiak.compiler.jit.processor": "jit_opt",
    "umiak.compiler.jit.object_cache": "jit_cache jit_cache_folder jit_cache_mb",
    "umiak.compiler.compilation_log": "log_compilations",
    "umiak.compiler.passes.manager": "verify_passes",
    "umiak.compiler.statistics": "time_kernels",
    "umiak.runtime.pressure": "offload_retry_times",
    "umiak.runtime.roofline": "roof_gbs roof_gflops",
    "umiak.util.log": "log",
}


def _assemble() -> None:
    from umiak.core import processor

    processor.check(processor.lacking())

    from umiak import backends, ops
    from umiak.backends import transfer
    from umiak.core import (
        array,
        backward_run,
        branches,
        context,
        dispatch,
        dlpack,
        eager,
        frozen,
        inplace,
        leaf_gradients,
    )
    from umiak.core import tape as _tape
    from umiak.core.dtype import all_dtypes
    from umiak.core.place import Place
    from umiak.core.tensor import Tensor
    from umiak.ir import scope, tracer
    from umiak.ops import scalars
    from umiak.ops.collective import Collective
    from umiak.ops.context_parallel import ContextAttentionBase
    from umiak.ops.effects import OnHost
    from umiak.ops.gradient_buckets import BucketOp
    from umiak.runtime import parallel
    from umiak.util import flags
    from umiak.util.lazy import when_loaded

    def get_scope() -> Any:
        return context.current().values.get("sym_scope")

    def set_scope(value: Any) -> None:
        context.current().values["sym_scope"] = value

    everything = ops.REGISTRY["slice"](axes=())

    def scatter_view(base: Any, value: Any, view: Any, params: tuple) -> Any:
        flat = tuple(n for p in params for n in (p if isinstance(p, tuple) else (p,)))
        return ops.scatter_view(base, value, region=everything if view is None else view, args=flat)

    def write_through(base: Any, value: Any, regions: list) -> Any:
        views, ends, args = tracer.flat_regions(regions)
        return ops.write_through(base, value, views=views, ends=ends, args=args)

    def lazy(slot: str, module: str) -> Any:
        """A slot of dispatch whose function is loaded with its first call."""

        def first(*args: Any) -> Any:
            function = getattr(import_module(module), slot)
            dispatch.install(**{slot: function})
            return function(*args)

        return first

    def follow_threads(providers: Any) -> None:
        providers.common.follow(parallel.COUNT_ADDRESS)
        providers.before_gomp = parallel.join_gomp

    def custom_operators(module: Any) -> None:
        """Users' operators run on every place, and have gradients through their functions."""

        def gradients(ys: Any, xs: Any, given: Any) -> Any:
            from umiak.core import tape

            return tape.grad(ys, xs, given, create_graph=True, allow_unused=True)

        module.GRADIENTS = gradients
        module.THROUGH = lambda *args: import_module("umiak.autodiff.graph").through(*args)
        backends.provide(module.CustomOp, lambda call: import_module("umiak.backends.custom_op").kernel(call))

    scope.install(get_scope, set_scope)
    when_loaded("umiak.compiler.plan", lambda plan: plan.install(backends.get, backends.find_kernel))
    when_loaded("umiak.backends.cpu.providers", follow_threads)
    when_loaded(
        "umiak.backends.cpu.launcher",
        lambda launcher: launcher.install_parallel(parallel.ADDRESS, parallel.COUNT_ADDRESS),
    )
    branches.install(parallel.LANES_ADDRESS, parallel.COUNT_ADDRESS)
    flags.declare_lazy({name: module for module, names in _SWITCHES.items() for name in names.split()})
    array.install(transfer.moved)
    backends.install_loader(lambda folder: import_module("umiak.backends.plugin.discovery").libraries(folder))
    backends.provide(ops.REGISTRY["transfer"], transfer.kernel)
    backends.provide(ops.REGISTRY["python_call"], lambda call: import_module("umiak.backends.python_call").kernel(call))
    when_loaded("umiak.ops.custom_op", custom_operators)
    backends.provide(Collective, lambda call: import_module("umiak.comm.kernels").kernel(call))
    backends.provide(
        ContextAttentionBase, lambda call: import_module("umiak.spmd.context_parallel.kernels").kernel(call)
    )
    backends.provide(BucketOp, lambda call: import_module("umiak.comm.captured_buckets").kernel(call))
    backends.provide(OnHost, lambda call: import_module("umiak.runtime.host").kernel(call))
    records: dict[str, Any] = dict(ops.REGISTRY)
    frozen.install(lambda plan: import_module("umiak.backends.cpu.by_threads").kind(plan), records["copy"]())
    dispatch.install(
        copy=records["copy"](),
        on_miss=lazy("on_miss", "umiak.compiler.plan"),
        explain=lazy("explain", "umiak.compiler.plan"),
        out_of_range=scalars.out_of_range,
        slow_path=lazy("slow_path", "umiak.runtime.observe"),
    )
    eager.install(
        binary={
            name: records[name]() if name != "matmul" else records[name](False, False) for name in eager.BINARY_NAMES
        },
        unary={name: records[name]() for name in eager.UNARY_NAMES},
    )
    inplace.install(
        copy=records["copy"](),
        transfer=lambda x, place: ops.transfer(x, source=x.place.name, target=place.name),
        scatter_view=scatter_view,
        write_through=write_through,
        slow_assign=tracer.slow_assign,
        slow_rebind=tracer.slow_rebind,
    )
    leaf_gradients.install(records["add"](), records["copy"](), [records["full"](dtype=d) for d in all_dtypes()])
    backward_run.install(lambda *args: import_module("umiak.compiler.plan").vjp_plan(*args))
    Tensor.__dlpack__ = dlpack.dlpack
    Tensor.__dlpack_device__ = dlpack.dlpack_device
    context.current().state.place = Place("cpu", 0)


_assemble()
