"""Masks of attention as intervals of queries, key by key: constructors of their families, density, tiles, pictures."""

from umiak.masks.column_mask import ColumnMask, from_dense
from umiak.masks.families import (
    causal,
    causal_blockwise,
    causal_document,
    document,
    full,
    global_sliding,
    hash_sparse,
    prefix,
    prefix_document,
    qk_sparse,
    random_eviction,
    share_question,
    sliding_window,
)
from umiak.masks.picture import gallery
from umiak.masks.tiles import Tile

__all__ = [
    "ColumnMask",
    "Tile",
    "causal",
    "causal_blockwise",
    "causal_document",
    "document",
    "from_dense",
    "full",
    "gallery",
    "global_sliding",
    "hash_sparse",
    "prefix",
    "prefix_document",
    "qk_sparse",
    "random_eviction",
    "share_question",
    "sliding_window",
]
