"""Readers made of other readers, for programs from before data loaders.

A reader is a function without arguments that returns an iterator of samples; each call begins anew.
"""

from __future__ import annotations

import itertools
import pickle
import random
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from queue import SimpleQueue
from typing import Any

from umiak.util.errors import op_error

Reader = Callable[[], Iterable[Any]]

_END = object()


class ComposeNotAligned(ValueError):
    """Readers that were composed do not have the same number of samples."""


def cache(reader: Reader) -> Reader:
    """Reader that reads another one to its end now, and gives its samples from memory.

    Args:
        reader: the reader.

    Example:
        >>> import paddle
        >>> kept = paddle.reader.cache(lambda: iter([1, 2]))
        >>> list(kept()), list(kept())
        ([1, 2], [1, 2])
    """
    samples = tuple(reader())
    return lambda: iter(samples)


def map_readers(func: Callable[..., Any], *readers: Reader) -> Reader:
    """Reader of ``func(a, b, …)`` for samples a, b, … of readers; it ends with the shortest.

    Args:
        func: what is called with one sample of each reader.
        *readers: the readers.

    Example:
        >>> import paddle
        >>> list(paddle.reader.map_readers(lambda a, b: a + b, lambda: iter([1, 2]), lambda: iter([10, 20]))())
        [11, 22]
    """
    return lambda: map(func, *(reader() for reader in readers))


def shuffle(reader: Reader, buf_size: int) -> Reader:
    """Reader of the samples of another one, ``buf_size`` at a time in random order.

    The order is drawn by Python's ``random``.

    Args:
        reader: the reader.
        buf_size: how many samples are kept and mixed with each other.

    Example:
        >>> import paddle
        >>> sorted(paddle.reader.shuffle(lambda: iter(range(5)), 3)())
        [0, 1, 2, 3, 4]
    """

    def read() -> Iterator[Any]:
        samples = iter(reader())
        while kept := list(itertools.islice(samples, max(buf_size, 1))):
            random.shuffle(kept)
            yield from kept

    return read


def chain(*readers: Reader) -> Reader:
    """Reader of the samples of the first reader, then of those of the next ones.

    Args:
        *readers: the readers.

    Example:
        >>> import paddle
        >>> list(paddle.reader.chain(lambda: iter([1, 2]), lambda: iter([3]))())
        [1, 2, 3]
    """
    return lambda: itertools.chain.from_iterable(reader() for reader in readers)


def compose(*readers: Reader, check_alignment: bool = True) -> Reader:
    """Reader of tuples with a sample of each reader; the fields of samples that are tuples stand in it one by one.

    Args:
        *readers: the readers.
        check_alignment: refuse readers of which one ends before another; otherwise all end with the shortest.

    Raises:
        ComposeNotAligned: while it is read, a reader ends before another.

    Example:
        >>> import paddle
        >>> list(paddle.reader.compose(lambda: iter([1, 2]), lambda: iter([("a", "b"), ("c", "d")]))())
        [(1, 'a', 'b'), (2, 'c', 'd')]
    """

    def read() -> Iterator[tuple]:
        for samples in itertools.zip_longest(*(reader() for reader in readers), fillvalue=_END):
            if any(x is _END for x in samples):
                if check_alignment:
                    lengths = "one that ends before another"
                    raise op_error(ComposeNotAligned, "compose", "readers with the same number of samples", lengths)
                return
            yield tuple(itertools.chain.from_iterable(x if isinstance(x, tuple) else (x,) for x in samples))

    return read


def buffered(reader: Reader, size: int) -> Reader:
    """Reader of the samples of another one, which a thread reads up to ``size`` samples ahead.

    Args:
        reader: the reader; what it raises is raised where the sample would be.
        size: how many samples are read ahead; below 1, one.

    Example:
        >>> import paddle
        >>> list(paddle.reader.buffered(lambda: iter(range(3)), 2)())
        [0, 1, 2]
    """

    return lambda: _ahead("buffered", reader, size)


