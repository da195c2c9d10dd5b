"""Plan of a load as plain data: which rank reads which bytes, and which it sends to whom.

A plan is made of what all ranks want and of what is stored, without a file being opened. Ranks that want the same block
are one class, planned once; parts of classes that come from the same box of a stored block are one ``Item``, which is
read once. A large item that goes to several ranks is cut, so that all of them can take part in reading it; it travels
along a binomial tree. Items of a rank are executed in *waves*: what a rank must hold beside its own tensors during one
wave stays within the budget.
"""

from __future__ import annotations

import difflib
import heapq
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from umiak.checkpoint.box import Box, difference
from umiak.checkpoint.data_model import Block, Piece, Stored
from umiak.checkpoint.sources import Run, Sources, itemsize, runs
from umiak.core import dtype as dt

if TYPE_CHECKING:
    from umiak.checkpoint.aoa import Layout

BUDGET = 256 << 20
EXCHANGES = ("auto", "none", "sends")
MESSAGES = 1024  # of one rank in one wave
LISTED = 10  # how many names an error shows


@dataclass(frozen=True, slots=True)
class Put:
    """Destination of a box of a source: ``target`` (in the wanted tensor) of the rank's wanted block ``want``.

    ``run`` is the index of the run of the wanted block that holds it (0 unless it is flattened). ``axes`` and ``casts``
    are as in :class:`Piece`; a last cast into the dtype of the wanted block is among them.
    """

    want: int
    run: int
    target: Box
    axes: tuple[int, ...] | None
    casts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Read:
    """Read ``box`` of a stored block, put it into own blocks, send it to ranks."""

    stored: Stored
    box: Box
    puts: tuple[Put, ...]
    to: tuple[int, ...]
    wave: int


@dataclass(frozen=True, slots=True)
class Receive:
    """Receive a box from a rank, put it into own blocks, send it on.

    ``relayed``: the peer is not its reader. What a rank reads and what it relays are two orders of messages.
    """

    dtype: str
    box: Box
    peer: int
    relayed: bool
    puts: tuple[Put, ...]
    to: tuple[int, ...]
    wave: int


@dataclass(frozen=True, slots=True)
class RankPlan:
    """Steps of one rank, in this order."""

    rank: int
    steps: tuple[Read | Receive, ...]

    @property
    def bytes_read(self) -> int:
        return sum(s.box.size * itemsize(s.stored.block.dtype) for s in self.steps if isinstance(s, Read))


