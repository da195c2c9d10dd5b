"""Sampled neighbors: what may be drawn, how often, and that a seed repeats it."""

import numpy as np
import pytest

import paddle
from paddle.geometric import sample_neighbors, weighted_sample_neighbors

ROW = [3, 7, 0, 9, 1, 4, 2, 9, 3, 9, 1, 9, 7]
COLPTR = [0, 2, 4, 5, 6, 7, 9, 11, 11, 13, 13]


def tensors(*lists):
    return [paddle.to_tensor(v) for v in lists]


def test_all_neighbors():
    row, colptr, nodes = tensors(ROW, COLPTR, [0, 8, 7, 0])
    neighbors, count, ids = sample_neighbors(row, colptr, nodes, -1, row + 100, True)
    assert neighbors.tolist() == [3, 7, 9, 7, 3, 7]
    assert count.tolist() == [2, 2, 0, 2] and count.dtype is paddle.int32
    assert ids.tolist() == [103, 107, 109, 107, 103, 107]
    for v in (neighbors, ids):
        assert v.dtype is paddle.int64
    assert weighted_sample_neighbors(row, colptr, row.astype("float32"), nodes)[0].tolist() == neighbors.tolist()


def test_a_seed_repeats_the_draw():
    row, colptr, nodes = tensors(np.arange(40), [0, 20, 40], [0, 1])

    def draws():
        paddle.seed(3)
        return [sample_neighbors(row, colptr, nodes, 5)[0].tolist() for _ in range(4)]

    first = draws()
    assert first == draws()
    assert len({tuple(d) for d in first}) > 1
    for d in first:
        assert len(set(d)) == 10 and all(v < 20 for v in d[:5]) and all(v >= 20 for v in d[5:])


def test_every_neighbor_is_as_likely():
    row, colptr, nodes = tensors(np.arange(6), [0, 6], [0])
    paddle.seed(1)
    found = np.zeros(6)
    for _ in range(600):
        found[sample_neighbors(row, colptr, nodes, 2)[0].numpy()] += 1
    # 600 draws of chance 1/3: six standard deviations are 70.
    assert found.sum() == 1200 and np.abs(found - 200).max() < 70


def test_weights():
    row, colptr, nodes = tensors(np.arange(4), [0, 4], [0])
    weight = paddle.to_tensor([1.0, 0.0, 3.0, 0.0])
    paddle.seed(1)
    found = np.zeros(4)
    for _ in range(600):
        found[weighted_sample_neighbors(row, colptr, weight, nodes, 1)[0].numpy()] += 1
    assert found[1] == found[3] == 0 and abs(found[2] - 450) < 64
    assert set(weighted_sample_neighbors(row, colptr, weight, nodes, 3)[0].tolist()) > {0, 2}


def test_several_steps():
    row, colptr, nodes = tensors(ROW, COLPTR, [0, 8])
    src, dst, known, own, ids = paddle.incubate.graph_khop_sampler(
        row, colptr, nodes, [-1, -1], paddle.to_tensor(np.arange(13)), True
    )
    known, ids = known.numpy(), ids.tolist()
    assert own.tolist() == [0, 1] and known.tolist() == [0, 8, 3, 7, 9, 4]
    assert known[src.numpy()[:, 0]].tolist() == [ROW[i] for i in ids]
    ends = np.searchsorted(COLPTR, ids, side="right") - 1
    assert known[dst.numpy()[:, 0]].tolist() == ends.tolist()
    assert sorted(set(ends)) == [0, 3, 8]  # 7 and 9 have no neighbors, 4 was reached last


@pytest.mark.parametrize("sample", [sample_neighbors, weighted_sample_neighbors])
def test_refusals(sample):
    row, colptr = tensors(ROW, COLPTR)
    weight = (paddle.ones([13]),) if sample is weighted_sample_neighbors else ()
    name = sample.__name__
    with pytest.raises(IndexError, match=rf"\[{name}\] requires nodes from 0 to 9, got 10"):
        sample(row, colptr, *weight, paddle.to_tensor([10]), 1)
    with pytest.raises(ValueError, match=rf"\[{name}\] requires a colptr that rises"):
        sample(row[:4], colptr, *(w[:4] for w in weight), paddle.to_tensor([8]), 1)
    with pytest.raises(ValueError, match=rf"\[{name}\] requires an id for each of 13 edges, got 2"):
        sample(row, colptr, *weight, paddle.to_tensor([0]), 1, row[:2], True)


def test_negative_weights():
    row, colptr, nodes = tensors([1, 0], [0, 2], [0])
    with pytest.raises(ValueError, match="a weight of 0 or more for each of 2 edges"):
        weighted_sample_neighbors(row, colptr, paddle.to_tensor([1.0, -1.0]), nodes, 1)
