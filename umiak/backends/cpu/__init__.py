"""The backend of the CPU: kernels compiled from nests, and libraries where they are better.

What neither has runs on ``ref``, which serves the same device with a lower priority.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from umiak.backends.base import Backend, Kernel
from umiak.core import storage
from umiak.core.place import Place
from umiak.memory import caching


def _registry() -> Any:
    """The table, and what fills it. Imported with the first plan: it is more than all the rest of the engine."""
    from umiak.backends.cpu import (
        registry,
        select_attention,
        select_banded_scan,
        select_custom,
        select_decoding,
        select_detection,
        select_factorisation,
        select_fourier,
        select_joining,
        select_kron,
        select_low_bit,
        select_paged_attention,
        select_permutation,
        select_pooling,
        select_rnn,
        select_search,
        select_sort,
    )

    return registry


class CpuBackend(Backend):
    name = "cpu"
    device_type = "cpu"
    fuses = True

    def allocator(self, place: Place) -> storage.Allocator:
        return caching.host_allocator(place.index)

    def kernel(self, call: Any) -> Kernel | None:
        registry = _registry()
        make = registry.KERNELS.get(type(call.op))
        if make is not None:
            return make(call)
        from umiak.backends.cpu import nests, select_provider
        from umiak.compiler.lower.builder import NotANest

        selected = select_provider.kernel(call)
        if selected is not None:
            return selected
        try:
            return nests.kernel(call)
        except NotANest:
            return None

    def opaque(self, op: Any) -> bool:
        return type(op) in _registry().OPAQUE

    def fuses_epilogue(self, op: Any, metas: Sequence[Any], params: Sequence[Any], steps: Sequence[Any]) -> bool:
        from umiak.backends.cpu import select_provider

        return select_provider.fuses_epilogue(op, metas, params, steps)

    def adds_bias(self, op: Any, metas: Sequence[Any]) -> bool:
        from umiak.backends.cpu import select_provider

        return select_provider.adds_bias(op, metas)

    def channels_last(self, op: Any, metas: Sequence[Any]) -> bool:
        from umiak.backends.cpu import select_provider

        return select_provider.channels_last(op, metas)

    def kernel_strip(self, op: Any, metas: Sequence[Any], params: Sequence[Any]) -> tuple[int, int] | None:
        from umiak.backends.cpu import select_provider

        return select_provider.kernel_strip(op, metas, params)

    def lays_out(self, op: Any, metas: Sequence[Any]) -> bool:
        from umiak.backends.cpu import select_provider

        return select_provider.lays_out(op, metas)

    def supports(self, op: Any) -> bool:
        from umiak.compiler.lower.group import lowerable

        return lowerable(op) or op.decompose is not None


backend = CpuBackend()
