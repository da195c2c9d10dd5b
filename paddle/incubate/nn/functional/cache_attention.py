"""Attention of language models that serve: keys and values of earlier tokens lie in pages of a cache."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from paddle._public import need_tensor, public
from paddle.incubate.nn.functional._packed import Levels, features, row_lengths
from paddle.incubate.nn.functional.decode_attention import rotate
from paddle.tensor._args import create_on
from paddle.tensor.search import nonzero
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.context import no_grad_guard
from umiak.core.inplace import apply_into, assign
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.ops.pages import ZERO, places
from umiak.ops.promotion import cast
from umiak.ops.quantisation import rounded_away
from umiak.util.errors import op_error

_BLOCKS = "block_multihead_attention"
_WRITE = F.WritePages()


@public("paddle.incubate.nn.functional", usual=False)
def block_multihead_attention(
    qkv: Tensor,
    key_cache: Tensor,
    value_cache: Tensor,
    seq_lens_encoder: Tensor,
    seq_lens_decoder: Tensor,
    seq_lens_this_time: Tensor,
    padding_offsets: Tensor | None,
    cum_offsets: Tensor | None,
    cu_seqlens_q: Tensor | None,
    cu_seqlens_k: Tensor | None,
    block_tables: Tensor,
    pre_key_cache: Tensor | None = None,
    pre_value_cache: Tensor | None = None,
    cache_k_quant_scales: Tensor | None = None,
    cache_v_quant_scales: Tensor | None = None,
    cache_k_dequant_scales: Tensor | None = None,
    cache_v_dequant_scales: Tensor | None = None,
    qkv_out_scale: Tensor | None = None,
    qkv_bias: Tensor | None = None,
    out_shift: Tensor | None = None,
    out_smooth: Tensor | None = None,
    max_enc_len_this_time: Tensor | None = None,
    max_dec_len_this_time: Tensor | None = None,
    rope_emb: Tensor | None = None,
    mask: Tensor | None = None,
    tgt_mask: Tensor | None = None,
    max_seq_len: int = -1,
    block_size: int = 64,
    use_neox_style: bool = False,
    use_dynamic_cachekv_quant: bool = False,
    quant_round_type: int = 1,
    quant_max_bound: float = 127.0,
    quant_min_bound: float = -127.0,
    out_scale: float = -1,
    compute_dtype: str = "default",
    rope_theta: float = 10000.0,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Attention of the new tokens of several sequences over a cache in blocks, which their keys and values join:
    prompts and single tokens in one call.

    The tokens of sequence 0 come first in ``qkv``, then those of sequence 1, and so on: ``seq_lens_this_time[b]`` of
    sequence b, at the positions from ``seq_lens_decoder[b]`` on. Position p of sequence b lies in row ``p %
    block_size`` of block ``block_tables[b, p // block_size]``. A token attends to its sequence's positions up to its
    own, ``softmax(q k^T / sqrt(head_dim)) v``. Only new rows of the cache are written, and only blocks that are used
    are read; nothing is recorded for a gradient.

    Args:
        qkv: tensor ``[tokens, (heads + 2 * key_heads) * head_dim]`` of float32, float64, float16 or bfloat16: query,
            then key, then value of each token. Of int32 with ``qkv_out_scale``. With a bias or rotation it is written
            in place.
        key_cache, value_cache: tensors ``[blocks, key_heads, block_size, head_dim]``, written in place: of qkv's dtype,
            or uint8 with scales, which hold ``(x - 128) * dequant_scale``. Each wants a storage of its own: one that is
            part of a larger tensor is copied by captured functions.
        seq_lens_encoder: int32 or int64 tensor ``[batch]`` or ``[batch, 1]``: the length of a prompt that begins in
            this call, else 0.
        seq_lens_decoder: the same for the positions that the cache has already.
        seq_lens_this_time: the same for the new tokens of each sequence; 0 leaves a sequence out, and its row of
            ``block_tables`` unread.
        padding_offsets, cum_offsets, cu_seqlens_q, cu_seqlens_k: accepted; they follow from seq_lens_this_time.
        block_tables: int32 or int64 tensor ``[batch, blocks_of_a_sequence]``; entries beyond a sequence's end are not
            read.
        pre_key_cache, pre_value_cache: ``[batch, key_heads, prefix, head_dim]`` of qkv's dtype: keys and values before
            position 0, which every token of the sequence sees; they are written to its first rows when a prompt begins.
        cache_k_quant_scales, cache_v_quant_scales: float32 factors of keys and values that are stored as uint8,
            ``[key_heads]``; with ``use_dynamic_cachekv_quant`` ``[batch, key_heads]``, written when a prompt begins:
            127 over its largest absolute value.
        cache_k_dequant_scales, cache_v_dequant_scales: their reciprocals.
        qkv_out_scale: float32 factors ``[(heads + 2 * key_heads) * head_dim]`` of an int32 qkv.
        qkv_bias: tensor of that shape, added to qkv.
        out_shift, out_smooth: tensors ``[heads * head_dim]``: with ``out_scale``, levels are of
            ``(out + out_shift) * out_smooth``.
        max_enc_len_this_time, max_dec_len_this_time: accepted; lengths are read where they are used.
        rope_emb: float32 cosines and sines of rotations of query and key,
            ``[2, batch or 1, positions, 1, head_dim / 2]``; with ``use_neox_style`` the last size may be head_dim,
            whose second half is not read.
        mask: tensor ``[batch or 1, 1 or heads, new_tokens, positions]`` added to the scores of prompts, which then see
            all of their positions but for it. It has a row for each new token of any sequence; positions count from the
            prefix on.
        tgt_mask: tensor ``[batch or 1, 1 or heads, 1, positions]`` added to the scores of the others, which have one
            new token each.
        max_seq_len: accepted.
        block_size: the rows of a block.
        use_neox_style: whether a rotation pairs features i and ``i + head_dim / 2``; else features 2 i and 2 i + 1.
        use_dynamic_cachekv_quant: whether scales belong to sequences.
        quant_round_type: 0 rounds ties to even, 1 away from 0.
        quant_max_bound, quant_min_bound: the largest and the smallest level.
        out_scale: with a positive one the output has levels, ``quant_max_bound * out_scale * out``: int8, or
            float8_e4m3fn with a quant_max_bound of 448.
        compute_dtype: "fp16", "bf16" or "fp32": the dtype of an int32 qkv.
        rope_theta: accepted; the angles are those of ``rope_emb``.

    Returns:
        The output ``[tokens, heads * head_dim]`` of qkv's dtype, qkv, key_cache and value_cache.

    Raises:
        TypeError: dtypes that do not belong together.
        ValueError: shapes that do not fit; lengths that are negative, do not add up to the tokens, or are more than
            ``block_tables`` has room for; a block that is written to and used in another place too.
        IndexError: a block that there is not, or a position that rope_emb has not. Nothing has been written after any
            of these.

    Note:
        How many sequences get a prefix is read from the lengths: a captured function does it between two graphs, and
        programs of static mode refuse it.

    References:
        Kwon et al., Efficient Memory Management for Large Language Model Serving with PagedAttention, 2023.

    Example:
        >>> import paddle
        >>> from paddle.incubate.nn.functional import block_multihead_attention
        >>> keys, values = paddle.zeros([4, 1, 2, 8]), paddle.zeros([4, 1, 2, 8])
        >>> table = paddle.to_tensor([[3, 0], [1, 2]], "int32")
        >>> def step(qkv, new, before):
        ...     new, before = paddle.to_tensor(new, "int32"), paddle.to_tensor(before, "int32")
        ...     lengths = paddle.where(before == 0, new, 0), before, new
        ...     return block_multihead_attention(
        ...         qkv, keys, values, *lengths, None, None, None, None, table, block_size=2
        ...     )[0]
        >>> step(paddle.randn([4, 24]), [3, 1], [0, 0]).shape
        paddle.Size([4, 8])
        >>> step(paddle.randn([2, 24]), [1, 1], [3, 1]).shape
        paddle.Size([2, 8])
    """
    with no_grad_guard():
        cache = _cache(key_cache, value_cache, block_size)
        new, decoded, prompt = (
            row_lengths(_BLOCKS, name, x)
            for name, x in (
                ("seq_lens_this_time", seq_lens_this_time),
                ("seq_lens_decoder", seq_lens_decoder),
                ("seq_lens_encoder", seq_lens_encoder),
            )
        )
        x = features(_BLOCKS, qkv, qkv_out_scale, qkv_bias, compute_dtype, cache.heads, cache.dim, key_cache)
        prefix = _prefix(pre_key_cache, pre_value_cache, x, cache, new.shape[0])
        where = _Where(
            need_tensor(block_tables, _BLOCKS, "block_tables"), new, F.add(decoded, prefix) if prefix else decoded
        )
        heads = x.shape[1] - 2 * cache.heads
        if rope_emb is not None:
            x = _rotate(x, heads + cache.heads, rope_emb, use_neox_style, new, decoded)
        scales = _Scales.of(
            cache,
            (cache_k_quant_scales, cache_v_quant_scales),
            (cache_k_dequant_scales, cache_v_dequant_scales),
            use_dynamic_cachekv_quant,
            new.shape[0],
        )
        added, causal = _added(mask, tgt_mask, x, heads, where, prompt, cache)
        q, k, v = (F.slice(x, axes=(1,), starts=(a,), sizes=(n,), steps=(1,)) for a, n in cache.parts(heads))
        rounding = quant_round_type, quant_max_bound, quant_min_bound
        finish = Levels(_BLOCKS, out_scale, rounding, out_shift, out_smooth, heads * cache.dim)
        if scales is not None and use_dynamic_cachekv_quant:
            scales.measure((k, v), where, prompt)
        if prefix:
            _need_own_blocks(where, prefix, prompt, cache)
        # Nothing is written before this, and nothing is refused after it.
        _write((k, v), cache, where, scales, rounding)
        if prefix:
            _write_prefix((pre_key_cache, pre_value_cache), cache, where, prompt, scales, rounding)
        if scales is not None:
            scales.keep()
        out = F.paged_attention(
            q,
            cache.keys,
            cache.values,
            *where,
            added,
            *((None, None) if scales is None else scales.back),
            causal=causal,
            scale=1.0 / math.sqrt(cache.dim),
        )
        out = F.reshape(out, shape=(x.shape[0], heads * cache.dim))
        if (qkv_bias is not None or rope_emb is not None) and qkv.dtype is x.dtype:
            assign(qkv, F.reshape(x, shape=tuple(qkv.shape)))
        out = finish(out)
    return out, qkv, key_cache, value_cache


