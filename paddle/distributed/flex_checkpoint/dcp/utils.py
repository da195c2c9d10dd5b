"""State dicts as flat dicts of blocks, and their memory as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from paddle.distributed.flex_checkpoint.dcp.sharded_weight import ShardedWeight, make_replicated_sharded_weight
from umiak import comm
from umiak.core.array import from_numpy, host_values, to_numpy
from umiak.core.buffer import ACCESS_HOST, access
from umiak.core.context import no_grad_guard
from umiak.core.inplace import assign
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


def flatten_state_dict(state_dict: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, tuple[str, ...]]]:
    """Nested dicts as one, keys joined with dots, and the keys that each name came from.

    Raises:
        ValueError: a value that is no tensor, a key that is no string, two that become one name.
    """
    flat: dict[str, Any] = {}
    mapping: dict[str, tuple[str, ...]] = {}
    for path, value in _leaves(state_dict, ()):
        name = ".".join(path)
        if name in flat:
            raise op_error(ValueError, "state_dict", "names that differ once joined", f"{mapping[name]} and {path}")
        flat[name] = value
        mapping[name] = path
    return flat, mapping


def _leaves(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise op_error(ValueError, "state_dict", "strings as keys", f"{key!r} in {'.'.join(path) or 'it'}")
            yield from _leaves(inner, (*path, key))
    elif isinstance(value, (Tensor, ShardedWeight)):
        yield path, value
    else:
        got = f"{type(value).__name__} under {'.'.join(path)!r}"
        raise op_error(ValueError, "state_dict", "tensors, ShardedWeights and dicts of them", got)


def unflatten_state_dict(flat: Mapping[str, Any], mapping: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    """The inverse of :func:`flatten_state_dict`."""
    out: dict[str, Any] = {}
    for name, value in flat.items():
        inner = out
        *head, last = mapping.get(name, (name,))
        for key in head:
            inner = inner.setdefault(key, {})
        inner[last] = value
    return out


def weights_of(state_dict: Mapping[str, Any], op_name: str) -> tuple[list[ShardedWeight], dict[str, tuple[str, ...]]]:
    """The blocks of a state dict; plain tensors are replicated. Empty ranges of buffers are left out.

    Raises:
        TypeError: some values are ShardedWeights and others are not.
    """
    if not isinstance(state_dict, Mapping):
        raise op_error(TypeError, op_name, "a dict of tensors", type(state_dict).__name__)
    flat, mapping = flatten_state_dict(state_dict)
    sharded = {name for name, value in flat.items() if isinstance(value, ShardedWeight)}
    if sharded and len(sharded) < len(flat):
        other = next(name for name in flat if name not in sharded)
        got = f"a {type(flat[other]).__name__} for {other!r} beside {len(sharded)} ShardedWeights"
        raise op_error(TypeError, op_name, "all values to be ShardedWeights or none", got)
    if not sharded:
        return [make_replicated_sharded_weight(name, t) for name, t in flat.items()], mapping
    return [w for w in flat.values() if not w.is_flattened or w.block.size], mapping


def on_host(t: Tensor) -> np.ndarray:
    """The values of a tensor; its own memory where that is the host's."""
    return host_values(t.detach())


def _writable(t: Tensor) -> bool:
    return access(t.place) == ACCESS_HOST and not t.dtype.is_packed


class Destinations:
    """Arrays to be written in place of tensors: their own memory, or scratch where NumPy cannot write that.

    Leaving it as a context tells the tensors that their values have changed.
    """

    def __init__(self, weights: list[ShardedWeight]) -> None:
        self.weights = weights
        self.arrays: list[np.ndarray] = []
        for w in weights:
            t = w.local_tensor
            if _writable(t):
                self.arrays.append(to_numpy(t.detach()))
            else:
                self.arrays.append(np.empty(tuple(t.shape), t.dtype.numpy))

    def __enter__(self) -> Destinations:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        # After an error some values may have been written all the same.
        with no_grad_guard():
            for w, array in zip(self.weights, self.arrays):
                t = w.local_tensor
                if _writable(t):
                    t._bump_version()
                else:
                    assign(t, from_numpy(array, t.place))
                if kind is None:
                    w.loaded()


def comm_group(process_group: Any) -> comm.Group:
    """The engine's group of a public one; that of all ranks for None."""
    if process_group is None:
        return comm.world()
    if isinstance(process_group, comm.Group):
        return process_group
    inner = getattr(process_group, "process_group", None)
    if isinstance(inner, comm.Group):
        return inner
    raise op_error(TypeError, "checkpoint", "a group of ranks as process_group", type(process_group).__name__)
