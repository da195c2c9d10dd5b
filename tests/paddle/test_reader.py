"""Readers made of other readers: their samples are those of the lists that the readers stand for."""

from __future__ import annotations

import itertools
import threading

import numpy as np
import pytest

import paddle
from paddle import reader as made

LENGTHS = [0, 1, 2, 7]


def reads(samples):
    return lambda: iter(samples)


@pytest.mark.parametrize("n", LENGTHS)
def test_readers_are_what_lists_are(n):
    r, double = reads(range(n)), reads([2 * i for i in range(n)])
    cases = {
        made.cache(r): list(range(n)),
        made.chain(r, double): [*range(n), *range(0, 2 * n, 2)],
        made.compose(r, double): [(i, 2 * i) for i in range(n)],
        made.compose(made.compose(r, double), r): [(i, 2 * i, i) for i in range(n)],
        made.map_readers(lambda a, b: a + b, r, double): [3 * i for i in range(n)],
        made.xmap_readers(lambda x: x * x, r, 3, 2, True): [i * i for i in range(n)],
        **{made.firstn(r, k): list(range(min(n, k))) for k in LENGTHS},
        **{made.buffered(r, k): list(range(n)) for k in LENGTHS},
    }
    for read, samples in cases.items():
        assert list(read()) == samples
        assert list(read()) == samples, "a second call begins anew"


@pytest.mark.parametrize("n", LENGTHS)
def test_readers_without_an_order_have_each_sample_once(n):
    r = reads(range(n))
    for read in (*(made.shuffle(r, k) for k in LENGTHS), made.xmap_readers(lambda x: x, r, 2, 4)):
        assert sorted(read()) == list(range(n))


def test_shuffling_mixes_as_many_samples_as_are_kept():
    got = list(made.shuffle(reads(range(40)), 10)())
    assert got != list(range(40))
    assert [sorted(got[i : i + 10]) for i in range(0, 40, 10)] == [list(range(i, i + 10)) for i in range(0, 40, 10)]


def test_readers_that_do_not_align():
    short, long = reads([1]), reads([1, 2])
    for readers in ((short, long), (long, short)):
        with pytest.raises(made.ComposeNotAligned, match=r"^\[compose\] requires readers with the same number"):
            list(made.compose(*readers)())
        assert list(made.compose(*readers, check_alignment=False)()) == [(1, 1)]
        assert list(made.map_readers(lambda a, b: (a, b), *readers)()) == [(1, 1)]


def fails():
    yield 1
    raise KeyError("sample")


AHEAD = {
    **{f"buffered {n}": lambda r, n=n: made.buffered(r, n) for n in (1, 2, 8)},
    **{
        f"xmap_readers {n} {order}": lambda r, n=n, order=order: made.xmap_readers(lambda x: x, r, 2, n, order)
        for n in (1, 2, 8)
        for order in (False, True)
    },
}
READERS = {
    **AHEAD,
    "chain": lambda r: made.chain(r, r),
    "shuffle": lambda r: made.shuffle(r, 1),
    "firstn": lambda r: made.firstn(r, 5),
}


@pytest.mark.parametrize("make", READERS.values(), ids=READERS)
def test_what_a_reader_raises_is_raised_behind_its_samples(make):
    read = make(fails)()
    assert next(read) == 1
    with pytest.raises(KeyError, match="sample"):
        next(read)


@pytest.mark.parametrize("make", AHEAD.values(), ids=AHEAD)
def test_samples_come_before_the_reader_has_more(make):
    more = threading.Event()

    def waits():
        yield 1
        more.wait(20)
        yield 2

    read = make(waits)()
    assert next(read) == 1 and not more.is_set()
    for thread in threading.enumerate():  # a program that ends does not wait for a reader that does
        assert thread.daemon or not thread.name.startswith("paddle.reader")
    more.set()
    assert list(read) == [2]


def test_what_a_mapper_raises():
    with pytest.raises(ZeroDivisionError):
        list(made.xmap_readers(lambda x: 1 / x, reads([1, 0]), 2, 2)())
    for numbers in ((0, 1), (1, 0)):
        with pytest.raises(ValueError, match="1 or more"):
            made.xmap_readers(lambda x: x, reads([1]), *numbers)


def test_threads_of_readers_that_are_left_end():
    before = threading.active_count()
    for make in (lambda r: made.buffered(r, 4), lambda r: made.xmap_readers(lambda x: x, r, 2, 4)):
        read = make(itertools.count)()
        assert len({next(read), next(read)}) == 2
        read.close()
    for thread in threading.enumerate():
        if thread.name.startswith("paddle.reader"):
            thread.join(20)
    assert threading.active_count() <= before


def test_readers_in_processes_send_samples_as_they_are():
    samples = [(np.arange(3.0), 1, "a"), {"b": np.zeros([2, 0], "int8")}, 5]
    got = list(made.multiprocess_reader([reads(samples), reads([5])])())
    assert len(got) == 4
    (first,) = (x for x in got if isinstance(x, tuple))
    assert isinstance(first[0], np.ndarray)
    np.testing.assert_array_equal(first[0], np.arange(3.0))
    assert first[1:] == (1, "a")
    (second,) = (x for x in got if isinstance(x, dict))
    assert second["b"].shape == (2, 0) and second["b"].dtype == "int8"
    assert sum(isinstance(x, int) for x in got) == 2
    with pytest.raises(ValueError, match="one or more readers"):
        made.multiprocess_reader([])
    with pytest.raises(ValueError, match="samples, got None"):
        list(made.multiprocess_reader([reads([None])])())


def test_batches_of_readers():
    assert list(paddle.batch(made.firstn(itertools.count, 5), 2)()) == [[0, 1], [2, 3], [4]]