class _Where(NamedTuple):
    """In which blocks sequences lie, how many tokens are new, and how many positions come before."""

    tables: Tensor
    counts: Tensor
    before: Tensor


class _Cache(NamedTuple):
    """The cache, and its sizes."""

    keys: Tensor
    values: Tensor
    heads: int
    rows: int
    dim: int

    def parts(self, heads: int) -> list[tuple[int, int]]:
        """The first head of query, key and value in a token, and the number of each."""
        return [(0, heads), (heads, self.heads), (heads + self.heads, self.heads)]


def _cache(keys: Tensor, values: Tensor, block_size: int) -> _Cache:
    for name, x in (("key_cache", keys), ("value_cache", values)):
        if need_tensor(x, _BLOCKS, name).ndim != 4:
            raise op_error(ValueError, _BLOCKS, f"{name} of shape [blocks, heads, block_size, head_dim]", list(x.shape))
    if not all(map(dim.eq, keys.shape, values.shape)):
        got = f"{list(keys.shape)} and {list(values.shape)}"
        raise op_error(ValueError, _BLOCKS, "caches of one shape", got)
    if keys.dtype is not values.dtype:
        raise op_error(TypeError, _BLOCKS, "caches of one dtype", f"{keys.dtype.name} and {values.dtype.name}")
    if keys is values:
        raise op_error(ValueError, _BLOCKS, "two caches", "one tensor for keys and values")
    if not dim.eq(keys.shape[2], block_size):
        required = f"caches with block_size={block_size} rows in a block"
        raise op_error(ValueError, _BLOCKS, required, keys.shape[2])
    return _Cache(keys, values, *keys.shape[1:])


