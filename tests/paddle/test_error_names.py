"""Errors name what the user called, and their tracebacks end there."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
import traceback
from pathlib import Path
from types import FunctionType

import numpy as np
import pytest

import paddle
import paddle.nn.functional as f
from paddle.distributed.fleet.utils import recompute
from paddle.incubate.distributed.fleet import recompute_sequential
from umiak.core.direct import Direct
from umiak.util.errors import inside

ROOT = Path(__file__).parents[2]


def error_of(call, *args):
    try:
        call(*args)
    except Exception as error:
        return error
    return None


def bracketed(error):
    found = re.match(r"\[([^\]]+)\]", str(error))
    return found and found[1]


CASES = {
    "embedding": lambda: f.embedding(paddle.to_tensor([9]), paddle.ones([3, 2])),
    "cross_entropy": lambda: f.cross_entropy(paddle.ones([1, 3]), paddle.to_tensor([9])),
    "nll_loss": lambda: f.nll_loss(paddle.ones([1, 3]), paddle.to_tensor([9])),
    "linear": lambda: f.linear(np.ones((2, 2)), paddle.ones([2, 2])),
    "setitem": lambda: paddle.ones([2, 3]).__setitem__(0, paddle.ones([4])),
    "getitem": lambda: paddle.ones([2, 3])[7],
    "reshape": lambda: paddle.ones([6]).reshape([4]),
    "reshape_": lambda: paddle.ones([6]).reshape_([4]),
    "masked_fill": lambda: paddle.masked_fill(paddle.ones([2], "int8"), paddle.ones([2], "bool"), 300),
    "gather": lambda: paddle.gather(paddle.ones([3]), paddle.to_tensor([5])),
    "index_select": lambda: paddle.index_select(paddle.ones([3]), paddle.to_tensor([5])),
    "take_along_axis": lambda: paddle.take_along_axis(paddle.ones([3, 3]), paddle.to_tensor([[5]]), 1),
    "expand": lambda: paddle.expand(paddle.ones([2, 3]), [2, 4]),
    "fill_": lambda: paddle.ones([2], "int8").fill_(300),
    "addmm": lambda: paddle.addmm(paddle.ones([2, 2]), paddle.ones([2, 3]), paddle.ones([2, 2])),
}


# Parameters that are numbers, or sequences of them, given as something else.
NUMBERS = {
    "addmm": lambda x: paddle.addmm(x, x, x, "a"),
    "add_n": lambda x: paddle.add_n(3),
    "diff": lambda x: paddle.diff(x, "a"),
    "fftn": lambda x: paddle.fft.fftn(x, s=3),
    "istft": lambda x: paddle.signal.istft(paddle.signal.stft(x.flatten(), 4), 4, "a"),
    "logit": lambda x: paddle.logit(x, "a"),
    "lstsq": lambda x: paddle.linalg.lstsq(x, x, "a"),
    "matrix_rank": lambda x: paddle.linalg.matrix_rank(x, "a"),
    "multigammaln": lambda x: paddle.multigammaln(x, "a"),
    "nan_to_num": lambda x: paddle.nan_to_num(x, "a"),
    "pinv": lambda x: paddle.linalg.pinv(x, "a"),
    "renorm": lambda x: paddle.renorm(x, 2.0, 0, "a"),
    "round": lambda x: paddle.round(x, "a"),
    "scale": lambda x: paddle.scale(x, "a"),
    "stft": lambda x: paddle.signal.stft(x, "a"),
    "svd_lowrank": lambda x: paddle.linalg.svd_lowrank(x, "a"),
    "tensordot": lambda x: paddle.tensordot(x, x, 1.5),
    "trapezoid": lambda x: paddle.trapezoid(x, dx="a"),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_what_is_no_number(name):
    error = error_of(NUMBERS[name], paddle.ones([2, 2]))
    assert isinstance(error, TypeError) and bracketed(error) == name and " requires a" in str(error), error


@pytest.mark.parametrize("name", CASES)
def test_known_mistakes(name):
    error = error_of(CASES[name])
    assert bracketed(error) == name, error


def test_no_numbers_are_recommended_where_only_tensors_do():
    assert "number" not in str(error_of(CASES["linear"]))


# --- every public function, called wrongly ---------------------------------------------------------------------------

MODULES = (paddle, paddle.linalg, paddle.fft, paddle.signal, paddle.special, f)


def functions():
    found = {}
    for module in MODULES:
        for name in dir(module):
            fn = getattr(module, name)
            if isinstance(fn, FunctionType | Direct) and not name.startswith("_") and "._" not in fn.__module__:
                found.setdefault(fn, set()).add(name)
    return found


FUNCTIONS = functions()
NAMES = {fn: names | {fn.__name__, inspect.unwrap(fn).__name__} for fn, names in FUNCTIONS.items()}
SAYS_SO = {"bool", "numpy", "item"}  # what Python or NumPy called on an operand
NO_TENSOR_FUNCTIONS = {
    "save",
    "async_save",
    "load",
    "summary",
    "flops",
    "batch",
    "seed",
    "set_printoptions",
    "set_num_threads",
}

# Operators have names of their own, which functions that are operators share.
OPERATORS = {
    "subtract": "sub", "multiply": "mul", "divide": "div", "floor_divide": "floor_div", "equal": "eq",
    "not_equal": "ne", "less_than": "lt", "less_equal": "le", "greater_than": "gt", "greater_equal": "ge",
}  # fmt: skip


def wrong_operands():
    """Operands that most functions refuse: wrong kinds, ranks, dtypes, shapes that do not fit, indices out of range."""
    ones, ints = paddle.ones([2, 3]), paddle.to_tensor([[7, 8, 9], [-7, -8, -9]])
    yield from ((np.ones((2, 3)),), ("text",), (None,), (object(),), ([ones, "text"],), (paddle.ones([2], "bool"),))
    yield from ((ones, paddle.ones([4, 5])), (ones, [7, 7]), (ones, 9), (ones, "text"), (ones, ints), (ints, ints))
    yield from ((ones, ints, ints), (ones, paddle.ones([5]), paddle.ones([7])), ([ones, paddle.ones([4])],))
    yield from ((ones, paddle.ones([4, 5]), paddle.ones([6])), (paddle.ones([]), 3), (ones, -9, 9), (ones, ints, 1))


def mistakes():
    for fn, names in NAMES.items():
        if names & NO_TENSOR_FUNCTIONS:
            continue
        for operands in wrong_operands():
            error = error_of(fn, *operands)
            if error is not None:
                yield fn, operands, error


@pytest.fixture(scope="module")
def found():
    return list(mistakes())


def test_brackets_hold_what_was_called(found):
    wrong = []
    for fn, _, error in found:
        name = bracketed(error)
        if name is not None and name not in NAMES[fn] | SAYS_SO | {OPERATORS.get(n) for n in NAMES[fn]}:
            wrong.append(f"{fn.__name__}: {error}")
    assert not wrong, f"{len(wrong)} of {len(found)}\n" + "\n".join(sorted(set(wrong)))


def test_few_frames_stand_below_the_users(found):
    """The public function and helpers of `paddle`; of the engine only the entries of dispatch."""
    deep = set()
    for fn, _, error in found:
        frames = [x for x, _ in traceback.walk_tb(error.__traceback__) if inside(x)]
        below = [
            x for x in frames if x.f_globals["__name__"].startswith("umiak.") and ".core" not in x.f_globals["__name__"]
        ]
        if getattr(error, "mistake", False) and bracketed(error) and len(below) > 3:
            deep.add(f"{fn.__name__}: {len(below)} {error}")
    assert not deep, "\n".join(sorted(deep))
    assert len(found) > 1000


# --- what is shown ---------------------------------------------------------------------------------------------------

PROGRAM = """
import threading, paddle
def work():
    {line}
{run}
"""


def shown(line, run="work()", **environment):
    code = PROGRAM.format(line=line, run=run)
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True, cwd=ROOT
    )
    return [x for x in done.stderr.splitlines() if x.startswith("  File")], done.stderr


@pytest.mark.parametrize("run", ["work()", "t = threading.Thread(target=work); t.start(); t.join()"])
def test_an_uncaught_mistake_ends_at_the_function(run):
    frames, text = shown("paddle.ones([6]).reshape([4])", run)
    assert frames[-1].endswith("in reshape") and "in work" in frames[-2]
    assert "ValueError: [reshape] requires" in text and "During handling" not in text


def test_an_operator_has_no_frame():
    frames, text = shown("paddle.ones([2, 3]) + paddle.ones([4])")
    assert frames[-1].endswith("in work")
    assert "During handling" not in text


def test_every_frame_on_demand():
    frames, _ = shown("paddle.ones([6]).reshape([4])", FLAGS_call_stack_level="2")
    assert sum("umiak" in x for x in frames) > 5


def test_errors_that_are_no_mistakes_keep_their_frames():
    frames, _ = shown("paddle.nn.functional.dropout(paddle.ones([2]), 'a')")
    assert frames[-1].endswith("in dropout")
    frames, _ = shown("paddle.grad([paddle.ones([1]).register_hook(1 / 0)], [])")
    assert frames[-1].endswith("in work")


def joined(x):
    return paddle.concat([x, paddle.ones([3, 3])])


def once(x):
    return lambda: joined(x)


CALLERS = {
    "recompute": lambda x: recompute(joined, x),
    "recompute, by hooks": lambda x: recompute(joined, x, use_reentrant=False),
    "recompute_sequential": lambda x: recompute_sequential({"segments": 2}, [joined, joined], x),
    "cond": lambda x: paddle.static.nn.cond(x.sum() > 0, once(x), once(x)),
    "while_loop": lambda x: paddle.static.nn.while_loop(
        lambda i, y: i < 3, lambda i, y: (i + 1, joined(y)), [paddle.to_tensor(0), x]
    ),
    "switch_case": lambda x: paddle.static.nn.switch_case(paddle.to_tensor(1), {1: once(x), 2: once(x)}),
    "vjp": lambda x: paddle.incubate.autograd.vjp(joined, x),
    "map_structure": lambda x: paddle.utils.map_structure(joined, [x]),
}


@pytest.mark.parametrize("mode", ["eager", "captured", "one graph"])
@pytest.mark.parametrize("caller", CALLERS)
def test_what_a_function_calls_has_its_own_name(caller, mode):
    """Not that of the library's function to which the user's was given."""
    call = CALLERS[caller]
    if mode != "eager":
        call = paddle.jit.to_static(call, full_graph=mode == "one graph")
    assert bracketed(error_of(call, paddle.ones([2, 5]))) == "concat"


@pytest.mark.parametrize("one_graph", [False, True])
def test_a_layer_that_is_recomputed_is_named_as_elsewhere(one_graph):
    layer, x = paddle.nn.Linear(3, 4), paddle.ones([2, 5])
    x.stop_gradient = False
    call = paddle.jit.to_static(lambda x: recompute(layer, x), full_graph=one_graph)
    assert {bracketed(error_of(f, x)) for f in (layer, lambda x: recompute(layer, x), call)} == {"linear"}


def test_captured_functions_name_what_was_called():
    error = error_of(paddle.jit.to_static(lambda x: paddle.reshape(x, [7])), paddle.ones([3]))
    assert bracketed(error) == "reshape"


@pytest.mark.parametrize(
    "call",
    [
        lambda: paddle.rand([2**62]),
        lambda: paddle.randn([2**62]),
        lambda: paddle.zeros([2**62]),
        lambda: paddle.full([2**30, 2**28], 1.0),
        lambda: paddle.arange(2**62),
        lambda: paddle.eye(2**35, 1),
        lambda: paddle.ones([4]).tile([2**60]),
        lambda: paddle.ones([2]).repeat_interleave(2**60),
    ],
    ids=["rand", "randn", "zeros", "full", "arange", "eye", "tile", "repeat_interleave"],
)
def test_memory_that_is_not_there_by_the_name_of_what_was_called(call, request):
    name = request.node.callspec.id
    with pytest.raises(MemoryError, match=rf"^\[{name}\] "):
        call()
