"""Running a function again in the backward pass in place of keeping what it computed.

``reentrant`` runs the function without recording, and again, recorded, when its gradients are asked for: one node
stands for all of it. ``hooked`` records it as always, but its nodes keep nothing: the first that misses what it saved
runs the function again, and what that run saves goes to all of them. Both keep the tensors that the function gets.
"""

from __future__ import annotations

import random
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from umiak.autodiff.saved import SavedTensor
from umiak.core import python_nodes, tape
from umiak.core.context import current, no_grad_guard
from umiak.core.dtype import DType
from umiak.core.generator import default_generator
from umiak.core.tensor import Tensor
from umiak.util import pytree
from umiak.util.errors import op_error

Hooks = tuple[Callable[[Tensor], Any], Callable[[Any], Tensor]]

NAME = "recompute"


def random_states() -> tuple:
    """Return the states of all generators of the rank, and of those of Python and NumPy."""
    context = current()
    default_generator(context.place)  # one that is made later would start elsewhere
    generators = {index: g.get_state() for index, g in context.state.generators.items()}
    return generators, random.getstate(), np.random.get_state()


def set_random_states(states: tuple, now: tuple | None = None) -> None:
    """Put all generators where they stood. ``now`` is where they stand, where that is known."""
    generators, python, numpy = states
    for index, g in current().state.generators.items():
        g.set_state(generators.get(index, (g.get_state()[0], 0)))
    random.setstate(python)
    # NumPy takes 0.1 ms to tell and to set its state; most often it has not moved.
    if now is None or now[2][2:] != numpy[2:] or not np.array_equal(now[2][1], numpy[1]):
        np.random.set_state(numpy)


class _Call:
    """A call that can be made again: its arguments, the modes it ran under, and where the generators stood."""

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple,
        kwargs: dict[str, Any],
        preserve_rng_state: bool,
        hooks: Mapping[int, Hooks],
    ) -> None:
        self.function = function
        leaves, self.structure = pytree.flatten((args, kwargs))
        self.tensor_positions = [i for i, x in enumerate(leaves) if isinstance(x, Tensor)]
        self.inputs: list[Tensor] = [leaves[i] for i in self.tensor_positions]
        self.leaves = [None if isinstance(x, Tensor) else x for x in leaves]
        self.stops = [x.stop_gradient for x in self.inputs]
        self.kept = [SavedTensor(x, NAME, hooks=hooks.get(id(x))) for x in self.inputs]
        self.modes: tuple[int, int, int] = current().amp()
        self.states = random_states() if preserve_rng_state else None

    def needs_grad(self) -> bool:
        return not all(self.stops)

    def taken(self) -> list[Tensor]:
        """The tensors that came, which are not held from here on."""
        inputs, self.inputs = self.inputs, []
        return inputs

    def recompute(self, saved_hooks: Hooks | None) -> tuple[list[Tensor], Any]:
        """The tensors of another run, leaves of a graph of its own, and its result."""
        inputs = []
        for value, stop in zip(self.kept, self.stops, strict=True):
            x = value.get().detach()
            x.stop_gradient = stop
            inputs.append(x)
        leaves = list(self.leaves)
        for i, x in zip(self.tensor_positions, inputs, strict=True):
            leaves[i] = x
        args, kwargs = self.structure.unflatten(leaves)
        with self.ambience(saved_hooks):
            return inputs, self.function(*args, **kwargs)

    @contextmanager
    def ambience(self, saved_hooks: Hooks | None) -> Iterator[None]:
        """As it was at the call, with gradients recorded."""
        context = current()
        modes, hooks, now = context.plan_mode, context.saved_hooks, None
        if self.states is not None:
            now = random_states()
            set_random_states(self.states, now)
        context.set_amp(*self.modes)
        context.grad_enabled = True
        context.saved_hooks = saved_hooks
        try:
            yield
        finally:
            context.plan_mode, context.saved_hooks = modes, hooks
            if now is not None:
                set_random_states(now)


# --- one node for all ------------------------------------------------------------------------------------------------


def reentrant(
    function: Callable[..., Any], args: tuple, kwargs: dict, preserve_rng_state: bool, hooks: Mapping[int, Hooks]
) -> Any:
    """The function's result; its backward pass runs the function again, and then that run's own backward pass.

    Falls back to ``hooked`` where no argument needs a gradient, since nothing then says whether any result does.
    """
    call = _Call(function, args, kwargs, preserve_rng_state, hooks)
    if not call.needs_grad():
        return hooked(function, args, kwargs, preserve_rng_state, hooks)
    with no_grad_guard():
        results, structure = pytree.flatten(function(*args, **kwargs))
    tracked = [i for i, y in enumerate(results) if _differentiable(y)]
    for i in tracked:
        results[i] = results[i].detach()  # it may be an argument, a parameter, a view: not ours to mark
    if tracked:
        metas = [(tuple(results[i].shape), results[i].dtype) for i in tracked]
        inputs = call.taken()
        node = python_nodes.python_node(
            NAME, inputs, [results[i] for i in tracked], _Backward(call, structure, tracked, metas)
        )
        node.opaque = True
    return structure.unflatten(results)