def _rotate(x: Tensor, n: Any, table: Tensor, neox: bool, new: Tensor, before: Tensor) -> Tensor:
    """``x`` with its first ``n`` heads rotated by the angles of their tokens' positions."""
    half = x.shape[2] // 2
    shape = need_tensor(table, _BLOCKS, "rope_emb").shape
    fits = len(shape) == 5 and dim.eq(shape[0], 2) and dim.eq(shape[3], 1)
    fits = fits and dim.one_of(shape[4], half, *((2 * half,) if neox else ()))
    if not fits or not dim.one_of(shape[1], 1, new.shape[0]):
        required = f"rope_emb of shape [2, 1 or {new.shape[0]}, positions, 1, {half}]"
        raise op_error(ValueError, _BLOCKS, required, list(shape))
    if not dim.eq(x.shape[2] % 2, 0):
        raise op_error(ValueError, _BLOCKS, "an even head_dim for a rotation", x.shape[2])
    sequence, _, position = places(new, before, x.shape[0])
    sequence = F.minimum(sequence, shape[1] - 1)  # one table serves all sequences
    rows = F.index_get(F.permute(F.squeeze(table, axes=(3,)), perm=(1, 2, 0, 3)), [sequence, position])
    pairs = F.permute(F.slice(rows, axes=(2,), starts=(0,), sizes=(half,), steps=(1,)), perm=(1, 0, 2))
    numbers = F.concat([pairs, pairs], axis=2) if neox else F.repeat_interleave(pairs, axis=2, repeats=2)
    return rotate(_BLOCKS, x, n, numbers, 1, neox)


