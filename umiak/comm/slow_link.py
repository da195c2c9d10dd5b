"""Simulated slow network for tests and benchmarks: a channel whose messages arrive after latency and transfer time.

A rank's link takes one message after the other, each for its bytes over the bandwidth; it arrives the latency later.
A word with the time of arrival goes before each message: ranks of one host share the clock.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from umiak.comm.algorithms import bytes_of
from umiak.comm.channel import Channel, Request
from umiak.core.place import Place
from umiak.util import flags
from umiak.util.errors import op_error

link_flag = flags.define(
    "comm_link", "", "emulate links of this latency and bandwidth, in us and GB/s: `50:1.25`; empty for what there is"
)

now = time.monotonic  # CLOCK_MONOTONIC, which the processes of a host have in common
DOZE = 2e-4  # seconds between two looks while something is on its way
ASLEEP = 2.0  # so long an engine need not expect anything at once: it sleeps between two looks


class LinkModel:
    """Model of a rank's link: latency, bandwidth and the messages queued on it."""

    def __init__(self, latency_s: float, bytes_per_s: float) -> None:
        self.latency, self.bandwidth = latency_s, bytes_per_s
        self.free = 0.0  # when it has taken all that was sent
        self.dues: list[float] = []  # a heap of times at which something arrives or has left

    def take(self, nbytes: int) -> float:
        """Queue a message of ``nbytes`` and return when it will have left."""
        self.free = max(self.free, now()) + nbytes / self.bandwidth
        heapq.heappush(self.dues, self.free)
        return self.free

    def next(self) -> float | None:
        """Seconds until the next message is here or gone; None where nothing is known to be on its way.

        0 for one whose time has come since the last look: whoever waits for it has tested too early.
        """
        time_now, came = now(), False
        while self.dues and self.dues[0] <= time_now:
            heapq.heappop(self.dues)
            came = True
        if came:
            return 0.0
        return self.dues[0] - time_now if self.dues else None


class _Sent:
    def __init__(self, requests: list[Request], due: float) -> None:
        self.requests, self.due = requests, due

    def Test(self) -> bool:
        while self.requests and self.requests[-1].Test():
            self.requests.pop()
        return not self.requests and now() >= self.due


class _Received:
    def __init__(self, line: LinkModel, word: np.ndarray, requests: list[Request]) -> None:
        self.line, self.word, self.requests = line, word, requests
        self.due = 0.0

    def Test(self) -> bool:
        while self.requests:  # the word comes first, so it is the last of the list
            if not self.requests[-1].Test():
                return False
            self.requests.pop()
            if not self.due:
                self.due = float(self.word[0])
                heapq.heappush(self.line.dues, self.due)
        return now() >= self.due


class SlowChannel:
    """Channel that delays the messages of another channel by a link model."""

    def __init__(self, channel: Channel, line: LinkModel) -> None:
        self.channel, self.line = channel, line
        self.rank, self.size = channel.rank, channel.size
        self.ask_status = getattr(channel, "ask_status", None)
        self.polled = getattr(channel, "polled", False)

    def send(self, x: np.ndarray, peer: int, tag: int) -> Request:
        left = self.line.take(x.size)
        word = np.array([left + self.line.latency])
        return _Sent([self.channel.send(bytes_of(word), peer, tag), self.channel.send(x, peer, tag)], left)

    def recv(self, x: np.ndarray, peer: int, tag: int) -> Request:
        word = np.zeros(1)
        first = self.channel.recv(bytes_of(word), peer, tag)
        return _Received(self.line, word, [self.channel.recv(x, peer, tag), first])

    def native(self, name: str, *args: Any) -> None:
        return None

    def can_access(self, place: Place) -> bool:
        return False

    def pause(self, waited: float, description: str) -> None:
        left = self.line.next()
        if left is None:
            self.channel.pause(waited + ASLEEP, description)
        else:
            time.sleep(min(left, DOZE))

    def split(self, ranks: Iterable[int], name: str) -> SlowChannel:
        return SlowChannel(self.channel.split(ranks, name), self.line)

    def close(self) -> None:
        self.channel.close()


def linked(channel: Channel) -> Channel:
    """``channel``, over the links that ``FLAGS_comm_link`` asks for."""
    if not link_flag.value or channel.size == 1:
        return channel
    try:
        latency, bandwidth = map(float, link_flag.value.split(":"))
        if latency < 0 or bandwidth <= 0:
            raise ValueError
    except ValueError:
        need = "latency in us and bandwidth in GB/s, as in `50:1.25`"
        raise op_error(ValueError, "FLAGS_comm_link", need, repr(link_flag.value)) from None
    return SlowChannel(channel, LinkModel(latency * 1e-6, bandwidth * 1e9))
