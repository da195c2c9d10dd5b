"""Casts of what a program has recorded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from paddle._public import public
from paddle.amp.auto_cast import _low_dtype
from paddle.framework.parameter import Parameter
from paddle.static.amp.lists import AutoMixedPrecisionLists
from paddle.static.executor import named
from paddle.static.program import Program
from paddle.static.scope import Scope, global_scope
from umiak.core.context import capture_of, no_grad_guard
from umiak.core.dtype import convert
from umiak.ir.program import Operation
from umiak.runtime.program_amp import narrow, parameters_of
from umiak.runtime.program_tracer import ProgramTracer, outside
from umiak.util.errors import op_error


@public("paddle.static.amp")
@contextmanager
def fp16_guard() -> Iterator[None]:
    """Mark what is recorded inside a ``with`` block: of a program of level O2 whose guards count, it alone is cast.

    Yields:
        None: it is used in a ``with`` statement.

    Example:
        >>> import paddle
        >>> paddle.enable_static()
        >>> with paddle.static.program_guard(paddle.static.Program()):
        ...     with paddle.static.amp.fp16_guard():
        ...         y = paddle.static.data("x", [2, 2]) * 2.0
        >>> paddle.disable_static()
    """
    tracer = capture_of()
    if not isinstance(tracer, ProgramTracer):
        yield
        return
    with tracer.guarded():
        yield


def cast(tracer: ProgramTracer, lists: AutoMixedPrecisionLists, level: str, guarded: bool, promote: bool) -> set[str]:
    """Cast what is recorded so far; returns the names of the parameters that are cast."""
    names = lists.black_varnames
    black = {id(v) for n in names if (x := named(tracer, n)) is not None and (v := tracer.find(x)) is not None}

    def leaves(o: Operation) -> bool:
        return (guarded and id(o) not in tracer.narrowed) or any(id(v) in black for v in o.values)

    rest = "allow" if level == "O2" and not promote else "deny" if level == "OD" else "promote"
    low = convert(lists.amp_dtype)
    found = narrow(tracer, low, 2 if level == "O2" else 1, lists._id(rest), leaves)
    return {x.name for x in parameters_of(tracer, found) if isinstance(x, Parameter)}


@public("paddle.static.amp")
def cast_model_to_fp16(
    program: Program,
    amp_lists: AutoMixedPrecisionLists | None = None,
    use_fp16_guard: bool = True,
    dest_type: Any = "float16",
    level: str = "O2",
    use_promote: bool = False,
) -> set[str]:
    """Have a program compute in a narrower type what it has recorded so far.

    Variables keep their types, so that what is fed and fetched does: casts stand between. Branches and loops stay.

    Args:
        program: the program.
        amp_lists: which ops; None: the usual lists.
        use_fp16_guard: cast only what was recorded inside of ``fp16_guard``.
        dest_type: the narrower type, ``"float16"`` or ``"bfloat16"``.
        level: ``"O1"``, ``"O2"`` (ops that are on no list, too) or ``"OD"`` (only those on the white list).
        use_promote: at level O2, compute ops with mixed operands in the wider type.

    Returns:
        The names of the parameters that are cast.

    Raises:
        TypeError: something that is no program.
        ValueError: another type or level.

    Example:
        >>> import numpy, paddle
        >>> paddle.enable_static()
        >>> main, startup = paddle.static.Program(), paddle.static.Program()
        >>> with paddle.static.program_guard(main, startup):
        ...     y = paddle.nn.Linear(2, 1)(paddle.static.data("x", [None, 2]))
        >>> len(paddle.static.amp.cast_model_to_fp16(main, use_fp16_guard=False, dest_type="bfloat16")), y.dtype
        (2, paddle.float32)
        >>> paddle.disable_static()
    """
    if not isinstance(program, Program):
        raise op_error(TypeError, "cast_model_to_fp16", "a Program", type(program).__name__)
    if level not in ("O1", "O2", "OD"):
        raise op_error(ValueError, "cast_model_to_fp16", "level 'O1', 'O2' or 'OD'", repr(level))
    low = _low_dtype("cast_model_to_fp16", dest_type).name
    lists = AutoMixedPrecisionLists(dtype=low) if amp_lists is None else amp_lists
    return cast(program._tracer, lists, level, use_fp16_guard, use_promote)


@public("paddle.static.amp")
def cast_parameters_to_fp16(
    place: Any,
    program: Program,
    scope: Scope | None = None,
    to_fp16_var_names: Iterable[str] | None = None,
    dest_type: Any = "float16",
    rewrite_master_weight: bool = False,
    master_weights: Mapping[str, Any] | None = None,
) -> None:
    """Round the parameters of a program to numbers of a narrower type; they stay float32, as the optimizer needs them.

    Args:
        place: accepted: values stay where they are.
        program: the program.
        scope: where the values are; None: the global scope.
        to_fp16_var_names: names of parameters; None: all of float32.
        dest_type: the narrower type, ``"float16"`` or ``"bfloat16"``.
        rewrite_master_weight: accepted: a parameter is its own wide copy.
        master_weights: accepted.

    Raises:
        TypeError: something that is no program.
        ValueError: another type.

    Example:
        >>> import numpy, paddle
        >>> paddle.enable_static()
        >>> main, startup = paddle.static.Program(), paddle.static.Program()
        >>> with paddle.static.program_guard(main, startup):
        ...     w = paddle.static.create_parameter([1], "float32", name="w")
        >>> main.set_state_dict({"w": numpy.array([1.0001], "float32")})
        >>> paddle.static.amp.cast_parameters_to_fp16(paddle.CPUPlace(), main)
        >>> main.state_dict()["w"]
        array([1.], dtype=float32)
        >>> paddle.disable_static()
    """
    if not isinstance(program, Program):
        raise op_error(TypeError, "cast_parameters_to_fp16", "a Program", type(program).__name__)
    low = _low_dtype("cast_parameters_to_fp16", dest_type)
    names = None if to_fp16_var_names is None else set(to_fp16_var_names)
    scope = global_scope() if scope is None else scope
    for p in program.all_parameters():
        held = scope.find_var(p.name)
        if held is not None and p.dtype.name == "float32" and (names is None or p.name in names):
            with outside(), no_grad_guard():
                rounded = held._tensor.astype(low).astype("float32").numpy()
            held.set(rounded)