def _prefix(keys: Tensor | None, values: Tensor | None, x: Tensor, cache: _Cache, batch: Any) -> int:
    """The positions of a prefix; 0 without one."""
    if keys is None and values is None:
        return 0
    keys, values = need_tensor(keys, _BLOCKS, "pre_key_cache"), need_tensor(values, _BLOCKS, "pre_value_cache")
    for name, m in (("pre_key_cache", keys), ("pre_value_cache", values)):
        if m.dtype is not x.dtype:
            raise op_error(TypeError, _BLOCKS, f"{name} of {x.dtype.name}", m.dtype.name)
        fits = m.ndim == 4 and keys.ndim == 4
        if not fits or not all(map(dim.eq, m.shape, (batch, cache.heads, keys.shape[2], cache.dim))):
            required = f"{name} of shape [{batch}, {cache.heads}, prefix, {cache.dim}]"
            raise op_error(ValueError, _BLOCKS, required, list(m.shape))
    return keys.shape[2]


def _added(
    mask: Tensor | None, tgt_mask: Tensor | None, x: Tensor, heads: Any, where: _Where, prompt: Tensor, cache: _Cache
) -> tuple[Tensor | None, bool]:
    """The numbers added to scores, ``[batch or 1, heads or 1, new tokens or 1, positions of a table]``, and whether a
    token sees no later ones."""
    if mask is None and tgt_mask is None:
        return None, True
    positions, batch = where.tables.shape[1] * cache.rows, where.counts.shape[0]
    begins = F.gt(prompt, 0)
    ends = F.add(where.before, where.counts)
    given: list[Tensor | None] = []
    for name, m, these in (("mask", mask, begins), ("tgt_mask", tgt_mask, F.logical_not(begins))):
        if m is None:
            given.append(None)
            continue
        shape = need_tensor(m, _BLOCKS, name).shape
        fits = len(shape) == 4 and dim.one_of(shape[0], 1, batch)
        fits = fits and (m is mask or dim.eq(shape[2], 1))
        if not fits or not dim.one_of(shape[1], 1, heads):
            required = f"{name} of shape [1 or {batch}, 1 or {heads}, {'new tokens' if m is mask else 1}, positions]"
            raise op_error(ValueError, _BLOCKS, required, list(shape))
        if not m.dtype.is_floating:
            raise op_error(TypeError, _BLOCKS, f"a floating {name}", m.dtype.name)
        here = F.gt(where.counts, 0) if mask is m else these
        short = F.logical_and(F.logical_and(these, F.gt(where.counts, 0)), F.gt(ends, shape[3]))
        short = F.logical_or(short, F.logical_and(here, F.gt(where.counts, shape[2])))
        ok = F.logical_not(F.any(short, axes=(0,), keepdim=False))
        required = f"{name} with a row for each new token of a sequence and a column for each position"
        text = f"[{_BLOCKS}] requires {required}, got {list(shape)}"
        F.require(ok, kind="ValueError", args=(text,))
        given.append(_wide(cast(m, x.dtype), positions))
    before, begins = (F.unsqueeze(v, axes=(1, 2, 3)) for v in (where.before, begins))
    if given[0] is None:
        # One row serves prompts too, if it does nothing to them.
        return F.where(begins, 0, given[1]), True
    rows = given[0].shape[2]
    row = F.unsqueeze(create_on(x.place, F.iota, 0, 1, dt.int64, rows), axes=(0, 1, 3))
    column = F.unsqueeze(create_on(x.place, F.iota, 0, 1, dt.int64, positions), axes=(0, 1, 2))
    seen = F.le(column, F.add(F.cast(before, dtype=dt.int64), row))
    zero = create_on(x.place, F.full, 0, x.dtype, (1, 1, 1, 1))
    own = [zero if m is None else m for m in given]
    own[1] = F.where(seen, own[1], -math.inf)
    return F.where(begins, own[0], own[1]), False


