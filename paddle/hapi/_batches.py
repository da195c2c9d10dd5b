"""Batches: where they come from, and which of their fields are inputs and which labels."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from paddle.io.dataset import Dataset, IterableDataset, NoLengthError
from paddle.io.loader import DataLoader
from paddle.io.sampler import DistributedBatchSampler
from paddle.static.input import InputSpec
from paddle.tensor.from_data import to_tensor
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


def listed(x: Any) -> list[Any]:
    """Several things as a list: of one, of a list or tuple; None is none."""
    return [] if x is None else list(x) if isinstance(x, (list, tuple)) else [x]


def tensors(x: Any) -> list[Any]:
    """Arrays and numbers among these as tensors; all else as it is."""
    return [to_tensor(v) if isinstance(v, (np.ndarray, np.generic, int, float)) else v for v in listed(x)]


def flat(x: Any) -> list[Any]:
    """Fields of a batch: the elements of lists and tuples in lists and tuples."""
    return [v for part in x for v in flat(part)] if isinstance(x, (list, tuple)) else [x]


def loader(
    op_name: str,
    data: Any,
    batch_size: int,
    shuffle: bool = False,
    drop_last: bool = False,
    num_workers: int = 0,
) -> Any:
    """A data set's loader, of each rank its part; what is no data set gives batches itself."""
    if isinstance(data, IterableDataset):
        return DataLoader(data, batch_size=batch_size, drop_last=drop_last, num_workers=num_workers)
    if isinstance(data, Dataset):
        if len(data) == 0:
            raise op_error(ValueError, op_name, "a dataset with samples", f"{type(data).__name__} with none")
        sampler = DistributedBatchSampler(data, batch_size=batch_size, shuffle=shuffle, drop_last=drop_last)
        return DataLoader(data, batch_sampler=sampler, num_workers=num_workers)
    if not hasattr(data, "__iter__"):
        hint = "Call a function that makes a generator" if callable(data) else ""
        raise op_error(TypeError, op_name, "a Dataset, a DataLoader or an iterable of batches", repr(data), hint)
    return data


def length(source: Any) -> int | None:
    """Number of batches, None where nobody knows: without ``__len__``, or where that says that there is none."""
    if not hasattr(type(source), "__len__"):
        return None
    try:
        return len(source)
    except (NoLengthError, NotImplementedError):
        return None


def input_specs(op_name: str, specs: Any, network: Any) -> list[Any] | None:
    """Specs in a list; those of a dict in the order in which ``forward`` has its parameters."""
    if specs is None:
        return None
    if isinstance(specs, dict):
        order = [p.name for p in _parameters(network.forward)]
        unknown = sorted(set(specs) - set(order))
        if unknown:
            raise op_error(ValueError, op_name, f"inputs named as parameters of forward, {order}", unknown)
        specs = [specs[name] for name in order if name in specs]
    for spec in listed(specs):
        if not isinstance(spec, (InputSpec, Tensor)):
            raise op_error(TypeError, op_name, "InputSpecs", repr(spec))
    return listed(specs)


def specs_seen(known: list[InputSpec] | None, inputs: Sequence[Any]) -> list[InputSpec]:
    """Specs of the inputs of batches: ``known`` of earlier ones, and these. Sizes that differ are open, as is the
    first; none where something is no tensor, or its kind differs."""
    if not all(isinstance(x, Tensor) for x in inputs):
        return []
    if known is None:
        return [InputSpec([None, *x.shape[1:]] if x.shape else [], x.dtype) for x in inputs]
    if len(known) != len(inputs):
        return []
    specs = []
    for spec, x in zip(known, inputs):
        if len(spec.shape) != len(x.shape) or spec.dtype != x.dtype:
            return []
        same = all(n in (-1, None, m) for n, m in zip(spec.shape, x.shape))
        shape = [n if n == m else None for n, m in zip(spec.shape, x.shape)]
        specs.append(spec if same else InputSpec(shape, x.dtype))
    return specs


def _parameters(forward: Callable) -> list[inspect.Parameter]:
    return list(inspect.signature(forward).parameters.values())


class Fields:
    """Splits the fields of batches for a network.

    Without specs of the inputs, ``forward`` gets as many fields as it has positional parameters, those with defaults
    only while labels are left; one with ``*args`` gets all but the labels.
    """

    def __init__(self, network: Any, inputs: Sequence[Any] | None, labels: Sequence[Any] | None) -> None:
        self.given = None if inputs is None else len(inputs)
        self.labels = len(labels) if labels else None
        parameters = _parameters(network.forward)
        positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        self.required = sum(p.default is p.empty for p in positional)
        self.most = None if any(p.kind is p.VAR_POSITIONAL for p in parameters) else len(positional)

    def split(self, op_name: str, batch: Any, wants_labels: bool) -> tuple[list[Any], list[Any]]:
        """The inputs and the labels of a batch; fields that a prediction leaves over are labels."""
        fields = flat(batch)
        least = (self.labels or 1) if wants_labels else 0
        if self.given is not None:
            count = needed = self.given
        else:
            count = needed = self.required
            most = len(fields) if self.most is None else self.most
            if len(fields) - least > count:
                count = min(most, len(fields) - least)
        if len(fields) < needed + least:
            required = f"batches of {needed} inputs"
            if wants_labels:
                required += f" and at least {least} labels"
            hint = "Inputs are counted by forward's parameters where Model has no `inputs`"
            raise op_error(ValueError, op_name, required, f"{len(fields)} fields", hint)
        found = fields[:count], fields[count:]
        if wants_labels and self.labels is not None and len(found[1]) != self.labels:
            required = f"batches of {count} inputs and {self.labels} labels, as Model was told"
            raise op_error(ValueError, op_name, required, f"{len(fields)} fields")
        return found


def rows(fields: Sequence[Any]) -> int:
    """Number of samples in a batch: the first size of its first field."""
    shape = getattr(fields[0], "shape", None) if fields else None
    return int(shape[0]) if shape else 1


def single(losses: list[Any]) -> list[Tensor]:
    """Losses, each of which must be one number."""
    for loss in losses:
        if not isinstance(loss, Tensor) or loss.size != 1:
            got = list(loss.shape) if isinstance(loss, Tensor) else type(loss).__name__
            hint = "Take the mean or the sum"
            raise op_error(ValueError, "Model", "losses that are tensors of one element", got, hint)
    return losses
