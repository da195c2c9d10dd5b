"""Structured inputs and outputs, and what depends on their structure."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, namedtuple

import paddle
from tests.jit.corpus.reasons import COPIES
from tests.jit.corpus.registry import given, program

Batch = namedtuple("Batch", "x mask")


@dataclasses.dataclass
class Sample:
    x: object
    target: object = None
    weight: float = 1.0


@program(lambda t: given(Batch(t(2), t(2) > 0)), lambda t: given(Batch(t(3), None)))
def namedtuple_with_an_optional_field(batch):
    if batch.mask is None:
        return Batch(batch.x * 2, paddle.ones_like(batch.x))
    return batch._replace(x=paddle.where(batch.mask, batch.x, -batch.x))


@program(lambda t: given(Sample(t(2), t(2))), lambda t: given(Sample(t(2))), lambda t: given(Sample(t(2), t(2), 0.5)))
def dataclass_with_optional_fields(sample):
    loss = sample.x if sample.target is None else (sample.x - sample.target) ** 2
    return dataclasses.replace(sample, x=loss * sample.weight)


@program(lambda t: given([Sample(t(2)), Sample(t(3))]), lambda t: given([]))
def list_of_dataclasses(samples):
    sizes = [s.x.shape[0] for s in samples]
    total = sum((s.x.sum() for s in samples), start=paddle.zeros([]))
    for s in samples:
        s.target = s.x * 2
    return total, sizes


@program(
    lambda t: given({"a": t(2), "b": t(2)}, key="a"),
    lambda t: given({"b": t(2), "a": t(2)}, key="a"),
    lambda t: given({"a": t(2)}, key="b"),
)
def order_of_dict_items(table, key):
    ordered = OrderedDict((k, v * i) for i, (k, v) in enumerate(table.items()))
    return ordered, table.get(key), next(iter(table))


@program(lambda t: given(([t(2)], {"k": (t(2), 3)})), lambda t: given(([t(2), t(2)], {"k": (t(2), 4)})))
def walk_over_a_tree(tree):
    def leaves(node):
        if isinstance(node, paddle.Tensor):
            yield node
        elif isinstance(node, dict):
            for v in node.values():
                yield from leaves(v)
        elif isinstance(node, (list, tuple)):
            for v in node:
                yield from leaves(v)

    found = list(leaves(tree))
    return sum(found) / len(found), len(found)


@program(
    lambda t: given(t(2), {"p": 0.5, "q": [1, 2]}),
    lambda t: given(t(2), {"p": 0.25, "q": [1, 2, 3]}),
)
def options_in_a_dict(x, options):
    p, q = options["p"], options["q"]
    y = x * p
    for n in q:
        y = y + n
    options["seen"] = True
    return {**options, "y": y}


@program(
    lambda t: given(t(2), *[t(2) for _ in range(2)]), lambda t: given(t(2)), lambda t: given(*[t(2) for _ in range(4)])
)
def many_tensors_by_star(*xs):
    return [x * i for i, x in enumerate(xs)], sum(xs), xs[::-1]


@program(
    lambda t: given(t(2), None, ()),
    lambda t: given(t(2), [None], (1,)),
    lambda t: given(t(2), [None, t(2)], ()),
    allowed=COPIES,
)
def none_within_lists(x, items, rest):
    kept = [v for v in items or [] if v is not None]
    return x * len(kept) + sum(kept), rest + (None,), items