@dataclass(frozen=True, slots=True)
class Class:
    """The ranks that want the same block, and its number in the list of each."""

    block: Block
    ranks: tuple[int, ...]
    wants: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Item:
    """A box of a stored block and all that comes out of it: ``puts`` count in classes instead of wanted blocks.

    ``ranks`` are those who need it. ``order`` is the tree it is sent along, its root the reader: the children of
    position i are all i + 2**k < len(order) with 2**k > i. Without an exchange it is empty and every rank reads for
    itself.
    """

    copies: tuple[int, ...]
    dtype: str
    box: Box
    puts: tuple[Put, ...]
    ranks: tuple[int, ...]
    order: tuple[int, ...] = ()
    wave: int = 0

    @property
    def nbytes(self) -> int:
        return self.box.size * itemsize(self.dtype)


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of all ranks. ``exchange`` is "none" or "sends"."""

    stored: tuple[Stored, ...]
    classes: tuple[Class, ...]
    items: tuple[Item, ...]
    by_rank: tuple[array[int], ...]
    exchange: str
    readable: tuple[frozenset[str], ...] | None = None

    def rank(self, rank: int) -> RankPlan:
        """Return the plan of ``rank``."""
        items = [self.items[i] for i in self.by_rank[rank]]
        return RankPlan(rank, tuple(self._step(rank, i, i.order.index(rank) if i.order else 0) for i in items))

    def ranks(self) -> list[RankPlan]:
        """Return the plans of all ranks: faster than one after the other."""
        steps: list[list[Read | Receive]] = [[] for _ in self.by_rank]
        for item in self.items:
            for at, rank in enumerate(item.order or item.ranks):
                steps[rank].append(self._step(rank, item, at))
        return [RankPlan(rank, tuple(own_steps)) for rank, own_steps in enumerate(steps)]

    def _step(self, rank: int, item: Item, at: int) -> Read | Receive:
        """Return the step of a rank for an item; ``at`` is its position in the tree."""
        puts = []
        for put in item.puts:
            c = self.classes[put.want]
            i = bisect_left(c.ranks, rank)
            while i < len(c.ranks) and c.ranks[i] == rank:
                puts.append(Put(c.wants[i], put.run, put.target, put.axes, put.casts))
                i += 1
        to = tuple(item.order[j] for j in children(at, len(item.order)))
        if at == 0 or not item.order:
            return Read(self.stored[self._copy(rank, item)], item.box, tuple(puts), to, item.wave)
        above = parent(at)
        return Receive(item.dtype, item.box, item.order[above], above > 0, tuple(puts), to, item.wave)

    def _copy(self, rank: int, item: Item) -> int:
        if self.readable is None:
            return item.copies[0]
        return next(i for i in item.copies if self.stored[i].file in self.readable[rank])


def children(i: int, n: int) -> Iterator[int]:
    """The positions that position ``i`` of a binomial tree of ``n`` sends to, the largest subtree first."""
    step = 1 << i.bit_length()
    below = []
    while i + step < n:
        below.append(i + step)
        step <<= 1
    return reversed(below)


def parent(i: int) -> int:
    """The position that position ``i`` receives from."""
    return i - (1 << (i.bit_length() - 1))


def plan_load(
    wants: Sequence[Sequence[Block]],
    stored: Sources | Iterable[Stored],
    *,
    layout: Layout | None = None,
    readable: Sequence[frozenset[str]] | None = None,
    hosts: Sequence[object] | None = None,
    exchange: str = "auto",
    budget: int = BUDGET,
) -> Plan:
    """Plan how every rank gets what it wants.

    Args:
        wants: the wanted blocks of every rank.
        stored: the blocks that there are.
        layout: how wanted tensors come out of stored ones; without it, each out of that of its name.
        readable: the files that each rank can open; all of them by default.
        hosts: the host of each rank (anything hashable); one of its own for each by default.
        exchange: "none": every rank reads what it needs. "sends": every byte is read once and sent to the others that
            need it. "auto": sends where a rank cannot open a file it needs, or where hosts would read more than twice
            the bytes (what several ranks of a host read comes from its page cache).
        budget: bytes that a rank may hold in a wave beside its tensors.

    Raises:
        KeyError: wanted tensors that are not there: one error with all of them.
        ValueError: a global shape that is another one, elements that nothing holds, two ranks that disagree.
        TypeError: a dtype that cannot be cast without a statement that says so.
        FileNotFoundError: a file that is needed and that no rank can open.
    """
    if exchange not in EXCHANGES:
        raise ValueError(f"[plan] requires an exchange of {EXCHANGES}, got {exchange!r}")
    sources = stored if isinstance(stored, Sources) else Sources(stored)
    ranks = len(wants)
    classes = _classes(wants)
    _check(classes, sources, layout)
    items = _items(classes, sources, layout)
    access = _FileAccess(sources.stored, readable, ranks)
    if exchange == "auto":
        exchange = "sends" if _worth_sending(items, hosts, access) else "none"
    if exchange == "none":
        for item in items:
            for rank in item.ranks:
                if not access.can(rank, item.copies):
                    raise access.error(item, f"rank {rank}")
    else:
        items = _placed(_cut(_disjoint(items, classes), budget // 16), access, classes, ranks, budget)
    by_rank: tuple[array[int], ...] = tuple(array("l") for _ in range(ranks))
    for i, item in enumerate(items):
        for rank in item.order or item.ranks:
            by_rank[rank].append(i)
    return Plan(
        sources.stored, tuple(classes), tuple(items), by_rank, exchange, None if readable is None else tuple(readable)
    )


# --- what is wanted --------------------------------------------------------------------------------------------------


def _classes(wants: Sequence[Sequence[Block]]) -> list[Class]:
    members: dict[Block, tuple[list[int], list[int]]] = {}
    for rank, blocks in enumerate(wants):
        for i, block in enumerate(blocks):
            ranks_of, numbers = members.setdefault(block, ([], []))
            ranks_of.append(rank)
            numbers.append(i)
    same: dict[tuple[int, ...], tuple[int, ...]] = {}  # many classes have the same members
    out = []
    for block, (ranks_of, numbers) in members.items():
        ranks = tuple(ranks_of)
        out.append(Class(block, same.setdefault(ranks, ranks), tuple(numbers)))
    return out


def _check(classes: list[Class], sources: Sources, layout: Layout | None) -> None:
    """Names and shapes of all that is wanted."""
    known = sources.infos if layout is None else layout.targets
    missing = sorted({c.block.key for c in classes} - set(known) - (layout.kept if layout is not None else frozenset()))
    if missing:
        raise KeyError(_missing(missing, known))
    shapes: dict[str, Class] = {}
    for c in classes:
        block = c.block
        first = shapes.setdefault(block.key, c)
        if first.block.global_shape != block.global_shape:
            raise ValueError(
                f"[checkpoint] requires one global shape of {block.key!r} on all ranks, got "
                f"{list(first.block.global_shape)} on rank {first.ranks[0]} and {list(block.global_shape)} on rank "
                f"{c.ranks[0]}"
            )
        info = known.get(block.key)
        if info is not None and info.shape != block.global_shape:
            raise ValueError(
                f"[checkpoint] requires the global shape of {block.key!r} that is stored, {list(info.shape)}, got "
                f"{list(block.global_shape)} on rank {c.ranks[0]}"
            )
        if not Box.full(block.global_shape).contains(block.box):
            raise ValueError(
                f"[checkpoint] requires blocks within their tensor, got {block.box} of {block.key!r} with shape "
                f"{list(block.global_shape)} on rank {c.ranks[0]}"
            )


def _missing(missing: list[str], known: Iterable[str]) -> str:
    names = list(known)
    shown = []
    for key in missing[:LISTED]:
        near = difflib.get_close_matches(key, names[:5000], 1)
        shown.append(f"{key!r}" + (f" (there is {near[0]!r})" if near else ""))
    more = f" and {len(missing) - LISTED} more" if len(missing) > LISTED else ""
    return f"[checkpoint] requires tensors that are stored, got {len(missing)} that are not: {', '.join(shown)}{more}"


def castable(source: str, target: str) -> bool:
    """Return whether values may be cast implicitly: floats (and complex numbers) to any width, as low-precision
    checkpoints are loaded into wider models and back; others only where no value can change.
    """
    if source == target:
        return True
    a, b = (getattr(dt, name, None) for name in (source, target))
    if a is None or b is None:  # a dtype that only files have
        return False
    if (a.is_floating and b.is_floating) or (a.is_complex and b.is_complex):
        return True
    return not (a.is_floating or a.is_complex) and bool(np.can_cast(a.numpy, b.numpy, "safe"))


def _casts(piece: Piece, source: str, block: Block, known: dict[tuple[str, str], bool]) -> tuple[str, ...]:
    last = piece.casts[-1] if piece.casts else source
    if last == block.dtype:
        return piece.casts
    allowed = known.get((last, block.dtype))
    if allowed is None:
        allowed = known[last, block.dtype] = castable(last, block.dtype)
    if not allowed:
        raise TypeError(
            f"[checkpoint] requires {block.key!r} of a dtype that {last} is cast to without loss, got {block.dtype}. "
            "Cast it yourself, or load into a tensor of that dtype."
        )
    return (*piece.casts, block.dtype)


# --- where it comes from ---------------------------------------------------------------------------------------------


def sub_target(box: Box, source: Box, target: Box, axes: tuple[int, ...] | None) -> Box:
    """The part of ``target`` that comes from ``box``, a part of ``source``."""
    if box == source:
        return target
    rel = box.relative_to(source.offset)
    return (rel if axes is None else rel.permuted(axes)).shifted(target.offset)


def _items(classes: list[Class], sources: Sources, layout: Layout | None) -> list[Item]:
    """Return what every class needs, grouped by source box, in the order of the files."""
    items: dict[int, tuple[Run, dict[Box, list[Put]]]] = {}
    casts: dict[tuple[str, str], bool] = {}
    for number, c in enumerate(classes):
        block = c.block
        if layout is not None and block.key in layout.kept:
            continue
        for position, (box, _) in enumerate(runs(block)):
            if not box.size:
                continue
            pieces = (Piece(box, block.key, box),) if layout is None else layout.pieces(block.key, box)
            if layout is not None and sum(p.target.size for p in pieces) != box.size:
                raise ValueError(
                    f"[checkpoint] requires statements that give all of {block.key!r}, got none for a part of {box}"
                )
            for piece in pieces:
                parts, left = sources.find(piece.key, piece.source)
                if left:
                    raise ValueError(_uncovered(c, piece, left, sources))
                chain = _casts(piece, sources.infos[piece.key].dtype, block, casts)
                for run, part in parts:
                    target = sub_target(part, piece.source, piece.target, piece.axes)
                    by_box = items.setdefault(run.number, (run, {}))[1]
                    by_box.setdefault(part, []).append(Put(number, position, target, piece.axes, chain))
    begin = [(s.file, s.begin) for s in sources.stored]
    out = []
    together: dict[tuple[tuple[int, ...], ...], tuple[int, ...]] = {}
    for run, by_box in sorted(items.values(), key=lambda v: (begin[v[0].copies[0]], v[0].number)):
        for box, puts in sorted(by_box.items()) if len(by_box) > 1 else by_box.items():
            out.append(Item(run.copies, run.dtype, box, tuple(puts), _ranks(puts, classes, together)))
    return out


def _ranks(
    puts: Sequence[Put], classes: list[Class], known: dict[tuple[tuple[int, ...], ...], tuple[int, ...]]
) -> tuple[int, ...]:
    """The ranks of all classes, sorted; equal ones as the same object."""
    if len(puts) == 1:
        ranks = classes[puts[0].want].ranks
        groups: tuple[tuple[int, ...], ...] = (ranks,)
    else:
        groups = tuple(dict.fromkeys(classes[p.want].ranks for p in puts))
    out = known.get(groups)
    if out is None:
        out = tuple(sorted({r for ranks in groups for r in ranks}))
        out = known[groups] = known.setdefault((out,), out)
    return out


def _uncovered(c: Class, piece: Piece, left: list[Box], sources: Sources) -> str:
    there = sorted(sources.held(piece.key))
    shown = ", ".join(f"{list(b.offset)}:{list(b.end)}" for b in there[:LISTED])
    more = f" and {len(there) - LISTED} more" if len(there) > LISTED else ""
    key, gap = c.block.key, left[0]
    of = "" if key == piece.key else f" (for {key!r})"
    return (
        f"[checkpoint] requires all elements of {piece.key!r}{of} that rank {c.ranks[0]} wants, got none for "
        f"{list(gap.offset)}:{list(gap.end)}. There are the blocks {shown}{more} of shape "
        f"{list(sources.infos[piece.key].shape)}."
    )


# --- who reads -------------------------------------------------------------------------------------------------------


class _FileAccess:
    """Access of ranks to files."""

    def __init__(self, stored: Sequence[Stored], readable: Sequence[frozenset[str]] | None, ranks: int) -> None:
        self.stored, self.readable = stored, readable
        self.everyone = tuple(range(ranks))
        self._of: dict[tuple[int, ...], tuple[int, ...]] = {}
        self._by_file: dict[str, frozenset[int]] = {}
        self._able: dict[tuple[tuple[int, ...], tuple[int, ...]], tuple[int, ...]] = {}
        if readable is not None:
            by_file: dict[str, list[int]] = {}
            for rank, files in enumerate(readable):
                for file in files:
                    by_file.setdefault(file, []).append(rank)
            self._by_file = {file: frozenset(ranks) for file, ranks in by_file.items()}

    def can(self, rank: int, copies: tuple[int, ...]) -> bool:
        return self.readable is None or any(self.stored[i].file in self.readable[rank] for i in copies)

    def among(self, ranks: tuple[int, ...], copies: tuple[int, ...]) -> tuple[int, ...]:
        """Return those of ``ranks`` that can open a copy."""
        if self.readable is None:
            return ranks
        files = tuple(sorted({self.stored[i].file for i in copies}))
        known = self._able.get((ranks, files))  # type: ignore[arg-type]
        if known is None:
            able: frozenset[int] = frozenset().union(*(self._by_file.get(f, frozenset()) for f in files))
            known = self._able[ranks, files] = tuple(r for r in ranks if r in able)  # type: ignore[index]
        return known

    def error(self, item: Item, ranks: str) -> Exception:
        s = self.stored[item.copies[0]]
        return FileNotFoundError(
            f"[checkpoint] requires {s.file!r}, which holds {s.block.key!r}, on {ranks}, got a folder there without it"
        )


def _worth_sending(items: list[Item], hosts: Sequence[object] | None, access: _FileAccess) -> bool:
    once = each = 0
    spread: dict[tuple[int, ...], int] = {}
    for item in items:
        ranks = item.ranks
        if access.readable is not None and len(access.among(ranks, item.copies)) < len(ranks):
            return True
        count = spread.get(ranks)
        if count is None:
            count = spread[ranks] = len(ranks) if hosts is None else len({hosts[r] for r in ranks})
        once += item.nbytes
        each += item.nbytes * count
    return each > 2 * once


def _clusters(boxes: list[Box]) -> Iterator[list[Box]]:
    """Boxes in groups; boxes of different groups have no element in common."""
    for axis in range(len(boxes[0].shape) if len(boxes) > 1 else 0):
        boxes.sort(key=lambda b: b.offset[axis])
        groups: list[list[Box]] = []
        end = -1
        for b in boxes:
            if b.offset[axis] >= end:
                groups.append([])
            groups[-1].append(b)
            end = max(end, b.offset[axis] + b.shape[axis])
        if len(groups) > 1:
            for group in groups:
                yield from _clusters(group)
            return
    yield boxes


def _atoms(boxes: list[Box]) -> list[tuple[Box, list[Box]]]:
    """Disjoint boxes that all of ``boxes`` are made of, each with those that it is a part of."""
    atoms: list[tuple[Box, list[Box]]] = []
    for box in sorted(boxes, key=lambda b: (b.size, b)):
        left, cut = [box], []
        for atom, owners in atoms:
            if not left or (common := atom.intersect(box)) is None:
                cut.append((atom, owners))
                continue
            cut.append((common, [*owners, box]))
            cut.extend((b, owners) for b in difference(atom, common))
            rest = []
            for b in left:
                part = b.intersect(common)
                rest.extend([b] if part is None else difference(b, part))
            left = rest
        atoms = [*cut, *((b, [box]) for b in left)]
    return atoms


def _disjoint(items: list[Item], classes: list[Class]) -> list[Item]:
    """The items with those that overlap cut, so that no byte is read twice."""
    out: list[Item] = []
    together: dict[tuple[tuple[int, ...], ...], tuple[int, ...]] = {}
    i = 0
    while i < len(items):
        first = items[i]
        j = i + 1
        while j < len(items) and items[j].copies is first.copies:
            j += 1
        if j == i + 1:
            out.append(first)
        else:
            by_box = {item.box: item for item in items[i:j]}
            for cluster in _clusters(list(by_box)):
                if len(cluster) == 1:
                    out.append(by_box[cluster[0]])
                    continue
                for atom, owners in sorted(_atoms(cluster)):
                    puts = [
                        Put(p.want, p.run, sub_target(atom, owner, p.target, p.axes), p.axes, p.casts)
                        for owner in owners
                        for p in by_box[owner].puts
                    ]
                    out.append(Item(first.copies, first.dtype, atom, tuple(puts), _ranks(puts, classes, together)))
        i = j
    return out


def _cut(items: list[Item], limit: int) -> Iterator[Item]:
    """The items with large ones that are sent cut along their first axes."""
    for item in items:
        if item.nbytes <= limit:
            yield item
            continue
        for box in slabs(item.box, max(1, limit // itemsize(item.dtype))):
            puts = tuple(
                Put(p.want, p.run, sub_target(box, item.box, p.target, p.axes), p.axes, p.casts) for p in item.puts
            )
            yield Item(item.copies, item.dtype, box, puts, item.ranks)


def slabs(box: Box, limit: int) -> Iterator[Box]:
    """A box cut into boxes of at most ``limit`` elements, each contiguous in the row-major order of the box."""
    if box.size <= limit or not box.shape:
        yield box
        return
    axis = 0
    inner = prod(box.shape[1:])
    while inner > limit:
        axis += 1
        inner = prod(box.shape[axis + 1 :])
    step = max(1, limit // inner)
    for index in np.ndindex(*box.shape[:axis]):
        head = tuple(o + i for o, i in zip(box.offset, index))
        for at in range(0, box.shape[axis], step):
            yield Box(
                (*head, box.offset[axis] + at, *box.offset[axis + 1 :]),
                ((1,) * axis + (min(step, box.shape[axis] - at), *box.shape[axis + 1 :])),
            )


class Loads:
    """Bytes given to ranks so far; gives more to the rank of a group with the fewest."""

    def __init__(self, ranks: int) -> None:
        self.bytes = [0] * ranks
        self._heaps: dict[tuple[int, ...], list[tuple[int, int]]] = {}

    def give(self, group: tuple[int, ...], nbytes: int) -> int:
        """The rank that has the fewest bytes, the lowest among equals; it now has more."""
        if len(group) == 1:
            self.bytes[group[0]] += nbytes
            return group[0]
        heap = self._heaps.get(group)
        if heap is None:
            heap = self._heaps[group] = [(self.bytes[r], r) for r in group]
            heapq.heapify(heap)
        # Entries may be out of date, since other groups give too; loads only grow: the first that is not is the least.
        while heap[0][0] != self.bytes[heap[0][1]]:
            heapq.heapreplace(heap, (self.bytes[heap[0][1]], heap[0][1]))
        rank = heap[0][1]
        self.bytes[rank] += nbytes
        heapq.heapreplace(heap, (self.bytes[rank], rank))
        return rank


def _placed(items: Iterable[Item], access: _FileAccess, classes: list[Class], ranks: int, budget: int) -> list[Item]:
    """Items with a reader, the tree they are sent along, and a wave."""
    items = list(items)
    groups = []
    for item in items:
        group = access.among(item.ranks, item.copies) or access.among(access.everyone, item.copies)
        if not group:
            raise access.error(item, "some rank")
        groups.append(group)
    loads = Loads(ranks)
    readers = [0] * len(items)
    for i in sorted(range(len(items)), key=lambda i: (len(groups[i]), -items[i].nbytes, i)):
        readers[i] = loads.give(groups[i], items[i].nbytes)
    waves = _Waves(ranks, budget)
    runs_of_class = [runs(c.block) for c in classes]
    out = []
    turn = 0
    for item, reader in zip(items, readers):
        others = item.ranks
        at = bisect_left(others, reader)
        if at < len(others) and others[at] == reader:
            others = others[:at] + others[at + 1 :]
        if len(others) > 2:
            # Another rank is the inner position of the tree each time.
            turn += 1
            k = turn % len(others)
            others = others[k:] + others[:k]
        order = (reader, *others)
        wave = waves.of(item, order, set(_direct(item, classes, runs_of_class))) if others else waves.now[reader]
        out.append(Item(item.copies, item.dtype, item.box, item.puts, item.ranks, order, wave))
    return out


def _direct(item: Item, classes: list[Class], runs_of_class: list[tuple[tuple[Box, int], ...]]) -> Iterator[int]:
    """The ranks that need no memory for an item but its destination."""
    for put in item.puts:
        if put.axes is None and not put.casts and dense(put.target, runs_of_class[put.want][put.run][0]):
            yield from classes[put.want].ranks


def dense(part: Box, box: Box) -> bool:
    """Return whether a part of a box lies in one piece in it."""
    cut = False
    for n, of in zip(reversed(part.shape), reversed(box.shape)):
        if cut and n != 1:
            return False
        cut = cut or n != of
    return True


class _Waves:
    """The wave that each rank is in, and what it holds there."""

    def __init__(self, ranks: int, budget: int) -> None:
        self.budget = budget
        self.now = [0] * ranks
        self.used = [0] * ranks
        self.messages = [0] * ranks

    def of(self, item: Item, order: tuple[int, ...], direct: set[int]) -> int:
        """The first wave in which all of them have room. Waves of a rank only grow: they are executed in order."""
        nbytes = item.nbytes
        wave = 0
        for rank in order:
            held = 0 if rank in direct else nbytes
            full = self.used[rank] and (self.used[rank] + held > self.budget or self.messages[rank] >= MESSAGES)
            wave = max(wave, self.now[rank] + bool(full))
        for rank in order:
            if wave > self.now[rank]:
                self.now[rank], self.used[rank], self.messages[rank] = wave, 0, 0
            self.used[rank] += 0 if rank in direct else nbytes
            self.messages[rank] += 1
        return wave
