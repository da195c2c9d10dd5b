"""Masks of attention as objects: lower triangles, and sequences that lie behind each other, each of which sees itself.

``memory_efficient_attention`` takes them. It reads none of them as an array of queries by keys: a mask says for each
key which queries see it (``visible``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import paddle
from paddle._public import public
from paddle.tensor._args import create_on
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

_MODULE = "paddle.incubate.nn.attn_bias"


@public(_MODULE)
class AttentionBias(ABC):
    """A mask that is added to the scores of attention: 0 where a query sees a key, minus infinity elsewhere.

    Example:
        >>> from paddle.incubate.nn.attn_bias import AttentionBias, LowerTriangularMask
        >>> isinstance(LowerTriangularMask(), AttentionBias)
        True
    """

    @abstractmethod
    def visible(self, queries: int, keys: int) -> Tensor:
        """Return which queries see each key.

        Args:
            queries: how many there are.
            keys: how many there are.

        Returns:
            int32 tensor ``[keys, 2]``: the query behind the last that sees a key, and the first.
        """

    def materialize(self, shape: Sequence[int], dtype: Any = "float32") -> Tensor:
        """Return the mask as an array, to look at and to compare with.

        Args:
            shape: ``[*, queries, keys]``.
            dtype: a floating dtype.

        Returns:
            Tensor of that shape and dtype: 0 where a query sees a key, minus infinity elsewhere.

        Raises:
            ValueError: lengths of sequences that do not add up to queries or keys.

        Example:
            >>> import paddle
            >>> from paddle.incubate.nn.attn_bias import LowerTriangularMask
            >>> LowerTriangularMask().materialize([2, 2]).tolist()
            [[0.0, -inf], [0.0, 0.0]]
        """
        queries, keys = shape[-2:]
        behind, first = paddle.unbind(self.visible(queries, keys), 1)
        row = create_on(first.place, paddle.arange, queries, dtype="int32").unsqueeze(1)
        hidden = (row < first) | (row >= behind)
        mask = paddle.zeros_like(hidden, "float32").masked_fill(hidden, -np.inf)
        return mask.astype(dtype).expand(list(shape))


@public(_MODULE)
class LowerTriangularMask(AttentionBias):
    """Query i sees keys 0 to i.

    Example:
        >>> from paddle.incubate.nn.attn_bias import LowerTriangularMask
        >>> LowerTriangularMask().visible(2, 2).tolist()
        [[2, 0], [2, 1]]
    """

    def visible(self, queries: int, keys: int) -> Tensor:
        first = np.minimum(np.arange(keys), queries)
        return paddle.to_tensor(np.stack([np.full(keys, queries), first], 1).astype(np.int32))

    def add_bias(self, bias: Tensor) -> LowerTriangularMaskWithTensorBias:
        """Return this mask with a tensor that is added to the scores which are seen.

        Args:
            bias: floating tensor that broadcasts to ``[batch, heads, queries, keys]``.

        Returns:
            The mask of both.
        """
        return LowerTriangularMaskWithTensorBias(bias)


@public(_MODULE)
class LowerTriangularMaskWithTensorBias(LowerTriangularMask):
    """Query i sees keys 0 to i, with a tensor added to the scores.

    Args:
        bias: floating tensor that broadcasts to ``[batch, heads, queries, keys]``.

    Example:
        >>> import paddle
        >>> from paddle.incubate.nn.attn_bias import LowerTriangularMask
        >>> LowerTriangularMask().add_bias(paddle.ones([2, 2])).materialize([2, 2]).tolist()
        [[1.0, -inf], [1.0, 1.0]]
    """

    def __init__(self, bias: Tensor) -> None:
        self._bias = bias

    def materialize(self, shape: Sequence[int], dtype: Any = "float32") -> Tensor:
        """Return the mask and the tensor as one array; arguments and errors as of the base."""
        return super().materialize(shape, dtype).to(self._bias.place) + self._bias


@public(_MODULE)
@dataclass
class SeqLenInfo:
    """Sequences that lie behind each other along dim 1 of a tensor.

    Args:
        seqstart: int32 tensor: where each begins, and where the last ends.
        max_seqlen: the longest.
        seqstart_py: ``seqstart`` as a list.

    Example:
        >>> from paddle.incubate.nn.attn_bias import SeqLenInfo
        >>> list(SeqLenInfo.from_seqlens([2, 3]).intervals())
        [(0, 2), (2, 5)]
    """

    seqstart: Tensor
    max_seqlen: int
    seqstart_py: list[int]

    def intervals(self) -> Iterator[tuple[int, int]]:
        """Return where each sequence begins and ends."""
        yield from zip(self.seqstart_py, self.seqstart_py[1:], strict=False)

    @classmethod
    def from_seqlens(cls, seqlens: Sequence[int]) -> SeqLenInfo:
        """Return sequences of these lengths.

        Args:
            seqlens: ints.

        Returns:
            The sequences, one behind the other.

        Raises:
            ValueError: a negative length.
        """
        if any(n < 0 for n in seqlens):
            raise op_error(ValueError, "SeqLenInfo.from_seqlens", "lengths of 0 and more", list(seqlens))
        starts = [0, *np.cumsum(np.asarray(seqlens, np.int64)).tolist()]
        return cls(paddle.to_tensor(starts, "int32"), max(seqlens, default=-1), starts)

    def split(self, x: Tensor, batch_sizes: Sequence[int] | None = None) -> list[Tensor]:
        """Return the sequences apart.

        Args:
            x: tensor ``[1, total, *]``.
            batch_sizes: how many sequences, of one length, go into each result; by default one.

        Returns:
            Tensors ``[batch, length, *]``.

        Raises:
            ValueError: an x of another length, or more than one along dim 0.
        """
        if x.shape[:2] != [1, self.seqstart_py[-1]]:
            raise op_error(ValueError, "SeqLenInfo.split", f"x of shape [1, {self.seqstart_py[-1]}, *]", list(x.shape))
        sizes = [1] * (len(self.seqstart_py) - 1) if batch_sizes is None else list(batch_sizes)
        ends = np.cumsum([0, *sizes])
        parts = paddle.split(
            x, [self.seqstart_py[b] - self.seqstart_py[a] for a, b in zip(ends, ends[1:], strict=False)], 1
        )
        return [part.reshape([n, -1, *part.shape[2:]]) for n, part in zip(sizes, parts, strict=True)]


@public(_MODULE)
@dataclass
class PaddedSeqLenInfo(SeqLenInfo):
    """Sequences of different lengths, each in a place of the same length.

    Args:
        seqstart: int32 tensor: where each place begins, and where the last ends.
        max_seqlen: the longest sequence.
        seqstart_py: ``seqstart`` as a list.
        seqlen: int32 tensor of the lengths.
        seqlen_py: ``seqlen`` as a list.

    Example:
        >>> from paddle.incubate.nn.attn_bias import PaddedSeqLenInfo
        >>> list(PaddedSeqLenInfo.from_seqlens_padded([1, 3], 4).intervals())
        [(0, 1), (4, 7)]
    """

    seqlen: Tensor
    seqlen_py: Sequence[int]

    def intervals(self) -> Iterator[tuple[int, int]]:
        """Return where each sequence begins and ends."""
        for (start, _), length in zip(super().intervals(), self.seqlen_py, strict=True):
            yield start, start + length

    @classmethod
    def from_seqlens(cls, seqlens: Sequence[int]) -> SeqLenInfo:
        """Refuse: places have a length.

        Args:
            seqlens: ints.

        Raises:
            NotImplementedError: always; :meth:`from_seqlens_padded` takes the length of places.
        """
        raise NotImplementedError(
            "[PaddedSeqLenInfo.from_seqlens] has no length of places: from_seqlens_padded takes it"
        )

    @classmethod
    def from_seqlens_padded(cls, seqlens: Sequence[int], padding: int) -> PaddedSeqLenInfo:
        """Return sequences of these lengths in places of ``padding`` elements.

        Args:
            seqlens: ints.
            padding: the length of each place.

        Returns:
            The sequences.

        Raises:
            ValueError: a length that is negative or more than a place holds.
        """
        if any(not 0 <= n <= padding for n in seqlens):
            name = "PaddedSeqLenInfo.from_seqlens_padded"
            raise op_error(ValueError, name, f"lengths from 0 to the padding {padding}", list(seqlens))
        starts = [i * padding for i in range(len(seqlens) + 1)]
        of = [paddle.to_tensor(x, "int32") for x in (starts, list(seqlens))]
        return cls(of[0], max(seqlens, default=-1), starts, of[1], seqlens)

    def split(self, x: Tensor, batch_sizes: Sequence[int] | None = None) -> list[Tensor]:
        """Refuse: what lies between the sequences belongs to none.

        Args:
            x: tensor ``[1, total, *]``.
            batch_sizes: as of the base.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("[PaddedSeqLenInfo.split] is not defined: elements between sequences belong to none")