def _wide(mask: Tensor, positions: Any) -> Tensor:
    """A mask with a column for every position of a table; those that are new are not looked at."""
    n = mask.shape[3]
    if dim.same(n, positions):
        return mask
    column = F.minimum(create_on(mask.place, F.iota, 0, 1, dt.int64, positions), n - 1)
    return F.take(mask, column, axis=3)


class _Scales:
    """Factors of keys and values that are stored as bytes, and their reciprocals, by head: for all sequences, or for
    each (``apart``)."""

    def __init__(self, to: tuple, back: tuple, apart: bool, given: tuple = ()) -> None:
        self.to, self.back, self.apart, self.given = to, back, apart, given

    @staticmethod
    def of(cache: _Cache, to: tuple, back: tuple, dynamic: bool, batch: Any) -> _Scales | None:
        low = cache.keys.dtype is dt.uint8
        names = [f"cache_{x}_{kind}_scales" for kind in ("quant", "dequant") for x in "kv"]
        shape = (batch, cache.heads) if dynamic else (cache.heads,)
        for name, m in zip(names, (*to, *back), strict=True):
            if (m is not None) is not low:
                required = "four scales with caches of uint8, and none with others"
                raise op_error(TypeError, _BLOCKS, required, f"caches of {cache.keys.dtype.name}")
            if m is None:
                continue
            if need_tensor(m, _BLOCKS, name).dtype is not dt.float32:
                raise op_error(TypeError, _BLOCKS, f"{name} of float32", m.dtype.name)
            if m.ndim != len(shape) or not all(map(dim.eq, m.shape, shape)):
                raise op_error(ValueError, _BLOCKS, f"{name} of shape {list(shape)}", list(m.shape))
        if not low:
            return None
        if dynamic:
            return _Scales(to, back, True, (*to, *back))
        to, back = (tuple(F.unsqueeze(m, axes=(0,)) for m in pair) for pair in (to, back))
        return _Scales(to, back, False)

    def measure(self, new: tuple, where: _Where, prompt: Tensor) -> None:
        """Scales of the sequences that begin, which are written in place."""
        begins = F.unsqueeze(F.logical_and(F.gt(prompt, 0), F.gt(where.counts, 0)), axes=(1,))
        sequence = places(where.counts, where.before, new[0].shape[0])[0]
        to, back = [], []
        for x, old, old_back in zip(new, self.to, self.back, strict=True):
            most = cast(F.max(F.abs(x), axes=(2,), keepdim=False), dt.float32)
            most = F.put(
                create_on(x.place, F.full, 0, dt.float32, tuple(old.shape)), sequence, most, axis=0, mode="max"
            )
            some = F.logical_and(begins, F.gt(most, 0))
            to.append(F.where(some, F.div(127.0, F.where(some, most, 1)), F.where(begins, 1, old)))
            back.append(F.where(some, F.div(most, 127.0), F.where(begins, 1, old_back)))
        self.to, self.back = tuple(to), tuple(back)

    def keep(self) -> None:
        """Write what was measured, in captured functions too only where nothing before was refused."""
        for old, m in zip(self.given, (*self.to, *self.back), strict=False):
            assign(old, F.optimization_barrier(m))

    def rows(self, index: Tensor) -> _Scales:
        """The scales of some of the sequences."""
        if not self.apart:
            return self
        to, back = (tuple(F.take(m, index, axis=0) for m in pair) for pair in (self.to, self.back))
        return _Scales(to, back, True)

    def bytes_of(self, i: int, x: Tensor, where: _Where, rounding: tuple) -> Tensor:
        """Keys (0) or values (1) of new tokens as levels of uint8."""
        round_type, most, least = rounding
        factor = self.to[i]
        if self.apart:
            factor = F.take(factor, places(where.counts, where.before, x.shape[0])[0], axis=0)
        wide = x.dtype.compute
        level = F.mul(cast(x, wide), F.unsqueeze(cast(factor, wide), axes=(2,)))
        level = rounded_away(level) if round_type else F.round(level)
        level = F.minimum(F.maximum(level, float(least)), float(most))
        return F.cast(F.add(level, float(ZERO)), dtype=dt.uint8)


