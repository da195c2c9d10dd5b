"""Which blocks of the cache hold which tokens: integers alone, no tensors.

A block holds the keys and values of ``block_size`` neighbouring tokens in all layers. Tables that were forked share
blocks until one of them writes.
"""

from __future__ import annotations

from collections import Counter


class NoBlocks(Exception):
    """No block is free."""


class Pool:
    """Blocks with counts of the tables that use them."""

    def __init__(self, count: int, block_size: int) -> None:
        self.count, self.block_size = count, block_size
        self._free = list(range(count - 1, -1, -1))
        self._uses: Counter[int] = Counter()

    @property
    def free(self) -> int:
        """Return the number of free blocks."""
        return len(self._free)

    def blocks_for(self, tokens: int) -> int:
        """Return the number of blocks that hold so many tokens."""
        return -(-tokens // self.block_size)

    def take(self) -> int:
        """Reserve a block."""
        if not self._free:
            raise NoBlocks
        block = self._free.pop()
        self._uses[block] = 1
        return block

    def share(self, block: int) -> int:
        self._uses[block] += 1
        return block

    def release(self, block: int) -> None:
        """Give a block back; releasing more often than it was taken is an error of ours."""
        assert self._uses[block] > 0
        self._uses[block] -= 1
        if not self._uses[block]:
            del self._uses[block]
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

    def clear(self) -> None:
        """Give all blocks back."""
        for block in self.blocks:
            self.pool.release(block)
        self.blocks, self.length, self.dropped = [], 0, 0
