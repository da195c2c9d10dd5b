"""Control flow: operations whose regions are run or not, once or many times.

A region reads no value from outside of it: what it needs comes as operands, which are its arguments. Numbers (sizes,
places in random streams) it may read as anything in a program may. ``binds`` names params that a call defines instead
of reading them: symbols whose value is known once it has run, or while its regions run. ``(name, i)`` stands for the
elements of a param from number i on.

They are no calls of a kernel: ``umiak/runtime/control.py`` runs them, and ``umiak/autodiff/control.py`` differentiates.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from umiak.core import dtype as dt
from umiak.ir import sym as dim
from umiak.ir.meta import Meta
from umiak.ops.base import Op, param, register


class Control(Op):
    """An op with regions."""

    inputs: ClassVar[tuple[str, ...]] = ("*xs",)
    closed: ClassVar[bool] = True
    binds: ClassVar[tuple[str, ...]] = ()
    amp = "keep"
    variadic_outputs = True
    vjp = None
    other_gradient = True  # by ``autodiff/control.py``

    def yielded(self, regions: Any) -> Iterator[Any]:
        """For each result what a region yields for it, None where that is nothing."""
        yield from regions[-1].outputs

    def takes(self, operands: str, wanted: Any, got: Any) -> None:
        """Refuse regions whose arguments or results are not those of the operation."""
        if len(wanted) != len(got) or not all(map(alike, wanted, got)):
            self.fail(TypeError, f"{operands} like {list(wanted)}", list(got))


def alike(a: Meta | None, b: Meta | None) -> bool:
    """Return whether both are of one type and shape, as far as is known before the program runs."""
    if a is None or b is None:
        return a is b
    if a.dtype is not b.dtype or a.weak != b.weak or len(a.shape) != len(b.shape):
        return False
    return all(dim.eq(m, n) for m, n in zip(a.shape, b.shape, strict=True))


def is_flag(x: Meta | None) -> bool:
    """Return whether a value is one truth value."""
    return x is not None and x.dtype is dt.bool and x.weak is None and all(dim.eq(n, 1) for n in x.shape)


@register
class Cond(Control):
    """The results of the first region where ``pred`` is true, else those of the second. Both get the operands after it.

    A region may leave out a result that the other one has (None): what the gradient of that one alone reads. ``taken``
    is 1 where the first region ran, else 0.
    """

    inputs = ("pred", "*xs")
    binds = ("taken",)
    taken: int = param("int", 0)

    def yielded(self, regions: Any) -> Iterator[Any]:
        for a, b in zip(*(r.outputs for r in regions), strict=False):
            yield b if a is None else a

    def infer(self, *args: Any, regions: Any = ()) -> Any:
        pred, *xs, _ = args
        if not is_flag(pred):
            self.fail(TypeError, "a bool with one element", pred)
        (then_takes, then), (other_takes, other) = regions
        self.takes("arguments of the first branch", xs, then_takes)
        self.takes("arguments of the second branch", xs, other_takes)
        if len(then) != len(other):
            self.fail(TypeError, f"as many results of both branches ({len(then)})", len(other))
        both = list(zip(then, other, strict=True))
        metas = [b if a is None else a for a, b in both]
        self.takes("results of both branches", metas, [a if b is None else b for a, b in both])
        return tuple(metas)


class Loop(Control):
    """The first ``carried`` operands are the first values of what an iteration leaves to the next. Beside these the
    body yields values of which those of all iterations are stacked. ``index``: the number of the iteration, which the
    regions may read."""

    carried: int

    def stacks(self, length: Any, metas: Any) -> tuple:
        return tuple(Meta((length, *m.shape), m.dtype) for m in metas)


@register
class While(Loop):
    """Loop while the first region yields true: the second makes the next carried values; both get all operands.

    Results: the carried values at the end, the number of iterations (an int64), and the stacks. ``trips`` is that
    number too.

    The carried values ``grown`` may have another size along ``axes`` in each iteration: ``sizes`` are what the regions
    have for these, then as many for what they are at the end. The stacks ``ragged``, of what has other sizes in each
    iteration, have one axis: the elements of all iterations behind one another, whose numbers come last in ``sizes``.
    """

    binds = ("trips", "index", "sizes")
    grown: tuple = ()
    axes: tuple = ()
    ragged: tuple = ()
    trips: int = param("int", 0)
    index: int = param("int", 0)
    sizes: tuple = param("ints", ())

    def yielded(self, regions: Any) -> Iterator[Any]:
        outputs = regions[-1].outputs
        yield from (*outputs[: self.carried], None, *outputs[self.carried :])

    def infer(self, *args: Any, regions: Any = ()) -> Any:
        *xs, trips, _, sizes = args
        (condition_takes, condition), (body_takes, body) = regions
        n, k = self.carried, len(self.grown)
        if len(sizes) != 2 * k + len(self.ragged):
            self.fail(ValueError, f"{2 * k + len(self.ragged)} sizes of what grows", sizes)
        now = self.resized(xs, sizes[:k])
        self.takes("arguments of the condition", now, condition_takes)
        self.takes("arguments of the body", now, body_takes)
        if len(condition) != 1 or not is_flag(condition[0]):
            self.fail(TypeError, "a bool with one element from the condition", list(condition))
        self.takes("carried values of the body", now[:n], self.resized(body[:n], sizes[:k]))
        stacks = list(self.stacks(trips, body[n:]))
        for i, size in zip(self.ragged, sizes[2 * k :], strict=True):
            stacks[i] = Meta((size,), stacks[i].dtype)
        return (*self.resized(xs[:n], sizes[k : 2 * k]), Meta((), dt.int64), *stacks)

    def resized(self, metas: Any, sizes: Any) -> list[Any]:
        """Carried values, with these sizes where they grow."""
        out = list(metas)
        for i, axis, size in zip(self.grown, self.axes, sizes, strict=True):
            shape = list(out[i].shape)
            shape[axis] = size
            out[i] = Meta(tuple(shape), out[i].dtype, out[i].weak)
        return out


@register
class Scan(Loop):
    """``length`` iterations; each gets the carried values, what the next ``sliced`` operands have at its place along
    their first axis, and the rest of the operands. With ``reverse`` from the last place to the first.

    Results: the carried values at the end, and the stacks, in the order of the places. ``index`` is the place.
    """

    binds = ("index",)
    sliced: int = 0
    reverse: bool = False
    length: int = param("int")
    index: int = param("int", 0)

    def infer(self, *args: Any, regions: Any = ()) -> Any:
        *xs, length, _ = args
        n, m = self.carried, self.carried + self.sliced
        for x in xs[n:m]:
            if not x.shape or not dim.eq(x.shape[0], length):
                self.fail(ValueError, f"operands with {length} slices along their first axis", x)
        ((takes, body),) = regions
        self.takes("arguments of the body", [*xs[:n], *(Meta(x.shape[1:], x.dtype) for x in xs[n:m]), *xs[m:]], takes)
        self.takes("carried values of the body", xs[:n], body[:n])
        return (*xs[:n], *self.stacks(length, body[n:]))
