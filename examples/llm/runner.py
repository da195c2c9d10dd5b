"""The model over a cache in blocks: tokens in, logits of the next ones out, captured as one program."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from model import Decoder
from paging import Table

import paddle
from paddle.incubate.nn.functional import block_multihead_attention


class Runner:
    """A decoder, and the keys and values of ``blocks`` blocks: [blocks, kv_heads, block_size, head_dim] in each layer.

    ``capture``: calls run as captured programs. Numbers of tokens, of sequences and of their blocks are symbols there.
    """

    def __init__(self, model: Decoder, blocks: int, block_size: int, capture: bool = True) -> None:
        self.model, self.block_size = model.eval(), block_size
        config = model.config
        self.window = config.sliding_window
        shape = [blocks, config.num_key_value_heads, block_size, config.head_dim]
        layers = range(config.num_hidden_layers)
        self.keys = [paddle.zeros(shape, model.dtype) for _ in layers]
        self.values = [paddle.zeros(shape, model.dtype) for _ in layers]
        self.step = paddle.jit.to_static(self._step) if capture else self._step

    @paddle.no_grad()
    def run(self, tokens: Sequence[Sequence[int]], tables: Sequence[Table]) -> np.ndarray:
        """Append tokens to each sequence, prompts and single ones side by side: logits [sequences, vocab_size] of the
        ones that come next. The tables have room for them.
        """
        blocks = np.zeros([len(tables), max(len(t.blocks) for t in tables)], np.int32)
        for row, table in zip(blocks, tables):
            row[: len(table.blocks)] = table.blocks
        counts = np.array([len(new) for new in tokens], np.int32)
        before = np.array([t.held for t in tables], np.int32)
        places = np.array([t.length for t in tables])
        ends = np.cumsum(counts)
        packed = np.fromiter((token for new in tokens for token in new), np.int64, ends[-1])
        positions = np.arange(ends[-1]) + np.repeat(places - (ends - counts), counts)
        arrays: tuple = (packed, positions, ends - 1, counts, before, blocks)
        if self.window is not None:
            arrays += (np.arange(counts.max()),)
        logits = self.step(*map(paddle.to_tensor, arrays)).numpy()
        for table, count in zip(tables, counts.tolist()):
            table.length += count
            if self.window is not None:
                table.drop(table.length + 1 - self.window)  # which the next token does not see
        return logits

    @paddle.no_grad()
    def copy(self, source: int, target: int) -> None:
        """Copy a block in all layers."""
        for pages in (*self.keys, *self.values):
            pages[target] = pages[source]

    def _step(
        self, ids: paddle.Tensor, positions: paddle.Tensor, last: paddle.Tensor, counts: paddle.Tensor,
        before: paddle.Tensor, tables: paddle.Tensor, rows: paddle.Tensor | None = None,
    ) -> paddle.Tensor:  # fmt: skip
        prompts, mask = paddle.where(before == 0, counts, 0), None
        if rows is not None:
            # A mask belongs to prompts alone, which all may be: nothing else depends on it.
            prompts, mask = counts, self._seen(rows, before, tables.shape[1] * self.block_size)

        def attend(layer: int, q: paddle.Tensor, k: paddle.Tensor, v: paddle.Tensor) -> paddle.Tensor:
            qkv = paddle.concat([q, k, v], axis=1).flatten(1)
            pages = self.keys[layer], self.values[layer]
            return block_multihead_attention(
                qkv, *pages, prompts, before, counts, None, None, None, None, tables, mask=mask,
                block_size=self.block_size,
            )[0]  # fmt: skip

        return self.model.logits(self.model(ids, positions, attend)[last])

    def _seen(self, rows: paddle.Tensor, before: paddle.Tensor, width: int) -> paddle.Tensor:
        """The mask of a window, [sequences, 1, new tokens, positions]: 0, or minus infinity."""
        own = rows.unsqueeze(1) + before.astype("int64").unsqueeze([1, 2, 3])
        position = paddle.arange(width)
        hidden = (position > own) | (position <= own - self.window)
        return paddle.where(hidden, -math.inf, 0.0).astype(self.model.dtype)
