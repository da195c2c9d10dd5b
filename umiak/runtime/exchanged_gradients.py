"""Gradients of leaves that runs of a captured function read, replace and make."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from umiak.core import leaf_gradients
from umiak.core.captured import GIVEN, NONE, ROWS, ZEROS
from umiak.core.tensor import Tensor
from umiak.ir.tracer import SymTensor
from umiak.runtime.capture import Capture, CaptureError
from umiak.runtime.row_gradients import index_and_values
from umiak.runtime.selected_rows import SelectedRows


class ExchangedGradients:
    """The leaves whose ``.grad`` is exchanged around the runs of a captured function.

    ``owners`` are tensors whose gradient the function may read; ``arguments`` has the number of each argument by the id
    of what stands for it.
    """

    def __init__(self, capture: Capture, owners: Iterable[Tensor], arguments: dict[int, int]) -> None:
        met = {id(x) for x in capture.builder.program.captured.values()}
        kept: list[tuple[Any, Tensor]] = list(capture.leaves_inside())
        # Tensors of which the function read the gradient alone.
        kept += [(None, x) for x in owners if id(leaf_gradients.held_gradient(x)) in met and id(x) not in met]
        # Leaves of which the function replaces the gradient and needs nothing else.
        known = {id(x) for _, x in kept}
        kept += [(x, x) for x, _ in capture.leaves.values() if id(x) not in known]
        self.leaves = [leaf for _, leaf in kept]
        # Where a leaf is: the number of an argument, or the captured tensor itself.
        self.places: list[Any] = [arguments.get(id(r), leaf) for r, leaf in kept]
        self._after: list[Any] = [leaf_gradients.held_gradient(leaf) for leaf in self.leaves]
        before_and_after = zip(self.leaves, self._after, strict=True)
        self.before = [capture.leaves.get(id(leaf), (leaf, g))[1] for leaf, g in before_and_after]
        _refuse_rows(capture, self.before)
        cleared = [id(leaf) in capture.cleared for leaf in self.leaves]
        # The leaves that have another gradient after a run, by number, with what that is.
        self.replaced = [
            (at, ZEROS if c else GIVEN if isinstance(g, SymTensor) else NONE)
            for at, (g, b, c) in enumerate(zip(self._after, self.before, cleared, strict=True)) if g is not b or c
        ]  # fmt: skip

    def made(self, capture: Capture) -> list[Any]:
        """Return the new gradients in order: one tensor each, or the index and values of rows, which are noted."""
        made: list[Any] = []
        for i, (at, kind) in enumerate(self.replaced):
            if kind == GIVEN:
                g = self._after[at]
                rows = index_and_values(g.value, capture) if id(self.leaves[at]) in capture.rows else None
                made += [g] if rows is None else rows
                self.replaced[i] = at, kind if rows is None else ROWS
        return made


def _refuse_rows(capture: Capture, gradients: Sequence[Any]) -> None:
    """Refuse what was computed from the rows of a gradient from before: other runs have other rows."""
    parts = {id(x.storage) for g in gradients if isinstance(g, SelectedRows) for x in (g, g.index)}
    if any(id(x.storage) in parts for x in capture.builder.program.captured.values()):
        raise CaptureError(
            "the function reads a gradient of selected rows (of an embedding with sparse=True) from before the call, "
            "whose number is another one at each call. Call backward() inside, or the optimizer's step outside"
        )
