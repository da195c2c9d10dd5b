"""Algorithms of collectives over messages.

Each is a generator: it starts messages and yields those that it must have before it goes on. So one thread can have
many under way, and an engine needs to know nothing but messages. Arrays are flat. All messages of a collective have
its tag.

Reductions are *direct*: rank r combines part r of all, in the order r, r+1, …, and hands the result on. Every rank gets
the same bits, and each sends and receives what a ring would, in two steps instead of 2(n-1). Parts go segment by
segment: what has come in is combined while it lies in the cache and the next one is on its way.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence

import numpy as np

from umiak.comm.channel import Channel, Request
from umiak.comm.reduction import combiner, finish

Steps = Generator[Sequence[Request], None, None]

SEGMENT = 1 << 20  # bytes; fits a core's cache together with what it is combined with


def bytes_of(x: np.ndarray) -> np.ndarray:
    """The bytes of a contiguous array, as a flat array over the same memory."""
    return x.reshape(-1).view(np.uint8)


def bounds(n: int, parts: int) -> list[int]:
    """Return the bounds that split ``n`` elements into ``parts`` parts whose sizes differ by at most 64 elements."""
    step = -(-n // parts)
    step = -(-step // 64) * 64 if n >= 64 * parts else step
    return [min(i * step, n) for i in range(parts + 1)]


def all_reduce(ch: Channel, out: np.ndarray, x: np.ndarray, op: str, tag: int, root: int | None = None) -> Steps:
    """Every rank gets the combination, or only ``root``; ``out`` may be ``x``. Elsewhere ``out`` is not written."""
    n, me = ch.size, ch.rank
    cut = bounds(x.size, n)
    step = max(1, SEGMENT // x.itemsize)
    longest = max(b - a for a, b in zip(cut, cut[1:]))
    combine = combiner(op, x.dtype)
    others = [(me + d) % n for d in range(1, n)]
    own_size = cut[me + 1] - cut[me]
    scratch = np.empty((2, len(others), min(step, own_size)), x.dtype)
    keep = root is None or root == me
    result = out[cut[me] : cut[me + 1]] if keep else np.empty(own_size, x.dtype)
    sent: list[Request] = []

    def part(a: np.ndarray, of: int, at: int) -> np.ndarray:
        return a[min(cut[of] + at, cut[of + 1]) : min(cut[of] + at + step, cut[of + 1])]

    def exchange(at: int) -> tuple[list[Request], list[Request]]:
        buffers = scratch[at // step % 2]
        got = part(x, me, at).size
        come = [ch.recv(bytes_of(buffers[i, :got]), peer, tag) for i, peer in enumerate(others)] if got else []
        go = [ch.send(bytes_of(piece), peer, tag) for peer in others if (piece := part(x, peer, at)).size]
        return come, go

    prefetched = exchange(0)
    for at in range(0, longest, step):
        come, go = prefetched
        if at + step < longest:
            prefetched = exchange(at + step)
        yield come
        own = part(x, me, at)
        target = result[at : at + own.size]
        acc = own
        for got in scratch[at // step % 2, :, : own.size]:
            combine(acc, got, target)
            acc = target
        if n == 1:
            np.copyto(target, own)
        finish(op, target, n)
        yield go  # before what these parts hold is overwritten by results
        if own.size:
            sent += [
                ch.send(bytes_of(target), peer, tag) for peer in (others if root is None else ([] if keep else [root]))
            ]
        if keep:
            pieces = [(peer, piece) for peer in others if (piece := part(out, peer, at)).size]
            sent += [ch.recv(bytes_of(piece), peer, tag) for peer, piece in pieces]
    yield sent


def reduce_scatter(ch: Channel, out: np.ndarray, x: np.ndarray, op: str, tag: int) -> Steps:
    """Rank r gets the combination of part r of all, in ``out``."""
    n, me, each = ch.size, ch.rank, out.size
    step = max(1, SEGMENT // x.itemsize)
    combine = combiner(op, x.dtype)
    others = [(me + d) % n for d in range(1, n)]
    scratch = np.empty((2, len(others), min(step, each)), x.dtype)
    sent: list[Request] = []

    def exchange(at: int) -> list[Request]:
        size = min(step, each - at)
        sent.extend(ch.send(bytes_of(x[p * each + at : p * each + at + size]), p, tag) for p in others)
        return [ch.recv(bytes_of(scratch[at // step % 2, i, :size]), p, tag) for i, p in enumerate(others)]

    prefetched = exchange(0) if each else []
    for at in range(0, each, step):
        come = prefetched
        if at + step < each:
            prefetched = exchange(at + step)
        yield come
        acc, target = x[me * each + at : me * each + min(at + step, each)], out[at : at + step]
        for got in scratch[at // step % 2, :, : target.size]:
            combine(acc, got, target)
            acc = target
        if n == 1:
            np.copyto(target, acc)
        finish(op, target, n)
    yield sent


def all_to_all(
    ch: Channel, out: np.ndarray, x: np.ndarray, sent: Sequence[int], received: Sequence[int], tag: int
) -> Steps:
    """``sent[p]`` elements go to rank p, ``received[p]`` come from it."""
    a, b = np.cumsum([0, *sent]), np.cumsum([0, *received])
    me, n = ch.rank, ch.size
    order = [(me + d) % n for d in range(1, n)]
    come = [ch.recv(bytes_of(out[b[p] : b[p + 1]]), p, tag) for p in order if received[p]]
    go = [ch.send(bytes_of(x[a[p] : a[p + 1]]), p, tag) for p in order if sent[p]]
    np.copyto(out[b[me] : b[me + 1]], x[a[me] : a[me + 1]])
    yield [*come, *go]


def gather(ch: Channel, out: np.ndarray | None, x: np.ndarray, root: int | None, tag: int) -> Steps:
    """``x`` of all ranks, one after the other, on ``root`` or, with None, on every rank."""
    me, each = ch.rank, x.size
    order = [(me + d) % ch.size for d in range(1, ch.size)]
    messages: list[Request] = []
    if out is not None and root in (None, me):
        messages += [ch.recv(bytes_of(out[p * each : (p + 1) * each]), p, tag) for p in order if each]
    messages += [ch.send(bytes_of(x), p, tag) for p in (order if root is None else [root]) if p != me and each]
    if out is not None and root in (None, me):
        np.copyto(out[me * each : (me + 1) * each], x)
    yield messages


def scatter(ch: Channel, out: np.ndarray, x: np.ndarray | None, root: int, tag: int) -> Steps:
    """Part r of what ``root`` has, on rank r."""
    each = out.size
    if ch.rank != root:
        yield [ch.recv(bytes_of(out), root, tag)] if each else []
        return
    assert x is not None
    others = [p for p in range(ch.size) if p != root]
    messages = [ch.send(bytes_of(x[p * each : (p + 1) * each]), p, tag) for p in others if each]
    np.copyto(out, x[root * each : (root + 1) * each])
    yield messages


def broadcast(ch: Channel, x: np.ndarray, root: int, tag: int) -> Steps:
    """``x`` of ``root`` on every rank, down a binomial tree: the root hands on to the ranks 1, 2, 4, … after it."""
    n, place = ch.size, (ch.rank - root) % ch.size
    if not x.size:
        return
    bit = 1
    while bit < n and not place & bit:
        bit <<= 1
    if place:
        yield [ch.recv(bytes_of(x), (place - bit + root) % n, tag)]
    sent = []
    bit >>= 1
    while bit:
        if place + bit < n:
            sent.append(ch.send(bytes_of(x), (place + bit + root) % n, tag))
        bit >>= 1
    yield sent


def permute(ch: Channel, out: np.ndarray, x: np.ndarray, pairs: Sequence[tuple[int, int]], tag: int) -> Steps:
    """``x`` from rank a to rank b for each pair; a rank that nothing comes to gets zeros."""
    me = ch.rank
    if (me, me) in pairs:
        np.copyto(out, x)
    elif all(b != me for _, b in pairs):
        out[...] = np.zeros((), out.dtype)
    away = [(a, b) for a, b in pairs if a != b and x.size]
    come = [ch.recv(bytes_of(out), a, tag) for a, b in away if b == me]
    go = [ch.send(bytes_of(x), b, tag) for a, b in away if a == me]
    yield [*come, *go]


def barrier(ch: Channel, tag: int) -> Steps:
    """Nobody goes on before all have come: in round k, word from the rank 2^k before to the one 2^k after."""
    word, answer = np.zeros(1, np.uint8), np.zeros(1, np.uint8)
    distance = 1
    while distance < ch.size:
        yield [
            ch.recv(answer, (ch.rank - distance) % ch.size, tag),
            ch.send(word, (ch.rank + distance) % ch.size, tag),
        ]
        distance *= 2
