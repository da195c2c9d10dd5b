"""Branches and loops over tensors: in a captured function operations of the program, otherwise plain Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from paddle._public import public
from paddle.static.nn._arrays import Arrays, again
from paddle.tensor._tensor_array import TensorArray
from umiak import ops as F
from umiak.core.context import current
from umiak.core.tensor import Tensor
from umiak.runtime import regions
from umiak.util import pytree
from umiak.util.arguments import several
from umiak.util.errors import op_error


def _function(op_name: str, arg_name: str, f: Any) -> Callable[..., Any]:
    if f is None:
        return lambda *_: None
    if not callable(f):
        raise op_error(TypeError, op_name, f"{arg_name} that can be called, or None", type(f).__name__)
    return f


def _flag(op_name: str, pred: Any) -> Any:
    if not isinstance(pred, (Tensor, bool)):
        raise op_error(TypeError, op_name, "a bool tensor with one element as condition", type(pred).__name__)
    return pred


def _flat(op_name: str, x: Any, form: list[pytree.Structure]) -> list[Any]:
    """The leaves of a result, whose structure must be that of earlier ones."""
    leaves, structure = pytree.flatten(x)
    if form and structure != form[0]:
        raise op_error(TypeError, op_name, f"results of one structure ({form[0]})", structure)
    form.append(structure)
    return leaves


@public("paddle.static.nn")
def cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    name: str | None = None,
    return_names: Sequence[str] | None = None,
) -> Any:
    """Result of ``true_fn`` where ``pred`` is true, else of ``false_fn``.

    In a captured function both become part of the program, which decides when it runs; each may write to tensors from
    outside. There they must return the same structure, with tensors of one shape and dtype at each place, or numbers.
    Each result is a tensor of its own there: a hook on it sees the gradient of what follows, not of what the function
    itself went on to compute from it.

    Args:
        pred: a bool, or a tensor with one element.
        true_fn: a function without arguments; None: nothing happens, and None is returned.
        false_fn: the same for the other case.
        name: accepted.
        return_names: accepted.

    Returns:
        What the function returned.

    Raises:
        TypeError: a condition or function of another type; in a captured function, results that do not go together.

    Example:
        >>> import paddle
        >>> @paddle.jit.to_static
        ... def clipped(x):
        ...     return paddle.static.nn.cond(x.sum() > 10, lambda: x * 0.1, lambda: x)
        >>> clipped(paddle.full([2], 10.0)).tolist(), clipped(paddle.ones([2])).tolist()
        ([1.0, 1.0], [1.0, 1.0])
    """
    then, other = _function("cond", "a true_fn", true_fn), _function("cond", "a false_fn", false_fn)
    if isinstance(_flag("cond", pred), bool) or not current().trace:
        return then() if pred else other()
    return again(lambda arrays: _traced_cond(pred, then, other, arrays))


def _traced_cond(
    pred: Tensor, then: Callable[[], Any], other: Callable[[], Any], carried: Sequence[TensorArray]
) -> Any:
    form: list[pytree.Structure] = []
    arrays = Arrays()

    def way(function: Callable[[], Any]) -> Callable[[], list[Any]]:
        def run() -> list[Any]:
            with arrays.apart():
                leaves = _flat("cond", function(), form)
                arrays.require(carried)
                return [*leaves, *(a.data for a in carried)]

        return run

    results = regions.cond(pred, way(then), way(other))
    n = form[0].count
    for a, data in zip(carried, results[n:], strict=True):
        a.data = data
    return form[0].unflatten(results[:n])


@public("paddle.static.nn")
def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Sequence[Any],
    is_test: bool = False,
    name: str | None = None,
) -> list[Any]:
    """Apply ``body`` to ``loop_vars`` as long as ``cond`` of them holds, and return what they are then.

    In a captured function the loop is one operation, whose number of iterations data decide. There tensors keep their
    shape and dtype from iteration to iteration, and numbers that the body changes become tensors. In a static program
    shapes may change, as of what each iteration appends to, and arrays (:func:`paddle.tensor.create_array`) may be
    among the values, or be written to in the body; their tensors have one shape.

    Args:
        cond: takes the values, and returns a bool tensor with one element.
        body: takes the values, and returns as many, a list or tuple of them or the only one.
        loop_vars: a list or tuple of tensors, or structures of them, at least one.
        is_test: accepted.
        name: accepted.

    Returns:
        A list of the values.

    Raises:
        TypeError: something that cannot be called, or values that are no list or tuple.
        ValueError: no values, or another number of them from the body.

    Example:
        >>> import paddle
        >>> i, total = paddle.zeros([1], "int64"), paddle.zeros([1])
        >>> n, total = paddle.static.nn.while_loop(lambda i, t: i < 4, lambda i, t: [i + 1, t + 2], [i, total])
        >>> int(n), float(total)
        (4, 8.0)
    """
    for arg_name, f in (("a cond", cond), ("a body", body)):
        if not callable(f):
            raise op_error(TypeError, "while_loop", f"{arg_name} that can be called", type(f).__name__)
    if not isinstance(loop_vars, (list, tuple)):
        raise op_error(TypeError, "while_loop", "loop_vars that are a list or tuple", type(loop_vars).__name__)
    if not loop_vars:
        raise op_error(ValueError, "while_loop", "at least one of loop_vars", "none")

    def values(result: Any) -> list[Any]:
        result = list(result) if isinstance(result, (list, tuple)) else [result]
        if len(result) != len(loop_vars):
            raise op_error(ValueError, "while_loop", f"{len(loop_vars)} values from the body", len(result))
        return result

    now = list(loop_vars)
    if current().trace:
        return again(lambda arrays: _traced_loop(cond, lambda *xs: values(body(*xs)), now, arrays))
    while _flag("while_loop", cond(*now)):
        now = values(body(*now))
    return now


def _traced_loop(
    cond: Callable[..., Any], body: Callable[..., Any], loop_vars: list[Any], carried: Sequence[TensorArray]
) -> list[Any]:
    form: list[pytree.Structure] = []
    leaves = _flat("while_loop", loop_vars, form)
    n = len(leaves)
    arrays = Arrays()

    def given(xs: list[Any]) -> Any:
        """The values of an iteration; arrays hold what it was given of them."""
        for a, data in zip(carried, xs[n:], strict=True):
            a.data = data
        return form[0].unflatten(xs[:n])

    def test(xs: list[Any]) -> Any:
        with arrays.apart():
            return _flag("while_loop", cond(*given(xs)))

    def step(xs: list[Any]) -> list[Any]:
        with arrays.apart():
            after = _flat("while_loop", body(*given(xs)), form)
            for i, x in enumerate(leaves):
                if isinstance(x, TensorArray):  # it stays the array that it is
                    x.restore(_array(after[i]).state())
                    after[i] = x
            arrays.require(carried)
            return [*after, *(a.data for a in carried)]

    results = regions.while_loop(test, step, [*leaves, *(a.data for a in carried)])
    for a, data in zip(carried, results[n:], strict=True):
        a.data = data
    return form[0].unflatten(results[:n])


def _array(x: Any) -> TensorArray:
    if not isinstance(x, TensorArray):
        raise op_error(TypeError, "while_loop", "an array again for one of loop_vars", type(x).__name__)
    return x


@public("paddle.static.nn")
def case(pred_fn_pairs: Sequence[tuple[Any, Callable[[], Any]]], default: Any = None, name: str | None = None) -> Any:
    """Result of the function beside the first true condition; where none is, of ``default``.

    Args:
        pred_fn_pairs: a list or tuple of tuples of a bool tensor with one element and a function without arguments.
        default: a function without arguments; None: the last of the others.
        name: accepted.

    Returns:
        What the function returned.

    Raises:
        TypeError: pairs of another type.
        ValueError: no pairs.

    Example:
        >>> import paddle
        >>> x = paddle.ones([1])
        >>> paddle.static.nn.case([(x < 0, lambda: -x), (x < 2, lambda: x * 3)], default=lambda: x).tolist()
        [3.0]
    """
    if not isinstance(pred_fn_pairs, (list, tuple)):
        raise op_error(TypeError, "case", "a list or tuple of pairs", type(pred_fn_pairs).__name__)
    if not pred_fn_pairs:
        raise op_error(ValueError, "case", "at least one pair", "none")
    for pair in pred_fn_pairs:
        if not isinstance(pair, tuple) or len(pair) != 2 or not callable(pair[1]):
            raise op_error(TypeError, "case", "tuples of a condition and a function", repr(pair))
        _flag("case", pair[0])
    pairs = list(pred_fn_pairs)
    last = pairs.pop()[1] if default is None else _function("case", "a default", default)
    return _first(pairs, last)


def _first(pairs: Sequence[tuple[Any, Callable[[], Any]]], last: Callable[[], Any]) -> Any:
    if not pairs:
        return last()
    (pred, function), *rest = pairs
    return cond(pred, function, lambda: _first(rest, last))


@public("paddle.static.nn")
def switch_case(branch_index: Any, branch_fns: Any, default: Any = None, name: str | None = None) -> Any:
    """Result of the function of the number ``branch_index``; where there is none, of ``default``.

    Args:
        branch_index: a tensor of uint8, int32 or int64 with one element.
        branch_fns: a dict of functions without arguments by number, a list of pairs of these, or a list of functions,
            whose numbers are their places.
        default: a function without arguments; None: that of the largest number.
        name: accepted.

    Returns:
        What the function returned.

    Raises:
        TypeError: an index or functions of another type.
        ValueError: no functions, or two of one number.

    Example:
        >>> import paddle
        >>> x = paddle.ones([1])
        >>> fns = {1: lambda: x + 1, 2: lambda: x + 2}
        >>> paddle.static.nn.switch_case(paddle.full([1], 2, "int64"), fns).tolist()
        [3.0]
    """
    if not isinstance(branch_index, Tensor) or branch_index.dtype.name not in ("uint8", "int32", "int64"):
        got = branch_index.dtype.name if isinstance(branch_index, Tensor) else type(branch_index).__name__
        raise op_error(TypeError, "switch_case", "an index of uint8, int32 or int64", got)
    if not isinstance(branch_fns, (list, tuple, dict)):
        raise op_error(TypeError, "switch_case", "branch_fns in a dict, list or tuple", type(branch_fns).__name__)
    branches: dict[int, Callable[[], Any]] = {}
    for i, entry in enumerate(branch_fns.items() if isinstance(branch_fns, dict) else branch_fns):
        if isinstance(entry, tuple) and len(entry) != 2:
            raise op_error(TypeError, "switch_case", "pairs of an int and a function", f"a tuple of {len(entry)}")
        key, function = entry if isinstance(entry, tuple) else (i, entry)
        if not isinstance(key, int) or not callable(function):
            raise op_error(TypeError, "switch_case", "functions, or pairs of an int and a function", repr(entry))
        if key in branches:
            raise op_error(ValueError, "switch_case", "each number once", key)
        branches[key] = function
    if not branches:
        raise op_error(ValueError, "switch_case", "at least one function", "none")
    keys = sorted(branches)
    last = branches[keys.pop()] if default is None else _function("switch_case", "a default", default)
    return _first([(F.eq(branch_index, key), branches[key]) for key in keys], last)


def Assert(cond: Tensor, data: Sequence[Tensor] | None = None, summarize: int = 20, name: str | None = None) -> None:
    """Raise an error when the program comes here and ``cond`` is false; in dynamic mode at once.

    Args:
        cond: a bool tensor with one element.
        data: tensors that are printed before, a list or tuple; None: nothing.
        summarize: how many elements of each are printed; a negative number for all.
        name: what the error calls it; None: no name.

    Raises:
        TypeError: a condition of another type, or data that are no tensors.
        ValueError: the condition is false.

    Example:
        >>> import paddle
        >>> paddle.static.nn.control_flow.Assert(paddle.to_tensor(False), name="positive")
        Traceback (most recent call last):
        ValueError: [Assert] requires a condition that is true, got False (positive)
    """
    if not isinstance(cond, Tensor) or cond.dtype.name != "bool" or cond._count != 1:
        got = f"{cond.dtype.name}{list(cond.shape)}" if isinstance(cond, Tensor) else type(cond).__name__
        raise op_error(TypeError, "Assert", "a bool tensor with one element as condition", got)
    xs = several("Assert", "a list of tensors as data", () if data is None else data, Tensor)
    if xs:
        shown = [F.reshape(x, shape=(x.size,))[:summarize] if summarize >= 0 else x for x in xs]
        pieces = ("[Assert] data: ", *[" "] * (len(xs) - 1), "\n")
        _where_false(cond, lambda: F.write_text(shown, pieces=pieces, stops=(True,) * len(xs)))
    message = "[Assert] requires a condition that is true, got False" + (f" ({name})" if name else "")
    F.require(cond, kind="ValueError", args=(message,))


def _where_false(flag: Tensor, function: Callable[[], Any]) -> None:
    def run() -> None:
        function()

    cond(flag, None, run)
