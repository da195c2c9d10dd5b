"""Work between two calls as graphs of the driver: what a thread hands to a device is recorded, and done at each replay.

Numbers that are drawn within are other ones at each replay: those that the same calls, made without a recording, would
draw then. So what the recording itself took of the device's generator is given back.
"""

from __future__ import annotations

import sys
import threading
from contextlib import ExitStack
from typing import NamedTuple

from umiak.backends.cuda.device import CaptureError, Device, Draw
from umiak.backends.cuda.launches import Launch
from umiak.backends.cuda.recordings import LOCK, GraphSequence, on_stream
from umiak.backends.nest_launches import word
from umiak.core.generator import Generator, default_generator


class Reserved(NamedTuple):
    """Words of a stream of random numbers that were given out: which stream, the first one, and how many."""

    seed: int
    first: int
    words: int

    def holds(self, draw: Draw) -> bool:
        return draw.seed == self.seed and self.first <= draw.offset < self.first + self.words


class StreamCapture:
    """Recorded work of one device (:class:`umiak.backends.base.WorkCapture`).

    Tensors that are made within have memory of the capture's own, which each replay writes; others that are used
    within are pinned. Captures of one ``pool`` share their memory, so they have to be replayed in the order in which
    they were recorded.
    """

    def __init__(self, device: Device, pool: int | None = None) -> None:
        self.device, self.pool = device, pool
        self.sequence: GraphSequence | None = None
        self.scope: ExitStack | None = None  # while it records
        self.thread = 0

    def begin(self) -> None:
        """Record what this thread hands to the device from now on."""
        place = self.device.place
        if self.device.recording is not None:
            raise CaptureError(f"[graph] requires a device that nothing is recorded of, got {place.name}, of which is")
        self.reset()
        with ExitStack() as scope:
            LOCK.acquire()
            scope.callback(LOCK.release)
            self.sequence = GraphSequence(self.device, draws=True, pool=self.pool)
            scope.enter_context(on_stream(place, self.sequence.stream))
            self.sequence.begin()
            self.thread = threading.get_ident()
            self.state = default_generator(place).get_state()
            self.scope = scope.pop_all()

    def end(self) -> None:
        """End the recording."""
        scope, sequence = self.scope, self.sequence
        if scope is None or sequence is None:
            raise CaptureError("[graph] requires a recording that was begun, got none")
        if self.thread != threading.get_ident():
            raise CaptureError("[graph] requires the thread that has begun the recording, got another one")
        try:
            sequence.end()
        except BaseException:
            self.reset()
            raise
        self.scope = None
        scope.close()
        self.drawn = self._given_back(default_generator(self.device.place))

    def _given_back(self, generator: Generator) -> Reserved:
        """Words that the recording has taken of the generator, which has them again."""
        (seed, first), (later, end) = self.state, generator.get_state()
        if later != seed or end < first:
            self.reset()
            raise CaptureError("[graph] requires work that seeds no generator of random numbers")
        generator.give_back(first, end - first)
        return Reserved(seed, first, end - first)

    def replay(self) -> None:
        """Do the work, on the current stream."""
        sequence = self.sequence
        if sequence is None or self.scope is not None:
            raise CaptureError("[graph] requires a recording that has ended, got none")
        if self.device.recording is not None:
            raise CaptureError("[graph] requires work that replays no recording, got a replay within another one")
        with sequence.entered():
            if self.drawn.words:
                self._draw(sequence)
            sequence.play()

    def _draw(self, sequence: GraphSequence) -> None:
        """Give the launches that draw the next numbers of the device's generator."""
        driver, drawn = self.device.enter(), self.drawn
        seed, first = default_generator(self.device.place).reserve(drawn.words)
        for segment in sequence.segments():
            for draw in segment.capture.draws or ():
                if not drawn.holds(draw):
                    continue  # of a stream that the call itself has named
                for x in segment.capture.launches[draw.launches]:
                    words = list(x.given.words)
                    words[draw.at_seed] = word(seed)
                    words[draw.at_offset] = word(draw.offset - drawn.first + first)
                    launch: Launch | None = x.launch if x.given.resized is None else x.given.resized(words)
                    assert launch is not None, "streams are given out in blocks, so the offset decides on no kernel"
                    driver.graph_exec_kernel_node_set_params(
                        segment.instance, x.node, launch.module.function, launch.blocks, launch.threads, launch.shared,
                        launch.arguments(x.given._replace(words=words)),
                    )  # fmt: skip

    def write_dot_files(self, folder: str, flags: int) -> None:
        """Write each graph to ``segment_0.dot`` and so on, in the language of Graphviz; ``flags`` are the driver's."""
        if self.sequence is None or self.scope is not None:
            raise CaptureError("[graph] requires a recording that has ended, got none")
        driver = self.device.enter()
        for i, segment in enumerate(self.sequence.segments()):
            driver.graph_debug_dot_print(segment.graph, f"{folder}/segment_{i}.dot", flags)

    def reset(self) -> None:
        """Give the graphs back, when their launches are done; a recording that is under way is dropped."""
        sequence, scope = self.sequence, self.scope
        self.sequence = self.scope = None
        if sequence is None:
            return
        if scope is not None:
            sequence.abandon()
            scope.close()
        sequence.close()

    def __del__(self) -> None:
        # One that another thread has begun is not this thread's to end.
        mine = getattr(self, "scope", None) is None or self.thread == threading.get_ident()
        if getattr(self, "sequence", None) is not None and mine and not sys.is_finalizing():
            self.reset()
