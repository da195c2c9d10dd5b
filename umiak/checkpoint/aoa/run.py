"""Steps at work: each makes variables out of variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from umiak.checkpoint.aoa import fuse
from umiak.checkpoint.aoa.blocks import BlockFactory, Var
from umiak.checkpoint.aoa.errors import AOAAssertionError, AOAError, AOAIndexError, near
from umiak.checkpoint.aoa.expand import Step
from umiak.checkpoint.aoa.program import Program
from umiak.checkpoint.aoa.shape_inference import ShapeInference, ShardDegrees
from umiak.checkpoint.aoa.source_tensors import SourceTensors
from umiak.checkpoint.aoa.syntax import permutation
from umiak.checkpoint.data_model import TensorInfo


class Run:
    """A program that has run.

    Attributes:
        values: what variables hold.
        makers: the step that made each; a variable without one is a source.
        consumed: variables that a step has taken.
        kept: variables that come from nowhere (``_ -> b``).
        dropped: variables that were made and are no results (``t -> _``).
        removed: sources of which nothing is wanted (``a -> _``).
    """

    def __init__(
        self, program: Program, sources: SourceTensors, targets: Mapping[str, TensorInfo] | None, factory: BlockFactory
    ) -> None:
        self.program = program
        self.reverse = program.reverse
        self.steps, self.inputs, self.outputs, self.names = (
            program.steps,
            program.inputs,
            program.outputs,
            program.names,
        )
        self.sources = sources
        self.factory = factory
        self.inference = ShapeInference(program, targets)
        self.degrees = ShardDegrees()
        self.values: dict[int, Var] = {}
        self.makers: dict[int, Step] = {}
        # Variables that a step reads; that keep what the target holds (`_ -> x`); intermediates that a step drops.
        self.consumed: set[int] = set()
        self.kept: set[int] = set()
        self.dropped: set[int] = set()
        self.removed: set[str] = set()  # source tensors that the program removes
        for i in program.order:
            try:
                self._step(i)
            except AOAError as error:
                raise type(error)(error.problem, error.chain or self.steps[i].chain) from None

    def _value(self, v: int) -> Var:
        """Return the value of a variable when a step consumes it."""
        self.consumed.add(v)
        value = self.values.get(v)
        if value is not None:
            return value
        name = self.names[v]
        if v in self.kept:
            raise AOAError(f"{name} has no value here: a statement says that it comes from nowhere ('_')")
        if self.program.entry.get(name) == v and name in self.sources:
            value = self.values[v] = self.sources.var(name)
            return value
        if self.reverse and name in self.program.entry and self.program.entry[name] != v:
            raise AOAError(f"{name} cannot be had back: it is assigned again further down, and nothing used it before")
        known = [*self.sources, *(self.names[u] for u in self.values)]
        raise AOAError(
            f"{name} should be assigned before: it is neither a source nor made by a step.{near(name, known)}"
        )

    def _give(self, i: int, values: Sequence[Var]) -> None:
        for v, value in zip(self.outputs[i], values):
            if v is not None:
                self.values[v] = value
                self.makers[v] = self.steps[i]

    def _step(self, i: int) -> None:
        step, inputs, outputs = self.steps[i], self.inputs[i], self.outputs[i]
        if None in outputs:
            self._drop(inputs[0])
        elif None in inputs:
            self.kept.update(v for v in outputs if v is not None)
        else:
            values = [self._value(v) for v in inputs if v is not None]
            if step.flips and not self.reverse:
                values = [self._flipped(x) if flip else x for x, flip in zip(values, step.flips)]
            results = self._made(i, values)
            if step.flips and self.reverse:
                results = [self._flipped(x) if flip else x for x, flip in zip(results, step.flips)]
            self._give(i, results)

    def _drop(self, v: int | None) -> None:
        assert v is not None
        name = self.names[v]
        if v in self.makers:
            self.dropped.add(v)  # made on the way: it is no result, what was made of it stays
        elif name in self.sources:  # what is not there need not be removed
            self._value(v)
            self.removed.add(name)

    def _flipped(self, x: Var) -> Var:
        return self.factory.permuted(x, tuple(reversed(range(len(x.blocks.shape)))))

    def _made(self, i: int, values: list[Var]) -> list[Var]:
        step = self.steps[i]
        s = step.statement
        if s.fused:
            return self._fused(i, values)
        if len(step.left) == len(step.right) == 1:
            return [self._moved(i, values[0])]
        if len(step.left) > 1 and len(step.right) > 1:
            raise AOAAssertionError(
                f"one side has a single name: a statement splits, concatenates or renames, "
                f"got {len(step.left)} names -> {len(step.right)}"
            )
        if set(s.attrs) - {"equal"} != {"axis"}:
            raise AOAError(f"a split or a concatenation takes axis=…, got {', '.join(s.attrs) or 'no attribute'}")
        axis = self._axis(s.attrs["axis"], values[0])
        if len(values) > 1:
            return self._joined(i, values, axis)
        return self._split(i, values[0], axis)

    def _axis(self, axis: object, x: Var) -> int:
        assert isinstance(axis, int)
        rank = len(x.blocks.shape)
        if not -rank <= axis < rank:
            hint = " (without axis=…, fuse macros take axis 1)" if rank < 2 else ""
            raise AOAIndexError(f"axis {axis} of a tensor of shape {x.blocks.shape}{hint}")
        return axis % rank

    # One name -> one name

    def _moved(self, i: int, x: Var) -> Var:
        attrs = self.steps[i].statement.attrs
        if "axis" in attrs:
            self._axis(attrs["axis"], x)
        if "permute" in attrs:
            axes = self._axes(str(attrs["permute"]), x)
            return self.factory.permuted(x, tuple(map(axes.index, range(len(axes)))) if self.reverse else axes)
        if "dtype" in attrs:
            if self.reverse:
                raise AOAAssertionError(
                    "a cast that is said by dtype= cannot be reversed, it does not say what was cast; "
                    f"write src_dtype=…, dst_dtype={attrs['dtype']!r}"
                )
            return self.factory.cast(x, str(attrs["dtype"]))
        if "src_dtype" in attrs:
            pair = str(attrs["src_dtype"]), str(attrs["dst_dtype"])
            before, after = reversed(pair) if self.reverse else pair
            if x.blocks.dtype not in (before, ""):
                raise AOAAssertionError(f"the statement casts from {before}, {self._called(i)} has {x.blocks.dtype}")
            return self.factory.cast(x, after)
        return x

    def _called(self, i: int) -> str:
        return ", ".join(self.names[v] for v in self.inputs[i] if v is not None)

    def _axes(self, text: str, x: Var) -> tuple[int, ...]:
        rank = len(x.blocks.shape)
        axes = permutation(text) or tuple(reversed(range(rank)))
        positive_axes = tuple(a + rank if a < 0 else a for a in axes)
        if sorted(positive_axes) != list(range(rank)):
            raise AOAError(f"permute={text!r} is no permutation of the axes of shape {x.blocks.shape}")
        return positive_axes

    # Along an axis

    def _together(self, i: int, values: list[Var], axis: int) -> list[int]:
        """The sizes along ``axis`` of tensors that can be joined."""
        first = values[0].blocks
        for v, x in zip(self.inputs[i], values):
            b = x.blocks
            assert v is not None
            name, like = self.names[v], self.names[self.inputs[i][0] or 0]
            if len(b.shape) != len(first.shape) or any(
                n != m for a, (n, m) in enumerate(zip(b.shape, first.shape)) if a != axis
            ):
                raise AOAError(f"joined along axis {axis}: {like} has shape {first.shape}, {name} has {b.shape}")
            if b.dtype != first.dtype and "" not in (b.dtype, first.dtype):
                raise AOAAssertionError(
                    f"joined tensors have one dtype: {like} has {first.dtype}, {name} has {b.dtype}"
                )
        return [x.blocks.shape[axis] for x in values]

    def _joined(self, i: int, values: list[Var], axis: int) -> list[Var]:
        sizes = self._together(i, values, axis)
        attrs = self.steps[i].statement.attrs
        # Reversed, this is a split, and a split gives equal parts.
        if (self.reverse or "equal" in attrs) and len(set(sizes)) > 1:
            why = "a split gives equal parts" if self.reverse else "the statement says equal"
            raise AOAAssertionError(f"{why}, got sizes {sizes} along axis {axis} of {self._called(i)}")
        return self.factory.regrouped(values, axis, fuse.rearranged(fuse.separate(sizes), [fuse.concatenated(sizes)]))

    def _split(self, i: int, x: Var, axis: int) -> list[Var]:
        total, count = x.blocks.shape[axis], len(self.outputs[i])
        sizes = self._asked(i, axis, x) if self.reverse and "equal" not in self.steps[i].statement.attrs else None
        if sizes is None:
            if total % count:
                raise AOAAssertionError(
                    f"a split gives equal parts, got {total} places along axis {axis} of {self._called(i)} "
                    f"for {count} names"
                )
            sizes = (total // count,) * count
        return self.factory.regrouped([x], axis, fuse.rearranged([fuse.concatenated(sizes)], fuse.separate(sizes)))

    def _asked(self, i: int, axis: int, x: Var) -> tuple[int, ...]:
        """Reversed, the sizes that were concatenated. The targets know them; the concatenation does not."""
        step = self.steps[i]
        rank, total = len(x.blocks.shape), x.blocks.shape[axis]
        sizes: list[int | None] = []
        for k, v in enumerate(self.outputs[i]):
            assert v is not None
            # The statement's ^T comes after this step.
            flipped = step.flips is not None and step.flips[k]
            sizes.append(self.inference.size(v, rank - 1 - axis if flipped else axis, rank))
        open_ = [k for k, n in enumerate(sizes) if n is None]
        if len(open_) == 1:
            sizes[open_[0]] = total - sum(n for n in sizes if n is not None)
        elif open_:
            names = ", ".join(step.left[k] for k in open_[:3]) + (", …" if len(open_) > 3 else "")
            raise AOAAssertionError(
                f"to take a concatenation apart one must know the sizes of what was concatenated, and nothing tells "
                f"those of {names}: give the targets with their shapes, or say in the statement that the sizes are "
                "equal: 'a, b -> c, axis=0, equal'"
            )
        known = tuple(n for n in sizes if n is not None)
        if sum(known) != total or min(known) < 0:
            raise AOAAssertionError(
                f"{', '.join(step.left)} have {known} places along axis {axis}, {self._called(i)} has {total}"
            )
        return known

    # Fuse macros

    def _fused(self, i: int, values: list[Var]) -> list[Var]:
        step = self.steps[i]
        s = step.statement
        fusion = fuse.Fusion(s.fused, s.attrs)
        fusion.check(len(step.left), len(step.right))
        axis = self._axis(s.attrs.get("axis", 1), values[0])
        ranked = fusion.macro != "fused_qkv"
        if len(values) > 1:
            sizes = tuple(self._together(i, values, axis))
            fusion.agree(sizes)
            taken: tuple[fuse.Arrangement, ...] = fuse.separate(sizes)
        else:
            sizes = fusion.sizes_of(values[0].blocks.shape[axis])
            taken = (fusion.arranged(sizes, self._degree_before(values[0], axis) if ranked else 1),)
        if len(self.outputs[i]) > 1:
            arrangements: tuple[fuse.Arrangement, ...] = fuse.separate(sizes)
        else:
            degree = 1
            if ranked:
                v = self.outputs[i][0]
                assert v is not None
                # Reversed, what is given is transposed afterwards.
                flipped = self.reverse and step.flips is not None and step.flips[0]
                rank = len(values[0].blocks.shape)
                degree = self.inference.degree(v, rank - 1 - axis if flipped else axis, rank) or 1
            arrangements = (fusion.arranged(sizes, degree),)
        return self.factory.regrouped(values, axis, fuse.rearranged(taken, arrangements))

    def _degree_before(self, x: Var, axis: int) -> int:
        """The degree of a taken tensor: that of the sources it is made of."""
        degrees: dict[int, str] = {}
        for s in x.blocks.slices:
            info = self.sources.info(x.keys[s.part])
            along = axis if s.axes is None else s.axes[axis]
            degree = self.degrees.of(info, along)
            if degree > 1 and s.source.shape[along] != info.shape[along]:
                raise AOAAssertionError(
                    f"the order in a fused tensor depends on how many ranks hold it; here it is made of a part of "
                    f"{info.key}, which {degree} ranks hold, and there is no telling"
                )
            degrees[degree] = info.key
        if len(degrees) > 1:
            raise AOAAssertionError(
                f"the order in a fused tensor depends on how many ranks hold it; its sources differ: "
                f"{', '.join(f'{key} is held by {d}' for d, key in sorted(degrees.items()))}"
            )
        return next(iter(degrees), 1)
