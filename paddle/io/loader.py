"""``DataLoader``: from a dataset to batches of tensors."""

from __future__ import annotations

import itertools
import random
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from paddle._public import public
from paddle.framework import mode
from paddle.framework.place import current_place, place_of
from paddle.io.collate import collate, default_collate_fn, default_convert_fn, stack, stack_tensor, to_tensors
from paddle.io.dataset import Dataset, IterableDataset, NoLengthError, length_of
from paddle.io.fetch import EXHAUSTED, Source, keep_memory
from paddle.io.protocol import BATCH, END, ERROR
from paddle.io.sampler import BatchSampler
from paddle.io.tuning import settings, tuned_workers
from umiak.core.generator import default_generator
from umiak.core.place import Place
from umiak.util import flags

if TYPE_CHECKING:
    from paddle.io.channel import Message
    from paddle.io.pool import WorkerPool

START_METHOD = flags.define(
    "dataloader_start_method",
    "auto",
    "how worker processes begin: fork (datasets may hold anything), forkserver, spawn (datasets must pickle), or auto: "
    "fork where the system has it",
)


@public("paddle.io")
class DataLoader:
    """Iterate over batches of a dataset; every ``iter()`` is one pass.

    Batches come in the order of the sampler, whatever the number of workers. With workers, several are prepared ahead
    in processes of their own; large ones come through shared memory and are not copied again. An exception of a worker
    is raised here, caused by the worker's traceback. Workers end with the iteration, or with this process, however that
    ends.

    ``random``, NumPy and ``paddle`` are seeded in worker ``i`` by ``i`` plus a number from ``paddle``'s generator,
    before every pass, unless there is a ``worker_init_fn``, after which nothing is seeded again.

    Args:
        dataset: a ``Dataset``, an ``IterableDataset`` or a sequence. Each worker has a copy; a stream is read by every
            worker (see ``get_worker_info``).
        feed_list: the inputs of a static program that the fields of a batch are fed to, in order; see ``return_list``.
        places: where tensors go; None: the current place. Of several, the first.
        return_list: False, in static mode: each batch is a list of one dict, of the fields by the names in
            ``feed_list``, which ``Executor.run`` takes as ``feed``. Otherwise it is a list of the fields.
        batch_sampler: an iterable of lists of indices, instead of batch_size, shuffle and drop_last; None: those.
        batch_size: items per batch, or None for single items without a batch dim.
        shuffle: read in an order drawn for each pass, from NumPy's generator.
        drop_last: leave out a last batch that is not full.
        collate_fn: makes a batch from a list of samples; arrays in its result become tensors. None: samples are
            stacked, field by field.
        num_workers: processes that read samples; 0: this one does. ``paddle.incubate.autotune`` can choose it by trial.
        use_buffer_reader: accepted; nothing depends on it.
        reader_buffer_size: accepted; nothing depends on it.
        prefetch_factor: batches that each worker prepares ahead, 1 or more.
        use_shared_memory: False: all batches come through sockets.
        timeout: seconds to wait for a batch of a worker; 0: no limit.
        worker_init_fn: called in each worker with its number, before anything is read; None: nothing is.
        persistent_workers: keep the workers for the next pass.

    Raises:
        ValueError: options that contradict each other, or numbers out of range.
        TypeError: options of another kind; while iterating, samples that cannot be stacked.
        RuntimeError: while iterating, when a worker ends or takes longer than ``timeout``.

    Example:
        >>> import paddle
        >>> data = paddle.io.TensorDataset([paddle.arange(4), paddle.ones([4, 2])])
        >>> for i, x in paddle.io.DataLoader(data, batch_size=2):
        ...     print(i.tolist(), x.shape)
        [0, 1] paddle.Size([2, 2])
        [2, 3] paddle.Size([2, 2])
    """

    def __init__(
        self,
        dataset: Dataset,
        feed_list: Any = None,
        places: Any = None,
        return_list: bool = True,
        batch_sampler: Any = None,
        batch_size: int | None = 1,
        shuffle: bool = False,
        drop_last: bool = False,
        collate_fn: Callable[[list], Any] | None = None,
        num_workers: int = 0,
        use_buffer_reader: bool = True,
        reader_buffer_size: int = 2,
        prefetch_factor: int = 2,
        use_shared_memory: bool = True,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        persistent_workers: bool = False,
    ) -> None:
        for name, value, least in (("num_workers", num_workers, 0), ("prefetch_factor", prefetch_factor, 1)):
            if not isinstance(value, int):
                raise TypeError(f"[DataLoader] requires an integer {name}, got {value!r}")
            if value < least:
                raise ValueError(f"[DataLoader] requires {name} >= {least}, got {value}")
        if not isinstance(timeout, (int, float)):
            raise TypeError(f"[DataLoader] requires a timeout in seconds, got {timeout!r}")
        if not timeout >= 0:
            raise ValueError(f"[DataLoader] requires timeout >= 0, got {timeout}")
        for name, function in (("collate_fn", collate_fn), ("worker_init_fn", worker_init_fn)):
            if function is not None and not callable(function):
                raise TypeError(f"[DataLoader] requires a callable {name} or None, got {function!r}")
        if not return_list and feed_list is None and not mode.in_dynamic_mode():
            raise ValueError("[DataLoader] requires a feed_list with return_list=False in static mode, got None")
        stream = isinstance(dataset, IterableDataset)
        if stream and shuffle:
            raise ValueError("[DataLoader] requires shuffle=False with an IterableDataset, got True")
        if stream and batch_sampler is not None:
            raise ValueError("[DataLoader] requires no batch_sampler with an IterableDataset, got one")
        if batch_sampler is not None and (batch_size != 1 or shuffle or drop_last):
            raise ValueError(
                "[DataLoader] requires batch_size, shuffle and drop_last unset when batch_sampler is given"
            )
        if batch_size is not None and not hasattr(batch_size, "__index__"):
            raise TypeError(f"[DataLoader] requires an integer batch_size or None, got {batch_size!r}")
        if batch_size is not None and batch_size <= 0:
            raise ValueError(f"[DataLoader] requires a positive batch_size or None, got {batch_size}")
        self.dataset = dataset
        self.feed_list = feed_list
        self.places = places
        self.return_list = return_list
        self.num_workers = num_workers
        self.use_buffer_reader = use_buffer_reader
        self.reader_buffer_size = reader_buffer_size
        self.prefetch_factor = prefetch_factor
        self.use_shared_memory = use_shared_memory
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.persistent_workers = persistent_workers
        self.drop_last = drop_last
        self.batch_size = getattr(batch_sampler, "batch_size", None) if batch_sampler is not None else batch_size
        if batch_sampler is None and batch_size is not None and not stream:
            batch_sampler = BatchSampler(dataset, shuffle=shuffle, batch_size=batch_size, drop_last=drop_last)
        self.batch_sampler = batch_sampler
        self._batched = batch_sampler is not None or batch_size is not None
        self.collate_fn = collate_fn or (default_collate_fn if self._batched else default_convert_fn)
        self._place = self._first_place(places)
        self._idle: WorkerPool | None = None  # workers kept for the next pass
        if settings.enabled:
            self.num_workers = tuned_workers(self)

    @staticmethod
    def _first_place(places: Any) -> Place | None:
        if isinstance(places, (list, tuple)):
            if not places:
                raise ValueError("[DataLoader] requires one of places, got none. Leave it out for the current place")
            places = places[0]
        return None if places is None else place_of(places, "DataLoader")

    def _source(self) -> Source:
        stream = isinstance(self.dataset, IterableDataset)
        return Source(self.dataset, self._batched, self.batch_size if stream else None, self.drop_last)

    def _tasks(self) -> Iterable[Any]:
        """Iterate over the tasks: indices or lists of them; for a stream, Nones without end."""
        if self.batch_sampler is not None:
            return self.batch_sampler
        return itertools.repeat(None) if isinstance(self.dataset, IterableDataset) else range(len(self.dataset))

    def __iter__(self) -> Iterator[Any]:
        batches = _SingleProcessIterator(self) if self.num_workers == 0 else _MultiProcessIterator(self)
        if self.return_list or mode.in_dynamic_mode():
            return batches
        names = [x.name for x in self.feed_list]
        return ([dict(zip(names, batch, strict=True))] for batch in batches)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_idle": None}  # a copy has workers of its own

    def __call__(self) -> Iterator[Any]:
        """The same as ``iter(loader)``."""
        return iter(self)

    def __len__(self) -> int:
        """The number of batches of one pass. Raises ValueError for a stream."""
        if isinstance(self.dataset, IterableDataset):
            raise NoLengthError("[DataLoader] requires a dataset with a length, got an IterableDataset")
        return length_of("DataLoader", self.dataset if self.batch_sampler is None else self.batch_sampler)


