"""Requests that come and go, in steps of the model that they share (continuous batching)."""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass

from continuations import Request, Text
from paging import NoBlocks, Pool
from runner import Runner


class Refused(ValueError):
    """A request that no moment could serve."""


@dataclass
class Statistics:
    """Sums since the start: tokens of prompts, tokens written, steps, seconds in the model, requests put back, tokens
    whose keys and values an earlier text has left."""

    prompt_tokens: int = 0
    tokens: int = 0
    steps: int = 0
    seconds: float = 0.0
    preemptions: int = 0
    reused_tokens: int = 0


class Engine:
    """A queue before a runner.

    A request is admitted, in order, when its prompt and one more token have room. When a text grows and no block is
    free, the request that was admitted last gives its blocks back and waits at the head of the queue; it is recomputed
    later and nobody sees a difference. ``texts`` run together at most. Of prompts, ``chunk`` tokens are computed
    between two tokens of the others. With ``reuse`` a text takes over the full blocks of an earlier one that begins
    alike; not where the model has a window, whose blocks come back early.
    """

    def __init__(self, runner: Runner, blocks: int, texts: int = 32, chunk: int = 512, reuse: bool = True) -> None:
        self.runner, self.texts, self.chunk = runner, texts, chunk
        self.reuse = reuse and runner.model.config.sliding_window is None
        self.pool = Pool(blocks, runner.block_size)
        self.statistics = Statistics()
        self.running: list[Request] = []
        self.waiting: deque[Request] = deque()
        self._changed = threading.Condition()
        self._closed = False

    def check(self, request: Request) -> None:
        """Refuse what could never run.

        Raises:
            Refused: an empty prompt or tokens outside the vocabulary; a text that is longer than the model's, needs
                more blocks than there are, or more texts than run together.
        """
        config, total = self.runner.model.config, len(request.prompt) + request.most
        if not request.prompt or request.most < 1:
            raise Refused(f"a prompt and 1 token or more are required, got {len(request.prompt)} and {request.most}")
        if outside := [t for t in request.prompt if not 0 <= t < config.vocab_size]:
            raise Refused(f"tokens from 0 to {config.vocab_size - 1} are required, got {outside[0]}")
        if total > config.max_position_embeddings:
            got = f"{len(request.prompt)} of the prompt and {request.most} more"
            raise Refused(f"{config.max_position_embeddings} tokens at most are required, got {got}")
        if not 1 <= request.beams <= self.texts:
            raise Refused(f"1 to {self.texts} beams are required, got {request.beams}")
        held = self._held_at_most(total)
        if request.beams * self.pool.blocks_for(held) > self.pool.count:
            room = self.pool.count * self.pool.block_size
            raise Refused(f"{room} tokens in the cache are required at most, got {request.beams} × {held}")

    def _held_at_most(self, total: int) -> int:
        """Tokens that a text of this length has in the cache at one time: all, or a window, what else is in its first
        block, and those of a step."""
        window = self.runner.model.config.sliding_window
        return total if window is None else min(total, window + self.pool.block_size - 1 + self.chunk)

    def _next(self, text: Text) -> int:
        """Tokens that need room in the cache now: all that are pending, or those of a step, under a window."""
        return text.pending if self.runner.model.config.sliding_window is None else min(text.pending, self.chunk)

    def submit(self, request: Request) -> None:
        """Put a request into the queue; any thread may."""
        self.check(request)
        request.start(self.pool)
        with self._changed:
            self.waiting.append(request)
            self._changed.notify_all()

    def close(self) -> None:
        """Let ``serve`` end once nothing runs or waits."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def serve(self) -> None:
        """Step whenever there is something to do, until closed."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self.waiting or self.running or self._closed)
            if not self.waiting and not self.running:
                return
            try:
                self.step()
            except Exception as error:  # whatever the model raises is the answer to those who asked
                for request in self.running:
                    request.finish(error)
                self.running = []

    def drain(self) -> None:
        """Step until nothing is left."""
        while self.waiting or self.running:
            self.step()

    def step(self) -> None:
        """Drop what was cancelled, admit, compute, and advance requests whose texts all have logits."""
        for request in self.running:
            if request.cancelled:
                request.finish("cancelled")
        self.running = [r for r in self.running if r.reason is None]
        self._forget()
        self._admit()
        self._reserve()
        texts, counts = self._share()
        began = time.perf_counter()
        if texts:
            new = [text.tokens[text.table.length :][:count] for text, count in zip(texts, counts)]
            before = [text.table.length for text in texts]
            for text, logits in zip(texts, self.runner.run(new, [text.table for text in texts])):
                text.logits = None if text.pending else logits
            if self.reuse:
                for text, length in zip(texts, before):
                    text.table.tell(text.tokens, length)
        self.statistics.seconds += time.perf_counter() - began
        self.statistics.steps += 1
        for request in self.running:
            if all(text.logits is not None for text in request.texts):
                self.statistics.tokens += len(request.texts)
                request.advance()
        self.running = [r for r in self.running if r.reason is None]

    def _forget(self) -> None:
        """End those in the queue that were cancelled, wherever they stand."""
        with self._changed:
            left = [r for r in self.waiting if r.cancelled]
            for request in left:
                self.waiting.remove(request)
        for request in left:
            request.finish("cancelled")

    def _admit(self) -> None:
        """Move requests from the queue, in order, while their tokens and one more have room."""
        while self.waiting:
            request = self.waiting[0]
            known = [self._known(text) for text in request.texts]
            needed = sum(text.table.missing(self._next(text) + 1) for text in request.texts)
            needed -= sum(not self.pool.is_idle(block) for blocks in known for block in blocks)
            beams = sum(r.beams for r in self.running) + request.beams
            if needed > self.pool.free or beams > self.texts:
                return
            with self._changed:
                self.waiting.popleft()
            for text, blocks in zip(request.texts, known):
                if blocks:
                    text.table.take_over(blocks)
                    self.statistics.reused_tokens += text.table.length
            for text in request.texts:  # all have taken over what is known, so that no block of it is taken
                text.table.reserve(self._next(text))
            self.running.append(request)

    def _known(self, text: Text) -> list[int]:
        """Blocks of earlier texts that a text begins with."""
        return text.table.known_blocks(text.tokens) if self.reuse and not text.table.length else []

    def _reserve(self) -> None:
        """Give each text room for the token that it is about to get; who came last makes room where there is none."""
        for request in list(self.running):
            for text in request.texts:
                while request in self.running and text.logits is None:
                    try:
                        copied = text.table.reserve(self._next(text))
                    except NoBlocks:
                        self._put_back()
                        continue
                    if copied:
                        self.runner.copy(*copied)
                    break

    def _put_back(self) -> None:
        request = self.running.pop()
        request.release()
        with self._changed:
            self.waiting.appendleft(request)
        self.statistics.preemptions += 1

    def _share(self) -> tuple[list[Text], list[int]]:
        """Texts that take part in the next step, each with the number of its tokens: of prompts a chunk in all."""
        texts = [text for request in self.running for text in request.texts if text.logits is None]
        left, chosen, counts = self.chunk, [], []
        for text in texts:
            count = text.pending if text.pending == 1 else min(text.pending, left)
            if text.pending > 1:
                left -= count
                self.statistics.prompt_tokens += count
            if count:
                chosen.append(text)
                counts.append(count)
        return chosen, counts
