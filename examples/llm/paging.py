"""Which blocks of the cache hold which tokens: integers alone, no tensors.

A block holds the keys and values of ``block_size`` neighbouring tokens in all layers. Tables that were forked share
blocks until one of them writes. Full blocks are known by the tokens up to their end, so that a text that begins like an
earlier one takes them over; those that nobody uses any longer are kept until their memory is needed.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Sequence


class NoBlocks(Exception):
    """No block is free."""


class Pool:
    """Blocks with counts of the tables that use them."""

    def __init__(self, count: int, block_size: int) -> None:
        self.count, self.block_size = count, block_size
        self._free = list(range(count - 1, -1, -1))
        self._uses: Counter[int] = Counter()
        self._by_tokens: dict[bytes, int] = {}
        self._tokens_of: dict[int, bytes] = {}
        self._idle: dict[int, None] = {}  # known blocks without a use, the one that was used longest ago first

    @property
    def free(self) -> int:
        """Return the number of blocks that can be taken."""
        return len(self._free) + len(self._idle)

    def blocks_for(self, tokens: int) -> int:
        """Return the number of blocks that hold so many tokens."""
        return -(-tokens // self.block_size)

    def take(self) -> int:
        """Reserve a block."""
        if self._free:
            block = self._free.pop()
        elif self._idle:
            block = next(iter(self._idle))
            del self._idle[block], self._by_tokens[self._tokens_of.pop(block)]
        else:
            raise NoBlocks
        self._uses[block] = 1
        return block

    def share(self, block: int) -> int:
        self._uses[block] += 1
        self._idle.pop(block, None)
        return block

    def know(self, block: int, name: bytes) -> None:
        """Remember a block that is full by the name of the tokens up to its end, unless another one has it."""
        if self._by_tokens.setdefault(name, block) == block:
            self._tokens_of[block] = name

    def known(self, name: bytes) -> int | None:
        """Return the block of such a name."""
        return self._by_tokens.get(name)

    def is_idle(self, block: int) -> bool:
        """Return whether a block is known and free at the same time."""
        return block in self._idle

    def release(self, block: int) -> None:
        """Give a block back; releasing more often than it was taken is an error of ours."""
        assert self._uses[block] > 0
        self._uses[block] -= 1
        if not self._uses[block]:
            del self._uses[block]
            if block in self._tokens_of:
                self._idle[block] = None
            else:
                self._free.append(block)

    def is_shared(self, block: int) -> bool:
        return self._uses[block] > 1


class Table:
    """The blocks of one sequence, of which ``length`` tokens are in the cache; its first ``dropped`` blocks are given
    back."""

    def __init__(self, pool: Pool) -> None:
        self.pool, self.blocks, self.length, self.dropped = pool, list[int](), 0, 0

    @property
    def held(self) -> int:
        """Return the number of tokens in blocks that the table still has."""
        return self.length - self.dropped * self.pool.block_size

    def missing(self, tokens: int) -> int:
        """Return the number of blocks that ``reserve(tokens)`` takes."""
        wanted = self.pool.blocks_for(self.held + tokens) - len(self.blocks)
        return wanted + (self._writes_to_shared() and tokens > 0)

    def _writes_to_shared(self) -> bool:
        return self.length % self.pool.block_size > 0 and self.pool.is_shared(self.blocks[-1])

    def reserve(self, tokens: int) -> tuple[int, int] | None:
        """Make room for further tokens, or change nothing.

        Returns:
            Two blocks, of which the first has to be copied to the second before it is written; None: nothing to copy.

        Raises:
            NoBlocks: fewer are free than it takes.
        """
        if self.missing(tokens) > self.pool.free:
            raise NoBlocks
        copy = None
        if tokens and self._writes_to_shared():
            copy = self.blocks[-1], self.pool.take()
            self.pool.release(copy[0])
            self.blocks[-1] = copy[1]
        while len(self.blocks) < self.pool.blocks_for(self.held + tokens):
            self.blocks.append(self.pool.take())
        return copy

    def fork(self) -> Table:
        """Return another table of the same tokens."""
        other = Table(self.pool)
        other.blocks, other.length = [self.pool.share(b) for b in self.blocks], self.length
        other.dropped = self.dropped
        return other

    def drop(self, tokens: int) -> None:
        """Give blocks back that hold nothing but the first ``tokens`` tokens of the sequence."""
        while self.blocks and (self.dropped + 1) * self.pool.block_size <= tokens:
            self.pool.release(self.blocks.pop(0))
            self.dropped += 1

    def names(self, tokens: Sequence[int], first: int = 0) -> list[bytes]:
        """Return the names of the full blocks of a text, from block ``first`` on."""
        size, name, names = self.pool.block_size, hashlib.sha256(), []
        for i in range(len(tokens) // size):
            name.update(array("q", tokens[i * size : (i + 1) * size]).tobytes())
            names.append(name.digest())
        return names[first:]

    def known_blocks(self, tokens: Sequence[int]) -> list[int]:
        """Return the blocks of an earlier text that an empty table may take over for the beginning of this one; at
        least one token is left to compute."""
        blocks = []
        for name in self.names(tokens[:-1]):
            block = self.pool.known(name)
            if block is None:
                break
            blocks.append(block)
        return blocks

    def take_over(self, blocks: Sequence[int]) -> None:
        """Begin with blocks that are known."""
        assert not self.blocks and not self.length
        self.blocks = [self.pool.share(block) for block in blocks]
        self.length = len(blocks) * self.pool.block_size

    def tell(self, tokens: Sequence[int], before: int) -> None:
        """Make blocks known that are full now and were not when the table had ``before`` tokens."""
        first, size = before // self.pool.block_size, self.pool.block_size
        if not self.dropped and self.length // size > first:
            for i, name in enumerate(self.names(tokens[: self.length], first), first):
                self.pool.know(self.blocks[i], name)

    def clear(self) -> None:
        """Give all blocks back."""
        for block in self.blocks:
            self.pool.release(block)
        self.blocks, self.length, self.dropped = [], 0, 0