class _BatchIterator(ABC):
    """One pass over the batches."""

    def __init__(self, loader: DataLoader) -> None:
        self.loader = loader

    def __iter__(self) -> Iterator[Any]:
        return self

    @abstractmethod
    def __next__(self) -> Any: ...

    def __len__(self) -> int:
        return len(self.loader)


class _SingleProcessIterator(_BatchIterator):
    """Samples are read in this process."""

    def __init__(self, loader: DataLoader) -> None:
        super().__init__(loader)
        self.batches = self._generate()

    def __next__(self) -> Any:
        return next(self.batches)

    def _generate(self) -> Iterator[Any]:
        loader = self.loader
        place = loader._place or current_place()
        own = loader.collate_fn is default_collate_fn
        into = stack_tensor if place is current_place() and place.device_type == "cpu" else stack
        fetch = loader._source().fetcher()
        keep_memory()
        for task in loader._tasks():
            samples = fetch(task)
            if samples is EXHAUSTED:
                return
            batch = collate(samples, into) if own else loader.collate_fn(samples)
            del samples
            yield to_tensors(batch, place, own)


class _MultiProcessIterator(_BatchIterator):
    """Samples are read by workers, which take tasks in turn and answer in order: batches come in the order of tasks."""

    def __init__(self, loader: DataLoader) -> None:
        super().__init__(loader)
        self.pool: WorkerPool | None = None
        self.place = loader._place or current_place()
        self.order: deque[int] = deque()  # whose answer comes when
        self.tasks = iter(loader._tasks())
        self.pool = self._start()
        try:
            for _ in range(loader.prefetch_factor):
                for number in range(loader.num_workers):
                    self._give(number)
        except BaseException:
            self._finish(sound=False)
            raise

    def _start(self) -> WorkerPool:
        """Workers that have begun this pass."""
        from paddle.io.pool import WorkerPool  # not before it is needed: importing it takes a while
        from paddle.io.worker import Job

        loader = self.loader
        pool, loader._idle = loader._idle, None
        seed = random.Random(f"{default_generator(Place('cpu')).reserve(1)}").getrandbits(31)
        if pool is None or not pool.open:
            custom = None if loader.collate_fn is default_collate_fn else loader.collate_fn
            job = Job(
                loader._source(),
                custom,
                loader.worker_init_fn,
                loader.num_workers,
                loader.prefetch_factor,
                loader.use_shared_memory,
            )
            pool = WorkerPool(job, seed, START_METHOD.value)
            pool.begin(None)
        else:
            pool.begin(seed if loader.worker_init_fn is None else None)
        return pool

    def _give(self, number: int) -> None:
        """The next task to a worker, if there is one."""
        for task in self.tasks:
            self.pool.give(number, task)  # type: ignore[union-attr]
            self.order.append(number)
            return

    def __next__(self) -> Any:
        if self.pool is None:
            raise StopIteration
        try:
            answer = self._next_answer()
        except BaseException:  # what state the workers and their channels are in is not known
            self._finish(sound=False)
            raise
        if answer is None:
            self._finish()
            raise StopIteration
        w, message = answer
        try:
            if message.kind == ERROR:
                raise w.exception(message)
            region, crowded = w.unpacker.lease(message)
            return to_tensors(w.unpacker.unpack(message, region), self.place, not crowded)
        except BaseException:
            self._finish()
            raise

    def _next_answer(self) -> tuple[Any, Message] | None:
        """The worker whose turn it is, which has its next task by then, and its batch or error; None at the end."""
        assert self.pool is not None
        while self.order:
            number = self.order.popleft()
            message = self.pool.take(number, self.loader.timeout)
            if message.kind == BATCH:
                self._give(number)
            if message.kind != END:
                return self.pool.workers[number], message
        return None

    def _finish(self, sound: bool = True) -> None:
        """Give the workers back to the loader if it keeps any, and end them otherwise."""
        pool, self.pool = self.pool, None
        if pool is None:
            return
        loader = self.loader
        if sound and pool.open and loader.persistent_workers and loader._idle is None:
            loader._idle = pool
        else:
            pool.close(patient=sound)

    def __del__(self) -> None:
        self._finish()
