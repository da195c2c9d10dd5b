"""A condition on open sizes in a comprehension goes one way: the error says how both ways are recorded."""

from __future__ import annotations

import pytest

import paddle
from paddle.static import InputSpec


def in_a_list(x):
    return x * len([n for n in (1, 2) if n < x.shape[0]])


def in_a_sum(x):
    return x * sum(n for n in (1, 2) if n < x.shape[0])


def in_a_dict(x):
    return x * max({n: n for n in (1, 2) if n <= x.shape[0]})


def as_statements(x):
    rows = 0
    for n in (1, 2):
        if n < x.shape[0]:
            rows += n
    return x * rows


def saved(f, folder):
    spec = [InputSpec([None, 3], "float32", "x")]
    paddle.jit.save(paddle.jit.to_static(f, input_spec=spec, full_graph=True), str(folder / "model"))
    return paddle.jit.load(str(folder / "model"))


@pytest.mark.parametrize("f", [in_a_list, in_a_sum, in_a_dict], ids=lambda f: f.__name__)
def test_the_error_says_what_to_write(f, tmp_path):
    model = saved(f, tmp_path)
    x = paddle.ones([4, 3])
    assert model(x).tolist() == f(x).tolist()
    with pytest.raises(ValueError, match=r"(?s)recorded for sizes with 2 <= x_0\. .* as an if statement.*\.py"):
        model(x[:1])


def test_what_it_says_runs_for_every_size(tmp_path):
    model = saved(as_statements, tmp_path)
    for n in (1, 2, 3, 5):
        x = paddle.ones([n, 3])
        assert model(x).tolist() == as_statements(x).tolist()