class _Backward:
    """The gradient function of a reentrant call."""

    def __init__(
        self, call: _Call, structure: pytree.Structure, tracked: list[int], metas: list[tuple[tuple, DType]]
    ) -> None:
        self.call, self.structure, self.tracked, self.metas = call, structure, tracked, metas

    def __call__(self, *grads: Tensor | None) -> tuple:
        context = current()
        if context.grad_enabled:
            raise RuntimeError(
                f"[{NAME}] requires use_reentrant=False for gradients that are differentiated again (create_graph=True)"
            )
        inputs, result = self.call.recompute(context.saved_hooks)
        results, structure = pytree.flatten(result)
        if structure != self.structure:
            raise _changed(f"a result of the structure {self.structure}", structure)
        roots, seeds = [], []
        for i, meta, g in zip(self.tracked, self.metas, grads, strict=True):
            y = results[i]
            if not isinstance(y, Tensor) or (tuple(y.shape), y.dtype) != meta:
                raise _changed(f"result {i} of shape {meta[0]} and dtype {meta[1].name}", repr(y))
            if g is not None and not y.stop_gradient:
                roots.append(y)
                seeds.append(g)
        needed = [x for x in inputs if not x.stop_gradient]
        if not roots:
            return (None,) * len(inputs)
        if context.wanted is None:
            tape.backward(roots, seeds)
            return tuple(x.grad for x in inputs)
        # Only what was asked for may get a gradient, and what the function finds by itself is out of the run's sight.
        leaves = [t for t in context.wanted if t.is_leaf]
        gradients = tape.grad(roots, [*needed, *leaves], seeds, allow_unused=True)
        if any(g is not None for g in gradients[len(needed) :]):
            raise RuntimeError(
                f"[{NAME}] requires use_reentrant=False for grad() with respect to a tensor that the function uses "
                "without getting it as an argument (a parameter)"
            )
        remaining = iter(gradients)
        return tuple(None if x.stop_gradient else next(remaining) for x in inputs)


def _differentiable(x: Any) -> bool:
    return isinstance(x, Tensor) and x.dtype.is_continuous


def _changed(required: str, got: Any) -> Exception:
    hint = "It may not depend on what changes in between; keep preserve_rng_state=True where it draws random numbers."
    return op_error(RuntimeError, NAME, f"a function that does the same when it runs again: {required}", got, hint)


# --- nodes that keep nothing ------------------------------------------------------------------------------------------


class _Holder:
    """The slot of a saved tensor: empty until the function is recomputed, then full until it is used."""

    __slots__ = ("__weakref__", "dtype", "shape", "value", "version")

    def __init__(self, x: Tensor) -> None:
        self.shape, self.dtype = tuple(x.shape), x.dtype
        self.value: Tensor | None = None
        self.version = 0

    def fill(self, x: Tensor) -> None:
        if tuple(x.shape) != self.shape or x.dtype is not self.dtype:
            raise _changed(
                f"a saved tensor of shape {self.shape} and dtype {self.dtype.name}", f"{x.dtype}{list(x.shape)}"
            )
        self.value, self.version = x, x.inplace_version


class _Region:
    """One call of ``hooked``: the hooks of its nodes."""

    def __init__(self, call: _Call) -> None:
        self.call = call
        self.holders: list[weakref.ref[_Holder]] = []

    def pack(self, x: Tensor) -> _Holder:
        holder = _Holder(x)
        self.holders.append(weakref.ref(holder))
        return holder

    def unpack(self, holder: _Holder) -> Tensor:
        if holder.value is None:
            self.run()
        x, holder.value = holder.value, None
        assert x is not None
        if x.inplace_version != holder.version and 0 not in x.shape:  # without elements there is nothing that changes
            raise RuntimeError(
                f"[{NAME}] requires tensors that gradients need (shape {list(x.shape)}) as they were when they were "
                "saved, got one modified in place by the function. Clone it before the in-place operation."
            )
        return x

    def run(self) -> None:
        """Run the function again; what it saves goes to the nodes that are still there."""
        count = 0

        def pack(x: Tensor) -> None:
            nonlocal count
            if count < len(self.holders) and (holder := self.holders[count]()) is not None:
                holder.fill(x)
            count += 1

        self.call.recompute((pack, _never))
        if count != len(self.holders):
            raise _changed(f"{len(self.holders)} saved tensors", count)


def _never(packed: Any) -> Tensor:
    raise RuntimeError(f"[{NAME}] requires a function that computes no gradient of its own results")


def hooked(
    function: Callable[..., Any], args: tuple, kwargs: dict, preserve_rng_state: bool, hooks: Mapping[int, Hooks]
) -> Any:
    """The function's result, recorded by nodes that have what they need recomputed."""
    call = _Call(function, args, kwargs, preserve_rng_state, hooks)
    call.taken()
    region = _Region(call)
    context = current()
    outer = context.saved_hooks
    context.saved_hooks = (region.pack, region.unpack)
    try:
        return function(*args, **kwargs)
    finally:
        context.saved_hooks = outer
