"""The result of compiling AOA statements: which blocks of the sources each target tensor is made of."""

from __future__ import annotations

from collections.abc import Mapping

from umiak.checkpoint.aoa.blocks import Var
from umiak.checkpoint.aoa.errors import AOAError, AOAKeyError, near
from umiak.checkpoint.box import Box
from umiak.checkpoint.data_model import Piece, TensorInfo


class Layout:
    """For every target tensor of AOA statements, the blocks of source tensors that it is made of.

    Attributes:
        targets: every tensor of the layout, with its global shape and its dtype after casts.
        kept: targets that no source provides: they keep the value that they have, and have no pieces.
    """

    def __init__(self, targets: Mapping[str, TensorInfo], made: Mapping[str, Var], kept: frozenset[str]) -> None:
        self.targets: Mapping[str, TensorInfo] = dict(targets)
        self.kept = kept
        self._made = made

    def pieces(self, key: str, box: Box | None = None) -> tuple[Piece, ...]:
        """Return the pieces that ``box`` of tensor ``key`` (default: all of it) is made of, in row-major order.

        They cover the box without overlap. Blocks that are adjacent both in the target and in their source are one
        piece. A tensor in ``kept`` has none.

        Raises:
            KeyError: the layout has no such tensor.
            ValueError: the box does not lie in it.
        """
        if key in self.kept:
            return ()
        var = self._var(key)
        shape = var.blocks.shape
        if box is None:
            box = Box.full(shape)
        elif len(box.offset) != len(shape) or not Box.full(shape).contains(box):
            raise AOAError(f"a box of {key} lies in shape {shape}, got offset {box.offset} and shape {box.shape}")
        keys = var.keys
        return tuple([Piece(s.target, keys[s.part], s.source, s.axes, s.casts) for s in var.blocks.within(box)])

    def sources_of(self, key: str) -> tuple[str, ...]:
        """The tensors that ``key`` is made of, each once."""
        return () if key in self.kept else self._var(key).keys

    def _var(self, key: str) -> Var:
        try:
            return self._made[key]
        except KeyError:
            raise AOAKeyError(f"the layout gives no tensor {key!r}.{near(key, self._made)}") from None

    def __repr__(self) -> str:
        return f"Layout({len(self.targets)} tensors, {len(self.kept)} of them kept)"
