"""The model over a cache in blocks: tokens in, logits of the next ones out, captured as one program."""

from __future__ import annotations

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
        before = np.array([t.length for t in tables], np.int32)
        ends = np.cumsum(counts)
        packed = np.fromiter((token for new in tokens for token in new), np.int64, ends[-1])
        positions = np.arange(ends[-1]) + np.repeat(before - (ends - counts), counts)
        arrays = packed, positions, ends - 1, counts, before, blocks
        logits = self.step(*map(paddle.to_tensor, arrays)).numpy()
        for table, count in zip(tables, counts.tolist()):
            table.length += count
        return logits

    @paddle.no_grad()
    def copy(self, source: int, target: int) -> None:
        """Copy a block in all layers."""
        for pages in (*self.keys, *self.values):
            pages[target] = pages[source]

    def _step(
        self, ids: paddle.Tensor, positions: paddle.Tensor, last: paddle.Tensor, counts: paddle.Tensor,
        before: paddle.Tensor, tables: paddle.Tensor,
    ) -> paddle.Tensor:  # fmt: skip
        prompts = paddle.where(before == 0, counts, 0)

        def attend(layer: int, q: paddle.Tensor, k: paddle.Tensor, v: paddle.Tensor) -> paddle.Tensor:
            qkv = paddle.concat([q, k, v], axis=1).flatten(1)
            pages = self.keys[layer], self.values[layer]
            return block_multihead_attention(
                qkv, *pages, prompts, before, counts, None, None, None, None, tables, block_size=self.block_size
            )[0]

        return self.model.logits(self.model(ids, positions, attend)[last])