class _Sequences(AttentionBias):
    """Queries and keys in sequences; those of one see each other, or a triangle of them."""

    q_seqinfo: SeqLenInfo
    k_seqinfo: SeqLenInfo
    causal = False

    def offsets(self) -> Tensor | None:
        """Return the number of keys that each query sees beyond a triangle's, by sequence."""
        return None

    def visible(self, queries: int, keys: int) -> Tensor:
        for name, given, info in (("queries", queries, self.q_seqinfo), ("keys", keys, self.k_seqinfo)):
            if given != info.seqstart_py[-1]:
                raise op_error(
                    ValueError, type(self).__name__, f"{info.seqstart_py[-1]} {name}, the sum of lengths", given
                )
        behind, first = np.zeros(keys, np.int64), np.full(keys, queries, np.int64)
        place, sequence = np.zeros(keys, np.int64), np.zeros(keys, np.int64)
        pairs = zip(self.q_seqinfo.intervals(), self.k_seqinfo.intervals(), strict=True)
        for i, ((q0, q1), (k0, k1)) in enumerate(pairs):
            behind[k0:k1], first[k0:k1] = q1, q0
            place[k0:k1], sequence[k0:k1] = np.arange(k1 - k0), i
        offsets = self.offsets()
        if self.causal and offsets is None:
            first = np.minimum(first + place, queries)
        on = None if offsets is None else offsets.place
        ends = [paddle.to_tensor(x.astype(np.int32), place=on) for x in (behind, first)]
        if offsets is not None:
            own = paddle.gather(offsets.flatten().astype("int32"), paddle.to_tensor(sequence, place=on))
            ahead = paddle.clip(paddle.to_tensor(place.astype(np.int32), place=on) - own, min=0)
            ends[1] = paddle.clip(ends[1] + ahead, max=queries)
        return paddle.stack(ends, 1)


