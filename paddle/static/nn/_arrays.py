"""Arrays of tensors in branches and loops: what these change of them becomes part of their results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from typing import Any

from paddle.tensor._tensor_array import TensorArray, arrays_of
from umiak.core.tensor import Tensor
from umiak.ir.meta import Meta
from umiak.ir.scope import symbols_of
from umiak.ir.tracer import current
from umiak.runtime import regions


class Changed(Exception):
    """A branch or loop was seen to change arrays, of items of these types: it is traced again with them."""

    def __init__(self, those: Sequence[tuple[TensorArray, Meta]]) -> None:
        super().__init__()
        self.those = those


def item_type(state: Sequence[Any], known: AbstractSet[Any]) -> Meta | None:
    """The type of the tensors in an array that is in such a state; sizes that are not known outside are 0."""
    tensors = [x for x in state if isinstance(x, Tensor)]
    if not tensors:
        return None
    x = tensors[-1]
    shape = tuple(x.shape)[len(state) - len(tensors) :]  # of what is stacked without the first dim
    return Meta(tuple(n if symbols_of(n).keys() <= known else 0 for n in shape), x.dtype)


class Arrays:
    """The arrays that there are where a branch or loop begins, and what they hold."""

    def __init__(self) -> None:
        self.before = [(a, a.state()) for a in arrays_of()]
        self.known = set(current().scope.symbols)

    def restore(self) -> None:
        """Have all hold what they held."""
        for a, state in self.before:
            a.restore(state)

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Undo what is done inside."""
        try:
            yield
        finally:
            self.restore()

    def changed(self) -> list[TensorArray]:
        """The arrays that hold something else now."""
        out = []
        for a, state in self.before:
            now = a.state()
            if len(now) != len(state) or any(x is not y for x, y in zip(now, state, strict=True)):
                out.append(a)
        return out

    def require(self, carried: Sequence[TensorArray]) -> None:
        """Raise Changed where others than those that are ``carried`` have changed."""
        states = {id(a): state for a, state in self.before}
        new = []
        for a in self.changed():
            if not any(a is x for x in carried):
                like = item_type(a.state(), self.known) or item_type(states[id(a)], self.known)
                assert like is not None, "an array that has changed without tensors"
                new.append((a, like))
        if new:
            raise Changed(new)


def again(call: Callable[[list[TensorArray]], Any]) -> Any:
    """``call(arrays)`` with the arrays that a branch or loop was seen to change, which are in one tensor then."""
    carried: list[TensorArray] = []
    drawn = regions.words(current())
    while True:
        try:
            return call(carried)
        except Changed as changed:
            regions.set_words(current(), drawn)
            for a, like in changed.those:
                a.be_stacked(like)
                carried.append(a)
