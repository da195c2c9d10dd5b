"""What operators give for numbers that are known is what they give for tensors of these numbers, and for symbols."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle.static.formats.graph import Attribute, Operation
from paddle.static.formats.operators.known import MOST, Known, known_elements
from paddle.static.formats.operators.table import TABLE
from umiak.ir import sym as dim

K, V = np.array([4, 7, -3], dtype=object), np.array([2, 3, 2], dtype=object)


def ints(x):
    return Known(x, "int64")


def one(n, dtype="int64"):
    return Known(np.array(n, dtype=object), dtype)


def row(*xs):
    return Known(np.array([*xs, None], dtype=object)[:-1], "int64")


# Operator, operands, attributes.
CALLS = {
    "add": ("add", [ints(K), ints(V)], {}),
    "assign_out": ("assign_out", [ints(K), ints(V)], {}),
    "subtract": ("subtract", [ints(K), one(2)], {}),
    "multiply": ("multiply", [ints(K), ints(V)], {}),
    "floor_divide": ("floor_divide", [ints(K), ints(V)], {}),
    "remainder": ("remainder", [ints(K), ints(V)], {}),
    "divide": ("divide", [Known(K, "float32"), Known(V, "float32")], {}),
    "maximum": ("maximum", [ints(K), ints(V)], {}),
    "minimum": ("minimum", [ints(K), ints(V)], {}),
    "abs": ("abs", [ints(K)], {}),
    "floor": ("floor", [Known(np.array([1.5, -1.5, 2.0], dtype=object), "float32")], {}),
    "ceil": ("ceil", [Known(np.array([1.5, -1.5, 2.0], dtype=object), "float32")], {}),
    "equal": ("equal", [ints(K), one(7)], {}),
    "not_equal": ("not_equal", [ints(K), one(7)], {}),
    "less_than": ("less_than", [ints(K), one(4)], {}),
    "less_equal": ("less_equal", [ints(K), one(4)], {}),
    "greater_than": ("greater_than", [ints(K), one(4)], {}),
    "greater_equal": ("greater_equal", [ints(K), one(4)], {}),
    "logical_and": ("logical_and", [Known(K > 0, "bool"), Known(K > 5, "bool")], {}),
    "logical_or": ("logical_or", [Known(K > 0, "bool"), Known(K > 5, "bool")], {}),
    "logical_not": ("logical_not", [Known(K > 0, "bool")], {}),
    "tile by a list": ("tile", [ints(K), [one(2), one(1)]], {}),
    "scale": ("scale", [ints(K), one(3.0, "float32")], {"bias": 2.0}),
    "scale after": ("scale", [ints(K), one(3.0, "float32")], {"bias": 2.0, "bias_after_scale": False}),
    "cast": ("cast", [Known(np.array([1.5, -2.7], dtype=object), "float32")], {"dtype": "int64"}),
    "cast to float": ("cast", [ints(K)], {"dtype": "float32"}),
    "cast to bool": ("cast", [ints(K)], {"dtype": "bool"}),
    "clip": ("clip", [ints(K), one(0), one(5)], {}),
    "where": ("where", [Known(K > 4, "bool"), ints(K), ints(V)], {}),
    "sum": ("sum", [ints(K)], {}),
    "sum kept": ("sum", [ints(K), row(0)], {"keepdim": True}),
    "prod": ("prod", [ints(K), row(0)], {}),
    "max": ("max", [ints(K), row(-1)], {}),
    "min": ("min", [ints(K)], {}),
    "slice": ("slice", [ints(K), row(1), row(3)], {"axes": [0]}),
    "slice to one": ("slice", [ints(K), row(-1), row(100)], {"axes": [0], "decrease_axis": [0]}),
    "strided_slice": ("strided_slice", [ints(K), row(0), row(3), row(2)], {"axes": [0]}),
    "concat": ("concat", [[ints(K), row(5)], one(0)], {}),
    "stack": ("stack", [[one(1), one(2), one(3)]], {"axis": 0}),
    "reshape": ("reshape", [ints(K), row(3, -1)], {}),
    "flatten": ("flatten", [ints(K)], {"start_axis": 0, "stop_axis": 0}),
    "squeeze": ("squeeze", [row(5), row(0)], {}),
    "unsqueeze": ("unsqueeze", [one(5), row(0)], {}),
    "assign": ("assign", [ints(K)], {}),
    "tile": ("tile", [ints(K), row(2)], {}),
    "expand": ("expand", [one(3), row(4)], {}),
    "unbind": ("unbind", [ints(K)], {"axis": 0}),
    "unstack": ("unstack", [ints(K)], {"axis": 0, "num": 3}),
    "split_with_num": ("split_with_num", [ints(K), one(0)], {"num": 3}),
    "flip": ("flip", [ints(K)], {"axis": [0]}),
    "gather": ("gather", [ints(K), row(2, 0), one(0)], {}),
    "gather_nd": ("gather_nd", [ints(K), row(1)], {}),
    "index_select": ("index_select", [ints(K), row(2, 0)], {"axis": 0}),
    "increment": ("increment", [ints(K)], {"value": 2.0}),
    "full_like": ("full_like", [ints(K), one(2.0, "float32")], {"dtype": "undefined"}),
    "zeros_like": ("zeros_like", [ints(K)], {}),
    "ones_like": ("ones_like", [ints(K)], {}),
}


def operation(name, attributes):
    def attribute(x):
        if isinstance(x, list):
            return Attribute("array", tuple(map(attribute, x)))
        return Attribute({bool: "bool", int: "i64", float: "f64", str: "str"}[type(x)], x)

    return Operation(f"pd_op.{name}", attributes={k: attribute(v) for k, v in attributes.items()})


def parts(found):
    first = found[0] if isinstance(found, tuple) else found
    return first if isinstance(first, list) else [first]


def tensors(x):
    return [tensors(y) for y in x] if isinstance(x, list) else x.tensor()


@pytest.mark.parametrize("call", CALLS)
def test_numbers_give_what_tensors_give(call):
    name, operands, attributes = CALLS[call]
    known = parts(TABLE[f"pd_op.{name}"].call(operation(name, attributes), operands))
    computed = parts(TABLE[f"pd_op.{name}"].call(operation(name, attributes), [tensors(x) for x in operands]))
    assert len(known) == len(computed)
    for a, b in zip(known, computed, strict=True):
        assert isinstance(a, Known)
        b = paddle.to_tensor(b)
        assert (a.dtype, list(a.array.shape)) == (b.dtype.name, list(b.shape))
        np.testing.assert_array_equal(np.asarray(a.elements(), float), np.asarray(b.tolist(), float).ravel())


# For these it makes no sense, or they want numbers to count with.
@pytest.mark.parametrize("call", sorted(set(CALLS) - {"floor", "ceil", "cast", "divide"}))
def test_symbols_give_what_their_values_give(call):
    name, operands, attributes = CALLS[call]
    values = {}

    def symbolic(x):
        if isinstance(x, list):
            return [symbolic(y) for y in x]
        if x.dtype != "int64" or x is not first[0] or name in ("cast",):
            return x
        made = np.empty_like(x.array)
        for at, n in np.ndenumerate(x.array):
            s = dim.symbol(f"s{len(values)}", lo=None)
            values[s] = n
            made[at] = s
        return Known(made, x.dtype)

    flat = [y for x in operands for y in (x if isinstance(x, list) else [x])]
    first = [flat[0]]
    with_symbols = parts(TABLE[f"pd_op.{name}"].call(operation(name, attributes), [symbolic(x) for x in operands]))
    plain = parts(TABLE[f"pd_op.{name}"].call(operation(name, attributes), operands))
    for a, b in zip(with_symbols, plain, strict=True):
        assert a.dtype == b.dtype
        assert [dim.evaluate(x, values) for x in a.elements()] == b.elements()


def test_a_rule_has_a_case():
    with_rules = {id(o.rule): name for name, o in TABLE.items() if o.rule is not None}
    tested = {id(TABLE[f"pd_op.{name}"].rule) for name, _, _ in CALLS.values()}
    assert not {name for key, name in with_rules.items() if key not in tested} - {"pd_op.fmax_", "pd_op.fmin_"}


def test_what_is_large_is_a_tensor():
    full = TABLE["pd_op.full"]
    assert isinstance(full.call(operation("full", {"dtype": "int64"}), [row(MOST), one(1)]), Known)
    assert isinstance(full.call(operation("full", {"dtype": "int64"}), [row(MOST + 1), one(1)]), paddle.Tensor)


def test_a_division_by_zero_is_left_to_tensors():
    with pytest.raises(ZeroDivisionError):
        TABLE["pd_op.floor_divide"].call(operation("floor_divide", {}), [ints(K), one(0)])


def test_elements_of_lists_and_tensors():
    assert known_elements([one(2), row(3, 4), paddle.to_tensor([5])]) == [2, 3, 4, 5]


def test_the_tensor_of_symbols():
    tracer = paddle.static.Program()._tracer
    with tracer:
        n = tracer.scope.size(name="n")
        y = row(n, n * 2 + 1, 5).tensor()
    program = tracer.program([tracer.tensor(y).value])
    assert program.outputs[0].meta.shape == (3,)


@pytest.mark.parametrize("step", [1, -3])
def test_positions_stay_a_progression(step):
    tracer = paddle.static.Program()._tracer
    with tracer:
        made = [row(*(4 + step * i for i in range(n))).tensor() for n in (5, 2)]
        made.append(row(1, 2, 4).tensor())
    program = tracer.program([tracer.tensor(y).value for y in made])
    assert [o.name for o in program.ops] == ["iota"]
    assert row(*(4 + step * i for i in range(5))).tensor().tolist() == [4 + step * i for i in range(5)]


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "bfloat16", "float64", "complex64"])
def test_positions_of_every_dtype(dtype):
    found = Known([0, 1, 2], dtype).tensor()
    assert found.dtype.name == dtype
    np.testing.assert_array_equal(found.numpy(), paddle.to_tensor([0, 1, 2]).astype(dtype).numpy())
