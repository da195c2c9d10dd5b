"""``DrrPatternContext``: patterns of operations, and what takes their place, as declarations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from paddle._public import public
from paddle.decomposition.register import op_name
from umiak.compiler.passes.patterns import Call, Match, Pattern, Variable
from umiak.core.dtype import convert
from umiak.ir.program import Value
from umiak.ir.tracer import symbolic
from umiak.util.errors import op_error


@public("paddle.pir")
class DrrPatternContext:
    """A pattern of operations, and the operations that replace it, for ``PassManager.register_pass``.

    Names of ops and of their attributes are those that programs here print, with or without ``pd_op.`` before an op's.
    One operation of the source makes what the others lead to: its results stay, and have the same names in the result
    pattern. What the others make must be read inside of the pattern alone. Operands stand in the order in which they
    were recorded; one may be a number.

    Example:
        >>> import numpy, paddle
        >>> paddle.enable_static()
        >>> main = paddle.static.Program()
        >>> with paddle.static.program_guard(main):
        ...     y = paddle.nn.functional.relu(paddle.exp(paddle.static.data("x", [2])))
        >>> context = paddle.pir.DrrPatternContext()
        >>> source = context.SourcePattern()
        >>> source.Op("pd_op.exp")([source.Tensor("x")], [source.Tensor("e")])
        >>> source.Op("pd_op.relu")([source.Tensor("e")], [source.Tensor("y")])
        >>> result = source.ResultPattern()
        >>> result.Op("pd_op.exp")([result.Tensor("x")], [result.Tensor("y")])
        >>> passes = paddle.pir.PassManager()
        >>> passes.register_pass("relu_of_exp_pass", context)
        >>> passes.run(main)
        >>> [op.name() for op in main.global_block().ops]
        ['exp']
        >>> paddle.disable_static()
    """

    def __init__(self) -> None:
        self._source: SourcePattern | None = None

    def SourcePattern(self) -> SourcePattern:
        """Begin the pattern that is looked for.

        Returns:
            A SourcePattern, whose ``Op`` and ``Tensor`` declare operations and values.

        Raises:
            ValueError: the context has one.
        """
        if self._source is not None:
            raise op_error(ValueError, "SourcePattern", "one source pattern for each context", "a second one")
        self._source = SourcePattern()
        return self._source

    def _pattern(self) -> Pattern:
        source = self._source
        if source is None or source._result is None:
            missing = "no source pattern" if source is None else "no result pattern"
            raise op_error(ValueError, "register_pass", "a source pattern and a result pattern", missing)
        constraints = [lambda m, f=f: f(MatchContext(m)) for f in source._constraints]
        finished = [lambda m, f=f: f(MatchContext(m)) for f in source._finished]
        return Pattern(source._calls, source._result._calls, constraints, finished)


class PatternTensor:
    """A value of a pattern, by name; None: an operand or a result that is absent."""

    def __init__(self, name: str | None) -> None:
        self.name = name


class PatternOp:
    """An operation of a pattern, which is declared when it is called with its operands and results."""

    def __init__(self, calls: list[Call], name: str, attributes: Mapping[str, Any]) -> None:
        self._calls, self._name, self._attributes = calls, name, dict(attributes)

    def __call__(self, inputs: Sequence[PatternTensor], outputs: Sequence[PatternTensor]) -> None:
        """Declare the operation.

        Args:
            inputs: its operands.
            outputs: its results.

        Raises:
            TypeError: something else than tensors of a pattern.
        """
        for x in (*inputs, *outputs):
            if not isinstance(x, PatternTensor):
                raise op_error(TypeError, "Op", "tensors of a pattern", type(x).__name__)
        results = tuple(x.name if x.name is not None else f"{self._name} {len(self._calls)}.{i}"
                        for i, x in enumerate(outputs))  # fmt: skip
        self._calls.append(Call(self._name, self._attributes, tuple(x.name for x in inputs), results))


class _Declarations:
    def __init__(self) -> None:
        self._calls: list[Call] = []

    def Op(self, op_type: str, attributes: Mapping[str, Any] | None = None) -> PatternOp:
        """Declare an operation, which is called with lists of its operands and results.

        Args:
            op_type: the name of the op.
            attributes: those that matter, by name: values, ``Attr`` of the source, ``ComputeAttr``.

        Returns:
            A function of two lists.
        """
        return PatternOp(self._calls, op_name(op_type), attributes or {})

    def Tensor(self, name: str) -> PatternTensor:
        """Name a value.

        Args:
            name: the name; equal names are one value.
        """
        return PatternTensor(name)

    def InputNoneTensor(self) -> PatternTensor:
        """Stand for an operand that is absent."""
        return PatternTensor(None)

    def OutputNoneTensor(self) -> PatternTensor:
        """Stand for a result that is not used."""
        return PatternTensor(None)


class SourcePattern(_Declarations):
    """Operations that are looked for."""

    def __init__(self) -> None:
        super().__init__()
        self._result: ResultPattern | None = None
        self._constraints: list[Callable[[MatchContext], Any]] = []
        self._finished: list[Callable[[MatchContext], Any]] = []

    def Attr(self, attr_name: str) -> Variable:
        """Stand for an attribute of any value, which matches have by this name.

        Args:
            attr_name: the name.
        """
        return Variable(attr_name)

    def AddConstraint(self, function: Callable[[MatchContext], bool]) -> None:
        """Replace only what a function says True of.

        Args:
            function: gets the match.
        """
        self._constraints.append(function)

    def AddPostProcess(self, function: Callable[[MatchContext], Any]) -> None:
        """Call a function after every replacement.

        Args:
            function: gets the match.
        """
        self._finished.append(function)

    def ResultPattern(self) -> ResultPattern:
        """Begin the operations that take the place of the pattern.

        Returns:
            A ResultPattern.

        Raises:
            ValueError: the source has one.
        """
        if self._result is not None:
            raise op_error(ValueError, "ResultPattern", "one result pattern for each source", "a second one")
        self._result = ResultPattern()
        return self._result


class ResultPattern(_Declarations):
    """Operations that take the place of a source pattern."""

    def ComputeAttr(self, py_func: Callable[[MatchContext], Any]) -> Callable[[Match], Any]:
        """Compute an attribute from each match.

        Args:
            py_func: gets the match, returns the attribute.
        """
        return lambda match: py_func(MatchContext(match))

    def DataTypeAttr(self, value: Any) -> Any:
        """Give a dtype as an attribute.

        Args:
            value: the dtype, or its name.
        """
        return convert(value)


def _plain(kind: Callable[[Any], Any], what: str) -> Any:
    def attribute(self: ResultPattern, value: Any) -> Any:
        return kind(value)

    attribute.__doc__ = f"Give {what} as an attribute.\n\nArgs:\n    value: of it."
    return attribute


def _read(what: str) -> Any:
    def attribute(self: MatchContext, value_name: str) -> Any:
        return self._attribute(value_name)

    attribute.__doc__ = f"Return an attribute that is {what}.\n\nArgs:\n    value_name: what the source calls it."
    return attribute


class MatchContext:
    """A match: values and attributes by the names that the source pattern gives them."""

    def __init__(self, match: Match) -> None:
        self._match = match

    def Tensor(self, tensor_name: str) -> Any:
        """Return a value: a variable, which has a shape and a dtype, or a number.

        Args:
            tensor_name: what the source calls it.

        Raises:
            KeyError: the source has no such name.
        """
        x = self._named(self._match.values, tensor_name)
        return symbolic(x) if type(x) is Value else x

    def _attribute(self, name: str) -> Any:
        x = self._named(self._match.attributes, name)
        return list(x) if isinstance(x, tuple) else x

    @staticmethod
    def _named(where: dict[str, Any], name: str) -> Any:
        if name not in where:
            raise op_error(KeyError, "match", f"one of the names {', '.join(where) or '(none)'}", repr(name))
        return where[name]


def _ints(value: Any) -> tuple[int, ...]:
    return tuple(map(int, value))


def _floats(value: Any) -> tuple[float, ...]:
    return tuple(map(float, value))


for _kind, _make, _what in (
    ("Bool", bool, "a bool"),
    ("Int32", int, "an int"),
    ("Int64", int, "an int"),
    ("Float32", float, "a float"),
    ("Double", float, "a float"),
    ("Str", str, "a text"),
    ("DataLayout", str, "a layout"),
    ("VectorInt32", _ints, "a list of ints"),
    ("VectorInt64", _ints, "a list of ints"),
    ("VectorFloat32", _floats, "a list of floats"),
):
    setattr(ResultPattern, f"{_kind}Attr", _plain(_make, _what))
    if _kind != "DataLayout":
        setattr(MatchContext, f"{_kind}Attr", _read(_what))
MatchContext.DataTypeAttr = _read("a dtype")