@public(_MODULE)
@dataclass
class BlockDiagonalMask(_Sequences):
    """Sequences that lie behind each other; each query sees the keys of its own sequence.

    Args:
        q_seqinfo: the sequences of queries.
        k_seqinfo: those of keys, as many.
        _batch_sizes: how many sequences each of the batches has that were joined; None: one.

    Example:
        >>> from paddle.incubate.nn.attn_bias import BlockDiagonalMask
        >>> BlockDiagonalMask.from_seqlens([1, 2]).materialize([3, 3]).tolist()
        [[0.0, -inf, -inf], [-inf, 0.0, 0.0], [-inf, 0.0, 0.0]]
    """

    q_seqinfo: SeqLenInfo
    k_seqinfo: SeqLenInfo
    _batch_sizes: Sequence[int] | None = None

    @classmethod
    def from_seqlens(cls, q_seqlen: Sequence[int], kv_seqlen: Sequence[int] | None = None) -> BlockDiagonalMask:
        """Return the mask of sequences of these lengths.

        Args:
            q_seqlen: lengths of the sequences of queries.
            kv_seqlen: of keys, by default the same.

        Returns:
            The mask.

        Raises:
            ValueError: another number of sequences of keys, or a negative length.
        """
        if kv_seqlen is not None and len(q_seqlen) != len(kv_seqlen):
            need = f"{len(q_seqlen)} lengths of keys, one for each of queries"
            raise op_error(ValueError, f"{cls.__name__}.from_seqlens", need, len(kv_seqlen))
        queries = SeqLenInfo.from_seqlens(q_seqlen)
        alike = kv_seqlen is None or list(q_seqlen) == list(kv_seqlen)
        return cls(queries, queries if alike else SeqLenInfo.from_seqlens(kv_seqlen or ()))

    @classmethod
    def from_tensor_list(cls, tensors: Sequence[Tensor]) -> tuple[BlockDiagonalMask, Tensor]:
        """Return batches as one tensor, and its mask.

        Args:
            tensors: tensors ``[batch, length, *]``.

        Returns:
            The mask, and a tensor ``[1, total, *]``.
        """
        mask = cls.from_seqlens([n for x in tensors for n in [x.shape[1]] * x.shape[0]])
        mask._batch_sizes = [x.shape[0] for x in tensors]
        return mask, _behind_each_other(tensors)

    @classmethod
    def from_tensor_lists_qkv(
        cls, tensors_q: Sequence[Tensor], tensors_k: Sequence[Tensor], tensors_v: Sequence[Tensor] | None = None
    ) -> tuple[BlockDiagonalMask, Tensor, Tensor, Tensor | None]:
        """Return batches of queries, keys and values as one tensor each, and their mask.

        Args:
            tensors_q: tensors ``[batch, queries, *]``.
            tensors_k: tensors ``[batch, keys, *]``, as many, of the same batches.
            tensors_v: tensors like those of keys, or None.

        Returns:
            The mask, and tensors ``[1, total, *]``; None for no values.

        Raises:
            ValueError: another number of tensors, other batches, or values of another length than keys.
        """
        name = f"{cls.__name__}.from_tensor_lists_qkv"
        values = tensors_k if tensors_v is None else tensors_v
        if not len(tensors_q) == len(tensors_k) == len(values):
            sizes = [len(tensors_q), len(tensors_k), len(values)]
            raise op_error(ValueError, name, "as many tensors of queries, keys and values", sizes)
        for q, k, v in zip(tensors_q, tensors_k, values, strict=True):
            if q.shape[0] != k.shape[0] or v.shape[:2] != k.shape[:2]:
                shapes = [list(x.shape) for x in (q, k, v)]
                raise op_error(ValueError, name, "one batch size, and values as long as keys", shapes)
        lengths = [[n for x in tensors for n in [x.shape[1]] * x.shape[0]] for tensors in (tensors_q, tensors_k)]
        mask = cls.from_seqlens(*lengths)
        mask._batch_sizes = [x.shape[0] for x in tensors_q]
        q, k = _behind_each_other(tensors_q), _behind_each_other(tensors_k)
        return mask, q, k, None if tensors_v is None else _behind_each_other(tensors_v)

    def split_queries(self, tensor: Tensor) -> list[Tensor]:
        """Return the sequences of queries apart.

        Args:
            tensor: ``[1, total, *]``.

        Returns:
            Tensors ``[batch, queries, *]``.
        """
        return self.q_seqinfo.split(tensor, self._batch_sizes)

    def split_kv(self, tensor: Tensor) -> list[Tensor]:
        """Return the sequences of keys apart.

        Args:
            tensor: ``[1, total, *]``.

        Returns:
            Tensors ``[batch, keys, *]``.
        """
        return self.k_seqinfo.split(tensor, self._batch_sizes)

    def split(self, tensor: Tensor) -> list[Tensor]:
        """Return the sequences apart, where those of queries and keys are the same.

        Args:
            tensor: ``[1, total, *]``.

        Returns:
            Tensors ``[batch, length, *]``.

        Raises:
            ValueError: queries and keys have sequences of their own.
        """
        if self.q_seqinfo is not self.k_seqinfo:
            need = "queries and keys of the same lengths (else: split_queries, split_kv)"
            got = [self.q_seqinfo.seqstart_py, self.k_seqinfo.seqstart_py]
            raise op_error(ValueError, f"{type(self).__name__}.split", need, got)
        return self.q_seqinfo.split(tensor, self._batch_sizes)

    def make_causal(self) -> BlockDiagonalCausalMask:
        """Return the mask by which query i of a sequence sees its keys 0 to i.

        Returns:
            The mask.
        """
        return BlockDiagonalCausalMask(self.q_seqinfo, self.k_seqinfo, self._batch_sizes)