def _write(new: tuple, cache: _Cache, where: _Where, scales: _Scales | None, rounding: tuple) -> None:
    """Write keys and values of new tokens, ``[tokens, heads, head_dim]``, to their places."""
    for i, (pages, x) in enumerate(zip((cache.keys, cache.values), new, strict=True)):
        if scales is not None:
            x = scales.bytes_of(i, x, where, rounding)
        apply_into(_WRITE, (pages,), (pages, x, *where))


def _need_own_blocks(where: _Where, prefix: Any, prompt: Tensor, cache: _Cache) -> None:
    """Refuse a prefix that would be written to a block with another use.

    What is no block, and lengths that do not fit, are left to the op that writes.
    """
    tables, counts, before = (cast(t, dt.int64) for t in where)
    blocks = cache.keys.shape[0]
    column = create_on(counts.place, F.iota, 0, 1, dt.int64, tables.shape[1])

    def first(positions: Any, rows: Tensor) -> Tensor:
        """Return whether an entry of the tables holds some of so many positions, for some of the sequences."""
        held = F.unsqueeze(F.floor_div(F.add(positions, cache.rows - 1), cache.rows), axes=(1,))
        return F.logical_and(F.lt(column, held), F.unsqueeze(rows, axes=(1,)))

    new = F.gt(counts, 0)
    block = F.reshape(F.minimum(F.maximum(tables, 0), blocks - 1), shape=(math.prod(tables.shape),))
    used = F.reshape(cast(first(F.add(before, counts), new), dt.int64), shape=tuple(block.shape))
    uses = F.put(create_on(counts.place, F.full, 0, dt.int64, (blocks,)), block, used, axis=0, mode="add")
    begins = F.logical_and(F.gt(prompt, 0), new)
    written = F.reshape(first(F.add(F.mul(counts, 0), prefix), begins), shape=tuple(block.shape))
    shared = F.logical_and(written, F.gt(F.take(uses, block, axis=0), 1))
    text = f"[{_BLOCKS}] requires blocks of a prefix that nothing else uses, got one in several places of block_tables"
    F.require(F.logical_not(F.any(shared, axes=(0,), keepdim=False)), kind="ValueError", args=(text,))


def _write_prefix(
    prefix: tuple, cache: _Cache, where: _Where, prompt: Tensor, scales: _Scales | None, rounding: tuple
) -> None:
    """Write keys and values that come before prompts."""
    begins = F.logical_and(F.gt(prompt, 0), F.gt(where.counts, 0))
    row = nonzero(begins, as_tuple=True)[0]
    if not row.shape[0]:
        return
    length, n = prefix[0].shape[2], row.shape[0]
    new = tuple(
        F.reshape(F.permute(F.take(x, row, axis=0), perm=(0, 2, 1, 3)), shape=(n * length, cache.heads, cache.dim))
        for x in prefix
    )
    count = create_on(row.place, F.full, length, dt.int64, (n,))
    there = _Where(F.take(where.tables, row, axis=0), count, F.mul(count, 0))
    _write(new, cache, there, None if scales is None else scales.rows(row), rounding)
