"""Tables for many features, as parameters of a program, and the policies of a parameter server beside them."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle.distributed import CountFilterEntry, ProbabilityEntry, ShowClickEntry
from paddle.static.nn import sparse_embedding


def features(*shape, dtype="int64"):
    return paddle.static.data(f"features_{len(shape)}_{dtype}", shape, dtype)


def test_rows_and_their_gradient(programs):
    main, startup = programs
    x = features(None, 1)
    y = sparse_embedding(x, [10, 4], padding_idx=2, entry=CountFilterEntry(3), slot=1)
    loss = (y * y).sum()
    assert [(p.name, p.shape) for p in main.all_parameters()] == [("sparse_embedding_0.w_0", [10, 4])]
    paddle.optimizer.SGD(0.25).minimize(loss)
    exe = paddle.static.Executor()
    exe.run(startup)
    held = paddle.static.global_scope().find_var("sparse_embedding_0.w_0").get_tensor()
    table = np.array(held)
    ids = np.array([[1], [2], [9], [1]])
    found, _ = exe.run(main, {x.name: ids}, [y, loss])
    rows = table[ids[:, 0]] * (ids != 2)
    np.testing.assert_array_equal(found, rows)
    gradient = np.zeros_like(table)
    np.add.at(gradient, ids[:, 0], 2 * rows)
    np.testing.assert_allclose(np.array(held), table - 0.25 * gradient, rtol=1e-6)


@pytest.mark.parametrize(("shape", "expected"), [((5, 1), [5, 4]), ((5, 3, 1), [5, 3, 4]), ((5, 3), [5, 3, 4])])
def test_shapes_are_those_of_the_reference(programs, shape, expected):
    """Of numbers without a last dim of 1, which the reference refuses, all dims stay."""
    assert sparse_embedding(features(*shape), [10, 4]).shape == expected


def test_a_table_by_name_is_shared(programs):
    main, _ = programs
    x = features(5, 1)
    for _ in range(2):
        sparse_embedding(x, [10, 4], param_attr=paddle.ParamAttr(name="table"), is_test=True)
    assert [p.name for p in main.all_parameters()] == ["table"]


def test_policies_as_servers_know_them():
    assert CountFilterEntry(10)._to_attr() == "count_filter_entry:10"
    assert ProbabilityEntry(0.1)._to_attr() == "probability_entry:0.1"
    assert ShowClickEntry("shown", "clicked")._to_attr() == "show_click_entry:shown:clicked"


@pytest.mark.parametrize("entry", [ProbabilityEntry(0.5), ShowClickEntry("shown", "clicked"), None])
@pytest.mark.parametrize("table", ["CommonSparseTable", "SSDSparseTable", "MemorySparseTable"])
def test_policies_and_tables_are_accepted(programs, entry, table):
    assert sparse_embedding(features(5, 1), [10, 4], entry=entry, table_class=table, dtype="float64").shape == [5, 4]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CountFilterEntry(0), "an int from 1 on as count_filter, got 0"),
        (lambda: CountFilterEntry(1.5), "an int from 1 on as count_filter, got 1.5"),
        (lambda: ProbabilityEntry(1.0), "a float between 0 and 1 as probability, got 1.0"),
        (lambda: ProbabilityEntry(1), "a float between 0 and 1 as probability, got 1"),
        (lambda: ShowClickEntry("shown", 2), "names of variables, got 'shown', 2"),
    ],
)
def test_policies_that_are_none(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"size": [0, 8]}, ValueError, r"as there is no server that would make rows, got \[0, 8\]"),
        ({"size": [10]}, ValueError, "rows and columns as size"),
        ({"entry": 5}, ValueError, "CountFilterEntry or ShowClickEntry as entry, or None, got int"),
        ({"table_class": "Table"}, ValueError, "a table_class of CommonSparseTable, .*, got 'Table'"),
        ({"dtype": "int32"}, TypeError, "a table of float32 or float64, got int32"),
    ],
)
def test_mistakes(programs, given, error, message):
    with pytest.raises(error, match=message):
        sparse_embedding(features(5, 1), **{"size": [10, 4], **given})


def test_numbers_of_other_types(programs):
    with pytest.raises(TypeError, match=r"\[sparse_embedding\] requires input of int64, got int32"):
        sparse_embedding(features(5, 1, dtype="int32"), [10, 4])


def test_dynamic_mode():
    with pytest.raises(RuntimeError, match="sparse_embedding"):
        sparse_embedding(paddle.ones([2, 1], "int64"), [10, 4])