@public(_MODULE)
@dataclass
class BlockDiagonalCausalMask(BlockDiagonalMask):
    """Sequences that lie behind each other; query i of one sees its keys 0 to i.

    Args:
        q_seqinfo: the sequences of queries.
        k_seqinfo: those of keys, as many.
        _batch_sizes: as of the base.

    Example:
        >>> from paddle.incubate.nn.attn_bias import BlockDiagonalMask
        >>> BlockDiagonalMask.from_seqlens([1, 2]).make_causal().materialize([3, 3]).tolist()
        [[0.0, -inf, -inf], [-inf, 0.0, -inf], [-inf, 0.0, 0.0]]
    """

    causal = True


@public(_MODULE)
@dataclass
class BlockDiagonalCausalWithOffsetPaddedKeysMask(_Sequences):
    """Sequences of queries behind each other, and of keys in places of one length: query i sees keys 0 to i + offset.

    Args:
        q_seqinfo: the sequences of queries.
        k_seqinfo: those of keys, as many.
        causal_diagonal: int tensor, the offset of each sequence; None for 0.

    Example:
        >>> from paddle.incubate.nn.attn_bias import BlockDiagonalCausalWithOffsetPaddedKeysMask
        >>> mask = BlockDiagonalCausalWithOffsetPaddedKeysMask.from_seqlens([2], 3, [2])
        >>> mask.materialize([2, 3]).tolist()
        [[0.0, -inf, -inf], [0.0, 0.0, -inf]]
    """

    q_seqinfo: SeqLenInfo
    k_seqinfo: PaddedSeqLenInfo
    causal_diagonal: Tensor | None = None
    causal = True

    def offsets(self) -> Tensor | None:
        return self.causal_diagonal

    @classmethod
    def from_seqlens(
        cls, q_seqlen: Sequence[int], kv_padding: int, kv_seqlen: Sequence[int], causal_diagonal: Tensor | None = None
    ) -> BlockDiagonalCausalWithOffsetPaddedKeysMask:
        """Return the mask of sequences of these lengths.

        Args:
            q_seqlen: lengths of the sequences of queries.
            kv_padding: the length of a place of keys.
            kv_seqlen: lengths of the sequences of keys.
            causal_diagonal: int tensor, the offset of each sequence; None for 0.

        Returns:
            The mask.

        Raises:
            ValueError: another number of sequences of keys, or lengths that places do not hold.
        """
        if len(q_seqlen) != len(kv_seqlen):
            need = f"{len(q_seqlen)} lengths of keys, one for each of queries"
            raise op_error(ValueError, f"{cls.__name__}.from_seqlens", need, len(kv_seqlen))
        keys = PaddedSeqLenInfo.from_seqlens_padded(kv_seqlen, kv_padding)
        return cls(SeqLenInfo.from_seqlens(q_seqlen), keys, causal_diagonal)


def _behind_each_other(tensors: Sequence[Tensor]) -> Tensor:
    return paddle.concat([x.reshape([1, -1, *x.shape[2:]]) for x in tensors], 1)
