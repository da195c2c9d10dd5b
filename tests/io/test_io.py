"""Datasets, samplers and the loader."""

import numpy as np
import pytest

import paddle
from paddle import io


class Items(io.Dataset):
    def __init__(self, n=5):
        self.n = n

    def __getitem__(self, i):
        return np.full([2], i, np.float32), i, {"a": float(i), "b": [i, f"x{i}"]}

    def __len__(self):
        return self.n


class Rows(io.Dataset):
    def __getitem__(self, i):
        return np.ones([2], np.int64) * i

    def __len__(self):
        return 4


class Stream(io.IterableDataset):
    def __iter__(self):
        return (np.float32(i) for i in range(5))


def test_batches():
    loader = io.DataLoader(Items(), batch_size=2)
    assert len(loader) == 3
    array, number, record = next(iter(loader))
    assert array.tolist() == [[0, 0], [1, 1]] and array.dtype == paddle.float32 and array.stop_gradient
    assert number.tolist() == [0, 1] and number.dtype == paddle.int64
    assert record["a"].tolist() == [0.0, 1.0] and record["b"][0].tolist() == [0, 1] and record["b"][1] == ["x0", "x1"]
    assert [b[1].tolist() for b in loader] == [[0, 1], [2, 3], [4]]
    assert [b[1].tolist() for b in io.DataLoader(Items(), batch_size=2, drop_last=True)] == [[0, 1], [2, 3]]


def test_forms():
    assert [b.shape for b in io.DataLoader(Rows(), batch_size=3)] == [[3, 2], [1, 2]]
    assert [b.shape for b in io.DataLoader(Rows(), batch_size=None)] == [[2]] * 4
    assert [b.tolist() for b in io.DataLoader(Stream(), batch_size=2)] == [[0, 1], [2, 3], [4]]
    assert len(list(io.DataLoader(Stream(), batch_size=2, drop_last=True))) == 2
    plain = list(io.DataLoader(Rows(), batch_size=2, collate_fn=lambda samples: samples))
    assert [type(b) for b in plain] == [list, list] and plain[1][0].tolist() == [2, 2]
    picked = io.DataLoader(Rows(), batch_sampler=[[3, 1], [0]])
    assert [b.numpy()[:, 0].tolist() for b in picked] == [[3, 1], [0]]
    tensors = io.TensorDataset([paddle.arange(4), paddle.ones([4, 2])])
    assert [x.shape for x in next(iter(io.DataLoader(tensors, batch_size=3)))] == [[3], [3, 2]]


def test_arrays_of_the_dataset_are_not_shared():
    data = [np.zeros(2, np.float32), np.zeros(2, np.float32)]
    batch = next(iter(io.DataLoader(data, batch_size=None)))
    batch[0] = 5.0
    assert data[0].tolist() == [0.0, 0.0]


def test_shuffling_follows_numpys_seed():
    loader = io.DataLoader(Rows(), batch_size=4, shuffle=True)
    np.random.seed(3)
    first = next(iter(loader)).numpy()[:, 0].tolist()
    assert sorted(first) == [0, 1, 2, 3] and first == np.random.RandomState(3).permutation(4).tolist()
    np.random.seed(3)
    assert next(iter(loader)).numpy()[:, 0].tolist() == first


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda: io.TensorDataset([paddle.ones([3]), paddle.ones([2])]), AssertionError),
        (lambda: io.DataLoader(Rows(), batch_size=0), ValueError),
        (lambda: io.DataLoader(Stream(), shuffle=True), ValueError),
        (lambda: io.DataLoader(Stream(), batch_sampler=[[0]]), ValueError),
        (lambda: io.DataLoader(Rows(), batch_sampler=[[0]], batch_size=2), ValueError),
        (lambda: len(io.DataLoader(Stream())), ValueError),
        (lambda: list(io.DataLoader([object()])), TypeError),
        (lambda: list(io.DataLoader([(1, 2), (1,)], batch_size=2)), RuntimeError),
        (lambda: io.BatchSampler(), ValueError),
        (lambda: io.BatchSampler(Rows(), sampler=[1]), ValueError),
        (lambda: io.BatchSampler(Rows(), batch_size=2.0), ValueError),
        (lambda: io.RandomSampler(Rows(), num_samples=9), ValueError),
        (lambda: io.WeightedRandomSampler([0.1, 0.5], 3, False), ValueError),
        (lambda: io.SubsetRandomSampler([]), ValueError),
        (lambda: io.TensorDataset([paddle.ones([2]), paddle.ones([3])]), ValueError),
        (lambda: io.TensorDataset([]), ValueError),
        (lambda: io.random_split(Items(10), [3, 6]), ValueError),
        (lambda: io.random_split(Items(10), [12, -2]), ValueError),
        (lambda: io.DataLoader(Items(10), batch_size="2"), TypeError),
        (lambda: io.random_split(Items(10), [0.3, 0.6]), ValueError),
        (lambda: io.ConcatDataset([Rows()])[4], IndexError),
        (lambda: Stream()[0], RuntimeError),
        (lambda: len(Stream()), RuntimeError),
        (lambda: io.Dataset()[0], NotImplementedError),
    ],
)
def test_refused(make, kind):
    with pytest.raises(kind):
        make()


