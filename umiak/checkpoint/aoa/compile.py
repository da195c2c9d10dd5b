"""Statements and tensors to a layout.

Names are resolved to *variables* first: a name that is assigned anew is another variable. That is what makes reversal
exact: run backwards, each statement takes the variables that it gave and gives those that it took. A variable of which
nothing is left, because its name was assigned anew, is known as lost instead of being mistaken for its successor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from umiak.checkpoint.aoa import fuse
from umiak.checkpoint.aoa.blocks import Algebra, Run, Var
from umiak.checkpoint.aoa.errors import (
    AOAAssertionError,
    AOAError,
    AOAIndexError,
    AOAKeyError,
    near,
)
from umiak.checkpoint.aoa.expand import Expander, Step
from umiak.checkpoint.aoa.layout import Layout
from umiak.checkpoint.aoa.states import SINGLE, by_parameter, split_state
from umiak.checkpoint.aoa.syntax import parse, permutation
from umiak.checkpoint.records import TensorInfo


def compile_aoa(
    statements: str | Sequence[str],
    sources: Mapping[str, TensorInfo],
    targets: Mapping[str, TensorInfo] | None = None,
    *,
    reverse: bool = False,
    traceback: bool = True,
) -> Layout:
    """How tensors come out of others, by statements of the AOA language.

    Args:
        statements: one text of several lines, or a list of them.
        sources: the tensors that there are. Their ``parts`` say by how many ranks fused ones are split.
        targets: the wanted tensors; None for all that the statements leave.
        reverse: the statements describe the way from ``targets`` to ``sources``; go back.
        traceback: show in errors how the statement came about.

    Raises:
        AOAError: a mistake in the statements, or tensors that do not fit them. It is a ``SyntaxError``, ``KeyError``,
            ``AssertionError``… too, as the mistake may be.

    Examples:
        >>> from umiak.checkpoint.aoa import compile_aoa
        >>> from umiak.checkpoint.records import TensorInfo
        >>> layout = compile_aoa("a, b -> c, axis=0", {k: TensorInfo(k, (4, 6), "float32") for k in "ab"})
        >>> layout.targets["c"].shape
        (8, 6)
        >>> [(p.key, p.target.offset) for p in layout.pieces("c")]
        [('a', (0, 0)), ('b', (4, 0))]
    """
    try:
        return _Compiler(statements, sources, targets, reverse).layout()
    except AOAError as error:
        if traceback:
            raise
        raise type(error)(error.problem) from None


class _Compiler:
    """One compilation.

    Variables are numbers. ``initial`` and ``final`` give, for each name in the statements, its variable before the
    first statement and after the last one, as the text is read; ``None`` stands for ``_``.
    """

    def __init__(
        self,
        statements: str | Sequence[str],
        sources: Mapping[str, TensorInfo],
        targets: Mapping[str, TensorInfo] | None,
        reverse: bool,
    ) -> None:
        self.sources = sources
        self.targets = targets
        self.reverse = reverse
        self.algebra = Algebra()
        self.states = by_parameter(sources)
        # Parameters of which only states are there.
        self.spare = {p: s for p, s in self.states.items() if p not in sources}
        self.steps = Expander(sources, targets, self.spare, reverse).expand(parse(statements))
        self._resolve()
        self.values: dict[int, Var] = {}
        self.makers: dict[int, Step] = {}
        self.kept: set[int] = set()
        self.dropped: set[int] = set()
        self.removed: set[str] = set()
        self.consumed: set[int] = set()
        self._degrees: dict[tuple[str, int, bool], int] = {}
        self._outcomes: dict[str, Var | None] = {}

    # Names

    def _resolve(self) -> None:
        self.names: list[str] = []
        self.initial: dict[str, int] = {}
        self.final: dict[str, int] = {}
        names, final = self.names, self.final

        def new(name: str) -> int:
            names.append(name)
            return len(names) - 1

        sides: list[tuple[tuple[int | None, ...], tuple[int | None, ...]]] = []
        for step in self.steps:
            left: list[int | None] = []
            for name in step.left:
                if name == "_":
                    left.append(None)
                    continue
                if name not in final:
                    final[name] = self.initial[name] = new(name)
                left.append(final[name])
            right: list[int | None] = []
            for name in step.right:
                if name == "_":
                    right.append(None)
                    continue
                final[name] = new(name)
                right.append(final[name])
            if len(set(step.right)) < len(step.right):
                raise AOAError(f"a name is assigned twice by one statement: {', '.join(step.right)}", step.chain)
            sides.append((tuple(left), tuple(right)))
        self.takes = [side[self.reverse] for side in sides]
        self.gives = [side[not self.reverse] for side in sides]
        # By name, the variables that hold sources at the beginning, and what the names stand for at the end.
        self.entry, self.exit = (self.final, self.initial) if self.reverse else (self.initial, self.final)

    @property
    def order(self) -> Sequence[int]:
        """The steps in the order in which they run."""
        return range(len(self.steps) - 1, -1, -1) if self.reverse else range(len(self.steps))

    def info(self, key: str) -> TensorInfo:
        """A source, or what its states tell of a parameter that is not among them."""
        if key in self.sources:
            return self.sources[key]
        infos = [self.sources[k] for kind, k in self.spare[key].items() if kind not in SINGLE]
        if not infos:
            raise AOAKeyError(f"{key} is not there, nor a state of it that has its shape")
        return TensorInfo(key, infos[0].shape, "", infos[0].parts)

    def source(self, key: str) -> Var:
        info = self.info(key)
        return Var(self.algebra.whole(info.shape, info.dtype), (key,))

    # Running

    def layout(self) -> Layout:
        """Run the steps and collect what is wanted."""
        for i in self.order:
            try:
                self._step(i)
            except AOAError as error:
                raise type(error)(error.problem, error.chain or self.steps[i].chain) from None
        return self._wanted() if self.targets is not None else self._everything()

    def value(self, v: int) -> Var:
        """What a variable holds when a step takes it."""
        self.consumed.add(v)
        found = self.values.get(v)
        if found is not None:
            return found
        name = self.names[v]
        if v in self.kept:
            raise AOAError(f"{name} has no value here: a statement says that it comes from nowhere ('_')")
        there = name in self.sources or name in self.spare
        if self.entry.get(name) == v and there:
            found = self.values[v] = self.source(name)
            return found
        if self.reverse and there:
            raise AOAError(f"{name} is lost on the way: it is assigned again further down, before it was used")
        known = [*self.sources, *(self.names[u] for u in self.values)]
        raise AOAError(
            f"{name} should be assigned before: it is neither a source nor made by a step.{near(name, known)}"
        )

    def _give(self, i: int, values: Sequence[Var]) -> None:
        for v, value in zip(self.gives[i], values):
            if v is not None and v not in self.kept:  # reversed, 'a -> _' wins over 'a -> b'
                self.values[v] = value
                self.makers[v] = self.steps[i]

    def _step(self, i: int) -> None:
        step, takes, gives = self.steps[i], self.takes[i], self.gives[i]
        if None in gives:
            self._drop(takes[0])
        elif None in takes:
            self.kept.update(v for v in gives if v is not None)
        else:
            values = [self.value(v) for v in takes if v is not None]
            if step.flips and not self.reverse:
                values = [self._flipped(x) if flip else x for x, flip in zip(values, step.flips)]
            made = self._made(i, values)
            if step.flips and self.reverse:
                made = [self._flipped(x) if flip else x for x, flip in zip(made, step.flips)]
            self._give(i, made)

    def _drop(self, v: int | None) -> None:
        assert v is not None
        name = self.names[v]
        if v in self.makers:
            self.dropped.add(v)  # made on the way: it is no result, what was made of it stays
        elif name in self.sources or name in self.spare:  # what is not there need not be removed
            self.value(v)
            self.removed.add(name)

    def _flipped(self, x: Var) -> Var:
        return self.algebra.permuted(x, tuple(reversed(range(len(x.blocks.shape)))))

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
        if "equal" in attrs:
            raise AOAError("equal is said of a concatenation or a split")
        if "axis" in attrs:
            self._axis(attrs["axis"], x)
        if "permute" in attrs:
            axes = self._axes(str(attrs["permute"]), x)
            return self.algebra.permuted(x, tuple(map(axes.index, range(len(axes)))) if self.reverse else axes)
        if "dtype" in attrs:
            if self.reverse:
                raise AOAAssertionError(
                    "a cast that is said by dtype= cannot be reversed, it does not say what was cast; "
                    f"write src_dtype=…, dst_dtype={attrs['dtype']!r}"
                )
            return self.algebra.cast(x, str(attrs["dtype"]))
        if "src_dtype" in attrs:
            pair = str(attrs["src_dtype"]), str(attrs["dst_dtype"])
            before, after = reversed(pair) if self.reverse else pair
            if x.blocks.dtype not in (before, ""):
                raise AOAAssertionError(f"the statement casts from {before}, {self._called(i)} has {x.blocks.dtype}")
            return self.algebra.cast(x, after)
        return x

    def _called(self, i: int) -> str:
        return ", ".join(self.names[v] for v in self.takes[i] if v is not None)

    def _axes(self, text: str, x: Var) -> tuple[int, ...]:
        rank = len(x.blocks.shape)
        axes = permutation(text) or tuple(reversed(range(rank)))
        found = tuple(a + rank if a < 0 else a for a in axes)
        if sorted(found) != list(range(rank)):
            raise AOAError(f"permute={text!r} is no permutation of the axes of shape {x.blocks.shape}")
        return found

    # Along an axis

    def _together(self, i: int, values: list[Var], axis: int) -> list[int]:
        """The sizes along ``axis`` of tensors that can be joined."""
        first = values[0].blocks
        for v, x in zip(self.takes[i], values):
            b = x.blocks
            assert v is not None
            name, like = self.names[v], self.names[self.takes[i][0] or 0]
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
        return self.algebra.regrouped(values, axis, _joining(tuple(sizes)))

    def _split(self, i: int, x: Var, axis: int) -> list[Var]:
        total, count = x.blocks.shape[axis], len(self.gives[i])
        sizes = self._asked(i, axis, x) if self.reverse and "equal" not in self.steps[i].statement.attrs else None
        if sizes is None:
            if total % count:
                raise AOAAssertionError(
                    f"a split gives equal parts: {total} places along axis {axis} of {self._called(i)} for {count} names"
                )
            sizes = (total // count,) * count
        return self.algebra.regrouped([x], axis, fuse.rearranged([fuse.concatenated(sizes)], fuse.separate(sizes)))

    def _asked(self, i: int, axis: int, x: Var) -> tuple[int, ...]:
        """Reversed, the sizes that were concatenated. The targets know them; the concatenation does not."""
        step = self.steps[i]
        rank, total = len(x.blocks.shape), x.blocks.shape[axis]
        sizes: list[int | None] = []
        for k, v in enumerate(self.gives[i]):
            assert v is not None
            # The statement's ^T comes after this step.
            flipped = step.flips is not None and step.flips[k]
            sizes.append(self._size_after(v, rank - 1 - axis if flipped else axis, rank))
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
        found = tuple(n for n in sizes if n is not None)
        if sum(found) != total or min(found) < 0:
            raise AOAAssertionError(
                f"{', '.join(step.left)} have {found} places along axis {axis}, {self._called(i)} has {total}"
            )
        return found

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
        if len(self.gives[i]) > 1:
            given: tuple[fuse.Arrangement, ...] = fuse.separate(sizes)
        else:
            degree = 1
            if ranked:
                v = self.gives[i][0]
                assert v is not None
                # Reversed, what is given is transposed afterwards.
                flipped = self.reverse and step.flips is not None and step.flips[0]
                rank = len(values[0].blocks.shape)
                degree = self._degree_after(v, rank - 1 - axis if flipped else axis, rank) or 1
            given = (fusion.arranged(sizes, degree),)
        return self.algebra.regrouped(values, axis, fuse.rearranged(taken, given))

    def _degree(self, info: TensorInfo, axis: int, wanted: bool) -> int:
        """By how many ranks a tensor is split along an axis."""
        key = info.key, axis, wanted
        found = self._degrees.get(key)
        if found is None:
            starts = sorted({b.offset[axis] for b in info.parts if b.size}) or [0]
            found = len(starts)
            size = info.shape[axis]
            if starts != [r * size // found for r in range(found)] or size % found:
                raise AOAAssertionError(
                    f"{info.key} is fused per rank, so that its ranks must hold equal parts of its {size} places "
                    f"along axis {axis}; they begin at {', '.join(map(str, starts))}"
                )
            self._degrees[key] = found
        return found

    def _degree_before(self, x: Var, axis: int) -> int:
        """The degree of a taken tensor: that of the sources it is made of."""
        found: dict[int, str] = {}
        for s in x.blocks.slices:
            info = self.info(x.keys[s.part])
            along = axis if s.axes is None else s.axes[axis]
            degree = self._degree(info, along, False)
            if degree > 1 and s.source.shape[along] != info.shape[along]:
                raise AOAAssertionError(
                    f"the order in a fused tensor depends on how many ranks hold it; here it is made of a part of "
                    f"{info.key}, which {degree} ranks hold, and there is no telling"
                )
            found[degree] = info.key
        if len(found) > 1:
            raise AOAAssertionError(
                f"the order in a fused tensor depends on how many ranks hold it; its sources differ: "
                f"{', '.join(f'{key} is held by {d}' for d, key in sorted(found.items()))}"
            )
        return next(iter(found), 1)

    # Looking ahead

    @cached_property
    def _takers(self) -> dict[int, list[int]]:
        out: dict[int, list[int]] = {}
        for i in self.order:
            for v in self.takes[i]:
                if v is not None:
                    out.setdefault(v, []).append(i)
        return out

    def _degree_after(self, v: int, axis: int, rank: int) -> int | None:
        """The degree of a tensor that is given: that of the target it is, or goes into. None if it goes nowhere."""
        name = self.names[v]
        if self.targets is not None and self.exit.get(name) == v and name in self.targets:
            return self._degree(self._target(name, axis), axis, True)
        found: dict[int, str] = {}
        for i, within, given in self._followed(v, axis, rank):
            for u, along in given:
                degree = self._degree_after(u, along, rank)
                if degree is None:
                    continue
                if within and degree > 1:
                    raise AOAAssertionError(
                        f"the order in the fused tensor {name} depends on how many ranks hold it; it becomes a part of "
                        f"{self.names[u]} along the axis by which {degree} ranks hold that, and there is no telling",
                        self.steps[i].chain,
                    )
                found[degree] = self.names[u]
        if len(found) > 1:
            raise AOAAssertionError(
                f"the order in the fused tensor {name} depends on how many ranks hold it; its targets differ: "
                f"{', '.join(f'{key} is held by {d}' for d, key in sorted(found.items()))}"
            )
        return next(iter(found), None)

    def _target(self, name: str, axis: int) -> TensorInfo:
        assert self.targets is not None
        info = self.targets[name]
        if axis >= len(info.shape):
            raise AOAError(f"the statement gives {name} more than {axis} axes, the target has shape {info.shape}")
        return info

    def _size_after(self, v: int, axis: int, rank: int) -> int | None:
        """The size along an axis of a tensor that is given, as far as targets tell."""
        name = self.names[v]
        if self.targets is not None and self.exit.get(name) == v and name in self.targets:
            return self._target(name, axis).shape[axis]
        for i, within, given in self._followed(v, axis, rank):
            known = [n for n in (self._size_after(u, along, rank) for u, along in given) if n is not None]
            takes = len(self.takes[i])
            if not known or (within and len(known) < len(given)):
                continue
            if not within or takes == len(given):
                return known[0]
            if takes == 1:  # taken apart
                return sum(known)
            if not self.steps[i].statement.fused:  # reversed, a split: its parts are equal
                return known[0] // takes
        return None

    def _followed(self, v: int, axis: int, rank: int) -> Iterator[tuple[int, bool, list[tuple[int, int]]]]:
        """The steps that take a variable, whether they rearrange along ``axis``, what they give and its axis there."""
        for i in self._takers.get(v, ()):
            step, along = self.steps[i], axis
            attrs, fused = step.statement.attrs, step.statement.fused
            flips = step.flips or (False,) * len(step.left)
            if not self.reverse and flips[self.takes[i].index(v)]:
                along = rank - 1 - along
            if "permute" in attrs:
                axes = permutation(str(attrs["permute"])) or tuple(reversed(range(rank)))
                axes = tuple(a % rank for a in axes)
                if along not in axes:
                    continue  # an error when its turn comes
                along = axes[along] if self.reverse else axes.index(along)
            renamed = len(step.left) == len(step.right) == 1 and not fused
            acts = attrs.get("axis", 1) if fused or not renamed else None
            given = [(u, along) for u in self.gives[i] if u is not None]
            if self.reverse:
                given = [(u, rank - 1 - a if flip else a) for (u, a), flip in zip(given, flips)]
            yield i, acts in (along, along - rank), given

    # Results

    def _wanted(self) -> Layout:
        assert self.targets is not None
        made: dict[str, Var] = {}
        kept = set()
        for key, info in self.targets.items():
            found = self._outcome(key, info)
            if found is None:
                kept.add(key)
            else:
                made[key] = found
        return Layout(self.targets, made, frozenset(kept))

    def _outcome(self, key: str, info: TensorInfo) -> Var | None:
        """What a target is made of; None if it keeps its value."""
        found = self._state_of(key)
        if found is None:
            x = self._plain(key)
            if x is not None:
                self._complete(key, x)
        else:
            parameter, kind = found
            x = self._parameter(parameter)
            if x is not None:
                x = self._state(key, x, kind, info.dtype)
        if x is not None:
            chain = self._chain(key)
            if x.blocks.shape != tuple(info.shape):
                raise AOAError(
                    f"{key} is wanted with shape {tuple(info.shape)}, it is made with {x.blocks.shape}", chain
                )
            if x.blocks.dtype != info.dtype:
                raise AOAAssertionError(
                    f"{key} is wanted as {info.dtype}, it is made of {', '.join(x.keys[:3])} as {x.blocks.dtype}; "
                    f"say the cast: 'a -> b, dtype={info.dtype!r}'",
                    chain,
                )
        return x

    def _chain(self, key: str) -> list[tuple[str, str]]:
        v = self.exit.get(key)
        return self.makers[v].chain if v is not None and v in self.makers else []

    def _state_of(self, key: str) -> tuple[str, str] | None:
        """Parameter and kind of a state that follows its parameter; None for what statements name, and other tensors."""
        found = split_state(key) if key not in self.exit else None
        if found is None:
            return None
        parameter = found[0]
        known = parameter in self.exit or parameter in self.sources or parameter in (self.targets or ())
        return found if known else None

    def _parameter(self, name: str) -> Var | None:
        if name not in self._outcomes:
            self._outcomes[name] = self._plain(name)
        return self._outcomes[name]

    def _plain(self, key: str) -> Var | None:
        """What a name stands for at the end, apart from whether it is what was wanted."""
        v = self.exit.get(key)
        if v is not None and v in self.kept:
            return None
        x = None if v is None else self.values.get(v)
        if x is None:
            if self.reverse and v is None and key in self.final:
                step = next(s for s in self.steps if key in s.right)
                raise AOAError(
                    f"{key} cannot be had back: this statement assigns it, and nothing keeps it before", step.chain
                )
            if key not in self.sources and key not in self.spare:
                known = [*self.sources, *(self.names[u] for u in self.makers)]
                raise AOAKeyError(f"nothing gives {key!r}: no source and no statement.{near(key, known)}")
            x = self.source(key)
        if self.removed:
            gone = [k for k in x.keys if k in self.removed]
            if len(gone) == len(x.keys) and gone:
                return None
            if gone:
                raise AOAError(
                    f"{key} would be given in part only: '{gone[0]} -> _' removes what the rest is made of",
                    self._chain(key),
                )
        return x

    def _complete(self, key: str, x: Var) -> None:
        for k in x.keys:
            if k not in self.sources:
                raise AOAKeyError(
                    f"nothing gives {key!r}: it is made of {k}, of which there are only the states "
                    f"{', '.join(self.spare[k])}",
                    self._chain(key),
                )

    def _state(self, key: str, x: Var, kind: str, wanted: str | None) -> Var:
        """A state of a parameter that is made as ``x``."""
        infos = []
        for k in x.keys:
            name = self.states.get(k, {}).get(kind)
            if name is None or name in self.initial or name in self.final:
                raise AOAKeyError(f"nothing gives {key!r}: it follows its parameter, and {k} has no state {kind}")
            infos.append(self.sources[name])
        if kind in SINGLE:
            # One number for a parameter; those of an optimizer count the same steps.
            return Var(self.algebra.whole(infos[0].shape, infos[0].dtype), (infos[0].key,))
        for k, info in zip(x.keys, infos):
            if info.shape != self.info(k).shape:
                raise AOAError(f"{info.key} has shape {info.shape}, its parameter has {self.info(k).shape}")
        keys = tuple(info.key for info in infos)
        dtypes = {info.dtype for info in infos}
        if len(dtypes) == 1:
            out = Var(self.algebra.uncast(x, dtypes.pop()).blocks, keys)
        elif wanted is None:
            raise AOAAssertionError(f"{key} is made of states of several dtypes: {', '.join(sorted(dtypes))}")
        else:
            out = Var(self.algebra.uncast(x, "").blocks, keys)
        return out if wanted is None else self.algebra.cast(out, wanted)

    def _everything(self) -> Layout:
        """Without targets: whatever is made or there and not used up."""
        made: dict[str, Var] = {}
        follow: dict[str, Var] = {}  # parameters whose states go with them
        for name, v in self.exit.items():
            if v in self.consumed or v in self.dropped or v in self.kept:
                continue
            if v not in self.makers and (self.entry.get(name) != v or not (name in self.sources or name in self.spare)):
                continue
            x = self._plain(name)
            if x is not None:
                follow[name] = x
        named = self.initial.keys() | self.final.keys()
        for name in (*self.sources, *self.spare):
            if name in named:
                continue
            found = split_state(name)
            if found is not None and (found[0] in self.sources or found[0] in self.spare):
                continue
            x = self._plain(name)
            if x is not None:
                follow[name] = x
        for name, x in follow.items():
            if any(k in self.sources for k in x.keys):
                self._complete(name, x)
                made[name] = x
            kinds = {kind: None for k in x.keys for kind, key in self.states.get(k, {}).items() if key not in named}
            for kind in kinds:
                key = f"{name}.{kind}"
                if key not in made:
                    made[key] = self._state(key, x, kind, None)
        targets = {key: TensorInfo(key, x.blocks.shape, x.blocks.dtype) for key, x in made.items()}
        return Layout(targets, made, frozenset())


def _joining(sizes: tuple[int, ...]) -> tuple[tuple[Run, ...], ...]:
    return (tuple(Run(i, 0, n) for i, n in enumerate(sizes)),)
