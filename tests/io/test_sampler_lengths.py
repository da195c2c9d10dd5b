"""Lengths of loaders over samplers that have none."""

from __future__ import annotations

import pytest

import paddle
from paddle.hapi._batches import length


class Endless(paddle.io.Sampler):
    def __iter__(self):
        return iter(range(6))


class Broken(paddle.io.Sampler):
    def __iter__(self):
        return iter(range(6))

    def __len__(self):
        return len(self.nothing)


def loader_of(sampler):
    data = paddle.io.TensorDataset([paddle.arange(6)])
    return paddle.io.DataLoader(data, batch_sampler=paddle.io.BatchSampler(sampler=sampler, batch_size=2))


def test_a_sampler_without_a_length_leaves_it_open():
    loader = loader_of(Endless())
    assert length(loader) is None and len(list(loader)) == 3
    with pytest.raises(TypeError, match="requires a length, got a Endless without __len__"):
        len(loader)


def test_a_fault_in_a_length_is_shown():
    with pytest.raises(AttributeError, match="nothing"):
        length(loader_of(Broken()))
