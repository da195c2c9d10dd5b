"""Inference of sizes and degrees of intermediate tensors from the shapes of the targets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from umiak.checkpoint.aoa.errors import AOAAssertionError, AOAError
from umiak.checkpoint.aoa.fuse import Fusion
from umiak.checkpoint.aoa.program import Program
from umiak.checkpoint.aoa.syntax import permutation
from umiak.checkpoint.data_model import TensorInfo


class ShardDegrees:
    """Degrees of tensors: the number of ranks that split them along an axis, by their parts."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int], int] = {}

    def of(self, info: TensorInfo, axis: int) -> int:
        """The degree; a tensor of which no parts are told has 1."""
        degree = self._known.get((info.key, axis))
        if degree is None:
            starts = sorted({b.offset[axis] for b in info.parts if b.size}) or [0]
            degree = len(starts)
            size = info.shape[axis]
            if starts != [r * size // degree for r in range(degree)] or size % degree:
                raise AOAAssertionError(
                    f"{info.key} is fused per rank, so that its ranks must hold equal parts of its {size} places "
                    f"along axis {axis}; they begin at {', '.join(map(str, starts))}"
                )
            self._known[info.key, axis] = degree
        return degree


class ShapeInference:
    """Follows a variable through the steps that use it, up to the targets. No step changes the number of axes."""

    def __init__(self, program: Program, targets: Mapping[str, TensorInfo] | None) -> None:
        self.program = program
        self.targets = targets
        self._degrees = ShardDegrees()
        self._known: dict[tuple[str, int, int], int | None] = {}

    def degree(self, v: int, axis: int, rank: int) -> int | None:
        """The degree of a tensor that is given: that of the target it is, or goes into. None if it goes nowhere."""
        key = ("degree", v, axis)
        if key not in self._known:
            self._known[key] = self._degree(v, axis, rank)
        return self._known[key]

    def _degree(self, v: int, axis: int, rank: int) -> int | None:
        name = self.program.names[v]
        if self.targets is not None and self.program.exit.get(name) == v and name in self.targets:
            return self._degrees.of(self._target(name, axis), axis)
        degrees: dict[int, str] = {}
        for i, within, results in self._consumers(v, axis, rank):
            for u, along in results:
                degree = self.degree(u, along, rank)
                if degree is None:
                    continue
                if within and degree > 1:
                    raise AOAAssertionError(
                        f"the order in the fused tensor {name} depends on how many ranks hold it; it becomes a part of "
                        f"{self.program.names[u]} along the axis by which {degree} ranks hold it: no telling",
                        self.program.steps[i].chain,
                    )
                degrees[degree] = self.program.names[u]
        if len(degrees) > 1:
            raise AOAAssertionError(
                f"the order in the fused tensor {name} depends on how many ranks hold it; its targets differ: "
                f"{', '.join(f'{key} is held by {d}' for d, key in sorted(degrees.items()))}"
            )
        return next(iter(degrees), None)

    def _target(self, name: str, axis: int) -> TensorInfo:
        assert self.targets is not None
        info = self.targets[name]
        if axis >= len(info.shape):
            raise AOAError(f"the statement gives {name} more than {axis} axes, the target has shape {info.shape}")
        return info

    def size(self, v: int, axis: int, rank: int) -> int | None:
        """The size along an axis of a tensor that is given, as far as targets tell."""
        key = ("size", v, axis)
        if key not in self._known:
            self._known[key] = self._size(v, axis, rank)
        return self._known[key]

    def _size(self, v: int, axis: int, rank: int) -> int | None:
        name = self.program.names[v]
        if self.targets is not None and self.program.exit.get(name) == v and name in self.targets:
            return self._target(name, axis).shape[axis]
        for i, within, results in self._consumers(v, axis, rank):
            known = [n for n in (self.size(u, along, rank) for u, along in results) if n is not None]
            n_inputs = len(self.program.inputs[i])
            if not known or (within and len(known) < len(results)):
                continue
            if not within or n_inputs == len(results):
                return known[0]
            if n_inputs == 1:  # a split
                return sum(known)
            s = self.program.steps[i].statement
            if s.fused:
                return Fusion(s.fused, s.attrs).sizes_of(known[0])[self.program.inputs[i].index(v)]
            if self.program.reverse:  # a split: its parts are equal
                return known[0] // n_inputs
        return None

    def _consumers(self, v: int, axis: int, rank: int) -> Iterator[tuple[int, bool, list[tuple[int, int]]]]:
        """Yield, for each step with ``v`` as input: its number, whether it splits, joins or fuses along ``axis``, and
        its outputs, each with the axis that ``axis`` becomes there."""
        for i in self.program.consumers.get(v, ()):
            step, along = self.program.steps[i], axis
            attrs, fused = step.statement.attrs, step.statement.fused
            flips = step.flips or (False,) * len(step.left)
            if not self.program.reverse and flips[self.program.inputs[i].index(v)]:
                along = rank - 1 - along
            if "permute" in attrs:
                axes = permutation(str(attrs["permute"])) or tuple(reversed(range(rank)))
                axes = tuple(a % rank for a in axes)
                if along not in axes:
                    continue  # an error when the step runs
                along = axes[along] if self.program.reverse else axes.index(along)
            renamed = len(step.left) == len(step.right) == 1 and not fused
            acts = attrs.get("axis", 1) if fused or not renamed else None
            results = [(u, along) for u in self.program.outputs[i] if u is not None]
            if self.program.reverse:
                results = [(u, rank - 1 - a if flip else a) for (u, a), flip in zip(results, flips)]
            yield i, acts in (along, along - rank), results
