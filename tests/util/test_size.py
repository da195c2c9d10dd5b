"""Sizes of tensors as objects: lists and counts that are made at every call, and kept for later ones when they go."""

from __future__ import annotations

import copy
import gc
import pickle

import pytest

from umiak.core import dtype as dt
from umiak.core.tensor import empty
from umiak.util.size import ElementCount, Size, count_of, plain_ints


def test_counts_are_numbers():
    sizes = Size([2, 3])
    for n in (0, 1, 255, 2**30 - 1, 2**30, 2**60 - 1, 2**60, 2**62):
        count = count_of(n, sizes)
        assert isinstance(count, int) and type(count) is ElementCount
        assert count == n and hash(count) == hash(n) and str(count) == str(n) and [*range(n, n + 1)] == [count]
        assert count - 1 == n - 1 and -count == -n and count // 7 == n // 7 and float(count) == float(n)
        assert type(int(count)) is int and int(count) == n
        assert count() == sizes and count(0) == 2 and count(dim=-1) == 3
        for other in (copy.copy(count), copy.deepcopy(count), pickle.loads(pickle.dumps(count))):
            assert type(other) is int and other == n
    with pytest.raises(IndexError):
        count(2)
    with pytest.raises(TypeError):
        count(1, 2)
    with pytest.raises(TypeError):
        ElementCount(3)


@pytest.mark.parametrize("rank", [0, 1, 3, 8, 9, 20])
def test_counts_of_tensors_keep_their_sizes(rank):
    shape = tuple(range(1, rank + 1)) if rank < 9 else (1,) * (rank - 1) + (7,)
    x = empty(shape, dt.float32)
    count, again = x.size, x.size
    sizes = x.shape
    del x
    assert count() == shape and count() == sizes and count == sizes.numel() == again
    count().append(3)
    assert count() == shape


def test_kept_objects_are_as_new():
    """Lists that users changed come back as sizes of their own."""
    x, y = empty((2, 3, 4), dt.float32), empty((5,) * 12, dt.float32)
    for _ in range(3):
        changed = [x.shape for _ in range(200)]
        for i, s in enumerate(changed):
            if i % 4 == 0:
                s.clear()
            elif i % 4 == 1:
                s.extend(range(100))
            elif i % 4 == 2:
                s.append(s)  # only the collector frees it
        del changed, s
        gc.collect()
        assert [x.shape for _ in range(300)] == [[2, 3, 4]] * 300
        assert [y.shape for _ in range(100)] == [[5] * 12] * 100
        assert [x.size for _ in range(100)] == [24] * 100


def test_items_and_parts():
    s = Size([2, 3, 4, 5])
    assert s[0] == 2 and s[-1] == 5 and s[True] == 3
    assert s[1:] == [3, 4, 5] and s[::-1] == (5, 4, 3, 2) and s[3:1] == [] and s[-1:0:-2] == [5, 3]
    row, one = (1,), [1]
    assert {type(part) for part in (s[1:], s[::2], s[9:], s + one, row + s, s * 2)} == {Size}
    assert s + row == [2, 3, 4, 5, 1] and one + s == (1, 2, 3, 4, 5) and Size() + s[:0] == ()
    assert s != [2, 3] and s != (2, 3, 4, 6) and s < [3] and s != "2345"
    for wrong in (4, -5, 1 << 80):
        with pytest.raises(IndexError):
            s[wrong]
    with pytest.raises(TypeError):
        s["0"]
    with pytest.raises(ValueError, match="step"):
        s[::0]


def test_plain_ints():
    assert plain_ints([1, 2]) == (1, 2) == plain_ints(Size([1, 2])) == plain_ints((1, 2))
    assert plain_ints([]) == () and plain_ints([-1]) == (-1,)
    assert plain_ints([0, 1], 0) == (0, 1) and plain_ints([-1, 1], 0) is None and plain_ints([0], 1) is None
    for other in (3, None, "12", [True], [1.0], [1 << 70], {1: 2}, range(3), [None]):
        assert plain_ints(other) is None