def test_samplers():
    assert list(io.SequenceSampler(Rows())) == [0, 1, 2, 3]
    assert sorted(io.RandomSampler(Rows())) == [0, 1, 2, 3]
    assert len(list(io.RandomSampler(Rows(), replacement=True, num_samples=7))) == 7
    assert list(io.RandomSampler(Rows(), generator=iter([3, 1, 2, 0]))) == [3, 1, 2, 0]
    assert set(io.WeightedRandomSampler([0, 1.0, 0], 5)) == {1}
    assert sorted(io.WeightedRandomSampler([0.1, 0.5, 0.4], 3, False)) == [0, 1, 2]
    assert sorted(io.SubsetRandomSampler([1, 3])) == [1, 3]
    batches = io.BatchSampler(Rows(), batch_size=3)
    assert list(batches) == [[0, 1, 2], [3]] and len(batches) == 2


def test_distributed_batches():
    of = [io.DistributedBatchSampler(Items(10), 3, num_replicas=2, rank=r, shuffle=True) for r in (0, 1)]
    order = np.random.RandomState(0).permutation(10).tolist()
    assert list(of[1]) == [order[3:6], order[8:]] and list(of[0]) == [order[:3], order[6:8]] and len(of[0]) == 2
    of[0].set_epoch(5)
    assert next(iter(of[0])) == np.random.RandomState(5).permutation(10).tolist()[:3]
    odd = [list(io.DistributedBatchSampler(Items(5), 2, num_replicas=2, rank=r)) for r in (0, 1)]
    assert odd == [[[0, 1], [4]], [[2, 3], [0]]]


def test_combinations():
    both = io.ConcatDataset([Rows(), Rows()])
    assert len(both) == 8 and both[5].tolist() == [1, 1] and both[-1].tolist() == [3, 3]
    assert len(list(io.ChainDataset([Stream(), Stream()]))) == 10
    assert [a.tolist() for a in io.ComposeDataset([Rows(), Rows()])[1]] == [[1, 1], [1, 1]]
    assert io.Subset(Rows(), [2, 1])[0].tolist() == [2, 2]
    paddle.seed(1)
    parts = io.random_split(Items(10), [3, 7])
    assert sorted(i for p in parts for i in p.indices) == list(range(10)) and [len(p) for p in parts] == [3, 7]
    paddle.seed(1)
    assert io.random_split(Items(10), [3, 7])[0].indices == parts[0].indices
    assert [len(p) for p in io.random_split(Items(10), [0.35, 0.65])] == [4, 6]
    assert io.get_worker_info() is None


def test_what_fills_the_last_batch_is_shuffled_too():
    samplers = [io.DistributedBatchSampler(range(7), 2, num_replicas=2, rank=r, shuffle=True) for r in (0, 1)]
    for sampler in samplers:
        sampler.set_epoch(3)
    order = np.array([*range(7), 0])
    np.random.RandomState(3).shuffle(order)
    blocks = order.reshape(2, 2, 2)  # block, rank, batch
    assert [list(s) for s in samplers] == [blocks[:, r].tolist() for r in (0, 1)]


def test_places_before_the_first_dataset():
    data = io.ConcatDataset([Items(3), Items(2)])
    with pytest.raises(ValueError, match=r"\[ConcatDataset\] requires an index below 5, got -6"):
        data[-6]
    with pytest.raises(IndexError):
        data[5]


@pytest.mark.parametrize("settings", [{"batch_size": 2}, {"batch_size": None}, {"batch_size": 2, "collate_fn": tuple}])
def test_batches_have_no_history(settings):
    x = paddle.ones([4, 2])
    x.stop_gradient = False
    samples = [{"leaf": x[i].detach(), "result": x[i] * 2} for i in range(4)]
    for s in samples:
        s["leaf"].stop_gradient = False
    for batch in io.DataLoader(samples, **settings):
        for field in [batch] if isinstance(batch, dict) else batch if isinstance(batch, (list, tuple)) else [batch]:
            assert all(t.stop_gradient and t.is_leaf for t in field.values())
    assert not samples[0]["leaf"].stop_gradient
    assert not samples[0]["result"].stop_gradient
