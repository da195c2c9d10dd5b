"""A declaration with a mistake in it fails the generated tests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

import pytest
from checks import check_partial, check_parts
from draw import sampled
from samples import ShowsNothing, cases_of

from umiak import ops as F

NAMES = (
    "add", "attention", "avg_pool", "concat", "conv", "conv_weight_grad", "cumsum", "embedding", "gather_nd",
    "layer_norm", "linear", "matmul", "max", "mean", "pad", "permute", "prod", "reshape", "softmax", "solve", "sort",
    "sum", "take", "where",
)  # fmt: skip


def mistakes(text: str) -> Iterator[str]:
    """The string with two names of a tensor exchanged, or another fate of a factor."""
    head, _, tail = text.partition(";")
    left, _, right = head.partition("->")
    for what, part in (("left", left), ("right", right)):
        tensors = part.split(",")
        for i, one in enumerate(tensors):
            names = one.split()
            first, last = next(iter(names), ""), next(iter(reversed(names)), "")
            if first == last or any(f"{n}=replicated" in tail for n in (first, last)):
                continue
            names[0], names[-1] = last, first
            changed = ",".join([*tensors[:i], f" {' '.join(names)} ", *tensors[i + 1 :]])
            yield f"{changed}->{right};{tail}" if what == "left" else f"{left}->{changed};{tail}"
    for word in tail.split():
        name, _, kind = word.partition("=")
        gone = not re.search(rf"\b{name}\b", right)
        others = {
            "sum": "max",
            "max": "sum",
            "min": "sum",
            "prod": "sum",
            "avg": "sum",
            "replicated": "sum" if gone else "",
        }
        if kind in others:
            new = f"{name}={others[kind]}" if others[kind] else ""
            yield f"{head};{tail.replace(word, new)}"


def fails(check, name: str) -> bool:
    for case in cases_of(name):
        try:
            check(case, quick=False)
        except ShowsNothing:
            continue
        except (AssertionError, LookupError, TypeError, ValueError):
            return True
    return False


@pytest.mark.parametrize("name", sampled(NAMES, 8))
def test_mistakes_in_strings_are_noticed(name, monkeypatch):
    cls = F.REGISTRY[name]
    right = cls.shard
    texts = [c.op.shard(*c.metas(), *c.params) for c in cases_of(name)]
    most = max(texts, key=lambda text: len(list(mistakes(text))))
    assert list(mistakes(most))
    for k, shown in enumerate(mistakes(most)):

        def shard(self, *args, k=k):
            own = right(self, *args)
            return next(islice(mistakes(own), k, None), own)

        monkeypatch.setattr(cls, "shard", shard)
        assert fails(check_parts, name), f"{shown!r} for {most!r} goes unnoticed"


@pytest.mark.parametrize(
    ("name", "word", "value"),
    [
        ("exp", "linear", True), ("relu", "linear", True), ("abs", "linear", True), ("floor", "linear", True),
        ("mul", "linear", True), ("sum", "monotone", True), ("neg", "monotone", True), ("log", "monotone", True),
        ("softmax", "linear", True), ("max", "linear", True), ("matmul", "linear", True), ("sub", "monotone", ("y",)),
        ("div", "linear", ("y",)), ("take", "monotone", ("index",)), ("logistic", "linear", True),
        ("alpha_dropout", "linear", True),
    ],
)  # fmt: skip
def test_mistaken_properties_are_noticed(name, word, value, monkeypatch):
    monkeypatch.setattr(F.REGISTRY[name], word, value)
    assert fails(check_partial, name)