def _ahead(
    name: str,
    reader: Reader,
    size: int,
    mapper: Callable[[Any], Any] | None = None,
    process_num: int = 0,
    order: bool = True,
) -> Iterator[Any]:
    """Samples, or what ``mapper`` makes of them in ``process_num`` threads, up to ``size`` before they are asked for.

    A thread reads, so that it waits for slow readers beside the program. A program that ends waits for none of them.
    """
    samples = iter(reader())
    free = threading.Semaphore(max(size, 1))
    is_left = threading.Event()
    # A sample's number, the sample and what it raised; number and error of the end, which is no sample.
    ready: SimpleQueue[tuple[int, Any, BaseException | None]] = SimpleQueue()
    todo: SimpleQueue[tuple[int, Any, BaseException | None]] = SimpleQueue()

    def take() -> None:
        at, error, to = 0, None, ready if mapper is None else todo
        try:
            while free.acquire() and not is_left.is_set() and (sample := next(samples, _END)) is not _END:
                to.put((at, sample, None))
                at += 1
        except BaseException as e:
            error = e
        ready.put((at, _END, error))
        for _ in range(process_num):
            todo.put((at, _END, None))

    def compute() -> None:
        assert mapper is not None
        while (task := todo.get())[1] is not _END and not is_left.is_set():
            try:
                ready.put((task[0], mapper(task[1]), None))
            except BaseException as e:
                ready.put((task[0], None, e))

    for work in [take, *[compute] * process_num]:
        threading.Thread(target=work, name=f"paddle.reader.{name}", daemon=True).start()
    done: dict[int, tuple[Any, BaseException | None]] = {}
    end, end_error, taken = None, None, 0
    try:
        while end is None or taken < end:
            at, sample, error = ready.get()
            if sample is _END:
                end, end_error = at, error
                continue
            done[at if order else taken] = sample, error
            while taken in done:
                sample, error = done.pop(taken)
                if error is not None:
                    raise error
                taken += 1
                free.release()
                yield sample
        if end_error is not None:
            raise end_error
    finally:
        is_left.set()
        free.release()


def firstn(reader: Reader, n: int) -> Reader:
    """Reader of the first ``n`` samples of another one.

    Args:
        reader: the reader.
        n: how many samples there are at most.

    Example:
        >>> import paddle
        >>> list(paddle.reader.firstn(lambda: iter(range(5)), 2)())
        [0, 1]
    """
    return lambda: itertools.islice(reader(), max(n, 0))


def xmap_readers(
    mapper: Callable[[Any], Any], reader: Reader, process_num: int, buffer_size: int, order: bool = False
) -> Reader:
    """Reader of ``mapper(sample)`` for the samples of another reader, computed by threads.

    Args:
        mapper: what is called with a sample; what it raises is raised by the reader.
        reader: the reader, which one more thread reads; what it raises is raised behind its samples.
        process_num: how many threads there are.
        buffer_size: how many samples are computed ahead at most.
        order: results come in the order of the samples; otherwise as they are ready.

    Raises:
        ValueError: process_num or buffer_size below 1.

    Example:
        >>> import paddle
        >>> list(paddle.reader.xmap_readers(lambda x: x * x, lambda: iter(range(4)), 2, 4, order=True)())
        [0, 1, 4, 9]
    """
    if process_num < 1 or buffer_size < 1:
        got = f"{process_num} and {buffer_size}"
        raise op_error(ValueError, "xmap_readers", "process_num and buffer_size of 1 or more", got)

    return lambda: _ahead("xmap_readers", reader, buffer_size, mapper, process_num, order)


def multiprocess_reader(readers: Sequence[Reader], use_pipe: bool = True, queue_size: int = 1000) -> Reader:
    """Reader of the samples of several readers, each of which is read in a process of its own.

    Args:
        readers: the readers, one or more.
        use_pipe: accepted: samples are sent as those of data loaders are. They have to pickle.
        queue_size: how many samples are read ahead at most.

    Raises:
        ValueError: there are no readers, or while it is read, a sample is None.

    Example:
        >>> import paddle
        >>> read = paddle.reader.multiprocess_reader([lambda: iter([1, 2]), lambda: iter([3])])
        >>> sorted(read())
        [1, 2, 3]
    """
    from paddle.io import DataLoader, IterableDataset, get_worker_info

    if not readers:
        raise op_error(ValueError, "multiprocess_reader", "one or more readers", "none")

    class Samples(IterableDataset):
        def __iter__(self) -> Iterator[Any]:
            worker = get_worker_info()
            assert worker is not None  # a loader of these has workers
            for sample in readers[worker.id]():
                if sample is None:
                    raise op_error(ValueError, "multiprocess_reader", "samples", "None")
                yield sample

    def read() -> Iterator[Any]:
        ahead = max(queue_size // len(readers), 1)
        loader = DataLoader(
            Samples(), batch_size=None, num_workers=len(readers), collate_fn=pickle.dumps, prefetch_factor=ahead
        )
        return map(pickle.loads, loader)  # what a loader sends as such are tensors

    return read
