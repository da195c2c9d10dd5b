"""``PassManager``: passes by name, run over a program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from paddle._public import public
from paddle.pir.operation import EXAMINED, Operation
from paddle.pir.patterns import DrrPatternContext
from paddle.static.program import Program, managed, value_in
from paddle.static.scope import Scope
from umiak.compiler.passes import manager
from umiak.compiler.passes.patterns import each_operation
from umiak.compiler.passes.registry import PASSES
from umiak.core.tensor import Tensor
from umiak.ir import program as ir
from umiak.runtime.program_tracer import ProgramTracer
from umiak.runtime.rewriting import rewrite
from umiak.util.errors import op_error

_SCOPE = "__param_scope__"  # the reference's name of the option


@public("paddle.pir")
class PassManager:
    """Passes over programs, in the order in which they were added.

    The passes are in ``docs/design/passes.md``. ``FLAGS_verify_passes`` has programs verified after every one.

    Args:
        opt_level: accepted: every pass that was added is run.

    Example:
        >>> import numpy, paddle
        >>> paddle.enable_static()
        >>> main = paddle.static.Program()
        >>> with paddle.static.program_guard(main):
        ...     x = paddle.static.data("x", [None, 4])
        ...     y = x / paddle.sqrt((x * x).mean(-1, keepdim=True) + 1e-6)
        >>> passes = paddle.pir.PassManager()
        >>> passes.add_pass("add_norm_fuse_pass")
        >>> passes.run(main)
        >>> [op.name() for op in main.global_block().ops]
        ['rms_norm']
        >>> paddle.disable_static()
    """

    def __init__(self, opt_level: int = 2) -> None:
        self._manager = manager.PassManager()

    def add_pass(self, name: str, attrs: Mapping[str, Any] | None = None) -> None:
        """Add a pass to the end.

        Args:
            name: of the pass.
            attrs: its options, by name. ``constant_folding_pass``, ``auto_mixed_precision_pass`` and
                ``delete_weight_dequant_linear_op_pass`` take a scope as ``__param_scope__``: parameters have the values
                there for ever then.

        Raises:
            ValueError: there is no such pass, or it has no such option.
        """
        options = dict(attrs or {})
        scope = options.pop(_SCOPE, options.pop("scope", None))
        if scope is not None:
            options["scope"] = _values_in(scope)
        self._manager.add_pass(name, options)

    def register_pass(
        self, name: str, rule: DrrPatternContext | Callable[[Operation], Callable[[], Any] | None]
    ) -> None:
        """Add a pass of one's own to the end. The program is verified after it.

        Args:
            name: of the pass, under which it is printed and can be deleted.
            rule: a pattern with what takes its place; or a function that is asked about each operation, in order, and
                returns None or a function without parameters. What this one computes with ``paddle`` takes the
                operation's place: tensors of the same shapes and dtypes.

        Raises:
            ValueError: a pass has the name; the pattern is not complete, or names what is not there.
            TypeError: neither a pattern nor a function.

        Example:
            >>> import paddle
            >>> def halves(op):
            ...     if op.name() == "div" and op.operand_source(1) == 2.0:
            ...         return lambda: op.operand_source(0) * 0.5
            >>> passes = paddle.pir.PassManager()
            >>> passes.register_pass("halves_pass", halves)
            >>> passes.passes()
            ['halves_pass']
        """
        if isinstance(rule, DrrPatternContext):
            self._manager.register_pass(name, rule._pattern().run)
        elif callable(rule):
            self._manager.register_pass(name, _asked(rule, name))
        else:
            raise op_error(TypeError, "register_pass", "a DrrPatternContext or a function", type(rule).__name__)

    def add_inference_passes(self, scope: Scope | None = None) -> None:
        """Add the passes for programs that only compute results.

        Args:
            scope: has the values of parameters, which are constants from then on; None: they may change.
        """
        for name in manager.INFERENCE:
            knows = scope is not None and "scope" in PASSES[name].options
            self.add_pass(name, {_SCOPE: scope} if knows else None)

    def delete_pass(self, name: str) -> None:
        """Take a pass out of the list.

        Args:
            name: of the pass.

        Raises:
            ValueError: it is not in the list.
        """
        self._manager.delete_pass(name)

    def passes(self) -> list[str]:
        """Return the names of the passes, in order.

        Returns:
            A list of str.
        """
        return self._manager.passes()

    def clear(self) -> None:
        """Take out all passes."""
        self._manager.steps.clear()

    def empty(self) -> bool:
        """Say whether there is no pass.

        Returns:
            A bool.
        """
        return not self._manager.steps

    def enable_ir_printing(self) -> None:
        """Print the program before and after every pass."""
        self._manager.printing = True

    def enable_print_statistics(self) -> None:
        """Print after every pass how many operations there were, and how many there are."""
        self._manager.statistics = True

    def run(self, program: Any, fetch_list: Sequence[Any] | None = None) -> None:
        """Run the passes over a program, which is changed.

        Args:
            program: a static program, or one of the engine's.
            fetch_list: variables of a static program that can be fetched afterwards; None: those that no operation
                reads, and those that have a name. Others may be left out, and are refused when they are used.

        Raises:
            TypeError: something that is no program.
            ValueError: a variable of another program.
            RuntimeError: the program is being recorded in a branch or loop body.
        """
        if isinstance(program, ir.Program):
            self._manager.run(program)
            return
        if not isinstance(program, Program):
            raise op_error(TypeError, "PassManager.run", "a Program", type(program).__name__)
        tracer = program._tracer
        wanted = None if fetch_list is None else [_value_of(tracer, x) for x in fetch_list]
        rewrite(tracer, self._manager.run, wanted)
        program._runs.clear()


def _asked(rule: Callable[[Operation], Callable[[], Any] | None], name: str) -> Callable[[ir.Program], None]:
    """The pass that asks ``rule`` about every operation of a program."""
    exchange = each_operation(lambda o: rule(Operation(o, None)), name)

    def run(program: ir.Program) -> None:
        before = EXAMINED.set(program)
        try:
            exchange(program)
        finally:
            EXAMINED.reset(before)

    return run


def _value_of(tracer: ProgramTracer, x: Any) -> ir.Value:
    value = value_in(tracer, x) if isinstance(x, Tensor) else None
    if value is None:
        raise op_error(ValueError, "PassManager.run", "variables of the program in fetch_list", repr(x))
    return value


def _values_in(scope: Any) -> Any:
    if not isinstance(scope, Scope):
        raise op_error(ValueError, "add_pass", f"a Scope as {_SCOPE}", type(scope).__name__)
    return lambda x: scope._place_of(x, make=False) if managed(x) else x
