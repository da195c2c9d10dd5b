"""Packed sequences (LoD): where those begin that a value of an older program has one behind the other.

Files do not have offsets as values. Here each level of them is a value of its own, which operators over sequences are
given. Those of an input ``x`` are inputs of the module, ``x@LOD@0``, where something reads them.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from paddle.static.formats.graph import DATA, Attribute, Operation, Result, TensorType, offsets_name
from umiak.ir.serialise import FormatError

if TYPE_CHECKING:
    from paddle.static.formats.legacy.program import Operator
    from paddle.static.formats.legacy.translate import Translator

OFFSETS = TensorType("int64", (-1,))


_BY_ROW = frozenset(
    """
    assign brelu cast concat cumsum dropout elementwise_add elementwise_div elementwise_max elementwise_min
    elementwise_mul elementwise_pow elementwise_sub elu equal exp fc fill_any_like fill_zeros_like floor gelu
    hard_sigmoid hard_swish hash label_smooth layer_norm leaky_relu less_than log log_softmax logical_not
    lookup_table lookup_table_v2 mul pow reciprocal relu relu6 round rsqrt scale sigmoid sign softmax softplus
    softsign sqrt square stanh sum swish tanh top_k top_k_v2
""".split()
)

_MAIN = "X", "Ids", "Input"  # slots of the operand that rows of a result belong to


class _Fed(NamedTuple):
    """Offsets that an input has: its name, its value, and the number of levels."""

    name: str
    value: int
    depth: int


class Packed:
    """Offsets of values, by number; the innermost level is the last one."""

    def __init__(self, translator: Translator) -> None:
        self._translator = translator
        self._outermost = translator.block
        self._known: dict[int, tuple[int, ...] | _Fed | None] = {}  # None: of other levels on other ways
        self._unwritten: set[int] = set()  # lists of tensors that nothing was written to
        self._made: dict[str, tuple[int, ...]] = {}  # of inputs

    def feed(self, n: int, name: str, depth: int) -> None:
        """Say that an input has sequences."""
        if depth > 2:
            raise FormatError(f"at most 2 levels of sequences in {name!r} are required, got {depth}")
        if depth > 0:
            self._known[n] = _Fed(name, n, depth)

    def give(self, n: int, *offsets: int) -> None:
        """Say which sequences a value has: none where nothing is given."""
        self._known[n] = offsets

    def inputs(self) -> frozenset[str]:
        """The names of inputs that may have sequences."""
        return frozenset(found.name for found in self._known.values() if isinstance(found, _Fed))

    def mix(self, n: int) -> None:
        """Say that a value has sequences of other levels where a program went another way: nobody may read them."""
        self._known[n] = None

    def spread(self, numbers: Sequence[int], offsets: Sequence[int], levels: Sequence[tuple[int, ...] | None]) -> None:
        """Give values offsets, to each as many as its ``levels`` have; None as `mix`."""
        left = iter(offsets)
        for n, of in zip(numbers, levels, strict=True):
            if of is None:
                self.mix(n)
            else:
                self.give(n, *itertools.islice(left, len(of)))

    def has(self, n: int) -> bool:
        """Has a value sequences?"""
        return self._known.get(n, ()) != ()

    def carried(self, n: int) -> tuple[int, ...] | None:
        """Offsets of a value that goes around a loop or out of a branch; None where these differ on other ways."""
        return None if self._known.get(n, ()) is None else self.of(n)

    # Lists of tensors have a list of offsets for each level of their elements.

    def unwritten(self, n: int) -> bool:
        """Is it a list that nothing was written to, whose elements may come to have any levels?"""
        return n in self._unwritten

    def begin(self, n: int) -> None:
        """Say that a value is a list that nothing was written to."""
        self._unwritten.add(n)

    def empty_lists(self, count: int) -> tuple[int, ...]:
        """Lists for so many levels of elements."""
        t, dtype = self._translator, Attribute("dtype", OFFSETS.dtype)
        return tuple(t.emit("pd_op.create_array", [], {"dtype": dtype}, [(OFFSETS,)])[0] for _ in range(count))

    def written(self, before: int, x: int, i: int, made: int) -> None:
        """Give a list the offsets of what was written to it, beside those of the list before."""
        levels, of_list = self.carried(x), self.carried(before)
        if levels and of_list == () and self.unwritten(before):
            of_list = self.empty_lists(len(levels))
        if levels is None or of_list is None or len(levels) != len(of_list):
            self.mix(made)
            return
        t = self._translator
        pairs = zip(of_list, levels, strict=True)
        self.give(made, *(t.emit("pd_op.array_write_", [a, y, i], {}, [(OFFSETS,)])[0] for a, y in pairs))

    def read(self, of: int, i: int, made: int) -> None:
        """Give an element of a list its offsets."""
        levels = self.carried(of)
        if levels is None:
            self.mix(made)
            return
        t = self._translator
        self.give(made, *(t.emit("pd_op.array_read", [a, i], {}, [OFFSETS])[0] for a in levels))

    def made(self, n: int) -> tuple[int, ...]:
        """Offsets of a value as far as the module has them."""
        found = self._known.get(n, ())
        return self._made.get(found.name, ()) if isinstance(found, _Fed) else found or ()

    def of(self, n: int) -> tuple[int, ...]:
        """Offsets of a value: the numbers of theirs."""
        found = self._known.get(n, ())
        if found is None:
            raise FormatError("sequences of as many levels are required on each way that a program may go, got others")
        if not isinstance(found, _Fed):
            return found
        if found.name not in self._made:
            self._made[found.name] = self._inputs(found)
        return self._made[found.name]

    def innermost(self, n: int, slot: str) -> int:
        """Offsets of the sequences that rows of a value are in."""
        found = self.of(n)
        if not found:
            raise FormatError(f"sequences in its input {slot!r} are required, got rows without offsets")
        return found[-1]

    def share(self, x: int, y: int) -> None:
        """Let a value have the sequences of another one."""
        if x in self._known:
            self._known[y] = self._known[x]

    def follow(self, o: Operator) -> None:
        """Let results that were given none have the sequences of an operand, the first that has any: those that the
        file declares as sequences, and of some operators all, since it does not where data decide about the operand.
        """
        t = self._translator
        first = next((n for names in o.inputs.values() for n in self._tensors(names) if self.has(n)), None)
        if first is None:
            return
        main = next((n for slot in _MAIN for n in self._tensors(o.inputs.get(slot, ())[:1])), first)
        for name in (n for names in o.outputs.values() for n in names):
            n, v = t.values.get(name), t.variable(name)
            if not isinstance(n, int) or n in self._known:
                continue
            if v is not None and v.levels > 0:
                self.share(first, n)
            elif o.type in _BY_ROW:
                self.share(main, n)

    def _tensors(self, names: Sequence[str]) -> list[int]:
        """The values of variables that are tensors."""
        t = self._translator
        found = [t.values.get(n) for n in names]
        return [n for n in found if isinstance(n, int) and isinstance(t.type(n), TensorType | None)]

    def _inputs(self, fed: _Fed) -> tuple[int, ...]:
        """Offsets of an input as inputs of the module, which have to fit what they divide."""
        given = [self._input(offsets_name(fed.name, i)) for i in range(fed.depth)]
        divided, checked = fed.value, []
        for i, n in reversed(list(enumerate(given))):
            name = Attribute("str", offsets_name(fed.name, i))
            attributes = {"label": name, "of_rows": Attribute("bool", i == fed.depth - 1)}
            checked.append(self._outermost_operation("pd_op.sequence_checked_offsets", [n, divided], attributes))
            divided = n
        return tuple(reversed(checked))

    def _input(self, name: str) -> int:
        attributes = {
            "name": Attribute("str", name), "shape": Attribute("intarray", OFFSETS.shape),
            "dtype": Attribute("dtype", OFFSETS.dtype), "place": Attribute("place", (0, 0, "")),
        }  # fmt: skip
        return self._outermost_operation(DATA, [], attributes)

    def _outermost_operation(self, name: str, operands: list[int | None], attributes: dict[str, Attribute]) -> int:
        """Insert an operation with offsets as its result behind the module's inputs."""
        n = self._translator.new(OFFSETS)
        traits = {"stop_gradient": [True]}
        made = Operation(name, operands, attributes, [Result(n, OFFSETS)], traits=traits)
        operations = self._outermost.operations
        last = max((i for i, o in enumerate(operations) if o.name == DATA), default=-1)
        operations.insert(last + 1, made)
        self._translator.makers[n] = made
        return n
