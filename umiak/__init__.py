"""Umiak, the engine: tensors, ops, IR, compiler, devices, memory, checkpoints.

This module is the assembler: it imports the layers in order and fills the slots that ``umiak.core`` leaves open.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"


def _assemble() -> None:
    from umiak import backends, ops
    from umiak.backends import transfer
    from umiak.backends.cpu import launcher, providers
    from umiak.compiler import plan
    from umiak.core import array, context, dispatch, dlpack, tape
    from umiak.core.dtype import all_dtypes
    from umiak.core.place import Place
    from umiak.core.tensor import Tensor
    from umiak.ir import scope, tracer
    from umiak.ops.collective import Collective
    from umiak.runtime import observe, parallel

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

    scope.install(get_scope, set_scope)
    launcher.install_parallel(parallel.ADDRESS, parallel.COUNT_ADDRESS)
    providers.common.follow(parallel.COUNT_ADDRESS)
    providers.before_gomp = lambda: parallel.set_driver("gomp")
    plan.install(backends.get, backends.find_kernel)
    array.install(transfer.moved)
    backends.provide(ops.REGISTRY["transfer"], transfer.kernel)
    backends.provide(Collective, lambda call: import_module("umiak.comm.kernels").kernel(call))
    records: dict[str, Any] = dict(ops.REGISTRY)
    dispatch.install(
        binary={
            name: records[name]() if name != "matmul" else records[name](False, False) for name in dispatch.BINARY_NAMES
        },
        unary={name: records[name]() for name in dispatch.UNARY_NAMES},
        copy=records["copy"](),
        transfer=lambda x, place: ops.transfer(x, source=str(x.place), target=str(place)),
        scatter_view=scatter_view,
        write_through=write_through,
        slow_path=observe.slow_path,
        slow_assign=tracer.slow_assign,
        slow_become=tracer.slow_become,
    )
    tape.install(records["add"](), records["copy"](), [records["full"](dtype=d) for d in all_dtypes()], plan.vjp_plan)
    Tensor.__dlpack__ = dlpack.dlpack
    Tensor.__dlpack_device__ = dlpack.dlpack_device
    context.current().state.place = Place("cpu", 0)


_assemble()
