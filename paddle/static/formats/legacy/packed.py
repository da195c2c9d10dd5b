"""Packed sequences (LoD): where those begin that a value of an older program has one behind the other.

Files do not have offsets as values. Here each level of them is a value of its own, which operators over sequences are
given. Those of an input ``x`` are inputs of the module, ``x@LOD@0``, where something reads them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from paddle.static.formats.graph import DATA, Attribute, Operation, Result, TensorType, offsets_name
from umiak.ir.serialise import FormatError

if TYPE_CHECKING:
    from paddle.static.formats.legacy.program import Operator
    from paddle.static.formats.legacy.translate import Translator

OFFSETS = TensorType("int64", (-1,))


_BY_ROW = frozenset(
    """
    assign cast concat dropout elementwise_add elementwise_div elementwise_mul elementwise_sub fc lookup_table
    lookup_table_v2 mul relu scale sigmoid softmax tanh
""".split()
)


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
        self._known: dict[int, tuple[int, ...] | _Fed] = {}
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

    def has(self, n: int) -> bool:
        """Has a value sequences?"""
        return bool(self._known.get(n))

    def made(self, n: int) -> tuple[int, ...]:
        """Offsets of a value as far as the module has them."""
        found = self._known.get(n, ())
        return self._made.get(found.name, ()) if isinstance(found, _Fed) else found

    def of(self, n: int) -> tuple[int, ...]:
        """Offsets of a value: the numbers of theirs."""
        found = self._known.get(n, ())
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
        numbers = [t.values.get(n) for names in o.inputs.values() for n in names]
        first = next((n for n in numbers if isinstance(n, int) and self.has(n)), None)
        if first is None:
            return
        for name in (n for names in o.outputs.values() for n in names):
            n, v = t.values.get(name), t.variable(name)
            declared = v is not None and v.levels > 0
            if isinstance(n, int) and n not in self._known and (declared or o.type in _BY_ROW):
                self.share(first, n)

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
